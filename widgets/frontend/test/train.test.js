/** Training: rows are joined once and in order, lines are chosen evenly, steps read as words and as a table. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
    evenly, gathered, isBehind, isStopped, joined, said, sectionOf, smoothed, tableOf,
} from "../src/views/train/model.js";

const STATUS = {
    done: 0, planned: 0, running: false, paused: false, left_ms: null, kept: [], kept_bytes: 0, thinned: 0,
}; // prettier-ignore

function row(step, more = {}) {
    const lists = { gradient: [1, 2], ratio: [0.1, null], dead: [0] };
    return { step, epoch: 1, loss: 0.5, lr: 0.01, ms: 1.5, spike: false, ...lists, ...more };
}

function section(rows) {
    return { modules: ["a", "b"], units: ["r"], rows, status: STATUS, spike: "", dead: "" };
}

test("rows that came before are not taken twice", () => {
    const message = { rows: [row(2), row(3)], status: { ...STATUS, done: 3 }, units: ["r"] };
    const now = joined(section([row(1), row(2)]), message);

    assert.deepEqual(now.rows.map((one) => one.step), [1, 2, 3]);
    assert.equal(now.status.done, 3);
});

test("rows are asked for where some are missing, or where Python has thinned the older ones", () => {
    const known = section([row(1)]);
    const news = (rows, thinned = 0) => ({ rows, units: [], status: { ...STATUS, thinned } });

    assert.equal(isBehind(known, news([row(2)])), false);
    assert.equal(isBehind(known, news([])), false);
    assert.equal(isBehind(known, news([row(3)])), true);
    assert.equal(isBehind(known, news([row(2)], 1)), true);
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

    const wanted = ["gradient a", "gradient b", "update / weight a", "update / weight b", "dead r"];

    assert.deepEqual(columns.slice(6), wanted);
    assert.deepEqual(rows, [[1, 1, 0.5, "", 0.01, 1.5, 1, 2, 0.1, "", 0]]);
});

test("a page without a training is refused in words", () => {
    assert.throws(() => sectionOf({}), /jt_widgets.train_panel/);
    assert.throws(() => sectionOf({ train: { rows: 3 } }), /train_panel/);
});

test("spikes that stand too near share a mark, of the one that can be opened or else the highest", () => {
    const rows = [row(1), row(10), row(11), row(12), row(40)].map((one, k) => ({ ...one, spike: k > 0, loss: k }));
    const place = (one) => one.step;

    const steps = (kept) => gathered(rows, kept, place, 5).map((near) => near.map((one) => one.step));

    assert.deepEqual(steps([]), [[12, 11, 10], [40]]);
    assert.deepEqual(steps([10]), [[10, 12, 11], [40]]);
});

test("the first numbers of a running mean are not pulled to 0, and what is no number is left out", () => {
    assert.deepEqual(smoothed([[1, 4], [2, 4], [3, "nan"], [4, 4]], 0.9).map(([step]) => step), [1, 2, 4]);
    assert.ok(smoothed([[1, 4], [2, 4]], 0.9).every(([, value]) => Math.abs(Number(value) - 4) < 1e-9));
    assert.deepEqual(smoothed([[1, 4], [2, 8]], 0), [[1, 4], [2, 8]]);
});

test("a training that ended early is stopped, and one that is paused is not", () => {
    const status = { running: false, paused: false, done: 3, planned: 9 };

    assert.ok(isStopped(/** @type {any} */ (status)));
    assert.ok(!isStopped(/** @type {any} */ ({ ...status, paused: true })));
    assert.ok(!isStopped(/** @type {any} */ ({ ...status, done: 9 })));
});
