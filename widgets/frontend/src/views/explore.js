// Explore: graph, kernels and tape of one computation side by side.
//
//     ┌ op graph ┐ ┌ kernels ┐
//     └──────────┘ └─────────┘      whatever is selected in one lights up in the others: they share the page's bus
//     ┌ tape ───────────────┐
//     └─────────────────────┘
//
// Each pane is a view that knows nothing of the others, and a Tab stop of its own. Keys, and the table, are those of
// the pane that had the focus last.

/** @import { Context, Drawn, Page, ViewKind } from "../types.js" */

import { h } from "../dom.js";
import style from "./explore.css";

/** @typedef {{element: HTMLElement, title: string, drawn: Drawn}} Pane */

/** View, heading, and whether the page has something for it. @type {[string, string, (page: Page) => boolean][]} */
const PANES = [
    ["graph", "Op graph", () => true],
    ["kernel", "Kernels", (page) => page.kernels.length > 0],
    ["tape", "Forward and backward", (page) => Boolean(page.tape)],
];

/** @type {ViewKind} */
export const explore = {
    name: "explore",
    title: "Explore",
    keys: [["Tab", "to the next pane; each has keys of its own, and its table"]],
    style,
    draw(context) {
        const shown = PANES.filter(([, , has]) => has(context.page));
        const grid = h("div", "jt-explore");
        context.root.append(grid);
        context.root.tabIndex = -1;
        const panes = shown.map(([name, title]) => pane(context, grid, name, title));
        let last = panes[0];
        grid.addEventListener("focusin", ({ target }) => {
            last = panes.find(({ element }) => element.contains(/** @type {Node} */ (target))) ?? last;
        });
        return {
            key: (event) => last.drawn.key?.(event) ?? false,
            keys: () => panes.flatMap(({ title, drawn }) => [
                /** @type {[string, string]} */ (["", title]), ...(drawn.keys?.() ?? []),
            ]),
            table: () => ({ ...last.drawn.table(), title: last.title }),
            focus: () => last.element.focus({ preventScroll: true }),
            close: () => panes.forEach(({ drawn }) => drawn.close?.()),
        };
    },
};

/**
 * @param {Context} context
 * @param {HTMLElement} grid
 * @param {string} name
 * @param {string} title
 * @returns {Pane}
 */
function pane(context, grid, name, title) {
    const element = h("div", { class: "jt-body", role: "group", tabindex: 0, "aria-label": title });
    const heading = h("p", "jt-explore-pane-title", title);
    grid.append(h("section", `jt-explore-pane jt-explore-pane-${name}`, heading, element));
    return { element, title, drawn: context.embed(name, element) };
}
