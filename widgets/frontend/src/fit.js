// Fit: is a document what types.d.ts says, and small enough to be drawn?
//
//     fit(page)      throws an Error whose message can be shown, and names the place
//
// A plan is a type's name, a list with the plan of its items, or a plan for each key; "*" stands for every key. A "?"
// allows null or nothing. An "id" is a node of this page; other numbers that name nodes (twins, freed arrays, what a
// kernel reads) may lead out of it, and views look them up before they use them. Nothing here draws.

/** @typedef {string | any[] | {[key: string]: any}} Plan */

import { grouped } from "./numbers.js";

/** How many of a kind a view can draw; of the rest, a million. @type {Record<string, number>} */
export const MOST = {
    nodes: 20_000, kernels: 5_000, edges: 100_000, inputs: 5_000, passes: 50, steps: 50_000, codes: 4e6, numbers: 4e6,
    memory: 100_000, arrays: 20_000, cells: 20_000,
};

/** @type {Record<string, (value: any) => boolean>} */
const TYPES = {
    number: (value) => typeof value === "number" && Math.abs(value) < 1e18, // no picture holds a larger one
    string: (value) => typeof value === "string",
    boolean: (value) => typeof value === "boolean",
    list: Array.isArray,
    pair: (value) => value?.length === 2 && [0, 1].every((k) => Number.isInteger(value[k]) && value[k] >= 0),
    figure: (value) => typeof value === "number" || value === null || /^(nan|-?inf)$/.test(value),
    cell: (value) => Object(value) !== value, // a number, or words for what has no number of its own
    whole: (value) => Number.isSafeInteger(value) && value >= 0,
    id: Number.isFinite, // and then that it is there
};

const NODE = of({
    number: "id kernel? twin? shape[]", string: "op kind dtype name where value label module? reducer? modules[]?",
    boolean: "held gradient stored view?", id: "inputs[]",
});
const GRAPH = {
    nodes: [NODE], kernels: [of({ number: "id", string: "name", id: "nodes[]" })], outputs: ["id"],
    edges: [of({ id: "source target", boolean: "fused", string: "rule reason" })],
};
const KERNEL = {
    ...of({
        number: "id bytes flops compile_ms? ms? runs? nodes[] stored[] reads[]", boolean: "ran compiled? edited",
        string: "key name kind loops source backend calls[]", list: "classes[]",
    }),
    lines: [of({ number: "number node", string: "op where" })],
};
const TAPE = {
    ...of({ number: "rows kernel_alive[]" }),
    steps: [of({
        id: "node", number: "row bytes alive until twin? kernel? inputs[] through[]", string: "op phase rule[]?",
    })],
    groups: [of({ string: "label", number: "from to" })], passing: [of({ number: "node row" })],
    kept: [of({ number: "node step until bytes" })], leaves: [of({ number: "node gradient", string: "name" })],
    peak: of({ number: "step bytes" }), rules: { "*": ["string"] },
};
const LOOPS = {
    ...of({ number: "codes[]", string: "source key names[] note? error?", list: "classes[]", cell: "numbers[]" }),
    lines: ["pair"],
    arrays: [of({ string: "name role dtype", number: "node shape[]", pair: "corner size block" })],
};
const PLANES = of({ whole: "shape[]", figure: "values[]" });
const WINDOW = {
    ...of({ string: "reducer", whole: "stride[] padding[] dilation[] out[]", number: "points[]" }), image: PLANES,
};
const ROW = of({ number: "step epoch ms", figure: "loss lr gradient[] ratio[] dead[]", boolean: "spike" });
const TRAIN = {
    ...of({ string: "modules[] units[] spike dead" }), rows: [ROW],
    checks: [of({ number: "step", figure: "loss accuracy" })],
    status: of({ number: "done planned? left_ms? kept_bytes thinned kept[]", boolean: "running paused" }),
};
const LIFETIMES = {
    ...of({ number: "peak peak_kernel? predicted_peak height alive[] starts[]" }),
    arrays: [{
        ...of({ number: "node bytes from to offset reads[]", boolean: "stays", string: "why" }),
        keepers: [of({ string: "why text", number: "kernel?" })],
    }],
};
const ROOF = [of({
    string: "key name bound sentence", number: "nodes[] times bytes flops ms intensity? speed? share?",
    boolean: "has_place",
})];
const RANKS = {
    ...of({ string: "policy failure texts[]", number: "size duration circle[]", list: "order" }),
    network: { "*": "number" }, calls: { "*": "list" }, messages: { "*": "list" }, work: { "*": "list" },
    waits: [of({ string: "words line", number: "rank peers[]" })],
    curves: [{
        ...of({ string: "name", number: "bytes" }), lines: [{ name: "string", points: [["number"]] }],
        measured: [of({ string: "name", number: "size nanos" })],
    }],
};
const ASKED = [of({ string: "where text", list: "classes[]", id: "nodes[]" })];
const PARTS = {
    asked: ASKED,
    tape: TAPE, loops: LOOPS, train: TRAIN, lifetimes: LIFETIMES, code: { edits: {}, machine: {} },
    ranks: RANKS, roofline: { ways: { fused: ROOF }, machine: of({ number: "bandwidth flops" }) },
};
const PAGE = {
    ...of({ string: "summary notes[] about[]", number: "peak predicted_peak" }),
    graph: GRAPH, kernels: [KERNEL],
    passes: [{
        ...of({ string: "name why", number: "kernels bytes temporaries temporary_bytes" }), groups: { "*": "number?" },
    }],
    values: { "*": of({
        pair: "shape block", boolean: "exact", number: "count nan? inf? zero?", string: "dtype", figure: "min mean max",
    }) },
    memory: [of({ string: "action", number: "node bytes alive kernel?" })],
};

