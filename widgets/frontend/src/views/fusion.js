// FusionLens: how do the operators of a graph become its kernels, and why?
//
//     slider              one stop for each pass; nodes travel into the kernel that absorbs them
//     counters            kernels, bytes moved, temporaries, at the pass that is nearest
//     beside              the rules by name, or the edges of the node that is chosen: why, or why not
//     predict             mark what will share a kernel, then compare with the plan
//
// The passes were made in Python (jt_edu/lens/fusion_passes.py); nothing here decides what is fused.

/** @import { Context, ViewKind } from "../types.js" */

import { alone, isButton, press, soft, walkButtons } from "../controls.js";
import { clear, h, s } from "../dom.js";
import { tween } from "../motion.js";
import { nodesOf, wordsOf } from "../names.js";
import { bytesText, clamp, count } from "../numbers.js";
import { together } from "./graph/bar.js";
import { Camera, LEAST, PANEL_KEYS, TITLES } from "./graph/camera.js";
import { Flight } from "./graph/flight.js";
import { Guess } from "./graph/guess.js";
import { Ledger } from "./graph/ledger.js";
import { namesOver } from "./graph/names.js";
import { heads } from "./graph/pieces.js";
import { next, waysOf } from "./graph/walk.js";
import { pointed } from "./graph/sheet.js";
import { levelOf } from "./graph/words.js";
import "./graph/fusion.css";

const TWEEN = 700; // milliseconds from pass to pass
const HIGH = 400; // pixels of the sheet: slider, figures and graph are seen together
const NAMES = /** @type {const} */ (["kernels", "bytes", "temporaries"]);

/** @type {ViewKind} */
export const fusion = {
    name: "fusion",
    title: "Fusion",
    about: "Each stop of the slider is a pass that joins kernels. The rules say why an edge was fused (⊕), or cut (✂).",
    keys: [
        ["[ ]", "the pass before, the next pass"],
        ["← ↑ ↓ →", "along edges and to the boxes beside"],
        ["p", "predict what will share a kernel"],
        ["Space", "while predicting: mark the box"],
        ["n", "while predicting: a new group"],
        ["r", "while predicting: reveal"],
        ["a", "all rules"],
        ...PANEL_KEYS,
    ],
    draw: (context) => {
        return context.page.passes.length ? new Lens(context) : empty(context);
    },
};

/** @param {Context} context */
function empty({ root }) {
    clear(root).append(soft("This page says nothing about passes."));
    return { table: () => ({ columns: ["pass"], rows: [] }) };
}

