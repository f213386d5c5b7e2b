// Heat: what does a value look like?
//
//     heat(value, page, 128)     a canvas of at most 128 pixels a side
//
// Numbers of one sign are coloured by viridis from the smallest to the largest; numbers of both signs from blue over
// grey to orange, with 0 in the middle. NaN is a cross, inf a wedge that points up, -inf one that points down: no
// colour stands for them alone.

/** @import { Page, Value } from "./types.js" */

import { h } from "./dom.js";
import { clamp, count, numberText, shapeText } from "./numbers.js";

const VIRIDIS = ["440154", "482878", "3e4a89", "31688e", "26828e", "1f9e89", "35b779", "6dcd59", "b4de2c", "fde725"];
const SIGNED = ["0b4a8f", "2f7dc4", "86b6de", "d9d9d6", "f2b26b", "dd7f14", "9c4f00"];
const LARGEST = 28; // pixels of a cell: a single number is no large square
const MARK = 6; // pixels of a cell, below which a mark is a dot

/**
 * A value's thumbnail as a picture with a description.
 * @param {Value} value
 * @param {Pick<Page, "blocks">} page
 * @param {number} [size] pixels of the longer side
 * @returns {HTMLCanvasElement}
 */
export function heat(value, page, size = 128) {
    const [rows, columns] = value.shape;
    const cell = clamp(Math.floor(size / Math.max(rows, columns, 1)), 1, LARGEST);
    const scale = Math.ceil(window.devicePixelRatio || 1);
    const [width, height] = [Math.max(1, columns * cell), Math.max(1, rows * cell)];
    const canvas = h("canvas", { class: "jt-heat", width: width * scale, height: height * scale, role: "img" });
    canvas.setAttribute("aria-label", description(value));
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const brush = canvas.getContext("2d");
    if (!brush) return canvas;
    brush.scale(scale, scale);
    const numbers = page.blocks.subarray(value.block[0], value.block[0] + value.block[1]);
    const colour = colours(numbers);
    numbers.forEach((number, place) => {
        paint(brush, number, colour, (place % columns) * cell, Math.floor(place / columns) * cell, cell);
    });
    return canvas;
}

/**
 * How numbers become colours: a function that gives "#rrggbb" for a finite one.
 * @param {ArrayLike<number>} numbers
 * @returns {(number: number) => string}
 */
export function colours(numbers) {
    const [low, high] = bounds(numbers);
    const both = low < 0 && high > 0;
    const most = Math.max(-low, high);
    if (both) return (number) => between(SIGNED, (number / most + 1) / 2);
    return (number) => between(VIRIDIS, high > low ? (number - low) / (high - low) : 0.5);
}

/**
 * What a thumbnail shows, in words.
 * @param {Value} value
 * @returns {string}
 */
function description(value) {
    const range = `from ${numberText(value.min)} to ${numberText(value.max)}, mean ${numberText(value.mean)}`;
    const odd = [value.nan && `${value.nan} NaN`, value.inf && `${value.inf} infinite`].filter(Boolean);
    const some = value.exact ? "" : ` of ${shapeText(value.shape)} cells`;
    return [`A picture${some} of ${count(value.count, "number")} ${range}`, ...odd].join(", ");
}

/** @param {ArrayLike<number>} numbers */
function bounds(numbers) {
    let [low, high] = [Infinity, -Infinity];
    for (const number of Array.from(numbers)) {
        if (!Number.isFinite(number)) continue;
        low = Math.min(low, number);
        high = Math.max(high, number);
    }
    return [low, high];
}

/**
 * @param {string[]} stops
 * @param {number} at from 0 to 1
 * @returns {string}
 */
function between(stops, at) {
    const place = clamp(at, 0, 1) * (stops.length - 1);
    const [left, right] = [stops[Math.floor(place)], stops[Math.ceil(place)]];
    const mixed = [0, 2, 4].map((k) => {
        const [a, b] = [left, right].map((stop) => parseInt(stop.slice(k, k + 2), 16));
        return Math.round(a + (b - a) * (place % 1)).toString(16).padStart(2, "0");
    });
    return `#${mixed.join("")}`;
}

/**
 * @param {CanvasRenderingContext2D} brush
 * @param {number} number
 * @param {(number: number) => string} colour
 * @param {number} x
 * @param {number} y
 * @param {number} cell
 */
function paint(brush, number, colour, x, y, cell) {
    brush.fillStyle = Number.isFinite(number) ? colour(number) : "#ffffff";
    brush.fillRect(x, y, cell, cell);
    if (!Number.isFinite(number)) mark(brush, number, x, y, cell);
}

/**
 * @param {CanvasRenderingContext2D} brush
 * @param {number} number
 * @param {number} x
 * @param {number} y
 * @param {number} cell
 */
function mark(brush, number, x, y, cell) {
    brush.fillStyle = brush.strokeStyle = "#b3261e";
    const [near, far, middle] = [0.2 * cell, 0.8 * cell, 0.5 * cell];
    if (cell < MARK) {
        brush.fillRect(x, y, Math.max(1, middle), Math.max(1, middle));
        return;
    }
    const [tip, base] = number > 0 ? [near, far] : [far, near];
    brush.beginPath();
    if (Number.isNaN(number)) {
        brush.moveTo(x + near, y + near);
        brush.lineTo(x + far, y + far);
        brush.moveTo(x + far, y + near);
        brush.lineTo(x + near, y + far);
        brush.stroke();
    } else {
        brush.moveTo(x + middle, y + tip);
        brush.lineTo(x + far, y + base);
        brush.lineTo(x + near, y + base);
        brush.fill();
    }
}
