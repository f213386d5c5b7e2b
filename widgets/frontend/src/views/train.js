// TrainPanel: how does a training go, step by step?
//
//     loss          of each step and of validation, as it is or smoothed; spikes are marked; a click moves the cursor
//     accuracy      of validation
//     by module     gradient norms, and how far an update moves the weights; the rows of the table choose lines
//     dead units    of each ReLU module
//
// Python sends rows as they come. A step that it still keeps can be opened as a tape, below the charts. Numbers are
// those of Python; here they are drawn.

/** @import { Context, Drawn, Message, Page, ViewKind } from "../types.js" */
/** @import { Axis, Plot, Point } from "../chart.js" */
/** @import { Mark, News, Row, Section, Status } from "./train/model.js" */

import { axis, line, plot, thinned } from "../chart.js";
import { alone, button, isWritten, named, textOf } from "../controls.js";
import { decode, fromBase64 } from "../document.js";
import { clear, h, s } from "../dom.js";
import { clamp, count, millisText, numberText } from "../numbers.js";
import { tape } from "./tape.js";
import { keptText, legend, spikeAt, spikeMark, upwards } from "./train/parts.js";
import { Layers } from "./train/layers.js";
import { Look } from "./train/look.js";
import { evenly, gathered, isBehind, isStopped, joined, said, sectionOf, tableOf } from "./train/model.js";

const HEIGHT = { loss: 230, other: 200 };
const APART = 11; // pixels between two marks of spikes
const LATER = 250; // milliseconds after a click, when what it stopped or began has ended
const LONG = 3600; // seconds for rows, which no person asked for: other cells may run meanwhile
const NONE = "No step yet: run `await panel.train(steps=100)` in a cell, or step one batch.";

/** @type {ViewKind} */
export const train = {
    name: "train",
    title: "Training",
    about: "Each step adds a point. A diamond is a spike of the loss: click it to see the tape of that step.",
    keys: [
        ["← →", "the step before, after"], ["Home End", "the first step, the last"],
        ["[ ]", "the spike before, after"], ["Space", "pause, go on"], ["s", "step one batch"],
        ["Enter Esc", "open the step as a tape, close it"],
        ["↑ ↓", "the module above, below"], ["m", "show its line, or take it away"], ["l", "a log scale for the loss"],
    ],
    draw: (context) => new Panel(context),
};

