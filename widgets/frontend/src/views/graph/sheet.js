// Sheet: how is a scene shown, and how does it become the next one?
//
//     frames · lines · labels · cards · a ghost arc      layers, from back to front
//
// A card that is in both scenes moves from its old place to its new one; the anchor stays where it is on the screen.
// What happens to a card under the pointer is told to whoever made the sheet. Nothing here knows pages or selections.

/** @import { Placed, Scene } from "../../graph/scene.js" */
/** @import { Rectangle } from "./camera.js" */
/** @import { Words } from "./words.js" */

import { tween } from "../../motion.js";
import { CARD, pad, title } from "../../graph/scene.js";
import { width } from "../../graph/text.js";
import { clear, h, s } from "../../dom.js";
import { clamp } from "../../numbers.js";
import { Camera, LEAST, READABLE, TITLES } from "./camera.js";
import { draw, markOf, precision, put } from "./card.js";
import { Minimap } from "./minimap.js";
import { namesOver } from "./names.js";
import { frameOf, heads, keyOf, lineOf, rectangleOf } from "./pieces.js";
import { arc } from "./shapes.js";
import { LEAST as LETTERS, TIMES, adapt, levelOf } from "./words.js";
import "./graph.css";

/** @typedef {import("./card.js").Drawn & {placed: Placed}} Shown */
/**
 * What a sheet tells: `id` is of a card, `line` a place in `scene.lines`, `chip` its side and place.
 * @typedef {object} Hear
 * @property {(id: string) => void} pick a click
 * @property {(id: string) => void} open a double click
 * @property {(key: string) => void} close a double click on a frame
 * @property {(what: {id?: string, line?: number, chip?: string} | null) => void} over the pointer, or nothing
 * @property {(id: string, chip: string) => void} chip a click on a chip
 */

const TWEEN = 240; // milliseconds

export class Sheet {
    /** @type {Map<string, Shown>} */
    cards = new Map();
    /** @type {Scene | null} */
    scene = null;
    /** @type {Words[]} */
    words = [];
    stop = () => {};

    /**
     * @param {string} uid
     * @param {Hear} hear
     * @param {() => boolean} reduced
     */
    constructor(uid, hear, reduced) {
        this.uid = uid;
        this.hear = hear;
        this.reduced = reduced;
        this.frames = s("g");
        this.lines = s("g", "jt-lines");
        this.labels = s("g");
        this.faces = s("g");
        this.ghost = s("path", "jt-ghost");
        this.names = s("g", { class: "jt-names", "aria-hidden": "true" });
        this.world = s("g", {}, this.frames, this.lines, this.labels, this.faces, this.ghost, this.names);
        this.svg = s("svg", { role: "group", "aria-label": "graph" }, heads(uid), this.world);
        this.window = h("div", "jt-sheet jt-graph", this.svg);
        this.camera = new Camera(this.window, this.world, (zoom) => this.detail(zoom));
        this.camera.tiny = true;
        this.map = new Minimap(this.camera);
        this.listen();
    }

