// Stage: where do lanes, bars, arrows and what travels on them stand on the canvas?
//
//     show(scene)            another scene; look(from, to) another window of time, in ns
//     at                     the moment that is shown: a line across all lanes, and messages on their way
//     paint()                on the next frame; what does not move is painted once, and copied after that
//     hit(x, y)              what is there
//
// Only what is in the window is drawn, and of very many arrows only some, which `left` says. Nothing here knows keys.

/** @import { Run } from "./model.js" */
/** @import { Times } from "./replay.js" */
/** @import { Arrival, Lane, Level } from "./scene.js" */
/** @import { Palette } from "./paint.js" */

import { ticks } from "../../chart.js";
import { clamp } from "../../numbers.js";
import { arrow, card, sized, write } from "./paint.js";
import { Ground } from "./ground.js";

/**
 * @typedef {{what: "call" | "message", which: number} | null} Chosen
 * @typedef {{run: Run, times: Times, level: Level, lanes: Lane[], arrivals: Arrival[], chains: Int32Array,
 *     late: number, span: number, since: number[]}} Scene `span` is how long the picture is, in ns; `since` when each
 * rank that waits for ever began to
 */

export const [LEFT, TOP, RIGHT, BELOW] = [76, 26, 14, 6]; // pixels around the lanes
const [TALLEST, SMALLEST, MOST_HIGH] = [56, 7, 452]; // of a lane, and of all
const LEAST_WINDOW = 20; // ns

export class Stage {
    from = 0;
    to = 1;
    /** The moment that is shown, in ns. */
    at = 0;
    /** The first lane in sight. */
    top = 0;
    /** @type {Chosen} */
    chosen = null;
    rank = -1;
    /** What is left out, in words. */
    left = "";
    /** Milliseconds that the last frame took. */
    took = 0;
    width = 720;
    /** Of a lane, and of the whole, in pixels. */
    lane = 0;
    height = 0;
    /** How many lanes are in sight. */
    shown = 0;
    stale = true;
    #frame = 0;

    /**
     * @param {Scene} scene
     * @param {Palette} palette
     * @param {() => void} painted called after each frame
     */
    constructor(scene, palette, painted) {
        this.canvas = document.createElement("canvas");
        this.still = document.createElement("canvas");
        this.palette = palette;
        this.painted = painted;
        this.scene = scene;
        this.ground = new Ground(this);
        this.show(scene);
        this.fit();
    }

    /** @param {Scene} scene */
    show(scene) {
        this.scene = scene;
        const { size } = scene.run;
        this.lane = clamp(Math.floor(MOST_HIGH / size), SMALLEST, TALLEST);
        this.shown = Math.min(size, Math.floor(MOST_HIGH / this.lane));
        this.height = TOP + this.shown * this.lane + BELOW;
        this.refresh();
    }

    /** Everything anew on the next frame. */
    refresh() {
        this.stale = true;
        this.paint();
    }

    /** The whole run. */
    fit() {
        this.look(0, this.scene.span);
    }

    /**
     * Show a window of time.
     * @param {number} from
     * @param {number} to
     */
    look(from, to) {
        const wide = clamp(to - from, Math.min(LEAST_WINDOW, this.scene.span), this.scene.span);
        this.from = clamp(from, 0, this.scene.span - wide);
        this.to = this.from + wide;
        this.refresh();
    }

    /**
     * Closer or farther, so that what is at `middle` stays there.
     * @param {number} factor
     * @param {number} [middle]
     */
    zoom(factor, middle = clamp(this.at, this.from, this.to)) {
        const wide = clamp((this.to - this.from) * factor, LEAST_WINDOW, this.scene.span);
        const part = (middle - this.from) / (this.to - this.from);
        this.look(middle - part * wide, middle + (1 - part) * wide);
    }

    /** @param {number} time */
    x(time) {
        return LEFT + ((time - this.from) / (this.to - this.from)) * this.room;
    }

