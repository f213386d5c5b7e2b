// Chart: how do numbers become places on a plot?
//
//     const plane = plot({width: 640, height: 300, x: axis("log", xs, "flop/byte"), y: axis("linear", ys, "loss")});
//     line(plane, points, {class: "jt-plot-line"});      root.append(plane.root);
//     title of y
//      100 ┤────────────────        `x` and `y` of a plot turn values into pixels; what is drawn into `marks` is
//       50 ┤────────────────        clipped to the frame, what is drawn into `over` is not
//        0 └──┬───┬───┬─────
//             1   2   3  title of x
//
// jt_edu/draw/chart.py chooses the same ranges, ticks and places (golden/charts/axes.json). A number that is not
// finite, or not above 0 on a log axis, has no place: lines have a gap there. Nothing here knows what is plotted.

import { s } from "./dom.js";
import { numberText } from "./numbers.js";

/**
 * @typedef {{kind: "linear" | "log", from: number, to: number, title: string, words: (value: number) => string}} Axis
 */
/** @typedef {readonly [number, number | null]} Point */
/**
 * @typedef {object} Plot
 * @property {SVGSVGElement} root
 * @property {SVGGElement} marks
 * @property {SVGGElement} over
 * @property {(value: number) => number} x
 * @property {(value: number) => number} y
 * @property {{left: number, right: number, top: number, bottom: number}} box
 */

export const LETTER = 6.6; // pixels, of 11 px text
const APART = { x: 76, y: 38 }; // pixels between two ticks, at least
const ROOM = { top: 26, right: 14, bottom: 40, left: 14 };

let clips = 0;

/**
 * An axis whose range is round and holds all values.
 * @param {"linear" | "log"} kind
 * @param {Iterable<number | null>} values
 * @param {string} title
 * @param {(value: number) => string} [words] how a tick reads
 * @returns {Axis}
 */
export function axis(kind, values, title, words = numberText) {
    const found = [...values].filter((value) => value !== null && isPlace(kind, value));
    const [low, high] = found.length ? [least(found), -least(found.map((value) => -(value ?? 0)))] : [1, 1];
    const [from, to] = kind === "log" ? decades(low, high) : rounded(low, high);
    return { kind, from, to, title, words };
}

/**
 * Round values inside the range of an axis, about as many as asked for.
 * @param {Pick<Axis, "kind" | "from" | "to">} along
 * @param {number} most
 * @returns {number[]}
 */
export function ticks(along, most) {
    return along.kind === "log" ? logTicks(along, most) : multiples(along.from, along.to, roundStep(along, most));
}

/**
 * Where values stand when `from` stands at `low` and `to` at `high`.
 * @param {Pick<Axis, "kind" | "from" | "to">} along
 * @param {number} low
 * @param {number} high
 * @returns {(value: number) => number}
 */
export function scale(along, low, high) {
    const as = along.kind === "log" ? Math.log10 : (/** @type {number} */ value) => value;
    const [from, to] = [as(along.from), as(along.to)];
    return (value) => low + ((as(value) - from) / (to - from)) * (high - low);
}

/**
 * An empty plot: frame, grid, ticks and titles.
 * @param {{width: number, height: number, x: Axis, y: Axis, label: string}} wanted `label` says what is plotted
 * @returns {Plot}
 */
