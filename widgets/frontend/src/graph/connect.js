/**
 * Connect: which edges of what is drawn are lines, and which are chips on both ends?
 *
 * A training graph reads in its last line what it computed in its first. Drawn as lines, such edges hide everything
 * else; so they become chips that name each other (portals). The second half of jt_edu/draw/visible_graph.py.
 */

import { Chip, addChips, carried, joined } from "./cards.js";
import { gather } from "./group.js";
import { ranks } from "./ranks.js";
import { clean, cut } from "./text.js";

/** @typedef {import("./cards.js").Card} Card */
/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./view.js").Cards} Cards */
/** @typedef {import("./view.js").Edge} Edge */
/** @typedef {import("./view.js").View} View */
/** @typedef {[Id, Id][]} Pairs source and target */

const REACH = 4; // ranks that a line may span
const SOURCE_REACH = 2; // the same for lines from a source: its name says enough
const GUTTER = 12; // the same for lines that keep to the side of what they pass, and stay on one side of the loss

/** A value on its way from one card to another, or several from a closed box. */
export class Line {
    /**
     * @param {Id} source
     * @param {Id} target
     * @param {boolean} fused
     * @param {boolean} thin it never becomes an array
     * @param {Id[]} values
     * @param {() => string} say all of it in words, made only when somebody looks
     */
    constructor(source, target, fused, thin, values, say) {
        this.source = source;
        this.target = target;
        this.fused = fused;
        this.thin = thin;
        this.values = values;
        this.say = say;
    }

    /** @returns {string} all of it in words */
    get tip() {
        return this.say();
    }
}

/**
 * Decide for every edge: a line, or chips on both ends.
 * @param {View} seen
 * @param {Edge[]} edges
 */
export function connect(seen, edges) {
    const facts = new Facts(edges);
    const ends = [...seen.cards.values()].flatMap((card) => card.inputs.map((id) => [cardAt(seen, id), card]));
    const depths = rank(seen, ends);
    const known = new Map();
    /** @type {Map<Card, Card[]>} */
    const far = new Map();
    /** @type {Map<Id, Id[]>} */
    const leaving = new Map(); // what closed boxes give
    /** @type {Set<Id>} */
    const near = new Set(); // what a line leaves
    for (const [a, b] of ends) {
        const between = pairsOf(seen, a, b, known);
        if (reaches(seen, a, b, depths) && !onceMore(seen, between, facts)) {
            const line = lineOf(seen, a, b, between, facts);
            seen.lines.push(line);
            near.add(a.id);
            if (a.box) {
                line.values.forEach((id) => gather(leaving, a.id).push(id));
            }
        } else {
            gather(far, b).push(a);
        }
    }
    portals(seen.cards, far, near);
    for (const card of seen.cards.values()) {
        finish(seen, card, leaving.get(card.id));
    }
}

/** @param {View} seen @param {Card} card @param {Id[]} [leaving] */
function finish(seen, card, leaving) {
    const { alone } = card;
    if (alone !== null) {
        card.right.unshift(new Chip("alone", `kernel ${cut(clean(alone), 12)}`, () => seen.kernels.get(alone) ?? ""));
    }
    if (card.output) {
        card.right.push(new Chip("output", "output", () => "asked for"));
    }
    if (card.box && leaving) {
        card.words = carried(leaving, seen.nodes);
    }
}

/** @param {View} seen @param {Id} id @returns {Card} */
function cardAt(seen, id) {
    return /** @type {Card} */ (seen.cards.get(id));
}

/** What is known of edges. */
class Facts {
    /** @param {Edge[]} edges */
    constructor(edges) {
        this.found = new Map(edges.map((edge) => [keyOf(edge.source, edge.target), edge]));
    }

    /** @param {[Id, Id]} pair @returns {Edge | undefined} */
    of([source, target]) {
        return this.found.get(keyOf(source, target));
    }
}

const LARGE = 2 ** 26;

