// Cost: which kernel is worth looking at first?

/** @import { Kernel } from "../../types.js" */

const PER_BYTE = 4; // operations in the time that a byte takes, on one core: a few dozen GFLOP/s over some GB/s

/**
 * What a kernel takes: its time, or where nobody ran it what it moves and what it computes, whichever is more. The two
 * are never compared: either all kernels of a page ran, or none.
 * @param {Pick<Kernel, "ms" | "bytes" | "flops">} kernel
 * @returns {number}
 */
export function costOf({ ms, bytes, flops }) {
    return ms ?? Math.max(bytes, flops / PER_BYTE);
}

/**
 * Places of the kernels, the costliest first.
 * @param {Pick<Kernel, "ms" | "bytes" | "flops">[]} kernels
 * @returns {number[]}
 */
export function byCost(kernels) {
    return kernels.map((_, place) => place).sort((a, b) => costOf(kernels[b]) - costOf(kernels[a]) || a - b);
}
