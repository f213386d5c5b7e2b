/**
 * View: what of a graph document is drawn, and as what?
 *
 *     card     an operator, a source, or a closed box: a module, a kernel, Block × 12
 *     frame    an open box
 *     chip     at the side of a card: a constant, a parameter, an input too far for a line, where a value is needed
 *     line     from a card to a card not far below
 *
 * The same choices as in jt_edu/draw/visible_graph.py, where they are explained. Nothing here knows pixels.
 */

import { Card, addChips, boxCard, chipOf, nodeCard, parameterChips } from "./cards.js";
import { connect } from "./connect.js";
import { isGroup } from "./group.js";
import { below, grow, start } from "./groups.js";
import { clean, count, grouped } from "./text.js";

export { Card };

/** @typedef {import("./cards.js").Chip} Chip */
/** @typedef {import("./group.js").Group} Group */
/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./group.js").Item} Item */
/** @typedef {import("./groups.js").Nodes} Nodes */
/**
 * @typedef {object} Node
 * @property {Id} id
 * @property {string} op
 * @property {string} [kind]
 * @property {number[]} [shape]
 * @property {string} [dtype]
 * @property {Id[]} [inputs]
 * @property {string} [name]
 * @property {string} [label]
 * @property {string} [where]
 * @property {string} [value]
 * @property {boolean} [held]
 * @property {boolean} [stored]
 * @property {boolean} [gradient]
 * @property {number | null} [kernel]
 * @property {string} [module]
 * @property {string[]} [modules]
 * @property {Id | null} [input] what it only makes: the last node of those that do
 * @property {string} [made] of what that is made
 */
/** @typedef {{source: Id, target: Id, fused?: boolean, rule?: string, reason?: string}} Edge */
/** @typedef {{nodes?: Node[], kernels?: {id: number, name?: string}[], edges?: Edge[], outputs?: Id[]}} Document */
/**
 * What is wanted. `group` says what shares a box: "kernel", "module" or "none"; without it modules do, where there are
 * some, else kernels. `open` holds the keys of the boxes
 * that are open; without it as many are as one can look at. `fold` makes neighbours that look the same one box.
 * `shapes` writes shapes beside all lines, else they stand only beside those that leave a box. Beyond `most` cards the
 * rest is not drawn.
 * @typedef {{group?: string, open?: Iterable<string> | null, fold?: boolean, shapes?: boolean, most?: number}} Options
 */
/** @typedef {import("./connect.js").Line} Line */
/** @typedef {Map<Id, Card>} Cards */
/**
 * What is drawn.
 * @typedef {object} View
 * @property {string} how what shares a box
 * @property {Nodes} nodes
 * @property {Group} root
 * @property {Map<number, string>} kernels their names
 * @property {boolean} shapes
 * @property {Map<string, Group>} groups all boxes, open and closed
 * @property {Set<string>} opened the keys of frames
 * @property {Cards} cards
 * @property {Map<Id, Id>} shows the card that shows a node, itself or in a closed box
 * @property {Line[]} lines
 * @property {Map<Id, number>} ranks of cards and frames, inside of what they stand in
 * @property {string[]} notes
 */

const FULL = 150; // cards; beyond, a kernel is one card
const MOST = 400; // cards; beyond, the rest is not drawn

/**
 * Choose what is drawn of a document.
 * @param {Document} document
 * @param {Options} [options]
 * @returns {View}
 */
export function view(document, options = {}) {
    const { group: asked, open = null, fold = true, shapes = false, most = MOST } = options;
    const nodes = nodesOf(document);
    const model = [...nodes.values()].some((node) => node.module);
    const group = asked ?? (model ? "module" : "kernel");
    const outputs = new Set(document.outputs ?? []);
    const aside = asideOf(nodes, outputs, model && group !== "none");
    const root = grow(new Map([...nodes].filter(([id]) => !aside.has(id))), group, fold);
    const kernels = new Map((document.kernels ?? []).map((kernel) => [kernel.id, clean(kernel.name)]));
    /** @type {View} */
    const seen = {
        how: group, nodes, root, kernels, shapes,
        groups: new Map(below(root).map((box) => [box.key, box])),
        opened: new Set(), cards: new Map(), shows: new Map(), lines: [], ranks: new Map(), notes: [],
    };
    choose(seen, open, most, outputs);
    fillIn(seen, aside);
    connect(seen, document.edges ?? []);
    return seen;
}