/**
 * Throw where a page is not what its views rely on.
 * @param {any} page
 */
export function fit(page) {
    const nodes = page.graph?.nodes;
    const ids = new Set(Array.isArray(nodes) ? nodes.map((node) => node?.id) : []);
    const parts = Object.entries(PARTS).filter(([name]) => page[name] !== undefined && page[name] !== null);
    look(page, { ...PAGE, ...Object.fromEntries(parts) }, "document", ids);
    if (page.tape) {
        const ends = page.tape.groups.map((/** @type {{to: number}} */ group) => group.to);
        const most = [page.tape.rows, ...ends].reduce((a, b) => Math.max(a, b));
        if (most > MOST.nodes) throw tooMany(most, "rows in its tape", MOST.nodes);
    }
    if (page.loops) walk(page.loops);
    const sliding = page.loops?.window;
    if (sliding) {
        look(sliding, sliding.weights ? { ...WINDOW, weights: PLANES } : WINDOW, "document.loops.window", ids);
        slide(sliding);
    }
    const other = page.roofline?.ways.unfused;
    if (other) look(other, ROOF, "document.roofline.ways.unfused", ids);
    if (page.lifetimes?.unfused) look(page.lifetimes.unfused, LIFETIMES, "document.lifetimes.unfused", ids);
}

/**
 * @param {any} value
 * @param {Plan} plan
 * @param {string} where
 * @param {Set<number>} ids
 */
function look(value, plan, where, ids) {
    if (typeof plan === "string") one(value, plan, where, ids);
    else if (Array.isArray(plan)) {
        if (!Array.isArray(value)) throw wrong(where, "list", value);
        const name = where.slice(where.lastIndexOf(".") + 1);
        if (value.length > (MOST[name] ?? 1e6)) throw tooMany(value.length, name, MOST[name] ?? 1e6);
        value.forEach((item, place) => look(item, plan[0], `${where}[${place}]`, ids));
    } else {
        if (value === null || typeof value !== "object") throw wrong(where, "dict", value);
        const keys = Object.keys("*" in plan ? value : plan);
        for (const key of keys) look(value[key], plan["*"] ?? plan[key], `${where}.${key}`, ids);
    }
}

/**
 * @param {any} value
 * @param {string} plan
 * @param {string} where
 * @param {Set<number>} ids
 */
