// Names: what are nodes, lines and kernels called, and which of them does a selection mean?

/** @import { Kernel, Node, Page, Selection } from "./types.js" */

import { cut } from "./graph/text.js";
import { shapeText } from "./numbers.js";

/** Rules of edges that are neither fused nor cut. */
export const GIVEN = ["array", "number"];

const MOST = 40; // letters of a name among others; jt_edu/lens/document_schema.py sends no more

/**
 * What the learner calls a node; else its operator.
 * @param {Page} page
 * @param {number} id
 * @returns {string}
 */
export function nameOf(page, id) {
    const node = page.nodes.get(id);
    return node ? cut(node.name || node.label || node.op, MOST) : `#${id}`;
}

/**
 * What the gradient of something is called: dw, d(body.weight), d(relu).
 * @param {string} name
 * @param {boolean} [own] whether the learner gave it that name
 * @returns {string}
 */
export function gradientOf(name, own = true) {
    return own && /^\w*$/.test(name) ? `d${cut(name, MOST)}` : `d(${cut(name, MOST)})`;
}

/**
 * A node in words: what it is called, its operator, its shape.
 * @param {Node} node
 * @returns {string}
 */
export function wordsOf(node) {
    const op = node.label || node.op;
    const name = cut(node.name, 10 * MOST);
    return `${name && node.kind !== "source" ? `${name} = ${op}` : name || op} ${shapeText(node.shape)}`;
}

/**
 * Where a line of the learner stands, and the line: "line 7 of the cell", "y = a * b".
 * @param {string} where as Python says it
 * @returns {[string, string]}
 */
export function placeOf(where) {
    const found = /^(.*?):(\d+): ([^]*)$/.exec(where);
    if (!found) return ["", where];
    return [`line ${found[2]} of ${found[1] === "cell" ? "the cell" : found[1]}`, found[3]];
}

/**
 * The same as one text: "line 7 of the cell: y = a * b".
 * @param {string} where
 * @returns {string}
 */
export function lineText(where) {
    return placeOf(where).filter(Boolean).join(": ");
}

/**
 * The kernels that a selection means: those that compute its nodes. Equal kernels share a key, so that it only helps
 * where no nodes are named, or where several kernels compute one.
 * @param {Page} page
 * @param {Pick<Selection, "nodes" | "kernel">} selection
 * @returns {Kernel[]}
 */
export function kernelsOf({ kernels }, { nodes, kernel }) {
    const named = kernels.filter((one) => one.key === kernel);
    const computing = kernels.filter((one) => one.nodes.some((id) => nodes.includes(id)));
    const both = named.filter((one) => computing.includes(one));
    return both.length ? both : nodes.length ? computing : named;
}

/**
 * The nodes that a selection means: its own, or those of its kernel.
 * @param {Page} page
 * @param {Selection} selection
 * @returns {number[]}
 */
export function nodesOf(page, selection) {
    return selection.nodes.length ? selection.nodes : kernelsOf(page, selection).flatMap((kernel) => kernel.nodes);
}
