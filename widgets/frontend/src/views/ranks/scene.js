// Scene: which bars, arrivals, chains and events follow from the times of a run?
//
//     bars         of each rank, in the order of time: what it does, and in the background, what its helper does
//     arrivals     of each collective: who came when, who was first and who was last
//     chains       a message sent after another one was taken carries the same piece on: the rank where it began
//     events       moments to step to
//     walls        times of the wall clock, in the form of replay.js
//
// Nothing here draws.

/** @import { Net, Run } from "./model.js" */
/** @import { Times } from "./replay.js" */
/** @import { Scene } from "./stage.js" */

import { COMPUTE, TRANSFER, WAIT, replay } from "./replay.js";

/** @typedef {"calls" | "messages"} Level */
/** @typedef {{kind: number, begin: number, end: number, call: number}} Bar */
/** @typedef {{front: Bar[], back: Bar[]}} Lane `back` is what helpers do */
/** @typedef {{calls: number[], byRank: number[], first: number, last: number, begin: number, here: number,
 *     end: number}} Arrival `calls` in the order in which they came; `first` and `last` are ranks; `here` is when the
 * last one came */
/** @typedef {{time: number, rank: number, what: "call" | "message", which: number, words: string}} Moment */

/**
 * Everything that follows, on a network; on the clock of the wall where there is none.
 * @param {Run} run
 * @param {Net | null} net
 * @param {Level} level
 * @param {Int32Array} chains
 * @returns {Scene}
 */
export function sceneOf(run, net, level, chains) {
    const times = net ? replay(run, net) : walls(run);
    const arrivals = arrivalsOf(run, times);
    const last = (/** @type {number} */ rank) => run.own[rank].reduce((most, k) => Math.max(most, times.enter[k]), 0);
    return {
        run, times, level, arrivals, chains, lanes: lanesOf(run, times, arrivals, level),
        late: latest(arrivals)?.rank ?? -1, since: run.waits.map(({ rank }) => last(rank)),
        span: times.duration ? times.duration * (run.waits.length ? 1.3 : 1.015) : 1000,
    };
}

/**
 * @param {Run} run
 * @param {Times} times
 * @param {Arrival[]} arrivals
 * @param {Level} level
 * @returns {Lane[]}
 */
export function lanesOf(run, times, arrivals, level) {
    /** @type {Lane[]} */
    const lanes = Array.from({ length: run.size }, () => ({ front: [], back: [] }));
    const { task, rank, kind, begin, end, call } = times.spans;
    task.forEach((one, k) => {
        const bar = { kind: kind[k], begin: begin[k], end: end[k], call: call[k] };
        const inside = call[k] >= 0 ? run.top[call[k]] : -1;
        if (one >= run.size) lanes[rank[k]].back.push(bar);
        else if (level === "messages" || inside < 0 || run.meetingOf[inside] < 0) lanes[rank[k]].front.push(bar);
    });
    if (level === "calls") for (const arrival of arrivals) whole(arrival, run, times, lanes);
    for (const { front, back } of lanes) [front, back].forEach((bars) => bars.sort((a, b) => a.begin - b.begin));
    return lanes;
}

/**
 * A collective as one bar a rank: first it waits for the last one, then it is under way.
 * @param {Arrival} arrival
 * @param {Run} run
 * @param {Times} times
 * @param {Lane[]} lanes
 */
function whole({ calls, here }, run, times, lanes) {
    for (const call of calls) {
        if (run.calls.parent[call] >= 0) continue;
        const [enter, leave, { front }] = [times.enter[call], times.leave[call], lanes[run.calls.rank[call]]];
        const ready = Math.min(Math.max(enter, here), leave);
        if (ready > enter) front.push({ kind: WAIT, begin: enter, end: ready, call });
        if (leave > ready) front.push({ kind: TRANSFER, begin: ready, end: leave, call });
    }
}

/**
 * @param {Run} run
 * @param {Times} times
 * @returns {Arrival[]} of each meeting of the run
 */
export function arrivalsOf({ meetings, calls, top }, { enter, leave }) {
    const over = Float64Array.from(leave); // also what a helper does for a call that came back at once
    top.forEach((call, k) => (over[call] = Math.max(over[call], leave[k])));
    return meetings.map((group) => {
        const order = [...group].sort((a, b) => enter[a] - enter[b] || calls.rank[a] - calls.rank[b]);
        const [first, last] = [order[0], order[order.length - 1]];
        return {
            calls: order, byRank: [...group].sort((a, b) => calls.rank[a] - calls.rank[b]),
            first: calls.rank[first], last: calls.rank[last],
            begin: enter[first], here: enter[last],
            end: order.reduce((most, k) => Math.max(most, over[k]), enter[last]),
        };
    });
}

/**
 * The rank for which the others waited longest, and to how many collectives it came last.
 * @param {Arrival[]} arrivals
 * @returns {{rank: number, times: number, waited: number} | null}
 */
export function latest(arrivals) {
    /** @type {Map<number, {rank: number, times: number, waited: number}>} */
    const found = new Map();
    for (const { last, begin, here } of arrivals) {
        const one = found.get(last) ?? { rank: last, times: 0, waited: 0 };
        if (here > begin) found.set(last, { rank: last, times: one.times + 1, waited: one.waited + here - begin });
    }
    return [...found.values()].sort((a, b) => b.waited - a.waited)[0] ?? null;
}