function one(value, plan, where, ids) {
    const type = plan.replace("?", "");
    if (type !== plan && (value === null || value === undefined)) return;
    if (!TYPES[type](value)) throw wrong(where, type === "id" ? "number" : type, value);
    if (type === "id" && !ids.has(value)) {
        throw new Error(`This page is damaged: it names node #${value}, which it does not hold.`);
    }
}

/**
 * The steps of a kernel are one flat list, with counts in it: it has to come out even.
 * @param {{codes: number[], numbers: unknown[], names: string[], arrays: unknown[]}} loops
 */
function walk({ codes, numbers, names, arrays }) {
    let [at, values, even] = [0, 0, true];
    /** @param {number} width of an entry @param {number} most what its first number stays below */
    const take = (width, most) => {
        const many = codes[at];
        const end = at + 1 + width * many;
        if (!(many >= 0 && end <= codes.length)) return false;
        for (let k = at + 1; k < end; k += width) if (!(codes[k] >= 0 && codes[k] < most)) return false;
        [at, values] = [end, values + many];
        return true;
    };
    while (even && at < codes.length) {
        at += 1; // over the line
        even = take(2, 2 * arrays.length) && take(1, names.length);
    }
    if (!even || values !== numbers.length) {
        throw new Error("This page is damaged: the steps of its kernel do not come out even. Record it again.");
    }
}

/**
 * A window is drawn as tables with a cell for each number: planes have the numbers that they name, and cells are few.
 * @param {{image: any, weights: any, out: number[], padding: number[], points: number[]}} window
 */
function slide({ image, weights, out, padding, points }) {
    const area = (/** @type {number[]} */ sides) => sides.reduce((a, b) => a * b, 1);
    const planes = [image, weights].filter(Boolean);
    const even = planes.every(({ shape, values }) => shape.length === 3 && area(shape) === values.length);
    if (!even || out.length < 2 || padding.length !== 2) {
        throw new Error("This page is damaged: the sizes of its window do not fit its numbers. Record it again.");
    }
    let [, high, wide] = image.shape;
    for (let k = 0; k + 4 < points.length; k += 5) {
        [high, wide] = [Math.max(high, points[k + 2] + 1), Math.max(wide, points[k + 3] + 1)];
    }
    const most = Math.max(area(out), (padding[0] + high) * (padding[1] + wide));
    if (most > MOST.cells) throw tooMany(most, "cells in its window", MOST.cells);
}

/**
 * The plan of a dict: names of its keys by type; "[]" for a list of it, "?" for what may be null or absent.
 * @param {Record<string, string>} names
 * @returns {Record<string, Plan>}
 */
function of(names) {
    const pairs = Object.entries(names).flatMap(([type, keys]) => keys.split(" ").map((key) => {
        const plan = type + (key.endsWith("?") && !key.includes("[]") ? "?" : "");
        const list = key.endsWith("[]?") ? "list?" : [plan];
        return [key.replace(/\W/g, ""), key.includes("[]") ? list : plan];
    }));
    return Object.fromEntries(pairs);
}

/**
 * @param {number} found
 * @param {string} what
 * @param {number} most
 * @returns {Error}
 */
function tooMany(found, what, most) {
    const holder = what === "nodes" || what === "edges" ? "This graph" : "This page";
    return new Error(
        `${holder} has ${grouped(found)} ${what}; a view draws at most ${grouped(most)}. ` +
            "Record a part of it: one block, or one step.",
    );
}

/**
 * @param {string} where
 * @param {string} wanted
 * @param {unknown} found
 * @returns {Error}
 */
function wrong(where, wanted, found) {
    const shown = (JSON.stringify(found) ?? "nothing").slice(0, 60);
    const named = { pair: "list of two whole numbers", figure: "number", cell: "number", whole: "whole number" };
    const words = /** @type {Record<string, string>} */ (named)[wanted] ?? wanted;
    return new Error(`This page is damaged: ${where} should be a ${words}, and is ${shown}.`);
}
