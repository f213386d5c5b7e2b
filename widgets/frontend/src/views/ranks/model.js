// Model: what did the ranks of a page do? Calls, messages, work and steps as columns, checked.
//
//     const run = runOf(page)        throws an Error whose message can be shown
//     run.calls.enter[k]             a column: one number for each call
//     run.text(run.calls.name[k])    words stand once, in `texts`
//
// Times are whole ns. Nothing here draws.

/** @import { Page } from "../../types.js" */

/** @typedef {Record<string, number[]>} Columns */
/**
 * @typedef {{latency: number, overhead: number, gap: number, byte: number}} Net
 * @typedef {{rank: number, words: string, line: string, peers: number[]}} Waiting
 * @typedef {{name: string, bytes: number, calls: string[], lines: {name: string, points: number[][]}[],
 *     measured: {name: string, size: number, nanos: number}[]}} Curves
 * @typedef {{size: number, policy: string, seed: number, duration: number, network: Record<string, number>,
 *     calls: Columns, messages: Columns, work: Columns, order: number[], texts: string[],
 *     counts: {calls: number, messages: number}, waits: Waiting[], circle: number[], failure: string,
 *     curves: Curves[]}} Section
 */
/**
 * @typedef {Section & {text: (number: number) => string, virtual: boolean, net: Net, meetings: number[][],
 *     meetingOf: Int32Array, top: Int32Array, own: number[][]}} Run
 * `meetings` are the calls of each collective, `meetingOf` the place of a call's collective in them, or -1; `top` is
 * the call that the learner wrote, of which a call is a part; `own`
 * are the calls that the learner wrote, of each rank
 */

export const MOST_RANKS = 4096;
export const STEPS = ["enter", "leave", "late", "work", "send", "take", "told", "meet", "fork", "join"];
const NEED = {
    calls: "rank name words line sequence group peer bytes algorithm enter ready leave parent meeting failed began ended",
    messages: "source dest tag bytes sent arrived taken done call taker synchronous lost",
    work: "rank begin end words",
};

/**
 * @param {Page} page
 * @returns {Run}
 */
export function runOf(page) {
    const { ranks: section } = /** @type {Page & {ranks?: Section}} */ (page);
    if (!section) throw new Error("This page holds no ranks. Make it with jt_widgets.ranks(record).");
    check(section);
    const { calls, texts, network } = section;
    const { meetings, meetingOf } = meet(calls);
    const own = Array.from({ length: section.size }, () => /** @type {number[]} */ ([]));
    calls.parent.forEach((parent, k) => parent < 0 && own[calls.rank[k]].push(k));
    const { latency = 0, overhead = 0, gap = 0, byte = 0 } = network;
    return {
        ...section, own, meetings, meetingOf, top: tops(calls.parent), text: (number) => texts[number],
        virtual: Object.keys(network).length > 0, net: { latency, overhead, gap, byte },
    };
}

/** @param {Section} section */
function check({ size, calls, messages, work, order, texts, waits, circle }) {
    if (!(Number.isInteger(size) && size >= 1 && size <= MOST_RANKS)) throw damaged(`it has ${size} ranks`);
    const long = {
        calls: sameLength(calls, "calls"), messages: sameLength(messages, "messages"), work: sameLength(work, "work"),
    };
    for (const name of ["name", "words", "line", "group", "algorithm", "failed"]) below(calls, name, texts.length);
    below(work, "words", texts.length);
    for (const [columns, names] of /** @type {const} */ ([[calls, "rank"], [work, "rank"], [messages, "source dest"]])) {
        for (const name of names.split(" ")) below(columns, name, size);
    }
    for (const name of ["call", "taker"]) below(messages, name, long.calls, -1);
    if (calls.parent.some((parent, k) => !(Number.isInteger(parent) && parent >= -1 && parent < k))) {
        throw damaged("a call is a part of one that comes later");
    }
    for (const rank of [...circle, ...waits.flatMap((one) => [one.rank, ...one.peers])]) {
        if (!(Number.isInteger(rank) && rank >= 0 && rank < size)) throw damaged(`it names rank ${rank} of ${size}`);
    }
    checkSteps(order, size, long);
}

/**
 * @param {number[]} steps
 * @param {number} size
 * @param {{calls: number, messages: number, work: number}} long
 */
function checkSteps(steps, size, long) {
    const { calls, messages, work } = long;
    const most = [calls, calls, calls, work, messages, messages, messages, calls];
    const tasks = new Set(Array.from({ length: size }, (_, k) => k));
    if (steps.length % 3) throw damaged("its steps do not come out even");
    for (let k = 0; k < steps.length; k += 3) {
        const [what, task, which] = [steps[k], steps[k + 1], steps[k + 2]];
        const known = what < most.length ? which >= 0 && which < most[what] : what < STEPS.length && tasks.has(which);
        if (STEPS[what] === "fork") tasks.add(task);
        if (!(Number.isInteger(what) && Number.isInteger(which) && known && tasks.has(task))) {
            throw damaged(`its step ${k / 3} leads nowhere`);
        }
    }
}

/**
 * @param {Columns} columns
 * @param {"calls" | "messages" | "work"} name
 */
function sameLength(columns, name) {
    const lengths = new Set(NEED[name].split(" ").map((column) => columns[column]?.length));
    const [length] = lengths;
    if (lengths.size !== 1 || length === undefined) throw damaged(`the columns of its ${name} differ in length`);
    return length;
}

/**
 * @param {Columns} columns
 * @param {string} name
 * @param {number} most
 * @param {number} [least]
 */
function below(columns, name, most, least = 0) {
    const wrong = columns[name].find((value) => !(Number.isInteger(value) && value >= least && value < most));
    if (wrong !== undefined) throw damaged(`${name} is ${wrong}`);
}

/** @param {Columns} calls */
function meet(calls) {
    /** @type {Map<string, number[]>} */
    const groups = new Map();
    calls.sequence.forEach((sequence, k) => {
        if (sequence < 0) return;
        const key = calls.meeting[k] >= 0 ? `${calls.meeting[k]}` : `${calls.group[k]}/${sequence}`;
        const group = groups.get(key);
        if (group) group.push(k);
        else groups.set(key, [k]);
    });
    const meetingOf = new Int32Array(calls.sequence.length).fill(-1);
    const meetings = [...groups.values()];
    meetings.forEach((group, number) => group.forEach((k) => (meetingOf[k] = number)));
    return { meetings, meetingOf };
}

/** @param {number[]} parents each before its parts */
function tops(parents) {
    const top = new Int32Array(parents.length);
    parents.forEach((parent, k) => (top[k] = parent < 0 ? k : top[parent]));
    return top;
}

/** @param {string} why */
function damaged(why) {
    return new Error(`This page is damaged: ${why}. Record it again.`);
}
