/**
 * Scene: where does everything stand, inside of each frame and between the frames?
 *
 *     ┌ kernel 0 ──┴───┐     a line enters a frame through a port at its top, and leaves through one at its bottom,
 *     │  [ mul ]   │   │     so the lane that it takes inside is kept free as any other; a frame in a frame is one box
 *     │    [ add ]─┘   │     to it
 *     └─────┬──────────┘
 *
 * The same places as in jt_edu/draw/scene.py. Nothing here knows colours or the page.
 */

import { meet, wayTo } from "./connect.js";
import { Box } from "./grid.js";
import { LANE, Link, place } from "./layout.js";
import { BESIDE, CARD, CHIP, CHIP_APART, FOOT, STALK, boxOf, label } from "./sizes.js";
import { clean, count, cut, width } from "./text.js";

export { CARD, CHIP, CHIP_APART, STALK, label };
export { cardWidth, chipWidth, kind, number, pad, title } from "./sizes.js";

/** @typedef {import("./layout.js").Point} Point */
/** @typedef {import("./group.js").Group} Group */
/** @typedef {import("./view.js").Card} Card */
/** @typedef {import("./group.js").Id} Id */
/** @typedef {import("./view.js").Line} Line */
/** @typedef {import("./view.js").View} View */
/** A card, where it stands.
 * @typedef {{card: Card, x: number, y: number, width: number}} Placed */
/** How is "thin" or "thick", and "head" where it arrives at a card.
 * @typedef {{how: string, line: Line, points: Point[]}} Drawn */
/** @typedef {{x: number, y: number, words: string}} Label */
/** One stretch of a line, within a frame: from a card or a frame in it to another; null: its edge.
 * @typedef {{line: Line, source: Id | null, target: Id | null}} Way */
/** All that is drawn, with its places.
 * @typedef {{cards: Placed[], frames: Frame[], lines: Drawn[], labels: Label[], width: number, height: number}} Scene
 */

export const FRAME = 16;
const HEAD = 36;
const TAIL = 2;
const GAP = 36;
const INNER_GAP = 26;

/** An open box: what is inside, placed from (0, 0). The outermost one is the whole picture. */
export class Frame {
    /** @param {Group} group @param {string} name */
    constructor(group, name) {
        this.group = group;
        this.key = group.key;
        this.name = name;
        /** @type {Id[]} */
        this.items = []; // cards, and the keys of frames
        this.nodes = 0;
        /** @type {Map<Id, Box>} */
        this.entries = new Map();
        /** @type {Map<Id, Box>} */
        this.exits = new Map();
        /** @type {Set<Id>} */
        this.told = new Set(); // exits with words beside them
        /** @type {Way[]} */
        this.ways = [];
        /** @type {Set<string>} */
        this.known = new Set(); // ways that are taken once only
        /** @type {Link[]} */
        this.links = [];
        this.outside = new Box(0, 0, 0);
    }

    /** @returns {string} its first line */
    get caption() {
        const kind = this.group.kind === "kernel" ? `kernel ${cut(clean(this.group.number), 12)}` : this.group.kind;
        return `${this.group.gradient ? "∂ " : ""}${kind} · ${count(this.nodes, "op")}`;
    }

    /** @returns {Point} top left of what is inside */
    get corner() {
        return [this.outside.x - this.outside.left + FRAME, this.outside.y + FRAME];
    }

    /**
     * How far a port stands to the right of the axis.
     * @param {Box | undefined} box
     * @returns {number}
     */
    port(box) {
        return (box?.x ?? 0) + FRAME - this.outside.left;
    }
}

/**
 * Place what is inside of each frame, inner ones first, then everything.
 * @param {View} seen
 * @returns {Scene}
 */
export function compose(seen) {
    return new Composer(seen).scene();
}