/**
 * The boxes that a node is in, outermost first: where all are open, the node has a card.
 * @param {View} seen
 * @param {Id} node
 * @returns {string[]}
 */
export function pathTo(seen, node) {
    return [...seen.groups.values()].filter((group) => group.nodes.includes(node)).map((group) => group.key);
}

// choosing

/** The rows by their id, with the inputs that a reader can be sure of. @param {Document} document @returns {Nodes} */
function nodesOf(document) {
    /** @type {Nodes} */
    const found = new Map();
    for (const row of document.nodes ?? []) {
        if (!isId(row?.id)) {
            throw new Error(`Every node of a graph document has an id, a number or a text; found ${clean(row?.id)}.`);
        }
        found.set(row.id, isSound(row) ? row : mended(row));
    }
    return found;
}

/** @param {Node} row */
function isSound(row) {
    const kernel = row.kernel ?? null;
    return Array.isArray(row.inputs) && Array.isArray(row.shape) && row.inputs.every(isId) && (!kernel || isId(kernel));
}

/** @param {Node} row @returns {Node} */
function mended(row) {
    const inputs = Array.isArray(row.inputs) ? row.inputs.filter(isId) : [];
    const kernel = isId(row.kernel) ? row.kernel : null;
    return { ...row, inputs, shape: Array.isArray(row.shape) ? row.shape : [], kernel };
}

/** @param {unknown} id */
function isId(id) {
    return typeof id === "number" || typeof id === "string";
}

/**
 * What is drawn as chips only: constants of one element and, around modules, parameters, with what makes them.
 * @param {Nodes} nodes
 * @param {Set<Id>} outputs
 * @param {boolean} model
 * @returns {Set<Id>}
 */
function asideOf(nodes, outputs, model) {
    const first = new Set(model ? [...nodes.values()].map((node) => node.inputs?.[0]) : []);
    /** @type {Set<Id>} */
    const found = new Set();
    for (const reader of nodes.values()) {
        reader.inputs?.forEach((id) => {
            const node = nodes.get(id);
            if (!node || outputs.has(id)) {
                return;
            }
            const small = node.kind === "constant" && (node.shape ?? []).every((length) => length === 1);
            if (small || (model && isParameter(node, reader, first))) {
                found.add(id);
            }
        });
    }
    nodes.forEach((node, id) => found.has(node.input ?? NaN) && found.add(id));
    return found;
}

/** An array with a name within a model, or that a module reads, and nobody in the first place.
 * @param {Node} node @param {Node} reader @param {Set<Id | undefined>} first */
function isParameter(node, reader, first) {
    const named = clean(node.name).includes(".");
    const whole = node.kind === "source" || node.input === node.id;
    return whole && (named || (Boolean(reader.module) && !first.has(node.id)));
}

/**
 * Which boxes are open, and which cards that leaves to draw.
 * @param {View} seen
 * @param {Iterable<string> | null} open
 * @param {number} most
 * @param {Set<Id>} outputs
 */
function choose(seen, open, most, outputs) {
    const leaves = leavesOf(seen, new Set(open ?? firstLook(seen)));
    for (const { item, path } of leaves.slice(0, most)) {
        const card = isGroup(item)
            ? boxCard(item, seen.nodes, outputs, seen.kernels)
            : nodeCard(/** @type {Node} */ (seen.nodes.get(item)), outputs.has(item));
        if (!isGroup(item)) {
            card.alone = path.length || seen.how !== "kernel" ? null : card.kernel;
        }
        card.path = path;
        seen.cards.set(card.id, card);
        path.forEach((key) => seen.opened.add(key));
        card.nodes.forEach((id) => seen.shows.set(id, card.id));
    }
    note(seen, leaves.length);
}

