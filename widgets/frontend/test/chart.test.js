/** Chart: the same ranges, ticks, places and words as in Python; lines have gaps; words cover nothing. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { axis, captions, letters, mark, pathOf, scale, thinned, ticks } from "../src/chart.js";
import { numberText } from "../src/numbers.js";

const GOLDEN = JSON.parse(readFileSync(new URL("../golden/charts/axes.json", import.meta.url), "utf8"));

for (const one of GOLDEN.axes) {
    test(`a ${one.kind} axis of [${one.values}] is the one that Python draws`, () => {
        const made = axis(one.kind, one.values, "");

        assert.deepEqual([made.from, made.to], one.range);
        for (const [most, wanted] of Object.entries(one.ticks)) assert.deepEqual(ticks(made, Number(most)), wanted);
        const place = scale(made, 40, 640);
        const spots = one.values.filter((v) => v !== null && (one.kind === "linear" || v > 0)).map(place);
        spots.forEach((spot, k) => assert.ok(Math.abs(spot - one.places[k]) < 1e-6, `${spot} ${one.places[k]}`));
    });
}

test("numbers read as in Python", () => {
    for (const [number, figure, short] of GOLDEN.words) {
        assert.deepEqual([numberText(number), letters(number)], [figure, short]);
    }
});

test("words stand where Python puts them", () => {
    const { marks, box, places } = GOLDEN.captions;
    const [left, top, right, bottom] = box;
    const found = captions(marks.map(([x, y, r, words]) => ({ x, y, r, words })), { left, top, right, bottom });

    assert.deepEqual(found.map((one) => one && [one.x, one.y, one.anchor]), places);
});

test("a line breaks where a value is no number, or has no place on a log axis", () => {
    const linear = { x: (v) => v, y: scale({ kind: "linear", from: 0, to: 10 }, 100, 0) };
    const log = { x: (v) => v, y: scale({ kind: "log", from: 1, to: 100 }, 100, 0) };

    assert.equal(pathOf(linear, [[0, 1], [1, 2], [2, NaN], [3, null], [4, 3]]), "M0 90L1 80M4 70");
    assert.equal(pathOf(log, [[0, 1], [1, 0], [2, -5], [3, 100]]), "M0 100M3 0");
});

test("every shape is a closed outline around its place", () => {
    for (const shape of ["circle", "diamond"]) assert.match(mark(shape, 5, 10, 20), /^M10 20.*z$/);
});

test("a thinned line keeps its ends, its peaks, its valleys and its gaps", () => {
    const points = Array.from({ length: 10_000 }, (_, k) => [k, Math.sin(k)]);
    points[401] = [401, 77];
    points[5000] = [5000, -77];
    points[7777] = [7777, null];

    const some = thinned(points, 100);

    assert.ok(some.length <= 401, `${some.length}`);
    for (const k of [0, 401, 5000, 7777, 9999]) assert.ok(some.includes(points[k]), `${k}`);
    assert.deepEqual(some, [...some].sort((a, b) => a[0] - b[0]));
});

test("a line of few points is drawn as it is", () => {
    const points = [[0, 1], [5, NaN], [9, 2]];

    assert.equal(thinned(points, 3), points);
});
