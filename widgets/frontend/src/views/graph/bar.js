// Bar: the buttons above the sheet. Each does what a key does, which its title says.

import { button, press, textOf } from "../../controls.js";
import { h } from "../../dom.js";

export const WAYS = ["module", "kernel", "none"];
const NAMES = ["Modules", "Kernels", "Operators"];

/**
 * Buttons that belong to each other.
 * @param {...HTMLElement} buttons
 */
export function together(...buttons) {
    return h("div", "jt-together", buttons);
}

/**
 * The bar of a graph, and a function that shows which of its buttons are on.
 * @param {import("../graph.js").GraphView} graph
 * @returns {{element: HTMLElement, tell: () => void, compute: () => void}}
 */
export function barOf(graph) {
    const { camera } = graph.sheet;
    const ways = WAYS.map((way, k) => button(NAMES[k], "what shares a box (g)", () => graph.regroup(way)));
    const folds = button("Fold × N", "fold what is repeated (x)", () => graph.turn("fold"));
    const shapes = button("Shapes", "shapes on lines (s)", () => graph.turn("shapes"));
    const opens = [
        button("Open more", "what is closed, one level deeper (o)", () => graph.openMore()),
        button("Close all", "every box (c)", () => graph.closeAll()),
    ];
    const rest = [together(...opens), together(...camera.buttons())];
    const computing = compute(graph);
    const parts = [together(...ways), together(folds, shapes), rest, graph.search.element, computing];
    const tell = () => {
        ways.forEach((one, k) => press(one, WAYS[k] === graph.group));
        press(folds, graph.fold);
        press(shapes, graph.shapes);
    };
    return { element: h("div", "jt-bar", parts), tell, compute: () => computing?.click() };
}

/**
 * A button that asks Python for the values, where there are none and Python can be asked.
 * @param {import("../graph.js").GraphView} graph
 */
function compute({ context, tell }) {
    const { page, live, ask } = context;
    if (!live || Object.keys(page.values).length || !page.kernels.length) return null;
    const asking = button("Compute values", "run it for its values (v)", () => {
        asking.disabled = true;
        ask({ do: "values" }, 600).catch((error) => {
            asking.disabled = false;
            tell(textOf(error));
        });
    });
    return asking;
}
