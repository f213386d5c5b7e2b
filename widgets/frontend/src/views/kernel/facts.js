// Facts: what is said of a kernel in a line?

/** @import { Kernel } from "../../types.js" */

import { bytesText, count, millisText } from "../../numbers.js";

/** @param {Kernel} kernel */
export function runsOf({ ms, runs = 1 }) {
    if (ms === null) return "";
    return runs > 1 ? `the least of ${runs} runs, warm` : "one run, the first: cold caches; usually it is far faster";
}

/** @param {Kernel} kernel */
export function headOf(kernel) {
    return `${kernel.id} ${kernel.name}: ${factsOf(kernel)}`;
}

/** @param {Kernel} kernel */
export function factsOf({ ms, runs = 1, bytes, flops, edited }) {
    const time = ms === null ? "" : `${millisText(ms)} ${runs > 1 ? `(least of ${runs})` : "(first run)"}`;
    return `${time || count(flops, "operation")}, ${bytesText(bytes)}${edited ? ", edited" : ""}`;
}