    listen() {
        const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ hear) => {
            this.svg.addEventListener(name, hear);
        };
        on("click", (event) => {
            const { id, chip } = pointed(event);
            if (id && chip) this.hear.chip(id, chip);
            else if (id) this.hear.pick(id);
        });
        on("dblclick", (event) => {
            const { id, chip, frame } = pointed(event);
            if (id && !chip) this.hear.open(id);
            else if (frame) this.hear.close(frame);
        });
        on("pointerover", (event) => this.hear.over(pointed(event)));
        on("pointerleave", () => this.hear.over(null));
    }

    /**
     * Show a scene. With an anchor, that card (or frame) stays where it is on the screen, else the width is fitted.
     * @param {Scene} scene
     * @param {string} [anchor]
     */
    show(scene, anchor) {
        const [before, old] = [anchor ? this.seen(anchor) : null, this.places()];
        this.scene = scene;
        this.words = [];
        this.paintFrames(scene);
        this.paintLines(scene);
        this.paintCards(scene);
        this.map.paint(scene);
        this.camera.size = { width: scene.width, height: scene.height, home: homeOf(scene) };
        this.camera.legible = [legibleOf(scene), READABLE];
        const after = before && anchor ? this.seen(anchor) : null;
        const { camera } = this;
        if (before && after) {
            camera.shift(before[0] - after[0], before[1] - after[1]);
            camera.reveal(/** @type {Rectangle} */ (this.rectangle(anchor ?? "")));
        } else camera.fit();
        this.detail(this.camera.zoom);
        this.tween(old);
    }

    /**
     * Where a card or a frame is in the window.
     * @param {string} key
     */
    seen(key) {
        const part = this.rectangle(key);
        return part && this.camera.seen(part.x, part.y);
    }

    /**
     * The place of a card, or of the frame of that key.
     * @param {string} key
     * @returns {Rectangle | null}
     */
    rectangle(key) {
        const placed = this.cards.get(key)?.placed;
        if (placed) return { x: placed.x, y: placed.y, width: placed.width, height: CARD };
        const frame = this.scene?.frames.find((one) => keyOf(one) === key);
        return frame ? { ...rectangleOf(frame), height: CARD } : null;
    }

    /** @returns {Map<string, [number, number]>} where each card is in the window */
    places() {
        return new Map([...this.cards].map(([id, { placed }]) => [id, this.camera.seen(placed.x, placed.y)]));
    }

    /** @param {Scene} scene */
    paintFrames(scene) {
        clear(this.frames).append(...scene.frames.map((frame) => frameOf(frame, this.words)));
    }

    /** @param {Scene} scene */
    paintLines(scene) {
        clear(this.lines).append(...scene.lines.map((drawn, k) => lineOf(drawn, k, this.uid)));
        const labels = scene.labels.map(({ x, y, words }) => {
            const text = put(this.words, words, "mono", width(words, 11, "mono"), [11, 1], x, [y, y]);
            text.classList.add("m", ...precision(words));
            return text;
        });
        clear(this.labels).append(...labels);
    }

    /** @param {Scene} scene */
    paintCards(scene) {
        const old = this.cards;
        this.cards = new Map();
        const roots = scene.cards.map((placed) => {
            const id = `${placed.card.id}`;
            const known = old.get(id);
            const same = known && known.mark === markOf(placed.card, placed.width);
            const drawn = same ? known : draw(placed.card, placed.width);
            if (!known) drawn.root.classList.add("jt-new");
            this.cards.set(id, { ...drawn, placed });
            this.words.push(...drawn.words);
            return drawn.root;
        });
        const focused = this.focused;
        this.faces.replaceChildren(...roots);
        for (const id of this.cards.keys()) this.put(id, 0, 0);
        if (focused) this.focus(focused);
    }

    /** @returns {string | null} the id of the card that has the focus */
    get focused() {
        const active = /** @type {Document | ShadowRoot} */ (this.window.getRootNode()).activeElement;
        return (active && this.svg.contains(active) && active.getAttribute("data-id")) || null;
    }

    /** @param {string} id @param {number} dx @param {number} dy how far it still is from its place */
    put(id, dx, dy) {
        const shown = this.cards.get(id);
        if (!shown) return;
        const [x, y] = [shown.placed.x + dx, shown.placed.y + dy];
        shown.root.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    }

    /**
     * Let the cards travel from where they were in the window.
     * @param {Map<string, [number, number]>} old
     */
    tween(old) {
        this.stop();
        const { zoom } = this.camera;
        const ways = [...this.cards].flatMap(([id, { placed }]) => {
            const [from, to] = [old.get(id), this.camera.seen(placed.x, placed.y)];
            const [dx, dy] = from ? [(from[0] - to[0]) / zoom, (from[1] - to[1]) / zoom] : [0, 0];
            return Math.abs(dx) + Math.abs(dy) > 0.5 ? [{ id, dx, dy }] : [];
        });
        this.window.classList.remove("jt-travel");
        if (!ways.length || this.reduced()) return;
        this.window.classList.add("jt-travel");
        this.stop = tween(TWEEN, (part) => {
            const rest = (1 - part) ** 3;
            for (const { id, dx, dy } of ways) this.put(id, dx * rest, dy * rest);
            if (part === 1) this.window.classList.remove("jt-travel");
        });
    }

    /** @param {number} zoom */
    detail(zoom) {
        this.window.dataset.level = `${levelOf(zoom)}`;
        for (const one of this.words) adapt(one, zoom);
        clear(this.names).append(...(zoom < LEAST && this.scene ? namesOver(this.scene, zoom) : []));
    }

    /**
     * Give a card the focus, and bring it into the window unless nothing may move.
     * @param {string} id
     * @param {boolean} [still]
     */
    focus(id, still = false) {
        const shown = this.cards.get(id);
        if (!shown) return;
        shown.face.focus({ preventScroll: true });
        if (!still) this.camera.reveal({ ...shown.placed, height: CARD });
    }

    /** Bring a card or a frame into plain sight. @param {string} id @param {Element} panel may lie over the sheet */
    approach(id, panel) {
        const place = this.rectangle(id);
        const [mine, over] = [this.window, panel].map((part) => part.getBoundingClientRect());
        const covered = over.left < mine.right ? Math.max(0, mine.bottom - Math.max(mine.top, over.top)) : 0;
        if (place) this.camera.approach(place, covered);
    }

    /**
     * Give every card the classes that hold for it, and take them from the others.
     * @param {Record<string, (id: string) => boolean>} classes
     */
    mark(classes) {
        for (const [id, { root }] of this.cards) {
            for (const [name, holds] of Object.entries(classes)) root.classList.toggle(name, holds(id));
        }
    }

    /**
     * Show where lines would go from one card to others; without others, none.
     * @param {string} from
     * @param {string[]} ends
     */
    haunt(from, ends) {
        const a = this.rectangle(from);
        const arcs = ends.map((id) => {
            const b = this.rectangle(id);
            return a && b ? arc([a.x + a.width, a.y + CARD / 2], [b.x + b.width, b.y + CARD / 2]) : "";
        });
        this.ghost.setAttribute("d", arcs.join(""));
    }

    close() {
        this.stop();
        this.camera.close();
    }
}

