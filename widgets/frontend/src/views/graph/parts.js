// Parts: links, and the edges of a graph as a list that says why.

/** @import { Edge, Page } from "../../types.js" */

import { button } from "../../controls.js";
import { h } from "../../dom.js";
import { count, shapeText } from "../../numbers.js";
import { GIVEN, nameOf } from "../../names.js";

const FEW = 40; // edges in a list

/**
 * A word that leads somewhere.
 * @param {string} words
 * @param {() => void} act
 * @returns {HTMLButtonElement}
 */
export function link(words, act) {
    return button(words, "", act, { class: "jt-link" });
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
    return h("li", `jt-${name}`, mark, h("div", {}, words));
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
