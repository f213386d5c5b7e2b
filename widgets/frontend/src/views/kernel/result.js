// Result: what did a trial of an edited kernel find?

import { soft, trouble } from "../../controls.js";
import { h } from "../../dom.js";
import { grouped, millisText, numberText } from "../../numbers.js";
import { framed } from "../../tables.js";

/** @typedef {{name: string, dtype: string, agrees: boolean, absolute: number, relative: number, differ: number,
 *     count: number, strange: number}} Output */
/** @typedef {{outputs: Output[], sets: number, shapes: string[], original_ms: number, edited_ms: number,
 *     samples: number}} Trial */
/** @typedef {{error: string, line: number | null, record: Trial | null, agrees: boolean, speed: number,
 *     installed: boolean, text: string}} Edit */

const HEADS = ["output", "verdict", "largest error", "relative", "elements that differ"];

/**
 * The record of a trial, or its error.
 * @param {Edit} edit
 * @returns {HTMLElement}
 */
export function resultOf(edit) {
    if (!edit.record) return failure(edit);
    const { outputs, sets, shapes } = edit.record;
    const rows = outputs.map((one) => h("tr", {}, cells(one).map((cell) => h("td", {}, cell))));
    return h("div", { class: "jt-kernel-result", role: "status" },
        h("p", {}, h("strong", {}, verdict(edit)), ` ${speed(edit)}`),
        framed(HEADS, rows),
        soft(`Tried on ${sets} sets of random numbers: ${shapes.join("; ")}.`),
    );
}

/** @param {Edit} edit */
function failure({ error, line }) {
    const place = line === null ? "It does not run." : `Line ${line} does not work.`;
    return trouble(place, error);
}

/** @param {Edit} edit */
function verdict({ agrees, installed }) {
    if (!agrees) return installed ? "Runs in the graph, and computes something else." : "It computes something else.";
    return installed ? "Runs in the graph, instead of the original." : "It agrees with the original.";
}

/** @param {Edit} edit */
function speed({ record, speed: ratio }) {
    if (!record) return "";
    const times = `${millisText(record.edited_ms)} a call, the original ${millisText(record.original_ms)}`;
    const fast = numberText(Number(ratio.toPrecision(2)));
    return `${times}: ${fast} times as fast (least of ${record.samples}, one thread, without the call from Python).`;
}

/** @param {Output} one */
function cells({ name, dtype, agrees, absolute, relative, differ, count, strange }) {
    const odd = strange ? `, ${grouped(strange)} nan or inf` : "";
    const words = agrees ? (differ ? "\u2713 agrees, but for rounding" : "\u2713 the same") : `\u2717 differs${odd}`;
    const some = `${grouped(differ)} of ${grouped(count)}`;
    return [`${name} ${dtype}`, words, numberText(absolute), numberText(relative), some];
}
