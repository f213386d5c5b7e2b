// Flight: how do nodes travel from pass to pass, at any point in between?
//
//     at(2)      the stage after the third pass, with its lines, chips and captions
//     at(2.5)    half way to the next one: only nodes and kernels, nothing is made anew
//
// A frame of the flight moves groups that are there already, which is why it can be scrubbed.

/** @import { Graph, Pass } from "../../types.js" */
/** @import { Stage } from "./stages.js" */
/** @import { Words } from "./words.js" */

import { clamp } from "../../numbers.js";
import { CARD } from "../../graph/scene.js";
import { s } from "../../dom.js";
import { chipsOf, faceOf } from "./card.js";
import { frameOf, lineOf } from "./pieces.js";
import { stageOf } from "./stages.js";
import { adapt } from "./words.js";

/** @typedef {{stage: Stage, frames: SVGGElement, rest: SVGGElement, words: Words[]}} Layer */
/** @typedef {{root: SVGGElement, face: SVGGElement, shown: number, at: string}} Traveller */

export class Flight {
    /** @type {Map<string, Traveller>} */
    cards = new Map();
    /** @type {(Layer | undefined)[]} */
    layers = [];
    /** @type {Words[]} */
    words = [];
    zoom = 1;
    now = -1;

    /**
     * @param {Graph} graph
     * @param {Pass[]} passes
     * @param {string} uid of the sheet that has the arrow heads
     */
    constructor(graph, passes, uid) {
        this.graph = graph;
        this.passes = passes;
        this.uid = uid;
        this.back = s("g");
        this.middle = s("g", "jt-lines");
        this.front = s("g");
        this.stages = passes.map((pass) => stageOf(graph, pass));
        this.size = {
            width: Math.max(...this.stages.map(({ scene }) => scene.width)),
            height: Math.max(...this.stages.map(({ scene }) => scene.height)),
        };
        for (const stage of this.stages) this.addCards(stage);
    }

    /** @param {Stage} stage */
    addCards({ places }) {
        for (const [id, { card, width: wide }] of places) {
            if (this.cards.has(id)) continue;
            const stored = /** @type {typeof card} */ (Object.assign(Object.create(card), { stored: true }));
            const face = faceOf(stored, wide, this.words);
            const root = s("g", "jt-card", face);
            this.cards.set(id, { root, face, shown: 1, at: "" });
            this.front.append(root);
        }
    }

    /**
     * The place of a card at a pass, or null where it is not drawn as a card.
     * @param {string} id
     * @param {number} pass
     * @returns {[number, number] | null}
     */
    place(id, pass) {
        const { places, left } = this.stages[pass];
        const placed = places.get(id);
        return placed ? [placed.x - left + this.size.width / 2, placed.y] : null;
    }

    /**
     * The rectangle of a card at the pass that is nearest.
     * @param {string} id
     */
    rectangle(id) {
        const pass = Math.round(this.now);
        const [placed, at] = [this.stages[pass].places.get(id), this.place(id, pass)];
        return placed && at ? { x: at[0], y: at[1], width: placed.width, height: CARD } : null;
    }

    /**
     * Go to a point of the flight.
     * @param {number} point 0 is the first pass
     */
    at(point) {
        const last = this.passes.length - 1;
        const t = clamp(point, 0, last);
        const [from, to] = [Math.floor(t), Math.min(last, Math.floor(t) + 1)];
        const part = t - from;
        const eased = part * part * (3 - 2 * part);
        this.layers.forEach((layer, k) => layer && k !== from && k !== to && show(layer, 0, 0));
        if (to !== from) show(this.layer(to), Math.min(1, 2 * part), Math.max(0, 5 * part - 4));
        show(this.layer(from), Math.min(1, 2 - 2 * part), Math.max(0, 1 - 5 * part));
        for (const [id, card] of this.cards) move(card, this.place(id, from), this.place(id, to), eased);
        if (Math.round(this.now) !== Math.round(t)) this.store(Math.round(t));
        this.now = t;
    }

    /** @param {number} pass mark what has an array after this pass */
    store(pass) {
        for (const [id, { face }] of this.cards) {
            face.classList.toggle("jt-stored", Boolean(this.stages[pass].places.get(id)?.card.stored));
        }
    }

    /**
     * What stands still at a pass; made when it is first seen.
     * @param {number} pass
     * @returns {Layer}
     */
    layer(pass) {
        const known = this.layers[pass];
        if (known) return known;
        const stage = this.stages[pass];
        /** @type {Words[]} */
        const words = [];
        const frames = s("g", {}, tilesOf(stage), stage.scene.frames.map((frame) => frameOf(frame, words)));
        const rest = s("g", {}, linesOf(stage, this.uid), chipsOn(stage, words));
        for (const part of [frames, rest]) {
            part.setAttribute("transform", `translate(${(this.size.width / 2 - stage.left).toFixed(1)} 0)`);
        }
        for (const one of words) adapt(one, this.zoom);
        this.back.append(frames);
        this.middle.append(rest);
        const layer = { stage, frames, rest, words };
        this.layers[pass] = layer;
        return layer;
    }

    /** @param {number} zoom */
    detail(zoom) {
        this.zoom = zoom;
        for (const one of [this.words, ...this.layers.map((layer) => layer?.words ?? [])].flat()) adapt(one, zoom);
    }

    /**
     * Light up the lines for which it holds, in all layers.
     * @param {(source: number, target: number) => boolean} holds
     */
    markLines(holds) {
        for (const layer of this.layers) {
            layer?.stage.scene.lines.forEach(({ line }, k) => {
                const on = holds(Number(line.source), Number(line.target));
                layer.rest.children[k]?.classList.toggle("jt-on", on);
            });
        }
    }
}

/** @param {Layer} layer @param {number} frames @param {number} rest how much of each is seen */
function show(layer, frames, rest) {
    for (const [part, seen] of /** @type {[SVGGElement, number][]} */ ([[layer.frames, frames], [layer.rest, rest]])) {
        part.style.display = seen ? "" : "none";
        part.style.opacity = `${seen}`;
    }
}

/**
 * @param {Traveller} card
 * @param {[number, number] | null} from
 * @param {[number, number] | null} to
 * @param {number} part
 */
function move(card, from, to, part) {
    const [a, b] = [from ?? to, to ?? from];
    const shown = (from ? 1 - part : 0) + (to ? part : 0);
    if (shown !== card.shown) {
        card.root.style.display = shown ? "" : "none";
        card.root.style.opacity = `${shown}`;
        card.shown = shown;
    }
    if (!a || !b || !shown) return;
    const at = `translate(${(a[0] + (b[0] - a[0]) * part).toFixed(1)} ${(a[1] + (b[1] - a[1]) * part).toFixed(1)})`;
    if (at !== card.at) card.root.setAttribute("transform", at);
    card.at = at;
}

/** @param {Stage} stage */
function tilesOf({ tiles }) {
    return tiles.map((box) => s("rect", { class: "jt-tile", ...box, rx: 14 }));
}

/** @param {Stage} stage @param {string} uid */
function linesOf({ scene }, uid) {
    return scene.lines.map((drawn, k) => lineOf(drawn, k, uid));
}

/** @param {Stage} stage @param {Words[]} words */
function chipsOn({ scene }, words) {
    return scene.cards.map(({ card, x, y, width: wide }) => {
        return s("g", { transform: `translate(${x} ${y})` }, chipsOf(card, wide, words));
    });
}
