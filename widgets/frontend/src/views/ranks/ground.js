// Ground: what of the lanes does not move while time runs: lanes, bars, ticks of arrival, arrows and their words.
//
// Bars that are narrower than a pixel are merged, arrows beyond MOST_ARROWS are left out evenly, words stand only where
// there is room. `draw` answers what was left out, in words; `arrows` are those that can be pointed at.

/** @import { Stage } from "./stage.js" */
/** @import { Arrival, Bar } from "./scene.js" */

import { bytesText, grouped } from "../../numbers.js";
import { write } from "./paint.js";
import { BELOW, LEFT, RIGHT, TOP, nanosText } from "./stage.js";

const [MOST_ARROWS, MOST_WORDS, MOST_TICKS] = [1200, 60, 3000];
const NARROW = 3; // pixels, of a bar whose pattern nobody could see
const LETTER = 6.1; // pixels, of 11 px text

/** @typedef {{words: string, at: [number, number][], fill: string, bold?: boolean, card?: boolean}} Words
 * `at`: places, of which the first free one is taken; `card`: on a ground of their own */

export class Ground {
    /** @type {number[]} */
    arrows = [];
    /** Areas with words. @type {number[][]} */
    taken = [];
    /** Words on top of everything, the most important ones first. @type {Words[][]} */
    words = [];

    /** @param {Stage} stage */
    constructor(stage) {
        this.stage = stage;
    }

    /**
     * @param {CanvasRenderingContext2D} pen
     * @returns {string} what is left out
     */
    draw(pen) {
        const { stage } = this;
        this.taken = [];
        this.words = [[], [], []];
        pen.fillStyle = stage.palette.paper;
        pen.fillRect(0, 0, stage.width, /** @type {number} */ (stage.height));
        this.grid(pen);
        pen.save();
        pen.beginPath();
        pen.rect(LEFT - 8, TOP - 6, stage.room + RIGHT + 8, stage.height - TOP + 6);
        pen.clip();
        this.lanes(pen);
        const names = stage.lane >= 24 ? stage.shown : 0;
        for (let rank = stage.top; rank < stage.top + names; rank += 1) this.outlines(pen, rank);
        this.stuck(pen);
        const there = stage.scene.arrivals.filter((one) => one.end >= stage.from && one.begin <= stage.to);
        if (there.length * stage.shown <= MOST_TICKS) there.forEach((one) => this.arrival(pen, one));
        const left = this.messages(pen);
        for (const one of this.words.flat()) this.put(pen, one);
        pen.restore();
        this.names(pen);
        return left;
    }

    /** @param {CanvasRenderingContext2D} pen */
    grid(pen) {
        const { stage } = this;
        const { palette } = stage;
        const foot = stage.height - BELOW;
        for (let rank = stage.top; rank < stage.top + stage.shown; rank += 1) {
            const y = stage.y(rank) - stage.lane / 2;
            pen.fillStyle = rank === stage.rank ? palette.lit : rank % 2 ? palette.paper : palette.shade;
            pen.fillRect(0, y, stage.width, stage.lane);
        }
        for (const [x, words] of stage.ticks()) {
            pen.fillStyle = palette.line;
            pen.fillRect(Math.round(x), TOP - 6, 1, foot - TOP + 6);
            const align = x > stage.width - 34 ? "right" : x < LEFT + 10 ? "left" : "center";
            write(pen, words, align === "right" ? stage.width - 2 : x, 9, { fill: palette.soft, align });
        }
    }

    /** The names of the lanes. @param {CanvasRenderingContext2D} pen */
    names(pen) {
        const { stage } = this;
        const { palette, scene, lane } = stage;
        const every = Math.max(1, Math.ceil(13 / lane));
        for (let rank = stage.top; rank < stage.top + stage.shown; rank += 1) {
            const late = rank === scene.late;
            const stuck = scene.run.waits.some((one) => one.rank === rank);
            if ((rank - stage.top) % every && !late) continue;
            const y = stage.y(rank);
            const more = lane >= 34 && (late || stuck) ? (stuck ? "blocked" : "late") : "";
            const fill = late || stuck ? palette.bad : palette.ink;
            write(pen, `rank ${rank}`, LEFT - 12, y - (more ? 7 : 0), { fill, align: "right", bold: late || stuck });
            if (more) write(pen, `${stuck ? "✕" : "▾"} ${more}`, LEFT - 12, y + 8, { fill, align: "right" });
        }
    }