/** Boxes and frames by their keys, while they are placed. */
class Composer {
    /** @param {View} seen */
    constructor(seen) {
        this.seen = seen;
        this.arrived = new Set(seen.lines.map((line) => line.target));
        /** @type {Set<Id>} */
        this.told = new Set();
        for (const { source } of seen.lines) {
            const { box, kind } = this.card(source);
            if (seen.shapes || (box && kind !== "input")) {
                this.told.add(source);
            }
        }
        /** @type {Map<Id, {box: Box, width: number}>} */
        this.boxes = new Map();
        /** @type {Map<Id, Frame>} outer ones first */
        this.frames = new Map([["", new Frame(seen.root, "")]]);
        for (const card of seen.cards.values()) {
            this.boxes.set(card.id, boxOf(card, this.told.has(card.id) ? label(card) : ""));
            this.enter(card);
        }
        seen.lines.forEach((line) => this.lead(line));
    }

    /**
     * Place what is in each frame, inner ones first; then move it to where its frame stands, outer ones first.
     * @returns {Scene}
     */
    scene() {
        /** @type {[number, number]} */
        let size = [0, 0];
        for (const [key, frame] of [...this.frames].reverse()) {
            size = this.place(key, frame);
        }
        const frames = [...this.frames.values()].slice(1);
        /** @type {Scene} */
        const scene = { cards: [], frames, lines: [], labels: [], width: size[0], height: size[1] };
        for (const [key, frame] of this.frames) {
            this.unpack(scene, frame, key ? frame.corner : [0, 0]);
        }
        for (const [id, { box, width: wide }] of this.boxes) {
            const card = this.card(id);
            scene.cards.push({ card, x: box.x - wide / 2, y: box.y + box.inset, width: wide });
            if (box.foot) {
                scene.labels.push({ x: box.x + BESIDE, y: box.y + box.height - 4, words: label(card) });
            }
        }
        return scene;
    }

    /** @param {Id} id @returns {Card} */
    card(id) {
        return /** @type {Card} */ (this.seen.cards.get(id));
    }

    /** @param {Id} key @returns {Frame} */
    frame(key) {
        return /** @type {Frame} */ (this.frames.get(key));
    }

    /** Note in which frames a card stands. @param {Card} card */
    enter(card) {
        let outer = this.frame("");
        for (const key of card.path) {
            if (!this.frames.has(key)) {
                const group = /** @type {Group} */ (this.seen.groups.get(key));
                this.frames.set(key, new Frame(group, cut(this.name(group), 32)));
                outer.items.push(key);
            }
            outer = this.frame(key);
            outer.nodes += card.nodes.length;
        }
        outer.items.push(card.id);
    }

    /** @param {Group} group @returns {string} */
    name(group) {
        if (group.kind === "kernel") {
            return this.seen.kernels.get(/** @type {number} */ (group.number)) ?? "";
        }
        return [...new Set([group.name, group.made])].filter(Boolean).join(" · ");
    }

    /**
     * Lead a line out of the frames around its source, across, and into those around its target.
     *
     * It branches inside of a frame, so a value enters each frame once, and leaves it once.
     * @param {Line} line
     */
    lead(line) {
        const [a, b] = [this.card(line.source), this.card(line.target)];
        const k = meet(a, b);
        this.add(a.path[k - 1] ?? "", line, wayTo(a, k), wayTo(b, k));
        for (let step = k; step < a.path.length; step += 1) {
            this.add(a.path[step], line, wayTo(a, step + 1), null);
            if (step === k && !this.told.has(line.source)) {
                this.frame(a.path[step]).told.add(line.source);
            }
        }
        for (let step = k; step < b.path.length; step += 1) {
            this.add(b.path[step], line, null, wayTo(b, step + 1));
        }
    }

    /** @param {Id} frame @param {Line} line @param {Id | null} source @param {Id | null} target */
    add(frame, line, source, target) {
        const { ways, known } = this.frame(frame);
        if (target === null || this.frames.has(target)) {
            const key = JSON.stringify([line.source, target]);
            if (known.has(key)) {
                return;
            }
            known.add(key);
        }
        ways.push({ line, source, target });
    }

