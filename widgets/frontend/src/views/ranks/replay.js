// Replay: how long would the same program have taken on another network?
//
//     const times = replay(run, {latency, overhead, gap, byte})
//     times.enter, ready, leave       of calls        times.sent, arrived, taken, done     of messages
//     times.begin, end                of work         times.spans                          what each task did
//
// The steps of a run are what moved a clock, in the order in which it happened; each reads only what steps before it
// have left. The rules are those of jt_edu/mpi/perf_model/replay.py, network.py and combine.py, with the same names,
// and give the same whole ns. Nothing here draws.

/** @import { Net, Run } from "./model.js" */

/** @typedef {{now: number, out: number, into: number, rank: number}} Clock */
/**
 * @typedef {{task: number[], rank: number[], kind: number[], begin: number[], end: number[], call: number[]}} Spans
 * `kind` is COMPUTE, WAIT or TRANSFER
 * @typedef {{enter: Float64Array, ready: Float64Array, leave: Float64Array, sent: Float64Array, arrived: Float64Array,
 *     taken: Float64Array, done: Float64Array, begin: Float64Array, end: Float64Array, spans: Spans,
 *     duration: number}} Times
 */

export const [COMPUTE, WAIT, TRANSFER] = [0, 1, 2];

/**
 * @param {Run} run
 * @param {Net} net
 * @returns {Times}
 */
export function replay(run, net) {
    const again = new Replay(run, net);
    const { order: steps } = run;
    for (let k = 0; k < steps.length; k += 3) again.step(steps[k], steps[k + 1], steps[k + 2]);
    return again.times(Math.max(0, ...again.clocks.slice(0, run.size).map((clock) => clock.now)));
}

class Replay {
    /**
     * @param {Run} run
     * @param {Net} net
     */
    constructor(run, net) {
        this.run = run;
        this.net = net;
        this.o = round(net.overhead);
        this.l = round(net.latency);
        this.g = round(net.gap);
        /** @type {Clock[]} */
        this.clocks = Array.from({ length: run.size }, (_, rank) => ({ now: 0, out: 0, into: 0, rank }));
        const blank = (/** @type {number[]} */ of, value = 0) => new Float64Array(of.length).fill(value);
        const [calls, messages] = [run.calls.rank, run.messages.source];
        this.enter = blank(calls);
        this.ready = blank(calls);
        this.leave = blank(calls);
        this.sent = blank(messages, -1);
        this.arrived = blank(messages, -1);
        this.taken = blank(messages, -1);
        this.done = blank(messages, -1);
        this.begin = blank(run.work.rank);
        this.end = blank(run.work.rank);
        /** What is known of each meeting. @type {Map<number, {ready: number, bytes: number}>} */
        this.met = new Map();
        /** @type {Spans} */
        this.spans = { task: [], rank: [], kind: [], begin: [], end: [], call: [] };
    }

    /** @param {number} duration */
    times(duration) {
        const { enter, ready, leave, sent, arrived, taken, done, begin, end, spans } = this;
        return { enter, ready, leave, sent, arrived, taken, done, begin, end, spans, duration };
    }

    /**
     * @param {number} what
     * @param {number} task
     * @param {number} which
     */
    step(what, task, which) {
        const clock = this.clocks[task];
        if (what === 0) this.enter[which] = this.ready[which] = this.leave[which] = clock.now;
        else if (what === 1) this.leave[which] = clock.now;
        else if (what === 2) this.late(task, which);
        else if (what === 3) this.work(task, which);
        else if (what === 4) this.send(task, which);
        else if (what === 5) this.take(task, which);
        else if (what === 6) this.told(task, which);
        else if (what === 7) this.meet(task, which);
        else if (what === 8) this.clocks[task] = { ...this.clocks[which] };
        else this.pass(task, this.clocks[which].now, WAIT, -1);
    }

    /** It waited as long as it was allowed to, which no network changes. @param {number} task @param {number} which */
    late(task, which) {
        const { enter, leave } = this.run.calls;
        this.pass(task, this.enter[which] + leave[which] - enter[which], WAIT, which);
        this.leave[which] = this.clocks[task].now;
    }

    /** @param {number} task @param {number} which */
    work(task, which) {
        const { begin, end } = this.run.work;
        this.begin[which] = this.clocks[task].now;
        this.end[which] = this.begin[which] + end[which] - begin[which];
        this.pass(task, this.end[which], COMPUTE, -1);
    }

    /** @param {number} task @param {number} which */
    send(task, which) {
        const [clock, { messages, net: before }] = [this.clocks[task], this.run];
        const [from, bytes] = [clock.now, messages.bytes[which]];
        const usual = round(before.overhead) + round(before.latency) + wire(bytes, before);
        const start = Math.max(clock.now, clock.out);
        clock.now = start + this.o;
        clock.out = start + this.g + wire(bytes, this.net);
        this.sent[which] = start;
        this.arrived[which] = clock.now + this.l + wire(bytes, this.net)
            + (messages.arrived[which] - messages.sent[which] - usual); // a fault may have delayed it
        this.span(task, TRANSFER, from, clock.now, messages.call[which]);
    }

