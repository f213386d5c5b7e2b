// Ladder: the steps of a tape as a U. Forward runs down the left, backward up the right, each beside its twin.
//
// Every cell is made once; a moment only changes classes, of the steps that lie between the last moment and this one,
// so that scrubbing costs the same in a graph of any size. Thumbnails are drawn when their step is done first.

/** @import { Page, Selection } from "../../types.js" */
/** @import { Group, LadderLine, Step, Tape } from "./model.js" */

import { clear, h, s } from "../../dom.js";
import { heat } from "../../heat.js";
import { nameOf } from "../../names.js";
import { count, numberText, shapeText } from "../../numbers.js";
import { linesOf, valueName, wordsOf } from "./model.js";

const SMALL = 18; // pixels of a thumbnail

/** The U, and what a moment does to it. */
export class Ladder {
    /** @type {(HTMLElement | null)[]} one cell for each step that is shown */
    cells = [];
    /** @type {Set<number>} */
    drawn = new Set();
    /** @type {{fill: HTMLElement, from: number, to: number, steps: number[]}[]} */
    bars = [];
    now = -1;
    /** @type {HTMLElement[]} */
    read = [];

    /**
     * @param {Tape} tape
     * @param {Page} page
     * @param {{go: (k: number) => void, toggle: (group: number) => void}} hear
     */
    constructor(tape, page, hear) {
        this.tape = tape;
        this.page = page;
        this.hear = hear;
        this.threads = s("svg", { class: "jt-tape-threads", "aria-hidden": "true" });
        this.rows = h("div");
        this.root = h("div", "jt-tape-u", this.rows, this.threads);
        this.numbers = new Map(tape.steps.map((step, k) => [step.node, k]));
        /** @type {number[][]} */
        this.backward = Array.from({ length: tape.rows }, () => []);
        tape.steps.forEach((step, k) => step.phase === "backward" && this.backward[step.row]?.push(k));
        this.passing = new Map(tape.passing.map((one) => [one.row, one.node]));
    }

    /**
     * Make the cells, with these groups open.
     * @param {Set<number>} open
     */
    build(open) {
        this.cells = Array(this.tape.steps.length).fill(null);
        this.bars = [];
        this.now = -1;
        this.drawn.clear();
        const lines = linesOf(this.tape, open).map((line) => this.line(line, open));
        clear(this.rows).append(this.head(), ...lines, this.turn());
    }

    head() {
        const forward = this.tape.rows;
        const words = [
            `Forward ↓ ${count(forward, "step")}`, `Backward ↑ ${count(this.tape.steps.length - forward, "step")}`,
        ];
        return h(
            "div",
            "jt-tape-row jt-tape-head",
            h("span", {}, words[0]),
            h("span", {}),
            h("span", {}, words[1]),
        );
    }

    turn() {
        return h(
            "div", "jt-tape-turn", h("span", {}, "the gradient of the loss with respect to itself is 1"),
        );
    }

    /**
     * @param {LadderLine} line
     * @param {Set<number>} open
     */
    line(line, open) {
        return "row" in line ? this.row(line.row) : this.group(line.group, line.number, open.has(line.number));
    }

    /** @param {number} row */
    row(row) {
        const back = this.backward[row].map((k) => this.cell(k));
        const view = this.passing.get(row);
        const note = view === undefined ? null : h(
            "span", "jt-tape-view", `${nameOf(this.page, view)}: a view, nothing to compute`,
        );
        return h("div", "jt-tape-row",
            this.cell(row),
            h("span", { class: "jt-tape-twin", "aria-hidden": "true" }, back.length ? "↔" : ""),
            h("span", "jt-tape-back", back.length ? back : note),
        );
    }

    /** @param {number} k */
    cell(k) {
        const step = this.tape.steps[k];
        const name = valueName(this.tape, this.page, step);
        const cell = h("button", {
            class: `jt-tape-cell jt-tape-${step.phase}`, type: "button", tabindex: -1,
            "data-step": k, "data-node": step.node, "data-box": "step",
            title: wordsOf(this.tape, this.page, k), onclick: () => this.hear.go(k),
        }, h("span", "jt-tape-thumb"), h("b", {}, name),
            this.facts(step, name), this.mean(step));
        this.cells[k] = cell;
        return cell;
    }

    /**
     * @param {Step} step
     * @param {string} name
     */
    facts(step, name) {
        const node = this.page.nodes.get(step.node);
        if (step.adds) return h("i", "jt-tape-sum", `+= ${step.adds.done} of ${step.adds.of}`);
        const op = name === step.op ? "" : `${step.op} `;
        return h("i", {}, step.phase === "forward" ? `${op}${shapeText(node?.shape ?? [])}` : "");
    }

    /** @param {Step} step */
    mean(step) {
        const value = this.page.values[step.node];
        const odd = value && (value.nan || value.inf) ? h("em", { title: "not finite" }, "⚠") : null;
        return h("span", { class: "jt-tape-mean", title: "mean" }, odd, value ? numberText(value.mean) : "");
    }

