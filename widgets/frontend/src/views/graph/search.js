// Search: which nodes have all of these words, and where are they?
//
//     /            begin        Enter, Shift+Enter    the next box, the one before
//     hide         only what was found is drawn, else the rest is dimmed
//
// What is inside of a closed box lights up the box. Which text is known of a node is said here, nothing else is.

/** @import { Node } from "../../types.js" */

import { button, press } from "../../controls.js";
import { h } from "../../dom.js";
import { count, shapeText } from "../../numbers.js";
import { find } from "./walk.js";

export class Search {
    /** @type {Set<number>} */
    found = new Set();
    at = -1;
    hidden = false;

    /** @param {import("../graph.js").GraphView} graph */
    constructor(graph) {
        this.graph = graph;
        this.texts = graph.context.page.graph.nodes.map((node) => /** @type {const} */ ([node.id, known(node)]));
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
        this.found = find(this.field.value, this.texts);
        this.at = -1;
        this.mark();
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
        const inBoxes = boxes.length < this.found.size ? ` in ${count(boxes.length, "box", "boxes")}` : "";
        this.result.textContent = asked ? `${count(this.found.size, "match", "matches")}${inBoxes}` : "";
        if (asked) this.graph.context.say(this.result.textContent);
    }

    /** @param {number} way on to the next box, or back */
    step(way) {
        const boxes = this.boxes();
        if (!boxes.length) return;
        this.at = (this.at + way + boxes.length) % boxes.length;
        this.graph.choose(boxes[this.at]);
        this.field.focus({ preventScroll: true });
        this.result.textContent = `${this.at + 1} of ${boxes.length}`;
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
function known({ id, name, label, op, kind, shape, dtype, module, where }) {
    return [id, name, label, op, kind, shapeText(shape), dtype, module, where].join(" ");
}
