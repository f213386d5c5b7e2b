// Rows: the nodes of a graph as a table, for who reads rather than looks.

/** @import { Context, Node } from "../../types.js" */

import { lineText } from "../../names.js";

/**
 * The nodes as a table.
 * @param {Context} context
 */
export function table({ page }) {
    const kernel = (/** @type {Node} */ { kernel: k }) => (k === null ? "" : (page.graph.kernels[k]?.name ?? `${k}`));
    const rows = page.graph.nodes.map((node) => {
        const named = [node.id, node.name, node.label || node.op, `(${node.shape.join(", ")})`, node.dtype];
        return [...named, kernel(node), node.module, node.inputs.join(" "), lineText(node.where)];
    });
    return { columns: ["id", "name", "op", "shape", "dtype", "kernel", "module", "inputs", "line"], rows };
}
