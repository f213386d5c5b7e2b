// Document: are these bytes a page, and what does it hold?
//
//     decode(document, blocks) -> Page        or an Error whose message can be shown
//
// Bytes come from a kernel, a saved notebook or a file that a stranger sent, so that everything a view relies on is
// looked at here: packing, size, format, version, types, and that every id exists. Nothing here draws.

/** @import { Graph, Kernel, Node, Page } from "./types.js" */

import { grouped } from "./numbers.js";

export const FORMAT = "jt_edu.page";
export const VERSION = 1;
export const MOST_BYTES = 64e6; // unpacked; a small file can unpack to anything
export const MOST_NODES = 20_000;

/** What is written where, and of which type: a trailing "?" for what may be null or absent. */
const NODE = {
    id: "number", op: "string", kind: "string", shape: ["number"], dtype: "string", inputs: ["number"],
    name: "string", where: "string", held: "boolean", value: "string", label: "string", gradient: "boolean",
    kernel: "number?", stored: "boolean", twin: "number?", module: "string?",
};
const EDGE = { source: "number", target: "number", fused: "boolean", rule: "string", reason: "string" };
const LINE = { number: "number", node: "number", op: "string", where: "string" };
const KERNEL = {
    id: "number", key: "string", name: "string", kind: "string", loops: "string", source: "string", lines: [LINE],
    classes: ["object"], nodes: ["number"], stored: ["number"], reads: ["number"], bytes: "number", flops: "number",
    calls: ["string"], backend: "string", ran: "boolean", compiled: "boolean?", compile_ms: "number?", ms: "number?",
    edited: "boolean",
};
const PASS = {
    name: "string", why: "string", groups: "object", kernels: "number", bytes: "number", temporaries: "number",
    temporary_bytes: "number",
};
const EVENT = { action: "string", node: "number", bytes: "number", alive: "number", kernel: "number?" };
const GRAPH = {
    nodes: [NODE], kernels: [{ id: "number", name: "string", nodes: ["number"] }], edges: [EDGE], outputs: ["number"],
};
const PAGE = {
    summary: "string", notes: ["string"], graph: GRAPH, kernels: [KERNEL], passes: [PASS], values: "object",
    memory: [EVENT], peak: "number", predicted_peak: "number", machine: "object?",
};
const EMPTY = { notes: [], kernels: [], passes: [], values: {}, memory: [], peak: 0, predicted_peak: 0, machine: null };
const VALUE = { shape: ["number"], block: ["number"], exact: "boolean", count: "number", dtype: "string" };

/**
 * Unpack and check.
 * @param {Uint8Array} document gzip of UTF-8 JSON
 * @param {Uint8Array} blocks gzip of little-endian 32-bit floats
 * @returns {Promise<Page>}
 */
export async function decode(document, blocks) {
    const [text, numbers] = await Promise.all([unpack(document), unpack(blocks)]);
    return check(parse(text), floats(numbers));
}

/**
 * Check a document that is unpacked already, and complete it.
 * @param {unknown} document
 * @param {Float32Array} blocks
 * @returns {Page}
 */
export function check(document, blocks) {
    const given = /** @type {Page & {format: unknown, version: unknown}} */ (document);
    if (typeof given !== "object" || given === null || given.format !== FORMAT) throw foreign(given?.format);
    if (given.version !== VERSION) throw otherVersion(given.version);
    const nodes = given.graph?.nodes?.length;
    if (nodes > MOST_NODES) throw tooMany(nodes);
    const page = { ...EMPTY, ...given };
    fit(page, PAGE, "document");
    for (const [id, value] of Object.entries(page.values)) fit(value, VALUE, `values.${id}`);
    return complete(page, blocks);
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
async function unpack(bytes) {
    if (!bytes.length) return bytes;
    const stream = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]).stream();
    const reader = stream.pipeThrough(new DecompressionStream("gzip")).getReader();
    const parts = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read().catch(() => Promise.reject(broken()));
        if (done) return joined(parts, size);
        parts.push(value);
        size += value.length;
        if (size > MOST_BYTES) {
            void reader.cancel().catch(() => undefined);
            throw new Error(`This page unpacks to more than ${MOST_BYTES / 1e6} MB. Record a part of it.`);
        }
    }
}

/**
 * @param {Uint8Array[]} parts
 * @param {number} size
 * @returns {Uint8Array}
 */
function joined(parts, size) {
    const whole = new Uint8Array(size);
    let at = 0;
    for (const one of parts) {
        whole.set(one, at);
        at += one.length;
    }
    return whole;
}

/**
 * @param {Uint8Array} bytes
 * @returns {unknown}
 */
function parse(bytes) {
    if (!bytes.length) throw new Error("This page is empty. Run the cell that made it again.");
    try {
        return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
        throw new Error("This page is no JSON document. Run the cell that made it again, or save it again.");
    }
}

