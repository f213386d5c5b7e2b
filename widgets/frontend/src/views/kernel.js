// KernelView: which code runs, what does each line compute, and what if it were written otherwise?
//
//     kernels     which one, with its time and its bytes
//     tabs        Python source, LLVM IR, assembly, PTX; of a kernel of a GPU: source, CUDA C++, PTX, occupancy
//     edit        the text in place; Run tries it in Python, and puts it into the graph if it agrees
//
// What a line computes was decided in Python. This file does not compile, and it measures nothing.

/** @import { Context, Drawn, Kernel, Selection, ViewKind } from "../types.js" */
/** @import { Machine, Part } from "./kernel/machine.js" */
/** @import { Edit } from "./kernel/result.js" */
/** @import { Annotated, Picked } from "./kernel/listing.js" */
/** @import { Editor } from "./kernel/editor.js" */

import { alone, button, soft, tab, textOf } from "../controls.js";
import { clear, h, reachable, reveal } from "../dom.js";
import { listen, names, placeOf } from "../lit.js";
import { clamp } from "../numbers.js";
import { byCost } from "./kernel/cost.js";
import { editor } from "./kernel/editor.js";
import { factsOf, headOf, runsOf } from "./kernel/facts.js";
import { links } from "./kernel/links.js";
import { listing } from "./kernel/listing.js";
import { machineText } from "./kernel/machine.js";
import { resultOf } from "./kernel/result.js";
import "./kernel/kernel.css";

const TABS = /** @type {[string, string][]} */ ([
    ["source", "Python source"], ["llvm", "LLVM IR"], ["asm", "Assembly"], ["ptx", "PTX"],
]);
const GPU_TABS = /** @type {[string, string][]} */ ([
    ["source", "Python source"], ["cpp", "CUDA C++"], ["ptx", "PTX"], ["needs", "Occupancy"],
]);
const [STARTING, TRIAL] = [150, 50]; // seconds: until Python has begun; of a trial whose limit the page does not say

/** @type {ViewKind} */
export const kernel = {
    name: "kernel",
    title: "Kernels",
    about: "The code that runs. Above its lines stand those of yours that asked for them, beside them the operators.",
    keys: [
        ["↑ ↓", "the line above, below"], ["[ ]", "the kernel before, after"],
        ["1 2 3 4", "the tabs: the source, and what became of it"], ["e", "edit the source"],
        ["Ctrl Enter", "run the edit"], ["r", "back to the original"],
        ["w", "all that your line asked for"],
    ],
    draw: (context) => new KernelView(context, context.page.kernels.map((_, place) => place)),
};

/** The same beside other views: the costliest kernel comes first. @type {ViewKind} */
export const costliest = { ...kernel, draw: (context) => new KernelView(context, byCost(context.page.kernels)) };

/** @typedef {{machine: Record<string, Machine>, edits: Record<string, Edit>, seconds?: number}} Known */

/** @implements {Drawn} */
class KernelView {
    /** @type {Annotated | null} */
    listing = null;
    /** @type {Editor | null} */
    editor = null;
    /** @type {Picked | null} */
    kept = null;
    busy = false;

    /**
     * @param {Context} context
     * @param {number[]} order in which its kernels are listed, by their places
     */
    constructor(context, order) {
        this.context = context;
        this.order = order;
        this.kernels = context.page.kernels;
        this.known = knownOf(context.page);
        this.list = h("div", { class: "jt-kernel-list", role: "list" });
        this.choice = h("select", {
            class: "jt-field jt-kernel-choice", "aria-label": "kernel", title: "([ ])",
            onchange: () => this.choose(Number(this.choice.value)),
        }, order.map((place) => h("option", { value: place }, headOf(this.kernels[place]))));
        this.tabs = h("div", { class: "jt-tabs", role: "tablist" });
        this.body = h("div", { class: "jt-kernel-pane", role: "tabpanel", tabindex: 0, "aria-label": "Kernel" });
        context.root.tabIndex = -1; // what scrolls hears the keys
        this.foot = h("div", "jt-kernel-foot");
        this.told = h("p", "jt-kernel-told jt-mono");
        const many = this.kernels.length > 1;
        const main = h("div", "jt-kernel-main", many && this.choice, this.tabs, this.body, this.foot);
        clear(context.root).append(h("div", "jt-kernel", many && this.list, main));
        this.watch = new ResizeObserver(() => reachable(this.list));
        this.watch.observe(this.list);
        this.bus = listen(context, (selection, own) => this.hear(selection, own));
        if (this.kernels.length) this.show();
        else this.body.append(h("p", {}, "Nothing would run: there is no kernel."));
    }

