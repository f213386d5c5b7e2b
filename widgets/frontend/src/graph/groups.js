/**
 * Groups: which nodes stand together in a box that can be opened and closed?
 *
 *     module    Net, in it Net/body, in it Net/body/0: as modules hold each other; gradients have boxes of their own
 *     line      what no module built, by the learner's line, where there is much of it
 *     kernel    what one kernel computes
 *     repeat    neighbours that look the same inside: Block × 12
 *     part      a stretch of what is still too long to look at
 *     input     what only makes what goes in: random numbers, constants, data that is cast
 *
 * No box waits for itself by way of others: a module that is called again after something else gets a box for each
 * call. The same boxes as in jt_edu/draw/clusters.py. Nothing here knows cards or pixels.
 */

import { Group, MANY, free, gather, inputBox } from "./group.js";
import { Modules } from "./modules.js";
import { clean } from "./text.js";

const SMALL = 24; // nodes and boxes that are all shown to begin with
const FIRST = [MANY, 60, 16]; // nodes, boxes and frames that the first levels may have together, to begin with

/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./group.js").Home} Home */
/** @typedef {import("./view.js").Node} Node */
/** @typedef {Map<Id, Node>} Nodes */

/**
 * All boxes of a document, in one that is called "".
 * @param {Nodes} nodes what gets a box, inputs first
 * @param {string} how "kernel", "module" or "none"
 * @param {boolean} fold
 * @returns {Group}
 */
export function grow(nodes, how, fold) {
    const root = new Group("", "all", { nodes: [...nodes.keys()] });
    root.items = root.nodes;
    if (how === "kernel") {
        byKernel(root, nodes);
    } else if (how === "module") {
        new Modules(nodes, fold).fill(root, 0);
    }
    return root;
}

/**
 * All boxes in a box, outer ones first.
 * @param {Group} group
 * @returns {Group[]}
 */
export function below(group) {
    return group.groups.flatMap((inner) => [inner, ...below(inner)]);
}

/**
 * Which boxes are open to begin with: all of a small graph; of a large one those that hold others, level by level.
 * @param {Group} root
 * @returns {Set<string>}
 */
export function start(root) {
    const plain = below(root).filter((group) => !isFolded(group));
    if (plain.reduce((sum, group) => sum + group.items.length, root.items.length) <= SMALL) {
        return new Set(plain.map((group) => group.key));
    }
    /** @type {Set<string>} */
    const opened = new Set();
    let shown = 0;
    for (let level = [root], deep = 0; level.length; deep += 1) {
        shown += level.reduce((sum, group) => sum + group.items.length, 0);
        if (shown > (FIRST[deep] ?? FIRST[2])) {
            break;
        }
        level.forEach((group) => opened.add(group.key));
        level = level.flatMap((group) => group.groups).filter((g) => g.kind === "module" && g.groups.length);
    }
    opened.delete("");
    return opened;
}

/** @param {Group | null} group */
function isFolded(group) {
    for (; group; group = group.parent) {
        if (["repeat", "part", "input"].includes(group.kind)) {
            return true;
        }
    }
    return false;
}

/**
 * A kernel of one node needs no box; what makes an input has one in it, or is all of it.
 * @param {Group} root
 * @param {Nodes} nodes
 */
function byKernel(root, nodes) {
    /** @type {Map<number, Id[]>} */
    const members = new Map();
    for (const [id, node] of nodes) {
        if (typeof node.kernel === "number" || typeof node.kernel === "string") {
            gather(members, node.kernel).push(id);
        }
    }
    /** @type {Home} */
    const home = new Map();
    for (const [kernel, ids] of members) {
        if (ids.length > 1) {
            const key = free(`k${clean(kernel)}`, nodes);
            const box = inputsIn(new Group(key, "kernel", { number: kernel, parent: root, nodes: ids }), nodes);
            ids.forEach((id) => home.set(id, box));
        }
    }
    root.items = [...new Set(root.nodes.map((id) => home.get(id) ?? id))];
}

/** @param {Group} box of a kernel @param {Nodes} nodes @returns {Group} */
function inputsIn(box, nodes) {
    /** @type {Map<Id | null, Id[]>} */
    const members = new Map();
    for (const id of box.nodes) {
        gather(members, nodes.get(id)?.input ?? null).push(id);
    }
    if (members.size === 1 && !members.has(null)) {
        return inputBox(box.key, nodes.get(/** @type {Id} */ (box.nodes.at(-1))), box.parent, box.number, box.nodes);
    }
    /** @type {Home} */
    const home = new Map();
    for (const [end, ids] of members) {
        if (end !== null && ids.length > 1) {
            const key = free(`${box.key}/i:${clean(end)}`, nodes);
            const inner = inputBox(key, nodes.get(/** @type {Id} */ (ids.at(-1))), box, null, ids);
            ids.forEach((id) => home.set(id, inner));
        }
    }
    box.items = [...new Set(box.nodes.map((id) => home.get(id) ?? id))];
    return box;
}
