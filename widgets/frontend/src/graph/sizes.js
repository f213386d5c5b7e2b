/**
 * Sizes: how much room does a card take, with its words and its chips?
 *
 * The same numbers as in jt_edu/draw/scene.py. Nothing here knows where a card stands.
 */

import { Box } from "./grid.js";
import { KINDS, cut, roundEven, width } from "./text.js";

/** @typedef {import("./cards.js").Card} Card */
/** @typedef {import("./cards.js").Chip} Chip */

const CAPITALS = ["output", "alone"]; // chips in small capitals
export const CARD = 46; // height
export const CHIP = 20;
export const CHIP_APART = 5;
const CHIP_PAD = 8;
export const STALK = 10;
/** @type {Readonly<Record<string, number>>} */
const PAD = { source: 20, input: 20, reindex: 22, reindex_reduce: 22, index: 22, constant: 22, hostcall: 20 };
const BETWEEN = 18; // words on the left and on the right of a card
export const FOOT = 18; // words below a card, or at the bottom of a frame
export const BESIDE = 10; // from a line to the words beside it

/**
 * First line of a card: what is set in bold, and the rest.
 * @param {Card} card
 * @returns {[string, string]}
 */
export function title(card) {
    if (!card.name) {
        return [cut(card.op, 32), ""];
    }
    if (card.kind === "source" || card.kind === "repeat") {
        return [cut(card.name, card.kind === "source" ? 20 : 32), ""];
    }
    return [cut(card.name, 20), card.box ? cut(card.op, 28) : `= ${cut(card.op, 28)}`];
}

/**
 * What is set in small capitals.
 * @param {Card} card
 * @returns {string}
 */
export function kind(card) {
    return (card.gradient ? "∂ " : "") + KINDS[card.kind];
}

/**
 * How far the words of a card stand from its edge.
 * @param {Card} card
 * @returns {number}
 */
export function pad(card) {
    return PAD[card.kind] ?? 15;
}

/**
 * As wide as its two lines and the slant of its outline need.
 * @param {Card} card
 * @returns {number}
 */
export function cardWidth(card) {
    const [bold, rest] = title(card);
    const first = width(bold, 13, "bold") + width(` ${rest}`, 13) + BETWEEN + width(kind(card), 11, "caps");
    const second = width(cut(card.facts, 40), 11.5, "mono") + BETWEEN + width(card.number, 11, "mono");
    return roundEven(Math.max(first, second) + 2 * pad(card));
}

/**
 * How other cards call it, when they are far: what stands in its corner.
 * @param {Card} card
 * @returns {string}
 */
export function number(card) {
    return card.number;
}

/**
 * Words and margins.
 * @param {Chip} chip
 * @returns {number}
 */
export function chipWidth(chip) {
    return roundEven(width(chip.text, 11, CAPITALS.includes(chip.kind) ? "caps" : "mono") + 2 * CHIP_PAD);
}

/**
 * What is written beside a line that leaves a frame or a closed box.
 * @param {Card} card
 * @returns {string}
 */
export function label(card) {
    if (card.box) {
        return card.words;
    }
    return card.bytes ? `${cut(card.facts, 40)} · ${card.bytes}` : cut(card.facts, 40);
}

/**
 * The room that a card takes, with its chips, and what stands below it.
 * @param {Card} card
 * @param {string} words
 * @returns {{box: Box, width: number}}
 */
export function boxOf(card, words) {
    const wide = cardWidth(card);
    const half = wide / 2;
    const [left, right] = [card.left, card.right].map((chips) =>
        chips.reduce((most, chip) => Math.max(most, STALK + chipWidth(chip)), 0),
    );
    const stack = Math.max(card.left.length, card.right.length) * (CHIP + CHIP_APART) - CHIP_APART;
    const height = Math.max(CARD, stack);
    const foot = words ? FOOT : 0;
    const beside = words ? BESIDE + width(words, 11, "mono") : 0;
    const box = new Box(half + left, Math.max(half + right, beside), height + foot);
    box.half = half - 22;
    box.inset = (height - CARD) / 2;
    box.foot = foot;
    return { box, width: wide };
}
