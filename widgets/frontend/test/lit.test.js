/** Lit: nodes come before keys, since kernels of the same source share one; one's own selections are known. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeBus } from "../src/bus.js";
import { listen, names, placeOf } from "../src/lit.js";

const TWINS = [
    { key: "a", nodes: [1, 2] }, { key: "b", nodes: [3] }, { key: "a", nodes: [4, 5] }, { key: "c", nodes: [3, 6] },
];

test("of two kernels with one source the selected node names one", () => {
    const selection = { nodes: [4], kernel: "a" };

    assert.deepEqual(TWINS.map((one) => names(selection, one)), [false, false, true, false]);
    assert.equal(placeOf(selection, TWINS), 2);
});

test("without nodes the key names all that have it, and the first is shown", () => {
    assert.deepEqual(TWINS.map((one) => names({ nodes: [], kernel: "a" }, one)), [true, false, true, false]);
    assert.equal(placeOf({ nodes: [], kernel: "a" }, TWINS), 0);
});

test("of kernels that compute the same node the one with the selected key is shown", () => {
    assert.equal(placeOf({ nodes: [3], kernel: "c" }, TWINS), 3);
    assert.equal(placeOf({ nodes: [3], kernel: null }, TWINS), 1);
});

test("a selection of nothing, or of a node that no kernel computes, names none", () => {
    assert.equal(placeOf({ nodes: [], kernel: null }, TWINS), -1);
    assert.equal(placeOf({ nodes: [99], kernel: "a" }, TWINS), -1);
    assert.equal(names({ nodes: [], kernel: null }, undefined), false);
});

test("panes that share an end of the bus know their own selections", () => {
    const bus = makeBus("outer", "lit");
    const heard = [];
    const one = listen({ bus, uid: "one" }, (selection, own) => heard.push(["one", own]));
    const two = listen({ bus, uid: "two" }, (selection, own) => heard.push(["two", own]));

    one.select({ nodes: [1] });
    one.off();
    two.select({ nodes: [2] });

    assert.deepEqual(heard, [["one", true], ["two", false], ["two", true]]);
});
