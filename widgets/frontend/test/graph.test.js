// Graph: outlines and ways, walking and searching, and letters that fit at every zoom.

import assert from "node:assert/strict";
import test from "node:test";

import { arc, outline, pill, way } from "../src/views/graph/shapes.js";
import { find, next, waysOf } from "../src/views/graph/walk.js";
import { LEAST, ZOOMS, fitting, levelOf, sizeAt } from "../src/views/graph/words.js";
import { width } from "../src/graph/text.js";

const KINDS = ["source", "elementwise", "reindex", "reindex_reduce", "constant", "index", "code", "hostcall", "kernel"];

test("every kind has an outline of its own", () => {
    const outlines = KINDS.map((kind) => outline(kind, 0, 0, 100, 46));

    assert.equal(new Set(outlines).size, KINDS.length - 1); // constants and indices are both hexagons
    for (const d of outlines) assert.match(d, /^M[-\d .,a-zA-Z]+$/);
});

test("a pill is as wide as it is said to be", () => {
    const right = "h10a5 5 0 0 1 5 5v0a5 5 0 0 1 -5 5";

    assert.equal(pill(0, 0, 20, 10, 5), `M5 0${right}h-10a5 5 0 0 1 -5 -5v-0a5 5 0 0 1 5 -5z`);
});

test("a way goes straight where it can, and bends where it must", () => {
    assert.equal(way([[5, 0], [5, 10], [25, 30], [25, 40]]), "M5 0V10C5 20 25 20 25 30V40");
});

test("a ghost arc begins and ends where it is told to", () => {
    assert.match(arc([10, 20], [30, 400]), /^M10 20C.* 30 400$/);
});

// three boxes, one below the other, and one beside the middle one
const SPOTS = [
    { id: "a", x: 0, y: 0, width: 100 },
    { id: "b", x: 0, y: 80, width: 100 },
    { id: "c", x: 140, y: 80, width: 100 },
    { id: "d", x: 0, y: 160, width: 100 },
];
const BOXES = new Map([[1, "a"], [2, "b"], [3, "c"], [4, "d"], [5, "d"]]);
const EDGES = [[1, 2], [1, 3], [2, 4], [3, 5], [4, 5], [9, 1]];

test("edges of the graph become ways between boxes, none twice and none inside of a box", () => {
    const ways = waysOf(EDGES, BOXES);

    assert.deepEqual(ways.users.get("a"), ["b", "c"]);
    assert.deepEqual(ways.inputs.get("d"), ["b", "c"]);
    assert.deepEqual(ways.users.get("d"), undefined);
    assert.deepEqual(ways.inputs.get("a"), undefined);
});

test("arrows walk along edges, and to the boxes beside", () => {
    const ways = waysOf(EDGES, BOXES);
    const go = (key, from) => next(key, from, SPOTS, ways);

    assert.equal(go("ArrowDown", "a"), "b");
    assert.equal(go("ArrowUp", "d"), "b");
    assert.equal(go("ArrowRight", "b"), "c");
    assert.equal(go("ArrowLeft", "c"), "b");
    assert.equal(go("ArrowLeft", "b"), null);
    assert.equal(go("ArrowUp", "a"), null);
    assert.equal(go("Home", "c"), "a");
    assert.equal(go("End", "a"), "d");
    assert.equal(go("ArrowDown", null), "a");
});

test("a search finds what has all of its words, and one of them not only by its place", () => {
    const texts = [[1, "", "add y (2, 3) float32"], [2, "add", "multiply (2, 3) float32"], [3, "", "add z float64"]];

    assert.deepEqual([...find("add", texts)], [1, 3]);
    assert.deepEqual([...find("ADD float32", texts)], [1, 2]);
    assert.deepEqual([...find("  ", texts)], []);
    assert.deepEqual([...find("nothing", texts)], []);
});

test("no text is ever smaller than eleven pixels on the screen", () => {
    for (const size of [11, 11.5, 12, 13]) {
        for (const zoom of [...ZOOMS, 0.99, 0.61, 0.5]) {
            assert.ok(sizeAt(size, zoom) * zoom >= LEAST, `${size} at zoom ${zoom}`);
            assert.ok(sizeAt(size, zoom) <= Math.max(size, LEAST / zoom + 0.1), "and no larger than needed");
        }
    }
    assert.deepEqual([1.5, 1, 0.99, 0.75, 0.7, 0.5, 0.31, 0.1].map(levelOf), [0, 0, 1, 1, 2, 3, 4, 5]);
});

test("a text that has no room ends in an ellipsis, and fits", () => {
    const text = "log_softmax_of_something_long";
    for (const room of [30, 60, 100, 150, 400]) {
        const shown = fitting(text, 14, "bold", room);
        assert.ok(width(shown, 14, "bold") <= room);
        assert.equal(shown === text, room === 400);
    }
    assert.equal(fitting("abc", 14, "bold", 3), "");
    assert.match(fitting("TransformerEncoderLayer × 3", 14, "bold", 150), /^Transf.*… × 3$/);
});

test("of several facts those are shown that have room as a whole", () => {
    const roomFor = (text) => width(text, 11, "mono");

    assert.equal(fitting("(64, 32) float32", 11, "mono", roomFor("(64, 32) floa")), "(64, 32)");
    const room = roomFor("7 ops · 2 kernels · 8");
    assert.equal(fitting("7 ops · 2 kernels · 8.2 kB", 11, "mono", room), "7 ops · 2 kernels");
    assert.equal(fitting("bias (32,)", 11, "mono", roomFor("bias (3…")), "bias");
});