    /** The bars of all lanes in sight, kind by kind: to change the colour takes longer than to fill.
     * @param {CanvasRenderingContext2D} pen */
    lanes(pen) {
        const { stage } = this;
        const { kinds, flats, edges } = stage.palette;
        /** @type {number[][][]} */
        const found = [[], [], []];
        for (let rank = stage.top; rank < stage.top + stage.shown; rank += 1) {
            const { front, back } = stage.scene.lanes[rank];
            const [y, half] = [stage.y(rank), stage.half];
            this.bars(found, front, y - half, 2 * half);
            this.bars(found, back, y + half + 1, Math.max(2, half * 0.4));
        }
        found.forEach((bars, kind) => {
            for (const [fill, narrow] of /** @type {const} */ ([[flats[kind], true], [kinds[kind], false]])) {
                pen.fillStyle = fill;
                for (const [x, y, wide, high] of bars) if (wide < NARROW === narrow) pen.fillRect(x, y, wide, high);
            }
            pen.strokeStyle = edges[kind];
            pen.lineWidth = 1;
            if (stage.lane < 18) return;
            for (const [x, y, wide, high] of bars) {
                if (wide >= NARROW) pen.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
            }
        });
    }

    /**
     * Where the bars of a lane stand: left, top, width and height, by kind.
     * @param {number[][][]} found
     * @param {Bar[]} bars in the order of time
     * @param {number} y
     * @param {number} high
     */
    bars(found, bars, y, high) {
        const { stage } = this;
        const unit = stage.room / (stage.to - stage.from);
        const [zero, most] = [LEFT - stage.from * unit, stage.width + 4];
        const ends = [-9, -9, -9];
        for (let k = firstAfter(bars, stage.from); k < bars.length && bars[k].begin <= stage.to; k += 1) {
            const { kind, begin, end } = bars[k];
            const right = Math.min(most, zero + end * unit);
            if (right - ends[kind] < (stage.lane < 12 ? 2.5 : 1.5)) continue;
            const x = Math.max(LEFT - 4, zero + begin * unit);
            ends[kind] = Math.max(right, x + 1);
            found[kind].push([x, y, Math.max(1, right - x), high]);
        }
    }

    /**
     * Calls that the learner wrote, around their bars, with their names.
     * @param {CanvasRenderingContext2D} pen
     * @param {number} rank
     */
    outlines(pen, rank) {
        const { stage } = this;
        const [y, half] = [stage.y(rank), stage.half];
        const { times } = stage.scene;
        let last = -99;
        for (const call of this.callsOf(rank)) {
            const [x, right] = [stage.x(times.enter[call]), stage.x(times.leave[call])];
            if (right - x < 2 || right - last < 2) continue;
            last = right;
            pen.strokeStyle = stage.palette.ink;
            pen.lineWidth = stage.chosen?.what === "call" && stage.chosen.which === call ? 2.6 : 1.1;
            pen.beginPath();
            pen.roundRect(x, y - half, right - x, 2 * half, 3);
            pen.stroke();
            this.name(call, Math.max(x, LEFT), Math.min(right, stage.width - RIGHT), y);
        }
    }

    /** The learner's calls of a rank that are in the window. @param {number} rank */
    callsOf(rank) {
        const { run, times } = this.stage.scene;
        return run.own[rank].filter((k) => times.leave[k] >= this.stage.from && times.enter[k] <= this.stage.to);
    }

    /**
     * The name of a call, in the middle of its bar or above it.
     * @param {number} call
     * @param {number} x
     * @param {number} right
     * @param {number} y
     */
    name(call, x, right, y) {
        const { stage } = this;
        const { run, level } = stage.scene;
        const how = run.text(run.calls.algorithm[call]);
        const name = run.text(run.calls.name[call]);
        const long = how && how !== "native" ? `${name}, ${how}` : name;
        const words = [long, name].find((one) => one.length * LETTER + 10 <= right - x);
        const above = level === "messages" && run.meetingOf[call] >= 0;
        if (!words || (above && stage.lane < 44)) return;
        const place = above ? y - stage.half - 7 : y;
        const at = [0.5, 0.25, 0.75].map((part) => /** @type {[number, number]} */ ([x + (right - x) * part, place]));
        this.words[1].push({ words, at, fill: stage.palette.ink });
    }