    /**
     * @param {Group} group
     * @param {number} number
     * @param {boolean} open
     */
    group(group, number, open) {
        const steps = [...Array(group.to - group.from).keys()].map((k) => group.from + k);
        const back = steps.flatMap((row) => this.backward[row]);
        const label = group.label || `rows ${group.from + 1} to ${group.to}`;
        const [left, right] = [this.bar(steps), this.bar(back)];
        const press = h("button", {
            class: "jt-tape-group", type: "button", tabindex: -1,
            "aria-expanded": `${open}`, title: `${label}: open, close (o)`, onclick: () => this.hear.toggle(number),
        }, left, h("b", {}, `${open ? "▾" : "▸"} ${label}`),
            h("i", {}, count(steps.length, "step")));
        const other = h("span", "jt-tape-group", right, h("i", {}, count(back.length, "gradient step")));
        return h("div", "jt-tape-row", press, h("span", {}), h("span", "jt-tape-back", other));
    }

    /** @param {number[]} steps */
    bar(steps) {
        const fill = h("span", "jt-tape-fill");
        if (steps.length) this.bars.push({ fill, from: Math.min(...steps), to: Math.max(...steps), steps });
        return fill;
    }

    /**
     * Show a moment.
     * @param {number} now
     */
    show(now) {
        const [from, to] = this.now < now ? [this.now + 1, now] : [now + 1, this.now];
        for (let k = Math.max(from, 0); k <= to; k += 1) this.finish(k, k <= now);
        this.cells[this.now]?.classList.remove("jt-now");
        this.cells[now]?.classList.add("jt-now");
        for (const bar of this.bars) this.fill(bar, now);
        this.now = now;
        this.mark(now);
    }

    /**
     * @param {number} k
     * @param {boolean} done
     */
    finish(k, done) {
        const cell = this.cells[k];
        if (!cell) return;
        cell.classList.toggle("jt-tape-done", done);
        if (!done || this.drawn.has(k)) return;
        this.drawn.add(k);
        const value = this.page.values[this.tape.steps[k].node];
        const thumb = /** @type {HTMLElement} */ (cell.firstElementChild);
        const url = value && heat(value, this.page, SMALL).toDataURL(); // hundreds of canvases would scroll slowly
        if (url) thumb.style.backgroundImage = `url(${url})`;
    }

    /**
     * @param {{fill: HTMLElement, from: number, to: number, steps: number[]}} bar
     * @param {number} now
     */
    fill({ fill, from, to, steps }, now) {
        const done = now >= to ? 1 : now < from ? 0 : steps.filter((k) => k <= now).length / steps.length;
        fill.style.transform = `scaleX(${done})`;
        fill.parentElement?.classList.toggle("jt-now", now >= from && now <= to && steps.includes(now));
    }

    /**
     * Thin lines: to a gradient step from what it reads of the forward pass; from a forward step to who will read it.
     * @param {number} now
     */
    mark(now) {
        for (const cell of this.read.splice(0)) cell.classList.remove("jt-tape-read");
        const step = this.tape.steps[now];
        const pairs = step.phase === "backward"
            ? (step.saved ?? []).map((id) => [this.stepOf(id), now])
            : this.tape.steps.flatMap(
                (other, k) => (other.saved?.includes(step.node) ? [[now, k]] : [])
            );
        const box = this.root.getBoundingClientRect();
        this.threads.replaceChildren(...pairs.flatMap(([a, b]) => this.thread(this.cells[a], this.cells[b], box)));
    }

    /**
     * Where a step is shown: its cell, or the group that holds it.
     * @param {number} k
     */
    place(k) {
        return this.cells[k] ?? this.bars.find(({ steps }) => steps.includes(k))?.fill.parentElement;
    }

    /** @param {number} node */
    stepOf(node) {
        return this.numbers.get(node) ?? -1;
    }

    /**
     * @param {HTMLElement | null | undefined} left
     * @param {HTMLElement | null | undefined} right
     * @param {DOMRect} box
     */
    thread(left, right, box) {
        if (!left || !right) return [];
        for (const cell of [left, right]) cell.classList.add("jt-tape-read");
        this.read.push(left, right);
        const [a, b] = [left.getBoundingClientRect(), right.getBoundingClientRect()];
        const [x, y] = [a.right - box.left, (a.top + a.bottom) / 2 - box.top];
        const [u, v] = [b.left - box.left, (b.top + b.bottom) / 2 - box.top];
        const bend = Math.max(14, (u - x) / 2);
        return [
            s("path", { d: `M${x} ${y}C${x + bend} ${y} ${u - bend} ${v} ${u} ${v}` }),
            s("circle", { cx: u, cy: v, r: 2.5 }),
        ];
    }

    /**
     * Light up what a selection names.
     * @param {Selection} selection
     */
    light(selection) {
        const on = new Set(this.stepsOf(selection));
        this.cells.forEach((cell, k) => cell?.classList.toggle("jt-on", on.has(k)));
    }

    /**
     * The steps that a selection names: by nodes, or by a kernel where no nodes are selected.
     * @param {Selection} selection
     * @returns {number[]}
     */
    stepsOf({ nodes, kernel }) {
        const on = new Set(nodes);
        const key = (/** @type {Step} */ step) => (step.kernel === null ? null : this.page.kernels[step.kernel]?.key);
        const named = (/** @type {Step} */ step) => {
            if (on.size) return on.has(step.node) || step.through.some((id) => on.has(id));
            return kernel !== null && key(step) === kernel;
        };
        return this.tape.steps.flatMap((step, k) => (named(step) ? [k] : []));
    }
}
