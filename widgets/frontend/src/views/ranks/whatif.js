// What if: how long would it have taken on another network, and on more ranks?
//
//     latency   [-----o---]  2.5 µs        sliders; the view works all times out again from the recorded order
//     curves    time over the number of ranks, log-log: closed forms of all algorithms, and what was measured
//
// A closed form comes as numbers of trips, bytes and doors (jt_edu/lens/scaling_curves.py). Nothing here knows lanes.

/** @import { Curves, Net, Run } from "./model.js" */
/** @import { Scene } from "./stage.js" */

import { axis, line, mark, plot } from "../../chart.js";
import { button, named } from "../../controls.js";
import { clear, h, s } from "../../dom.js";
import { entry, sample } from "../../legend.js";
import { bytesText, numberText } from "../../numbers.js";
import { cost, plain, round } from "./replay.js";
import { nanosText } from "./stage.js";

const HEIGHT = 250;
const STEPS = 400; // of a slider
/** @type {{key: "latency" | "overhead" | "byte", sign: string, words: string, most: number, unit: number}[]} */
const SLIDERS = [
    { key: "latency", sign: "L", words: "latency", most: 1e7, unit: 1 },
    { key: "overhead", sign: "o", words: "overhead at each end", most: 1e7, unit: 1 },
    { key: "byte", sign: "G", words: "time of each byte", most: 1000, unit: 0.001 },
];

/** The place of a value on a slider: logarithmic, with 0 at its beginning. @param {number} value
 * @param {{most: number, unit: number}} of */
export function placeOf(value, { most, unit }) {
    return Math.round((STEPS * Math.log10(value / unit + 1)) / Math.log10(most / unit + 1));
}

/** The value at a place of a slider, in three digits. @param {number} place @param {{most: number, unit: number}} of */
export function valueAt(place, { most, unit }) {
    const value = unit * (10 ** ((place / STEPS) * Math.log10(most / unit + 1)) - 1);
    return unit === 1 ? Math.round(Number(value.toPrecision(3))) : Number(value.toPrecision(3));
}

/**
 * ns by a closed form.
 * @param {number[]} point
 * @param {Net} net
 */
export function closed([, trips, bytes, ...doors], { latency, overhead, gap, byte }) {
    const door = (/** @type {number} */ behind) => Math.max(round(overhead), round(gap) + behind * byte);
    const waits = doors.reduce((sum, many, k) => (k % 2 ? sum : sum + many * door(doors[k + 1])), 0);
    return trips * (round(latency) + 2 * round(overhead)) + bytes * byte + waits;
}

export class WhatIf {
    /**
     * @param {Run} run
     * @param {(net: Net) => void} changed
     */
    constructor(run, changed) {
        this.run = run;
        this.net = { ...run.net };
        this.changed = changed;
        this.told = h("p", "jt-ranks-told");
        this.outputs = SLIDERS.map(() => h("output", "jt-mono"));
        this.inputs = SLIDERS.map((one, k) => this.slider(one, k));
        this.reset = button("As recorded", "The network of the record (n)", () => this.back());
        const rows = SLIDERS.map((one, k) => h(
            "label", "jt-ranks-slider", h("span", {}, h("b", {}, one.sign), ` ${one.words}`), this.inputs[k],
            this.outputs[k],
        ));
        const title = named("What if the network were another one?");
        this.root = h("div", {}, title, rows, h("p", "jt-bar", this.reset), this.told);
        this.write();
    }

    /** @param {typeof SLIDERS[number]} one @param {number} k */
    slider(one, k) {
        return h("input", {
            type: "range", min: 0, max: STEPS, value: placeOf(this.net[one.key], one), "data-key": one.key,
            "aria-label": `${one.sign}, ${one.words}, in ns`,
            oninput: () => {
                this.net = { ...this.net, [one.key]: valueAt(Number(this.inputs[k].value), one) };
                this.write();
                this.changed(this.net);
            },
        });
    }

    back() {
        this.net = { ...this.run.net };
        SLIDERS.forEach((one, k) => (this.inputs[k].value = `${placeOf(this.net[one.key], one)}`));
        this.write();
        this.changed(this.net);
    }

    get moved() {
        return SLIDERS.some(({ key }) => this.net[key] !== this.run.net[key]);
    }

    write() {
        SLIDERS.forEach(({ key }, k) => {
            const words = key === "byte" ? `${numberText(this.net[key])} ns/B` : nanosText(this.net[key]);
            this.outputs[k].replaceChildren(words);
            this.inputs[k].setAttribute("aria-valuetext", words);
        });
        this.reset.disabled = !this.moved;
    }

