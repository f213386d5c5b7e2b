// Card: what does one box of the graph look like?
//
//     title = op          KIND    (chip)     the face is what is pointed at, focused and selected;
//     shape dtype           12    (chip)     chips say what is too small or too far for a line
//
// All is drawn from (0, 0), so that moving a card means moving one element. Nothing here knows where it stands.

/** @import { Card, Chip } from "../../graph/view.js" */
/** @import { Words } from "./words.js" */

import { CARD, CHIP, CHIP_APART, STALK, chipWidth, kind, pad, title } from "../../graph/scene.js";
import { cut } from "../../graph/text.js";
import { s } from "../../dom.js";
import { clamp } from "../../numbers.js";
import { outline, pill } from "./shapes.js";
import { TIMES } from "./words.js";

const PRECISIONS = ["float16", "bfloat16", "float64"];
const CAPITALS = ["output", "alone"];
const SHORT = /** @type {Record<string, string>} */ ({ output: "OUT" });

/** @typedef {{root: SVGGElement, face: SVGGElement, words: Words[], mark: string}} Drawn */

/**
 * What a card shows, as text: two cards with the same mark look the same.
 * @param {Card} card
 * @param {number} wide
 * @returns {string}
 */
export function markOf(card, wide) {
    const chips = [...card.left, null, ...card.right].map((chip) => chip && [chip.kind, chip.text]);
    const flags = [card.stored, card.gradient, card.output];
    return JSON.stringify([card.kind, title(card), card.facts, card.number, wide, flags, chips]);
}

/**
 * A card, ready to be moved to its place.
 * @param {Card} card
 * @param {number} wide
 * @returns {Drawn}
 */
export function draw(card, wide) {
    /** @type {Words[]} */
    const words = [];
    const face = faceOf(card, wide, words);
    const root = s("g", "jt-card", face, chipsOf(card, wide, words));
    return { root, face, words, mark: markOf(card, wide) };
}

/**
 * The chips on both sides of a card.
 * @param {Card} card
 * @param {number} wide
 * @param {Words[]} words
 * @returns {SVGGElement[]}
 */
export function chipsOf(card, wide, words) {
    return [...side(card.left, 0, -1, words), ...side(card.right, wide, 1, words)];
}

/**
 * A card without its chips.
 * @param {Card} card
 * @param {number} wide
 * @param {Words[]} words
 * @returns {SVGGElement}
 */
export function faceOf(card, wide, words) {
    const inside = card.stored && card.kind !== "source";
    const inner = inside ? s("path", { class: "b inner", d: outline(card.kind, 3, 3, wide - 6, CARD - 6) }) : null;
    return s(
        "g",
        {
            class: `jt-face jt-k-${card.kind}${card.gradient ? " jt-gradient" : ""}`, "data-id": `${card.id}`,
            "data-box": "card", role: "img", tabindex: -1, "aria-label": labelOf(card),
        },
        s("path", { class: "b", d: outline(card.kind, 0, 0, wide, CARD) }),
        inner,
        lines(card, wide, words),
    ); // prettier-ignore
}

/**
 * A card in words, for who cannot see it.
 * @param {Card} card
 * @returns {string}
 */
export function labelOf(card) {
    const marks = [card.gradient && "gradient", card.stored && "stored", card.output && "output"];
    const named = card.name && card.kind !== "source" ? `${card.name} = ${card.op}` : card.label;
    return [named, card.facts, kind(card).replace("∂ ", ""), ...marks].filter(Boolean).join(", ");
}

/**
 * The class that colours words, where their dtype is a half or float64; none for what is usual.
 * @param {string} words
 * @returns {string[]}
 */
export function precision(words) {
    const found = words.split(" ").find((word) => PRECISIONS.includes(word));
    return found ? [`jt-d-${found}`] : [];
}

