// Numbers: how do bytes, times and figures read? As jt_edu/draw/text_metrics.py writes them: 24 B, 1.5 kB, 3.2 MB.

import { grouped, sizeText } from "./graph/text.js";

export { count, grouped, tupleText as shapeText } from "./graph/text.js"; // 1 node; 5,000; (), (3,), (2, 3)

/**
 * Bytes in three digits, as "1.5 kB".
 * @param {number} size
 * @returns {string}
 */
export function bytesText(size) {
    return sizeText(size) || "0 B";
}

/**
 * A time that is given in milliseconds, as "12.3 µs", "4.56 ms" or "1.2 s".
 * @param {number} milliseconds
 * @returns {string}
 */
export function millisText(milliseconds) {
    if (milliseconds >= 999.5) return `${digits(milliseconds / 1000, 3)} s`;
    if (milliseconds >= 0.9995 || milliseconds === 0) return `${digits(milliseconds, 3)} ms`;
    return `${digits(milliseconds * 1000, 3)} µs`;
}

/**
 * A number in four significant digits; "nan", "inf" and "-inf" as Python writes them; null as a dash.
 * @param {number | string | null | undefined} value
 * @returns {string}
 */
export function numberText(value) {
    if (value === null || value === undefined) return "–";
    const number = typeof value === "number" ? value : Number(value.replace(/inf$/, "Infinity"));
    if (Number.isNaN(number)) return `${value}`.toLowerCase(); // or a complex number, in words
    if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
    return digits(number, 4);
}

/**
 * The nearest number from `low` to `high`; where there is none, `high`.
 * @param {number} value
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export function clamp(value, low, high) {
    return Math.min(Math.max(value, low), high);
}

/**
 * @param {number} value
 * @param {number} significant
 * @returns {string}
 */
function digits(value, significant) {
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size < -4 || size >= 15) return value.toExponential(significant - 1).replace(/\.?0*e\+?/, "e");
    return grouped(Number(value.toPrecision(significant)));
}
