// MemoryView: which arrays are in memory while kernels run, and who keeps each of them alive?
//
//     a box for each array      from the kernel that makes it to the last one that reads it; as high as it has bytes
//     a line                    the bytes that are alive at once, and their peak
//     the panel                 who keeps the chosen array alive
//
// Boxes are placed by jt_edu/lens/liveness.py; how high one lies means nothing. Everything is placed in percent, so
// that a page of any width needs no second layout.

/** @import { Context, Drawn, Node, ViewKind } from "../types.js" */
/** @import { Lived } from "./memory/model.js" */

import { alone, button, named, soft } from "../controls.js";
import { clear, h, s } from "../dom.js";
import { names } from "../lit.js";
import { cut } from "../graph/text.js";
import { bytesText, count, shapeText } from "../numbers.js";
import { nextArray, readLifetimes } from "./memory/model.js";
import { meaning } from "./tape/model.js";
import "../chart.css";
import "./memory/memory.css";

const MOST = 600; // boxes
const ROOM = 1.1; // above the highest box, for the words at the peak
const HIGH = 300; // pixels of the plot
const [THIN, LETTERS] = [8, 16]; // pixels: below, a box has no marks; above, it has a name
const WALK = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "p"]);
/** @type {Record<string, string>} */
const WHY = {
    wanted: "you asked for it",
    held: "a Var of yours holds it",
    stays: "held when its run ends",
    saved: "saved for backward",
    read: "read by a later kernel",
    unread: "read by nobody",
};

/** @type {ViewKind} */
export const memory = {
    name: "memory",
    title: "Memory",
    about: "A box is an array: as wide as it lives, as high as its bytes. Choose one to read who keeps it alive.",
    keys: [
        ["← →", "the array made before, after"],
        ["↑ ↓", "the next larger, smaller one"],
        ["p", "the largest at the peak"],
        ["Enter", "select it in every view"],
        ["u", "with fusion, without"],
    ],
    draw: (context) => new MemoryMap(context),
};

