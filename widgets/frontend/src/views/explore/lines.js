// Lines: what did the learner ask for, and what does each of their lines cost?
//
//     loss = 2.31
//     cell:3   loss = jt.cross_entropy_loss(net(x), y)        42 operators, 14 kernels, 1.2 ms
//
// A click on a line selects all that it asked for, in every pane. Of many lines the costly ones are there at first.

/** @import { Bus, Page, Span } from "../../types.js" */

import { pieces } from "../../code.js";
import { h } from "../../dom.js";
import { kernelsOf } from "../../names.js";
import { count, millisText, numberText, shapeText } from "../../numbers.js";
import { costOf } from "../kernel/cost.js";

const FEW = 4; // lines that leave room for the panes
/** @typedef {{where: string, text: string, classes: Span[], nodes: number[]}} Asked a line; "cell:3", its words */

export class Lines {
    /**
     * @param {Page} page
     * @param {Bus} bus
     */
    constructor(page, bus) {
        this.page = page;
        this.bus = bus;
        this.asked = page.asked ?? [];
        this.rows = this.asked.map((one) => this.row(one));
        const costs = this.asked.map((one) => this.cost(one));
        const few = [...costs.keys()].sort((a, b) => costs[b] - costs[a]).slice(0, FEW); // of equal ones the first
        this.few = costs.map((_, k) => few.includes(k));
        this.all = this.rows.length <= FEW;
        this.more = h("button", { class: "jt-button", type: "button", onclick: () => this.toggle() });
        this.element = h("div", "jt-explore-asked", this.answer(), this.rows, this.more);
        this.show();
        bus.on(({ nodes }) => this.light(nodes));
    }

    /** What was asked for: its name, and its value where it is one number that is known. */
    answer() {
        const { graph, nodes, values } = this.page;
        const wanted = graph.outputs.map((id) => nodes.get(id)).filter((node) => node && !node.gradient);
        const told = wanted.slice(0, FEW).map((node) => {
            const value = values[`${node?.id}`];
            const shape = `${shapeText(node?.shape ?? [])} ${node?.dtype}`;
            const words = value?.count === 1 ? ` = ${numberText(value.mean)}` : ` ${shape}`;
            return [h("b", {}, node?.name || "result"), words];
        });
        return h("p", "jt-explore-answer", told.flatMap((words, k) => (k ? [", ", ...words] : words)));
    }

    /** @param {Asked} one */
    row(one) {
        const words = pieces(one.text, one.classes).map(([text, letter]) => h("span", letter && `jt-${letter}`, text));
        const look = { class: "jt-explore-line", type: "button", title: "all that this line asked for, in every pane" };
        return h("button", { ...look, onclick: () => this.bus.select({ nodes: one.nodes }) },
            h("span", "jt-soft", one.where), h("code", {}, words), h("span", "jt-soft", this.facts(one)));
    }

    /** @param {Asked} one */
    kernels = (one) => kernelsOf(this.page, { nodes: one.nodes, kernel: null });

    /** @param {Asked} one */
    cost = (one) => this.kernels(one).reduce((sum, kernel) => sum + costOf(kernel), 0);

    /** @param {Asked} one */
    facts(one) {
        const kernels = this.kernels(one);
        const known = kernels.length > 0 && kernels.every(({ ms }) => ms !== null);
        const words = `${count(one.nodes.length, "operator")}, ${count(kernels.length, "kernel")}`;
        return known ? `${words}, ${millisText(this.cost(one))}` : words;
    }

    toggle() {
        this.all = !this.all;
        this.show();
    }

    show() {
        this.rows.forEach((row, k) => row.toggleAttribute("hidden", !this.all && !this.few[k]));
        this.more.hidden = this.rows.length <= FEW;
        this.more.textContent = this.all ? "Fewer lines" : `All ${count(this.rows.length, "line")}`;
    }

    /** @param {number[]} nodes */
    light(nodes) {
        this.asked.forEach((one, k) => {
            const on = nodes.length > 0 && one.nodes.some((id) => nodes.includes(id));
            this.rows[k].classList.toggle("jt-on", on);
        });
    }
}
