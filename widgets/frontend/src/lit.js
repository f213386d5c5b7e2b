// Lit: which kernels does a selection name, and did this view make it or another one?
//
// Nodes come first: kernels of the same source have the same key, so that a key alone may name several.
//
// Nothing here draws.

/** @import { Context, Selection } from "./types.js" */

/** @typedef {{key: string, nodes: number[]}} Keyed */

/**
 * Whether a selection names a kernel: by its nodes; by its key only where no nodes are selected.
 * @param {Pick<Selection, "nodes" | "kernel">} selection
 * @param {Keyed | undefined} kernel
 * @returns {boolean}
 */
export function names({ nodes, kernel: key }, kernel) {
    if (!kernel) return false;
    return nodes.length ? kernel.nodes.some((node) => nodes.includes(node)) : kernel.key === key;
}

/**
 * The kernel to show for a selection: among those it names the one with its key, else the first.
 * @param {Pick<Selection, "nodes" | "kernel">} selection
 * @param {Keyed[]} kernels
 * @returns {number} its place, or -1
 */
export function placeOf(selection, kernels) {
    const same = kernels.findIndex((one) => one.key === selection.kernel && names(selection, one));
    return same < 0 ? kernels.findIndex((one) => names(selection, one)) : same;
}

/**
 * Hear of selections, and be told which are one's own: panes of one view share its end of the bus.
 * @param {Pick<Context, "bus" | "uid">} context
 * @param {(selection: Selection, own: boolean) => void} hear
 * @returns {{select: Context["bus"]["select"], off: () => void}}
 */
export function listen({ bus, uid }, hear) {
    let own = false;
    const off = bus.on((selection) => hear(selection, own || selection.from === uid));
    return {
        off,
        select(part) {
            own = true;
            bus.select(part);
            own = false;
        },
    };
}
