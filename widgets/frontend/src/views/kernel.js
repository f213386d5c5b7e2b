// KernelView: which code runs, what does each line compute, and what if it were written otherwise?
//
//     kernels     which one, with its time and its bytes
//     tabs        Python source, LLVM IR, assembly, PTX
//     edit        the text in place; Run tries it in Python, and puts it into the graph if it agrees
//
// What a line computes was decided in Python. This file does not compile, and it measures nothing.

/** @import { Context, Kernel, ViewKind } from "../types.js" */
/** @import { Machine } from "./kernel/machine.js" */
/** @import { Edit } from "./kernel/result.js" */
/** @import { Annotated, Picked } from "./kernel/listing.js" */
/** @import { Editor } from "./kernel/editor.js" */

import { clear, h } from "../dom.js";
import { bytesText, millisText } from "../numbers.js";
import { editor } from "./kernel/editor.js";
import style from "./kernel/kernel.css";
import { links } from "./kernel/links.js";
import { listing } from "./kernel/listing.js";
import { machineText } from "./kernel/machine.js";
import { resultOf } from "./kernel/result.js";

const TABS = /** @type {[string, string][]} */ ([
    ["source", "Python source"], ["llvm", "LLVM IR"], ["asm", "Assembly"], ["ptx", "PTX"],
]); // prettier-ignore
const PATIENCE = 200; // seconds for a trial: Python has its own, shorter limit

/** @type {ViewKind} */
export const kernel = {
    name: "kernel",
    title: "Kernels",
    style,
    keys: [
        ["↑ ↓", "the line above, below"], ["[ ]", "the kernel before, after"],
        ["1 2 3 4", "source, LLVM IR, assembly, PTX"], ["e", "edit the source"],
        ["Ctrl Enter", "run the edit"], ["r", "back to the original"],
    ], // prettier-ignore
    draw: (context) => new KernelView(context).drawn(),
};

/** @typedef {{machine: Record<string, Machine>, edits: Record<string, Edit>}} Known */

class KernelView {
    /** @type {Annotated | null} */
    listing = null;
    /** @type {Editor | null} */
    editor = null;
    /** @type {Picked | null} */
    kept = null;
    busy = false;

    /** @param {Context} context */
    constructor(context) {
        this.context = context;
        this.kernels = context.page.kernels;
        this.known = knownOf(context.page);
        this.list = h("div", { class: "jt-kernels", role: "list" });
        this.tabs = h("div", { class: "jt-tabs", role: "tablist" });
        this.body = h("div", { class: "jt-pane", role: "tabpanel", tabindex: 0, "aria-label": "Kernel" });
        context.root.tabIndex = -1; // what scrolls is the one Tab stop
        this.foot = h("div", { class: "jt-foot" });
        this.told = h("p", { class: "jt-told jt-mono" });
        const main = h("div", { class: "jt-kernel-main" }, this.tabs, this.body, this.foot);
        const many = this.kernels.length > 1;
        clear(context.root).append(h("div", { class: "jt-kernel" }, many && this.list, main));
        context.bus.on((selection) => this.hear(selection));
        if (this.kernels.length) this.show();
        else this.body.append(h("p", {}, "Nothing would run: there is no kernel."));
    }

    /** @returns {import("../types.js").Drawn} */
    drawn() {
        return {
            key: (event) => this.key(event),
            table: () => ({ columns: ["kernel", "line", "source", "operators", "your line"], rows: this.table() }),
        };
    }

    get at() {
        return Math.min(Math.max(this.context.state.get("kernel", 0), 0), this.kernels.length - 1);
    }

    get tab() {
        return this.context.state.get("tab", "source");
    }

    get kernel() {
        return this.kernels[this.at];
    }

    show() {
        this.links = links(this.kernel, this.context.page);
        [this.listing, this.editor] = [null, null];
        clear(this.list).append(...this.kernels.map((one, place) => this.item(one, place)));
        clear(this.tabs).append(...TABS.map(([name, words]) => this.tabOf(name, words)));
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
        const time = one.ms === null ? "not run" : millisText(one.ms);
        const facts = `${time}, ${bytesText(one.bytes)}${one.edited ? ", edited" : ""}`;
        const [now, name] = [place === this.at, one.name.replaceAll("_", "_\u200b")];
        return h(
            "div",
            {
                class: now ? "jt-item jt-now" : "jt-item", role: "listitem", "aria-current": `${now}`, title: one.loops,
                onclick: () => this.choose(place),
            },
            h("span", { class: "jt-name" }, `${one.id} ${name}`),
            h("span", { class: "jt-soft" }, facts),
        ); // prettier-ignore
    }

    /**
     * @param {string} name
     * @param {string} words
     */
    tabOf(name, words) {
        const on = this.tab === name;
        const look = { class: "jt-tab", type: "button", role: "tab", "aria-selected": `${on}`, tabindex: -1 };
        return h("button", { ...look, onclick: () => this.choose(this.at, name) }, words);
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
        this.context.bus.select({ kernel: this.kernel.key, nodes: this.kernel.nodes });
        this.context.say(`Kernel ${this.kernel.name}`);
    }

