// Details: what is known of the box under the pointer, or of the one that is chosen?
//
//     a node       its value as a picture, its figures, its kernel, the learner's line
//     a box        what is in it
//     an edge      what it carries, and why it is fused or cut
//     nothing      what the outlines mean
//
// It fills the panel beside the sheet. Nothing here knows where anything stands.

/** @import { Edge, Node, Page, Value } from "../../types.js" */
/** @import { Card } from "../../graph/view.js" */

import { button, facts, named, soft } from "../../controls.js";
import { h, s } from "../../dom.js";
import { heat } from "../../heat.js";
import { placeOf, wordsOf } from "../../names.js";
import { bytesText, count, numberText, shapeText } from "../../numbers.js";
import { KINDS, bytesOf as bytes } from "../../graph/text.js";
import { swatch } from "./card.js";
import { link, listOf } from "./parts.js";

const FEW = 12; // names in a list
/** What an outline stands for. @type {Record<string, string>} */
const MEANS = {
    elementwise: "each element by itself", reindex: "elements moved, repeated or left out",
    reindex_reduce: "elements moved, then summed up", source: "an array that goes in",
    input: "what makes an array that goes in", constant: "one number",
    index: "the place of an element", code: "a loop written by hand", hostcall: "done by a library",
    kernel: "what one loop computes", module: "operators of a layer", line: "operators of one line of yours",
    repeat: "the same several times", part: "operators of a part",
};

/** @typedef {{go: (id: number) => void, kernel: (index: number) => void}} Hear */

/**
 * What the outlines mean.
 * @param {Iterable<string>} kinds that are drawn
 * @returns {Part[]}
 */
export function legend(kinds) {
    const known = [...new Set(kinds)].filter((kind) => kind in KINDS);
    const row = (/** @type {SVGElement} */ picture, /** @type {string} */ name, /** @type {string} */ words) =>
        h("li", {}, picture, h("div", {}, h("b", {}, name), ` ${words}`));
    const rows = known.map((kind) => row(swatch(kind), KINDS[kind], MEANS[kind] ?? ""));
    const stored = row(swatch("elementwise", true), "two lines", "stored in memory");
    const gradient = row(swatch("gradient"), "dashes", "part of a gradient");
    const words = s("text", { class: "jt-d-float16", x: 8, y: 13 }, "16");
    const half = s("svg", { class: "jt-swatch", width: 32, height: 18, "aria-hidden": "true" }, words);
    const precision = row(half, "colored dtypes", "16 or 64 bits, beside float32");
    return [named("Outlines"), h("ul", "jt-kinds", rows, stored, gradient, precision)];
}

/** @typedef {globalThis.Node | string} Part what can be put into an element */

/**
 * A node, with its value.
 * @param {Page} page
 * @param {Node} node
 * @param {Hear} hear
 * @returns {Part[]}
 */
export function ofNode(page, node, hear) {
    const value = page.values[node.id];
    const size = bytes(node);
    return [
        named(wordsOf(node)),
        value ? thumbnail(value, page) : soft(node.value ? `value ${node.value}` : "not computed"),
        facts([
            ["value", value ? `${numberText(value.min)} … ${numberText(value.max)}` : ""],
            ["mean", value ? numberText(value.mean) : ""],
            ["NaN", value ? `${count(value.nan, "NaN", "NaN")}${value.inf ? `, ${value.inf} inf` : ""}` : ""],
            ["shape", shapeText(node.shape)],
            ["dtype", node.dtype],
            ["bytes", size ? bytesText(size) : ""],
            ["array", arrayOf(node)],
            ["kernel", kernelLink(page, node, hear)],
            ["module", node.module],
        ]),
        ...lineOf(node),
    ];
}

/** @param {Node} node */
function arrayOf({ stored, kernel, kind, view }) {
    if (stored || kernel === null) return stored ? "stored" : "";
    const looks = view || kind === "reindex" || kind === "index";
    return looks ? "none of its own: it says where to read" : "none: the next operator uses the number at once";
}

/** @param {Value} value @param {Page} page */
function thumbnail(value, page) {
    const note = !value.exact && soft(`${value.shape.join(" × ")} of ${count(value.count, "cell")}`);
    return h("div", {}, heat(value, page, 128), note);
}

/** @param {Node} node */
function lineOf(node) {
    if (!node.where) return [];
    const words = node.gradient ? "Gradient of your line" : "Your line";
    const [place, code] = placeOf(node.where);
    return [soft(place ? `${words}, ${place}` : words), h("code", "jt-line", code)];
}

/** @param {Page} page @param {Node} node @param {Hear} hear */
function kernelLink(page, node, hear) {
    const { kernel } = node;
    if (kernel === null) return "";
    const name = page.graph.kernels[kernel]?.name ?? `${kernel}`;
    return link(name, () => hear.kernel(kernel));
}

/**
 * A closed box: what is in it.
 * @param {Page} page
 * @param {Card} card
 * @param {Hear} hear
 * @returns {Part[]}
 */
export function ofBox(page, card, hear) {
    const nodes = card.nodes.map((id) => page.nodes.get(Number(id))).filter((node) => node !== undefined);
    const stored = nodes.filter((node) => node.stored);
    const kernels = [...new Set(nodes.map((node) => node.kernel).filter((kernel) => kernel !== null))];
    const ops = tally(nodes.map((node) => node.label || node.op));
    return [
        named(card.name && card.op ? `${card.name} = ${card.op}` : card.label),
        facts([
            ["holds", count(nodes.length, "node")],
            ["stores", stored.length ? `${count(stored.length, "array")}, ${bytesText(sum(stored))}` : "nothing"],
            ["kernels", kernels.length ? together(kernels.map((k) => page.graph.kernels[k]?.name ?? `${k}`)) : ""],
            ["operators", together(ops)],
        ]),
        ...oneLine(nodes),
        soft("Enter or a double click opens it."),
    ].concat(kernels.length === 1 ? [openKernel(kernels[0], hear)] : []);
}

/** @param {number} kernel @param {Hear} hear */
function openKernel(kernel, hear) {
    return button("Select its kernel", "in all views (k)", () => hear.kernel(kernel));
}

/** @param {Node[]} nodes the line that made them all, if it is one */
function oneLine(nodes) {
    return new Set(nodes.map((node) => node.where)).size === 1 ? lineOf(nodes[0]) : [];
}

/** @param {Node[]} nodes */
function sum(nodes) {
    return nodes.reduce((total, node) => total + bytes(node), 0);
}

/** @param {string[]} words each with how often it occurs */
function tally(words) {
    /** @type {Map<string, number>} */
    const found = new Map();
    for (const word of words) found.set(word, (found.get(word) ?? 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1]).map(([word, times]) => (times > 1 ? `${word} × ${times}` : word));
}

/** @param {string[]} words */
function together(words) {
    const rest = words.length - FEW;
    return words.slice(0, FEW).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/**
 * The edges of the graph behind a line: what each carries, and why it is fused or cut.
 * @param {Page} page
 * @param {Edge[]} edges
 * @param {Hear} hear
 * @returns {Part[]}
 */
export function ofEdges(page, edges, hear) {
    return [named(count(edges.length, "edge")), listOf(page, edges, hear.go)];
}
