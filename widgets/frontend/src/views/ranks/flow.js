// Flow: which way do pieces go from rank to rank, and how many bytes has each link carried by now?
//
//     ring      0 -> 1        tree      0         ranks stand on a circle; where links make a tree, below each other.
//               ^    |                 / \        What moves are the messages of the record, when they moved.
//               3 <- 2                1   2
//
// Beside each link stands what has arrived over it, and what will have at the end. Nothing here knows lanes.

/** @import { Scene } from "./stage.js" */
/** @import { Palette } from "./paint.js" */

import { bytesText, clamp } from "../../numbers.js";
import { arrow, card, sized, write } from "./paint.js";

/** @typedef {{source: number, dest: number, messages: number[], bytes: number}} Link */

const HIGH = 268; // pixels
const NAMED = 24; // links that have room for words
const MOST_LINKS = 600;
const BALL = 15; // pixels, from the middle of a rank to its edge

export class Flow {
    /** @type {Link[]} */
    links = [];
    /** @type {[number, number][]} */
    places = [];
    left = "";
    /** What is drawn now. @type {Scene | null} */
    drawn = null;
    at = -1;

    /** @param {Palette} palette */
    constructor(palette) {
        this.canvas = document.createElement("canvas");
        this.palette = palette;
        this.width = 380;
    }

    /**
     * The messages inside of the collective that a call is a part of; all messages where there are none.
     * @param {Scene} scene
     * @param {number} call
     * @returns {string} what is shown, in words
     */
    show(scene, call) {
        const { run: { messages, meetingOf, top, text, calls } } = scene;
        const meeting = meetingOf[call] ?? -1;
        const all = messages.call.map((_, k) => k);
        const inside = meeting < 0 ? [] : all.filter((k) => meetingOf[top[messages.call[k]]] === meeting);
        this.take(scene, inside.length ? inside : all);
        const name = meeting < 0 ? "" : text(calls.words[call]);
        const which = !name ? "All messages." : inside.length ? `The messages of ${name}.`
            : `None were recorded inside of ${name}: all messages.`;
        const counted = this.links.length > NAMED ? this.left : "Beside each link: what has arrived, of all that will.";
        return `${which} ${counted} A card bears the rank where its piece began.`;
    }

    /**
     * @param {Scene} scene
     * @param {number[]} which messages
     */
    take(scene, which) {
        this.scene = scene;
        this.drawn = null;
        const all = linksOf(scene.run.messages, which);
        this.links = all.slice(0, MOST_LINKS);
        this.left = all.length > MOST_LINKS ? `Showing ${MOST_LINKS} of ${all.length} links.` : "";
        this.tree = levels(all, scene.run.size);
    }

    /** What has arrived over a link by now. @param {Link} link @param {number} at */
    carried({ messages }, at) {
        const { run, times } = /** @type {Scene} */ (this.scene);
        return messages.reduce((sum, k) => sum + (times.arrived[k] <= at ? run.messages.bytes[k] : 0), 0);
    }

    /** The counters in words. @param {number} at */
    words(at) {
        const told = this.links.slice(0, NAMED).map((link) => (
            `${link.source} to ${link.dest}: ${bytesText(this.carried(link, at))} of ${bytesText(link.bytes)}`
        ));
        return told.length ? `What has arrived over each link: ${told.join("; ")}` : "No messages";
    }

    /** @param {number} at */
    draw(at) {
        const { scene, palette, width } = this;
        if (!scene || (this.drawn === scene && this.at === at)) return;
        [this.drawn, this.at] = [scene, at];
        const pen = sized(this.canvas, width, HIGH);
        const { size } = scene.run;
        this.places = this.tree ? inRows(this.tree, width) : onCircle(size, width);
        this.ball = size > 24 ? 4 : size > 12 ? 10 : BALL;
        pen.fillStyle = palette.paper;
        pen.fillRect(0, 0, width, HIGH);
        const both = new Set(this.links.map(({ source, dest }) => `${source}>${dest}`));
        for (const link of this.links) this.link(pen, link, at, both.has(`${link.dest}>${link.source}`));
        this.places.forEach((place, rank) => this.rank(pen, place, rank, at));
        for (const link of this.links) this.cards(pen, link, at, both.has(`${link.dest}>${link.source}`));
    }

    /** Both ends of a link. @param {Link} link @param {boolean} pair @returns {[[number, number], [number, number]]} */
    ends({ source, dest }, pair) {
        const [[x, y], [toX, toY]] = [this.places[source], this.places[dest]];
        const long = Math.hypot(toX - x, toY - y) || 1;
        const [ux, uy] = [(toX - x) / long, (toY - y) / long];
        const [side, ball] = [pair ? Math.min(7, (this.ball ?? BALL) * 0.5) : 0, (this.ball ?? BALL) + 2];
        const [nx, ny] = [-uy * side, ux * side];
        return [[x + ux * ball + nx, y + uy * ball + ny], [toX - ux * ball + nx, toY - uy * ball + ny]];
    }