/** @param {View} seen @returns {Iterable<string>} */
function firstLook(seen) {
    if (seen.how !== "kernel") {
        return start(seen.root);
    }
    const groups = seen.root.nodes.length > FULL ? [] : [...seen.groups.values()];
    return groups.filter((box) => box.kind !== "input").map((box) => box.key);
}

/**
 * Say what the picture leaves out.
 * @param {View} seen
 * @param {number} leaves
 */
function note(seen, leaves) {
    const total = seen.nodes.size;
    const cards = [...seen.cards.values()];
    const boxes = cards.filter((card) => card.box).length;
    if (boxes && seen.how === "kernel" && !seen.opened.size) {
        const kernels = count(seen.kernels.size, "kernel");
        seen.notes.push(`Each kernel is drawn as one box: ${count(total, "node")} in ${kernels}.`);
    } else if (boxes) {
        const shown = total - seen.root.nodes.length + cards.length - boxes;
        const closed = boxes === 1 ? "a closed box" : `${grouped(boxes)} closed boxes`;
        seen.notes.push(`Showing ${grouped(shown)} of ${count(total, "node")}; the others are in ${closed}.`);
    }
    if (leaves > seen.cards.size) {
        seen.notes.push(`Showing ${seen.cards.size} of ${grouped(leaves)} boxes, inputs first.`);
    }
}

/**
 * What gets a card, and the frames that it stands in, in the order of the document.
 * @param {View} seen
 * @param {Set<string>} opened
 */
function leavesOf({ nodes, root }, opened) {
    const number = new Map([...nodes.keys()].map((id, k) => [id, k]));
    /** @type {{item: Item, path: string[], at: number}[]} */
    const leaves = [];
    /** @param {Group} group @param {string[]} path */
    const walk = (group, path) => {
        for (const item of group.items) {
            if (isGroup(item) && opened.has(item.key)) {
                walk(item, [...path, item.key]);
            } else {
                leaves.push({ item, path, at: Number(number.get(isGroup(item) ? item.nodes[0] : item)) });
            }
        }
    };
    walk(root, []);
    return root.groups.length ? leaves.sort((a, b) => a.at - b.at) : leaves;
}

/**
 * The inputs of every card: other cards, and chips. Whatever comes from a closed box, or goes into one, is one.
 * @param {View} seen
 * @param {Set<Id>} aside
 */
function fillIn(seen, aside) {
    for (const card of seen.cards.values()) {
        const chips = inputsOf(seen, card, aside);
        if (card.box) {
            card.inputs = card.inputs.filter((id) => !chips.has(id));
            parameterChips(chips).forEach((chip) => card.left.push(chip));
        } else if (chips.size) {
            addChips(card, chips);
        }
    }
}

/** @param {View} seen @param {Card} card @param {Set<Id>} aside @returns {Map<Id, Chip>} */
function inputsOf(seen, card, aside) {
    /** @type {Map<Id, Chip>} */
    const chips = new Map();
    /** @type {Set<Id>} */
    const known = new Set();
    for (const target of card.nodes) {
        const reader = /** @type {Node} */ (seen.nodes.get(target));
        for (const id of reader.inputs ?? []) {
            const key = aside.has(id) ? id : (seen.shows.get(id) ?? card.id);
            if (key === card.id || (known.has(key) && (card.box || seen.cards.get(key)?.box))) {
                continue;
            }
            if (aside.has(id) && !chips.has(id)) {
                chips.set(id, chipOf(/** @type {Node} */ (seen.nodes.get(id)), reader));
            }
            known.add(key);
            card.inputs.push(key);
        }
    }
    return chips;
}
