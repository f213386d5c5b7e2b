// Window: which part of the image does one place of the result look at, and what becomes of it?
//
//     image, with its padding      weights      result         pointing at a number of the result frames what it sees
//     [ . . . ]                    [ . . ]      [ . . ]
//     [ . . . ]                    [ . . ]      [ . . ]
//     place (0, 1) = 1 × 2 + 3 × -1 = -1
//
// What a kernel does afterwards, such as dividing for an average, is not shown. Which numbers meet was read in Python
// off the index maps of the graph. Arrows move the place; stepping through the kernel moves it along.

/** @import { Figure } from "./model.js" */

import { named, soft } from "../../controls.js";
import { h } from "../../dom.js";
import { clamp, numberText } from "../../numbers.js";
import { shortText } from "./grid.js";

const CHANNELS = 3; // of an image that are drawn
const TERMS = 12; // of a sum that are written out
/** @type {Record<string, string>} */
const WORDS = { add: "sum", maximum: "largest", minimum: "smallest" };

/**
 * @typedef {{shape: [number, number, number], values: Figure[]}} Planes channels, rows, columns
 * @typedef {{reducer: string, stride: number[], padding: number[], dilation: number[], image: Planes,
 *     weights: Planes | null, out: number[], points: number[]}} Told five numbers a point: place, channel, y, x, weight
 * @typedef {{channel: number, y: number, x: number, weight: number}} Point
 */

export class SlidingWindow {
    place = 0;
    channel = 0;

    /**
     * @param {Told} told
     * @param {(words: string) => void} say
     */
    constructor(told, say) {
        this.told = told;
        this.say = say;
        this.seen = seenBy(told.points);
        this.high = told.out[told.out.length - 2];
        this.wide = told.out[told.out.length - 1];
        const all = [...this.seen.values()].flat();
        const [, rows, columns] = told.image.shape;
        /** The last row and column that anything looks at, in the padding, too. */
        this.ends = all.reduce(([y, x], one) => [Math.max(y, one.y), Math.max(x, one.x)], [rows - 1, columns - 1]);
        this.channels = told.out.slice(0, -2).reduce((a, b) => a * b, 1);
        const look = { class: "jt-field", "aria-label": "channel of the result" };
        const options = Array.from({ length: this.channels }, (_, k) => h("option", { value: k }, `channel ${k}`));
        this.choice = h("select", { ...look, onchange: () => this.turn(Number(this.choice.value)) }, options);
        this.grids = h("div", "jt-loops-grids jt-loops-window");
        this.sum = h("p", "jt-loops-sentence jt-mono");
        const head = named("A window over the image ", this.channels > 1 ? this.choice : "");
        this.element = h("div", {}, head, soft(this.words()), this.grids, this.sum);
        this.grids.addEventListener("keydown", (event) => this.key(event));
        this.show(0);
    }

    words() {
        const { stride, padding, dilation } = this.told;
        const parts = Object.entries({ stride, padding, dilation }).map(([name, pair]) => {
            return `${name} ${[...new Set(pair)].join(" by ")}`;
        });
        return `${parts.join(", ")}. Point at a number of the result, or move there with the arrows.`;
    }

    /** @param {number} channel of the result */
    turn(channel) {
        this.channel = channel;
        this.show(this.place);
    }

    /**
     * Show what a place of the present channel looks at.
     * @param {number} place in its plane
     */
    show(place) {
        this.place = clamp(place, 0, this.high * this.wide - 1);
        const points = this.seen.get(this.channel * this.high * this.wide + this.place) ?? [];
        const channels = [...new Set(points.map(({ channel }) => channel))];
        const drawn = channels.slice(0, CHANNELS);
        const focused = this.grids.contains(document.activeElement);
        const parts = drawn.map((channel) => this.image(channel, points.filter((one) => one.channel === channel)));
        this.grids.replaceChildren(...parts.flat(), this.result());
        this.sum.textContent = this.sentence(points, channels.length - drawn.length);
        if (focused) /** @type {HTMLElement | null} */ (this.grids.querySelector("[tabindex='0']"))?.focus();
    }

    /**
     * A channel of the image with what is seen of it, and beside it the weights that meet it.
     * @param {number} channel
     * @param {Point[]} points
     */
    image(channel, points) {
        const { image, weights, padding } = this.told;
        const seen = new Set(points.map(({ y, x }) => `${y} ${x}`));
        const rows = range(-padding[0], this.ends[0]).map((y) => range(-padding[1], this.ends[1]).map((x) => {
            const pixel = this.pixel({ channel, y, x });
            const look = classes(seen.has(`${y} ${x}`) && "jt-loops-read", pixel === null && "jt-loops-outside");
            return h("td", look, this.pixelText(pixel));
        }));
        const tables = [table(`image${image.shape[0] > 1 ? `, channel ${channel}` : ""}`, rows)];
        if (weights) tables.push(this.weights(weights, points));
        return tables;
    }

