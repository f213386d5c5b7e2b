/** Scene: nothing overlaps, lines go down and round boxes, words fit, in graphs of every kind, opened in every way. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { CARD, FRAME, cardWidth, compose, pad, title } from "../src/graph/scene.js";
import { cut, width } from "../src/graph/text.js";
import { view } from "../src/graph/view.js";
import { network, training } from "./graphs.js";

const FOLDER = new URL("../golden/", import.meta.url);
const DOCUMENTS = new Map(
    readdirSync(FOLDER)
        .filter((name) => name.endsWith(".json"))
        .map((name) => [name, JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"))]),
);

/** Each document as its golden draws it, and grouped in other ways: with all, some and no boxes open. */
function* scenes() {
    for (const [name, { document, options }] of DOCUMENTS) {
        yield [name, view(document, options)];
        for (const group of ["module", "kernel", "none"]) {
            const { groups } = view(document, { group, open: [] });
            const some = [...groups.keys()].filter((_, k) => k % 3 !== 1);
            yield [`${name} ${group}`, view(document, { group, open: some, shapes: true })];
        }
    }
    const large = network(16);
    yield ["network", view(large, { group: "module" })];
    yield ["network closed", view(large, { group: "module", open: [] })];
    yield ["network open", view(large, { group: "module", open: view(large, { group: "module" }).groups.keys() })];
}

const SCENES = [...scenes()].map(([name, seen]) => ({ name, seen, scene: compose(seen) }));

for (const { name, seen, scene } of SCENES) {
    test(`the picture of ${name}`, () => {
        apart(scene);
        framed(scene);
        downwards(scene);
        roundBoxes(scene);
        words(scene);
        for (const { source, target } of seen.lines) {
            const [a, b] = [seen.cards.get(source), seen.cards.get(target)];
            assert.ok(a.path.join() !== b.path.join() || seen.ranks.get(source) < seen.ranks.get(target), "ranks");
        }
    });
}

function rectangles(scene) {
    const cards = scene.cards.map(({ x, y, width: wide }) => [x, y, x + wide, y + CARD]);
    const labels = scene.labels.map(({ x, y, words: said }) => [x, y - 9, x + width(said, 11, "mono"), y + 2]);
    return [...cards, ...labels];
}

function outsides(scene) {
    return scene.frames.map(({ outside: o }) => [o.x - o.left, o.y, o.x + o.right, o.y + o.height]);
}

function overlap(a, b) {
    return a[0] < b[2] - 0.1 && b[0] < a[2] - 0.1 && a[1] < b[3] - 0.1 && b[1] < a[3] - 0.1;
}

function inside(a, b) {
    return b[0] - 0.1 <= a[0] && a[2] <= b[2] + 0.1 && b[1] - 0.1 <= a[1] && a[3] <= b[3] + 0.1;
}

function apart(scene) {
    const sorted = rectangles(scene).sort((a, b) => a[1] - b[1]);
    sorted.forEach((box, k) => {
        for (let next = k + 1; next < sorted.length && sorted[next][1] < box[3]; next += 1) {
            assert.ok(!overlap(box, sorted[next]), `${box} and ${sorted[next]} overlap`);
        }
    });
}

function framed(scene) {
    const frames = outsides(scene);
    for (const frame of frames) {
        for (const box of [...rectangles(scene), ...frames]) {
            const clear = !overlap(box, frame) || inside(box, frame) || inside(frame, box);
            assert.ok(clear, `${box} on the edge of ${frame}`);
        }
    }
    for (const { x, y, width: wide } of scene.cards) {
        assert.ok(x >= -0.1 && y >= -0.1 && x + wide <= scene.width + 0.1 && y + CARD <= scene.height + FRAME);
    }
}

function downwards(scene) {
    for (const { line, points } of scene.lines) {
        points.forEach(([, y], k) => assert.ok(!k || points[k - 1][1] <= y + 1e-9, line.tip));
        assert.ok(points[0][1] < points[points.length - 1][1], line.tip);
    }
}

/** Points along a line as it is drawn: straight pieces, and bends with upright ends. */
function* walk(points) {
    for (let k = 1; k < points.length; k += 1) {
        const [[x, y], [px, py]] = [points[k - 1], points[k]];
        for (let t = 0.125; t < 1; t += 0.125) {
            yield [x + (px - x) * (3 * t ** 2 - 2 * t ** 3), y + (py - y) * (1.5 * (t - t ** 2) + t ** 3)];
        }
    }
}

function roundBoxes(scene) {
    const blocks = rectangles(scene);
    for (const { line, points } of scene.lines) {
        const [top, bottom] = [points[0][1], points[points.length - 1][1]];
        const near = blocks.filter((block) => block[1] < bottom && block[3] > top);
        for (const [x, y] of walk(points)) {
            for (const block of near) {
                const hit = block[0] + 1 < x && x < block[2] - 1 && block[1] + 1 < y && y < block[3] - 1;
                assert.ok(!hit, `${line.tip} at ${x} ${y} goes through ${block}`);
            }
        }
    }
}

function words(scene) {
    for (const { card, width: wide } of scene.cards) {
        const [bold, rest] = title(card);
        const first = width(bold, 13, "bold") + width(` ${rest}`, 13);
        const second = width(cut(card.facts, 40), 11.5, "mono") + width(card.number, 11, "mono");
        assert.ok(Math.max(first, second) + 2 * pad(card) <= wide, card.label);
        assert.equal(cardWidth(card), wide);
    }
}

test("the work grows with the graph, not with its square", () => {
    const all = { group: "none", most: Infinity };
    const [small, large] = [2500, 5000].map((size) => stretches(compose(view(training(size), all))));

    // Every sweep of the layout looks at each box and each stretch of a line once, and there are 18 sweeps.
    assert.ok(large < 12 * 5000, `${large} stretches`);
    assert.ok(large < 2.2 * small, `${small} stretches for half of it, ${large} for all`);
});

function stretches(scene) {
    return scene.lines.reduce((sum, { points }) => sum + points.length, scene.cards.length);
}