/**
 * The rank where each message's piece began. What a rank takes it sends on: one message that it took since it last
 * sent goes on as the same piece, several become a new one, and none means the same piece once more.
 * @param {Run} run
 * @returns {Int32Array}
 */
export function chainsOf({ messages, order: steps, top, meetingOf }) {
    const found = Int32Array.from(messages.source);
    /** @type {Map<string, {piece: number, took: number}>} */
    const held = new Map();
    const hand = (/** @type {number} */ task, /** @type {number} */ call) => {
        const key = `${task}/${call < 0 ? -1 : meetingOf[top[call]]}`;
        return held.get(key) ?? (held.set(key, { piece: -1, took: 0 }), /** @type {never} */ (held.get(key)));
    };
    for (let k = 0; k < steps.length; k += 3) {
        const [what, task, which] = [steps[k], steps[k + 1], steps[k + 2]];
        if (what !== 4 && what !== 5) continue;
        const call = (what === 4 ? messages.call : messages.taker)[which];
        if (call < 0 || meetingOf[top[call]] < 0) continue;
        const mine = hand(task, call);
        if (what === 5) Object.assign(mine, { piece: found[which], took: mine.took + 1 });
        else {
            if (mine.piece < 0 || mine.took > 1) mine.piece = messages.source[which];
            found[which] = mine.piece;
            mine.took = 0;
        }
    }
    return found;
}

/**
 * Moments to step to, in the order of time.
 * @param {Run} run
 * @param {Times} times
 * @param {Level} level
 * @returns {Moment[]}
 */
export function momentsOf(run, times, level) {
    const { calls, messages, text, meetingOf } = run;
    /** @type {Moment[]} */
    const found = [];
    /** @type {Moment[]} */
    const ends = [];
    calls.rank.forEach((rank, which) => {
        if (calls.parent[which] >= 0 || (level === "messages" && meetingOf[which] < 0)) return;
        const name = text(calls.words[which]);
        found.push({ time: times.enter[which], rank, what: "call", which, words: `begins ${name}` });
        ends.push({ time: times.leave[which], rank, what: "call", which, words: `ends ${name}` });
    });
    if (level === "messages") {
        messages.source.forEach((source, which) => {
            const dest = messages.dest[which];
            const [sent, done] = [times.sent[which], times.done[which]];
            found.push({ time: sent, rank: source, what: "message", which, words: `sends to rank ${dest}` });
            if (done < 0) return;
            found.push({ time: done, rank: dest, what: "message", which, words: `has it from ${source}` });
        });
    }
    return [...found, ...ends].sort((a, b) => a.time - b.time || a.rank - b.rank);
}

/**
 * Times of the wall clock: those of a real run are known; a simulated one has its calls, and messages as their ends.
 * @param {Run} run
 * @returns {Times}
 */
export function walls(run) {
    const { calls, messages, meetings, meetingOf } = run;
    const [enter, leave] = [Float64Array.from(calls.began), Float64Array.from(calls.ended)];
    const at = (/** @type {number[]} */ of, /** @type {Float64Array} */ column) =>
        Float64Array.from(of, (call) => (call < 0 ? -1 : column[call]));
    const [sent, done] = run.virtual ? [at(messages.call, enter), at(messages.taker, leave)]
        : [Float64Array.from(messages.sent), Float64Array.from(messages.done)];
    done.forEach((time, k) => (done[k] = time < 0 ? -1 : Math.max(time, sent[k])));
    const here = meetings.map((group) => group.reduce((most, k) => Math.max(most, enter[k]), 0));
    const ready = enter.map((time, k) => (meetingOf[k] < 0 ? time : Math.min(leave[k], here[meetingOf[k]])));
    messages.taker.forEach((call, k) => {
        if (call >= 0) ready[call] = Math.min(leave[call], Math.max(enter[call], sent[k]));
    });
    return {
        enter, leave, ready, sent, arrived: done, taken: done, done, begin: new Float64Array(), end: new Float64Array(),
        spans: wallSpans(run, enter, ready, leave), duration: [...leave, ...done].reduce((a, b) => Math.max(a, b), 0),
    };
}

/**
 * Outside of its calls a rank computes.
 * @param {Run} run
 * @param {Float64Array} enter
 * @param {Float64Array} ready
 * @param {Float64Array} leave
 */
function wallSpans({ size, calls }, enter, ready, leave) {
    /** @type {import("./replay.js").Spans} */
    const spans = { task: [], rank: [], kind: [], begin: [], end: [], call: [] };
    const free = new Float64Array(size);
    calls.rank.forEach((rank, call) => {
        if (calls.parent[call] >= 0) return;
        const cuts = [Math.min(free[rank], enter[call]), enter[call], ready[call], leave[call]];
        [COMPUTE, WAIT, TRANSFER].forEach((kind, k) => {
            if (cuts[k + 1] <= cuts[k]) return;
            spans.task.push(rank);
            spans.rank.push(rank);
            spans.kind.push(kind);
            spans.begin.push(cuts[k]);
            spans.end.push(cuts[k + 1]);
            spans.call.push(kind === COMPUTE ? -1 : call);
        });
        free[rank] = Math.max(free[rank], leave[call]);
    });
    return spans;
}
