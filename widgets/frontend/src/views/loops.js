// LoopStepper: what does a kernel do, line by line and cell by cell?
//
//     source       the line that was just done
//     variables    loop counters, accumulators and the rest, with what they were before
//     arrays       as small grids: cells read are framed, cells written are filled
//     window       of a convolution or a pooling: what each place of the result looks at
//
// Python ran the text once and sent what happened; stepping, forward and back, happens here.

/** @import { Context, Drawn, ViewKind } from "../types.js" */
/** @import { Figure, Step } from "./loops/model.js" */

import { source } from "../code.js";
import { alone, soft } from "../controls.js";
import { clear, h, reveal } from "../dom.js";
import { names } from "../lit.js";
import { Player } from "../motion.js";
import { clamp, grouped, numberText } from "../numbers.js";
import { framed } from "../tables.js";
import { grid, shortText } from "./loops/grid.js";
import { elementText, Loops } from "./loops/model.js";
import { SlidingWindow } from "./loops/window.js";
import "./loops/loops.css";

const PACE = 350; // milliseconds a step
const REMEMBERED = 5; // values of a variable

/** @type {ViewKind} */
export const loops = {
    name: "loops",
    title: "Kernel, step by step",
    about: "The kernel as plain Python. The blue line was just done; read cells have a frame, written ones are filled.",
    keys: [
        ["[ ]  ← →", "one step back, on"], ["Space", "play, stop"],
        ["↑ ↓", "the last time, the next time at this line"], ["Home End", "the first step, the last"],
    ],
    draw: (context) => new Stepper(context),
};

