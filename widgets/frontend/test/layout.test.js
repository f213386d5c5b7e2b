/** Layout: the same places as in Python, nothing overlaps, isotonic regression is the nearest. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { Isotonic } from "../src/graph/isotonic.js";
import { inversions } from "../src/graph/order.js";
import { ranks } from "../src/graph/ranks.js";
import { compose } from "../src/graph/scene.js";
import { shelved } from "../src/graph/shelves.js";
import { view } from "../src/graph/view.js";

const FOLDER = new URL("../golden/", import.meta.url);
const GOLDENS = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));

for (const name of GOLDENS) {
    test(`${name} has the places that Python gives it`, () => {
        const golden = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));

        near(places(golden.document, golden.options), golden.places, "");
    });
}

function places(document, options) {
    const seen = view(document, options);
    const scene = compose(seen);
    return {
        size: [scene.width, scene.height],
        notes: seen.notes,
        groups: [...seen.groups.values()].map((g) => [g.key, g.kind, g.name, g.made, g.gradient, g.nodes]),
        shows: [...seen.shows].map((pair) => pair.map(String)).sort(([a], [b]) => (a < b ? -1 : 1)),
        cards: scene.cards.map(({ card, x, y, width }) => [
            card.id, card.kind, card.label, card.facts, card.tip, x, y, width, chips(card.left), chips(card.right),
        ]),
        frames: scene.frames.map((f) => [
            f.caption, f.name, f.outside.x, f.outside.y, f.outside.left, f.outside.height,
        ]),
        lines: scene.lines.map(({ how, line, points }) => [
            how, line.source, line.target, line.tip, line.values, points,
        ]),
        labels: scene.labels.map(({ x, y, words }) => [x, y, words]),
    };
}

function chips(side) {
    return side.map((chip) => [chip.kind, chip.text, chip.tip]);
}

/** The same, where numbers may differ by a millionth. */
function near(found, expected, where) {
    if (typeof expected === "number" && typeof found === "number") {
        assert.ok(Math.abs(found - expected) <= 1e-6, `${where}: ${found} instead of ${expected}`);
    } else if (expected !== null && typeof expected === "object") {
        assert.deepEqual(Object.keys(found), Object.keys(expected), where);
        Object.keys(expected).forEach((key) => near(found[key], expected[key], `${where}/${key}`));
    } else {
        assert.equal(found, expected, where);
    }
}

test("isotonic regression keeps order and gaps, and is nearest", () => {
    near(isotonic([0, 1, 0.5, 10], 0, 4), [-1.5, 0.5, 2.5, 10], "x");
});

test("isotonic regression of a stretch leaves the rest alone", () => {
    near(isotonic([9, 0, 1, 9], 1, 3), [0, -0.5, 1.5, 0], "x");
});

/** With weights of 1 and gaps of 2, but for the first of all. */
function isotonic(wishes, begin, end) {
    const row = new Isotonic(wishes.length);
    row.wishes.set(wishes);
    row.weights.fill(1);
    row.gaps.fill(2, 1);
    row.solve(begin, end);
    return [...row.found];
}

test("numbers on shelves keep their order", () => {
    const { starts, members } = shelved(Int32Array.of(2, 0, 2, 1), 3);

    assert.deepEqual([...starts], [0, 1, 2, 4]);
    assert.deepEqual([...members], [1, 3, 0, 2]);
});

test("a rank is the longest path, and sources stand above their first user", () => {
    const rank = ranks([..."abcde"], ["ab", "bc", "ac", "dc"].map((pair) => [pair[0], pair[1]]));

    assert.deepEqual([...rank], [["a", 0], ["b", 1], ["c", 2], ["d", 1], ["e", 0]]);
});

test("ranks survive a circle", () => {
    const rank = ranks([..."abc"], ["ab", "bc", "cb"].map((pair) => [pair[0], pair[1]]));

    assert.deepEqual([...rank.values()], [0, 1, 2]);
});

test("inversions are counted as by hand", () => {
    assert.equal(inversions(Float64Array.of(3, 1, 2, 2, 5, 4), new Float64Array(6)), 4);
});