    /** A tick for each rank that comes to a collective. @param {CanvasRenderingContext2D} pen @param {Arrival} one */
    arrival(pen, { calls, byRank, first, last, begin, here }) {
        const { stage } = this;
        const { run, times } = stage.scene;
        const { palette, lane } = stage;
        if (calls.length < 2) return;
        const chosen = stage.chosen?.what === "call" && calls.includes(run.top[stage.chosen.which]);
        pen.strokeStyle = chosen ? palette.ink : palette.soft;
        pen.lineWidth = chosen ? 1.6 : 1;
        pen.setLineDash([2, 3]);
        pen.beginPath();
        for (const call of byRank) pen.lineTo(stage.x(times.enter[call]), stage.y(run.calls.rank[call]));
        pen.stroke();
        pen.setLineDash([]);
        const reach = lane * (lane >= 24 ? 0.36 : 0.45);
        for (const call of calls) {
            const [x, rank] = [stage.x(times.enter[call]), run.calls.rank[call]];
            const late = rank === last && here > begin;
            pen.fillStyle = late ? palette.bad : palette.ink;
            pen.fillRect(x - 1, stage.y(rank) - reach, 2, 2 * reach);
            if (lane >= 24 && here > begin) this.flag(pen, x, stage.y(rank) - reach, late, rank === first);
        }
        if (here === begin || lane < 34) return;
        const words = `last, ${nanosText(here - begin)} late`;
        const [x, y, aside] = [stage.x(here), stage.y(last) - reach, (words.length * LETTER) / 2 + 10];
        this.words[0].push({ words, at: [[x + aside, y], [x - aside, y]], fill: palette.bad, bold: true });
    }

    /**
     * @param {CanvasRenderingContext2D} pen
     * @param {number} x
     * @param {number} y
     * @param {boolean} late
     * @param {boolean} first
     */
    flag(pen, x, y, late, first) {
        const { palette } = this.stage;
        if (!late && !first) return;
        pen.beginPath();
        if (late) {
            pen.moveTo(x - 5, y - 3);
            pen.lineTo(x + 5, y - 3);
            pen.lineTo(x, y + 4);
            pen.fillStyle = palette.bad;
            pen.fill();
            return;
        }
        pen.arc(x, y, 3.4, 0, 7);
        pen.fillStyle = palette.paper;
        pen.fill();
        pen.strokeStyle = palette.ink;
        pen.lineWidth = 1.4;
        pen.stroke();
    }

    /** @param {CanvasRenderingContext2D} pen */
    messages(pen) {
        const { stage } = this;
        const found = this.inWindow();
        const every = Math.ceil(found.length / MOST_ARROWS);
        this.arrows = every > 1 ? found.filter((_, k) => k % every === 0) : found;
        const chosen = stage.chosen?.what === "message" ? stage.chosen.which : -1;
        if (stage.lane < 18) this.crowd(pen);
        else for (const k of this.arrows) if (k !== chosen) this.message(pen, k, stage.palette.soft, 1.2);
        if (chosen >= 0 && found.includes(chosen)) this.message(pen, chosen, stage.palette.brand, 2.6);
        if (this.arrows.length <= MOST_WORDS && stage.lane >= 24) this.arrows.forEach((k) => this.size(k));
        if (every <= 1) return "";
        return `${grouped(this.arrows.length)} of ${grouped(found.length)} arrows in sight: zoom in to see more`;
    }

    /** Arrows between narrow lanes, all in one stroke: a line, and a point where it ends.
     * @param {CanvasRenderingContext2D} pen */
    crowd(pen) {
        const { stage } = this;
        pen.strokeStyle = pen.fillStyle = stage.palette.soft;
        pen.lineWidth = 0.8;
        pen.beginPath();
        for (const k of this.arrows) {
            const [[x, y], [toX, toY]] = stage.ends(k);
            pen.moveTo(x, y);
            pen.lineTo(toX, toY);
            pen.rect(toX - 1, toY - 1, 2, 2);
        }
        pen.stroke();
    }