export function plot({ width, height, x, y, label }) {
    const yTicks = ticks(y, Math.max(2, Math.floor((height - ROOM.top - ROOM.bottom) / APART.y)));
    const wide = Math.max(...yTicks.map((value) => y.words(value).length)) * LETTER;
    const box = {
        left: Math.round(ROOM.left + wide), right: Math.max(width - ROOM.right, ROOM.left + wide + 40),
        top: ROOM.top, bottom: height - ROOM.bottom,
    };
    const places = { x: scale(x, box.left, box.right), y: scale(y, box.bottom, box.top), box };
    const xTicks = ticks(x, Math.max(2, Math.floor((box.right - box.left) / APART.x)));
    const clip = `jt-clip${(clips += 1)}`;
    const [marks, over] = [s("g", { "clip-path": `url(#${clip})` }), s("g")];
    const root = s(
        "svg", { class: "jt-plot", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
        s("clipPath", { id: clip }, rectangle(box.left, box.top - 1, box.right - box.left, box.bottom - box.top + 2)),
        yTicks.map((value) => yTick(value, y, places)), xTicks.map((value) => xTick(value, x, places)),
        s("path", { class: "jt-plot-axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
        s("text", { x: 0, y: 14 }, y.title),
        s("text", { x: box.right, y: height - 6, "text-anchor": "end" }, x.title),
        marks, over,
    );
    return { root, marks, over, ...places };
}

/**
 * A line through points, which breaks where a point has no place.
 * @param {Plot} plane
 * @param {Iterable<Point>} points
 * @param {Record<string, string | number>} [attributes]
 * @returns {SVGPathElement}
 */
export function line(plane, points, attributes = {}) {
    const path = s("path", { class: "jt-plot-line", d: pathOf(plane, points), ...attributes });
    plane.marks.append(path);
    return path;
}

/**
 * Points that draw the same line with fewer of them: of each stretch its first and last one, its least and its largest,
 * and what has no place, so that no peak is lost and no gap is closed.
 * @param {Point[]} points
 * @param {number} most stretches
 * @returns {Point[]}
 */
export function thinned(points, most) {
    if (points.length <= 4 * most) return points;
    const [from, to] = [points[0][0], points[points.length - 1][0]];
    /** @type {Point[][]} */
    const stretches = Array.from({ length: most }, () => []);
    for (const point of points) {
        stretches[Math.min(most - 1, Math.floor(((point[0] - from) / (to - from || 1)) * most))].push(point);
    }
    return stretches.flatMap(outermost);
}

/** @param {Point[]} points */
function outermost(points) {
    const known = points.filter(([, y]) => typeof y === "number" && Number.isFinite(y));
    const least = known.reduce((a, b) => (Number(b[1]) < Number(a[1]) ? b : a), known[0]);
    const largest = known.reduce((a, b) => (Number(b[1]) > Number(a[1]) ? b : a), known[0]);
    const some = new Set([points[0], least, largest, points.at(-1)]);
    const odd = known.length < points.length ? new Set(known) : null;
    return points.filter((point) => some.has(point) || (odd && !odd.has(point)));
}

/**
 * The text of a path through points.
 * @param {Pick<Plot, "x" | "y">} plane
 * @param {Iterable<Point>} points
 * @returns {string}
 */
export function pathOf(plane, points) {
    let [text, open] = ["", false];
    for (const [x, y] of points) {
        const [px, py] = [plane.x(x), y === null ? NaN : plane.y(y)];
        const there = Number.isFinite(px) && Number.isFinite(py);
        if (there) text += `${open ? "L" : "M"}${short(px)} ${short(py)}`;
        open = there;
    }
    return text;
}

/**
 * The outline of a mark around a place: shapes tell kinds apart where colours cannot be seen.
 * @param {"circle" | "diamond"} shape
 * @param {number} size from its middle to its edge
 * @param {number} [x]
 * @param {number} [y]
 * @returns {string} for the attribute `d` of a path
 */
export function mark(shape, size, x = 0, y = 0) {
    const [at, r, edge] = [`M${short(x)} ${short(y)}`, short(size), short(size * 1.2)];
    if (shape === "diamond") return `${at}m0-${edge}l${edge} ${edge}l-${edge} ${edge}l-${edge}-${edge}z`;
    return `${at}m-${r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0-${2 * r} 0z`;
}

/**
 * Words beside marks, each at the first of four sides where it covers no other word and no mark; else not at all.
 * @param {{x: number, y: number, r: number, words: string}[]} marks the most important one first
 * @param {Plot["box"]} box
 * @param {number[][]} [others] left, top, right and bottom of what else must not be covered
 * @returns {({x: number, y: number, anchor: "start" | "end" | "middle"} | null)[]} for each mark, where its words stand
 */
export function captions(marks, box, others = []) {
    const taken = [...others, ...marks.map(({ x, y, r }) => [x - r, y - r, x + r, y + r])];
    return marks.map((one) => {
        for (const place of sides(one)) {
            const area = areaOf(place, one.words);
            if (isInside(area, box) && !taken.some((other) => overlap(area, other))) {
                taken.push(area);
                return place;
            }
        }
        return null;
    });
}

/**
 * Small areas along a path between places, for `captions`.
 * @param {readonly (readonly [number, number])[]} corners
 * @returns {number[][]}
 */
export function along(corners) {
    return corners.slice(1).flatMap(([x, y], number) => {
        const [left, top] = corners[number];
        const parts = Math.ceil(Math.hypot(x - left, y - top) / 8) || 1;
        return Array.from({ length: parts + 1 }, (_, k) => {
            const [px, py] = [left + ((x - left) * k) / parts, top + ((y - top) * k) / parts];
            return [px - 1, py - 1, px + 1, py + 1];
        });
    });
}

/**
 * The area that words take.
 * @param {{x: number, y: number, anchor: string}} place
 * @param {string} words
 * @returns {number[]} left, top, right, bottom
 */
export function areaOf({ x, y, anchor }, words) {
    const wide = words.length * LETTER;
    const left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2;
    return [left, y - 10, left + wide, y + 3];
}

/**
 * A large number with a letter for thousands: 25 G, 1.5 M.
 * @param {number} value
 * @returns {string}
 */
export function letters(value) {
    const size = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.abs(value) * 1.0005 || 1) / 3)));
    return `${numberText(Number((value / 1000 ** size).toPrecision(3)))}${["", " k", " M", " G", " T"][size]}`;
}

/**
 * @param {number} left
 * @param {number} top
 * @param {number} width
 * @param {number} height
 */
