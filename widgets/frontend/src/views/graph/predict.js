// Predict: how well did the learner say what will share a kernel?
//
//     marks     node -> letter, as the learner gave them; a node without one is a kernel of its own
//     pairs     the edges between computed values, without those that leave no choice
//
// A pair is right where the learner and the plan agree whether its two ends share a kernel. Plain data in and out.

/** @import { Edge } from "../../types.js" */

import { GIVEN } from "../../names.js";

/** @typedef {Record<string, number | null>} Groups */
/** @typedef {{edge: Edge, said: boolean, is: boolean}} Judged `said` and `is`: together, or apart */
/** @typedef {{right: number, all: number, wrong: Judged[]}} Score */

const FORCED = [...GIVEN, "contraction", "alias"]; // rules without a choice
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * The edges that can be judged: both ends are computed, and neither rule nor kind decides it alone.
 * @param {Edge[]} edges
 * @param {Groups} groups of the plan
 * @returns {Edge[]}
 */
export function pairsOf(edges, groups) {
    const computed = (/** @type {number} */ id) => (groups[id] ?? null) !== null;
    return edges.filter((edge) => computed(edge.source) && computed(edge.target) && !FORCED.includes(edge.rule));
}

/**
 * Compare what the learner said with the plan.
 * @param {Edge[]} edges
 * @param {Groups} groups of the plan
 * @param {Map<number, string>} marks
 * @returns {Score}
 */
export function score(edges, groups, marks) {
    const judged = pairsOf(edges, groups).map((edge) => {
        const mark = marks.get(edge.source);
        const said = mark !== undefined && mark === marks.get(edge.target);
        return { edge, said, is: groups[edge.source] === groups[edge.target] };
    });
    const wrong = judged.filter((one) => one.said !== one.is);
    return { right: judged.length - wrong.length, all: judged.length, wrong };
}

/**
 * The next letter that no node has: A to Z, then A2, B2, …
 * @param {Map<number, string>} marks
 * @returns {string}
 */
export function freshLetter(marks) {
    const taken = new Set(marks.values());
    for (let k = 0; ; k += 1) {
        const round = Math.floor(k / LETTERS.length);
        const letter = `${LETTERS[k % LETTERS.length]}${round ? round + 1 : ""}`;
        if (!taken.has(letter)) return letter;
    }
}

/**
 * Whether a point is inside of a closed line.
 * @param {readonly [number, number]} point
 * @param {readonly (readonly [number, number])[]} loop
 * @returns {boolean}
 */
export function encloses([x, y], loop) {
    let inside = false;
    loop.forEach(([ax, ay], k) => {
        const [bx, by] = loop[(k + 1) % loop.length];
        if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside;
    });
    return inside;
}