    showSource() {
        const { links: its, kernel: one } = this;
        if (!its) return;
        const select = (/** @type {Picked | null} */ picked) =>
            this.context.bus.select(picked ? { ...picked, kernel: picked.line === null ? null : one.key } : {});
        this.listing = listing(one, its, {
            point: (picked) => select(picked ?? this.kept),
            keep: (picked) => {
                this.kept = picked;
                select(picked);
            },
        });
        const calls = one.calls.length ? ` It calls ${one.calls.join(", ")}.` : "";
        this.body.append(h("p", { class: "jt-soft" }, `${one.loops}.${calls}`), this.listing.element);
        const edit = this.known.edits[one.id];
        this.usual();
        if (edit) this.foot.append(resultOf(edit));
        this.hear(this.context.bus.current());
    }

    /** @param {([string, string, () => void, boolean?] | false | undefined)[]} wanted */
    buttons(wanted) {
        const live = this.context.live;
        const tabindex = this.editor ? 0 : -1; // the keys that stand for them write letters there
        const made = wanted.map((one) => {
            const look = one && { class: "jt-button", type: "button", tabindex, title: one[1] && `Key: ${one[1]}` };
            return one && h("button", { ...look, disabled: !live || one[3] || this.busy, onclick: one[2] }, one[0]);
        });
        const why = live ? "" : "Editing asks Python: it needs a running notebook.";
        this.foot.append(h("div", { class: "jt-actions" }, made, h("span", { class: "jt-soft" }, why)));
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
            reply = await this.context.ask({ ...message, kernel: this.kernel.id }, PATIENCE);
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
        const [{ id }, tab, pane] = [this.kernel, /** @type {"llvm" | "asm" | "ptx"} */ (this.tab), this.body];
        const here = () => this.kernel.id === id && this.tab === tab;
        const note = h("p", { class: "jt-soft", role: "status" }, "Compiling\u2026");
        pane.append(note);
        try {
            const asked = this.known.machine[id] ?? (await this.context.ask({ do: "machine", kernel: id }, PATIENCE));
            this.known.machine[id] = /** @type {Machine} */ (asked);
            if (here()) clear(pane).append(machineText(this.known.machine[id], tab));
        } catch (error) {
            if (here()) note.replaceChildren(textOf(error));
        }
    }

    /** @param {import("../types.js").Selection} selection */
    hear(selection) {
        this.listing?.light(selection);
        if (selection.kernel === this.kernel?.key && selection.line) this.tell(selection.line);
        const nodes = new Set(selection.nodes);
        this.kernels.forEach((one, place) => {
            const on = one.key === selection.kernel || one.nodes.some((node) => nodes.has(node));
            this.list.children[place]?.classList.toggle("jt-on", on);
        });
        if (selection.from !== this.context.uid && selection.nodes.length === 1) {
            const line = this.links?.linesOf(selection.nodes[0])[0];
            if (line) this.listing?.reveal(line);
        }
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
        if (event.ctrlKey || event.metaKey || event.altKey) return false;
        const tab = TABS[Number(event.key) - 1];
        if (tab) this.choose(this.at, tab[0]);
        else if (event.key === "[" || event.key === "]") this.choose(this.at + (event.key === "]" ? 1 : -1));
        else if (event.key === "e" && this.tab === "source") this.edit();
        else if (event.key === "r" && this.kernel.edited) void this.revert();
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.move(event.key === "ArrowDown" ? 1 : -1);
        else return false;
        return true;
    }

    /** @param {number} step */
    move(step) {
        if (!this.links || !this.listing) return;
        const line = Math.min(Math.max((this.kept?.line ?? 0) + step, 1), this.links.rows.length);
        this.kept = { nodes: this.links.nodesAt(line), line };
        this.context.bus.select({ ...this.kept, kernel: this.kernel.key });
        this.listing.reveal(line);
        this.context.say(`Line ${line}: ${this.links.rows[line - 1].trim()}. ${this.tell(line)}`);
    }

    table() {
        return this.kernels.flatMap((one) => {
            const its = links(one, this.context.page);
            return its.rows.map((text, k) => [one.name, k + 1, text, its.opsAt(k + 1).join(", "), its.whereAt(k + 1)]);
        });
    }
}

/** @param {unknown} error */
function textOf(error) {
    return error instanceof Error ? error.message : `${error}`;
}

/**
 * What the page already knows of machine code and edits.
 * @param {import("../types.js").Page} page
 * @returns {Known}
 */
function knownOf(page) {
    const found = /** @type {Partial<Known>} */ (page.code ?? {});
    return { machine: { ...found.machine }, edits: { ...found.edits } };
}
