/**
 * Cards: what does one box of a picture say?
 *
 *     title     name = operator; a module's name and its class; the learner's line
 *     facts     shape and dtype; of a closed box how much is in it
 *     chips     words at its sides: constants, parameters, what is too far away for a line
 *
 * The same words as in jt_edu/draw/node_boxes.py. Nothing here knows what else is drawn, nor pixels.
 */

import { KINDS, bytesOf, clean, count, cut, shapeText, sizeText, tupleText } from "./text.js";

/** @typedef {import("./group.js").Group} Group */
/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./groups.js").Nodes} Nodes */
/** @typedef {import("./view.js").Node} Node */

const FEW = 2; // parameters that a closed box names

/** Words at the side of a card. */
export class Chip {
    /**
     * @param {string} kind constant, source, portal, output, or alone: the only one of its kernel
     * @param {string} text
     * @param {() => string} say all of it in words, made only when somebody looks
     */
    constructor(kind, text, say) {
        this.kind = kind;
        this.text = text;
        this.say = say;
    }

    /** @returns {string} all of it in words */
    get tip() {
        return this.say();
    }
}

/** One node as it is drawn, or one closed box. */
export class Card {
    /** @param {Id} id @param {string} kind @param {string} op */
    constructor(id, kind, op) {
        this.id = id;
        this.kind = kind;
        this.op = op;
        this.name = "";
        this.facts = ""; // its second line
        /** @type {() => string} */
        this.say = () => ""; // all of it in words, made only when somebody looks
        /** @type {Id[]} */
        this.inputs = [];
        /** @type {number | null} */
        this.kernel = null;
        /** @type {number | null} */
        this.alone = null; // the kernel it is all of
        this.shape = "";
        this.value = "";
        this.bytes = "";
        this.stored = false;
        this.gradient = false;
        this.output = false;
        /** @type {Chip[]} */
        this.left = [];
        /** @type {Chip[]} */
        this.right = [];
        /** @type {string[]} */
        this.path = []; // the frames that it stands in, outermost first
        /** @type {Id[]} */
        this.nodes = []; // the nodes that it stands for
        /** @type {Group | null} */
        this.box = null;
        this.words = ""; // what leaves a closed box
    }

    /** @returns {string} all of it in words */
    get tip() {
        return this.say();
    }

    /** @returns {string} how others call it */
    get label() {
        return this.name || this.op;
    }

    /** @returns {string} how others call it, when they are far: the number that it bears; a module has only a name */
    get number() {
        return this.box && this.box.kind !== "kernel" ? "" : cut(clean(this.id), 12);
    }

    /** @returns {string} the same where no card is beside it: members of a list are called layer1/0 */
    get address() {
        if (this.number || !this.box) {
            return this.number;
        }
        let name = this.label;
        for (let outer = this.box.parent; /^\d+$/.test(name) && outer?.key; outer = outer.parent) {
            name = outer.kind === "repeat" ? name : `${outer.name}/${name}`;
        }
        return cut((this.gradient ? "∂ " : "") + name, 20);
    }
}

/**
 * The card of one node.
 * @param {Node} node
 * @param {boolean} output
 * @returns {Card}
 */
export function nodeCard(node, output) {
    const shape = node.shape ?? [];
    const sizes = tupleText(shape);
    const facts = `${sizes} ${clean(node.dtype)}`.trimEnd();
    const value = clean(node.value);
    const kind = clean(node.kind);
    const card = new Card(node.id, Object.hasOwn(KINDS, kind) ? kind : "code", clean(node.label || node.op));
    card.name = clean(node.name);
    card.facts = !shape.length && value.length > 0 && value.length <= 12 ? `${facts} = ${value}` : facts;
    card.kernel = node.kernel ?? null;
    card.shape = sizes;
    card.value = value;
    card.bytes = sizeText(bytesOf(node));
    card.stored = Boolean(node.stored);
    card.gradient = Boolean(node.gradient);
    card.output = output;
    card.nodes = [node.id];
    card.say = () => tipOf(node, card, facts);
    return card;
}

/** @param {Node} node @param {Card} card @param {string} facts */
function tipOf(node, card, facts) {
    const marks = [node.gradient && "gradient", node.stored && "stored", node.held && "held"];
    const title = `${clean(node.id)}: ${card.name ? `${card.name} = ` : ""}${card.op}`;
    const said = [title, facts, card.bytes, card.value && `value ${card.value}`, clean(node.where), ...marks];
    return joined(said);
}

/** @param {unknown[]} said @returns {string} */
export function joined(said) {
    return said.filter(Boolean).join(" · ");
}

