/** Roofline: where dots stand, from which kernel each operator's dot comes, and which roofs are named. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { scale } from "../src/chart.js";
import {
    axes, backwards, between, journey, lesserRoofs, placesOf, row, sectionOf, shortened,
} from "../src/views/roofline/model.js"; // prettier-ignore

const MACHINE = {
    bandwidth: 1e10, flops: 1e11, threads: 2, cpu: "", product_flops_per_second: 0, one_thread_flops_per_second: 0,
}; // prettier-ignore

function kernel(name, nodes, ms, bytes, flops) {
    const [intensity, speed] = [flops / bytes, flops / (ms / 1e3)];
    return {
        key: name, name, nodes, ms, times: 1, bytes, flops, has_place: true, intensity, speed, bound: "memory",
        share: 0.5, sentence: "",
    }; // prettier-ignore
}

const FUSED = [kernel("a_b", [1, 2], 1, 1000, 200), kernel("c", [3], 4, 1000, 1000)];
const ALONE = [kernel("a", [1], 2, 2000, 100), kernel("b", [2], 2, 2000, 100), kernel("c", [3], 4, 1000, 1000)];

function places(kernels) {
    const [x, y] = axes({ machine: MACHINE, ways: { fused: FUSED, unfused: ALONE } });
    return placesOf(kernels, { x: scale(x, 0, 1000), y: scale(y, 500, 0) });
}

test("the axes hold all kernels of both ways, and the corner of the roofs", () => {
    const [x, y] = axes({ machine: MACHINE, ways: { fused: FUSED, unfused: ALONE } });

    for (const one of [...FUSED, ...ALONE]) {
        assert.ok(x.from * 1.25 <= one.intensity && one.intensity * 1.25 <= x.to, "room for a large dot beside it");
        assert.ok(y.from * 2 <= one.speed && one.speed * 2 <= y.to, "and below it");
    }
    assert.ok(x.from < 10 && 10 < x.to && y.to > 1e11);
});

test("the area of a dot is its time, and none is too small to hit", () => {
    const [longest, shorter] = places(FUSED);

    assert.equal(longest.kernel.name, "c");
    assert.ok(Math.abs((shorter.r / longest.r) ** 2 - 1 / 4) < 1e-9);
    assert.equal(places([kernel("x", [], 1e-6, 10, 10), kernel("y", [], 100, 10, 10)])[1].r, 4);
});

test("a kernel that is not drawn has no place", () => {
    assert.equal(places([{ ...FUSED[0], has_place: false }]).length, 0);
});

test("each operator's dot comes from the kernel that it was fused into", () => {
    const moves = journey(places(FUSED), places(ALONE));

    const names = moves.map(({ place, from }) => [place.kernel.name, from.kernel.name]);
    assert.deepEqual(names, [["c", "c"], ["a", "a_b"], ["b", "a_b"]]);
});

test("the way back ends where the way there began", () => {
    const [there] = journey(places(FUSED), places(ALONE)).slice(1);
    const back = backwards(there);

    assert.deepEqual([back.place.x, back.place.y], [there.from.x, there.from.y]);
    assert.equal(back.from, there.place);
    assert.equal(between(there.from, there.place, 1).x, there.place.x);
    assert.equal(between(there.from, there.place, 0).x, there.from.x);
});

test("roofs next to each other are one, and those near the peak are none", () => {
    const roofs = (product_flops_per_second, one_thread_flops_per_second) =>
        lesserRoofs({ ...MACHINE, product_flops_per_second, one_thread_flops_per_second });

    assert.deepEqual(roofs(5e10, 1e10), [["matrix product", 5e10], ["one thread", 1e10]]);
    assert.deepEqual(roofs(5e10, 4.9e10), [["matrix product, one thread about", 5e10]]);
    assert.deepEqual(roofs(9e10, 9e10), []);
});

test("a row of the table has the numbers, and blanks where there is none", () => {
    assert.deepEqual(row(FUSED[0]), ["a_b", 1, 1, 1000, 200, 0.2, 200000, ""]);
    assert.deepEqual(row({ ...FUSED[0], intensity: null, speed: null }).slice(5, 7), ["", ""]);
});

test("a long name is cut", () => {
    assert.equal(shortened("a".repeat(26)).length, 26);
    assert.equal(shortened("a".repeat(27)), `${"a".repeat(25)}…`);
});

test("a page without a roofline is refused in words", () => {
    assert.throws(() => sectionOf({}), /jt_widgets.roofline/);
});