/**
 * @param {Uint8Array} bytes little-endian, as every machine is that runs a browser
 * @returns {Float32Array}
 */
function floats(bytes) {
    return new Float32Array(bytes.slice(0, bytes.length - (bytes.length % 4)).buffer);
}

/**
 * Throw where a value is not what the plan says.
 * @param {any} value
 * @param {any} plan a type's name, a list with the plan of its items, or a plan for each key
 * @param {string} where
 */
function fit(value, plan, where) {
    if (typeof plan === "string") {
        const absent = plan.endsWith("?") && (value === null || value === undefined);
        if (!absent && (value === null || typeof value !== plan.replace("?", ""))) throw wrong(where, plan, value);
    } else if (Array.isArray(plan)) {
        if (!Array.isArray(value)) throw wrong(where, "list", value);
        value.forEach((item, place) => fit(item, plan[0], `${where}[${place}]`));
    } else {
        if (value === null || typeof value !== "object") throw wrong(where, "dict", value);
        for (const key of Object.keys(plan)) fit(value[key], plan[key], `${where}.${key}`);
    }
}

/**
 * Refuse ids that lead nowhere, and add the look-ups.
 * @param {Page} page
 * @param {Float32Array} blocks
 * @returns {Page}
 */
function complete(page, blocks) {
    for (const node of page.graph.nodes) Object.assign(node, outsideOfModules(node));
    const nodes = new Map(page.graph.nodes.map((node) => [node.id, node]));
    refuseLooseEnds(page, nodes, blocks);
    return Object.assign(page, {
        blocks,
        nodes,
        users: usersOf(page.graph),
        computedBy: computedBy(page.kernels),
        byKey: new Map(page.kernels.map((kernel) => [kernel.key, kernel])),
        numbers(/** @type {number} */ id) {
            const block = page.values[id]?.block;
            return block ? blocks.subarray(block[0], block[0] + block[1]) : null;
        },
    });
}

/**
 * What `jt.document` leaves out where no module is.
 * @param {Node} node
 * @returns {Partial<Node>}
 */
function outsideOfModules(node) {
    const modules = Array.isArray(node.modules) ? node.modules : [];
    return { module: node.module ?? "", modules, twin: node.twin ?? null };
}

/**
 * @param {Page} page
 * @param {Map<number, Node>} nodes
 * @param {Float32Array} blocks
 */
function refuseLooseEnds(page, nodes, blocks) {
    const { graph } = page;
    const named = [
        ...graph.outputs,
        ...graph.nodes.flatMap((node) => node.inputs),
        ...graph.edges.flatMap((edge) => [edge.source, edge.target]),
        ...graph.kernels.flatMap((kernel) => kernel.nodes),
    ];
    const lost = named.find((id) => !nodes.has(id));
    if (lost !== undefined) throw new Error(`This page is damaged: it names node #${lost}, which it does not hold.`);
    for (const [id, { block }] of Object.entries(page.values)) {
        if (block.length !== 2 || block[0] < 0 || block[0] + block[1] > blocks.length) {
            throw new Error(`This page is damaged: the numbers of node #${id} are missing.`);
        }
    }
}

/**
 * @param {Graph} graph
 * @returns {Map<number, number[]>}
 */
function usersOf(graph) {
    /** @type {Map<number, number[]>} */
    const users = new Map(graph.nodes.map((node) => [node.id, []]));
    for (const node of graph.nodes) for (const input of new Set(node.inputs)) users.get(input)?.push(node.id);
    return users;
}

/**
 * @param {Kernel[]} kernels
 * @returns {Map<number, Kernel[]>}
 */
function computedBy(kernels) {
    /** @type {Map<number, Kernel[]>} */
    const found = new Map();
    for (const kernel of kernels) {
        for (const id of kernel.nodes) found.set(id, [...(found.get(id) ?? []), kernel]);
    }
    return found;
}

/** @returns {Error} */
function broken() {
    return new Error("This page is damaged or cut off: it cannot be unpacked. Save it again, or run its cell again.");
}

/**
 * @param {unknown} format
 * @returns {Error}
 */
function foreign(format) {
    const found = JSON.stringify(format) ?? "missing";
    return new Error(`This is no page of jt_edu: its format is ${found}, not "${FORMAT}".`);
}

/**
 * @param {unknown} version
 * @returns {Error}
 */
function otherVersion(version) {
    const found = JSON.stringify(version) ?? "missing";
    return new Error(
        `This page has version ${found}; this jt_edu reads version ${VERSION}. ` +
            "Record it again with the jt_edu that is installed here.",
    );
}

/**
 * @param {number} nodes
 * @returns {Error}
 */
function tooMany(nodes) {
    return new Error(
        `This graph has ${grouped(nodes)} nodes; a view draws at most ${grouped(MOST_NODES)}. ` +
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
    return new Error(`This page is damaged: ${where} should be a ${wanted.replace("?", "")}, and is ${shown}.`);
}
