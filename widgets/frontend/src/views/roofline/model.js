// Model: where do kernels stand on a roofline, where do they come from, and how do they read as a row?
//
// Nothing here draws.

/** @import { Axis, Plot } from "../../chart.js" */
/** @import { Page } from "../../types.js" */

import { axis, letters } from "../../chart.js";

/**
 * @typedef {{key: string, name: string, nodes: number[], ms: number, times: number, bytes: number, flops: number,
 *     has_place: boolean, intensity: number | null, speed: number | null, bound: string, share: number | null,
 *     sentence: string}} Kernel
 * @typedef {{bandwidth: number, flops: number, threads: number, cpu: string, product_flops_per_second: number,
 *     one_thread_flops_per_second: number}} Machine
 * @typedef {{machine: Machine, ways: {fused: Kernel[], unfused: Kernel[] | null}, call_ms: number,
 *     summaries?: Record<string, string | null>}} Section
 * @typedef {{kernel: Kernel, x: number, y: number, r: number}} Place
 */

const [SMALL, LARGE] = [4, 15]; // of a dot, in pixels
const [ASIDE, ABOVE] = [1.25, 2]; // so many times less and more than its dots an axis shows: room for large ones
export const COLUMNS = [
    "kernel", "ms", "runs", "bytes", "operations", "operations per byte", "operations per second", "verdict",
];

/**
 * @param {Page} page
 * @returns {Section}
 */
export function sectionOf(page) {
    const { roofline: section } = /** @type {Page & {roofline?: Section}} */ (page);
    if (!section?.ways?.fused || !section.machine?.bandwidth) {
        throw new Error("This page holds no times under a roofline. Make it with jt_widgets.roofline(...).");
    }
    return section;
}

/**
 * The same axes for both ways, so that dots can move; as jt_edu/draw/charts.py chooses them.
 * @param {Section} section
 * @returns {[Axis, Axis]}
 */
export function axes({ machine, ways }) {
    const kernels = [...ways.fused, ...(ways.unfused ?? [])].filter((kernel) => kernel.has_place);
    const ridge = machine.flops / machine.bandwidth;
    const around = (/** @type {number} */ value, /** @type {number} */ room) => [value / room, value * room];
    const xs = [ridge / 10, ridge * 4, ...kernels.flatMap((kernel) => around(kernel.intensity ?? ridge, ASIDE))];
    const speeds = kernels.flatMap((kernel) => around(kernel.speed ?? machine.flops, ABOVE));
    const ys = [machine.flops * 1.5, Math.min(...xs) * machine.bandwidth, ...speeds];
    return [axis("log", xs, "operations per byte moved"), axis("log", ys, "operations per second", letters)];
}

/**
 * Where kernels stand, those that take longest first; the area of a dot is its time.
 * @param {Kernel[]} kernels
 * @param {Pick<Plot, "x" | "y">} plane
 * @returns {Place[]}
 */
export function placesOf(kernels, plane) {
    const shown = kernels.filter((kernel) => kernel.has_place).sort((a, b) => time(b) - time(a));
    return shown.map((kernel) => ({
        kernel, x: plane.x(kernel.intensity ?? NaN), y: plane.y(kernel.speed ?? NaN),
        r: Math.max(SMALL, LARGE * Math.sqrt(time(kernel) / time(shown[0]))),
    }));
}

/**
 * Further roofs, where they are clearly below the peak; those next to each other are one.
 * @param {Machine} machine
 * @returns {[string, number][]}
 */
export function lesserRoofs(machine) {
    const all = /** @type {[string, number][]} */ ([
        ["matrix product", machine.product_flops_per_second], ["one thread", machine.one_thread_flops_per_second],
    ]);
    const found = all.filter(([, speed]) => speed > 0 && speed < 0.8 * machine.flops);
    const near = found.length === 2 && found[0][1] / found[1][1] > 0.6 && found[0][1] / found[1][1] < 1.7;
    return near ? [["matrix product, one thread about", found[0][1]]] : found;
}

/**
 * Where each dot of many comes from: the dot of the kernel that its operators were fused into.
 * @param {Place[]} few
 * @param {Place[]} many
 * @returns {{place: Place, from: Place}[]}
 */
export function journey(few, many) {
    return many.map((place) => {
        const nodes = new Set(place.kernel.nodes);
        return { place, from: few.find(({ kernel }) => kernel.nodes.some((id) => nodes.has(id))) ?? place };
    });
}

/**
 * The same way back.
 * @param {{place: Place, from: Place}} move
 */
export function backwards({ place, from }) {
    return { place: { ...from, kernel: place.kernel }, from: place };
}

/**
 * A place on the way.
 * @param {Place} from
 * @param {Place} to
 * @param {number} part
 * @returns {Place}
 */
export function between(from, to, part) {
    const mix = (/** @type {number} */ a, /** @type {number} */ b) => a * (1 - part) + b * part;
    return { kernel: to.kernel, x: mix(from.x, to.x), y: mix(from.y, to.y), r: mix(from.r, to.r) };
}

/**
 * A kernel as a row of the table.
 * @param {Kernel} one
 */
export function row(one) {
    const known = (/** @type {number | null} */ value) => (value === null ? "" : Number(value.toPrecision(4)));
    const counted = [known(one.ms), one.times, one.bytes, one.flops, known(one.intensity), known(one.speed)];
    return [one.name, ...counted, one.sentence];
}

/**
 * A name beside a dot.
 * @param {string} name
 */
export function shortened(name) {
    return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}

/** @param {Kernel} kernel */
function time(kernel) {
    return kernel.ms * kernel.times;
}
