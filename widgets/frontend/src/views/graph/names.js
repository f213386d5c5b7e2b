// Names: what is written over the boxes where they have no room for words any more?
//
// Those of layers and other boxes: outer ones first, and of those that stand in the same one the largest. A name that
// would stand on another one is left out, and comes as one looks closer. All are as large as letters on the screen.

/** @import { Scene } from "../../graph/scene.js" */

import { s } from "../../dom.js";
import { CARD, title } from "../../graph/scene.js";
import { cut, width } from "../../graph/text.js";
import { rectangleOf } from "./pieces.js";
import { LEAST } from "./words.js";

const SIZE = LEAST + 1; // pixels on the screen
const APART = 4;

/**
 * The names that have room at this zoom.
 * @param {Scene} scene
 * @param {number} zoom
 * @returns {SVGTextElement[]}
 */
export function namesOver({ frames, cards }, zoom) {
    const boxes = cards.map(({ card, x, y, width: wide }) => ({
        name: title(card)[0], x, y: y + CARD / 2 - SIZE / 2 / zoom, wide, nodes: card.nodes.length,
        depth: card.box ? card.path.length : Infinity,
    })); // prettier-ignore
    const open = frames.map((frame) => {
        const { x, y, width: wide } = rectangleOf(frame);
        const { group } = frame;
        return { name: frame.name, x, y, wide, nodes: group.nodes.length, depth: depthOf(group.parent) };
    });
    const shown = frames.length || boxes.some((box) => box.depth < Infinity);
    const layers = boxes.filter((box) => !shown || box.depth < Infinity); // operators have names where nothing else has
    const wanted = [...open, ...layers].sort((a, b) => (a.depth === b.depth ? b.nodes - a.nodes : a.depth - b.depth));
    /** @type {[number, number, number, number][]} left, top, right and bottom of what is written, on the screen */
    const taken = [];
    return wanted.flatMap(({ name, x, y, wide }) => {
        const words = cut(name, 24);
        const half = width(words, SIZE, "bold") / 2;
        const [middle, top] = [(x + wide / 2) * zoom, y * zoom];
        const [left, right, low] = [middle - half - APART, middle + half + APART, top + SIZE + APART];
        const free = taken.every(([l, t, r, b]) => right < l || left > r || low < t || top > b);
        if (!words || !free) return [];
        taken.push([left, top, right, low]);
        const place = { x: middle / zoom, y: (top + SIZE - 1) / zoom, "text-anchor": "middle" };
        const text = s("text", place, words);
        text.style.fontSize = `${SIZE / zoom}px`;
        return [text];
    });
}

/** @param {import("../../graph/group.js").Group | null} group @returns {number} in how many boxes it stands */
function depthOf(group) {
    return group?.parent ? 1 + depthOf(group.parent) : 0;
}
