/** TapeScrubber: what a page must hold, how steps are called, what lies between two moments, which rows are open. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, linesOf, meaning, range, readTape, statistics, valueName, wordsOf } from "../src/views/tape/model.js";

// w -> (view 2, product 3) -> 4 matmul -> 5 loss; gradients 6 of the matmul, 7 of w
const NODES = [
    { id: 1, op: "array", kind: "source", name: "w", inputs: [], twin: null },
    { id: 2, op: "broadcast", kind: "reindex", name: "", inputs: [1], twin: null },
    { id: 3, op: "multiply", kind: "elementwise", name: "", inputs: [2, 2], twin: null },
    { id: 4, op: "matmul", kind: "reindex_reduce", name: "", inputs: [3], twin: null },
    { id: 5, op: "sum", kind: "reindex_reduce", name: "loss", inputs: [4], twin: null },
    { id: 6, op: "multiply", kind: "elementwise", name: "", inputs: [4], twin: 5 },
    { id: 7, op: "scatter", kind: "reindex_reduce", name: "", inputs: [6], twin: 2 },
];
const STEPS = [
    { node: 4, op: "matmul", phase: "forward", twin: null, row: 0, until: 2 },
    { node: 5, op: "sum", phase: "forward", twin: null, row: 1, until: 3 },
    { node: 6, op: "multiply", phase: "backward", twin: 5, row: 1, until: 3, of: [4] },
    { node: 7, op: "scatter", phase: "backward", twin: 2, row: 0, until: 3, of: [1] },
];
const LEAVES = [{ node: 1, gradient: 7, name: "w" }];
const TAPE = { loss: 5, steps: STEPS, rows: 2, groups: [], passing: [], kept: [], leaves: LEAVES };

function page(tape = TAPE) {
    const readers = (id) => NODES.filter((other) => other.inputs.includes(id)).map((other) => other.id);
    const users = new Map(NODES.map((node) => [node.id, readers(node.id)]));
    return { tape, nodes: new Map(NODES.map((node) => [node.id, node])), users };
}

test("a page without a tape is refused in one sentence", () => {
    for (const tape of [undefined, null]) {
        assert.throws(() => readTape({ ...page(), tape }), /has no tape/);
    }
    assert.equal(readTape(page()), TAPE);
});

test("a gradient is called by what it is the gradient of", () => {
    const names = STEPS.map((step) => valueName(TAPE, page(), step));

    assert.deepEqual(names, ["matmul", "loss", "d(matmul)", "dw"]);
});

test("a step in words says its number, its half, its value and its twin", () => {
    assert.equal(wordsOf(TAPE, page(), 0), "step 1 of 4, forward: matmul");
    assert.equal(wordsOf(TAPE, page(), 3), "step 4 of 4, backward: dw = scatter, gradient of matmul");
});

test("the views and the product inside of a matmul mean the matmul", () => {
    assert.deepEqual([2, 3, 4, 5, 99].map((id) => meaning(page(), id)), ["matmul", "matmul", "matmul", "loss", "#99"]);
});

test("between two moments values come and go, whichever is named first", () => {
    assert.deepEqual(between(TAPE, 0, 3), { early: 0, late: 3, steps: 3, came: 3, went: 1 });
    assert.deepEqual(between(TAPE, 3, 0), between(TAPE, 0, 3));
    assert.deepEqual(between(TAPE, 2, 2), { early: 2, late: 2, steps: 0, came: 0, went: 0 });
});

test("a short tape shows its rows, a long one its groups, and the rows of those that are open", () => {
    const groups = [{ label: "a", from: 0, to: 2 }, { label: "b", from: 2, to: 5 }]; // prettier-ignore
    const long = { ...TAPE, rows: 5, groups };

    assert.deepEqual(linesOf(TAPE, new Set()), [{ row: 0 }, { row: 1 }]);
    assert.deepEqual(linesOf(long, new Set()).map((line) => line.number), [0, 1]);
    assert.deepEqual(linesOf(long, new Set([1])).map((line) => line.row), [undefined, undefined, 2, 3, 4]);
});

test("statistics name what is not finite only where there is some", () => {
    const value = { min: 0, mean: 1, max: 2, nan: 0, inf: 3 };

    assert.deepEqual(statistics(value).map(([name]) => name), ["min", "mean", "max", "inf"]);
    assert.deepEqual(statistics(undefined), []);
    assert.deepEqual(range(2, 2), []);
});