/** One key for two ids; numbers are kept as such, since texts are slow. @param {Id} a @param {Id} b @returns {Id} */
function keyOf(a, b) {
    return isSmall(a) && isSmall(b) ? a * LARGE + b : JSON.stringify([a, b]);
}

/** @param {Id} id @returns {id is number} */
function isSmall(id) {
    return typeof id === "number" && Number.isInteger(id) && id >= 0 && id < LARGE;
}

/**
 * Ranks within every frame, and how deep each one is.
 * @param {View} seen
 * @param {Card[][]} ends
 * @returns {Map<Id, number>}
 */
function rank(seen, ends) {
    /** @type {Map<Id, Set<Id>>} */
    const inside = new Map([["", new Set()]]);
    for (const card of seen.cards.values()) {
        for (let step = 0; step <= card.path.length; step += 1) {
            const frame = card.path[step - 1] ?? "";
            inside.set(frame, (inside.get(frame) ?? new Set()).add(wayTo(card, step)));
        }
    }
    /** @type {Map<Id, Pairs>} */
    const pairs = new Map();
    /** @type {Set<Id>} */
    const fed = new Set();
    for (const [a, b] of ends) {
        const k = meet(a, b);
        gather(pairs, a.path[k - 1] ?? "").push([wayTo(a, k), wayTo(b, k)]);
        if (seen.how !== "kernel" && a.gradient === b.gradient) {
            b.path.forEach((frame) => fed.add(frame));
            fed.add(b.id);
        }
    }
    /** @type {Map<Id, number>} */
    const depths = new Map();
    for (const [frame, items] of inside) {
        let depth = 0;
        for (const [item, found] of ranks([...items], pairs.get(frame) ?? [], fed)) {
            seen.ranks.set(item, found);
            depth = Math.max(depth, found);
        }
        depths.set(frame, depth);
    }
    return depths;
}

/**
 * The way to a card: the frames around it, outermost first, and the card.
 * @param {Card} card
 * @param {number} step
 * @returns {Id} what stands at a step of it
 */
export function wayTo(card, step) {
    return step < card.path.length ? card.path[step] : card.id;
}

/**
 * How many frames two cards share.
 * @param {Card} a
 * @param {Card} b
 * @returns {number}
 */
export function meet(a, b) {
    let k = 0;
    while (k < a.path.length && k < b.path.length && a.path[k] === b.path[k]) {
        k += 1;
    }
    return k;
}

/**
 * Which nodes of one card are read by which of another.
 * @param {View} seen
 * @param {Card} a
 * @param {Card} b
 * @param {Map<Card, Map<Id, Pairs>>} known of closed boxes, by what they read
 * @returns {Pairs}
 */
function pairsOf(seen, a, b, known) {
    if (!a.box && !b.box) {
        return [[a.id, b.id]];
    }
    let into = known.get(b);
    if (!into) {
        into = new Map();
        for (const target of b.nodes) {
            for (const source of seen.nodes.get(target)?.inputs ?? []) {
                const from = seen.shows.get(source);
                if (from !== undefined) {
                    gather(into, from).push([source, target]);
                }
            }
        }
        known.set(b, into);
    }
    return into.get(a.id) ?? [];
}

/**
 * Whether a line is short enough to be drawn, where the ways of two cards part and in every frame, and goes down.
 * @param {View} seen
 * @param {Card} a
 * @param {Card} b
 * @param {Map<Id, number>} depths
 */
function reaches(seen, a, b, depths) {
    const k = meet(a, b);
    /** @param {Card} card @param {number} step @returns {number} */
    const at = (card, step) => Number(seen.ranks.get(wayTo(card, step)));
    const span = at(b, k) - at(a, k);
    let deep = 0;
    for (let step = k + 1; step <= b.path.length; step += 1) {
        deep = Math.max(deep, at(b, step) + 1);
    }
    if (seen.how === "kernel") {
        return span > 0 && span <= (a.kind === "source" && !k ? SOURCE_REACH : REACH) && deep <= REACH;
    }
    if (a.gradient !== b.gradient && k < Math.max(a.path.length, b.path.length)) {
        return false;
    }
    const reach = a.kind === "source" ? SOURCE_REACH : a.gradient === b.gradient ? GUTTER : REACH;
    let high = 0;
    for (let step = k; step < a.path.length; step += 1) {
        high = Math.max(high, Number(depths.get(a.path[step])) - at(a, step + 1) + 1);
    }
    return span > 0 && span <= reach && Math.max(deep, high) <= Math.max(reach, REACH);
}

