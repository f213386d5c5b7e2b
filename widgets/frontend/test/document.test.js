// Documents: whole ones are completed, all others refused in one sentence.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { MOST_BYTES, check, decode, fromBase64 } from "../src/document.js";
import { MOST } from "../src/fit.js";

const node = (id, inputs = []) => ({
    id, op: "add", kind: "elementwise", shape: [2], dtype: "float32", inputs, name: "", where: "", held: false,
    value: "", label: "", gradient: false, kernel: 0, stored: false,
});
const page = (more = {}, graph = {}) => ({
    format: "jt_edu.page", version: 1, summary: "two nodes",
    graph: {
        nodes: [node(4), node(9, [4, 4])], kernels: [{ id: 0, name: "k", nodes: [9] }],
        edges: [{ source: 4, target: 9, fused: true, rule: "r", reason: "why" }], outputs: [9], ...graph,
    },
    ...more,
});
const value = { shape: [1, 1], block: [0, 1], exact: true, count: 2, dtype: "float32", min: 1, mean: null, max: "inf" };
const loops = {
    codes: [5, 0, 1, 0], numbers: [1], names: ["i"], source: "", key: "k", classes: [], lines: [], arrays: [],
};
const slides = (more) => ({
    reducer: "maximum", stride: [1, 1], padding: [0, 0], dilation: [1, 1], out: [1, 1, 1], points: [0, 0, 0, 0, 0],
    image: { shape: [1, 1, 1], values: [1] }, weights: null, ...more,
});
const roof = { ways: { fused: [], unfused: null }, machine: { bandwidth: 1, flops: 1 } };
const lives = { peak: 1, predicted_peak: 1, height: 1, alive: [], starts: [], arrays: [] };
const bytes = (value) => gzipSync(typeof value === "string" ? value : JSON.stringify(value));
const nothing = new Uint8Array();

test("a whole document gets its look-ups", async () => {
    const value = { shape: [1, 2], block: [1, 2], exact: true, count: 2, dtype: "float32", min: 1, mean: 1, max: 1 };
    const floats = new Float32Array([0, 1.5, -2]);

    const found = await decode(bytes(page({ values: { 9: value } })), gzipSync(new Uint8Array(floats.buffer)));

    assert.deepEqual([...found.blocks], [0, 1.5, -2]);
    assert.deepEqual(found.users.get(4), [9]);
    assert.equal(found.nodes.get(9).inputs.length, 2);
    assert.deepEqual([found.notes, found.memory], [[], []]);
});

test("bytes come back from base64", () => {
    assert.deepEqual([...fromBase64(" AP8B\n")], [0, 255, 1]);
});

test("what is no base64 is refused in a sentence when it is unpacked", async () => {
    for (const text of ["!!!not base64", "AAAAA"]) {
        await assert.rejects(decode(fromBase64(text), nothing), /This page is damaged or cut off/);
    }
});

test("a page that unpacks to too much is stopped while it unpacks", async () => {
    await assert.rejects(decode(gzipSync(Buffer.alloc(MOST_BYTES + 1)), nothing), /more than 64 MB/);
});

test("steps of a kernel that come out even are taken", () => {
    assert.equal(check(page({ loops }), new Float32Array()).loops.names[0], "i");
    assert.ok(check(page({ loops: { ...loops, window: slides() } }), new Float32Array()).loops.window);
    assert.throws(() => check(page({ loops: { ...loops, names: [] } }), new Float32Array()), /come out even/);
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
        [page({ values: { 9: { ...value, mean: "much" } } }), /values.9.mean should be a number, and is "much"/],
        [page({ values: { 9: { ...value, shape: [-1, 2] } } }), /values.9.shape should be a list of two whole numbers/],
        [page({ passes: Array.from({ length: 51 }) }), /This page has 51 passes; a view draws at most 50/],
        [page({ kernels: Array.from({ length: 20_000 }) }), /This page has 20,000 kernels/],
        [page({}, { nodes: [node(4, Array(100_000).fill(4))] }), /has 100,000 inputs/],
        [page({ tape: { rows: 1 } }), /document.tape.kernel_alive should be a list/],
        [page({ train: { rows: [{}] } }), /document.train.modules should be a list, and is nothing/],
        [page({ roofline: { ways: null } }), /document.roofline.ways should be a dict, and is null/],
        [page({ roofline: { ...roof, ways: { fused: [], unfused: [null] } } }), /ways.unfused\[0\] should be a dict/],
        [page({ lifetimes: { ...lives, unfused: { ...lives, peak: true } } }), /unfused.peak should be a number/],
        [page({ loops: { ...loops, numbers: [{}] } }), /loops.numbers\[0\] should be a number, and is \{\}/],
        [page({ lifetimes: 3 }), /document.lifetimes should be a dict, and is 3/],
        [page({ loops: { ...loops, codes: [1, 1e9, 1] } }), /steps of its kernel do not come out even/],
        [page({ loops: { ...loops, codes: [1, 0, 1, 7] } }), /steps of its kernel do not come out even/],
        [page({ loops: { ...loops, window: slides({ out: [1, 30_000, 30_000] }) } }), /has 900,000,000 cells/],
        [page({ loops: { ...loops, window: slides({ padding: [1e9, 0] }) } }), /a view draws at most 20,000/],
        [page({ loops: { ...loops, window: slides({ points: [0, 0, 1e9, 0, 0] }) } }), /cells in its window/],
        [page({ loops: { ...loops, window: slides({ out: [1, 0.5, 1] }) } }), /should be a whole number/],
        [page({ loops: { ...loops, window: slides({ image: { shape: [1, 9, 1], values: [] } }) } }), /do not fit its/],
        [page({}, { outputs: [5] }), /names node #5/],
        [page({}, { nodes: Array.from({ length: MOST.nodes + 1 }) }), /20,001 nodes; a view draws at most 20,000/],
    ];
    for (const [document, words] of wrong) assert.throws(() => check(document, new Float32Array()), words);
});