/**
 * The middle of what comes first: where there is something to see although a drawing is wider than the window.
 * @param {Scene} scene
 */
function homeOf({ cards }) {
    const first = cards.reduce((a, b) => (b.y < a.y ? b : a), cards[0]);
    return first ? first.x + first.width / 2 : 0;
}

/**
 * The smallest zoom at which the names of layers are whole; those of inputs, repeats and operators may end in "…".
 * @param {Scene} scene
 */
function legibleOf({ cards }) {
    const needs = cards.map(({ card, width: wide }) => {
        const name = title(card).join(" ").trim();
        const layer = card.box && card.kind !== "input" && !TIMES.test(name);
        return layer ? width(name, LETTERS, "bold") / (wide - 2 * pad(card)) : LEAST;
    });
    return clamp(Math.max(...needs), LEAST, TITLES);
}

/**
 * What an event is at.
 * @param {Event} event
 * @returns {{id?: string, line?: number, chip?: string, frame?: string}}
 */
export function pointed(event) {
    const target = /** @type {Element} */ (event.target);
    const card = target.closest(".jt-card");
    const line = target.closest("[data-line]");
    if (line) return { line: Number(line.getAttribute("data-line")) };
    if (!card) return { frame: target.closest("[data-frame]")?.getAttribute("data-frame") ?? undefined };
    const id = card.querySelector("[data-id]")?.getAttribute("data-id") ?? undefined;
    return { id, chip: target.closest("[data-chip]")?.getAttribute("data-chip") ?? undefined };
}