/** @implements {Drawn} */
class Stepper {
    /** What the kernel has written last. @type {import("./loops/model.js").Touch | null | undefined} */
    done = null;

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.loops = new Loops(context.page);
        this.last = this.loops.steps.length - 1;
        this.now = clamp(context.state.get("step", 0), 0, this.last);
        const { told } = this.loops;
        this.code = source(told, { click: (line) => this.select(line) });
        const look = { type: "range", min: 0, max: Math.max(this.last, 0), "aria-label": "Step" };
        this.slider = h("input", { ...look, oninput: () => this.go(Number(this.slider.value)) });
        const { reduced } = context;
        const go = (/** @type {number} */ step) => this.go(step);
        this.player = new Player({ last: this.last, pace: PACE, at: () => this.now, go, reduced });
        this.place = h("span", "jt-soft jt-loops-place");
        this.sentence = h("p", "jt-loops-sentence");
        this.values = h("div", "jt-loops-values");
        this.grids = h("div", "jt-loops-grids");
        this.window = told.window ? new SlidingWindow(told.window, context.say) : null;
        this.build();
        context.bus.on((selection) => this.hear(selection));
        if (this.last >= 0) this.paint();
    }

    build() {
        const { told } = this.loops;
        const bar = h("div", "jt-bar jt-loops-bar", this.player.buttons, this.slider, this.place);
        const notes = [told.note, this.extent(), told.error && `It ends with an error in ${told.error}`];
        const keys = ["read", "written"].map((word) => [h("span", `jt-loops-key jt-loops-${word}`, word), " "]);
        const legend = soft(keys, "in this step; \u00b7 is not known yet.");
        const look = { class: "jt-loops-source", tabindex: 0, role: "group", "aria-label": "Source" };
        const left = h("div", look, this.code.element);
        this.context.root.tabIndex = -1; // what scrolls hears the keys
        clear(this.context.root).append(
            bar, this.sentence, h("div", "jt-loops", left, this.values), this.window?.element ?? "", legend, this.grids,
            soft(notes.filter(Boolean).join(" ")),
        );
    }

    extent() {
        const { complete, steps, about } = this.loops.told;
        return complete ? "" : `These are the first ${grouped(steps)} steps of about ${grouped(about)}.`;
    }

    /** @param {number} step */
    go(step) {
        if (this.last < 0) return;
        this.now = clamp(step, 0, this.last);
        this.context.state.set("step", this.now);
        this.paint();
        this.select(this.step.line);
        this.context.say(`Step ${this.now + 1}, line ${this.step.line}: ${this.words()}`);
    }

    get step() {
        return this.loops.steps[this.now];
    }

    paint() {
        const { line } = this.step;
        this.code.rows.forEach((row, place) => row.classList.toggle("jt-now", place + 1 === line));
        const row = this.code.rows[line - 1];
        if (row?.parentElement?.parentElement) reveal(row, row.parentElement.parentElement);
        this.slider.value = `${this.now}`;
        this.place.replaceChildren(`step ${grouped(this.now + 1)} of ${grouped(this.last + 1)}`);
        const asked = h("span", "jt-soft", this.asked(line));
        this.sentence.replaceChildren(h("strong", {}, `Line ${line}`), ` ${this.words()}`, h("br"), asked);
        clear(this.values).append(this.variables());
        this.follow();
        clear(this.grids).append(...this.loops.told.arrays.map((_, number) => grid(this.loops, number, this.now)));
    }

    /** The window goes where the kernel has written last; until it writes again, the reader may look elsewhere. */
    follow() {
        const out = this.loops.told.arrays.findIndex(({ role }) => role === "out");
        const done = out < 0 ? undefined : this.loops.lastTouch(out, this.now);
        if (done && done !== this.done) this.window?.follow(done.place);
        this.done = done;
    }

    /**
     * The operator that a line computes, and the learner's line that asked for it.
     * @param {number} line
     */
    asked(line) {
        const found = this.loops.told.lines.find(([number]) => number === line);
        const node = this.context.page.nodes.get(found?.[1] ?? -1);
        return node ? `${node.op} \u2190 ${node.where}` : "";
    }

    /**
     * What a step did.
     * @param {Step} step
     */
    words({ touches, changes } = this.step) {
        const { arrays } = this.loops.told;
        const told = touches.map(({ array, place, write, value }) =>
            `${write ? "writes" : "reads"} ${elementText(arrays[array], place)} = ${numberText(value)}`,
        );
        const changed = changes.map(([name, value]) => `${name} = ${numberText(value)}`);
        return [...told, ...changed].join("; ") || "changes nothing";
    }

    variables() {
        const { counters, told } = this.loops;
        const rest = told.names.filter((name) => !counters.includes(name));
        const counting = counters.map((name) => this.variable(name, "counts"));
        const rows = [...counting, ...rest.map((name) => this.variable(name, ""))];
        return framed(["variable", "value", "before"], rows);
    }

    /**
     * @param {string} name
     * @param {string} kind
     */
    variable(name, kind) {
        const past = this.loops.past(name, this.now).map(([, value]) => value);
        const before = past.slice(-1 - REMEMBERED, -1).map(shortText);
        const more = past.length > REMEMBERED + 1 ? "\u2026 " : "";
        const fresh = this.step.changes.some(([one]) => one === name);
        const value = past.length ? numberText(/** @type {Figure} */ (past.at(-1))) : "\u2013";
        const cells = [kind ? `${name} (${kind})` : name, value, kind ? "" : more + before.join(" \u2192 ")];
        return h("tr", { class: fresh ? "jt-loops-changed" : null }, cells.map((cell) => h("td", {}, cell)));
    }

    /** @param {number} line */
    select(line) {
        const { told } = this.loops;
        const nodes = told.lines.filter(([number]) => number === line).map(([, node]) => node);
        this.context.bus.select({ nodes, kernel: told.key, line });
    }

    /** @param {import("../types.js").Selection} selection */
    hear({ nodes, kernel, line }) {
        const { told } = this.loops;
        const lit = new Set(told.lines.filter(([, node]) => nodes.includes(node)).map(([number]) => number));
        const own = names({ nodes, kernel }, { key: told.key, nodes: told.lines.map(([, node]) => node) });
        this.code.light((row) => (own && kernel === told.key && line !== null ? row === line : lit.has(row)));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const { key } = event;
        if (!alone(event)) return false;
        if (key === " ") return this.player.toggle(), true;
        const [back, on] = [this.now - 1, this.now + 1];
        const places = { "[": back, ArrowLeft: back, "]": on, ArrowRight: on, Home: 0, End: this.last };
        const to = new Map(Object.entries(places)).get(key) ?? this.vertical(key);
        if (to === null) return false;
        this.player.stop();
        this.go(to);
        return true;
    }

    /** @param {string} key */
    vertical(key) {
        if (key === "ArrowDown") return this.loops.sameLine(this.now, 1);
        return key === "ArrowUp" ? this.loops.sameLine(this.now, -1) : null;
    }

    close() {
        this.player.stop();
    }

    table() {
        const { steps } = this.loops;
        const rows = steps.map((step, k) => [k + 1, step.line, this.lineText(step), this.words(step)]);
        return { columns: ["step", "line", "source", "what it does"], rows };
    }

    /** @param {Step} step */
    lineText({ line }) {
        return this.loops.told.source.split("\n")[line - 1]?.trim() ?? "";
    }
}
