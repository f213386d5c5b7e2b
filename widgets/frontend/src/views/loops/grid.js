// Grid: an array as a small table of its cells: those that the present step reads or writes are marked.
//
// Of a large array the part around its last touch is shown.

/** @import { Loops, Touch, Watched } from "./model.js" */

import { h } from "../../dom.js";
import { clamp, numberText, shapeText } from "../../numbers.js";
import { columnsOf } from "./model.js";

const SIDE = 16; // cells
const NARROW = 10; // cells across, where there are more than SIDE
const WORDS = { in: "read", out: "stored", scratch: "scratch of this kernel" };

/**
 * One array at one moment.
 * @param {Loops} loops
 * @param {number} number
 * @param {number} step
 * @returns {HTMLElement}
 */
export function grid(loops, number, step) {
    const array = loops.told.arrays[number];
    const touched = loops.steps[step].touches.filter((one) => one.array === number);
    const now = new Map(touched.map((one) => [one.place, one]));
    const [rows, columns] = visible(array, loops.lastTouch(number, step)?.place ?? 0);
    const wide = columnsOf(array);
    const head = h("tr", {}, h("td"), columns.map((column) => h("th", { scope: "col" }, column)));
    const body = rows.map((row) =>
        h("tr", {}, h("th", { scope: "row" }, row), columns.map((column) => {
            const place = row * wide + column;
            return cell(loops.cell(number, place, step), now.get(place), loops.largest(number));
        })),
    );
    const name = loops.page.nodes.get(array.node);
    const more = part("rows", rows, length(array) / Math.max(wide, 1)) + part("columns", columns, wide);
    const words = `${array.name} ${shapeText(array.shape)} ${array.dtype}, ${WORDS[/** @type {"in"} */ (array.role)]}`;
    const called = name ? `: ${name.name || name.op}` : "";
    const caption = h("caption", {}, `${words}${called}${more}`);
    return h("table", "jt-loops-grid", caption, h("thead", {}, head), h("tbody", {}, body));
}

/**
 * @param {import("./model.js").Figure | null} value
 * @param {Touch | undefined} touch
 * @param {number} largest
 */
function cell(value, touch, largest) {
    const kind = touch ? (touch.write ? "jt-loops-written" : "jt-loops-read") : null;
    const made = h("td", { class: kind }, value === null ? "\u00b7" : shortText(value));
    const size = typeof value === "number" && largest ? Math.min(Math.abs(value) / largest, 1) : 0;
    const share = Math.round(size * 40); // percent: letters stay legible
    const colour = Number(value) < 0 ? "orange" : "sky";
    if (!touch?.write) made.style.background = `color-mix(in srgb, var(--jt-${colour}) ${share}%, var(--jt-shade))`;
    return made;
}

/**
 * Three digits: cells are narrow.
 * @param {import("./model.js").Figure} value
 * @returns {string}
 */
export function shortText(value) {
    if (typeof value !== "number" || !Number.isFinite(value)) return numberText(value);
    const small = value !== 0 && Math.abs(value) < 1e-3;
    return small ? value.toExponential(1) : numberText(Number(value.toPrecision(3)));
}

/** @param {Watched} array */
function length(array) {
    return array.shape.reduce((a, b) => a * b, 1);
}

/**
 * @param {string} word
 * @param {number[]} shown
 * @param {number} all
 */
function part(word, shown, all) {
    return shown.length < all ? `, ${word} ${shown[0]} to ${shown.at(-1)}` : "";
}

/**
 * Rows and columns to show, around a place.
 * @param {Watched} array
 * @param {number} place
 * @returns {[number[], number[]]}
 */
function visible(array, place) {
    const across = columnsOf(array);
    const down = array.shape.slice(0, -1).reduce((a, b) => a * b, 1);
    const wide = Math.max(across, 1);
    return [around(Math.floor(place / wide), down), around(place % wide, across)];
}

/**
 * @param {number} at
 * @param {number} length
 * @returns {number[]}
 */
function around(at, length) {
    const shown = length > SIDE ? NARROW : length;
    const begin = clamp(at - (shown >> 1), 0, length - shown);
    return Array.from({ length: shown }, (_, k) => begin + k);
}
