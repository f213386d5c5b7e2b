/**
 * Shelves: which numbers have the same key?
 *
 *     keys       2   0   2   1        of the numbers 0, 1, 2 and 3
 *     members    1 | 3 | 0   2        shelf after shelf
 *     starts     0   1   2       4    shelf k: from starts[k] to starts[k + 1]
 *
 * Three lists hold what else would be a list for each key. Nothing here knows what keys and numbers stand for.
 */

/** @typedef {{starts: Int32Array, members: Int32Array}} Shelves */

/**
 * Put the numbers from 0 on into shelves, by their keys; on a shelf they keep their order.
 * @param {Int32Array} keys
 * @param {number} shelves
 * @returns {Shelves}
 */
export function shelved(keys, shelves) {
    const starts = new Int32Array(shelves + 1);
    for (const key of keys) {
        starts[key + 1] += 1;
    }
    for (let key = 0; key < shelves; key += 1) {
        starts[key + 1] += starts[key];
    }
    const next = starts.slice();
    const members = new Int32Array(keys.length);
    keys.forEach((key, number) => {
        members[next[key]] = number;
        next[key] += 1;
    });
    return { starts, members };
}
