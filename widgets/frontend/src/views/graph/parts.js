// Parts: buttons, and the edges of a graph as a list that says why.

/** @import { Edge, Node, Page } from "../../types.js" */

import { h } from "../../dom.js";
import { count, shapeText } from "../../numbers.js";

const FEW = 40; // edges in a list
const GIVEN = ["array", "number"]; // rules of edges that are neither fused nor cut

/**
 * A button that is no Tab stop, since a key does the same.
 * @param {string} words
 * @param {() => void} act
 * @param {string} [title]
 * @returns {HTMLButtonElement}
 */
export function button(words, act, title) {
    return h("button", { class: "jt-button", type: "button", tabindex: -1, title, onclick: act }, words);
}

/**
 * A word that leads somewhere.
 * @param {string} words
 * @param {() => void} act
 * @returns {HTMLButtonElement}
 */
export function link(words, act) {
    return h("button", { class: "jt-link", type: "button", tabindex: -1, onclick: act }, words);
}

/**
 * A heading of the panel.
 * @param {string} words
 * @returns {HTMLElement}
 */
export function named(words) {
    return h("p", { class: "jt-name" }, words);
}

/**
 * A remark.
 * @param {string} words
 * @returns {HTMLElement}
 */
export function soft(words) {
    return h("p", { class: "jt-soft" }, words);
}

/**
 * What a node is called.
 * @param {Page} page
 * @param {number} id
 * @returns {string}
 */
export function nameOf(page, id) {
    const node = page.nodes.get(id);
    return node ? node.name || node.label || node.op : `${id}`;
}

/**
 * A node in words: what it is called, its operator, its shape.
 * @param {Node} node
 * @returns {string}
 */
export function wordsOf(node) {
    const op = node.label || node.op;
    return `${node.name && node.kind !== "source" ? `${node.name} = ${op}` : node.name || op} ${shapeText(node.shape)}`;
}

/**
 * A row of a list: a sign that is not only a colour, and words beside it.
 * @param {boolean | null} fused null: neither fused nor cut
 * @param {...import("../../dom.js").Child} words
 * @returns {HTMLLIElement}
 */
export function row(fused, ...words) {
    const [name, sign] = fused === null ? ["array", "•"] : fused ? ["fused", "⊕"] : ["cut", "✂"];
    const mark = h("span", { class: "jt-sign", role: "img", "aria-label": name }, sign);
    return h("li", { class: `jt-${name}` }, mark, h("div", {}, words));
}

/**
 * Whether an edge is fused; null for one that leaves no choice.
 * @param {Edge} edge
 * @returns {boolean | null}
 */
export function isFused(edge) {
    return GIVEN.includes(edge.rule) ? null : edge.fused;
}

/**
 * Edges as a list: what each carries, its rule, and why.
 * @param {Page} page
 * @param {Edge[]} edges
 * @param {(id: number) => void} go
 * @param {(edge: Edge) => string} [more] something to say about each
 * @returns {HTMLUListElement}
 */
export function listOf(page, edges, go, more = () => "") {
    const rows = edges.slice(0, FEW).map((edge) => {
        const [a, b] = [edge.source, edge.target].map((id) => link(nameOf(page, id), () => go(id)));
        const carried = page.nodes.get(edge.source);
        const what = carried ? ` ${shapeText(carried.shape)} ${carried.dtype}` : "";
        const said = more(edge);
        const why = [said && h("p", {}, said), h("b", {}, edge.rule), h("p", {}, edge.reason)];
        return row(isFused(edge), h("p", {}, a, " → ", b, what), why);
    });
    const rest = edges.length - FEW;
    return h("ul", {}, rows, rest > 0 && h("li", {}, `and ${count(rest, "more edge")}`));
}
