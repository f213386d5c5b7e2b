// Words: how large is a text at each zoom, and how much of it fits?
//
//     level   zoom          what a box shows
//     0       100 % on      both lines, its kind, its number, chips
//     1       75 % on       both lines, and chips
//     2       60 % on       both lines
//     3, 4    45 %, 30 %    its title
//     5       less          nothing: then names stand over the boxes (names.js)
//
// No text is ever smaller than 11 pixels on the screen: at smaller zooms letters grow, and what has no room is cut or
// left out. Nothing here knows graphs.

import { width } from "../../graph/text.js";

/** @typedef {"plain" | "bold" | "mono" | "caps"} Style */
/**
 * A text that adapts to the zoom.
 * @typedef {object} Words
 * @property {SVGTextElement} element
 * @property {string} text
 * @property {Style} style
 * @property {number} room how wide it may become, in pixels of the sheet
 * @property {number} near the size of its letters at zoom 1
 * @property {number} until the last level at which it is shown
 * @property {number[]} [at] y at each level
 * @property {string} [short] what stands there where the text has no room
 */

export const LEAST = 11;
export const TIMES = / × \d+$/; // Block × 12
export const ZOOMS = [1, 0.75, 0.6, 0.45, 0.3]; // the smallest zoom of each level

/**
 * How large letters must be on the sheet, to be large enough on the screen.
 * @param {number} near their size at zoom 1
 * @param {number} zoom
 * @returns {number}
 */
export function sizeAt(near, zoom) {
    return Math.max(near, Math.ceil((10 * LEAST) / zoom) / 10);
}

/**
 * The level of detail of a zoom.
 * @param {number} zoom
 * @returns {number}
 */
export function levelOf(zoom) {
    const level = ZOOMS.findIndex((least) => zoom >= least - 1e-6);
    return level < 0 ? ZOOMS.length : level;
}

/**
 * The text, or as much of its beginning as has room: whole facts, where one has. How many there are is always said.
 * @param {string} text
 * @param {number} size
 * @param {Style} style
 * @param {number} room
 * @returns {string}
 */
export function fitting(text, size, style, room) {
    if (width(text, size, style) <= room) return text;
    const tail = TIMES.exec(text)?.[0] ?? "";
    const letters = [...text.slice(0, text.length - tail.length)];
    let fits = 0;
    for (let low = 1, high = letters.length; low <= high; ) {
        const middle = (low + high) >> 1;
        const part = `${letters.slice(0, middle).join("")}…${tail}`;
        if (width(part, size, style) <= room) [fits, low] = [middle, middle + 1];
        else high = middle - 1;
    }
    const part = letters.slice(0, fits).join("");
    const whole = Math.max(part.lastIndexOf(" ("), part.lastIndexOf(") ") + 1, part.lastIndexOf(" ·"));
    return whole > 0 ? part.slice(0, whole) : fits ? `${part}…${tail}` : "";
}

/**
 * Show a text as it is at this zoom.
 * @param {Words} words
 * @param {number} zoom
 */
export function adapt({ element, text, style, room, near, until, at, short = text }, zoom) {
    const [level, size] = [levelOf(zoom), sizeAt(near, Math.max(zoom, ZOOMS[until]))];
    const said = width(text, size, style) <= room ? text : short;
    element.textContent = level <= until ? fitting(said, size, style, room) : "";
    if (level > until) return;
    element.style.fontSize = `${size}px`;
    if (at) element.setAttribute("y", `${at[level] ?? at.at(-1)}`);
}