    /** Messages that are in the window, and not inside of a bar. */
    inWindow() {
        const { stage } = this;
        const { run: { messages }, times: { sent, arrived, done } } = stage.scene;
        const found = [];
        for (let k = 0; k < sent.length; k += 1) {
            const end = Math.max(arrived[k], done[k]);
            if (end < stage.from || sent[k] > stage.to || stage.hidden(k)) continue;
            if (stage.inSight(messages.source[k]) || stage.inSight(messages.dest[k])) found.push(k);
        }
        return found;
    }

    /** @param {CanvasRenderingContext2D} pen @param {number} which @param {string} colour @param {number} wide */
    message(pen, which, colour, wide) {
        const { stage } = this;
        const { times } = stage.scene;
        stage.arrow(pen, which, colour, wide);
        const [, [x, y]] = stage.ends(which);
        const taken = times.taken[which] < 0 ? x : stage.x(times.taken[which]);
        if (taken - x < 3) return;
        pen.strokeStyle = colour; // it lay there until it was taken
        pen.lineWidth = 1;
        pen.setLineDash([1, 3]);
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(taken, y);
        pen.stroke();
        pen.setLineDash([]);
    }

    /** How long a message is, on its arrow. @param {number} which */
    size(which) {
        const { stage } = this;
        const [[x, y], [toX, toY]] = stage.ends(which);
        if (Math.hypot(toX - x, toY - y) < 34) return;
        const words = bytesText(stage.scene.run.messages.bytes[which]);
        const at = [0.5, 0.35, 0.65].map((part) => (
            /** @type {[number, number]} */ ([x + (toX - x) * part, y + (toY - y) * part])
        ));
        this.words[2].push({ words, at, fill: stage.palette.ink });
    }

    /** @param {CanvasRenderingContext2D} pen @param {Words} wanted */
    put(pen, { words, at, fill, bold, card }) {
        const wide = (words.length * LETTER) / 2 + 3;
        const place = at.find(([x, y]) => this.free(x - wide, y - 7, x + wide, y + 7));
        if (!place) return;
        const [x, y] = place;
        this.taken.push([x - wide, y - 7, x + wide, y + 7]);
        pen.fillStyle = this.stage.palette.paper;
        if (card) pen.fillRect(x - wide, y - 8, 2 * wide, 16);
        write(pen, words, x, y, { fill, bold, rim: this.stage.palette.paper, align: "center" });
    }

    /** Whether an area is in the picture and holds no words yet. @param {number} x @param {number} y
     * @param {number} toX @param {number} toY */
    free(x, y, toX, toY) {
        const { width, height } = this.stage;
        if (x < LEFT || toX > width || y < TOP - 12 || toY > height) return false;
        return !this.taken.some(([left, top, right, foot]) => x < right && left < toX && y < foot && top < toY);
    }

    /** Ranks that waited for ever. @param {CanvasRenderingContext2D} pen */
    stuck(pen) {
        const { stage } = this;
        const { run, since, span } = stage.scene;
        run.waits.forEach(({ rank, words }, k) => {
            if (!stage.inSight(rank)) return;
            const [x, right] = [Math.max(LEFT - 4, stage.x(since[k])), stage.x(span) + RIGHT];
            const [y, half] = [stage.y(rank), stage.half];
            pen.fillStyle = stage.palette.stuck;
            pen.fillRect(x, y - half, right - x, 2 * half);
            pen.strokeStyle = stage.palette.bad;
            pen.lineWidth = 1.4;
            pen.strokeRect(x, y - half, right - x, 2 * half);
            const said = `waits in ${words}`;
            if (stage.lane < 18 || said.length * LETTER + 8 > right - x) return;
            const { bad: fill } = stage.palette;
            this.words[0].push({ words: said, at: [[(x + right) / 2, y]], fill, bold: true, card: true });
        });
    }

}

/**
 * The first bar that ends after a moment: bars of a lane do not overlap.
 * @param {Bar[]} bars
 * @param {number} time
 */
function firstAfter(bars, time) {
    let [low, high] = [0, bars.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (bars[middle].end < time) low = middle + 1;
        else high = middle;
    }
    return low;
}
