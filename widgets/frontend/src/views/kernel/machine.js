// Machine: what did the compiler make of a kernel? LLVM IR, assembly with its vector instructions marked, PTX; of a
// kernel of a GPU also what it is in C++, and what it needs.
//
// Nothing here asks Python: the tabs do, once for each kernel.

import { source } from "../../code.js";
import { soft } from "../../controls.js";
import { h, reveal } from "../../dom.js";
import { needsOf } from "./needs.js";

/** @import { Need } from "./needs.js" */

/** @typedef {{ptx: string, no_ptx: string, llvm?: string, asm?: string, summary?: string, widest?: number,
 *     vectors?: {line: number, width: number, arithmetic: boolean}[], cpp?: string, needs?: Need[]}} Machine */
/** @typedef {"llvm" | "asm" | "ptx" | "cpp" | "needs"} Part */

const TITLES = {
    llvm: "LLVM IR after optimization: the kernel's function only.", asm: "",
    ptx: "PTX, for an NVIDIA GPU: the kernel's function only.",
    cpp: "As a person would write it for NVIDIA's compiler.",
};

/**
 * One of the texts, or the table.
 * @param {Machine} made
 * @param {Part} which
 * @param {Element} scroller what scrolls to the first wide instruction
 * @returns {HTMLElement}
 */
export function machineText(made, which, scroller) {
    if (which === "needs" && made.needs?.length) return needsOf(made.needs);
    const text = which === "needs" ? "" : made[which];
    if (which === "needs" || !text) return soft(made.no_ptx);
    const wide = (which === "asm" && made.vectors) || [];
    const vectors = new Map(wide.map((vector) => [vector.line, vector]));
    const beside = which === "asm" ? (/** @type {number} */ line) => mark(vectors.get(line)) : undefined;
    const code = source({ source: text, classes: [] }, { beside });
    for (const [line, { arithmetic }] of vectors) {
        code.rows[line - 1]?.classList.add(arithmetic ? "jt-kernel-wide" : "jt-kernel-moved");
    }
    const first = wide.find(({ arithmetic, width }) => arithmetic && width === made.widest);
    const row = first && code.rows[first.line + 5]; // with some lines below it
    requestAnimationFrame(() => row && reveal(row, scroller));
    return h("div", {}, soft(TITLES[which] || (made.summary ?? "")), code.element);
}

/** @param {{width: number, arithmetic: boolean} | undefined} vector */
function mark(vector) {
    if (!vector) return null;
    return vector.arithmetic ? `\u25c6 computes ${vector.width} bits at once` : `\u25c7 moves ${vector.width} bits`;
}