/** @implements {Drawn} */
class Panel {
    frame = 0;
    timer = 0;
    held = false; // a pointer is down: what it is on must stay until it is up
    stepping = false;
    wish = 0; // which tape is wanted: the number of times that one was opened or shut
    /** @type {Drawn | null} */
    tape = null;
    /** @type {Plot[]} */
    plots = [];

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.train = sectionOf(context.page);
        this.at = context.state.get("step", 0);
        this.pause = button("Pause", "pause, go on (Space)", () => this.toggle());
        this.one = button("Step one batch", "one step, then wait (s)", () => void this.oneStep());
        this.progress = h("progress", { "aria-label": "steps done", max: 1, value: 0 });
        this.how = h("span", "jt-soft");
        this.trouble = h("span", { role: "status" });
        this.bar = h("div", "jt-bar jt-plot-bar", this.pause, this.one, this.progress, this.how, this.trouble);
        this.look = new Look(context.state, () => this.redraw());
        this.loss = h("div");
        this.charts = h("div", "jt-plot-panels");
        this.opener = button("", "forward and backward of this step (Enter)", () => void this.open());
        this.about = [h("span"), h("span", "jt-soft")];
        this.detail = h("p", { class: "jt-plot-detail", hidden: true },
            this.about[0], " ", this.opener, h("br"), this.about[1]);
        this.inner = h("div", { class: "jt-plot-inner", hidden: true });
        this.layers = new Layers(context, () => this.train, () => this.redraw());
        clear(context.root).append(this.bar, this.look.element, this.loss, this.detail, this.charts, this.inner);
        this.watch = new ResizeObserver(() => this.later());
        this.watch.observe(this.charts);
        this.sight = new IntersectionObserver(() => this.isWhole() || this.later());
        this.sight.observe(context.root);
        this.off = context.hear((message) => this.hear(message));
        this.ends = this.hold();
        this.redraw();
        if (context.live) void this.ask({ do: "rows" });
    }

    table = () => tableOf(this.train);

    /**
     * Waits with drawing while a pointer is down: a click ends on what it began on, or it is none.
     * @returns {() => void} how to stop
     */
    hold() {
        const end = new AbortController();
        const set = (/** @type {boolean} */ held) => () => {
            if (this.held && !held) this.later();
            this.held = held;
        };
        this.context.root.addEventListener("pointerdown", set(true), end);
        for (const name of ["pointerup", "pointercancel"]) addEventListener(name, set(false), end);
        return () => end.abort();
    }

    close() {
        this.off();
        this.ends();
        clearTimeout(this.timer);
        this.watch.disconnect();
        this.sight.disconnect();
        this.shut();
        cancelAnimationFrame(this.frame);
    }

    /** @param {Message} message */
    async ask(message) {
        try {
            const reply = await this.context.ask(message, message.do === "rows" ? LONG : undefined);
            if (reply.train) this.train = /** @type {Section} */ (reply.train);
            if (reply.status) this.train.status = /** @type {Status} */ (reply.status);
            this.trouble.replaceChildren();
            this.later();
            return reply;
        } catch (error) {
            this.trouble.replaceChildren(textOf(error));
            return null;
        }
    }

    /** One step for one click: the next click counts when Python has answered this one. */
    async oneStep() {
        if (this.stepping || this.one.disabled) return;
        this.stepping = true;
        await this.ask({ do: "step" });
        this.stepping = false;
        this.lookAgain();
    }

    /** Asks for what a pause or a step led to: the last row of a loop that stands still comes with no other one. */
    lookAgain() {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.ask({ do: "rows" }), LATER);
    }

    /** @param {Message} message */
    hear(message) {
        if (!Array.isArray(message.rows)) return;
        const news = /** @type {News} */ (/** @type {unknown} */ (message));
        if (isBehind(this.train, news)) void this.ask({ do: "rows" });
        this.train = joined(this.train, news);
        this.later();
    }

    toggle() {
        if (this.pause.disabled) return;
        void this.ask({ do: this.train.status.paused ? "resume" : "pause" }).then(() => this.lookAgain());
    }

    /** Opens the tape of the present step, below the charts. */
    async open() {
        const step = this.step()?.step;
        if (!step || !this.train.status.kept.includes(step)) return;
        const wish = (this.wish += 1);
        const reply = await this.ask({ do: "tape", step });
        if (!reply?.document) return;
        try {
            const page = await decode(fromBase64(reply.document), fromBase64(reply.blocks));
            if (wish === this.wish) this.put(step, page); // else another one was asked for, or none any more
        } catch (error) {
            this.shut();
            this.trouble.replaceChildren(textOf(error));
        }
    }

    /**
     * @param {number} step
     * @param {Page} page its tape
     */
    put(step, page) {
        this.shut();
        this.inner.hidden = false;
        const [root, shut] = [h("div"), button("Close", "without the tape (Esc)", () => this.shut())];
        this.inner.append(named(`Step ${step}: forward and backward `, shut), root);
        this.tape = tape.draw({ ...this.contextOf(step), page, root });
        const { root: scroller } = this.context;
        scroller.scrollTop += this.inner.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    }

    /** @param {number} step whose tape asks Python through this panel, and keeps nothing */
    contextOf(step) {
        const ask = (/** @type {Message} */ question) => this.context.ask({ do: "of tape", step, ask: question });
        const state = { get: (/** @type {string} */ _, /** @type {any} */ fallback) => fallback, set: () => undefined };
        return { ...this.context, ask, state, uid: `${this.context.uid}t` };
    }

    shut() {
        this.wish += 1;
        this.tape?.close?.();
        this.tape = null;
        clear(this.inner).hidden = true;
    }

    step({ rows } = this.train) {
        return rows.findLast((row) => row.step <= (this.at || Infinity)) ?? rows[0];
    }

    /** @param {number} place in the rows */
    go(place) {
        const { rows } = this.train;
        const row = rows[clamp(place, 0, rows.length - 1)];
        if (!row) return;
        this.at = row.step;
        this.context.state.set("step", row.step);
        this.putCursor();
        this.context.say(said(row));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (!alone(event) || isWritten(event)) return false;
        const inside = this.tape && event.target instanceof Element && this.inner.contains(event.target);
        if (inside && event.key !== "Escape") return this.tape?.key?.(event) ?? false;
        const place = this.goal(event.key);
        if (place !== undefined) this.go(place);
        else if (event.key === " ") this.toggle();
        else if (event.key === "s") void (event.repeat || this.oneStep());
        else if (event.key === "m") this.layers.choose(this.layers.at);
        else if (event.key === "l") this.look.turn();
        else if (event.key === "ArrowUp") this.layers.walk(-1);
        else if (event.key === "ArrowDown") this.layers.walk(1);
        else if (event.key === "Enter") void this.open();
        else if (event.key === "Escape" && this.tape) this.shut();
        else return false;
        return true;
    }

    /**
     * Where a key leads to.
     * @param {string} key
     * @returns {number | undefined} a place in the rows
     */
    goal(key) {
        const { rows } = this.train;
        const now = rows.indexOf(/** @type {Row} */ (this.step()));
        const before = rows.slice(0, Math.max(now, 0)).findLastIndex((row) => row.spike);
        const after = rows.findIndex((row, place) => place > now && row.spike);
        const ends = { Home: 0, End: rows.length - 1 };
        const goals = { ArrowLeft: now - 1, ArrowRight: now + 1, "[": before, "]": after, ...ends };
        const place = new Map(Object.entries(goals)).get(key);
        return place !== undefined && place < 0 ? now : place;
    }

    /** Whether the charts are as wide as their place, which changes out of sight, too. */
    isWhole() {
        return this.plots.every(({ root }) => Math.abs(root.clientWidth - (root.parentElement?.clientWidth ?? 0)) < 2);
    }

    later() {
        cancelAnimationFrame(this.frame);
        this.frame = requestAnimationFrame(() => this.held || this.redraw());
    }

    redraw({ train } = this) {
        this.fillBar();
        this.plots = [];
        for (const one of [this.charts, this.loss]) clear(one);
        if (!train.rows.length) return this.loss.append(h("p", {}, NONE));
        this.chart("loss", this.look.log ? "log" : "loss", this.look.lines(train));
        const right = (train.checks ?? []).filter(({ accuracy }) => accuracy !== null);
        const marks = right.map(({ step, accuracy }) => /** @type {Mark} */ ([step, accuracy]));
        if (right.length) this.chart("accuracy", "accuracy", [["validation", marks, 1]]);
        const chosen = this.layers.chosen();
        const pick = (/** @type {"gradient" | "ratio"} */ key) =>
            chosen.map((k, at) => this.column(train.modules[k], key, k, at));
        const two = /** @type {const} */ ([["gradient norm", "gradient"], ["update / weight", "ratio"]]);
        for (const [title, key] of chosen.length ? two : []) this.chart(title, "log", pick(key));
        const units = evenly(train.units.length).map((k, at) => this.column(train.units[k], "dead", k, at));
        if (units.length) this.chart("dead units", "share", units, train.dead);
        if (train.modules.length) this.charts.append(this.layers.element);
        this.putCursor();
    }

    /**
     * @param {string} name
     * @param {"gradient" | "ratio" | "dead"} key
     * @param {number} k
     * @param {number} at which style
     * @returns {[string, Mark[], number]}
     */
    column(name, key, k, at) {
        return [name, this.train.rows.map((row) => [row.step, row[key][k] ?? null]), at];
    }

    fillBar() {
        const { status, rows } = this.train;
        const { live } = this.context;
        this.pause.textContent = status.paused ? "Go on" : "Pause";
        [this.pause.disabled, this.one.disabled] = [!live || !(status.running || status.paused), !live];
        [this.progress.max, this.progress.value] = [Math.max(1, status.planned), status.done];
        const going = status.running && !status.paused;
        const left = going && status.left_ms !== null ? ` · ${millisText(status.left_ms)} left` : "";
        const rest = isStopped(status) ? ` · stopped at step ${status.done}` : " · not running";
        const state = status.paused ? " · paused" : status.running ? "" : rest;
        const rate = rows.length ? ` · learning rate ${numberText(rows.at(-1)?.lr)}` : "";
        this.how.textContent = `step ${status.done} of ${status.planned}${left}${live ? state : ""}${rate}`;
    }

    /**
     * @param {string} title
     * @param {string} kind
     * @param {[string, Mark[], number][]} columns
     * @param {string} [note]
     */
    chart(title, kind, columns, note) {
        const wide = title === "loss";
        const holder = h("div");
        (wide ? this.loss : this.charts).append(holder);
        const { rows } = this.train;
        const lines = columns.map(([, marks]) => marks.map(pointOf));
        const y = upwards(title, kind, lines.flatMap((points) => points.map(([, value]) => value)));
        const x = { ...axis("linear", [], "step"), from: 0, to: Math.max(1, rows.at(-1)?.step ?? 1) };
        const size = { width: Math.max(300, holder.clientWidth), height: wide ? HEIGHT.loss : HEIGHT.other };
        const plane = plot({ ...size, x, y, label: `${title} over ${count(rows.length, "step")}` });
        columns.forEach(([, , look], k) => {
            line(plane, thinned(lines[k], Math.ceil(size.width)), { class: `jt-plot-line jt-plot-s${look}` });
        });
        if (wide) this.marks(plane);
        plane.root.addEventListener("click", (event) => this.click(event, plane, x));
        const names = wide && columns.length < 2 ? "" : legend(columns);
        holder.append(plane.root, names, note ? h("p", "jt-plot-note", note) : "");
        this.plots.push(plane);
    }

    /** @param {Plot} plane */
    marks(plane) {
        const { rows, status } = this.train;
        for (const step of status.kept) {
            plane.over.append(s("path", { class: "jt-plot-kept", d: `M${plane.x(step)} ${plane.box.bottom}v-5` }));
        }
        for (const near of gathered(rows, status.kept, (row) => plane.x(row.step), APART)) {
            plane.over.append(spikeMark(plane, near[0], near.length, status.kept.includes(near[0].step)));
        }
    }

    /**
     * @param {MouseEvent} event
     * @param {Plot} plane
     * @param {Axis} x
     */
    click(event, plane, x) {
        const spike = spikeAt(event, plane);
        const { left, right } = plane.box;
        const part = (event.clientX - plane.root.getBoundingClientRect().left - left) / (right - left);
        const step = spike ? Number(spike.getAttribute("data-step")) : x.from + part * (x.to - x.from);
        const { rows } = this.train;
        const gap = (/** @type {Row} */ row) => Math.abs(row.step - step);
        this.go(rows.reduce((best, row, place) => (gap(row) < gap(rows[best]) ? place : best), 0));
        if (spike) void this.open();
    }

    putCursor() {
        const row = this.step();
        for (const plane of this.plots) {
            plane.over.querySelector(".jt-plot-cursor")?.remove();
            if (!row || !this.at) continue;
            const d = `M${plane.x(row.step)} ${plane.box.top}V${plane.box.bottom}`;
            plane.over.append(s("path", { class: "jt-plot-cursor", d }));
        }
        if (!row) return;
        this.tell(row);
        this.layers.show(row);
    }

    /** @param {Row} row */
    tell(row) {
        const { spike, status } = this.train;
        const kept = status.kept.includes(row.step);
        const gone = row.spike ? "This spike's batch and parameters" : "Its parameters";
        const words = kept ? "Open it as a tape" : `${gone} are not kept any more`;
        this.opener.textContent = words;
        this.opener.disabled = !kept || !this.context.live;
        const thinned = status.thinned ? " Of older steps some are left out." : "";
        const more = `${row.spike ? `${spike} ` : ""}${keptText(status)}${thinned}`;
        const facts = said(row).replace(/^[^,]*, /, "");
        const title = h("strong", {}, `Step ${row.step}`);
        this.about[0].replaceChildren(title, " ", facts);
        this.about[1].textContent = more;
        this.detail.hidden = false;
    }
}

/**
 * @param {Mark} mark
 * @returns {Point}
 */
function pointOf([step, value]) {
    return [step, typeof value === "number" ? value : null];
}
