// Rows: the same as a table. The learner's calls first, then the messages.

/** @import { Table } from "../../types.js" */
/** @import { Scene } from "./stage.js" */

import { nanosText } from "./stage.js";

/**
 * @param {Scene} scene
 * @returns {Table}
 */
export function rowsOf({ run, times }) {
    const { calls, messages, text } = run;
    const columns = ["what", "rank", "to", "bytes", "begin", "end", "waited", "line"];
    const own = calls.rank.map((_, k) => k).filter((k) => calls.parent[k] < 0);
    const waited = (/** @type {number} */ k) => Math.max(0, Math.min(times.ready[k], times.leave[k]) - times.enter[k]);
    const rows = own.map((k) => [
        text(calls.words[k]), calls.rank[k], calls.peer[k] < 0 ? "" : calls.peer[k], calls.bytes[k],
        nanosText(times.enter[k]), nanosText(times.leave[k]), nanosText(waited(k)), text(calls.line[k]),
    ]);
    const sent = messages.source.map((source, k) => [
        messages.lost[k] ? "message, lost" : "message", source, messages.dest[k], messages.bytes[k],
        nanosText(times.sent[k]), times.done[k] < 0 ? "nobody took it" : nanosText(times.done[k]), "",
        messages.call[k] < 0 ? "" : text(calls.line[run.top[messages.call[k]]]),
    ]);
    return { title: "Calls and messages", columns, rows: [...rows, ...sent] };
}