    get at() {
        return clamp(this.context.state.get("kernel", this.order[0] ?? 0), 0, this.kernels.length - 1);
    }

    get tabNames() {
        return this.kernel.source.includes("@cuda.jit") ? GPU_TABS : TABS;
    }

    get tab() {
        const tab = this.context.state.get("tab", "source");
        return this.tabNames.some(([name]) => name === tab) ? tab : "source";
    }

    get kernel() {
        return this.kernels[this.at];
    }

    show() {
        this.links = links(this.kernel, this.context.page);
        [this.listing, this.editor] = [null, null];
        clear(this.list).append(...this.order.map((place) => this.item(this.kernels[place], place)));
        reveal(this.list.children[this.order.indexOf(this.at)], this.list);
        this.choice.value = `${this.at}`;
        clear(this.tabs).append(...this.tabNames.map(([name, words]) => this.tabOf(name, words)));
        clear(this.foot);
        clear(this.body);
        if (this.tab !== "source") void this.showMachine();
        else if (this.context.state.get("editing", false) && !this.isDone()) this.edit();
        else this.showSource();
    }

    /** Whether what was being edited runs already. */
    isDone() {
        const edit = this.known.edits[this.kernel.id];
        return edit?.installed && edit.text === this.kernel.source;
    }

    /**
     * @param {Kernel} one
     * @param {number} place
     */
    item(one, place) {
        const [now, name] = [place === this.at, one.name.replaceAll("_", "_\u200b")];
        return h(
            "div",
            {
                class: `jt-kernel-item${now ? " jt-now" : ""}`, role: "listitem", "aria-current": `${now}`,
                title: `${one.loops} ([ ])`, onclick: () => this.choose(place),
            },
            h("span", "jt-kernel-name", `${one.id} ${name}`),
            h("span", { class: "jt-soft", title: runsOf(one) }, factsOf(one)),
        );
    }

    /**
     * @param {string} name
     * @param {string} words
     */
    tabOf(name, words) {
        const title = `Key: ${this.tabNames.findIndex(([one]) => one === name) + 1}`;
        return tab(words, title, () => this.choose(this.at, name), this.tab === name);
    }

    /**
     * @param {number} place
     * @param {string} tab
     */
    choose(place, tab = this.tab) {
        if (place < 0 || place >= this.kernels.length) return;
        this.context.state.set("kernel", place);
        this.context.state.set("tab", tab);
        this.kept = null;
        this.show();
        this.bus.select({ kernel: this.kernel.key, nodes: this.kernel.nodes });
        this.context.say(`Kernel ${this.kernel.name}`);
    }

    showSource() {
        const { links: its, kernel: one } = this;
        if (!its) return;
        const select = (/** @type {Picked | null} */ picked) =>
            this.bus.select(picked ? { ...picked, kernel: picked.line === null ? null : one.key } : {});
        this.listing = listing(one, its, this.body, {
            point: (picked) => select(picked ?? this.kept),
            keep: (picked) => {
                this.kept = picked;
                select(picked);
            },
        });
        const calls = one.calls.length ? ` It calls ${one.calls.join(", ")}.` : "";
        this.body.append(soft(`${one.loops}.${calls}`), this.listing.element);
        const edit = this.known.edits[one.id];
        this.usual();
        if (edit) this.foot.append(resultOf(edit));
        this.light(this.context.bus.current());
    }

