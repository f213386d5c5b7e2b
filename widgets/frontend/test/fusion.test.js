// Fusion: which edges are pairs to guess, how are guesses judged, and what does a lasso hold?

import assert from "node:assert/strict";
import test from "node:test";

import { encloses, freshLetter, pairsOf, score } from "../src/views/graph/predict.js";

const edge = (source, target, fused, rule) => ({ source, target, fused, rule, reason: "because" });
const EDGES = [
    edge(0, 1, false, "array"), // 0 is an array that is there
    edge(1, 2, true, "elementwise chain"),
    edge(2, 3, false, "wanted"),
    edge(3, 4, true, "contraction"), // leaves no choice
];
const GROUPS = { 0: null, 1: 0, 2: 0, 3: 1, 4: 1 };

test("only edges between computed values that leave a choice are pairs", () => {
    assert.deepEqual(pairsOf(EDGES, GROUPS).map((e) => [e.source, e.target]), [[1, 2], [2, 3]]);
});

test("who marks exactly the kernels of the plan has every pair right", () => {
    const marks = new Map([[1, "A"], [2, "A"], [3, "B"], [4, "B"]]);

    assert.deepEqual(score(EDGES, GROUPS, marks), { right: 2, all: 2, wrong: [] });
});

test("who marks nothing says that all is apart, and hears which pair is not", () => {
    const { right, all, wrong } = score(EDGES, GROUPS, new Map());

    assert.deepEqual([right, all], [1, 2]);
    assert.deepEqual(wrong.map(({ edge: e, said, is }) => [e.source, e.target, said, is]), [[1, 2, false, true]]);
});

test("who marks too much is told where, and by which rule it is cut", () => {
    const { wrong } = score(EDGES, GROUPS, new Map([[1, "A"], [2, "A"], [3, "A"], [4, "A"]]));

    assert.deepEqual(wrong.map((one) => [one.edge.rule, one.said, one.is]), [["wanted", true, false]]);
});

test("letters are given in order, and come back when they are free", () => {
    assert.equal(freshLetter(new Map()), "A");
    assert.equal(freshLetter(new Map([[1, "A"], [2, "C"]])), "B");
    const all = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map((letter, k) => [k, letter]));
    assert.equal(freshLetter(all), "A2");
});

test("a lasso holds what is inside of it, also where it is not convex", () => {
    const loop = [[0, 0], [10, 0], [10, 10], [5, 2], [0, 10]];

    assert.equal(encloses([5, 1], loop), true);
    assert.equal(encloses([5, 8], loop), false);
    assert.equal(encloses([1, 5], loop), true);
    assert.equal(encloses([20, 5], loop), false);
});
