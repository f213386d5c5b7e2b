// TapeScrubber: how does a gradient come about, step by step, forward and then backward?
//
//     ladder   the steps as a U, each gradient beside what it is the gradient of
//     panel    the step that was computed last: its value, inputs and rule, what was saved for it, what is added
//     strip    bytes that are alive, which is also the slider
//
// Time is the number of a step. Moving it changes classes and one panel, and rebuilds nothing else.

/** @import { Context, Drawn, Selection, ViewKind } from "../types.js" */

import { alone } from "../controls.js";
import { clear, h, reachable } from "../dom.js";
import { listen } from "../lit.js";
import { clamp, numberText } from "../numbers.js";
import { Check } from "./tape/check.js";
import { Ladder } from "./tape/ladder.js";
import { readTape, statistics, wordsOf } from "./tape/model.js";
import { comparison, panelOf } from "./tape/panel.js";
import { Strip } from "./tape/strip.js";
import "./tape/tape.css";
import "./tape/panel.css";

const HEAD = 34; // pixels that are kept free above and below the present step

/** @type {ViewKind} */
export const tape = {
    name: "tape",
    title: "Forward and backward",
    about: "Down the left runs the computation, up the right its gradient: d(x) is that of the loss with respect to x.",
    keys: [
        ["[ ]", "one step back, on"],
        ["Space", "play, stop"],
        ["↑ ↓", "the row above, below"],
        ["← →", "to the twin on the other side"],
        ["Home End", "the first step, the last"],
        ["z", "freeze this moment, and let it go"],
        ["g", "check a gradient by finite differences"],
        ["o", "open the group of this step, close it"],
    ],
    draw: (context) => new Scrubber(context),
};