/** @param {Card} card @param {number} wide @param {Words[]} words */
function lines(card, wide, words) {
    const [bold, rest] = title(card);
    const room = wide - 2 * pad(card);
    const said = `${bold} ${rest}`.trim();
    const short = card.box && !TIMES.test(said) ? bold : said;
    const first = put(words, said, "bold", room, [13, 4], pad(card), [20, 20, 18, 32, 36], {}, short);
    first.classList.add("v");
    const second = put(words, cut(card.facts, 40), "mono", room, [11.5, 2], pad(card), [36, 37, 37]);
    second.classList.add("f", ...precision(card.facts));
    const right = { x: wide - pad(card), "text-anchor": "end" };
    const third = put(words, kind(card).toUpperCase(), "caps", room, [11, 0], 0, [20], { ...right, class: "c" });
    const fourth = put(words, card.number, "mono", room, [11, 0], 0, [36], { ...right, class: "i" });
    return [first, second, third, fourth];
}

/**
 * A text that adapts to the zoom.
 * @param {Words[]} words
 * @param {string} text
 * @param {import("./words.js").Style} style
 * @param {number} room
 * @param {[number, number]} size of its letters at zoom 1, and the last level at which it is shown
 * @param {number} x
 * @param {number[]} at
 * @param {Record<string, string | number>} [more]
 * @param {string} [short] what stands there where the text has no room
 */
export function put(words, text, style, room, [near, until], x, at, more = {}, short = undefined) {
    const element = s("text", { x, ...more });
    words.push({ element, text, style, room: room + 1, near, until, at, short });
    return element;
}

/**
 * A stack of chips beside a card whose edge is at `x`, each on a stalk.
 * @param {Chip[]} chips
 * @param {number} x
 * @param {-1 | 1} way to the left or to the right
 * @param {Words[]} words
 */
function side(chips, x, way, words) {
    const top = CARD / 2 - (chips.length * (CHIP + CHIP_APART) - CHIP_APART) / 2;
    return chips.map((chip, k) => chipOf(chip, k, x, way, top + k * (CHIP + CHIP_APART) + CHIP / 2, words));
}

/**
 * @param {Chip} chip
 * @param {number} place
 * @param {number} x
 * @param {-1 | 1} way
 * @param {number} middle
 * @param {Words[]} words
 */
function chipOf(chip, place, x, way, middle, words) {
    const wide = chipWidth(chip);
    const near = x + way * STALK;
    const left = way > 0 ? near : near - wide;
    const capitals = CAPITALS.includes(chip.kind);
    const at = clamp(middle, 10, CARD - 10);
    const more = { "text-anchor": "middle", class: capitals ? "c" : "m" };
    /** @type {[string, import("./words.js").Style]} */
    const text = capitals ? [chip.text.toUpperCase(), "caps"] : [chip.text, "mono"];
    return s(
        "g",
        { class: `jt-chip jt-k-${chip.kind}`, "data-chip": `${way < 0 ? "left" : "right"} ${place}` },
        s("title", {}, chip.tip),
        s("path", { class: "stalk", d: `M${x - way * 4} ${at}L${near} ${middle}` }),
        s(
            "g",
            { "data-box": "card" },
            s("path", { class: "b", d: pill(left, middle - CHIP / 2, wide, CHIP, CHIP / 2) }),
            put(words, ...text, wide - 6, [11, 1], left + wide / 2, [middle + 4, middle + 5], more, SHORT[chip.kind]),
        ),
    );
}

/**
 * A small picture of an outline, for the legend.
 * @param {string} name
 * @param {boolean} [double] with a second outline
 * @returns {SVGSVGElement}
 */
export function swatch(name, double = false) {
    const [first, second] = [outline(name, 1, 1, 30, 16), double && outline(name, 4, 4, 24, 10)];
    const shapes = [first, second].map((d) => d && s("path", { class: "b", d }));
    const mark = name === "gradient" ? " jt-gradient" : "";
    const size = { width: 32, height: 18, "aria-hidden": "true" };
    return s("svg", { class: "jt-swatch", ...size }, s("g", `jt-k-${name}${mark}`, shapes));
}
