// Explore: what the learner asked for; graph, kernels and tape of it side by side.
//
//     loss = 2.31        cell:3  loss = ...
//     ┌ op graph ┐ ┌ kernels | forward and backward ┐
//     │          │ │                                │      whatever is selected in one lights up in the others
//     └──────────┘ └────────────────────────────────┘
//
// Each pane is a view that knows nothing of the others, and a Tab stop of its own. Keys, and the table, are those of
// the pane that had the focus last.

/** @import { Context, Drawn, Page, ViewKind } from "../types.js" */

import { alone, button, isWritten, named, press, tab } from "../controls.js";
import { h } from "../dom.js";
import { clamp } from "../numbers.js";
import { graph } from "./graph.js";
import { Lines } from "./explore/lines.js";
import { costliest } from "./kernel.js";
import { tape } from "./tape.js";
import "./explore/explore.css";

/** @typedef {{root: HTMLElement, element: HTMLElement, title: string, drawn: Drawn}} Pane */

/** View, heading, and whether the page has something for it. @type {[ViewKind, string, (page: Page) => boolean][]} */
const PANES = [
    [graph, "Op graph", () => true],
    [costliest, "Kernels", (page) => page.kernels.length > 0],
    [tape, "Forward and backward", (page) => Boolean(page.tape)],
];

/** @type {ViewKind} */
export const explore = {
    name: "explore",
    title: "Explore",
    about: "The same computation from several sides. Click a box of the graph: its lines and its steps light up.",
    keys: [
        ["Tab", "on to the next button or pane; each pane has keys of its own, and its table"],
        ["p", "kernels, or the tape"], ["l", "what outlines mean"],
    ],
    draw: (context) => new Explorer(context),
};

/** @implements {Drawn} */
class Explorer {
    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        const tabs = h("div", { class: "jt-tabs", role: "tablist" });
        this.grid = h("div", "jt-explore", tabs);
        const { grid } = this;
        this.legend = button("Legend", "what the outlines mean (l)", () => this.explain());
        const { element } = new Lines(context.page, context.bus);
        element.append(h("div", "jt-explore-tools", this.legend));
        context.root.append(element, grid);
        context.root.tabIndex = -1;
        const shown = PANES.filter(([, , has]) => has(context.page));
        this.panes = shown.map(([kind, title]) => pane(context, grid, kind, title));
        this.last = this.panes[0];
        this.tabs = this.panes.slice(1).map(({ title }, k) => tab(title, "Key: p", () => this.show(k)));
        tabs.append(...this.tabs);
        grid.addEventListener("focusin", ({ target }) => {
            this.last = this.panes.find(({ root }) => root.contains(/** @type {Node} */ (target))) ?? this.last;
        });
        this.show(context.state.get("front", 0));
    }

    /** @param {number} front which pane of the right side is in front */
    show(front) {
        this.front = clamp(front, 0, this.tabs.length - 1);
        this.context.state.set("front", this.front);
        this.panes.slice(1).forEach(({ root }, k) => root.classList.toggle("jt-explore-behind", k !== this.front));
        this.tabs.forEach((one, k) => one.setAttribute("aria-selected", `${k === this.front}`));
    }

    /** Shows what the outlines of the graph mean, or hides it. */
    explain() {
        press(this.legend, this.grid.classList.toggle("jt-explore-legend"));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const legend = this.grid.classList.contains("jt-explore-legend");
        if (alone(event) && !isWritten(event) && (event.key === "l" || (legend && event.key === "Escape"))) {
            this.explain();
            return true;
        }
        if (this.last.drawn.key?.(event)) return true;
        if (event.key !== "p" || !alone(event) || isWritten(event) || this.tabs.length < 2) return false;
        this.show(1 - (this.front ?? 0));
        this.last = this.panes[1 + (this.front ?? 0)];
        this.focus();
        return true;
    }

    keys() {
        return this.panes.flatMap(({ title, drawn }) => [
            /** @type {[string, string]} */ (["", title]), ...(drawn.keys?.() ?? []),
        ]);
    }

    table() {
        return { ...this.last.drawn.table(), title: this.last.title };
    }

    focus() {
        this.last.element.focus({ preventScroll: true });
    }

    close() {
        this.panes.forEach(({ drawn }) => drawn.close?.());
    }
}

/**
 * @param {Context} context
 * @param {HTMLElement} grid
 * @param {ViewKind} kind
 * @param {string} title
 * @returns {Pane}
 */
function pane(context, grid, kind, title) {
    const element = h("div", { class: "jt-body", role: "group", tabindex: 0, "aria-label": title });
    const root = h("section", `jt-explore-pane jt-explore-pane-${kind.name}`, named(title), element);
    grid.append(root);
    return { root, element, title, drawn: context.embed(kind, element) };
}