    /**
     * @param {Planes} weights
     * @param {Point[]} points
     */
    weights({ shape: [, high, wide], values }, points) {
        const plane = Math.floor((points[0]?.weight ?? 0) / (high * wide));
        const rows = range(0, high - 1).map((y) => range(0, wide - 1).map((x) =>
            h("td", "jt-loops-read", shortText(values[(plane * high + y) * wide + x])),
        ));
        return table("× weights", rows);
    }

    /** The plane of the result: its numbers are what one points at. */
    result() {
        const base = this.channel * this.high * this.wide;
        const rows = range(0, this.high - 1).map((y) => range(0, this.wide - 1).map((x) => {
            const place = y * this.wide + x;
            const on = place === this.place;
            const value = shortText(this.value(this.seen.get(base + place) ?? []));
            return h("td", {
                class: on ? "jt-loops-written" : "", "data-place": place, tabindex: on ? 0 : -1,
                onmouseenter: () => on || this.show(place), onclick: () => this.show(place),
            }, value);
        }));
        const words = WORDS[this.told.reducer] ?? "result";
        return table(`= ${words}${this.channels > 1 ? `, channel ${this.channel}` : ""}`, rows);
    }

    /**
     * A number of the image; null outside of it.
     * @param {Pick<Point, "channel" | "y" | "x">} point
     */
    pixel({ channel, y, x }) {
        const { shape: [, high, wide], values } = this.told.image;
        return y < 0 || y >= high || x < 0 || x >= wide ? null : values[(channel * high + y) * wide + x];
    }

    /** @param {Figure | null} pixel */
    pixelText(pixel) {
        return pixel !== null ? shortText(pixel) : this.told.reducer === "add" ? "0" : "\u00a0";
    }

    /** @param {Point} point @returns {number} what it adds, or stands for */
    term(point) {
        const [pixel, { weights, reducer }] = [this.pixel(point), this.told];
        if (pixel === null) return { add: 0, maximum: -Infinity, minimum: Infinity }[reducer] ?? NaN;
        return numberOf(pixel) * (weights ? numberOf(weights.values[point.weight]) : 1);
    }

    /** @param {Point[]} points */
    value(points) {
        const terms = points.map((one) => this.term(one));
        if (this.told.reducer === "add") return terms.reduce((a, b) => a + b, 0);
        return this.told.reducer === "maximum" ? Math.max(...terms) : Math.min(...terms);
    }

    /**
     * @param {Point[]} points
     * @param {number} more channels that are not drawn
     */
    sentence(points, more) {
        const { weights, reducer } = this.told;
        const words = points.slice(0, TERMS).map((one) => {
            const pixel = this.pixelText(this.pixel(one)).trim() || "nothing";
            return weights ? `${pixel} × ${signed(weights.values[one.weight])}` : signed(pixel);
        });
        const all = words.join(reducer === "add" ? " + " : ", ") + (points.length > TERMS ? " …" : "");
        const told = reducer === "add" ? all : `the ${WORDS[reducer]} of ${all}`;
        const rest = more > 0 ? ` (${more} more channels are not drawn)` : "";
        const at = `place (${Math.floor(this.place / this.wide)}, ${this.place % this.wide})`;
        return `${at} = ${told} = ${numberText(this.value(points))}${rest}`;
    }

    /** @param {KeyboardEvent} event on a number of the result */
    key(event) {
        const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.wide, ArrowDown: this.wide }[event.key];
        if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault(); // the step view leaves alone what was taken
        if (this.place + by >= 0 && this.place + by < this.high * this.wide) this.show(this.place + by);
        this.say(this.sum.textContent ?? "");
    }

    /**
     * The kernel has just written a number of its result.
     * @param {number} place in the whole array
     */
    follow(place) {
        const plane = this.high * this.wide;
        if (place >= plane * this.channels) return; // of another image
        this.channel = Math.floor(place / plane);
        this.choice.value = `${this.channel}`;
        this.show(place % plane);
    }
}

/**
 * Points by the place that looks at them.
 * @param {number[]} points
 * @returns {Map<number, Point[]>}
 */
export function seenBy(points) {
    /** @type {Map<number, Point[]>} */
    const found = new Map();
    for (let k = 0; k + 4 < points.length; k += 5) {
        const [place, channel, y, x, weight] = points.slice(k, k + 5);
        const seen = found.get(place) ?? [];
        seen.push({ channel, y, x, weight });
        found.set(place, seen);
    }
    return found;
}

/** @param {Figure} figure */
function signed(figure) {
    const words = typeof figure === "number" ? shortText(figure) : `${figure}`;
    return words.startsWith("-") ? `(${words})` : words;
}

/** @param {Figure} figure */
function numberOf(figure) {
    return typeof figure === "number" ? figure : Number(`${figure}`.replace("inf", "Infinity"));
}

/** @param {number} from @param {number} to */
function range(from, to) {
    return Array.from({ length: to - from + 1 }, (_, k) => from + k);
}

/** @param {...(string | false)} words */
function classes(...words) {
    return words.filter(Boolean).join(" ");
}

/** @param {string} words @param {HTMLElement[][]} rows */
function table(words, rows) {
    const body = h("tbody", {}, rows.map((cells) => h("tr", {}, cells)));
    return h("table", "jt-loops-grid", h("caption", {}, words), body);
}
