/** Training: rows are joined once and in order, lines are chosen evenly, steps read as words and as a table. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { evenly, joined, said, sectionOf, tableOf, unpacked } from "../src/views/train/model.js";

const STATUS = { done: 0, planned: 0, running: false, paused: false, left_ms: null, kept: [], kept_bytes: 0, thinned: 0 };

function row(step, more = {}) {
    return { step, epoch: 1, loss: 0.5, lr: 0.01, ms: 1.5, gradient: [1, 2], ratio: [0.1, null], dead: [0], spike: false, ...more };
}

function section(rows) {
    return { modules: ["a", "b"], units: ["r"], rows, status: STATUS, spike: "", dead: "" };
}

test("rows that came before are not taken twice", () => {
    const now = joined(section([row(1), row(2)]), { rows: [row(2), row(3)], status: { ...STATUS, done: 3 }, units: ["r"] });

    assert.deepEqual(now.rows.map((one) => one.step), [1, 2, 3]);
    assert.equal(now.status.done, 3);
});

test("at most six of many are shown, the first and the last among them", () => {
    assert.deepEqual(evenly(3), [0, 1, 2]);
    assert.deepEqual(evenly(0), []);
    assert.deepEqual(evenly(1), [0]);
    assert.deepEqual(evenly(61), [0, 12, 24, 36, 48, 60]);
});

test("a step reads as a sentence", () => {
    assert.equal(said(row(7)), "step 7, loss 0.5, learning rate 0.01, 1.5 ms");
    assert.equal(said(row(7, { loss: "nan", spike: true })), "step 7, loss nan, a spike, learning rate 0.01, 1.5 ms");
});

test("the table has a column for each module and unit", () => {
    const { columns, rows } = tableOf(section([row(1)]));

    assert.deepEqual(columns.slice(6), ["gradient a", "gradient b", "update / weight a", "update / weight b", "dead r"]);
    assert.deepEqual(rows, [[1, 1, 0.5, "", 0.01, 1.5, 1, 2, 0.1, "", 0]]);
});

test("bytes come back from base64", () => {
    assert.deepEqual([...unpacked("AP8B")], [0, 255, 1]);
});

test("a page without a training is refused in words", () => {
    assert.throws(() => sectionOf({}), /jt_widgets.train_panel/);
    assert.throws(() => sectionOf({ train: { rows: 3 } }), /train_panel/);
});