    /** @param {([string, string, () => void, boolean?] | false | undefined)[]} wanted */
    buttons(wanted) {
        const live = this.context.live;
        const made = wanted.map((one) => {
            if (!one) return null;
            const [label, key, act, off] = one;
            return button(label, key && `Key: ${key}`, act, { disabled: !live || off || this.busy });
        });
        const why = live ? "" : "Editing asks Python: it needs a running notebook.";
        this.foot.append(h("div", "jt-bar", made, h("span", "jt-soft", why)));
    }

    /** The buttons that are always there. */
    usual() {
        clear(this.foot);
        const run = () => void this.run(false);
        if (this.editor) return this.buttons([["Run", "Ctrl Enter", run], ["Cancel", "Esc", () => this.leave()]]);
        this.foot.append(this.told);
        const { edited, kind } = this.kernel;
        const revert = () => void this.revert();
        return this.buttons([["Edit", "e", () => this.edit(), kind === "host"], edited && ["Revert", "r", revert]]);
    }

    edit() {
        if (!this.context.live || this.kernel.kind === "host") return;
        const { state } = this.context;
        const draft = `draft ${this.kernel.key}`;
        state.set("editing", true);
        this.listing = null;
        this.editor = editor(state.get(draft, this.kernel.source), (text) => state.set(draft, text));
        clear(this.body).append(this.editor.element);
        this.usual();
        this.editor.focus();
    }

    leave() {
        this.context.state.set("editing", false);
        this.show();
        this.body.focus({ preventScroll: true });
    }

    /** @param {boolean} anyway whether to put it into the graph also if it differs */
    async run(anyway) {
        const now = this.editor;
        if (!now || this.busy) return;
        now.complain(null);
        const words = "Compiling it, and comparing it with the original\u2026";
        const edit = /** @type {Edit | null} */ (await this.ask(words, { do: "try", text: now.text(), anyway }));
        if (!edit) return;
        now.complain(edit.line);
        if (edit.installed) this.context.state.set("editing", false);
        this.foot.append(resultOf(edit));
        const all = () => void this.run(true);
        if (edit.record && !edit.installed) this.buttons([["Run it in the graph all the same", "", all]]);
        this.context.say(edit.error || "The edited kernel ran.");
    }

    async revert() {
        if (this.context.live) await this.ask("Back to the original\u2026", { do: "revert" });
    }

    /**
     * Ask Python about this kernel; null where it answers with an error, which is then shown.
     * @param {string} words shown meanwhile
     * @param {import("../types.js").Message} message
     */
    async ask(words, message) {
        this.busy = true;
        clear(this.foot).append(h("p", { class: "jt-soft", role: "status" }, words));
        /** @type {unknown} */
        let reply = null;
        let trouble = "";
        try {
            reply = await this.context.ask({ ...message, kernel: this.kernel.id }, this.patience());
        } catch (error) {
            trouble = textOf(error);
        }
        this.busy = false;
        clear(this.foot);
        this.usual();
        if (trouble) this.foot.append(h("div", { class: "jt-trouble", role: "alert" }, trouble));
        return reply;
    }

    async showMachine() {
        const [{ id }, tab, pane] = [this.kernel, /** @type {Part} */ (this.tab), this.body];
        const here = () => this.kernel.id === id && this.tab === tab;
        const note = h("p", { class: "jt-soft", role: "status" }, "Compiling\u2026");
        pane.append(note);
        try {
            const question = { do: "machine", kernel: id };
            const asked = this.known.machine[id] ?? (await this.context.ask(question, this.patience()));
            this.known.machine[id] = /** @type {Machine} */ (asked);
            if (here()) clear(pane).append(machineText(this.known.machine[id], tab, pane));
        } catch (error) {
            if (here()) note.replaceChildren(textOf(error));
        }
    }

