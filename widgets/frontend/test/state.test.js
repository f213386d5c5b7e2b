// State: kept in the model, written when it is quiet, and only of the type that a view expects.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeState, part } from "../src/state.js";

function model(state) {
    const hearers = new Set();
    return {
        state, saves: 0,
        get: () => state,
        set(_, value) {
            state = value;
            for (const hear of [...hearers]) hear();
        },
        save_changes() { this.saves += 1; },
        on: (_, hear) => hearers.add(hear),
        off: (_, hear) => hearers.delete(hear),
        hearers,
    };
}

test("what was kept is found, what was not gives the fallback", () => {
    const state = makeState(model({ zoom: 2 }), () => {});

    assert.equal(state.get("zoom", 1), 2);
    assert.equal(state.get("step", 5), 5);
});

test("a value of another type gives the fallback; beside null anything may come", () => {
    const state = makeState(model({ a: "x", b: [1], c: { d: 1 }, e: null }), () => {});

    assert.equal(state.get("a", 1), 1);
    assert.deepEqual(state.get("b", { x: 1 }), { x: 1 });
    assert.deepEqual(state.get("c", [2]), [2]);
    assert.equal(state.get("e", 3), 3);
    assert.equal(state.get("a", null), "x");
});

test("keys of every object are no state", () => {
    const state = makeState(model({}), () => {});

    assert.equal(state.get("constructor", null), null);
    assert.equal(state.get("toString", "no"), "no");
});

test("many changes are written once", async () => {
    const one = model({});
    const state = makeState(one, () => assert.fail("this change is its own"));
    for (let k = 0; k < 10; k += 1) state.set("k", k);
    assert.equal(one.saves, 0);

    await new Promise((resolve) => setTimeout(resolve, 250));

    assert.equal(one.saves, 1);
    assert.deepEqual(one.get(), { k: 9 });
});

test("the end writes what waits, and hears nothing more", () => {
    const one = model({});
    const state = makeState(one, () => {});
    state.set("k", 1);

    state.close();
    state.close();

    assert.equal(one.saves, 1);
    assert.equal(one.hearers.size, 0);
});

test("a change from elsewhere is told, an echo is not", () => {
    const one = model({ k: 1 });
    let told = 0;
    const state = makeState(one, () => (told += 1));

    one.set("state", { k: 1 });
    assert.equal(told, 0);
    one.set("state", { k: 2 });
    assert.equal(told, 1);
    assert.equal(state.get("k", 0), 2);
});

test("a part has names of its own", () => {
    const whole = makeState(model({}), () => {});
    part(whole, "graph").set("zoom", 3);

    assert.equal(whole.get("graph.zoom", 0), 3);
    assert.equal(part(whole, "graph").get("zoom", 0), 3);
    assert.equal(part(whole, "tape").get("zoom", 0), 0);
    whole.close();
});

test("the late echo of an earlier save does not undo what was set since", () => {
    const one = model({});
    const state = makeState(one, () => assert.fail("nobody else changed it"));
    state.set("step", 1);
    state.set("step", 2);

    one.set("state", { step: 1 });

    assert.equal(state.get("step", 0), 2);
    assert.deepEqual(one.get(), { step: 2 });
    state.close();
});

test("what counts rows or steps is a whole number, whatever an address says", () => {
    const state = makeState(model({ time: 1.5 }), () => {});

    assert.equal(state.get("time", 0), 2);
});
