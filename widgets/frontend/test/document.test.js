// Documents: whole ones are completed, all others refused in one sentence.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { MOST_BYTES, MOST_NODES, check, decode } from "../src/document.js";

const node = (id, inputs = []) => ({
    id, op: "add", kind: "elementwise", shape: [2], dtype: "float32", inputs, name: "", where: "", held: false, value: "",
    label: "", gradient: false, kernel: 0, stored: false,
});
const page = (more = {}, graph = {}) => ({
    format: "jt_edu.page", version: 1, summary: "two nodes",
    graph: {
        nodes: [node(4), node(9, [4, 4])], kernels: [{ id: 0, name: "k", nodes: [9] }],
        edges: [{ source: 4, target: 9, fused: true, rule: "r", reason: "why" }], outputs: [9], ...graph,
    },
    ...more,
});
const bytes = (value) => gzipSync(typeof value === "string" ? value : JSON.stringify(value));
const nothing = new Uint8Array();

test("a whole document gets its look-ups", async () => {
    const value = { shape: [1, 2], block: [1, 2], exact: true, count: 2, dtype: "float32", min: 1, mean: 1, max: 1 };
    const floats = new Float32Array([0, 1.5, -2]);

    const found = await decode(bytes(page({ values: { 9: value } })), gzipSync(new Uint8Array(floats.buffer)));

    assert.deepEqual([...found.numbers(9)], [1.5, -2]);
    assert.equal(found.numbers(4), null);
    assert.deepEqual(found.users.get(4), [9]);
    assert.equal(found.nodes.get(9).inputs.length, 2);
    assert.deepEqual([found.notes, found.memory, found.machine], [[], [], null]);
    assert.deepEqual([found.nodes.get(4).module, found.nodes.get(4).modules, found.nodes.get(4).twin], ["", [], null]);
});

test("a node finds all kernels that compute it", () => {
    const kernel = (id, nodes) => ({
        id, key: `k${id}`, name: "k", kind: "loops", loops: "", source: "", lines: [], classes: [], nodes, stored: [], reads: [],
        bytes: 0, flops: 0, calls: [], backend: "python", ran: false, edited: false,
    });

    const found = check(page({ kernels: [kernel(0, [9]), kernel(1, [9, 4])] }), new Float32Array());

    assert.deepEqual(found.computedBy.get(9).map((one) => one.id), [0, 1]);
    assert.equal(found.byKey.get("k1").id, 1);
});

test("a page that unpacks to too much is stopped while it unpacks", async () => {
    await assert.rejects(decode(gzipSync(Buffer.alloc(MOST_BYTES + 1)), nothing), /more than 64 MB/);
});

test("every length of a cut file is refused", async () => {
    const whole = bytes(page());
    for (const length of [1, 9, 10, 11, 40, whole.length - 9, whole.length - 1]) {
        await assert.rejects(decode(whole.subarray(0, length), nothing), /cannot be unpacked/);
    }
});

test("any one wrong value is named with its place", () => {
    const wrong = [
        [page({ summary: 3 }), /document.summary should be a string, and is 3/],
        [page({ kernels: {} }), /document.kernels should be a list/],
        [page({ values: { 9: null } }), /values.9 should be a dict, and is null/],
        [page({ memory: [{ action: "free" }] }), /document.memory\[0\].node should be a number, and is nothing/],
        [page({}, { nodes: [{ ...node(4), gradient: "no" }] }), /nodes\[0\].gradient should be a boolean/],
        [page({}, { outputs: [5] }), /names node #5/],
        [page({}, { nodes: Array.from({ length: MOST_NODES + 1 }) }), /20,001 nodes; a view draws at most 20,000/],
    ];
    for (const [document, words] of wrong) assert.throws(() => check(document, new Float32Array()), words);
});
