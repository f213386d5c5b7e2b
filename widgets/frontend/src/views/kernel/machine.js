// Machine: what did the compiler make of a kernel? LLVM IR, assembly with its vector instructions marked, PTX.
//
// Nothing here asks Python: the tabs do, once for each kernel.

import { source } from "../../code.js";
import { soft } from "../../controls.js";
import { h, reveal } from "../../dom.js";

/** @typedef {{cpu: string, llvm: string, asm: string, ptx: string, no_ptx: string, summary: string, widest: number,
 *     vectors: {line: number, width: number, arithmetic: boolean}[]}} Machine */

const TITLES = { llvm: "LLVM IR after optimization", asm: "Machine instructions", ptx: "PTX, for an NVIDIA GPU" };

/**
 * One of the three texts.
 * @param {Machine} made
 * @param {"llvm" | "asm" | "ptx"} which
 * @param {Element} scroller what scrolls to the first wide instruction
 * @returns {HTMLElement}
 */
export function machineText(made, which, scroller) {
    if (!made[which]) return soft(made.no_ptx);
    const words = which === "asm" ? made.summary : `${TITLES[which]}: the kernel's function only.`;
    const vectors = new Map(which === "asm" ? made.vectors.map((vector) => [vector.line, vector]) : []);
    const beside = which === "asm" ? (/** @type {number} */ line) => mark(vectors.get(line)) : undefined;
    const code = source({ source: made[which], classes: [] }, { beside });
    for (const [line, { arithmetic }] of vectors) {
        code.rows[line - 1]?.classList.add(arithmetic ? "jt-kernel-wide" : "jt-kernel-moved");
    }
    const first = made.vectors.find(({ arithmetic, width }) => which === "asm" && arithmetic && width === made.widest);
    const row = first && code.rows[first.line + 5]; // with some lines below it
    requestAnimationFrame(() => row && reveal(row, scroller));
    return h("div", {}, soft(words), code.element);
}

/** @param {{width: number, arithmetic: boolean} | undefined} vector */
function mark(vector) {
    if (!vector) return null;
    return vector.arithmetic ? `\u25c6 computes ${vector.width} bits at once` : `\u25c7 moves ${vector.width} bits`;
}
