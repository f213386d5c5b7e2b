// TrainPanel: how does a training go, step by step?
//
//     loss          spikes are marked; a click moves the cursor to a step
//     by module     gradient norms, and how far an update moves the weights; the rows of the table choose lines
//     dead units    of each ReLU module
//
// Python sends rows as they come. A step that it still keeps can be opened as a tape, below the charts. Numbers are those
// of Python; here they are drawn.

/** @import { Context, Drawn, Message, ViewKind } from "../types.js" */
/** @import { Axis, Plot, Point } from "../chart.js" */
/** @import { Figure, Row, Section, Status } from "./train/model.js" */

import style from "../chart.css";
import { axis, line, mark, plot } from "../chart.js";
import { decode } from "../document.js";
import { clear, h, s } from "../dom.js";
import { bytesText, count, millisText, numberText } from "../numbers.js";
import { tape } from "./tape.js";
import { LINES, evenly, joined, said, sectionOf, tableOf, unpacked } from "./train/model.js";

const HEIGHT = { loss: 230, other: 200 };

/** @type {ViewKind} */
export const train = {
    name: "train",
    title: "Training",
    keys: [["← →", "the step before, after"], ["Home End", "the first step, the last"], ["[ ]", "the spike before, after"],
        ["Space", "pause, go on"], ["s", "step one batch"], ["Enter Esc", "open the step as a tape, close it"]],
    style,
    draw: (context) => new Panel(context).drawn(),
}; // prettier-ignore

