/**
 * Group: what is a box, and what may it be called?
 *
 * Nothing here knows how boxes come about.
 */

import { clean } from "./text.js";

/** @typedef {number | string} Id */
/** @typedef {Group | Id} Item a box, or a node */
/** @typedef {Map<Id, Item>} Home in which box each node stands, or that it stands alone */

export const MANY = 150; // boxes in a box

/** A box: what is in it, in the order of the document. */
export class Group {
    /**
     * @param {string} key it stays the same as long as the document does
     * @param {string} kind
     * @param {{name?: string, made?: string, gradient?: boolean, number?: number | null, parent?: Group | null,
     *     nodes?: Id[], items?: Item[]}} [more]
     */
    constructor(key, kind, more = {}) {
        const { name = "", made = "", gradient = false, number = null, nodes = [], items = [] } = more;
        this.key = key;
        this.kind = kind;
        this.name = name;
        this.made = made; // the class of a module
        this.gradient = gradient;
        this.number = number; // of its kernel
        /** @type {Group | null} */
        this.parent = more.parent ?? null;
        this.nodes = nodes; // all of them, also those in boxes inside
        this.items = items; // nodes and boxes
        this.sign = 0; // the same for all that look the same inside
    }

    /** @returns {Group[]} the boxes in it */
    get groups() {
        return this.items.filter(isGroup);
    }
}

/**
 * The box of what makes an input. The last of its nodes has its name, and is what others read.
 * @param {string} key
 * @param {import("./view.js").Node | undefined} last
 * @param {Group | null} parent
 * @param {number | null} [number]
 * @param {Id[]} [ids]
 */
export function inputBox(key, last, parent, number = null, ids = []) {
    const [name, made] = [clean(last?.name), clean(last?.made)];
    return new Group(key, "input", { name, made, number, parent, nodes: ids, items: ids });
}

/**
 * Whether something is a box.
 * @param {Item | undefined} item
 * @returns {item is Group}
 */
export function isGroup(item) {
    return item instanceof Group;
}

/**
 * The list under a key, which begins empty.
 * @template Key, Value
 * @param {Map<Key, Value[]>} found
 * @param {Key} key
 * @returns {Value[]}
 */
export function gather(found, key) {
    let list = found.get(key);
    if (!list) {
        list = [];
        found.set(key, list);
    }
    return list;
}

/**
 * The key, or a longer one that nothing else has.
 * @param {string} key
 * @param {{has(key: Id): boolean}} taken
 * @returns {string}
 */
export function free(key, taken) {
    while (taken.has(key)) {
        key += "'";
    }
    return key;
}
