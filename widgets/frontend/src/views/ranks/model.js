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
 * @typedef {{size: number, policy: string, duration: number, network: Record<string, number>,
 *     calls: Columns, messages: Columns, work: Columns, order: number[], texts: string[],
 *     waits: Waiting[], circle: number[], failure: string,
 *     curves: Curves[]}} Section
 */
/**
 * @typedef {Section & {text: (number: number) => string, virtual: boolean, net: Net, meetings: number[][],
 *     meetingOf: Int32Array, top: Int32Array, own: number[][]}} Run
 * `meetings` are the calls of each collective, `meetingOf` the place of a call's collective in them, or -1; `top` is
 * the call that the learner wrote, of which a call is a part; `own`
 * are the calls that the learner wrote, of each rank
 */

const MOST_RANKS = 4096;
const FORK = 8; // of the steps enter, leave, late, work, send, take, told, meet, fork and join
const NEED = {
    calls: "rank name words line sequence group peer bytes algorithm enter ready leave parent meeting failed began "
        + "ended",
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
    const long = { calls: evenly(calls, "calls"), messages: evenly(messages, "messages"), work: evenly(work, "work") };
    below(calls, "name words line group algorithm failed", texts.length);
    below(work, "words", texts.length);
    below(calls, "rank", size);
    below(work, "rank", size);
    below(messages, "source dest", size);
    below(messages, "call taker", long.calls, -1);
    calls.parent.forEach((_, k) => below({ parent: [calls.parent[k]] }, "parent", k, -1));
    below({ ranks: [...circle, ...waits.flatMap((one) => [one.rank, ...one.peers])] }, "ranks", size);
    checkOrder(order, size, long);
}

/**
 * @param {number[]} order
 * @param {number} size
 * @param {{calls: number, messages: number, work: number}} long
 */
function checkOrder(order, size, { calls, messages, work }) {
    const most = [calls, calls, calls, work, messages, messages, messages, calls];
    const tasks = new Set(Array.from({ length: size }, (_, k) => k));
    for (let k = 0; k < order.length; k += 3) {
        const [what, task, which] = order.slice(k, k + 3);
        const there = Number.isInteger(which) && which >= 0 && which < most[what];
        const known = what < FORK ? there : what < FORK + 2 && tasks.has(which);
        if (what === FORK) tasks.add(task);
        if (!known || !tasks.has(task)) throw damaged(`step ${k / 3} leads nowhere`);
    }
}

/**
 * How long all of the columns are.
 * @param {Columns} columns
 * @param {"calls" | "messages" | "work"} name
 */
function evenly(columns, name) {
    const all = NEED[name].split(" ").map((key) => columns[key]);
    if (!all.every((one) => one?.length === all[0].length && one.every(Number.isFinite))) {
        throw damaged(`the columns of its ${name} do not fit together`);
    }
    return all[0].length;
}

/**
 * @param {Columns} columns
 * @param {string} names
 * @param {number} most
 * @param {number} [least]
 */
function below(columns, names, most, least = 0) {
    for (const name of names.split(" ")) {
        const wrong = columns[name].find((value) => !(Number.isInteger(value) && value >= least && value < most));
        if (wrong !== undefined) throw damaged(`${name} is ${wrong}`);
    }
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