    /** Seconds to wait for Python: its own limit of a trial, and what it takes to begin one. */
    patience() {
        return STARTING + (this.known.seconds ?? TRIAL);
    }

    /**
     * What another view selects is gone to and revealed; but nobody is taken away from an edit.
     * @param {Selection} selection
     * @param {boolean} own
     */
    hear(selection, own) {
        const place = own || this.editor ? -1 : placeOf(selection, this.kernels);
        if (place >= 0 && place !== this.at) {
            this.context.state.set("kernel", place);
            this.kept = null;
            this.show();
        }
        this.light(selection);
        if (place >= 0) this.listing?.reveal(this.listing.lit(selection)[0]);
    }

    /** @param {Selection} selection */
    light(selection) {
        this.listing?.light(selection);
        if (selection.line && names(selection, this.kernel)) this.tell(selection.line);
        this.order.forEach((place, k) => {
            this.list.children[k]?.classList.toggle("jt-on", names(selection, this.kernels[place]));
        });
    }

    /** @param {number} line */
    tell(line) {
        const words = [this.links?.opsAt(line).join(", "), this.links?.whereAt(line)].filter(Boolean).join(" \u2190 ");
        this.told.replaceChildren(`Line ${line}${words && `: ${words}`}`);
        return words;
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const running = event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey);
        if (this.editor) {
            if (running) void this.run(false);
            else if (event.key === "Escape") this.leave();
            return running || event.key === "Escape" || this.editor.key(event);
        }
        const scrolls = event.target === this.list || event.target === this.choice;
        if (!alone(event) || !this.kernel || (scrolls && event.key.startsWith("Arrow"))) return false;
        const asked = this.tabNames[Number(event.key) - 1];
        if (asked) this.choose(this.at, asked[0]);
        else if (event.key === "[" || event.key === "]") this.next(event.key === "]" ? 1 : -1);
        else if (event.key === "e" && this.tab === "source") this.edit();
        else if (event.key === "w") this.asked();
        else if (event.key === "r" && this.kernel.edited) void this.revert();
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.move(event.key === "ArrowDown" ? 1 : -1);
        else return false;
        return true;
    }

    /** @param {number} step to another kernel of the list */
    next(step) {
        const place = this.order[this.order.indexOf(this.at) + step];
        if (place !== undefined) this.choose(place);
    }

    /** @param {number} step */
    move(step) {
        if (!this.links || !this.listing) return;
        const { length } = this.links.rows;
        let line = clamp((this.kept?.line ?? 0) + step, 1, length);
        while (this.listing.isFolded(line) && line + step >= 1 && line + step <= length) line += step;
        this.kept = { nodes: this.links.nodesAt(line), line };
        this.bus.select({ ...this.kept, kernel: this.kernel.key });
        this.listing.reveal(line);
        this.context.say(`Line ${line}: ${this.links.rows[line - 1].trim()}. ${this.tell(line)}`);
    }

    /** Selects all that the learner's line behind the present line asked for. */
    asked() {
        const where = this.links?.whereAt(this.kept?.line ?? 0);
        if (!where || !this.listing) return;
        this.bus.select(this.listing.asked(where));
        this.context.say(`All that this line asked for: ${where}`);
    }

    close() {
        this.watch.disconnect();
    }

    table() {
        const rows = this.kernels.flatMap((one) => {
            const its = links(one, this.context.page);
            return its.rows.map((text, k) => [one.name, k + 1, text, its.opsAt(k + 1).join(", "), its.whereAt(k + 1)]);
        });
        return { columns: ["kernel", "line", "source", "operators", "your line"], rows };
    }
}

/**
 * What the page already knows of machine code and edits.
 * @param {import("../types.js").Page} page
 * @returns {Known}
 */
function knownOf(page) {
    const found = /** @type {Partial<Known>} */ (page.code ?? {});
    return { machine: { ...found.machine }, edits: { ...found.edits }, seconds: found.seconds };
}
