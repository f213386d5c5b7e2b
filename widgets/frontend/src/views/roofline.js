// Roofline: which kernels wait for memory, which for arithmetic, and how far are they from this machine's best?
//
//     a dot         operations per byte moved (across), operations per second (up); its area is the time it takes
//     the roofs     what the machine was measured to do; the slope is memory, the flat part arithmetic
//     the switch    the same with each operator a kernel of its own: dots split and move
//
// Python counted, timed and judged; here that is drawn. Kernels without a place stand in a list below the plot.

/** @import { Context, Drawn, Selection, ViewKind } from "../types.js" */
/** @import { Axis, Plot } from "../chart.js" */
/** @import { Kernel, Machine, Place } from "./roofline/model.js" */

import { along, areaOf, captions, LETTER, letters, line, mark, plot } from "../chart.js";
import { alone, button, press } from "../controls.js";
import { clear, h, s } from "../dom.js";
import { entry, sample } from "../legend.js";
import { names } from "../lit.js";
import { tween } from "../motion.js";
import { bytesText, clamp, grouped, millisText } from "../numbers.js";
import "../chart.css";
import {
    COLUMNS, axes, backwards, between, journey, lesserRoofs, placesOf, row, sectionOf, shortened,
} from "./roofline/model.js";

const HEIGHT = 380;
const TRAVEL = 600; // milliseconds
const WAYS = /** @type {const} */ (["fused", "unfused"]);

/** @type {ViewKind} */
export const roofline = {
    name: "roofline",
    title: "Roofline",
    about: "A dot is a kernel: to the right more operations a byte, up more a second. The slope is memory's limit.",
    keys: [
        ["← →", "the kernel with fewer, more operations per byte"], ["↑ ↓", "the kernel that takes longer, shorter"],
        ["Enter", "select it in all views"], ["u", "fused, or each operator alone"],
    ],
    draw: (context) => new Roofline(context),
};

