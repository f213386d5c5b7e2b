// Walk: which box comes next, for who walks with the keyboard or searches?
//
//     up      an input          left, right    who stands beside it
//     down    a user            Home, End      the first, the last
//
// Of several inputs or users the nearest one on the sheet is taken. Plain data in and out; nothing here knows a page.

/** @typedef {{id: string, x: number, y: number, width: number}} Spot */
/** @typedef {{inputs: Map<string, string[]>, users: Map<string, string[]>}} Ways */

/**
 * Who reads whom among what is drawn, from the edges of the graph and the box that each node is drawn in.
 * @param {Iterable<readonly [number, number]>} edges source and target of each
 * @param {Map<number, string>} boxOf
 * @returns {Ways}
 */
export function waysOf(edges, boxOf) {
    /** @type {Ways} */
    const ways = { inputs: new Map(), users: new Map() };
    for (const [source, target] of edges) {
        const [a, b] = [boxOf.get(source), boxOf.get(target)];
        if (a === undefined || b === undefined || a === b) continue;
        add(ways.inputs, b, a);
        add(ways.users, a, b);
    }
    return ways;
}

/** @param {Map<string, string[]>} found @param {string} key @param {string} value */
function add(found, key, value) {
    const list = found.get(key) ?? [];
    found.set(key, list);
    if (!list.includes(value)) list.push(value);
}

/**
 * The box that a key leads to; null where there is none.
 * @param {string} key
 * @param {string | null} from the box where the walk stands, if it has begun
 * @param {Spot[]} spots
 * @param {Ways} ways
 * @returns {string | null}
 */
export function next(key, from, spots, ways) {
    const order = [...spots].sort((a, b) => a.y - b.y || a.x - b.x);
    const here = spots.find((spot) => spot.id === from);
    if (key === "End") return order.at(-1)?.id ?? null;
    if (key === "Home" || !here) return order[0]?.id ?? null;
    if (key === "ArrowUp") return nearest(here, among(spots, ways.inputs.get(here.id)));
    if (key === "ArrowDown") return nearest(here, among(spots, ways.users.get(here.id)));
    const side = key === "ArrowLeft" ? -1 : 1;
    const beside = spots.filter((spot) => Math.abs(spot.y - here.y) < 24 && (middle(spot) - middle(here)) * side > 0);
    return nearest(here, beside);
}

/** @param {Spot[]} spots @param {string[]} [ids] */
function among(spots, ids = []) {
    return spots.filter((spot) => ids.includes(spot.id));
}

/** @param {Spot} here @param {Spot[]} spots */
function nearest(here, spots) {
    const far = (/** @type {Spot} */ spot) => Math.hypot(middle(spot) - middle(here), spot.y - here.y);
    const best = spots.reduce((a, b) => (a && far(a) <= far(b) ? a : b), /** @type {Spot | null} */ (null));
    return best?.id ?? null;
}

/** @param {Spot} spot */
function middle(spot) {
    return spot.x + spot.width / 2;
}

/**
 * What a search finds: each word must occur somewhere in what is known, and one of them in more than the place.
 * @template Id
 * @param {string} wanted
 * @param {Iterable<readonly [Id, string, string]>} texts of each its place in the model, and what is known of itself
 * @returns {Set<Id>}
 */
export function find(wanted, texts) {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    /** @type {Set<Id>} */
    const found = new Set();
    for (const [id, place, text] of texts) {
        const [around, own] = [place, text].map((one) => one.toLowerCase());
        const all = words.every((word) => own.includes(word) || around.includes(word));
        if (all && words.some((word) => own.includes(word))) found.add(id);
    }
    return found;
}

/**
 * Those of some boxes that hold none of the others.
 * @param {import("../../graph/group.js").Group[]} boxes
 */
export function innermost(boxes) {
    /** @type {Set<unknown>} */
    const outer = new Set();
    for (const box of boxes) for (let one = box.parent; one; one = one.parent) outer.add(one);
    return boxes.filter((box) => !outer.has(box));
}
