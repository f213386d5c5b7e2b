// Model: what is known of a training, and how does it read?
//
// Nothing here draws.

/** @import { Page, Table } from "../../types.js" */

import { millisText, numberText } from "../../numbers.js";

/**
 * @typedef {number | string | null} Figure
 * @typedef {{step: number, epoch: number, loss: Figure, lr: Figure, ms: number, gradient: Figure[], ratio: Figure[],
 *     dead: (number | null)[], spike: boolean}} Row
 * @typedef {{done: number, planned: number, running: boolean, paused: boolean, left_ms: number | null, kept: number[],
 *     kept_bytes: number, thinned: number}} Status
 * @typedef {{step: number, loss: Figure, accuracy: Figure}} Check what validation gave after a step
 * @typedef {{modules: string[], units: string[], rows: Row[], checks?: Check[], status: Status, spike: string,
 *     dead: string}} Section
 * @typedef {{rows: Row[], status: Status, units: string[], checks?: Check[]}} News what comes while it trains
 * @typedef {readonly [number, Figure]} Mark a step and its number
 */

export const LINES = 6; // in one chart

/**
 * @param {Page} page
 * @returns {Section}
 */
export function sectionOf(page) {
    const train = /** @type {Section | undefined} */ (page.train);
    if (!Array.isArray(train?.rows) || !train.status) {
        throw new Error("This page holds no training. Make it with jt_widgets.train_panel(...).");
    }
    return train;
}

/**
 * What is known after a message with new rows; a row that came before is not taken twice.
 * @param {Section} train
 * @param {News} news
 * @returns {Section}
 */
export function joined(train, { rows, status, units, checks = train.checks }) {
    const last = train.rows.at(-1)?.step ?? 0;
    return { ...train, status, units, checks, rows: [...train.rows, ...rows.filter((row) => row.step > last)] };
}

/**
 * Whether rows are to be asked for: some are missing, or older ones were thinned, which would grow here for ever.
 * @param {Section} train
 * @param {News} news
 */
export function isBehind({ rows, status }, news) {
    const missed = news.rows.length > 0 && news.rows[0].step > (rows.at(-1)?.step ?? 0) + 1;
    return missed || news.status.thinned !== status.thinned;
}

/**
 * At most six of so many places, from the first to the last; as jt_edu/draw/charts.py chooses them.
 * @param {number} number
 * @returns {number[]}
 */
export function evenly(number) {
    const some = Math.min(number, LINES);
    return Array.from({ length: some }, (_, k) => Math.round((k * (number - 1)) / Math.max(1, some - 1)));
}

/**
 * Spikes, each with those that stand too near to have a mark of their own. First comes the one that can be opened, and
 * among these the highest.
 * @param {Row[]} rows
 * @param {number[]} kept steps that can be opened
 * @param {(row: Row) => number} place
 * @param {number} apart
 * @returns {Row[][]}
 */
export function gathered(rows, kept, place, apart) {
    const height = (/** @type {Row} */ { loss }) => (typeof loss === "number" ? loss : Infinity);
    const opens = (/** @type {Row} */ { step }) => Number(kept.includes(step));
    /** @type {Row[][]} */
    const found = [];
    for (const row of rows.filter((one) => one.spike)) {
        const near = found.at(-1);
        if (near && place(row) - place(near[0]) < apart) near.push(row);
        else found.push([row]);
    }
    return found.map((near) => near.sort((a, b) => opens(b) - opens(a) || (height(b) > height(a) ? 1 : -1)));
}

/**
 * The running mean of numbers in which older ones count less and less; the first ones are not pulled to 0. What is no
 * number is left out.
 * @param {Mark[]} marks
 * @param {number} weight of what came before, from 0 to below 1
 * @returns {Mark[]}
 */
export function smoothed(marks, weight) {
    let [mean, known] = [0, 0];
    return marks.flatMap(([step, value]) => {
        if (typeof value !== "number") return [];
        mean = weight * mean + (1 - weight) * value;
        known = weight * known + (1 - weight);
        return [/** @type {Mark} */ ([step, mean / known])];
    });
}

/**
 * Whether a training ended before it was through, and is not going on.
 * @param {Status} status
 */
export function isStopped({ running, paused, done, planned }) {
    return !running && !paused && done < planned;
}

/**
 * A step in words.
 * @param {Row} row
 */
export function said(row) {
    const loss = `loss ${numberText(row.loss)}${row.spike ? ", a spike" : ""}`;
    return `step ${row.step}, ${loss}, learning rate ${numberText(row.lr)}, ${millisText(row.ms)}`;
}

/**
 * All steps as a table.
 * @param {Section} train
 * @returns {Table}
 */
export function tableOf({ modules, units, rows }) {
    const value = (/** @type {Figure} */ figure) => figure ?? "";
    return {
        columns: ["step", "epoch", "loss", "spike", "learning rate", "ms", ...modules.map((name) => `gradient ${name}`),
            ...modules.map((name) => `update / weight ${name}`), ...units.map((name) => `dead ${name}`)],
        rows: rows.map((row) => [row.step, row.epoch, value(row.loss), row.spike ? "spike" : "", value(row.lr), row.ms,
            ...row.gradient.map(value), ...row.ratio.map(value), ...row.dead.map(value)]),
    };
}
