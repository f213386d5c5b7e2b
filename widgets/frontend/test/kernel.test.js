// Links between a kernel's lines, the nodes and the learner's lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byCost } from "../src/views/kernel/cost.js";
import { links } from "../src/views/kernel/links.js";

const SOURCE = `def kernel(lo, hi, n0, a0, a1, out0):
    for i0 in range(lo, hi):
        s0 = float64(0)
        for i1 in range(n0):
            t0 = a0[i0, i1] * a1[i1]
            s0 = s0 + t0
        out0[i0] = s0
`;
const where = "cell 3: y = (a * b).sum(1)";
const node = (id, inputs) => ({ id, inputs });
const line = (number, id, op) => ({ number, node: id, op, where });
const kernel = {
    source: SOURCE,
    lines: [line(3, 4, "sum"), line(5, 3, "multiply"), line(6, 4, "sum"), line(7, 4, "sum")],
};
const nodes = [node(0, []), node(1, []), node(2, [1]), node(3, [0, 2]), node(4, [3])];
const page = {
    nodes: new Map(nodes.map((one) => [one.id, one])),
    graph: {
        edges: [
            { source: 1, target: 2, fused: false }, { source: 2, target: 3, fused: true },
            { source: 0, target: 3, fused: false }, { source: 3, target: 4, fused: true },
        ],
    },
}; // prettier-ignore
const found = links(kernel, page);

test("a line knows its operators and the learner's line", () => {
    assert.deepEqual(found.opsAt(5), ["multiply"]);
    assert.equal(found.whereAt(5), where);
    assert.deepEqual(found.opsAt(2), []);
});

test("a view has the line of whoever reads through it, an array has none", () => {
    assert.deepEqual(found.linesOf(2), [5]);
    assert.deepEqual(found.nodesAt(5), [3, 2]);
    assert.deepEqual(found.linesOf(0), []);
});

test("a loop stands for all that is inside of it", () => {
    assert.deepEqual([...found.nodesAt(4)].sort(), [2, 3, 4]);
    assert.deepEqual([...found.nodesAt(1)].sort(), [2, 3, 4]);
});

test("a text written by hand belongs to its operator", () => {
    const text = "def kernel(lo, hi, x, out):\n    for i in range(lo, hi):\n        out[i] = x[i]\n";
    const byHand = { source: text, lines: [line(1, 4, "scan")] };
    const its = links(byHand, page);

    for (const number of [1, 2, 3]) assert.ok(its.nodesAt(number).includes(4));
});

test("every line of code leads to nodes, and back", () => {
    for (const number of found.rows.keys()) {
        const at = found.nodesAt(number + 1);
        assert.ok(at.length, found.rows[number]);
        assert.ok(at.every((id) => found.linesOf(id).length));
    }
});

test("the costliest kernel comes first: by its time, else by what it moves and computes", () => {
    const known = [{ bytes: 10, flops: 0 }, { bytes: 1, flops: 4000 }, { bytes: 50, flops: 9 }];
    const rows = known.map((one) => ({ ms: null, ...one }));

    assert.deepEqual(byCost(rows), [1, 2, 0]);
    assert.deepEqual(byCost([{ ms: 1, bytes: 9, flops: 9 }, { ms: 3, bytes: 1, flops: 1 }]), [1, 0]);
    assert.deepEqual(byCost([{ ms: 0, bytes: 0, flops: 0 }, { ms: 0, bytes: 0, flops: 0 }]), [0, 1]);
});
