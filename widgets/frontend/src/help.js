// Help: which keys does a view know?

import { h } from "./dom.js";

/** @type {[string, string][]} */
const COMMON = [["t", "the same as a table"], ["?", "this card"], ["Esc", "back"], ["Tab", "on to the next view"]];

/**
 * The card with all keys of a view, hidden at first.
 * @param {[string, string][]} keys
 * @param {() => void} close
 * @returns {HTMLElement}
 */
export function helpCard(keys, close) {
    const rows = [...keys, ...COMMON].map(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)]);
    const button = h("button", { class: "jt-button", type: "button", tabindex: -1, onclick: close }, "Close");
    return h(
        "div",
        { class: "jt-help", role: "dialog", "aria-label": "Keys", tabindex: -1, hidden: true },
        h("div", { class: "jt-help-head" }, h("strong", {}, "Keys"), button),
        h("dl", {}, rows),
    );
}
