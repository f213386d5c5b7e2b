// Bar: the buttons above the sheet. Each does what a key does, so none is a Tab stop.

import { h } from "../../dom.js";
import { button } from "./parts.js";

export const WAYS = ["module", "kernel", "none"];
const NAMES = ["Modules", "Kernels", "Operators"];

/** @param {...HTMLElement} buttons */
function together(...buttons) {
    return h("div", { class: "jt-together" }, buttons);
}

/**
 * The bar of a graph, and a function that shows which of its buttons are on.
 * @param {import("../graph.js").GraphView} graph
 * @returns {{element: HTMLElement, tell: () => void}}
 */
export function barOf(graph) {
    const { camera } = graph.sheet;
    const ways = WAYS.map((way, k) => button(NAMES[k], () => graph.regroup(way), "what shares a box (g)"));
    const folds = button("Fold × N", () => graph.turn("fold"), "fold what is repeated (x)");
    const shapes = button("Shapes", () => graph.turn("shapes"), "shapes on lines (s)");
    const opens = [
        ["Open all", () => graph.openAll(), "every box (o)"],
        ["Close", () => graph.closeAll(), "as it was (c)"],
    ];
    const zooms = [
        ["−", () => camera.by(0.8), "smaller (−)"],
        ["+", () => camera.by(1.25), "larger (+)"],
        ["Fit", () => camera.fit(), "fit the width (f)"],
    ];
    const groups = /** @type {[string, () => void, string][][]} */ ([opens, zooms]);
    const rest = groups.map((group) => together(...group.map((one) => button(...one))));
    const parts = [together(...ways), together(folds, shapes), rest, graph.search.element, compute(graph)];
    const tell = () => {
        ways.forEach((one, k) => one.setAttribute("aria-pressed", `${WAYS[k] === graph.group}`));
        folds.setAttribute("aria-pressed", `${graph.fold}`);
        shapes.setAttribute("aria-pressed", `${graph.shapes}`);
    };
    return { element: h("div", { class: "jt-bar" }, parts), tell };
}

/**
 * A button that asks Python for the values, where there are none and Python can be asked.
 * @param {import("../graph.js").GraphView} graph
 */
function compute({ context, tell }) {
    const { page, live, ask } = context;
    if (!live || Object.keys(page.values).length || !page.kernels.length) return null;
    const asking = button("Compute values", () => {
        asking.disabled = true;
        ask({ do: "values" }, 600).catch((error) => {
            asking.disabled = false;
            tell(error instanceof Error ? error.message : `${error}`);
        });
    });
    return asking;
}