class Panel {
    frame = 0;
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
        this.one = button("Step one batch", "one step, then wait (s)", () => void this.ask({ do: "step" }));
        this.progress = h("progress", { "aria-label": "steps done", max: 1, value: 0 });
        this.how = h("span", { class: "jt-soft" });
        this.trouble = h("span", { role: "status" });
        this.bar = h("div", { class: "jt-plot-bar" }, this.pause, this.one, this.progress, this.how, this.trouble);
        this.loss = h("div");
        this.charts = h("div", { class: "jt-plot-panels" });
        this.detail = h("p", { class: "jt-plot-detail" });
        this.inner = h("div", { class: "jt-plot-inner", hidden: true });
        this.layers = h("div", { class: "jt-plot-layers" });
        clear(context.root).append(this.bar, this.loss, this.detail, this.charts, this.inner);
        this.watch = new ResizeObserver(() => this.later());
        this.watch.observe(this.charts);
        this.off = context.hear((message) => this.hear(message));
        this.redraw();
        if (context.live) void this.ask({ do: "rows" });
    }

    /** @returns {Drawn} */
    drawn() {
        return {
            key: (event) => this.key(event),
            table: () => tableOf(this.train),
            close: () => {
                this.off();
                this.watch.disconnect();
                this.tape?.close?.();
                cancelAnimationFrame(this.frame);
            },
        };
    }

    // Python

    /** @param {Message} message */
    async ask(message) {
        try {
            const reply = await this.context.ask(message);
            if (reply.train) this.train = /** @type {Section} */ (reply.train);
            if (reply.status) this.train.status = /** @type {Status} */ (reply.status);
            this.trouble.replaceChildren();
            this.later();
            return reply;
        } catch (error) {
            this.trouble.replaceChildren(error instanceof Error ? error.message : `${error}`);
            return null;
        }
    }

    /** @param {Message} message */
    hear(message) {
        if (!Array.isArray(message.rows)) return;
        const missed = message.rows.length && message.rows[0].step > (this.train.rows.at(-1)?.step ?? 0) + 1;
        if (missed) void this.ask({ do: "rows" });
        this.train = joined(this.train, /** @type {any} */ (message));
        this.later();
    }

    toggle() {
        void this.ask({ do: this.train.status.paused ? "resume" : "pause" });
    }

    /** Opens the tape of the present step, below the charts. */
    async open() {
        const step = this.step()?.step;
        if (!step || !this.train.status.kept.includes(step)) return;
        const reply = await this.ask({ do: "tape", step });
        if (!reply?.document) return;
        const [document, blocks] = [unpacked(reply.document), unpacked(reply.blocks)];
        const root = h("div", { class: "jt-body-inner" });
        this.shut();
        this.inner.hidden = false;
        const shut = button("Close", "without the tape (Esc)", () => this.shut());
        this.inner.append(h("p", { class: "jt-plot-panel-title" }, `Step ${step}: forward and backward `, shut), root);
        const ask = (/** @type {Message} */ question) => this.context.ask({ do: "of tape", step, ask: question });
        const state = { get: (/** @type {string} */ _, /** @type {any} */ fallback) => fallback, set: () => undefined };
        this.tape = tape.draw({ ...this.context, page: await decode(document, blocks), root, ask, state, uid: `${this.context.uid}t` });
        this.inner.scrollIntoView({ block: "nearest", behavior: this.context.reduced() ? "auto" : "smooth" });
    }

    shut() {
        this.tape?.close?.();
        this.tape = null;
        clear(this.inner).hidden = true;
    }

    // the present step

    step() {
        const { rows } = this.train;
        return rows.findLast((row) => row.step <= (this.at || Infinity)) ?? rows[0];
    }

    /** @param {number} place in the rows */
    go(place) {
        const { rows } = this.train;
        const row = rows[Math.min(Math.max(place, 0), rows.length - 1)];
        if (!row) return;
        this.at = row.step;
        this.context.state.set("step", row.step);
        this.putCursor();
        this.context.say(said(row));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return false;
        const inside = this.tape && event.target instanceof Element && this.inner.contains(event.target);
        if (inside && event.key !== "Escape") return this.tape?.key?.(event) ?? false;
        const { rows } = this.train;
        const now = rows.indexOf(/** @type {Row} */ (this.step()));
        const spike = (/** @type {Row} */ row) => row.spike;
        const before = rows.slice(0, Math.max(now, 0)).findLastIndex(spike);
        const after = rows.findIndex((row, place) => place > now && row.spike);
        const place = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: rows.length - 1, "[": before, "]": after }[event.key];
        if (place !== undefined) this.go(place < 0 ? now : place);
        else if (event.key === " ") this.toggle();
        else if (event.key === "s") void this.ask({ do: "step" });
        else if (event.key === "Enter") void this.open();
        else if (event.key === "Escape" && this.tape) this.shut();
        else return false;
        return true;
    }

    // drawing

    later() {
        cancelAnimationFrame(this.frame);
        this.frame = requestAnimationFrame(() => this.redraw());
    }

    redraw() {
        const { train } = this;
        this.fillBar();
        this.plots = [];
        clear(this.charts);
        clear(this.loss);
        if (!train.rows.length) return void this.loss.append(h("p", {}, "No step yet: run `await panel.train(steps=100)` in a cell, or step one batch."));
        this.chart("loss", "loss", [["loss", train.rows.map((row) => row.loss), 0]]);
        const chosen = this.chosen();
        const pick = (/** @type {"gradient" | "ratio"} */ key) => chosen.map((k, at) => this.column(train.modules[k], key, k, at));
        if (chosen.length) this.chart("gradient norm", "log", pick("gradient"));
        if (chosen.length) this.chart("update / weight", "log", pick("ratio"));
        const units = evenly(train.units.length).map((k, at) => this.column(train.units[k], "dead", k, at));
        if (units.length) this.chart("dead units", "share", units, train.dead);
        if (chosen.length) this.charts.append(this.layers);
        this.putCursor();
    }

    /**
     * @param {string} name
     * @param {"gradient" | "ratio" | "dead"} key
     * @param {number} k
     * @param {number} at which style
     * @returns {[string, Figure[], number]}
     */
    column(name, key, k, at) {
        return [name, this.train.rows.map((row) => row[key][k] ?? null), at];
    }

    chosen() {
        const some = this.context.state.get("modules", evenly(this.train.modules.length));
        return some.filter((k) => k < this.train.modules.length).slice(-LINES);
    }

    fillBar() {
        const { status, rows } = this.train;
        const { live } = this.context;
        this.pause.textContent = status.paused ? "Go on" : "Pause";
        [this.pause.disabled, this.one.disabled] = [!live || !(status.running || status.paused), !live];
        [this.progress.max, this.progress.value] = [Math.max(1, status.planned), status.done];
        const left = status.running && status.left_ms !== null && !status.paused ? ` · ${millisText(status.left_ms)} left` : "";
        const state = status.paused ? " · paused" : status.running ? "" : " · not running";
        const rate = rows.length ? ` · learning rate ${numberText(rows.at(-1)?.lr)}` : "";
        this.how.textContent = `step ${status.done} of ${status.planned}${left}${live ? state : ""}${rate}`;
    }

    /**
     * @param {string} title
     * @param {string} kind
     * @param {[string, Figure[], number][]} columns
     * @param {string} [note]
     */
    chart(title, kind, columns, note) {
        const wide = kind === "loss";
        const holder = h("div");
        (wide ? this.loss : this.charts).append(holder);
        const { rows } = this.train;
        const numbers = columns.map(([, values]) => values.map((value) => (typeof value === "number" ? value : null)));
        const words = kind === "share" ? (/** @type {number} */ value) => `${numberText(value * 100)} %` : numberText;
        const y = axis(kind === "log" ? "log" : "linear", [...numbers.flat(), ...(kind === "log" ? [] : [0])], title, words);
        const x = { ...axis("linear", [], "step"), from: 0, to: Math.max(1, rows.at(-1)?.step ?? 1) };
        const size = { width: Math.max(300, holder.clientWidth), height: wide ? HEIGHT.loss : HEIGHT.other };
        const plane = plot({ ...size, x, y, label: `${title} over ${count(rows.length, "step")}` });
        columns.forEach(([, , look], k) => {
            line(plane, rows.map((row, at) => /** @type {Point} */ ([row.step, numbers[k][at]])), { class: `jt-plot-line jt-plot-s${look}` });
        });
        if (wide) this.marks(plane);
        plane.root.addEventListener("click", (event) => this.click(event, plane, x));
        holder.append(plane.root, wide ? "" : legend(columns), note ? h("p", { class: "jt-plot-note" }, note) : "");
        this.plots.push(plane);
    }

    /** @param {Plot} plane */
    marks(plane) {
        const { rows, status } = this.train;
        for (const step of status.kept) {
            plane.over.append(s("path", { class: "jt-plot-kept", d: `M${plane.x(step)} ${plane.box.bottom}v-5` }));
        }
        for (const row of rows.filter((one) => one.spike)) {
            const up = typeof row.loss === "number" ? plane.y(row.loss) : plane.box.top + 6;
            const words = `spike in step ${row.step}: loss ${numberText(row.loss)}`;
            plane.over.append(s("path", { class: "jt-plot-dot jt-plot-spike", d: mark("diamond", 5, plane.x(row.step), up), "data-step": row.step }, s("title", {}, words)));
        }
    }

    /**
     * @param {MouseEvent} event
     * @param {Plot} plane
     * @param {Axis} x
     */
    click(event, plane, x) {
        const spike = event.target instanceof Element && event.target.closest("[data-step]");
        const part = (event.clientX - plane.root.getBoundingClientRect().left - plane.box.left) / (plane.box.right - plane.box.left);
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
            if (row && this.at) plane.over.append(s("path", { class: "jt-plot-cursor", d: `M${plane.x(row.step)} ${plane.box.top}V${plane.box.bottom}` }));
        }
        if (!row) return;
        this.tell(row);
        this.fillLayers(row);
    }

    /** @param {Row} row */
    tell(row) {
        const { status, spike } = this.train;
        const kept = status.kept.includes(row.step);
        const words = kept ? "Open it as a tape" : "Its parameters are not kept any more";
        const opener = button(words, "forward and backward of this step (Enter)", () => void this.open());
        opener.disabled = !kept || !this.context.live;
        const range = status.kept.length ? ` Kept: ${count(status.kept.length, "step")} up to ${status.kept.at(-1)}, ${bytesText(status.kept_bytes)}.` : "";
        const thinned = status.thinned ? " Of older steps some are left out." : "";
        clear(this.detail).append(h("strong", {}, `Step ${row.step}`), " ", said(row).replace(/^[^,]*, /, ""), " ", opener,
            h("br"), h("span", { class: "jt-soft" }, `${row.spike ? `${spike} ` : ""}${range}${thinned}`)); // prettier-ignore
    }

    /** @param {Row} row */
    fillLayers(row) {
        const [{ modules }, chosen] = [this.train, this.chosen()];
        const figure = (/** @type {Figure} */ value) => h("td", { class: "jt-number" }, numberText(value));
        const lines = modules.map((name, k) => h("tr", {
            class: chosen.includes(k) ? "jt-plot-shown" : null, title: "show its line, or take it away", onclick: () => this.choose(k),
        }, h("td", {}, name), figure(row.gradient[k]), figure(row.ratio[k]))); // prettier-ignore
        const heads = ["module", "gradient norm", "update / weight"].map((words) => h("th", { scope: "col" }, words));
        const many = modules.length > LINES ? `; lines: ${chosen.length} of ${modules.length}, click a row for its own` : "";
        const caption = h("caption", {}, `Step ${row.step}${many}`);
        clear(this.layers).append(h("table", { class: "jt-rows" }, caption, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines)));
    }

    /** @param {number} k */
    choose(k) {
        const chosen = this.chosen();
        this.context.state.set("modules", chosen.includes(k) ? chosen.filter((one) => one !== k) : [...chosen, k].slice(-LINES));
        this.redraw();
    }
}

/**
 * @param {string} words
 * @param {string} title
 * @param {() => void} act
 */
function button(words, title, act) {
    return h("button", { class: "jt-button", type: "button", tabindex: -1, title, onclick: act }, words);
}

/** @param {[string, Figure[], number][]} columns */
function legend(columns) {
    return h("p", { class: "jt-plot-legend" }, columns.flatMap(([name, , look]) => [
        s("svg", { class: "jt-plot-sample", width: 24, height: 10, "aria-hidden": "true" }, s("path", { class: `jt-plot-line jt-plot-s${look}`, d: "M0 5h24" })), name,
    ])); // prettier-ignore
}