/** @implements {Drawn} */
class MemoryMap {
    chosen = -1;

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.page = context.page;
        this.both = readLifetimes(context.page);
        this.unfused = context.state.get("unfused", false);
        this.box = h("div", "jt-memory");
        clear(context.root).append(this.box);
        this.build();
        this.watch = new ResizeObserver(() => this.fit());
        this.watch.observe(this.box);
        this.off = context.bus.on(({ nodes, kernel }) => this.light(nodes, kernel));
    }

    get own() {
        return (this.unfused && this.both.unfused) || this.both;
    }

    build() {
        const { arrays } = this.own;
        const order = arrays.map((_, k) => k).sort((a, b) => arrays[b].bytes - arrays[a].bytes);
        this.shown = new Set(order.slice(0, MOST));
        this.cells = arrays.map((one, k) => (this.shown?.has(k) ? this.cell(one, k) : null));
        this.panel = h("div", "jt-memory-panel");
        this.columns = this.own.alive.map((bytes, k) => this.column(bytes, k));
        const plot = h(
            "div", "jt-memory-plot", this.columns, this.starts(), this.cells, this.line(), this.peak(),
        );
        clear(this.box).append(
            this.tools(),
            h("div", "jt-memory-frame", this.scale(), plot, this.axis()),
            this.legend(),
            this.panel,
        );
        this.fit();
        const peak = nextArray(arrays, -1, "p", this.own.peak_kernel);
        this.choose(this.context.state.get("array", peak), false);
        this.light(this.context.bus.current().nodes, this.context.bus.current().kernel);
    }

    get top() {
        return Math.max(1, this.own.height, this.own.peak) * ROOM;
    }

    get wide() {
        return 100 / Math.max(1, this.own.alive.length);
    }

    tools() {
        const { arrays, alive } = this.own;
        const shown = arrays.length > MOST ? `showing the ${MOST} largest of ` : "";
        const words = h(
            "span",
            "jt-soft",
            `${shown}${count(arrays.length, "new array")}, ${count(alive.length, "kernel")}`,
        );
        if (!this.both.unfused) return h("div", "jt-bar", words);
        const press = (/** @type {boolean} */ on, /** @type {string} */ label) => {
            const look = { "aria-pressed": `${this.unfused === on}` };
            return button(label, "with fusion, without (u)", () => this.toggle(on), look);
        };
        const { peak, unfused } = this.both;
        return h(
            "div",
            "jt-bar",
            press(false, `As it ran: peak ${bytesText(peak)}`),
            press(true, `Without fusion: peak ${bytesText(unfused.peak)} (planned)`),
            words,
        );
    }

    /** @param {boolean} on */
    toggle(on) {
        this.unfused = on;
        this.context.state.set("unfused", on);
        this.context.state.set("array", nextArray(this.own.arrays, -1, "p", this.own.peak_kernel));
        this.build();
        this.context.say(`${on ? "without fusion" : "as it ran"}: peak ${bytesText(this.own.peak)}`);
    }

    /**
     * @param {Lived} one
     * @param {number} k
     */
    cell(one, k) {
        const name = this.nameOf(one.node);
        const high = (one.bytes / this.top) * HIGH;
        const place = `left:${one.from * this.wide}%;width:${(one.to - one.from + 1) * this.wide}%`;
        const size = `bottom:${(one.offset / this.top) * 100}%;height:${(one.bytes / this.top) * 100}%`;
        const names = `${name}|${this.page.nodes.get(one.node)?.op ?? ""}|`;
        const label = high > LETTERS ? h("span", { "data-names": names }, name) : null;
        return h("button", {
            class: `jt-memory-array jt-memory-${one.why}${high < THIN ? " jt-memory-thin" : ""}`,
            type: "button",
            tabindex: -1,
            style: `${place};${size}`,
            "data-node": one.node,
            "data-bytes": one.bytes,
            "data-box": high < THIN ? null : "array",
            "aria-label": `${name}, ${bytesText(one.bytes)}, ${WHY[one.why] ?? one.why}`,
            onmouseenter: () => this.show(k),
            onmouseleave: () => this.show(this.chosen),
            onclick: () => this.choose(k, true),
        }, label, high < THIN ? null : dots(one));
    }

    /** Words that do not fit into their box become shorter ones, or none. */
    fit() {
        for (const label of this.box.querySelectorAll("span[data-names]")) {
            for (const words of label.getAttribute("data-names")?.split("|") ?? []) {
                label.textContent = words;
                if (label.scrollWidth <= label.clientWidth) break;
            }
        }
    }

    /**
     * @param {number} bytes
     * @param {number} k
     */
    column(bytes, k) {
        return h(
            "span",
            {
                class: "jt-memory-column",
                style: `left:${k * this.wide}%;width:${this.wide}%`,
                "data-kernel": k,
                "data-alive": bytes,
            },
        );
    }

    starts() {
        return this.own.starts.slice(1).map(
            (k) => h("span", { class: "jt-memory-start", style: `left:${k * this.wide}%` }),
        );
    }

    line() {
        const { alive } = this.own;
        const y = (/** @type {number} */ bytes) => (100 - (bytes / this.top) * 100).toFixed(2);
        const path = alive.map((bytes, k) => `${k ? "L" : "M"}${k} ${y(bytes)}H${k + 1}`).join("");
        return s(
            "svg",
            { viewBox: `0 0 ${Math.max(1, alive.length)} 100`, preserveAspectRatio: "none", "aria-hidden": "true" },
            s("path", { d: path }),
        );
    }

    peak() {
        const { peak, peak_kernel: k, alive } = this.own;
        if (!alive.length) return null;
        const at = (k + 0.5) * this.wide;
        return h(
            "span",
            { class: `jt-memory-peak jt-peak ${at > 50 ? "jt-peak-left" : ""}`, style: `left:${at}%` },
            h("small", { "data-peak": peak }, `peak ${bytesText(peak)}, kernel ${k}`),
        );
    }

    scale() {
        return h(
            "div",
            { class: "jt-memory-scale", "aria-hidden": "true" },
            [1, 0.5, 0].map((part) => h("span", {}, bytesText(this.top * part))),
        );
    }

    axis() {
        const { alive } = this.own;
        const every = Math.max(1, Math.ceil(alive.length / 16));
        const ticks = alive.flatMap(
            (_, k) => (k % every ? [] : [h("span", { style: `left:${(k + 0.5) * this.wide}%` }, k)])
        );
        return h("div", { class: "jt-memory-axis", "aria-hidden": "true" }, ticks, h("em", {}, "kernel"));
    }

    legend() {
        const there = new Set(this.own.arrays.map((one) => one.why));
        const rows = Object.entries(WHY).filter(([why]) => there.has(why));
        const dots = this.own.arrays.some((one) => one.reads.length) ? h(
            "li", {}, h("b", "jt-memory-dot"), "a kernel reads it",
        ) : null;
        return h(
            "ul",
            "jt-memory-legend jt-plot-legend",
            rows.map(([why, words]) => h("li", {}, h("b", `jt-memory-key jt-memory-${why}`), words)),
            dots,
        );
    }

    /** @param {number} id */
    nameOf(id) {
        const node = this.page.nodes.get(id);
        if (!node) return `#${id}`;
        const twin = node.name || node.twin === null ? null : this.page.nodes.get(node.twin);
        return cut(node.name, 60) || (twin ? `${node.op} (gradient of ${meaning(this.page, twin.id)})` : node.op);
    }

    /** @param {number} k */
    kernelName(k) {
        const kernels = this.own.kernels ?? this.page.kernels;
        return `kernel ${k}, ${kernels[k]?.name ?? ""}`;
    }

    /**
     * @param {number} k
     * @param {boolean} tell whether every other view hears of it
     */
    choose(k, tell) {
        const one = this.own.arrays[k];
        this.chosen = one ? k : -1;
        this.cells?.forEach((cell, other) => cell?.classList.toggle("jt-memory-chosen", other === k));
        this.show(this.chosen);
        if (!one) return;
        this.context.state.set("array", k);
        this.context.say(
            `${this.nameOf(one.node)}, ${bytesText(one.bytes)}: ${one.keepers.map((keeper) => keeper.text).join("; ")}`,
        );
        const kernel = this.unfused ? null : this.page.kernels[one.from]?.key ?? null;
        if (tell) this.context.bus.select({ nodes: [one.node], kernel });
    }

    /** @param {number} k */
    show(k) {
        const one = this.own.arrays[k];
        if (!this.panel) return;
        const hint = soft("Point at a box, or press → : who keeps that array alive?");
        clear(this.panel).append(...(one ? this.detail(one) : [hint]));
    }

    /** @param {Lived} one */
    detail(one) {
        const node = this.page.nodes.get(one.node);
        const until = one.stays ? "until the end" : `until kernel ${one.to} has run`;
        const size = `${node ? factsOf(node) : ""} ${bytesText(one.bytes)}`;
        const facts = `${size}, made by ${this.kernelName(one.from)}; alive ${until}.`;
        return [
            h("p", "jt-memory-title", h("b", {}, this.nameOf(one.node)), h("small", {}, ` #${one.node}`)),
            h("p", {}, facts), h("p", "jt-mono jt-soft", node?.where ?? ""),
            named("Who keeps it alive"),
            h(
                "ul",
                {},
                one.keepers.map(
                    (keeper) => h(
                        "li", { "data-why": keeper.why }, h("b", `jt-memory-key jt-memory-${keeper.why}`), keeper.text,
                    ),
                ),
            ),
        ];
    }

    /**
     * @param {number[]} nodes
     * @param {string | null} kernel
     */
    light(nodes, kernel) {
        const on = new Set(nodes);
        this.own.arrays.forEach((one, k) => this.cells?.[k]?.classList.toggle("jt-on", on.has(one.node)));
        const kernels = this.unfused ? [] : this.page.kernels;
        this.columns?.forEach((column, k) => column.classList.toggle("jt-on", names({ nodes, kernel }, kernels[k])));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const { key } = event;
        if (!alone(event)) return false;
        if (key === "u" && this.both.unfused) return this.toggle(!this.unfused), true;
        if (key === "Enter" && this.chosen >= 0) return this.choose(this.chosen, true), true;
        if (!WALK.has(key) || !this.own.arrays.length) return false;
        this.choose(nextArray(this.own.arrays, this.chosen, key, this.own.peak_kernel), false);
        return true;
    }

    close() {
        this.off?.();
        this.watch?.disconnect();
    }

    table() {
        const columns = ["id", "name", "shape", "bytes", "made by", "until", "kept alive by"];
        const rows = this.own.arrays.map((one) => {
            const node = this.page.nodes.get(one.node);
            const keepers = one.keepers.map((keeper) => keeper.text).join("; ");
            const until = one.stays ? "the end" : `kernel ${one.to}`;
            const what = [`#${one.node}`, this.nameOf(one.node), shapeText(node?.shape ?? []), one.bytes];
            return [...what, this.kernelName(one.from), until, keepers];
        });
        return { columns, rows };
    }
}

/** @param {Node} node */
function factsOf(node) {
    return node.dtype ? `${shapeText(node.shape)} ${node.dtype},` : "";
}

/**
 * A dot for each kernel that reads an array, where it does.
 * @param {Lived} one
 */
function dots(one) {
    const long = one.to - one.from + 1;
    return one.reads.map((read) => h("i", { style: `left:${((read - one.from + 0.5) / long) * 100}%` }));
}
