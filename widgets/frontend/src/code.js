// Code: how is a kernel's source shown, line by line, in the editor's own colours?
//
//     const listing = source(kernel, {click: (line) => ...});      root.append(listing.element)
//     listing.light((line) => lines.has(line));                    class "jt-on" on those lines
//     listing.open(line)                                           whatever is folded around it
//
// What comes first is what runs: of a docstring the first line is shown, and a button unfolds the others. With `most`,
// so many lines of a long source are shown, until a button shows all.
//
// Which letters are a keyword was decided in Python (with tokenize); here they only get a class: jt-k keyword, jt-s
// string, jt-c comment, jt-m number, jt-d definition, jt-o operator.

/** @import { Kernel, Span } from "./types.js" */

import { h } from "./dom.js";
import { count } from "./numbers.js";

/** @typedef {Pick<Kernel, "source" | "classes">} Source */
/** @typedef {{
 *     enter?: (line: number) => void, leave?: (line: number) => void, click?: (line: number) => void,
 *     beside?: (line: number) => Node | string | null }} Hooks lines count from 1; `beside` fills a column */
/** @typedef {{element: HTMLElement, rows: HTMLElement[], light: (on: (line: number) => boolean) => void,
 *     open: (line: number) => void}} Listing */

const QUOTES = /^\s*r?"""(?!.*""")/; // the beginning of a docstring that goes on

/**
 * A listing: one row for each line, with its number.
 * @param {Source} kernel
 * @param {Hooks} [hooks]
 * @param {number} [most] lines that are shown at first
 * @returns {Listing}
 */
export function source(kernel, hooks = {}, most = Infinity) {
    const spans = grouped(kernel.classes);
    const lines = kernel.source.replace(/\n$/, "").split("\n");
    const rows = lines.map((text, place) => row(text, place + 1, spans.get(place + 1) ?? [], hooks));
    const element = h("div", { class: "jt-code", role: "list" }, rows);
    const buttons = folds(lines, most).map(([from, to]) => fold(rows, from, to));
    return {
        element,
        rows,
        light: (on) => rows.forEach((one, place) => one.classList.toggle("jt-on", on(place + 1))),
        open(line) {
            for (const one of buttons) if (one.holds(rows[line - 1])) one.open();
        },
    };
}

/**
 * Which lines are folded behind which other one: docstrings, and what comes after so many lines.
 * @param {string[]} lines
 * @param {number} [most] a source that is little longer is not folded
 * @returns {[number, number][]} places of the line that stays, and of the last one behind it
 */
export function folds(lines, most = Infinity) {
    /** @type {[number, number][]} */
    const found = [];
    let shown = 0;
    for (let at = 0; at < lines.length; at += 1) {
        shown += 1;
        const rest = lines.length - 1 - at;
        if (shown === most && rest > most / 4) return [...found, [at, lines.length - 1]];
        const end = QUOTES.test(lines[at]) ? lines.findIndex((text, k) => k > at && text.includes('"""')) : -1;
        if (end > at + 1) found.push([at, end]);
        if (end > at) at = end;
    }
    return found;
}

/**
 * Put lines into a box of their own, which a button behind the line before them opens and closes.
 * @param {HTMLElement[]} rows
 * @param {number} from
 * @param {number} to
 */
function fold(rows, from, to) {
    const box = h("div", { role: "presentation", hidden: true });
    const words = `… ${count(to - from, "more line")}`;
    const show = (/** @type {boolean} */ open) => {
        box.hidden = !open;
        more.setAttribute("aria-expanded", `${open}`);
        more.textContent = open ? "fold" : words;
    };
    const more = h("button", { class: "jt-fold", type: "button", "aria-expanded": "false", onclick: (event) => {
        event.stopPropagation();
        show(Boolean(box.hidden));
    } }, words);
    rows[from].querySelector(".jt-text")?.append(" ", more);
    rows[from].after(box);
    box.append(...rows.slice(from + 1, to + 1));
    return { open: () => show(true), holds: (/** @type {Element | undefined} */ row) => row?.parentElement === box };
}

/**
 * The pieces of one line, each with its class or "".
 * @param {string} text
 * @param {Span[]} spans
 * @returns {[string, string][]}
 */
export function pieces(text, spans) {
    /** @type {[string, string][]} */
    const found = [];
    let at = 0;
    for (const [, from, to, letter] of [...spans].sort((a, b) => a[1] - b[1])) {
        if (from < at || to <= from) continue;
        if (from > at) found.push([text.slice(at, from), ""]);
        found.push([text.slice(from, to), letter]);
        at = to;
    }
    if (at < text.length) found.push([text.slice(at), ""]);
    return found;
}

/**
 * @param {Span[]} classes
 * @returns {Map<number, Span[]>}
 */
function grouped(classes) {
    /** @type {Map<number, Span[]>} */
    const found = new Map();
    for (const span of classes) found.set(span[0], [...(found.get(span[0]) ?? []), span]);
    return found;
}

/**
 * @param {string} text
 * @param {number} line
 * @param {Span[]} spans
 * @param {Hooks} hooks
 * @returns {HTMLElement}
 */
function row(text, line, spans, hooks) {
    const words = pieces(text, spans).map(([piece, letter]) =>
        letter ? h("span", `jt-${letter}`, piece) : piece,
    );
    return h(
        "div",
        {
            class: "jt-row", role: "listitem", "data-line": line,
            onmouseenter: () => hooks.enter?.(line),
            onmouseleave: () => hooks.leave?.(line),
            onclick: () => hooks.click?.(line),
        },
        h("span", "jt-at", line),
        h("span", "jt-text", words),
        hooks.beside ? h("span", "jt-beside", hooks.beside(line)) : null,
    );
}