/** @implements {Drawn} */
class Roofline {
    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.section = sectionOf(context.page);
        this.way = this.section.ways.unfused && context.state.get("way", "fused") === "unfused" ? WAYS[1] : WAYS[0];
        this.at = -1;
        this.stop = () => {};
        this.detail = h("p", "jt-plot-detail");
        this.stage = h("div");
        this.rest = h("div");
        this.switches = WAYS.map((way) => this.switchTo(way));
        this.headline = h("span", "jt-soft");
        const bar = h("div", "jt-bar", this.switches, this.headline);
        clear(context.root).append(bar, this.stage, this.detail, legend(), this.rest);
        this.watch = new ResizeObserver(() => this.resize());
        this.watch.observe(this.stage);
        context.bus.on((selection) => this.light(selection));
        this.redraw();
    }

    table() {
        return { columns: COLUMNS, rows: this.kernels().map(row) };
    }

    close() {
        this.watch.disconnect();
        this.stop();
    }

    /** @param {"fused" | "unfused"} way */
    switchTo(way) {
        const words = way === "fused" ? "Fused" : "Each operator alone";
        const none = way === "unfused" && !this.section.ways.unfused;
        const why = "Not recorded: a trace holds one way only, or it would need too much memory";
        const title = none ? why : `${words} (u)`;
        return button(words, title, () => this.go(way), { "aria-pressed": `${way === this.way}`, disabled: none });
    }

    kernels() {
        return this.section.ways[this.way] ?? [];
    }

    resize() {
        if (Math.abs(this.stage.clientWidth - (this.plane?.root.clientWidth ?? 0)) > 1) this.redraw();
    }

    redraw() {
        this.stop();
        const width = Math.max(360, this.stage.clientWidth || 720);
        const [x, y] = axes(this.section);
        this.plane = plot({ width, height: HEIGHT, x, y, label: this.context.page.summary });
        this.layer = s("g");
        this.words = s("g");
        this.plane.over.append(this.layer, this.words);
        this.taken = drawRoofs(this.plane, this.section.machine, x, y);
        clear(this.stage).append(this.plane.root);
        this.places = placesOf(this.kernels(), this.plane);
        this.put(this.places, true);
        this.head();
        this.fillRest();
        this.tell(this.places[this.at]?.kernel);
    }

    /**
     * @param {Place[]} places
     * @param {boolean} named whether names stand beside the dots
     */
    put(places, named) {
        const layer = clear(/** @type {SVGGElement} */ (this.layer));
        this.dots = places.map((place, number) => this.dot(place, number));
        layer.append(...this.dots);
        this.caption(named ? places : []);
        this.light(this.context.bus.current());
    }

    /** What this way tells, which the summary above the view does for the other one. */
    head() {
        const words = this.section.summaries?.[this.way] ?? this.context.page.summary;
        this.headline.replaceChildren(this.way === "fused" ? "" : words);
        this.plane?.root.setAttribute("aria-label", words);
        return words;
    }

    /**
     * Names beside those dots where there is room: the chosen one is the first to take its place.
     * @param {Place[]} places
     */
    caption(places) {
        const chosen = this.places?.[this.at];
        const order = [...places].sort((a, b) => Number(b === chosen) - Number(a === chosen));
        const marks = order.map(({ kernel, x, y, r }) => ({ x, y, r: r * 1.2, words: shortened(kernel.name) }));
        const found = captions(marks, /** @type {Plot} */ (this.plane).box, this.taken);
        const texts = found.map((where, number) => where && s("text", {
            class: "jt-plot-caption", x: where.x, y: where.y, "text-anchor": where.anchor,
        }, marks[number].words));
        this.words?.replaceChildren(...texts.filter((text) => text !== null));
    }

    /**
     * @param {Place} place
     * @param {number} number
     */
    dot({ kernel, x, y, r }, number) {
        const shape = kernel.bound === "memory" ? "circle" : "diamond";
        return s("path", {
            class: `jt-plot-dot jt-plot-${kernel.bound}`, d: mark(shape, r, x, y),
            "data-key": kernel.key, "data-name": kernel.name,
            onpointerenter: () => this.tell(kernel), onpointerleave: () => this.tell(this.places?.[this.at]?.kernel),
            onclick: () => this.choose(number),
        });
    }

    /** @param {Kernel | undefined} kernel */
    tell(kernel) {
        if (!kernel) {
            clear(this.detail).append(h("span", "jt-soft", "Point at a dot, or press ← and →."));
            return;
        }
        const time = `${millisText(kernel.ms)}${kernel.times > 1 ? `, ran ${grouped(kernel.times)} times` : ""}`;
        const facts = `${time} · ${bytesText(kernel.bytes)} moved · ${grouped(kernel.flops)} operations`;
        const name = h("strong", {}, kernel.name);
        clear(this.detail).append(name, ` ${kernel.sentence}`, h("br"), h("span", "jt-soft", facts));
    }

    /** @param {number} number */
    choose(number) {
        const kernel = this.places?.[number]?.kernel;
        if (!kernel) return;
        this.at = number;
        this.caption(this.places ?? []);
        this.tell(kernel);
        this.context.bus.select({ nodes: kernel.nodes, kernel: this.way === "fused" ? kernel.key : null });
        this.context.say(`${kernel.name}: ${kernel.sentence}`);
    }

    /** @param {Selection} selection */
    light(selection) {
        this.dots?.forEach((dot, number) => {
            dot.classList.toggle("jt-on", names(selection, this.places?.[number]?.kernel));
        });
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (!alone(event)) return false;
        const last = (this.places?.length ?? 0) - 1;
        const beside = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (event.key === "u" && this.section.ways.unfused) this.go(this.way === "fused" ? "unfused" : "fused");
        else if (event.key === "ArrowDown") this.look(Math.min(this.at + 1, last));
        else if (event.key === "ArrowUp") this.look(Math.max(this.at - 1, 0));
        else if (beside !== undefined) this.look(this.beside(beside));
        else if (event.key === "Enter" && this.at >= 0) this.choose(this.at);
        else return false;
        return true;
    }

    /**
     * The kernel that is next in operations per byte.
     * @param {number} step
     */
    beside(step) {
        const order = (this.places ?? []).map((place, number) => ({ x: place.x, number })).sort((a, b) => a.x - b.x);
        const now = order.findIndex(({ number }) => number === this.at);
        return order[clamp(now + step, 0, order.length - 1)]?.number ?? -1;
    }

    /** @param {number} number */
    look(number) {
        this.at = number;
        this.dots?.forEach((dot, place) => dot.classList.toggle("jt-plot-here", place === number));
        const kernel = this.places?.[number]?.kernel;
        this.caption(this.places ?? []);
        this.tell(kernel);
        if (kernel) this.context.say(`${kernel.name}: ${kernel.sentence}`);
    }

    /** @param {"fused" | "unfused"} way */
    go(way) {
        if (way === this.way || !this.section.ways[way]) return;
        this.stop();
        const [from, before] = [this.places ?? [], this.way];
        this.way = way;
        this.at = -1;
        this.context.state.set("way", way);
        this.switches.forEach((one, number) => press(one, WAYS[number] === way));
        this.places = placesOf(this.kernels(), /** @type {Plot} */ (this.plane));
        this.fillRest();
        this.tell(undefined);
        this.context.say(this.head());
        if (this.context.reduced()) this.put(this.places, true);
        else this.travel(before === "fused" ? journey(from, this.places) : journey(this.places, from).map(backwards));
    }

    /** @param {{place: Place, from: Place}[]} moves */
    travel(moves) {
        this.stop = tween(TRAVEL, (part) => {
            const done = part * part * (3 - 2 * part);
            if (part === 1) this.put(this.places ?? [], true);
            else this.put(moves.map(({ place, from }) => between(from, place, done)), false);
        });
    }

    fillRest() {
        const left = this.kernels().filter((kernel) => !kernel.has_place);
        const words = new Set(left.map((one) => one.sentence));
        const rows = [...words].map((sentence) => {
            const same = left.filter((one) => one.sentence === sentence);
            const names = same.map((one) => `${one.name} ${millisText(one.ms)}`).join(", ");
            return h("li", {}, `${sentence}: `, h("span", "jt-mono", names));
        });
        clear(this.rest);
        if (!rows.length) return;
        this.rest.append(h("p", "jt-plot-note", "Without a place on the plot:"), h("ul", "jt-plot-left-out", rows));
    }
}