    /** The middle of a lane. @param {number} rank */
    y(rank) {
        return TOP + (rank - this.top + 0.5) * this.lane;
    }

    /** @param {number} x */
    time(x) {
        return this.from + ((x - LEFT) / this.room) * (this.to - this.from);
    }

    get room() {
        return Math.max(60, this.width - LEFT - RIGHT);
    }

    /** Half of what a bar is high. */
    get half() {
        return this.lane >= 24 ? this.lane * 0.23 : this.lane * 0.36;
    }

    /** Move up or down where there are more lanes than fit. @param {number} lanes */
    scroll(lanes) {
        const top = clamp(this.top + lanes, 0, this.scene.run.size - this.shown);
        if (top === this.top) return;
        this.top = top;
        this.refresh();
    }

    /** Whether a lane is in sight. @param {number} rank */
    inSight(rank) {
        return rank >= this.top && rank < this.top + this.shown;
    }

    /** On the next frame. */
    paint() {
        this.#frame ||= requestAnimationFrame(() => {
            const begin = performance.now();
            this.#frame = 0;
            this.draw();
            this.painted();
            this.took = performance.now() - begin;
        });
    }

    close() {
        cancelAnimationFrame(this.#frame);
        this.#frame = -1;
    }

    draw() {
        const high = this.height;
        if (this.stale) {
            this.left = this.ground.draw(sized(this.still, this.width, high));
            this.stale = false;
        }
        const pen = sized(this.canvas, this.width, high);
        pen.save();
        pen.setTransform(1, 0, 0, 1, 0, 0);
        pen.drawImage(this.still, 0, 0);
        pen.restore();
        this.moving(pen);
    }

    /** What is on its way at this moment. @param {CanvasRenderingContext2D} pen */
    moving(pen) {
        const { palette, at, lane } = this;
        const x = this.x(at);
        pen.save();
        pen.beginPath();
        pen.rect(LEFT - 12, 0, this.room + 12 + RIGHT, this.height);
        pen.clip();
        if (x >= LEFT - 1 && x <= this.width) {
            pen.fillStyle = palette.brand;
            pen.fillRect(x - 0.75, TOP - 4, 1.5, this.height - TOP - BELOW + 6);
            pen.beginPath();
            pen.moveTo(x - 5, TOP - 10);
            pen.lineTo(x + 5, TOP - 10);
            pen.lineTo(x, TOP - 3);
            pen.fill();
        }
        const side = lane >= 24 ? 15 : Math.max(5, lane * 0.7);
        for (const which of this.travelling()) {
            const [px, py] = this.place(which);
            const begun = this.scene.chains[which];
            const fill = palette.hues[begun % palette.hues.length];
            card(pen, px, py, { words: `${begun}`, fill, edge: palette.ink, side });
        }
        pen.restore();
    }

    /** The messages that are on their way now, and in sight. @returns {number[]} */
    travelling() {
        const { run: { messages }, times: { sent, arrived }, level } = this.scene;
        const found = [];
        for (let k = 0; k < sent.length && found.length < 400; k += 1) {
            if (sent[k] > this.at || arrived[k] < this.at || sent[k] === arrived[k] || messages.lost[k]) continue;
            if (level === "calls" && this.hidden(k)) continue;
            if (this.inSight(messages.source[k]) || this.inSight(messages.dest[k])) found.push(k);
        }
        return found;
    }

    /** Whether a message is a part of a bar that hides it. @param {number} which */
    hidden(which) {
        const { run, level } = this.scene;
        const call = run.messages.call[which];
        return level === "calls" && call >= 0 && run.meetingOf[run.top[call]] >= 0;
    }

    /** Where a message is now. @param {number} which @returns {[number, number]} */
    place(which) {
        const { sent, arrived } = this.scene.times;
        const [[x, y], [toX, toY]] = this.ends(which);
        const part = clamp((this.at - sent[which]) / (arrived[which] - sent[which]), 0, 1);
        return [x + (toX - x) * part, y + (toY - y) * part];
    }

    /** Both ends of a message's arrow. @param {number} which @returns {[[number, number], [number, number]]} */
    ends(which) {
        const { run: { messages }, times } = this.scene;
        const [source, dest] = [messages.source[which], messages.dest[which]];
        const side = Math.sign(dest - source) * this.half;
        return [
            [this.x(times.sent[which]), this.y(source) + side], [this.x(times.arrived[which]), this.y(dest) - side],
        ];
    }

    /**
     * What is at a place: a message first, then a call.
     * @param {number} x
     * @param {number} y
     * @returns {{chosen: Chosen, rank: number, time: number}}
     */
    hit(x, y) {
        const rank = clamp(this.top + Math.floor((y - TOP) / this.lane), 0, this.scene.run.size - 1);
        const time = clamp(this.time(x), 0, this.scene.span);
        const message = this.near(x, y);
        if (message >= 0) return { chosen: { what: "message", which: message }, rank, time };
        const call = this.callAt(rank, time);
        return { chosen: call < 0 ? null : { what: "call", which: call }, rank, time };
    }

    /** The arrow that is next to a place. @param {number} x @param {number} y */
    near(x, y) {
        let [best, least] = [-1, 6];
        for (const k of this.ground.arrows) {
            const [[fromX, fromY], [toX, toY]] = this.ends(k);
            const long = Math.hypot(toX - fromX, toY - fromY) || 1;
            const part = clamp(((x - fromX) * (toX - fromX) + (y - fromY) * (toY - fromY)) / long ** 2, 0, 1);
            const away = Math.hypot(fromX + part * (toX - fromX) - x, fromY + part * (toY - fromY) - y);
            if (away < least) [best, least] = [k, away];
        }
        return best;
    }

    /** @param {number} rank @param {number} time */
    callAt(rank, time) {
        const { run, times, lanes, level } = this.scene;
        const bar = lanes[rank].front.find((one) => one.call >= 0 && one.begin <= time && time <= one.end);
        if (bar) return level === "calls" ? run.top[bar.call] : bar.call;
        return run.calls.rank.findIndex((one, k) => one === rank && times.enter[k] <= time && time <= times.leave[k]);
    }

    /** @returns {[number, string][]} places and words of the axis of time */
    ticks() {
        const along = { kind: /** @type {const} */ ("linear"), from: this.from, to: this.to };
        return ticks(along, Math.max(2, Math.floor(this.room / 96))).map((time) => [this.x(time), nanosText(time)]);
    }

    /**
     * @param {CanvasRenderingContext2D} pen
     * @param {number} which
     * @param {string} colour
     * @param {number} wide
     */
    arrow(pen, which, colour, wide) {
        const [from, to] = this.ends(which);
        const { lost, synchronous } = this.scene.run.messages;
        const end = /** @type {[number, number]} */ (lost[which] ? [0, 1].map((k) => (from[k] + to[k]) / 2) : to);
        const rim = this.lane >= 18 ? this.palette.paper : undefined;
        const dash = lost[which] ? [4, 3] : synchronous[which] ? [7, 3] : [];
        arrow(pen, from, end, { colour, rim, wide, head: lost[which] ? 0 : this.lane >= 18 ? 6 : 4, dash });
        if (!lost[which]) return;
        write(pen, "✕ lost", end[0] - 4, end[1], { fill: this.palette.bad, rim: this.palette.paper, bold: true });
    }
}

/**
 * A virtual time, as jt_edu/draw/lanes.py writes it: "68.96 µs".
 * @param {number} nanos
 * @returns {string}
 */
export function nanosText(nanos) {
    const unit = nanos >= 1e9 ? 3 : nanos >= 1e6 ? 2 : nanos >= 1e3 ? 1 : 0;
    return `${Number((nanos / 1000 ** unit).toPrecision(4))} ${["ns", "µs", "ms", "s"][unit]}`;
}
