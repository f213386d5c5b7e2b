// Help: how is a view read, and which keys does it know?

import { button } from "./controls.js";
import { h } from "./dom.js";

/** @type {[string, string][]} */
const COMMON = [
    ["t", "the same as a table"], ["?", "this card"], ["Esc", "back"],
    ["Tab", "on to the next button, then to the next view"],
];

/**
 * The card of a view, hidden and without keys at first.
 * @param {string} about how it is read
 * @param {HTMLElement} figures what is to be known of the figures
 * @param {() => void} close
 * @returns {HTMLElement}
 */
export function helpCard(about, figures, close) {
    return h(
        "div",
        { class: "jt-help", role: "dialog", "aria-label": "Help", tabindex: -1, hidden: true },
        h("div", "jt-help-head", h("strong", {}, "How to read it"), button("Close", "back (Esc)", close)),
        h("p", {}, about), figures, h("dl"),
    );
}

/**
 * The keys, each with what it does; one without a key is a heading.
 * @param {[string, string][]} keys
 * @returns {HTMLElement[]}
 */
export function rowsOf(keys) {
    return [...keys, ...COMMON].flatMap(([key, words]) => {
        return [h("dt", {}, key ? h("kbd", {}, key) : h("b", {}, words)), h("dd", {}, key && words)];
    });
}
