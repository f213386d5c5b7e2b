// Model: what was recorded of a kernel, step by step, and what everything was at any moment?
//
// Python sends two flat lists: whole numbers (lines, counts, places) and values. A step is a line, what it read and
// wrote, and the variables that changed. Nothing here draws.

/** @import { Page, Span } from "../../types.js" */

/** @typedef {{name: string, role: string, node: number, shape: number[], dtype: string, corner: [number, number],
 *     size: [number, number], block: [number, number]}} Watched */
/** @typedef {number | string} Figure */
/** @typedef {{array: number, place: number, write: boolean, value: Figure}} Touch */
/** @typedef {{line: number, touches: Touch[], changes: [string, Figure][]}} Step */
/** @typedef {{key: string, kernel: number, source: string, classes: Span[], lines: [number, number][],
 *     arrays: Watched[], names: string[], steps: number, about: number, complete: boolean, note: string, error: string,
 *     codes: number[], numbers: Figure[], window?: import("./window.js").Told | null}} Recorded */
/** @typedef {[number, Figure][]} History steps after which something had a value */

export class Loops {
    /** @type {Step[]} */
    steps = [];
    /** @type {Map<string, History>} */
    variables = new Map();
    /** @type {Map<number, History>[]} */
    cells = [];
    /** @type {number[]} */
    most = [];

    /** @param {Page} page */
    constructor(page) {
        const told = /** @type {Recorded | undefined} */ (page.loops);
        const missing = "This page holds no steps: use jt_widgets.step_kernel.";
        if (!told || !Array.isArray(told.codes)) throw new Error(missing);
        this.told = told;
        this.page = page;
        this.cells = told.arrays.map(() => new Map());
        this.decode();
        this.counters = countersOf(told.source);
    }

    decode() {
        const { codes, numbers, names } = this.told;
        let [at, value] = [0, 0];
        while (at < codes.length) {
            const [line, many] = [codes[at], codes[at + 1]];
            at += 2;
            const touches = Array.from({ length: many }, (_, k) => {
                const [code, place] = [codes[at + 2 * k], codes[at + 2 * k + 1]];
                return { array: code >> 1, place, write: (code & 1) === 1, value: numbers[value + k] };
            });
            [at, value] = [at + 2 * many, value + many];
            const count = codes[at];
            /** @type {[string, Figure][]} */
            const changes = Array.from({ length: count }, (_, k) => [names[codes[at + 1 + k]], numbers[value + k]]);
            [at, value] = [at + 1 + count, value + count];
            this.add({ line, touches, changes });
        }
    }

    /** @param {Step} step */
    add(step) {
        const number = this.steps.push(step) - 1;
        for (const { array, place, value } of step.touches) remember(this.cells[array], place, number, value);
        for (const [name, value] of step.changes) remember(this.variables, name, number, value);
    }

    /**
     * What a variable was after a step, and before that: the newest last.
     * @param {string} name
     * @param {number} step
     * @returns {History}
     */
    past(name, step) {
        return upTo(this.variables.get(name) ?? [], step);
    }

    /**
     * What a cell held after a step; null where that is not known.
     * @param {number} array
     * @param {number} place
     * @param {number} step
     * @returns {Figure | null}
     */
    cell(array, place, step) {
        const known = upTo(this.cells[array].get(place) ?? [], step).at(-1);
        return known ? known[1] : this.first(this.told.arrays[array], place);
    }

    /**
     * What a cell held at first.
     * @param {Watched} array
     * @param {number} place
     */
    first(array, place) {
        const columns = columnsOf(array);
        const [row, column] = [Math.floor(place / columns) - array.corner[0], (place % columns) - array.corner[1]];
        const inside = array.block[1] && row >= 0 && row < array.size[0] && column >= 0 && column < array.size[1];
        return inside ? this.page.blocks[array.block[0] + row * array.size[1] + column] : null;
    }

    /**
     * The largest magnitude that an array is known to hold, ever.
     * @param {number} array
     * @returns {number}
     */
    largest(array) {
        this.most[array] ??= Math.max(0, ...this.magnitudes(array).filter(Number.isFinite));
        return this.most[array];
    }

    /** @param {number} array */
    magnitudes(array) {
        const [begin, count] = this.told.arrays[array].block;
        const later = [...this.cells[array].values()].flat().map(([, value]) => Math.abs(Number(value)));
        return [...this.page.blocks.subarray(begin, begin + count), ...later].map(Math.abs);
    }

    /**
     * The last touch of an array before or at a step.
     * @param {number} array
     * @param {number} step
     * @returns {Touch | undefined}
     */
    lastTouch(array, step) {
        for (let k = step; k >= 0; k -= 1) {
            const found = this.steps[k].touches.findLast((touch) => touch.array === array);
            if (found) return found;
        }
        return undefined;
    }

    /**
     * The next time after `step`, or the last time before it, that the same line is done.
     * @param {number} step
     * @param {number} way 1 or -1
     * @returns {number}
     */
    sameLine(step, way) {
        const line = this.steps[step]?.line;
        for (let k = step + way; k >= 0 && k < this.steps.length; k += way) if (this.steps[k].line === line) return k;
        return step;
    }
}

/**
 * Columns of an array as it is drawn: its last axis.
 * @param {Watched} array
 * @returns {number}
 */
export function columnsOf(array) {
    return array.shape.at(-1) ?? 1;
}

/**
 * Where an element is, as Python would write it: "a0[1, 2]".
 * @param {Watched} array
 * @param {number} place
 * @returns {string}
 */
export function elementText(array, place) {
    const index = [];
    for (const length of [...array.shape].reverse()) {
        index.unshift(place % length);
        place = Math.floor(place / length);
    }
    return `${array.name}[${index.join(", ") || "()"}]`;
}

/**
 * The variables that count loops, outer ones first.
 * @param {string} source
 * @returns {string[]}
 */
function countersOf(source) {
    return [...new Set([...source.matchAll(/^\s*for (\w+) in range/gm)].map((found) => found[1]))];
}

/**
 * @template K
 * @param {Map<K, History>} all
 * @param {K} key
 * @param {number} step
 * @param {Figure} value
 */
function remember(all, key, step, value) {
    const past = all.get(key);
    if (past) past.push([step, value]);
    else all.set(key, [[step, value]]);
}

/**
 * The part of a history up to a step.
 * @param {History} past
 * @param {number} step
 * @returns {History}
 */
function upTo(past, step) {
    let [low, high] = [0, past.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (past[middle][0] <= step) low = middle + 1;
        else high = middle;
    }
    return past.slice(0, low);
}
