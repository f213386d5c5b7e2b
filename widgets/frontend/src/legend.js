// Legend: what does a line or a mark of a chart look like, beside its name?

import { h, s } from "./dom.js";

/**
 * A small picture for a legend.
 * @param {string} look classes
 * @param {string} d
 * @param {number} [width]
 */
export function sample(look, d, width = 14) {
    const path = s("path", { class: look, d });
    return s("svg", { class: "jt-plot-sample", width, height: 14, "aria-hidden": "true" }, path);
}

/**
 * A picture and its words, which no line of a legend parts.
 * @param {Node | string} picture
 * @param {string} words
 */
export function entry(picture, words) {
    return h("span", "jt-plot-entry", picture, words);
}
