// Code: how is a kernel's source shown, line by line, in the editor's own colours?
//
//     const listing = source(kernel, {click: (line) => ...});      root.append(listing.element)
//     listing.light((line) => lines.has(line));                    class "jt-on" on those lines
//
// Which letters are a keyword was decided in Python (with tokenize); here they only get a class: jt-k keyword, jt-s
// string, jt-c comment, jt-m number, jt-d definition, jt-o operator.

/** @import { Kernel, Span } from "./types.js" */

import { h } from "./dom.js";

/** @typedef {Pick<Kernel, "source" | "classes">} Source */
/** @typedef {{
 *     enter?: (line: number) => void, leave?: (line: number) => void, click?: (line: number) => void,
 *     beside?: (line: number) => Node | string | null }} Hooks lines count from 1; `beside` fills a column */
/** @typedef {{element: HTMLElement, rows: HTMLElement[], light: (on: (line: number) => boolean) => void}} Listing */

/**
 * A listing: one row for each line, with its number.
 * @param {Source} kernel
 * @param {Hooks} [hooks]
 * @returns {Listing}
 */
export function source(kernel, hooks = {}) {
    const spans = grouped(kernel.classes);
    const lines = kernel.source.replace(/\n$/, "").split("\n");
    const rows = lines.map((text, place) => row(text, place + 1, spans.get(place + 1) ?? [], hooks));
    return {
        element: h("div", { class: "jt-code", role: "list" }, rows),
        rows,
        light: (on) => rows.forEach((one, place) => one.classList.toggle("jt-on", on(place + 1))),
    };
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
