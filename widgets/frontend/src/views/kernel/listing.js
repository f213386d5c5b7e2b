// Listing: the source with, beside each line, its operators and the learner's line.
//
// Pointing at a line selects what it computes; pointing at the learner's line selects all that this line asked for. A
// click keeps the selection. Nothing here asks Python.

/** @import { Kernel, Selection } from "../../types.js" */
/** @import { Links } from "./links.js" */

import { source } from "../../code.js";
import { h, reveal } from "../../dom.js";
import { names } from "../../lit.js";

const WIDEST = 24; // letters of a column of operators
const ABOVE = 4; // lines that stay in sight above the one that is revealed, since the words on top cover some
const PARAMETERS = `lo, hi: the part of the outermost loop that one thread does. n: lengths, a: arrays that are read,
c: numbers of your program, out: arrays that are stored.`;

/** @typedef {{nodes: number[], line: number | null}} Picked */
/** @typedef {{point: (picked: Picked | null) => void, keep: (picked: Picked) => void}} Hear */
/** @typedef {{element: HTMLElement, light: (what: Selection) => void, lit: (what: Selection) => number[],
 *     reveal: (line: number | undefined) => void, asked: (where: string) => {nodes: number[]}}} Annotated */

/**
 * @param {Kernel} kernel
 * @param {Links} links
 * @param {Element} scroller what scrolls to a line
 * @param {Hear} hear
 * @returns {Annotated}
 */
export function listing(kernel, links, scroller, hear) {
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
    code.rows.forEach((row, k) => links.rows[k].startsWith("def ") && row.setAttribute("title", PARAMETERS));
    const lit = (/** @type {Selection} */ { nodes, kernel: key, line }) => {
        if (line !== null && key === kernel.key && names({ nodes, kernel: key }, kernel)) return [line];
        return [...new Set(nodes.flatMap((node) => links.linesOf(node)))].sort((a, b) => a - b);
    };
    return {
        element: code.element,
        lit,
        asked: askedFor,
        reveal(line) {
            if (!line) return;
            for (const one of [Math.max(line - ABOVE, 1), line]) reveal(code.rows[one - 1], scroller);
        },
        light: (selection) => code.light((row) => lit(selection).includes(row)),
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
    const ops = h("span", "jt-kernel-ops", links.opsAt(line).join(", "));
    ops.style.width = `${wide + 2}ch`;
    const where = links.whereAt(line);
    if (!where) return ops;
    const before = Array.from({ length: line - 1 }, (_, k) => links.whereAt(line - 1 - k)).find(Boolean);
    const told = h("span", {
        class: "jt-kernel-where", title: where,
        onmouseenter: () => hear.point(askedFor(where)),
        onclick: (/** @type {Event} */ event) => {
            event.stopPropagation();
            hear.keep(askedFor(where));
        },
    }, before === where ? "\u2033" : where);
    return h("span", "jt-kernel-both", ops, told);
}
