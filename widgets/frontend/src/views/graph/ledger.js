// Ledger: why is this edge fused, and why is that one cut?
//
//     nothing chosen     the rules by name, how many edges each decided, and one of them as an example
//     a node             its edges, in and out
//     an edge            that edge, with the reason that was recorded for it
//
// Rules and reasons come from the document. Nothing here knows where anything is drawn.

/** @import { Edge, Page } from "../../types.js" */

import { button, named } from "../../controls.js";
import { clear, h } from "../../dom.js";
import { wordsOf } from "../../names.js";
import { count } from "../../numbers.js";
import { isFused, link, listOf, row } from "./parts.js";

/** @typedef {(source: number, target: number) => boolean} Holds */

export class Ledger {
    /** @type {number | null} */
    chosen = null;

    /**
     * @param {Page} page
     * @param {(holds: Holds) => void} light up the lines for which it holds
     * @param {(id: number) => void} go to a node
     */
    constructor(page, light, go) {
        this.page = page;
        this.light = light;
        this.go = go;
        this.element = h("div");
        this.rules();
    }

    /** The rules; those that fuse come first. */
    rules() {
        this.chosen = null;
        /** @type {Map<string, Edge[]>} */
        const found = new Map();
        for (const edge of this.page.graph.edges) {
            const key = `${isFused(edge)} ${edge.rule}`;
            found.set(key, [...(found.get(key) ?? []), edge]);
        }
        const groups = [...found].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, edges]) => this.rule(edges));
        clear(this.element).append(named("Rules"), h("ul", {}, groups));
        this.light(() => false);
    }

    /**
     * @param {Edge[]} edges of one rule
     * @returns {HTMLLIElement} a row that lights them up, under the pointer or with the focus
     */
    rule(edges) {
        const [{ rule, reason }] = edges;
        const pairs = new Set(edges.map((edge) => `${edge.source} ${edge.target}`));
        const light = () => this.light((a, b) => pairs.has(`${a} ${b}`));
        const number = link(count(edges.length, "edge"), light);
        const one = row(isFused(edges[0]), h("b", {}, rule), " ", number, h("p", {}, reason));
        for (const name of ["pointerenter", "focusin"]) one.addEventListener(name, light);
        for (const name of ["pointerleave", "focusout"]) one.addEventListener(name, () => this.light(() => false));
        return one;
    }

    /**
     * The edges of a node.
     * @param {number} id
     */
    node(id) {
        const node = this.page.nodes.get(id);
        if (!node) return;
        this.chosen = id;
        this.show(wordsOf(node), (a, b) => a === id || b === id);
    }

    /**
     * One edge, by its ends.
     * @param {number} source
     * @param {number} target
     */
    edge(source, target) {
        this.show("Edge", (a, b) => a === source && b === target);
    }

    /** @param {string} title @param {Holds} holds */
    show(title, holds) {
        const edges = this.page.graph.edges.filter((edge) => holds(edge.source, edge.target));
        const all = button("All rules", "the rules by name (a)", () => this.rules());
        const head = h("div", "jt-ledger-head", named(title), all);
        clear(this.element).append(head, listOf(this.page, edges, this.go));
        this.light(holds);
    }

    /**
     * What the pointer is at; nothing: what is chosen.
     * @param {number | null} id
     * @param {[number, number] | null} line
     */
    over(id, line) {
        const { chosen } = this;
        if (line) this.edge(...line);
        else if (id !== null) this.node(id);
        else if (chosen === null) this.rules();
        else this.node(chosen);
        this.chosen = chosen;
    }
}
