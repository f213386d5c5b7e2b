/**
 * Circles: what waits for itself by way of others, and in which order can the rest be done?
 *
 * Nothing here knows what the items are.
 */

import { pop, push } from "./ranks.js";

/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./group.js").Item} Item */

/**
 * What is on a circle, or between two: all that is left when what waits for nothing is taken away, from both ends.
 * @param {Item[]} items
 * @param {[Item, Item][]} pairs
 * @returns {Set<Item>}
 */
export function circleOf(items, pairs) {
    const left = new Set(items);
    for (const [from, to] of [[0, 1], [1, 0]]) {
        const { users, waiting } = needs([...left], pairs, from, to);
        const ready = [...left].filter((item) => !waiting.get(item));
        for (let item = ready.pop(); item !== undefined; item = ready.pop()) {
            left.delete(item);
            released(item, users, waiting).forEach((user) => ready.push(user));
        }
    }
    return left;
}

/**
 * Who reads each item, and how often each is still to be served.
 * @param {Item[]} items
 * @param {[Item, Item][]} pairs
 * @param {number} from
 * @param {number} to
 */
function needs(items, pairs, from = 0, to = 1) {
    /** @type {Map<Item, Item[]>} */
    const users = new Map(items.map((item) => [item, []]));
    const waiting = new Map(items.map((item) => [item, 0]));
    for (const pair of pairs) {
        const known = users.get(pair[from]);
        const count = waiting.get(pair[to]);
        if (known && count !== undefined) {
            known.push(pair[to]);
            waiting.set(pair[to], count + 1);
        }
    }
    return { users, waiting };
}

/** @param {Item} item @param {Map<Item, Item[]>} users @param {Map<Item, number>} waiting @returns {Item[]} */
function released(item, users, waiting) {
    return (users.get(item) ?? []).filter((user) => {
        const rest = Number(waiting.get(user)) - 1;
        waiting.set(user, rest);
        return !rest;
    });
}

/**
 * Inputs first, else in the order that they have; what is on a circle comes last.
 * @param {Item[]} items
 * @param {[Item, Item][]} pairs
 * @returns {Item[]}
 */
export function inOrder(items, pairs) {
    const number = new Map(items.map((item, k) => [item, k]));
    const { users, waiting } = needs(items, pairs);
    const ready = [...items.keys()].filter((k) => !waiting.get(items[k]));
    /** @type {Set<Item>} */
    const found = new Set();
    while (ready.length) {
        const item = items[pop(ready)];
        found.add(item);
        released(item, users, waiting).forEach((user) => push(ready, Number(number.get(user))));
    }
    return [...found, ...items.filter((item) => !found.has(item))];
}
