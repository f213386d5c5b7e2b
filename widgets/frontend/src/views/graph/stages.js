// Stages: what does the graph look like after each pass?
//
//     as written          every operator in a tile of its own
//     …                   tiles become frames
//     shared loops        the kernels of the plan
//
// Each stage is a scene of its own, made from the same nodes with other kernels, and moved so that all have one axis.
// Nothing here draws.

/** @import { Graph, Node, Pass } from "../../types.js" */
/** @import { Placed, Scene } from "../../graph/scene.js" */

import { CARD, compose } from "../../graph/scene.js";
import { view } from "../../graph/view.js";

/** @typedef {import("./camera.js").Rectangle} Rectangle */
/**
 * @typedef {object} Stage
 * @property {Scene} scene
 * @property {Map<string, Placed>} places by the id of the card
 * @property {number} left how far the scene is moved to the left
 * @property {Rectangle[]} tiles kernels of one operator
 * @property {string[]} notes
 */

const AROUND = 7; // pixels between a card and its tile
const MOST = 400; // cards

/**
 * The stage after a pass.
 * @param {Graph} graph
 * @param {Pass} pass
 * @returns {Stage}
 */
export function stageOf(graph, pass) {
    const document = documentOf(graph, pass);
    const seen = view(document, { open: document.kernels.map(({ id }) => `k${id}`), most: MOST });
    for (const card of seen.cards.values()) {
        card.right = card.right.filter((chip) => chip.kind !== "alone");
    }
    const scene = compose(seen);
    const places = new Map(scene.cards.map((placed) => [`${placed.card.id}`, placed]));
    const tiles = scene.cards.filter(({ card }) => card.alone !== null).map(tileOf);
    return { scene, places, left: scene.width / 2, tiles, notes: seen.notes };
}

/** @param {Placed} placed @returns {Rectangle} */
function tileOf({ x, y, width }) {
    return { x: x - AROUND, y: y - AROUND, width: width + 2 * AROUND, height: CARD + 2 * AROUND };
}

/**
 * The graph as it would be if only this pass and those before it were done.
 * @param {Graph} graph
 * @param {Pass} pass
 */
function documentOf(graph, pass) {
    const group = (/** @type {number} */ id) => pass.groups[id] ?? null;
    const together = (/** @type {number} */ a, /** @type {number} */ b) => group(a) !== null && group(a) === group(b);
    const cut = new Set(graph.edges.filter((edge) => !together(edge.source, edge.target)).map((edge) => edge.source));
    const nodes = graph.nodes.map((node) => {
        const kernel = group(node.id);
        return { ...node, kernel, stored: kernel !== null && (node.stored || cut.has(node.id)) };
    });
    const edges = graph.edges.map((edge) => ({ ...edge, fused: together(edge.source, edge.target) }));
    return { ...graph, nodes, edges, kernels: namesOf(nodes) };
}

/**
 * The groups as kernels, named after the operators in them.
 * @param {Node[]} nodes
 */
function namesOf(nodes) {
    /** @type {Map<number, Set<string>>} */
    const found = new Map();
    for (const node of nodes) {
        if (node.kernel === null) continue;
        const words = found.get(node.kernel) ?? new Set();
        found.set(node.kernel, node.kind === "reindex" ? words : words.add(node.op));
    }
    return [...found].map(([id, words]) => ({ id, name: [...words].slice(0, 3).join("_"), nodes: [] }));
}