/** The view, and what `Guess` needs of it. */
export class Lens {
    stop = () => {};
    point = 0;
    /** @type {string | null} */
    chosen = null;

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        const { page, uid } = context;
        this.passes = page.passes;
        this.flight = new Flight(page.graph, this.passes, uid);
        const boxes = new Map([...this.flight.cards.keys()].map((id) => [Number(id), id]));
        this.ways = waysOf(page.graph.edges.map((edge) => /** @type {const} */ ([edge.source, edge.target])), boxes);
        this.ledger = new Ledger(page, (holds) => this.flight.markLines(holds), (id) => this.choose(`${id}`));
        this.guess = new Guess(this);
        this.lasso = s("path", "jt-lasso");
        this.names = s("g", { class: "jt-names", "aria-hidden": "true" });
        this.world = s("g", {}, this.flight.back, this.flight.middle, this.flight.front, this.lasso, this.names);
        this.window = h("div", "jt-sheet jt-graph jt-flying");
        this.camera = new Camera(this.window, this.world, (zoom) => this.detail(zoom));
        this.build();
        this.listen();
        this.move(clamp(context.state.get("pass", 0), 0, this.passes.length - 1));
        if (context.state.get("predict", false)) this.guess.start();
    }

    build() {
        const { uid, root } = this.context;
        this.svg = s("svg", { role: "group", "aria-label": "passes" }, heads(uid), this.world);
        this.window.append(this.svg);
        this.why = h("p", "jt-why");
        this.panel = h("div", "jt-panel", this.ledger.element, this.guess.element);
        const both = h("div", "jt-beside", this.window, this.panel);
        clear(root).append(this.bar(), this.counters(), this.why, both);
        Object.assign(this.camera, { size: this.flight.size, legible: [TITLES, LEAST], high: HIGH, tiny: true });
        this.camera.fit();
        this.detail(this.camera.zoom);
    }

    /** @param {number} zoom */
    detail(zoom) {
        this.window.dataset.level = `${levelOf(zoom)}`;
        this.flight.detail(zoom);
        this.name();
    }

    /** Names over boxes that have no room for words, as they stand at the pass that is nearest. */
    name() {
        const { stage: { scene, left }, camera: { zoom }, flight: { size } } = this;
        this.names.setAttribute("transform", `translate(${(size.width / 2 - left).toFixed(1)} 0)`);
        clear(this.names).append(...(zoom < LEAST ? namesOver(scene, zoom) : []));
    }

    bar() {
        const last = this.passes.length - 1;
        this.slider = h("input", {
            type: "range", min: 0, max: last, step: "any", "aria-label": "pass",
            onkeydown: (/** @type {KeyboardEvent} */ event) => this.slide(event),
            oninput: () => this.move(Number(this.slider?.value), false),
            onchange: () => this.fly(Math.round(Number(this.slider?.value))),
        }); // prettier-ignore
        this.stops = this.passes.map(({ name }, k) => {
            return h("button", { class: "jt-stop", type: "button", onclick: () => this.fly(k) }, name);
        });
        return h("div", "jt-passes", this.slider, h("div", "jt-stops", this.stops));
    }

    counters() {
        this.figures = NAMES.map((name) => ({
            name,
            number: h("strong"),
            words: h("span", "jt-soft"),
            bar: h("i"),
        }));
        const boxes = this.figures.map(({ number, words, bar }) => {
            return h("div", "jt-figure", number, " ", words, h("div", "jt-part", bar));
        });
        return h("div", "jt-figures", boxes, together(...this.camera.buttons()), this.guess.button);
    }

    listen() {
        const svg = /** @type {SVGSVGElement} */ (this.svg);
        svg.addEventListener("click", (event) => {
            const { id, line } = this.pointed(event);
            if (id) this.choose(id, true);
            else if (line) this.ledger.edge(...line);
        });
        svg.addEventListener("pointerover", (event) => {
            const { id, line } = this.pointed(event);
            if (id || line) this.ledger.over(id ? Number(id) : null, line);
        });
        svg.addEventListener("pointerleave", () => this.ledger.over(null, null));
        this.context.bus.on((selection) => {
            const nodes = nodesOf(this.context.page, selection);
            const on = new Set(nodes);
            for (const [id, { root }] of this.flight.cards) root.classList.toggle("jt-on", on.has(Number(id)));
            const here = nodes.find((id) => this.context.page.nodes.has(id));
            if (selection.from !== this.context.uid && here !== undefined) this.ledger.node(here);
        });
    }

    /**
     * The card that an event is at, or source and target of the line.
     * @param {Event} event
     * @returns {{id: string | null, line: [number, number] | null}}
     */
    pointed(event) {
        const { id = null, line } = pointed(event);
        const drawn = line === undefined ? undefined : this.stage.scene.lines[line]?.line;
        return { id, line: drawn ? [Number(drawn.source), Number(drawn.target)] : null };
    }

    /** @returns {import("./graph/stages.js").Stage} the stage of the nearest pass */
    get stage() {
        return this.flight.stages[Math.round(this.point)];
    }

    /**
     * Go to a point between the passes at once.
     * @param {number} point
     * @param {boolean} [slide] whether the slider follows
     */
    move(point, slide = true) {
        if (slide) this.stop();
        this.show(point);
        if (slide && this.slider) this.slider.value = `${point}`;
    }

    /** @param {number} point */
    show(point) {
        const [before, now] = [Math.round(this.point), Math.round(point)];
        this.point = point;
        this.flight.at(point);
        if (before !== now || !this.why?.textContent) this.tell(now);
    }

    /** @param {number} pass what its counters and its sentence say */
    tell(pass) {
        const [step, first] = [this.passes[pass], this.passes[0]];
        for (const { name, number, words, bar } of this.figures ?? []) {
            number.textContent = name === "bytes" ? bytesText(step.bytes) : `${step[name]}`;
            words.textContent = wordsFor(name, step);
            const most = Math.max(...this.passes.map((one) => one[name]), 1);
            bar.style.width = `${(100 * step[name]) / most}%`;
        }
        if (this.why) this.why.textContent = this.sentence(pass);
        this.name();
        this.stops?.forEach((stop, k) => press(stop, k === pass));
        this.slider?.setAttribute("aria-valuetext", step.name);
        const left = first.kernels === step.kernels ? "" : ` of ${first.kernels}`;
        this.context.say(`${step.name}: ${step.kernels}${left} kernels, ${bytesText(step.bytes)} moved.`);
    }

    /** @param {number} pass what it does, and what of it cannot be seen */
    sentence(pass) {
        const [{ name, why, groups }, before] = [this.passes[pass], this.passes[pass - 1]];
        const same = before && Object.keys(groups).every((id) => groups[id] === before.groups[id]);
        const words = [`${name[0].toUpperCase()}${name.slice(1)}: ${why}`, same && "Here it changes nothing."];
        return [...words, ...this.flight.stages[pass].notes].filter(Boolean).join(" ");
    }

    /**
     * Travel to a pass.
     * @param {number} pass
     */
    fly(pass) {
        const to = clamp(pass, 0, this.passes.length - 1);
        this.context.state.set("pass", to);
        this.stop();
        const from = this.point;
        if (this.context.reduced() || from === to) return this.move(to);
        this.stop = tween(clamp(TWEEN * Math.abs(to - from), 280, 1600), (part) => {
            this.show(from + (to - from) * part);
            if (this.slider) this.slider.value = `${this.point}`;
        });
    }

    /**
     * Choose a node: its edges are told, and all views hear of it.
     * @param {string} id
     * @param {boolean} [pointed] not walked to
     */
    choose(id, pointed = false) {
        this.chosen = id;
        const node = this.context.page.nodes.get(Number(id));
        const card = this.flight.cards.get(id);
        if (!node || !card) return;
        card.face.focus({ preventScroll: true });
        const place = this.flight.rectangle(id);
        if (place) this.camera.reveal(place);
        if (this.guess.on && pointed) return this.guess.toggle(node.id);
        const kernel = node.kernel === null ? null : (this.context.page.kernels[node.kernel]?.key ?? null);
        this.context.bus.select({ nodes: [node.id], kernel });
        this.ledger.node(node.id);
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (!alone(event)) return false;
        if (isButton(event, /** @type {Element} */ (this.panel))) {
            return walkButtons(/** @type {Element} */ (this.panel), event.key, () => this.choose(this.chosen ?? ""));
        }
        const act = this.guess.key(event.key) ?? this.actions()[event.key];
        if (act) act();
        else if (/^(Arrow|Home$|End$)/.test(event.key)) this.walk(event.key);
        else return false;
        return true;
    }

    /** @returns {Record<string, () => void>} */
    actions() {
        const here = Math.round(this.point);
        return {
            "[": () => this.fly(here - 1),
            "]": () => this.fly(here + 1),
            ...this.camera.keys,
            p: () => this.guess.start(),
            a: () => this.guess.rules(),
            e: () => walkButtons(/** @type {Element} */ (this.panel), "Home"),
        };
    }

    /** @param {KeyboardEvent} event on the slider, whose own steps would be far smaller than a pass */
    slide(event) {
        const here = Math.round(this.point);
        const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
        if (!by || !alone(event)) return;
        event.preventDefault();
        this.fly(here + by);
    }

    /** @param {string} key */
    walk(key) {
        const spots = [...this.flight.cards.keys()].flatMap((id) => {
            const place = this.flight.rectangle(id);
            return place ? [{ id, ...place }] : [];
        });
        const to = next(key, this.chosen, spots, this.ways);
        if (to) this.choose(to);
        const node = to && this.context.page.nodes.get(Number(to));
        if (node) this.context.say(wordsOf(node));
    }

    table() {
        const columns = ["pass", "kernels", "bytes moved", "temporaries", "why"];
        const rows = this.passes.map((one) => {
            return [one.name, one.kernels, bytesText(one.bytes), temporaries(one), one.why];
        });
        return { columns, rows };
    }

    close() {
        this.stop();
        this.camera.close();
    }
}

/** @param {typeof NAMES[number]} name @param {import("../types.js").Pass} step */
function wordsFor(name, step) {
    if (name === "kernels") return step.kernels === 1 ? "kernel" : "kernels";
    if (name === "bytes") return "read and written";
    const size = step.temporaries ? `, ${bytesText(step.temporary_bytes)}` : "";
    return `${step.temporaries === 1 ? "temporary" : "temporaries"}${size}`;
}

/** @param {import("../types.js").Pass} step */
function temporaries(step) {
    return step.temporaries ? `${count(step.temporaries, "array")}, ${bytesText(step.temporary_bytes)}` : "none";
}