    /** @param {number} task @param {number} which */
    take(task, which) {
        const [clock, { messages }] = [this.clocks[task], this.run];
        const [from, call, arrived] = [clock.now, messages.taker[which], this.arrived[which]];
        const last = Math.max(arrived, clock.into + wire(messages.bytes[which], this.net));
        const start = Math.max(clock.now, last);
        clock.now = start + this.o;
        clock.into = last + this.g;
        [this.taken[which], this.done[which]] = [start, clock.now];
        const ready = Math.min(Math.max(from, this.sent[which]), start);
        this.span(task, WAIT, from, ready, call);
        this.span(task, TRANSFER, ready, clock.now, call);
        if (call < 0) return;
        this.ready[call] = Math.max(this.enter[call], arrived);
        this.leave[call] = clock.now;
    }

    /** The sender of a synchronous message hears that it is being taken. @param {number} task @param {number} which */
    told(task, which) {
        const { call, taker } = this.run.messages;
        const posted = taker[which] < 0 ? 0 : this.enter[taker[which]];
        this.pass(task, posted, WAIT, call[which]);
        this.pass(task, Math.max(posted, this.arrived[which]) + this.l, TRANSFER, call[which]);
    }

    /** @param {number} task @param {number} which */
    meet(task, which) {
        const { calls, meetings, meetingOf, text } = this.run;
        const group = meetings[meetingOf[which]] ?? [which];
        const { ready, bytes } = this.met.get(meetingOf[which]) ?? this.allHere(meetingOf[which], group);
        this.ready[which] = ready;
        this.pass(task, ready, WAIT, which);
        const took = cost(plain(text(calls.name[which])), group.length, bytes, this.net);
        this.pass(task, ready + took, TRANSFER, which);
    }

    /** When the last rank came, and the most that one brought. @param {number} meeting @param {number[]} group */
    allHere(meeting, group) {
        const found = {
            ready: Math.max(...group.map((k) => this.enter[k])),
            bytes: Math.max(...group.map((k) => this.run.calls.bytes[k])),
        };
        this.met.set(meeting, found);
        return found;
    }

    /**
     * @param {number} task
     * @param {number} until
     * @param {number} kind
     * @param {number} call
     */
    pass(task, until, kind, call) {
        const clock = this.clocks[task];
        const from = clock.now;
        clock.now = Math.max(from, until);
        this.span(task, kind, from, clock.now, call);
    }

    /**
     * @param {number} task
     * @param {number} kind
     * @param {number} begin
     * @param {number} end
     * @param {number} call
     */
    span(task, kind, begin, end, call) {
        if (end <= begin) return;
        const { spans } = this;
        spans.task.push(task);
        spans.rank.push(this.clocks[task].rank);
        spans.kind.push(kind);
        spans.begin.push(begin);
        spans.end.push(end);
        spans.call.push(call);
    }
}

/**
 * ns that the bytes behind the first one take.
 * @param {number} bytes
 * @param {Net} net
 */
export function wire(bytes, net) {
    return round(Math.max(bytes - 1, 0) * net.byte);
}

/**
 * ns of a native collective, from the moment when the last rank comes.
 * @param {string} name
 * @param {number} size
 * @param {number} moved
 * @param {Net} net
 */
export function cost(name, size, moved, net) {
    const rounds = size > 1 ? Math.ceil(Math.log2(size)) : 0;
    const trip = round(net.latency) + 2 * round(net.overhead) + wire(1, net);
    const bytes = moved * net.byte;
    if (name === "barrier") return rounds * trip;
    if (/^(bcast|reduce|scan|exscan|scatter|gather)$/.test(name)) return rounds * trip + (size > 1 ? round(bytes) : 0);
    if (/^(allreduce|reduce_scatter)$/.test(name)) return 2 * rounds * trip + round(((2 * (size - 1)) / size) * bytes);
    return rounds * trip + round((size - 1) * bytes);
}

/**
 * The collective behind a name: "allgather" for Allgatherv.
 * @param {string} name
 */
export function plain(name) {
    const low = name.toLowerCase();
    return low.startsWith("reduce_scatter") ? low.replace(/_block$/, "") : low.replace(/v$/, "");
}

/**
 * As Python rounds: halves to the even neighbour.
 * @param {number} value
 */
export function round(value) {
    const low = Math.floor(value);
    const part = value - low;
    return part === 0.5 ? low + Math.abs(low % 2) : low + (part > 0.5 ? 1 : 0);
}
