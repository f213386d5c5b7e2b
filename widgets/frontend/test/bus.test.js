// The bus: everyone of one session hears of every selection.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isEmpty, makeBus, newUid } from "../src/bus.js";

const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a selection reaches everyone, the one who made it too, and names its maker", () => {
    const [one, two, heard] = [makeBus("a", "s1"), makeBus("b", "s1"), []];
    one.on((selection) => heard.push(["one", selection]));
    two.on((selection) => heard.push(["two", selection]));

    one.select({ nodes: [3] });

    const whole = { nodes: [3], kernel: null, line: null, time: null, rank: null, from: "a" };
    assert.deepEqual(heard, [["one", whole], ["two", whole]]);
    assert.deepEqual(two.current(), whole);
});

test("another session hears nothing", () => {
    const heard = [];
    makeBus("c", "s3").on((selection) => heard.push(selection));

    makeBus("d", "s2").select({ nodes: [1] });

    assert.deepEqual(heard, []);
});

test("who comes later hears of what is selected, unless it left before", async () => {
    const heard = [];
    makeBus("e", "s4").select({ kernel: "k" });
    makeBus("f", "s4").on((selection) => heard.push(selection.kernel));
    makeBus("g", "s4").on(() => heard.push("gone"))();

    await soon();

    assert.deepEqual(heard, ["k"]);
});

test("who left hears nothing more", () => {
    const [bus, heard] = [makeBus("h", "s5"), []];
    const off = bus.on((selection) => heard.push(selection.line));
    bus.select({ line: 1 });
    off();

    bus.select({ line: 2 });

    assert.deepEqual(heard, [1]);
});

test("another copy of the module speaks on the same bus", async () => {
    const copy = await import("../src/bus.js?again");
    const heard = [];
    copy.makeBus("i", "s6").on((selection) => heard.push(selection.time));

    makeBus("j", "s6").select({ time: 7 });

    assert.deepEqual(heard, [7]);
    assert.notEqual(copy.newUid(), newUid());
});

test("a selection that names nothing is empty", () => {
    const bus = makeBus("k", "s7");
    assert.ok(isEmpty(bus.current()));
    bus.select({ time: 0 });
    assert.ok(!isEmpty(bus.current()));
});
