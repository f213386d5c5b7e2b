/**
 * Ranks: how far down does each box stand?
 *
 * And the heap that this needs: a list of numbers in which the least is found at once. Nothing here knows what the
 * numbers stand for.
 */

/**
 * Length of the longest path to each key; what has no inputs, here or elsewhere, is pulled down to its first user.
 *
 * Where the pairs form a circle, the pairs that close it point upwards: the caller sees that in the ranks.
 * @template Key
 * @param {readonly Key[]} keys
 * @param {Iterable<readonly [Key, Key]>} pairs
 * @param {Set<Key>} [fed] what has inputs elsewhere
 * @returns {Map<Key, number>}
 */
export function ranks(keys, pairs, fed) {
    const number = new Map(keys.map((key, k) => [key, k]));
    /** @type {number[][]} */
    const users = keys.map(() => []);
    const waiting = new Int32Array(keys.length);
    for (const [source, target] of pairs) {
        users[Number(number.get(source))].push(Number(number.get(target)));
        waiting[Number(number.get(target))] += 1;
    }
    const sources = [...keys.keys()].filter((k) => !waiting[k]);
    const rank = longestPaths(users, waiting, sources);
    for (const k of sources.filter((source) => !fed?.has(keys[source]))) {
        let first = Infinity;
        for (const user of users[k]) {
            first = Math.min(first, rank[user]);
        }
        rank[k] = (first === Infinity ? 1 : first) - 1;
    }
    return new Map(keys.map((key, k) => [key, rank[k]]));
}

/**
 * @param {number[][]} users
 * @param {Int32Array} waiting how many inputs of each are not done
 * @param {number[]} sources
 * @returns {number[]}
 */
function longestPaths(users, waiting, sources) {
    const rank = new Array(users.length).fill(0);
    const done = new Uint8Array(users.length);
    const ready = [...sources];
    for (let rest = 0; ; ) {
        while (!ready.length && rest < users.length && done[rest]) {
            rest += 1;
        }
        if (!ready.length && rest >= users.length) {
            return rank;
        }
        const k = ready.length ? pop(ready) : rest;
        if (done[k]) {
            continue;
        }
        done[k] = 1;
        for (const user of users[k]) {
            waiting[user] -= 1;
            if (!done[user]) {
                rank[user] = Math.max(rank[user], rank[k] + 1);
                if (!waiting[user]) {
                    push(ready, user);
                }
            }
        }
    }
}

/** @param {number[]} heap @param {number} number */
export function push(heap, number) {
    let at = heap.push(number) - 1;
    for (let parent = (at - 1) >> 1; at && heap[parent] > number; parent = (at - 1) >> 1) {
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = number;
}

/** @param {number[]} heap @returns {number} the least */
export function pop(heap) {
    const least = heap[0];
    const last = Number(heap.pop());
    for (let at = 0; heap.length; ) {
        let child = 2 * at + 1;
        if (child + 1 < heap.length && heap[child + 1] < heap[child]) {
            child += 1;
        }
        if (child >= heap.length || heap[child] >= last) {
            heap[at] = last;
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    return least;
}
