// Controls: what do views share that a reader presses or is told?
//
//     button(words, title, act)     a button, with its key in its title
//     tab(words, title, act, on)    one of several that share a place
//     press(button, on)             shown as pressed, or not
//     isWritten(event)              whether a key is written into a field
//     isPressed(event)              whether a key is meant for the button, the list or the slider that has the focus
//     walkButtons(panel, key)      arrows from button to button of a panel
//     alone(event)                  whether a key was pressed without Ctrl, Cmd and Alt
//     named(words), soft(words)     a heading, a remark
//     facts(rows)                   names and what they are
//     trouble(title, words)         what went wrong, in a box
//     textOf(error)                 what went wrong, in words
//
// Nothing here knows pages.

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Attribute} Attribute */

/**
 * A button.
 * @param {string} words
 * @param {string} title what it does, with its key; "" where its words say all
 * @param {() => void} act
 * @param {Record<string, Attribute>} [more] attributes
 * @returns {HTMLButtonElement}
 */
export function button(words, title, act, more = {}) {
    const look = { class: "jt-button", type: "button", title: title || null, ...more };
    return h("button", { ...look, onclick: act }, words);
}

/**
 * One of several that share a place.
 * @param {string} words
 * @param {string} title
 * @param {() => void} act
 * @param {boolean} [on]
 */
export function tab(words, title, act, on = false) {
    return button(words, title, act, { class: "jt-tab", role: "tab", "aria-selected": `${on}` });
}

/**
 * Whether a key is written into something.
 * @param {Event} event
 */
export function isWritten({ target }) {
    return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

/**
 * Whether a key does something with the control that has the focus: presses a button, moves a slider, opens a list. A
 * mark in a picture, which arrows lead to and which is no Tab stop, leaves its keys to its view.
 * @param {KeyboardEvent} event
 */
export function isPressed({ target, key }) {
    if (!(target instanceof HTMLElement) || target.tabIndex < 0) return false;
    if (target.matches("button")) return key === "Enter" || key === " ";
    return target.matches("select, input[type=range]") && /^(Arrow|Home|End|Page|Enter| )/.test(key);
}

/**
 * Show whether something is on.
 * @param {Element} element
 * @param {boolean} on
 */
export function press(element, on) {
    element.setAttribute("aria-pressed", `${on}`);
}

/**
 * Whether a key was pressed on a button of this panel.
 * @param {KeyboardEvent} event
 * @param {Element} panel
 * @returns {boolean}
 */
export function isButton({ target }, panel) {
    return target instanceof HTMLButtonElement && panel.contains(target);
}

/**
 * From button to button of a panel, which is no Tab stop; Enter and Space are left to the button.
 * @param {Element} panel
 * @param {string} key
 * @param {() => void} [back] for Escape
 * @returns {boolean} whether the key was meant for the panel
 */
export function walkButtons(panel, key, back) {
    const all = [...panel.querySelectorAll("button")];
    const here = all.findIndex((one) => one === document.activeElement);
    const to = { ArrowDown: here + 1, ArrowRight: here + 1, ArrowUp: here - 1, ArrowLeft: here - 1, Home: 0 }[key];
    if (key === "Escape") back?.();
    else if (to !== undefined) all[Math.min(Math.max(to, 0), all.length - 1)]?.focus();
    return key === "Escape" || to !== undefined;
}

/**
 * Whether a key was pressed without those that make a command of it.
 * @param {KeyboardEvent} event
 * @returns {boolean}
 */
export function alone({ ctrlKey, metaKey, altKey }) {
    return !ctrlKey && !metaKey && !altKey;
}

/**
 * The name of what stands below it.
 * @param {...import("./dom.js").Child} words
 */
export function named(...words) {
    return h("p", "jt-name", words);
}

/**
 * A remark.
 * @param {...import("./dom.js").Child} words
 */
export function soft(...words) {
    return h("p", "jt-soft", words);
}

/**
 * Names and what they are; those without words are left out.
 * @param {[string, import("./dom.js").Child][]} rows
 */
export function facts(rows) {
    return h("dl", {}, rows.map(([name, words]) => words ? [h("dt", {}, name), h("dd", {}, words)] : null));
}

/**
 * What went wrong, in a box that a screen reader reads at once.
 * @param {string} title
 * @param {string} words
 * @returns {HTMLElement}
 */
export function trouble(title, words) {
    return h("div", { class: "jt-trouble", role: "alert" }, h("strong", {}, title), h("p", {}, words));
}

/**
 * What went wrong, in words.
 * @param {unknown} error
 * @returns {string}
 */
export function textOf(error) {
    return error instanceof Error ? error.message : `${error}`;
}