    /**
     * Give a place to all that is in a frame, and to its ports.
     * @param {Id} key
     * @param {Frame} frame
     * @returns {[number, number]}
     */
    place(key, frame) {
        let foot = 0;
        for (const item of frame.items) {
            const box = this.stands(item);
            box.rank = Number(this.seen.ranks.get(item)) + (key ? 1 : 0);
            box.low = !key && !this.frames.has(item) && !this.arrived.has(item);
            foot = Math.max(foot, box.rank);
        }
        for (const way of frame.ways) {
            this.openPorts(frame, way, foot + 1);
            frame.links.push(this.link(frame, way));
        }
        const own = frame.items.map((item) => this.stands(item));
        const members = [...frame.entries.values(), ...own, ...frame.exits.values()];
        if (!key) {
            return place(members, frame.links, GAP);
        }
        const head = new Box(0, Math.max(width(frame.caption, 11, "caps"), width(frame.name, 12, "mono")), HEAD);
        head.first = true;
        const [across, down] = place([head, ...members], frame.links, INNER_GAP);
        frame.outside = new Box(across / 2 + FRAME, across / 2 + FRAME, down + 2 * FRAME - (frame.exits.size ? 4 : 0));
        return [across, down];
    }

    /** @param {Frame} frame @param {Way} way @param {number} foot */
    openPorts(frame, { line, source, target }, foot) {
        if (source === null && !frame.entries.has(line.source)) {
            const box = new Box(2 * LANE, 2 * LANE, HEAD);
            box.lane = true;
            frame.entries.set(line.source, box);
        }
        if (target === null) {
            const told = frame.told.has(line.source);
            const words = told ? 22 + width(label(this.card(line.source)), 11, "mono") : LANE;
            const box = new Box(LANE, words, told ? FOOT : TAIL);
            box.rank = foot;
            box.lane = true;
            frame.exits.set(line.source, box);
        }
    }

    /** What stands for a card or a frame where it is. @param {Id} item @returns {Box} */
    stands(item) {
        return this.frames.get(item)?.outside ?? /** @type {{box: Box}} */ (this.boxes.get(item)).box;
    }

    /** @param {Frame} frame @param {Way} way @returns {Link} */
    link(frame, { line, source, target }) {
        const [from, to] = [this.frames.get(source ?? ""), this.frames.get(target ?? "")];
        const out = source !== null && from ? from.port(from.exits.get(line.source)) : 0;
        const into = target !== null && to ? to.port(to.entries.get(line.source)) : null;
        const begin = source === null ? frame.entries.get(line.source) : this.stands(source);
        const end = target === null ? frame.exits.get(line.source) : this.stands(target);
        return new Link(/** @type {Box} */ (begin), /** @type {Box} */ (end), out, into, this.seen.how !== "kernel");
    }

    /**
     * Move what is inside of a frame to where the frame stands.
     * @param {Scene} scene
     * @param {Frame} frame
     * @param {Point} corner
     */
    unpack(scene, frame, [x, y]) {
        for (const box of [...frame.items.map((item) => this.stands(item)), ...frame.exits.values()]) {
            box.x += x;
            box.y += y;
        }
        for (const [k, { line, source, target }] of frame.ways.entries()) {
            const { points } = frame.links[k];
            for (const point of points) {
                point[0] += x;
                point[1] += y;
            }
            if (target === null) {
                points[points.length - 1][1] = frame.outside.y + frame.outside.height;
            } else if (source === null) {
                points[0][1] = frame.outside.y;
            }
            const head = target !== null && !this.frames.has(target);
            scene.lines.push({ how: (line.thin ? "thin" : "thick") + (head ? " head" : ""), line, points });
        }
        for (const id of frame.told) {
            const box = /** @type {Box} */ (frame.exits.get(id));
            scene.labels.push({ x: box.x + BESIDE, y: box.y + FOOT - 5, words: label(this.card(id)) });
        }
    }
}
