// Listing: the source with, beside each line, its operators and the learner's line.
//
// Pointing at a line selects what it computes; pointing at the learner's line selects all that this line asked for. A
// click keeps the selection. Nothing here asks Python.

/** @import { Kernel, Selection } from "../../types.js" */
/** @import { Links } from "./links.js" */

import { source } from "../../code.js";
import { h } from "../../dom.js";

const WIDEST = 24; // letters of a column of operators

/** @typedef {{nodes: number[], line: number | null}} Picked */
/** @typedef {{point: (picked: Picked | null) => void, keep: (picked: Picked) => void}} Hear */
/** @typedef {{element: HTMLElement, light: (what: Selection) => void, reveal: (line: number) => void}} Annotated */

/**
 * @param {Kernel} kernel
 * @param {Links} links
 * @param {Hear} hear
 * @returns {Annotated}
 */
export function listing(kernel, links, hear) {
    const all = links.rows.map((_, place) => place + 1);
    const wide = Math.min(WIDEST, Math.max(...all.map((line) => links.opsAt(line).join(", ").length), 4));
    const at = (/** @type {number} */ line) => ({ nodes: links.nodesAt(line), line });
    const asked = (/** @type {string} */ where) => all.filter((line) => links.whereAt(line) === where);
    /** @param {string} where */
    const askedFor = (where) => ({ nodes: [...new Set(asked(where).flatMap(links.nodesAt))], line: null });
    const code = source(kernel, {
        enter: (line) => hear.point(at(line)),
        click: (line) => hear.keep(at(line)),
        beside: (line) => beside(links, line, wide, askedFor, hear),
    });
    code.element.addEventListener("mouseleave", () => hear.point(null));
    return {
        element: code.element,
        reveal: (line) => code.rows[line - 1]?.scrollIntoView({ block: "nearest", inline: "nearest" }),
        light: ({ nodes, kernel: key, line }) => {
            const lit = new Set(nodes.flatMap((node) => links.linesOf(node)));
            code.light((row) => (key === kernel.key && line !== null ? row === line : lit.has(row)));
        },
    };
}

/**
 * @param {Links} links
 * @param {number} line
 * @param {number} wide
 * @param {(where: string) => Picked} askedFor
 * @param {Hear} hear
 */
function beside(links, line, wide, askedFor, hear) {
    const ops = h("span", { class: "jt-ops" }, links.opsAt(line).join(", "));
    ops.style.width = `${wide + 2}ch`;
    const where = links.whereAt(line);
    if (!where) return ops;
    const before = Array.from({ length: line - 1 }, (_, k) => links.whereAt(line - 1 - k)).find(Boolean);
    const told = h("span", {
        class: "jt-where", title: where,
        onmouseenter: () => hear.point(askedFor(where)),
        onclick: (/** @type {Event} */ event) => {
            event.stopPropagation();
            hear.keep(askedFor(where));
        },
    }, before === where ? "\u2033" : where); // prettier-ignore
    return h("span", { class: "jt-both" }, ops, told);
}