    /** @param {number} duration of the run, on the network that is set; -1 while the wall clock is shown */
    tell(duration) {
        if (duration < 0) return this.told.replaceChildren("The wall clock is shown; these move the virtual one.");
        const { duration: before } = this.run;
        const times = before ? `, ${numberText(Number((duration / before).toPrecision(3)))} times as long` : "";
        const words = this.moved ? `${nanosText(duration)} instead of ${nanosText(before)}${times}.`
            : `The run takes ${nanosText(duration)}, as recorded.`;
        this.told.replaceChildren(words);
    }
}

/**
 * The curves of the collective that is chosen, or else of the one that took longest.
 * @param {HTMLElement} home
 * @param {Scene} scene
 * @param {number} call
 * @param {Net} net
 * @param {boolean} moved whether the network is another one than that of the record
 */
export function drawCurves(home, { run, arrivals }, call, net, moved) {
    const { calls, text } = run;
    const [wanted, long] = call < 0 ? ["", 0] : [plain(text(calls.name[call])), calls.bytes[call]];
    const same = run.curves.filter((one) => one.name === wanted);
    const { name, bytes, lines, measured } = same.find((one) => one.bytes === long) ?? same[0] ?? run.curves[0];
    const mine = arrivals.filter(({ calls: [k] }) => plain(text(calls.name[k])) === name && calls.bytes[k] === bytes);
    const now = mine.map((one) => ({
        name: text(calls.algorithm[one.calls[0]]) || "native", size: one.calls.length, nanos: one.end - one.here,
    }));
    const sizes = lines[0]?.points.map(([size]) => size) ?? [];
    const at = (/** @type {number[][]} */ points) =>
        points.map((p) => /** @type {[number, number]} */ ([p[0], closed(p, net)]));
    const native = sizes.map((size) => /** @type {[number, number]} */ ([size, cost(name, size, bytes, net)]));
    const known = distinct(lines).map((one) => ({ name: one.name, at: at(one.points) }))
        .sort((a, b) => (b.at.at(-1)?.[1] ?? 0) - (a.at.at(-1)?.[1] ?? 0));
    const all = [...known, { name: "native", at: native }];
    const dots = moved ? now : measured;
    const times = [...all.flatMap((one) => one.at.map(([, nanos]) => nanos)), ...dots.map((one) => one.nanos)];
    const [x, y] = [axis("log", sizes, "ranks"), axis("log", times, "time", nanosText)];
    const width = Math.max(320, home.clientWidth || 420);
    const words = `Predicted time of ${name}${bytes ? ` of ${bytesText(bytes)}` : ""} over the number of ranks`;
    const plane = plot({ width, height: HEIGHT, x, y, label: words });
    all.forEach((one, k) => line(plane, one.at, { class: styleOf(one.name, k) }));
    for (const one of dots) {
        if (!(one.nanos > 0)) continue;
        const k = all.findIndex((other) => other.name.split(", ").includes(one.name));
        const d = mark(k < 0 ? "circle" : "diamond", 5, plane.x(one.size), plane.y(one.nanos));
        const title = s("title", {}, `${one.name}, ${one.size} ranks: ${nanosText(one.nanos)}`);
        const data = { "data-size": one.size, "data-nanos": one.nanos };
        const look = `jt-plot-dot jt-plot-s${k === known.length ? "" : k % 6}`;
        plane.over.append(s("path", { class: look, d, ...data }, title));
    }
    const names = all.map((one, k) => entry(sample(styleOf(one.name, k), "M0 7h22", 22), one.name));
    const told = moved ? "this run, worked out again" : "measured";
    const dot = dots.length ? entry(sample("jt-plot-dot", mark("diamond", 5, 7, 7)), told) : null;
    const legend = h("p", "jt-plot-legend", names, dot);
    clear(home).append(named(words), plane.root, legend);
}

/**
 * Algorithms whose times are the same share a line.
 * @param {Curves["lines"]} lines
 */
function distinct(lines) {
    /** @type {Map<string, Curves["lines"][number]>} */
    const found = new Map();
    for (const { name, points } of lines) {
        const key = `${points}`;
        found.set(key, { name: found.has(key) ? `${found.get(key)?.name}, ${name}` : name, points });
    }
    return [...found.values()];
}

/** @param {string} name @param {number} k */
function styleOf(name, k) {
    return name === "native" ? "jt-ranks-native" : `jt-plot-line jt-plot-s${k % 6}`;
}
