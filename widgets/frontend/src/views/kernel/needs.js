// Needs: what does a kernel take of a multiprocessor, and how many of its warps have room there at once?
//
// All numbers come from Python.

import { soft } from "../../controls.js";
import { h } from "../../dom.js";
import { bytesText, grouped } from "../../numbers.js";
import { framed } from "../../tables.js";

/** @typedef {{kernel: string, threads: number, gpu: string, registers: number, spilled: number, shared: number,
 *     blocks: number, warps: number, most: number, limits: string}} Need */

const HEADS = ["kernel, threads", "GPU", "warps at once", "limited by", "registers", "spilled", "shared"];
const ABOUT = `How many registers a thread needs, and how much shared memory a block; and so how many blocks have room
on a multiprocessor of these GPUs at once. While some of their warps wait for memory, others compute.`;

/**
 * A row for each kernel and GPU.
 * @param {Need[]} rows
 * @returns {HTMLElement}
 */
export function needsOf(rows) {
    const lines = rows.map((row) => h("tr", {}, cells(row)));
    return h("div", {}, soft(ABOUT), framed(HEADS, lines, "jt-kernel-needs"));
}

/** @param {Need} row */
function cells({ kernel, threads, gpu, registers, spilled, shared, blocks, warps, most, limits }) {
    const room = `${warps} of ${most}: ${blocks} block${blocks === 1 ? "" : "s"}`;
    const bar = { class: "jt-kernel-room", style: `--jt-share:${(100 * warps) / most}%` };
    return [
        h("td", {}, `${kernel}, ${threads}`), h("td", {}, gpu), h("td", bar, room), h("td", {}, limits),
        h("td", "jt-number", grouped(registers)), h("td", "jt-number", spilled ? bytesText(spilled) : "none"),
        h("td", "jt-number", bytesText(shared)),
    ];
}
