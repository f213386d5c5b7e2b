// Document: are these bytes a page, and what does it hold?
//
//     decode(document, blocks) -> Page        or an Error whose message can be shown
//
// Bytes come from a kernel, a saved notebook or a file that a stranger sent, so that everything a view relies on is
// looked at before they see it: packing, size, format and version here, types, ids and lengths in fit.js. Nothing here
// draws.

/** @import { Graph, Page } from "./types.js" */

import { fit } from "./fit.js";

const FORMAT = "jt_edu.page";
const VERSION = 1;
export const MOST_BYTES = 64e6; // unpacked; a small file can unpack to anything

const EMPTY = { notes: [], about: [], kernels: [], passes: [], values: {}, memory: [], peak: 0, predicted_peak: 0 };

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
 * The bytes of a text in base64.
 * @param {unknown} text
 * @returns {Uint8Array}
 */
export function fromBase64(text) {
    try {
        return Uint8Array.from(atob(`${text}`.trim()), (letter) => letter.charCodeAt(0));
    } catch {
        return Uint8Array.of(0); // which cannot be unpacked, and that is what the view says
    }
}

/**
 * Check a document that is unpacked already, and complete it.
 * @param {unknown} document
 * @param {Float32Array} blocks
 * @returns {Page}
 */
export function check(document, blocks) {
    const given = /** @type {Page & {format: unknown, version: unknown}} */ (document);
    if (typeof given !== "object" || given === null || given.format !== FORMAT) throw foreign(said(given?.format));
    if (given.version !== VERSION) throw otherVersion(said(given.version));
    const page = { ...EMPTY, ...given };
    fit(page);
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
 * Refuse numbers that are not there, and add the look-ups.
 * @param {Page} page
 * @param {Float32Array} blocks
 * @returns {Page}
 */
function complete(page, blocks) {
    for (const [id, { shape, block }] of Object.entries(page.values)) {
        if (shape[0] * shape[1] !== block[1] || block[0] + block[1] > blocks.length) {
            throw new Error(`This page is damaged: the numbers of node #${id} are missing.`);
        }
    }
    return Object.assign(page, {
        blocks,
        nodes: new Map(page.graph.nodes.map((node) => [node.id, node])),
        users: usersOf(page.graph),
    });
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

/** @returns {Error} */
function broken() {
    return new Error("This page is damaged or cut off: it cannot be unpacked. Save it again, or run its cell again.");
}

/** @param {unknown} value */
function said(value) {
    return JSON.stringify(value) ?? "missing";
}

/**
 * @param {string} found
 * @returns {Error}
 */
function foreign(found) {
    return new Error(`This is no page of jt_edu: its format is ${found}, not "${FORMAT}".`);
}

/**
 * @param {string} found
 * @returns {Error}
 */
function otherVersion(found) {
    return new Error(
        `This page has version ${found}; this jt_edu reads version ${VERSION}. ` +
            "Record it again with the jt_edu that is installed here.",
    );
}