/**
 * @param {Plot} plane
 * @param {Machine} machine
 * @param {Axis} x
 * @param {Axis} y
 * @returns {number[][]} the areas that are taken now
 */
function drawRoofs(plane, machine, x, y) {
    const { flops, bandwidth } = machine;
    const begin = Math.max(x.from, y.from / bandwidth);
    const taken = roof(plane, [[begin, begin * bandwidth], [flops / bandwidth, flops], [x.to, flops]], "jt-plot-roof");
    const words = `memory ${letters(bandwidth)}B/s`;
    const [long, fromX, fromY] = [words.length * LETTER + 14, plane.x(begin), plane.y(begin * bandwidth)];
    const rise = (plane.y(flops) - fromY) / (plane.x(flops / bandwidth) - fromX);
    taken.push(roofName(plane, [fromX + long - 8, fromY + rise * long - 6, "end"], words));
    taken.push(roofName(plane, [plane.x(x.to) - 2, plane.y(flops) - 6, "end"], `peak ${letters(flops)}flop/s`));
    for (const [name, speed] of lesserRoofs(machine)) {
        taken.push(...roof(plane, [[speed / bandwidth, speed], [x.to, speed]], "jt-plot-roof jt-plot-faint"));
        const begun = plane.x(speed / bandwidth) + 14;
        taken.push(roofName(plane, [begun, plane.y(speed) + 14, "start"], `${name} ${letters(speed)}flop/s`));
    }
    return taken;
}

/**
 * @param {Plot} plane
 * @param {[number, number][]} corners
 * @param {string} style
 */
function roof(plane, corners, style) {
    line(plane, corners, { class: style });
    return along(corners.map(([x, y]) => /** @type {[number, number]} */ ([plane.x(x), plane.y(y)])));
}

/**
 * @param {Plot} plane
 * @param {[number, number, "start" | "end"]} place
 * @param {string} words
 * @returns {number[]} the area that the words take
 */
function roofName(plane, [x, y, anchor], words) {
    plane.over.append(s("text", { class: "jt-plot-tick", x, y, "text-anchor": anchor }, words));
    return areaOf({ x, y, anchor }, words);
}

function legend() {
    const memory = sample("jt-plot-dot jt-plot-memory", mark("circle", 5, 7, 7));
    const arithmetic = sample("jt-plot-dot jt-plot-arithmetic", mark("diamond", 5, 7, 7));
    const area = h("span", {}, "area: time");
    return h("p", "jt-plot-legend", entry(memory, "memory-bound"), entry(arithmetic, "compute-bound"), area);
}
