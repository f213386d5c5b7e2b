// Portals: where does a chip lead that stands for a line too long to be drawn?
//
//     ↑ 12            the value comes from there        hover draws the arc, a click goes there
//     ↓ 3, 7 +2       it is needed there                each click goes to the next of them
//
// A chip has words, no boxes; which boxes they are follows from the edges and from what is drawn as a line.

/** @import { Card } from "../../graph/view.js" */

export class Portals {
    /** @type {Map<string, number>} */
    turns = new Map();

    /** @param {import("../graph.js").GraphView} graph */
    constructor(graph) {
        this.graph = graph;
    }

    /**
     * The boxes that a chip stands for.
     * @param {string} id
     * @param {string} place "left 0": its side and its place there
     * @returns {string[]}
     */
    ends(id, place) {
        const card = this.graph.card(id);
        const [side, k] = place.split(" ");
        const chip = card?.[side === "left" ? "left" : "right"][Number(k)];
        if (!card || chip?.kind !== "portal") return [];
        const { edges } = this.graph;
        if (chip.text.startsWith("↓")) return this.far(card, edges?.users.get(id) ?? [], (other) => [id, other]);
        const sources = this.far(card, edges?.inputs.get(id) ?? [], (other) => [other, id]);
        return sources.filter((other) => chip.tip === `from ${this.graph.card(other)?.tip}`);
    }

    /** @param {Card} card @param {string[]} others @param {(other: string) => [string, string]} ends */
    far(card, others, ends) {
        const near = new Set(this.graph.seen.lines.map(({ source, target }) => `${source} ${target}`));
        return others.filter((other) => `${card.id}` !== other && !near.has(ends(other).join(" ")));
    }

    /** @param {string} id @param {string} place go to the box, or to the next of them */
    jump(id, place) {
        const ends = this.ends(id, place);
        if (!ends.length) return this.graph.choose(id);
        const key = `${id} ${place}`;
        const turn = this.turns.get(key) ?? 0;
        this.turns.set(key, turn + 1);
        this.graph.choose(ends[turn % ends.length]);
    }

    /** @param {string} [id] @param {string} [place] draw the arcs to where the chip leads; without one, none */
    haunt(id, place) {
        const ends = id !== undefined && place !== undefined ? this.ends(id, place) : [];
        this.graph.sheet.haunt(id ?? "", ends);
    }
}
