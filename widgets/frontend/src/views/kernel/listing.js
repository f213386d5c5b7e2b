// Listing: the source; beside each line its operators, above it the learner's line that asked for it.
//
// Pointing at a line selects what it computes; pointing at the learner's line selects all that this line asked for. A
// click keeps the selection. Nothing here asks Python.

/** @import { Kernel, Selection } from "../../types.js" */
/** @import { Links } from "./links.js" */

import { source } from "../../code.js";
import { h, reveal } from "../../dom.js";
import { names } from "../../lit.js";

const WIDEST = 24; // letters of a column of operators
const MOST = 80; // lines of a long source at first: the page scrolls, and not a box in it
const ABOVE = 4; // lines that stay in sight above the one that is revealed, since the words on top cover some
const PARAMETERS = `lo, hi: the part of the outermost loop that one thread does. n: lengths, a: arrays that are read,
c: numbers of your program, out: arrays that are stored.`;

/** @typedef {{nodes: number[], line: number | null}} Picked */
/** @typedef {{point: (picked: Picked | null) => void, keep: (picked: Picked) => void}} Hear */
/** @typedef {{element: HTMLElement, light: (what: Selection) => void, lit: (what: Selection) => number[],
 *     reveal: (line: number | undefined) => void, isFolded: (line: number) => boolean,
 *     asked: (where: string) => {nodes: number[]}}} Annotated */

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
        beside: (line) => {
            return h("span", { class: "jt-kernel-ops", style: `width:${wide + 2}ch` }, links.opsAt(line).join(", "));
        },
    }, MOST);
    let before = "";
    for (const line of all) {
        const where = links.whereAt(line);
        if (where && where !== before) code.rows[line - 1].before(told(where, () => askedFor(where), hear));
        before = where || before;
    }
    code.element.addEventListener("mouseleave", () => hear.point(null));
    code.rows.forEach((row, k) => links.rows[k].startsWith("def ") && row.setAttribute("title", PARAMETERS));
    const lit = (/** @type {Selection} */ { nodes, kernel: key, line }) => {
        if (line !== null && key === kernel.key && names({ nodes, kernel: key }, kernel)) return [line];
        return [...new Set(nodes.flatMap((node) => links.linesOf(node)))].sort((a, b) => a - b);
    };
    return {
        element: code.element,
        isFolded: (line) => Boolean(code.rows[line - 1]?.parentElement?.hidden),
        lit,
        asked: askedFor,
        reveal(line) {
            if (!line) return;
            code.open(line);
            for (const one of [Math.max(line - ABOVE, 1), line]) reveal(code.rows[one - 1], scroller);
        },
        light: (selection) => code.light((row) => lit(selection).includes(row)),
    };
}

/**
 * A line of the learner.
 * @param {string} where
 * @param {() => Picked} picked
 * @param {Hear} hear
 */
function told(where, picked, hear) {
    const look = { class: "jt-kernel-where", role: "listitem", title: "all that this line asked for (w)" };
    return h("div", {
        ...look, onmouseenter: () => hear.point(picked()), onclick: () => hear.keep(picked()),
    }, where);
}
