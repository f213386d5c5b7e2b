/** Ranks: times are worked out again to the nanosecond; who was late, which piece travels, what fits. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { levels, linksOf } from "../src/views/ranks/flow.js";
import { runOf } from "../src/views/ranks/model.js";
import { cost, plain, replay, round } from "../src/views/ranks/replay.js";
import { arrivalsOf, chainsOf, lanesOf, latest, momentsOf, walls } from "../src/views/ranks/scene.js";
import { nanosText } from "../src/views/ranks/stage.js";
import { closed, placeOf, valueAt } from "../src/views/ranks/whatif.js";

const NAMES = ["ring", "tree", "mixed", "stuck"];

function golden(name) {
    const url = new URL(`../golden/ranks/${name}.json`, import.meta.url);
    return JSON.parse(readFileSync(url, "utf8"));
}

function timed(name) {
    const run = runOf(golden(name));
    return { run, times: replay(run, run.net) };
}

for (const name of NAMES) {
    test(`${name}: with the recorded network the times are the recorded ones`, () => {
        const { run, times } = timed(name);

        for (const key of ["enter", "ready", "leave"]) assert.deepEqual([...times[key]], run.calls[key], key);
        for (const key of ["sent", "arrived", "taken", "done"]) {
            assert.deepEqual([...times[key]], run.messages[key], key);
        }
        for (const key of ["begin", "end"]) assert.deepEqual([...times[key]], run.work[key], key);
        assert.equal(times.duration, run.duration);
    });

    test(`${name}: with another network the run takes as long as it did there`, () => {
        const { others } = golden(name);
        const { run } = timed(name);

        for (const { network, duration } of others) assert.equal(replay(run, network).duration, duration);
    });

    test(`${name}: what a rank does leaves no gap and no overlap`, () => {
        const { run, times } = timed(name);

        for (const level of ["calls", "messages"]) {
            for (const { front } of lanesOf(run, times, arrivalsOf(run, times), level)) {
                front.slice(1).forEach((bar, k) => assert.equal(bar.begin, front[k].end, level));
            }
        }
    });
}

test("a ring takes what the closed form says", () => {
    assert.equal(timed("ring").times.duration, 68_964);
});

test("in a ring the piece of each rank goes all the way round", () => {
    const { run } = timed("ring");
    const found = chainsOf(run);

    for (const rank of [0, 1, 2, 3]) {
        const route = [...found].flatMap((piece, k) => (piece === rank ? [run.messages.source[k]] : []));
        assert.deepEqual(route, [0, 1, 2, 3, 0, 1].map((step) => (rank + step) % 4));
    }
});

test("in a tree every message carries what the root had", () => {
    assert.deepEqual(new Set(chainsOf(timed("tree").run)), new Set([0]));
});

test("the links of a tree are found to be one, and those of a ring are not", () => {
    const all = (run) => linksOf(run.messages, run.messages.source.map((_, k) => k));
    const [tree, ring] = [timed("tree").run, timed("ring").run];

    assert.deepEqual(levels(all(tree), 8).row, [0, 1, 1, 2, 1, 2, 2, 3]);
    assert.equal(levels(all(ring), 4), null);
    assert.deepEqual(all(ring).map(({ source, dest, bytes }) => [source, dest, bytes]),
        [[0, 1, 6000], [1, 2, 6000], [2, 3, 6000], [3, 0, 6000]]);
});

test("the slow rank comes last, and the others wait for it", () => {
    const { run, times } = timed("mixed");
    const arrivals = arrivalsOf(run, times);
    const [first] = arrivals;

    assert.equal(first.last, 2);
    assert.equal(first.here - first.begin, 3 * 2700 - 700);
    assert.equal(latest(arrivals).rank, 2);
});

test("a collective is one bar a rank: first it waits for the last one, then it is under way", () => {
    const { run, times } = timed("stuck");
    const [lane] = lanesOf(run, times, arrivalsOf(run, times), "calls");

    assert.deepEqual(lane.front.map(({ kind, begin, end }) => [kind, begin, end]),
        [[0, 0, 3000], [1, 3000, 12_000], [2, 12_000, times.duration]]);
});

test("events come in the order of time, and each message is sent and had", () => {
    const { run, times } = timed("ring");
    const moments = momentsOf(run, times, "messages");

    assert.ok(moments.slice(1).every((one, k) => one.time >= moments[k].time));
    assert.equal(moments.filter((one) => one.what === "message").length, 2 * run.messages.source.length);
    assert.equal(momentsOf(run, times, "calls").length, 2 * 4);
});

test("on the wall clock a rank computes between its calls", () => {
    const page = golden("ring");
    page.ranks.calls.began = page.ranks.calls.began.map((_, k) => 1000 * k);
    page.ranks.calls.ended = page.ranks.calls.began.map((time) => time + 1500);
    const run = runOf(page);
    const times = walls(run);

    assert.deepEqual([...times.enter], run.calls.began);
    assert.equal(times.duration, run.calls.began.at(-1) + 1500);
    const first = run.own[1][0];
    const { spans } = times;
    const bars = spans.rank.map((rank, k) => [rank, spans.kind[k], spans.begin[k], spans.end[k]]);
    assert.deepEqual(bars.find(([rank, kind]) => rank === 1 && kind === 0), [1, 0, 0, run.calls.began[first]]);
});

test("messages of a real run keep the times at which they were under way, also when nobody took them", () => {
    const page = golden("ring");
    page.ranks.network = {};
    page.ranks.calls.began = page.ranks.calls.began.map((_, k) => 1000 * k);
    page.ranks.calls.ended = page.ranks.calls.began.map((time) => time + 10); // a receive that was over at once
    page.ranks.messages.sent = page.ranks.messages.sent.map((_, k) => 5000 * k);
    page.ranks.messages.done = page.ranks.messages.sent.map((time, k) => (k ? time + 77_000 : -1));

    const times = walls(runOf(page));

    assert.deepEqual([...times.sent], page.ranks.messages.sent);
    for (const column of [times.arrived, times.taken, times.done]) {
        assert.deepEqual([...column], page.ranks.messages.done);
    }
    assert.equal(times.duration, Math.max(...page.ranks.messages.done));
});

test("halves round to the even neighbour, as in Python", () => {
    assert.deepEqual([0.5, 1.5, 2.5, 2.4999, 2.5001, -0.5, 7].map(round), [0, 2, 2, 2, 3, 0, 7]);
});

test("names lose what tells their form, and costs are those of combine.py", () => {
    const net = { latency: 2500, overhead: 1500, gap: 0, byte: 6 };

    const names = ["Allgatherv", "Reduce_scatter_block", "barrier"];
    assert.deepEqual(names.map(plain), ["allgather", "reduce_scatter", "barrier"]);
    assert.equal(cost("barrier", 16, 0, net), 22_000);
    assert.equal(cost("barrier", 1, 0, net), 0);
    assert.equal(cost("bcast", 8, 1000, net), 3 * 5500 + 6000);
    assert.equal(cost("allreduce", 4, 4000, net), 4 * 5500 + 36_000);
});

test("closed forms give the check values", () => {
    const { curves } = golden("ring").ranks;
    const net = { latency: 2500, overhead: 1500, gap: 0, byte: 6 };
    const point = curves[0].lines.find((line) => line.name === "ring").points.find(([size]) => size === 4);

    assert.equal(closed(point, net), 68_964);
    assert.equal(closed([4, 1, 10, 2, 10], { ...net, gap: 5 }), 5500 + 60 + 2 * 1500);
    assert.equal(closed([4, 1, 10, 2, 1000, 1, 0], { ...net, gap: 5 }), 5500 + 60 + 2 * 6005 + 1500);
});

test("a slider stands where its value is, with 0 at its beginning", () => {
    for (const of of [{ most: 1e7, unit: 1 }, { most: 1000, unit: 0.001 }]) {
        assert.equal(valueAt(0, of), 0);
        assert.equal(valueAt(400, of), of.most);
        for (const place of [1, 57, 200, 399]) {
            assert.ok(Math.abs(placeOf(valueAt(place, of), of) - place) <= 12, `${place}`);
        }
        assert.equal(placeOf(0, of), 0);
    }
});

test("times read in four digits", () => {
    assert.deepEqual([0, 999, 68_964, 2_500_000, 3e9].map(nanosText), ["0 ns", "999 ns", "68.96 µs", "2.5 ms", "3 s"]);
});

const BROKEN = {
    "too many ranks": (ranks) => (ranks.size = 5000),
    "columns of different lengths": (ranks) => ranks.calls.enter.pop(),
    "a missing column": (ranks) => delete ranks.messages.lost,
    "a rank that is not there": (ranks) => (ranks.messages.dest[0] = 4),
    "a text that is not there": (ranks) => (ranks.calls.name[0] = 1e6),
    "a call inside of itself": (ranks) => (ranks.calls.parent[2] = 2),
    "a step that leads nowhere": (ranks) => (ranks.order[2] = 99_999),
    "a task that nobody began": (ranks) => (ranks.order[1] = 77),
    "steps that do not come out even": (ranks) => ranks.order.push(1),
    "a fraction of a rank": (ranks) => (ranks.calls.rank[0] = 0.5),
    "a wait of nobody": (ranks) => ranks.waits.push({ rank: 9, words: "", line: "", peers: [] }),
};

for (const [name, change] of Object.entries(BROKEN)) {
    test(`a page is refused with a sentence: ${name}`, () => {
        const page = golden("ring");
        change(page.ranks);

        assert.throws(() => runOf(page), /^Error: This page is damaged: .*\. Record it again\.$/);
    });
}
