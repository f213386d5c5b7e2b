/** View: what is open, what is folded, where it is found; strange documents give a clear error or a picture. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { compose } from "../src/graph/scene.js";
import { pathTo, view } from "../src/graph/view.js";
import { network, training } from "./graphs.js";

const NETWORK = network(16);
const OUTER = ["m:Net", "m:Net/layer1", "g:Net", "g:Net/layer4"];

test("at first as much is open as one can look at", () => {
    const seen = view(NETWORK, { group: "module" });

    assert.ok(seen.cards.size > 5 && seen.cards.size <= 60, `${seen.cards.size} cards`);
    assert.match(seen.notes[0], /^Showing [\d,]+ of 1,\d{3} nodes; the others are in \d+ closed boxes\.$/);
});

test("neighbours that look the same are one box that opens", () => {
    const closed = view(NETWORK, { group: "module", open: OUTER });
    const opened = view(NETWORK, { group: "module", open: [...OUTER, "r:m:Net/layer1/0"] });
    const never = view(NETWORK, { group: "module", open: OUTER, fold: false });

    assert.equal(closed.cards.get("r:m:Net/layer1/0").name, "BasicBlock × 4");
    assert.ok(opened.cards.has("m:Net/layer1/3"));
    assert.ok(never.cards.has("m:Net/layer1/3"));
});

test("opening and closing again changes nothing, and what was there keeps its order", () => {
    const before = view(NETWORK, { group: "module", open: OUTER });
    const between = view(NETWORK, { group: "module", open: [...OUTER, "m:Net/layer2"] });
    const after = view(NETWORK, { group: "module", open: OUTER });
    const kept = [...before.cards.keys()].filter((key) => between.cards.has(key));

    assert.deepEqual(places(after), places(before));
    assert.deepEqual([...between.cards.keys()].filter((key) => before.cards.has(key)), kept);
});

function places(seen) {
    return compose(seen).cards.map(({ card, x, y }) => [card.id, x, y]);
}

test("the way to a node opens it", () => {
    const seen = view(NETWORK, { group: "module", open: [] });
    const node = NETWORK.nodes.find(({ module }) => module === "Net/layer3/2/bn1").id;
    const way = pathTo(seen, node);

    assert.deepEqual(way, ["m:Net", "m:Net/layer3", "r:m:Net/layer3/0", "m:Net/layer3/2", "m:Net/layer3/2/bn1"]);
    assert.ok(!seen.cards.has(node));
    assert.ok(view(NETWORK, { group: "module", open: way }).cards.has(node));
    assert.equal(seen.shows.get(node), "m:Net");
});

test("a graph without modules is cut into parts that open", () => {
    const large = training(5000);
    const seen = view(large, { group: "module" });
    const everything = view(large, { group: "module", open: seen.groups.keys(), most: Infinity });

    assert.ok(seen.cards.size <= 150);
    assert.ok(everything.cards.size > 4500);
});

test("words are made only when somebody looks, and are the same", () => {
    const [line] = view(NETWORK, { group: "module", open: ["m:Net"] }).lines;

    assert.equal(line.tip, "x → layer1 · (8, 3, 32, 32) float32 · 98.3 kB");
});

const STRANGE = {
    "circles and unknown inputs": { id: 1, op: "f", inputs: [1, 2, 999, null, {}], module: "a/".repeat(5000) },
    "no lists": { id: 1, op: "f", inputs: null, shape: "no", module: "x".repeat(1_000_000), modules: [null] },
    "an id like a box": { id: "m:A", op: "f", inputs: ["m:A"], module: "A", shape: [1e300, -1, true] },
    "no texts": { id: -1, op: null, kind: ["?"], name: 7, where: 1.5, module: "A//B/", kernel: 3 },
    "names of objects": { id: "__proto__", op: "constructor", kind: "toString", inputs: [0], module: "__proto__" },
    "half a letter": { id: "\ud800", op: "\ud800".repeat(50), name: "\u202egnp.exe", inputs: [0] },
};

for (const [name, node] of Object.entries(STRANGE)) {
    test(`a strange node is drawn all the same: ${name}`, () => {
        const first = { id: 0, op: "g", inputs: [1, "m:A"], module: "A" };
        const nodes = [first, node, { id: 2, op: "h", inputs: [node.id] }];
        for (const group of ["module", "kernel", "none"]) {
            assert.ok(compose(view({ nodes }, { group, shapes: true })).cards.length);
        }
    });
}

test("a node without an id is refused in words", () => {
    assert.throws(() => view({ nodes: [{ op: "f" }] }), /^Error: Every node of a graph document has an id/);
    assert.throws(() => view({ nodes: [null] }), /^Error: Every node of a graph document has an id/);
});

for (const group of ["module", "kernel", "none"]) {
    test(`a hundred thousand nodes are cut: ${group}`, () => {
        const nodes = Array.from({ length: 100_000 }, (_, id) => ({
            id, op: "f", inputs: [id - 1, id >> 1], module: `A/${id % 7}`, where: `line ${id % 5}`,
        }));

        assert.ok(compose(view({ nodes }, { group })).cards.length <= 400);
    });
}
