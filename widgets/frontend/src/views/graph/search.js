// Search: which layers and operators have all of these words, and where are they?
//
//     /            begin        Enter, ↓, ↑    the next one, the one before: the boxes that hold it are opened
//     hide         only what was found is drawn, else the rest is dimmed
//
// A layer is found by its name or class, and then nothing in it is found once more. The learner's lines are searched
// where no name has the words. What is inside of a closed box lights up the box.

/** @import { Node } from "../../types.js" */

import { button, press } from "../../controls.js";
import { h } from "../../dom.js";
import { count, shapeText } from "../../numbers.js";
import { find, innermost } from "./walk.js";

export class Search {
    /** @type {Set<number | string>} */
    found = new Set();
    /** Ids of nodes and keys of boxes, in the order of the graph. @type {(number | string)[]} */
    hits = [];
    at = -1;
    hidden = false;

    /** @param {import("../graph.js").GraphView} graph */
    constructor(graph) {
        this.graph = graph;
        this.field = h("input", {
            class: "jt-field", type: "search", placeholder: "Search ( / )", "aria-label": "search",
            oninput: () => this.again(),
        }); // prettier-ignore
        this.result = h("span", "jt-soft");
        this.hide = button("Hide others", "draw only what was found (h)", () => this.turn());
        this.element = h("div", "jt-search", this.field, this.result, this.hide);
    }

    begin() {
        this.field.focus({ preventScroll: true });
        this.field.select();
    }

    /** @param {KeyboardEvent} event whether a key is written into the field */
    owns(event) {
        return event.target === this.field;
    }

    /** @param {string} key @returns {boolean} */
    key(key) {
        if (key === "Enter") this.step(1);
        else if (key === "ArrowDown" || key === "ArrowUp") this.step(key === "ArrowDown" ? 1 : -1);
        else if (key === "Escape") this.end();
        else return false;
        return true;
    }

    /** Look again, as the words or the boxes have changed. */
    again() {
        [this.found, this.hits, this.at] = [new Set(), [], -1];
        if (this.field.value.trim()) this.seek();
        this.mark();
    }

    /** Find layers by their names and classes, and operators that are in none of them. */
    seek() {
        const { groups, nodes: all } = this.graph.seen;
        const boxes = [...groups.values()].filter(({ kind }) => kind === "module");
        const named = find(this.field.value, boxes.map((box) => [box.key, box.key, `${box.name} ${box.made}`]));
        const layers = innermost(boxes.filter((box) => named.has(box.key)));
        this.found = new Set(layers.flatMap((box) => box.nodes));
        const nodes = this.graph.context.page.graph.nodes.filter(({ id }) => !this.found.has(id));
        const look = (/** @type {(node: Node) => string} */ known) =>
            find(this.field.value, nodes.map((node) => [node.id, node.module, known(node)]));
        let single = look(known);
        if (!layers.length && !single.size) single = look((node) => `${known(node)} ${node.where}`);
        single = this.shown(single);
        single.forEach((id) => this.found.add(id));
        const order = new Map([...all.keys()].map((id, k) => [id, k]));
        const first = (/** @type {number | string} */ hit) => order.get(groups.get(`${hit}`)?.nodes[0] ?? hit) ?? 0;
        this.hits = [...layers.map((box) => box.key), ...single].sort((a, b) => first(a) - first(b));
    }

    /** What is drawn of these; of a parameter, which is only a chip, who reads it. @param {Set<number>} ids */
    shown(ids) {
        const { shows } = this.graph.seen;
        const readers = this.graph.context.page.graph.edges
            .filter(({ source, target }) => ids.has(source) && !shows.has(source) && !this.found.has(target))
            .map(({ target }) => target);
        return new Set([...ids, ...readers].filter((id) => shows.has(id)));
    }

    turn() {
        this.hidden = !this.hidden;
        this.mark();
    }

    /** @returns {string[]} the boxes that hold what was found, in the order of the graph */
    boxes() {
        const { shows } = this.graph.seen;
        return [...new Set([...this.found].map((id) => shows.get(id)).filter((id) => id !== undefined))].map(String);
    }

    mark() {
        const asked = this.field.value.trim() !== "";
        const boxes = this.boxes();
        const [hit, some] = [new Set(boxes), boxes.length > 0];
        const { sheet } = this.graph;
        const rest = (/** @type {string} */ id) => some && !hit.has(id);
        sheet.mark({
            "jt-hit": (id) => hit.has(id),
            "jt-dim": (id) => rest(id) && !this.hidden,
            "jt-gone": (id) => rest(id) && this.hidden,
        });
        sheet.window.classList.toggle("jt-quiet", some);
        this.hide.hidden = !some;
        press(this.hide, this.hidden);
        this.result.textContent = asked ? count(this.hits.length, "match", "matches") : "";
        if (asked) this.graph.context.say(this.result.textContent);
    }

    /** @param {number} way on to the next match, or back */
    step(way) {
        const { hits } = this;
        if (!hits.length) return;
        const at = (Math.max(this.at, way < 0 ? 0 : -1) + way + hits.length) % hits.length;
        this.graph.reach(hits[at]);
        this.at = at;
        this.field.focus({ preventScroll: true });
        this.result.textContent = `${at + 1} of ${hits.length}`;
        this.graph.context.say(this.result.textContent);
    }

    /** @returns {boolean} whether there was a search to end */
    end() {
        const going = this.field.value !== "" || document.activeElement === this.field;
        this.field.value = "";
        this.again();
        if (going) this.graph.context.root.focus({ preventScroll: true });
        if (going && this.graph.chosen) this.graph.sheet.focus(this.graph.chosen);
        return going;
    }
}

/** @param {Node} node what is known of it, as text; not its kernel, whose name has the words of other nodes */
function known({ id, name, label, op, kind, shape, dtype }) {
    return [id, name, label, op, kind, shapeText(shape), dtype].join(" ");
}