/**
 * Fused, but into another kernel: that one computes it once more, so no array goes from here to there.
 * @param {View} seen
 * @param {Pairs} pairs
 * @param {Facts} facts
 */
function onceMore(seen, pairs, facts) {
    if (seen.how !== "kernel" || pairs.length !== 1) {
        return false;
    }
    const [here, there] = pairs[0].map((id) => seen.nodes.get(id)?.kernel ?? null);
    return Boolean(facts.of(pairs[0])?.fused) && here !== null && there !== null && here !== there;
}

/** @param {View} seen @param {Card} a @param {Card} b @param {Pairs} pairs @param {Facts} facts @returns {Line} */
function lineOf(seen, a, b, pairs, facts) {
    const same = pairs.map(([u, v]) => {
        const here = seen.nodes.get(u)?.kernel ?? null;
        return here !== null && here === (seen.nodes.get(v)?.kernel ?? null);
    });
    const fused = pairs.every((pair, k) => facts.of(pair)?.fused ?? same[k]);
    const values = pairs.length === 1 ? [pairs[0][0]] : [...new Set(pairs.map(([source]) => source))];
    const edge = a.box || b.box ? undefined : facts.of(pairs[0]);
    const thin = !seen.kernels.size || (fused && same.every(Boolean));
    return new Line(a.id, b.id, fused, thin, values, () => {
        const what = a.box ? [carried(values, seen.nodes)] : [a.facts, a.bytes];
        return joined([`${a.label} → ${b.label}`, ...what, clean(edge?.rule), clean(edge?.reason)]);
    });
}

/**
 * Chips on both ends of long edges. A source that no line leaves is drawn as chips only.
 * @param {Cards} cards
 * @param {Map<Card, Card[]>} far
 * @param {Set<Id>} near
 */
function portals(cards, far, near) {
    /** @type {Set<Card>} */
    const hidden = new Set();
    /** @type {Map<Card, Card[]>} */
    const users = new Map();
    for (const [target, sources] of far) {
        for (const a of new Set(sources)) {
            if ((a.kind === "source" || a.kind === "constant") && !a.output && !near.has(a.id)) {
                hidden.add(a);
            }
            gather(users, a).push(target);
        }
    }
    for (const [target, sources] of far) {
        addChips(target, new Map(sources.map((a) => [a.id, arriving(a, hidden.has(a))])));
    }
    for (const [card, targets] of users) {
        card.right.push(leavingChip(targets));
    }
    for (const card of hidden) {
        cards.delete(card.id);
    }
}

/** @param {Card[]} targets @returns {Chip} */
function leavingChip(targets) {
    const names = targets.slice(0, 3).map((card) => card.address);
    const more = targets.length > 3 ? ` +${targets.length - 3}` : "";
    return new Chip("portal", `↓ ${names.join(", ")}${more}`, () => {
        const titles = targets.slice(0, 300).map((card) => card.tip.split(" · ", 1)[0]);
        return `needed far below: ${cut(titles.join("; "), 300)}`;
    });
}

/** @param {Card} a @param {boolean} hidden @returns {Chip} */
function arriving(a, hidden) {
    if (hidden) {
        return new Chip("source", cut(`${a.label} ${a.shape}`, 24), () => a.tip);
    }
    const named = a.label !== a.op && a.number;
    const text = named ? `↑ ${cut(a.label, 12)} ${a.number}` : `↑ ${a.address}`;
    return new Chip("portal", text, () => `from ${a.tip}`);
}
