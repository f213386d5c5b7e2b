/** MemoryView: what a page must hold, and where keys lead among the arrays. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { nextArray, readLifetimes } from "../src/views/memory/model.js";

const REST = { offset: 0, stays: false, why: "read", reads: [], keepers: [] };
const array = (node, bytes, from, to) => ({ node, bytes, from, to, ...REST });
const ARRAYS = [array(1, 8, 0, 1), array(2, 64, 1, 3), array(3, 16, 2, 2), array(4, 64, 4, 4)];

test("left and right lead along time, and stop at both ends", () => {
    const [walk, right] = [[0], "ArrowRight"];

    for (const key of [right, right, right, right, "ArrowLeft"]) walk.push(nextArray(ARRAYS, walk.at(-1), key, 2));

    assert.deepEqual(walk, [0, 1, 2, 3, 3, 2]);
});

test("up leads to the next larger array, down to the next smaller one", () => {
    const up = [0];
    for (let k = 0; k < 4; k += 1) up.push(nextArray(ARRAYS, up.at(-1), "ArrowUp", 2));

    assert.deepEqual(up, [0, 2, 3, 1, 1]);
    assert.equal(nextArray(ARRAYS, 1, "ArrowDown", 2), 3);
});

test("p leads to the largest array that is alive at the peak", () => {
    assert.equal(nextArray(ARRAYS, 0, "p", 2), 1);
    assert.equal(nextArray(ARRAYS, 0, "p", 4), 3);
});

test("without arrays every key stays where it is", () => {
    for (const key of ["ArrowLeft", "ArrowUp", "p"]) assert.equal(nextArray([], -1, key, 0), -1);
});

test("a page without lifetimes is refused in one sentence", () => {
    for (const lifetimes of [undefined, null]) {
        assert.throws(() => readLifetimes({ lifetimes }), /no lifetimes of arrays/);
    }
    assert.equal(readLifetimes({ lifetimes: { arrays: [], alive: [] } }).arrays.length, 0);
});
