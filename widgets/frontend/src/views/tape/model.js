// Tape model: what does the part "tape" of a page say about a moment?
//
//     readTape(page)            the steps, checked; jt_edu/lens/tape_steps.py says what is in them
//     linesOf(tape, open)       what stands in the ladder: rows, or groups of them that can be opened
//     wordsOf(tape, page, k)    a step in words
//     between(tape, a, b)       what two moments have that differs
//
// Time is the number of the step that was computed last. Nothing here draws.

/** @import { Page, Value } from "../../types.js" */

import { gradientOf, nameOf } from "../../names.js";

/** @typedef {{node: number, reader: number | null, row: number | null}} Part what one reader adds to a gradient */
/**
 * @typedef {object} Step
 * @property {number} node
 * @property {string} op
 * @property {"forward" | "backward"} phase
 * @property {number | null} twin
 * @property {number} row
 * @property {number[]} inputs
 * @property {number[]} through views that it reads its inputs through
 * @property {number | null} kernel
 * @property {number} bytes
 * @property {number} alive
 * @property {number} until the last step that reads it
 * @property {number[]} [saved] forward values that it reads
 * @property {number[]} [of] the forward values whose gradient it is
 * @property {string[]} [rule] the one rule that it follows
 * @property {{to: number, parts: Part[], done: number, of: number}} [adds]
 */
/** @typedef {{label: string, from: number, to: number}} Group */
/** @typedef {{node: number, gradient: number, name: string}} Leaf */
/**
 * @typedef {object} Tape
 * @property {number} loss
 * @property {Step[]} steps
 * @property {number} rows
 * @property {Group[]} groups
 * @property {{node: number, row: number}[]} passing
 * @property {{node: number, step: number, until: number, bytes: number}[]} kept
 * @property {{step: number, bytes: number}} peak
 * @property {Leaf[]} leaves
 * @property {Record<string, string[]>} rules
 * @property {number[]} kernel_alive
 */
/** @typedef {{row: number} | {group: Group, number: number}} LadderLine */

/**
 * The tape of a page.
 * @param {Page} page
 * @returns {Tape}
 */
export function readTape(page) {
    const tape = /** @type {Tape | undefined} */ (page.tape);
    if (!tape) {
        throw new Error(
            "This page has no tape. Make it with jt_widgets.tape(loss), where the loss is one real number.",
        );
    }
    return tape;
}

/**
 * What stands in the ladder, top to bottom.
 * @param {Tape} tape
 * @param {Set<number>} open numbers of the groups that are open
 * @returns {LadderLine[]}
 */
export function linesOf(tape, open) {
    if (!tape.groups.length) return range(0, tape.rows).map((row) => ({ row }));
    return tape.groups.flatMap((group, number) => {
        const own = open.has(number) ? range(group.from, group.to).map((row) => ({ row })) : [];
        return [{ group, number }, ...own];
    });
}

/**
 * Numbers from `from` to below `to`.
 * @param {number} from
 * @param {number} to
 */
export function range(from, to) {
    return Array.from({ length: Math.max(0, to - from) }, (_, k) => from + k);
}

/**
 * How the value of a step is called: "h", "dW1", "d(relu)", or its operator.
 * @param {Tape} tape
 * @param {Page} page
 * @param {Step} step
 */
export function valueName(tape, page, step) {
    if (step.phase === "forward") return nameOf(page, step.node);
    const leaf = tape.leaves.find((one) => one.gradient === step.node);
    if (leaf) return gradientOf(leaf.name || `#${leaf.node}`);
    const of = (step.of ?? []).map((id) => page.nodes.get(id)).filter((node) => node && node.kind !== "reindex");
    const named = of.find((node) => node?.name) ?? of.at(-1);
    return named ? gradientOf(named.name || named.op, named.name !== "") : step.op;
}

/**
 * A step in words, for the panel's heading and for screen readers.
 * @param {Tape} tape
 * @param {Page} page
 * @param {number} k
 */
export function wordsOf(tape, page, k) {
    const step = tape.steps[k];
    const what = valueName(tape, page, step);
    const op = what === step.op ? "" : ` = ${step.op}`;
    const of = step.twin === null ? "" : `, gradient of ${meaning(page, step.twin)}`;
    return `step ${k + 1} of ${tape.steps.length}, ${step.phase}: ${what}${op}${of}`;
}

/**
 * What the learner wrote: a broadcast inside of a matmul is the matmul.
 * @param {Page} page
 * @param {number} id
 */
export function meaning(page, id) {
    let node = page.nodes.get(id);
    for (let far = 0; node && far < 3 && (node.kind === "reindex" || isProduct(page, node.id)); far += 1) {
        const readers = /** @type {number[]} */ (page.users.get(node.id) ?? []).map((user) => page.nodes.get(user));
        const next = readers.find((reader) => reader && reader.twin === node?.twin);
        if (!next) break;
        node = next;
    }
    return nameOf(page, node?.id ?? id);
}

/**
 * @param {Page} page
 * @param {number} id
 */
function isProduct(page, id) {
    const users = page.users.get(id) ?? [];
    const node = page.nodes.get(id);
    return node?.op === "multiply" && users.length > 0 && page.nodes.get(users[0])?.kind === "reindex_reduce"
        && node.inputs.every((i) => page.nodes.get(i)?.kind === "reindex");
}

/**
 * The statistics of a value, in the order in which they are shown; nothing where the page has none.
 * @param {Value | undefined} value
 * @returns {[string, number | string | null][]}
 */
export function statistics(value) {
    if (!value) return [];
    const odd = /** @type {[string, number][]} */ ([["nan", value.nan], ["inf", value.inf]]);
    return [["min", value.min], ["mean", value.mean], ["max", value.max], ...odd.filter(([, many]) => many > 0)];
}

/**
 * What changes between two moments, whichever comes first: values that came, and values that went.
 * @param {Tape} tape
 * @param {number} a
 * @param {number} b
 */
export function between(tape, a, b) {
    const [early, late] = a < b ? [a, b] : [b, a];
    const came = range(early + 1, late + 1).filter((k) => tape.steps[k].until >= late);
    const went = range(0, early + 1).filter((k) => tape.steps[k].until >= early && tape.steps[k].until < late);
    return { early, late, steps: late - early, came: came.length, went: went.length };
}
