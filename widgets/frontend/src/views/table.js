// Table: the nodes of a page, row by row. The plainest view, and the example for new ones.

/** @import { Node, Page, ViewKind } from "../types.js" */

import { clear, h, reveal } from "../dom.js";
import { lineText } from "../names.js";
import { clamp, shapeText } from "../numbers.js";
import { framed } from "../tables.js";

const COLUMNS = ["id", "name", "operator", "shape", "dtype", "kernel", "inputs", "line"];

/** @type {ViewKind} */
export const table = {
    name: "table",
    title: "Nodes",
    about: "A row is a value that is computed, or one that goes in.",
    keys: [["↑ ↓", "the node above, below"], ["Home End", "the first, the last"]],
    draw({ page, root, bus, state, say }) {
        const rows = page.graph.nodes.map((node) => row(page, node));
        const lines = rows.map((cells, place) =>
            h("tr", { onclick: () => choose(place) }, cells.map((cell) => h("td", {}, cell))),
        );
        clear(root).append(framed(COLUMNS, lines, "jt-rows"));

        /** @param {number} place */
        function choose(place) {
            const at = clamp(place, 0, lines.length - 1);
            if (at < 0) return;
            state.set("row", at);
            bus.select({ nodes: [page.graph.nodes[at].id] });
            reveal(lines[at], root);
            say(rows[at].filter(Boolean).join(", "));
        }
        bus.on(({ nodes }) => {
            const on = new Set(nodes);
            lines.forEach((line, place) => line.classList.toggle("jt-on", on.has(page.graph.nodes[place].id)));
        });
        if (state.get("row", -1) >= 0) lines[state.get("row", -1)]?.classList.add("jt-on");
        return {
            key: ({ key }) => {
                const now = state.get("row", -1);
                const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: lines.length - 1 }[key];
                if (next !== undefined) choose(next);
                return next !== undefined;
            },
            table: () => ({ columns: COLUMNS, rows }),
        };
    },
};

/**
 * @param {Page} page
 * @param {Node} node
 * @returns {string[]}
 */
function row(page, node) {
    const kernel = node.kernel === null ? "" : `${page.graph.kernels[node.kernel]?.name ?? node.kernel}`;
    const facts = [node.name, node.label || node.op, shapeText(node.shape), node.dtype, kernel, node.inputs.join(" ")];
    return [`${node.id}`, ...facts, lineText(node.where)];
}
