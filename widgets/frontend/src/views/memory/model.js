// Memory model: the lifetimes on a page, as jt_edu/lens/liveness.py wrote them, and where keys lead among them.

/** @import { Page } from "../../types.js" */

import { clamp } from "../../numbers.js";

/** @typedef {{why: string, kernel: number | null, text: string}} Keeper */
/**
 * @typedef {object} Lived
 * @property {number} node
 * @property {number} bytes
 * @property {number} from
 * @property {number} to
 * @property {number} offset
 * @property {boolean} stays
 * @property {string} why
 * @property {number[]} reads
 * @property {Keeper[]} keepers
 */
/**
 * @typedef {object} Lifetimes
 * @property {Lived[]} arrays
 * @property {number[]} alive
 * @property {number} peak
 * @property {number} peak_kernel
 * @property {number} predicted_peak
 * @property {number} height
 * @property {number[]} starts
 * @property {Lifetimes} [unfused]
 * @property {{name: string}[]} [kernels]
 */

/**
 * The lifetimes of a page.
 * @param {Page} page
 * @returns {Lifetimes}
 */
export function readLifetimes(page) {
    const found = /** @type {{lifetimes?: Lifetimes}} */ (/** @type {unknown} */ (page)).lifetimes;
    if (!found) {
        throw new Error("This page has no lifetimes of arrays. Make it with jt_widgets.memory(loss) or memory(trace).");
    }
    return found;
}

/**
 * Which array the keys lead to from another one.
 * @param {Lived[]} arrays
 * @param {number} at
 * @param {string} key
 * @param {number} peak the kernel of the peak
 */
export function nextArray(arrays, at, key, peak) {
    const numbers = arrays.map((_, k) => k);
    const byTime = [...numbers].sort((a, b) => arrays[a].from - arrays[b].from || a - b);
    const bySize = [...numbers].sort((a, b) => arrays[b].bytes - arrays[a].bytes || a - b);
    const alive = bySize.filter((k) => arrays[k].from <= peak && peak <= arrays[k].to);
    if (key === "p") return alive[0] ?? at;
    const order = key === "ArrowUp" || key === "ArrowDown" ? bySize : byTime;
    const step = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    return order[clamp(order.indexOf(at) + step, 0, order.length - 1)] ?? at;
}