/**
 * The card of a closed box: how many operators are in it, in how many kernels, and what they store.
 * @param {Group} group
 * @param {Nodes} nodes
 * @param {Set<Id>} outputs
 * @param {Map<number, string>} kernels
 * @returns {Card}
 */
export function boxCard(group, nodes, outputs, kernels) {
    const inside = group.nodes.map((id) => /** @type {Node} */ (nodes.get(id)));
    const ops = count(inside.length, "op");
    const isKernel = group.kind === "kernel";
    const number = `kernel ${cut(clean(group.number), 12)}`;
    const isInput = group.kind === "input";
    const made = isInput ? group.made : classOf(group);
    const op = isKernel ? kernels.get(/** @type {number} */ (group.number)) || number : made === group.name ? "" : made;
    const card = new Card(group.key, group.kind, op);
    const shape = isInput && shapeText(inside[inside.length - 1]);
    const facts = shape ? [shape] : isKernel ? [number, ops] : [ops, ...amounts(inside)];
    card.name = isKernel ? "" : group.name;
    card.facts = joined(facts);
    card.say = () =>
        isKernel ? `${number}: ${card.op}` : joined([`${group.kind} ${card.name}`, card.op, ...facts]);
    card.gradient = group.gradient || (isKernel && inside.some((node) => node.gradient));
    card.output = group.nodes.some((id) => outputs.has(id));
    card.alone = isInput ? group.number : null;
    card.nodes = group.nodes;
    card.box = group;
    return card;
}

/** The class of a module; of one that holds nothing but others of one class, that class and how many.
 * @param {Group} group */
function classOf(group) {
    const held = group.groups.flatMap((item) => (item.kind === "repeat" ? item.groups : [item]));
    const [first] = held;
    const alike = group.groups.length === group.items.length && held.every(({ made }) => made && made === first.made);
    return alike && held.length > 1 && group.kind === "module" ? `${first.made} × ${held.length}` : group.made;
}

/** @param {Node[]} inside @returns {string[]} how many kernels, how many bytes they store */
function amounts(inside) {
    const kernels = new Set(inside.map((node) => node.kernel ?? null));
    kernels.delete(null);
    const stored = inside.reduce((sum, node) => sum + (node.stored ? bytesOf(node) : 0), 0);
    return [kernels.size ? count(kernels.size, "kernel") : "", sizeText(stored)];
}

/**
 * What goes along a line, in words.
 * @param {Iterable<Id>} values
 * @param {Nodes} nodes
 * @returns {string}
 */
export function carried(values, nodes) {
    const found = [...new Set(values)].map((id) => /** @type {Node} */ (nodes.get(id)));
    if (found.length === 1) {
        return joined([shapeText(found[0]), sizeText(bytesOf(found[0]))]);
    }
    return joined([count(found.length, "array"), sizeText(found.reduce((sum, node) => sum + bytesOf(node), 0))]);
}

/**
 * Inputs become chips: to the left of the card where they come before the first input that stays, else right.
 * @param {Card} card
 * @param {Map<Id, Chip>} chips
 */
export function addChips(card, chips) {
    const first = card.inputs.findIndex((id) => !chips.has(id));
    const stays = first < 0 ? 1 : first;
    card.inputs.forEach((id, k) => {
        const chip = chips.get(id);
        if (chip) {
            (k < stays ? card.left : card.right).push(chip);
        }
    });
    card.inputs = card.inputs.filter((id) => !chips.has(id));
}

/**
 * A constant or a parameter at the side of the card that reads it; in a module its last name is enough.
 * @param {Node} node
 * @param {Node} reader
 * @returns {Chip}
 */
export function chipOf(node, reader) {
    const card = nodeCard(node, false);
    if (card.kind === "constant") {
        return new Chip("constant", cut(card.value || card.label, 12), () => `constant ${card.tip}`);
    }
    const name = reader.module ? card.label.slice(card.label.lastIndexOf(".") + 1) : card.label;
    return new Chip("source", cut(`${name} ${card.shape}`, 24), () => card.tip);
}

/**
 * The parameters that a closed box reads: by name, or how many.
 * @param {Map<Id, Chip>} chips
 * @returns {Chip[]}
 */
export function parameterChips(chips) {
    const found = [...chips.values()].filter((chip) => chip.kind === "source");
    if (found.length <= FEW) {
        return found;
    }
    const names = found.slice(0, 300).map((chip) => chip.text);
    return [new Chip("source", count(found.length, "parameter"), () => cut(names.join("; "), 300))];
}
