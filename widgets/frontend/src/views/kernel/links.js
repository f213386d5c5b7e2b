// Links: which operators does a line of a kernel compute, and which of the learner's lines asked for them?
//
//     a line that computes     its operators, and the views that it reads them through
//     a loop, an if, the def   everything inside
//     a line written by hand   the operator of the text around it
//
// And back: a view has the lines of those who read through it. Nothing here draws.

/** @import { Kernel, Page } from "../../types.js" */

/** @typedef {{
 *     rows: string[],
 *     nodesAt: (line: number) => number[],
 *     linesOf: (node: number) => number[],
 *     opsAt: (line: number) => string[],
 *     whereAt: (line: number) => string }} Links */

/**
 * Both ways between the lines of a kernel, the nodes of the graph, and the learner's lines.
 * @param {Pick<Kernel, "source" | "lines">} kernel
 * @param {Pick<Page, "graph" | "nodes">} page
 * @returns {Links}
 */
export function links(kernel, page) {
    const rows = kernel.source.replace(/\n$/, "").split("\n");
    const lines = throughViews(ownLines(kernel), page);
    const nodes = rows.map((_, place) => [...lines].filter(([, at]) => at.has(place + 1)).map(([id]) => id));
    const own = (/** @type {number} */ line) => nodes[line - 1] ?? [];
    return {
        rows,
        nodesAt: (line) => [own(line), inside(rows, nodes, line), around(rows, nodes, line)].find(some) ?? [],
        linesOf: (node) => [...(lines.get(node) ?? [])],
        opsAt: (line) => [...new Set(kernel.lines.filter((one) => one.number === line).map((one) => one.op))],
        whereAt: (line) => kernel.lines.find((one) => one.number === line)?.where ?? "",
    };
}

/**
 * @param {Pick<Kernel, "lines">} kernel
 * @returns {Map<number, Set<number>>}
 */
function ownLines(kernel) {
    /** @type {Map<number, Set<number>>} */
    const lines = new Map();
    for (const { node, number } of kernel.lines) lines.set(node, (lines.get(node) ?? new Set()).add(number));
    return lines;
}

/**
 * Views have no line of their own: give them those of their readers.
 * @param {Map<number, Set<number>>} own
 * @param {Pick<Page, "graph" | "nodes">} page
 * @returns {Map<number, Set<number>>}
 */
function throughViews(own, page) {
    const fused = new Set(page.graph.edges.filter((edge) => edge.fused).map((edge) => `${edge.source} ${edge.target}`));
    const all = new Map([...own].map(([id, lines]) => [id, new Set(lines)]));
    const waiting = [...own.keys()];
    const seen = new Set(waiting);
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        for (const input of page.nodes.get(id)?.inputs ?? []) {
            if (own.has(input) || !fused.has(`${input} ${id}`)) continue;
            const lines = all.get(input) ?? new Set();
            for (const line of all.get(id) ?? []) lines.add(line);
            all.set(input, lines);
            if (!seen.has(input)) waiting.push(input);
            seen.add(input);
        }
    }
    return all;
}

/** @param {number[]} ids */
function some(ids) {
    return ids.length > 0;
}

/**
 * What the nearest line around this one computes.
 * @param {string[]} rows
 * @param {number[][]} nodes
 * @param {number} line
 * @returns {number[]}
 */
function around(rows, nodes, line) {
    const depth = rows[line - 1]?.search(/\S/) ?? -1;
    const place = nodes.findLastIndex((ids, k) => k < line - 1 && ids.length && rows[k].search(/\S/) < depth);
    return nodes[place] ?? [];
}

/**
 * What the lines below a header compute.
 * @param {string[]} rows
 * @param {number[][]} nodes
 * @param {number} line
 * @returns {number[]}
 */
function inside(rows, nodes, line) {
    const header = rows[line - 1] ?? "";
    if (!/^\s*(for|while|if|else|elif|def)\b/.test(header)) return [];
    const depth = header.search(/\S/);
    const length = rows.slice(line).findIndex((row) => row.trim() && row.search(/\S/) <= depth);
    const body = nodes.slice(line, length < 0 ? undefined : line + length);
    return [...new Set(body.flat())];
}