    /** @param {CanvasRenderingContext2D} pen @param {Link} link @param {number} at @param {boolean} pair */
    link(pen, link, at, pair) {
        const { palette } = this;
        const { times } = /** @type {Scene} */ (this.scene);
        const [from, to] = this.ends(link, pair);
        const busy = link.messages.some((k) => times.sent[k] <= at && at <= times.arrived[k]);
        const how = { colour: busy ? palette.brand : palette.soft, wide: busy ? 2.2 : 1.1, head: 5 };
        arrow(pen, from, to, how);
        if (this.links.length > NAMED) return;
        const words = `${bytesText(this.carried(link, at))} / ${bytesText(link.bytes)}`;
        const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        const long = Math.hypot(dx, dy) || 1;
        const part = pair ? 0.36 : 0.5;
        const outside = dx * (from[1] + to[1] - HIGH) >= dy * (from[0] + to[0] - this.width);
        const away = pair || outside ? 12 : -12; // aside, where no other link is and no card comes by
        const [x, y] = [from[0] + dx * part - (dy / long) * away, from[1] + dy * part + (dx / long) * away];
        const wide = words.length * 6 + 4;
        const middle = Math.abs(dy) < Math.abs(dx) * 0.5 ? x : x + (wide / 2 - 2) * (dy * away < 0 ? 1 : -1);
        const inside = clamp(middle, wide / 2, this.width - wide / 2);
        write(pen, words, inside, y, { fill: palette.ink, rim: palette.paper, align: "center" });
    }

    /** @param {CanvasRenderingContext2D} pen @param {[number, number]} place @param {number} rank @param {number} at */
    rank(pen, [x, y], rank, at) {
        const { palette } = this;
        const { lanes, late } = /** @type {Scene} */ (this.scene);
        const bar = lanes[rank].front.find((one) => one.begin <= at && at < one.end);
        pen.beginPath();
        pen.arc(x, y, this.ball ?? BALL, 0, 7);
        pen.fillStyle = bar ? palette.kinds[bar.kind] : palette.paper;
        pen.fill();
        pen.strokeStyle = rank === late ? palette.bad : palette.ink;
        pen.lineWidth = rank === late ? 2.4 : 1.4;
        pen.stroke();
        if ((this.ball ?? BALL) < 8) return;
        write(pen, `${rank}`, x, y + 0.5, { fill: palette.ink, rim: palette.paper, align: "center", bold: true });
    }

    /** What is on its way over a link. @param {CanvasRenderingContext2D} pen @param {Link} link
     * @param {number} at @param {boolean} pair */
    cards(pen, link, at, pair) {
        const { palette } = this;
        const { times: { sent, arrived }, chains } = /** @type {Scene} */ (this.scene);
        const [[x, y], [toX, toY]] = this.ends(link, pair);
        for (const k of link.messages) {
            if (sent[k] > at || arrived[k] < at || sent[k] === arrived[k]) continue;
            const part = (at - sent[k]) / (arrived[k] - sent[k]);
            const fill = palette.hues[chains[k] % palette.hues.length];
            const [px, py] = [x + (toX - x) * part, y + (toY - y) * part];
            const side = this.places.length > 24 ? 8 : 16;
            card(pen, px, py, { words: `${chains[k]}`, fill, edge: palette.ink, side });
        }
    }
}

/**
 * The links that messages go by, those with most bytes first.
 * @param {Record<string, number[]>} messages
 * @param {number[]} which
 * @returns {Link[]}
 */
export function linksOf({ source, dest, bytes }, which) {
    /** @type {Map<string, Link>} */
    const found = new Map();
    for (const k of which) {
        const key = `${source[k]}>${dest[k]}`;
        const link = found.get(key) ?? { source: source[k], dest: dest[k], messages: [], bytes: 0 };
        link.messages.push(k);
        link.bytes += bytes[k];
        found.set(key, link);
    }
    return [...found.values()].sort((a, b) => b.bytes - a.bytes || a.source - b.source || a.dest - b.dest);
}

/**
 * How far below the root each rank stands, if the links make a tree over all ranks that branches; the root is the end
 * with most links.
 * @param {Link[]} links
 * @param {number} size
 * @returns {{row: number[], order: number[]} | null}
 */
export function levels(links, size) {
    /** @type {Set<number>[]} */
    const near = Array.from({ length: size }, () => new Set());
    for (const { source, dest } of links) {
        if (source === dest) return null;
        near[source].add(dest);
        near[dest].add(source);
    }
    const pairs = near.reduce((sum, one) => sum + one.size, 0) / 2;
    const most = near.reduce((best, one, rank) => (one.size > near[best].size ? rank : best), 0);
    if (size < 3 || pairs !== size - 1) return null;
    const row = Array.from({ length: size }, () => -1);
    const order = [most];
    row[most] = 0;
    for (const rank of order) {
        for (const next of [...near[rank]].sort((a, b) => near[b].size - near[a].size || a - b)) {
            if (row[next] >= 0) continue;
            row[next] = row[rank] + 1;
            order.push(next);
        }
    }
    return order.length === size ? { row, order } : null;
}

/** @param {number} size @param {number} width @returns {[number, number][]} */
function onCircle(size, width) {
    const [high, wide] = [HIGH / 2 - BALL - 14, Math.min(width / 2 - 74, HIGH * 0.62)];
    return Array.from({ length: size }, (_, rank) => {
        const turn = (rank / size) * 2 * Math.PI - Math.PI / 2 - (size === 4 ? Math.PI / 4 : 0);
        return [width / 2 + Math.max(60, wide) * Math.cos(turn), HIGH / 2 + high * Math.sin(turn)];
    });
}

/** @param {{row: number[], order: number[]}} tree @param {number} width @returns {[number, number][]} */
function inRows({ row, order }, width) {
    const deep = Math.max(1, ...row);
    /** @type {number[][]} */
    const rows = Array.from({ length: deep + 1 }, () => []);
    for (const rank of order) rows[row[rank]].push(rank);
    /** @type {[number, number][]} */
    const places = Array.from({ length: row.length }, () => [0, 0]);
    const apart = (HIGH - 2 * BALL - 24) / deep;
    rows.forEach((ranks, k) => ranks.forEach((rank, place) => {
        places[rank] = [((place + 0.5) / ranks.length) * width, BALL + 12 + k * apart];
    }));
    return places;
}