function rectangle(left, top, width, height) {
    return s("rect", { x: short(left), y: short(top), width: short(width), height: short(height) });
}

/**
 * @param {number} value
 * @param {Axis} along
 * @param {Pick<Plot, "y" | "box">} plane
 */
function yTick(value, along, { y, box }) {
    const at = short(y(value));
    return [
        s("path", { class: "jt-plot-grid", d: `M${box.left} ${at}H${box.right}` }),
        s("text", { class: "jt-plot-tick", x: box.left - 6, y: at + 4, "text-anchor": "end" }, along.words(value)),
    ];
}

/**
 * @param {number} value
 * @param {Axis} along
 * @param {Pick<Plot, "x" | "box">} plane
 */
function xTick(value, along, { x, box }) {
    const [at, words] = [short(x(value)), along.words(value)];
    const inside = Math.min(at, box.right + ROOM.right - (words.length * LETTER) / 2);
    return [
        s("path", { class: "jt-plot-grid", d: `M${at} ${box.top}V${box.bottom}` }),
        s("text", { class: "jt-plot-tick", x: inside, y: box.bottom + 15, "text-anchor": "middle" }, words),
    ];
}

/**
 * @param {"linear" | "log"} kind
 * @param {number} value
 */
function isPlace(kind, value) {
    return Number.isFinite(value) && (kind === "linear" || value > 0);
}

/** @param {(number | null)[]} values */
function least(values) {
    return values.reduce((/** @type {number} */ a, b) => Math.min(a, b ?? a), Infinity);
}

/**
 * The next of 1, 2 and 5 times a power of ten below and above, at least a factor of 10 apart.
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
function decades(low, high) {
    const near = (/** @type {number} */ value) => {
        const exponent = Math.floor(Math.log10(value));
        return [-1, 0, 1].flatMap((k) => digits(exponent + k));
    };
    const from = Math.max(...near(low).filter((value) => value <= low * (1 + 1e-9)));
    const most = Math.max(high, from * 10);
    return [from, Math.min(...near(most).filter((value) => value >= most * (1 - 1e-9)))];
}

/** @param {number} exponent */
function digits(exponent) {
    return [1, 2, 5].map((digit) => times(digit, [1, exponent]));
}

/**
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
function rounded(low, high) {
    if (low === high) return [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
    const step = roundStep({ from: low, to: high }, 5);
    return [times(Math.floor(low / times(1, step) + 1e-9), step), times(Math.ceil(high / times(1, step) - 1e-9), step)];
}

/**
 * The smallest step of 1, 2 or 5 times a power of ten that makes at most so many parts.
 * @param {{from: number, to: number}} along
 * @param {number} most
 * @returns {[number, number]} digit and exponent
 */
function roundStep({ from, to }, most) {
    const least = (to - from) / Math.max(1, most);
    const exponent = Math.floor(Math.log10(least) + 1e-9);
    const digit = [1, 2, 5].find((one) => one * power(exponent) >= least * (1 - 1e-9));
    return digit === undefined ? [1, exponent + 1] : [digit, exponent];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {[number, number]} step
 */
function multiples(from, to, step) {
    const size = times(1, step);
    const [first, last] = [Math.ceil(from / size - 1e-9), Math.floor(to / size + 1e-9)];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => times(first + k, step));
}

/**
 * @param {{from: number, to: number}} along
 * @param {number} most
 */
function logTicks({ from, to }, most) {
    const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    const every = Math.max(1, Math.ceil((last - first) / Math.max(1, most)));
    const parts = to <= from * 120 && most >= 3 * (last - first) ? 3 : 1;
    const found = [];
    for (let k = first - 1; k <= last; k += 1) {
        if ((k - first) % every === 0) found.push(...digits(k).slice(0, parts));
    }
    return found.filter((value) => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9));
}

/**
 * A whole number times a step, without the small error of a product of fractions.
 * @param {number} number
 * @param {[number, number]} step
 */
function times(number, [digit, exponent]) {
    const product = exponent < 0 ? (number * digit) / power(-exponent) : number * digit * power(exponent);
    return product === 0 ? 0 : product;
}

/** @param {number} exponent */
function power(exponent) {
    return Number(`1e${exponent}`);
}

/** @param {number} value */
function short(value) {
    return Math.round(value * 10) / 10;
}

/**
 * @param {{x: number, y: number, r: number}} one
 * @returns {{x: number, y: number, anchor: "start" | "end" | "middle"}[]}
 */
function sides({ x, y, r }) {
    return [
        { x: x + r + 4, y: y + 4, anchor: "start" }, { x: x - r - 4, y: y + 4, anchor: "end" },
        { x, y: y - r - 5, anchor: "middle" }, { x, y: y + r + 13, anchor: "middle" },
    ];
}

/**
 * @param {number[]} area
 * @param {Plot["box"]} box
 */
function isInside([left, top, right, bottom], box) {
    return left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
}

/**
 * @param {number[]} one
 * @param {number[]} other
 */
function overlap(one, other) {
    return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}