/** @implements {Drawn} */
class Scrubber {
    frame = 0;

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.page = context.page;
        this.tape = readTape(context.page);
        if (!this.tape.steps.length) throw new Error("This tape has no steps: the loss was not computed.");
        const go = (/** @type {number} */ k) => this.go(k);
        const last = this.tape.steps.length - 1;
        this.now = clamp(context.state.get("time", this.tape.rows - 1), 0, last);
        this.frozen = clamp(context.state.get("frozen", -1), -1, last);
        this.open = new Set(context.state.get("open", /** @type {number[]} */ ([])));
        this.ladder = new Ladder(this.tape, this.page, { go, toggle: (group) => this.toggle(group) });
        this.strip = new Strip(this.tape, this.page, { go, freeze: () => this.freeze(), reduced: context.reduced });
        this.check = new Check(this.tape, context);
        this.detail = h("div", { class: "jt-tape-detail", role: "group", "aria-label": "the present step" });
        this.build();
    }

    build() {
        const panel = h("div", "jt-tape-panel", this.detail, this.check.root);
        const main = h("div", {}, this.note(), this.ladder.root);
        const all = h("div", "jt-tape", main, panel, this.strip.root);
        clear(this.context.root).append(all);
        this.ladder.build(this.open);
        this.paint();
        this.frame = requestAnimationFrame(() => this.follow());
        this.bus = listen(this.context, (selection, own) => this.hear(selection, own));
        this.watch = new ResizeObserver(() => {
            this.ladder.mark(this.now);
            this.follow();
        });
        this.watch.observe(this.ladder.root);
    }

    note() {
        const { groups, rows } = this.tape;
        const means = "The number of a step is the mean of its value.";
        const words = `Showing ${groups.length} groups of ${rows.toLocaleString("en")} rows`;
        return h("p", "jt-tape-note", groups.length ? `${words}: open one to see its steps (o). ${means}` : means);
    }

    /** @param {number} k */
    go(k) {
        const now = clamp(k, 0, this.tape.steps.length - 1);
        if (now === this.now) return;
        this.now = now;
        this.strip.now = now; // the picture follows with the next frame, but keys may come sooner
        this.context.state.set("time", now);
        cancelAnimationFrame(this.frame);
        this.frame = requestAnimationFrame(() => this.moved());
    }

    moved() {
        this.paint();
        const step = this.tape.steps[this.now];
        const kernel = step.kernel === null ? null : this.page.kernels[step.kernel]?.key ?? null;
        this.bus?.select({ nodes: [step.node], kernel, time: this.now });
        this.follow();
        const mean = statistics(this.page.values[step.node]).find(([name]) => name === "mean");
        this.context.say(wordsOf(this.tape, this.page, this.now) + (mean ? `, mean ${numberText(mean[1])}` : ""));
    }

    /**
     * What another view selects is gone to, unless this step is part of it, and nobody else hears of that.
     * @param {Selection} selection
     * @param {boolean} own
     */
    hear(selection, own) {
        this.ladder.light(selection);
        const found = own || this.strip.player.clock ? [] : this.ladder.stepsOf(selection);
        if (!found.length) return;
        if (!found.includes(this.now)) {
            this.now = found[0];
            this.context.state.set("time", this.now);
            this.paint();
        }
        this.follow();
    }

    /** Scroll the ladder, and nothing around it, so that the present step can be seen. */
    follow() {
        const { root } = this.context;
        const [cell, strip] = [this.ladder.place(this.now), this.strip.root];
        if (!cell) return;
        const [top, bottom] = [root.getBoundingClientRect().top + HEAD, strip.getBoundingClientRect().top - HEAD];
        const box = cell.getBoundingClientRect();
        if (box.top < top) root.scrollTop += box.top - top;
        else if (box.bottom > bottom) root.scrollTop += box.bottom - bottom;
    }

    paint() {
        this.ladder.show(this.now);
        this.strip.show(this.now, this.frozen, wordsOf(this.tape, this.page, this.now));
        const frozen = this.frozen < 0 ? null : comparison(this.tape, this.page, this.frozen, this.now);
        const parts = [frozen, ...panelOf(this.tape, this.page, this.now)];
        this.detail.replaceChildren(...parts.filter((child) => child !== null));
        if (this.detail.parentElement) reachable(this.detail.parentElement);
        for (const node of this.tape.steps[this.now].of ?? []) this.check.choose(node);
    }

    freeze() {
        this.frozen = this.frozen < 0 ? this.now : -1;
        this.context.state.set("frozen", this.frozen);
        this.paint();
    }

    /** @param {number} group */
    toggle(group) {
        if (!this.open.delete(group)) this.open.add(group);
        this.context.state.set("open", [...this.open]);
        this.ladder.build(this.open);
        this.paint();
    }

    toggleHere() {
        const { row } = this.tape.steps[this.now];
        const group = this.tape.groups.findIndex(({ from, to }) => row >= from && row < to);
        if (group < 0) return;
        this.toggle(group);
        this.follow();
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (!alone(event)) return false;
        if (event.target instanceof HTMLSelectElement) return false;
        const goal = this.goals().get(event.key);
        const act = this.acts.get(event.key);
        if (goal !== undefined) this.go(goal);
        act?.();
        return goal !== undefined || act !== undefined;
    }

    /** @type {Map<string, () => void>} */
    acts = new Map([
        [" ", () => this.strip.player.toggle()], ["z", () => this.freeze()], ["g", () => void this.check.run()],
        ["o", () => this.toggleHere()],
    ]);

    /** Where keys lead to from here. */
    goals() {
        const step = this.tape.steps[this.now];
        const up = step.phase === "forward" ? -1 : 1;
        const [left, right] = step.phase === "forward" ? [this.now, this.twin()] : [this.twin(), this.now];
        return new Map([
            ["[", this.now - 1],
            ["]", this.now + 1],
            ["Home", 0],
            ["End", this.tape.steps.length - 1],
            ["ArrowUp", this.now + up],
            ["ArrowDown", this.now - up],
            ["ArrowLeft", left],
            ["ArrowRight", right],
        ]);
    }

    /** The first step on the other side of this row. */
    twin() {
        const step = this.tape.steps[this.now];
        return step.phase === "backward" ? step.row : this.ladder.backward[step.row][0] ?? this.now;
    }

    table() {
        const columns = ["step", "phase", "value", "operator", "beside", "id", "mean", "alive bytes", "kernel", "line"];
        const rows = this.tape.steps.map((step, k) => {
            const node = this.page.nodes.get(step.node);
            const value = this.page.values[step.node];
            const mean = value ? numberText(value.mean) : "–";
            const what = [k + 1, step.phase, node?.name ?? "", step.op, step.row + 1, `#${step.node}`];
            return [...what, mean, step.alive, step.kernel ?? "–", node?.where ?? ""];
        });
        return { columns, rows };
    }

    close() {
        this.strip.player.stop();
        cancelAnimationFrame(this.frame);
        this.bus?.off();
        this.watch?.disconnect();
    }
}
