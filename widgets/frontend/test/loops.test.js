// What a kernel's steps say about any moment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { elementText, Loops } from "../src/views/loops/model.js";

// for i in range(2): s = s + a[i]; out[()] = s        with a = [5, 7]
const array = (name, role, shape, block) => ({
    name, role, node: 0, shape, dtype: "float32", corner: [0, 0], size: [1, shape[0] ?? 1], block,
}); // prettier-ignore
const told = {
    source: "def kernel(lo, hi, a, out):\n    s = 0\n    for i in range(2):\n        s = s + a[i]\n    out[()] = s\n",
    lines: [[4, 9]], arrays: [array("a", "in", [2], [3, 2]), array("out", "out", [], [5, 0])], names: ["i", "s"],
    codes: [
        2, 0, 1, 1, // s = 0
        3, 0, 1, 0, // i = 0
        4, 1, 0, 0, 1, 1, // reads a[0]; s = 5
        3, 0, 1, 0, 4, 1, 0, 1, 1, 1, 3, 0, 0,
        5, 1, 3, 0, 0, // writes out[()]
    ],
    numbers: [0, 0, 5, 5, 1, 7, 12, 12],
}; // prettier-ignore
const loops = () => new Loops({ loops: told, blocks: Float32Array.from([0, 0, 0, 5, 7]) });

test("steps are decoded", () => {
    const { steps, counters } = loops();

    assert.deepEqual(steps.map((step) => step.line), [2, 3, 4, 3, 4, 3, 5]);
    assert.deepEqual(steps[4].touches, [{ array: 0, place: 1, write: false, value: 7 }]);
    assert.deepEqual(steps[4].changes, [["s", 12]]);
    assert.deepEqual(counters, ["i"]);
});

test("a variable has a past, which grows step by step", () => {
    assert.deepEqual(loops().past("s", 1).map(([, value]) => value), [0]);
    assert.deepEqual(loops().past("s", 6).map(([, value]) => value), [0, 5, 12]);
});

test("a cell is what it was at first until it is written", () => {
    assert.equal(loops().cell(0, 1, 0), 7);
    assert.equal(loops().cell(1, 0, 5), null);
    assert.equal(loops().cell(1, 0, 6), 12);
});

test("the same line comes again", () => {
    assert.equal(loops().sameLine(2, 1), 4);
    assert.equal(loops().sameLine(4, -1), 2);
    assert.equal(loops().sameLine(4, 1), 4);
});

test("elements are called as Python calls them", () => {
    assert.equal(elementText({ name: "a0", shape: [2, 3, 4] }, 17), "a0[1, 1, 1]");
    assert.equal(elementText({ name: "out0", shape: [] }, 0), "out0[()]");
});

test("a page without steps says what to do", () => {
    assert.throws(() => new Loops({}), /use jt_widgets.step_kernel/);
});
