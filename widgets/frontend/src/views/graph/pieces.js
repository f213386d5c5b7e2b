// Pieces: frames, lines and arrow heads, as elements.

/** @import { Drawn, Frame } from "../../graph/scene.js" */
/** @import { Rectangle } from "./camera.js" */
/** @import { Point } from "./shapes.js" */
/** @import { Words } from "./words.js" */

import { FRAME } from "../../graph/scene.js";
import { width } from "../../graph/text.js";
import { s } from "../../dom.js";
import { put } from "./card.js";
import { way } from "./shapes.js";

/**
 * The key of a frame: what its card is called when it is closed.
 * @param {Frame} frame
 * @returns {string}
 */
export function keyOf(frame) {
    return frame.group.key;
}

/**
 * The rectangle of a frame.
 * @param {Frame} frame
 * @returns {Rectangle}
 */
export function rectangleOf(frame) {
    const box = frame.outside;
    const [x, y] = frame.corner;
    return { x: x - FRAME, y: y - FRAME, width: box.left + box.right, height: box.height };
}

/**
 * A frame with its two lines of words.
 * @param {Frame} frame
 * @param {Words[]} words
 * @returns {SVGGElement}
 */
export function frameOf(frame, words) {
    const { x, y, width: wide, height } = rectangleOf(frame);
    const room = Math.max(width(frame.caption, 11, "caps"), width(frame.name, 12, "mono"), wide / 2 - FRAME);
    const left = x + FRAME;
    return s(
        "g",
        { class: "jt-frame", "data-frame": keyOf(frame) },
        s("rect", { x, y, width: wide, height, rx: 14 }),
        put(words, frame.caption.toUpperCase(), "caps", room, [11, 0], left, [y + 26], { class: "c note" }),
        put(words, frame.name, "mono", room, [12, 4], left, [y + 43, y + 36, y + 37, y + 39], { class: "h" }),
    );
}

/**
 * A line, with an arrow head where it arrives at a card.
 * @param {Drawn} drawn
 * @param {number} place its number, by which an event finds it
 * @param {string} uid of the sheet that has the heads
 * @returns {SVGGElement}
 */
export function lineOf({ how, points }, place, uid) {
    const [style, end] = how.split(" ");
    const last = points[points.length - 1];
    const before = points[points.length - 2];
    const short = [...points.slice(0, -2), [last[0], Math.min(before[1], last[1] - 6)], [last[0], last[1] - 6]];
    const d = way(end ? /** @type {Point[]} */ (short) : points);
    const marker = end ? `url(#${uid}-${style})` : null;
    const wide = s("path", { class: "wide", d }); // easier to point at
    return s("g", { "data-line": place }, wide, s("path", { class: style, d, "marker-end": marker }));
}

/**
 * The arrow heads of lines; ids are for the whole page, so they begin with the uid.
 * @param {string} uid
 * @returns {SVGDefsElement}
 */
export function heads(uid) {
    return s("defs", {}, head(uid, "thin", 7), head(uid, "thick", 9));
}

/** @param {string} uid @param {string} how @param {number} size */
function head(uid, how, size) {
    const box = { viewBox: "0 0 8 8", refX: 2, refY: 4, markerWidth: size, markerHeight: size, orient: 90 };
    const shape = s("path", { class: how, d: "M0 .8 8 4 0 7.2 1.6 4z" });
    return s("marker", { id: `${uid}-${how}`, markerUnits: "userSpaceOnUse", ...box }, shape);
}
