// Frame: what stands around every view?
//
//     Title                                  [Table] [?]
//     one sentence
//     notes
//     the view's body, or its table, or the help card
//
// The body (or the table in its place) hears the keys of the view; every button, list and slider is a Tab stop, too. A
// click anywhere else, on the heading or a note, gives the focus to the whole. Nothing here knows
// pages or Python.

/** @import { Drawn, ViewKind } from "./types.js" */

import { button, named, press, soft, trouble } from "./controls.js";
import { clear, h } from "./dom.js";
import { cut } from "./graph/text.js";
import { helpCard, rowsOf } from "./help.js";
import { tableOf } from "./tables.js";

const SAY_EVERY = 700; // milliseconds: a screen reader that is interrupted says nothing

export class Frame {
    /** Whether the table is shown. */
    asTable = false;
    #saying = 0;

    /**
     * @param {ViewKind | undefined} kind undefined where nobody knows the view
     * @param {number} level of the heading
     * @param {() => Drawn | null} drawn what is drawn now, which knows its table and its keys
     */
    constructor(kind, level, drawn) {
        this.name = kind?.title ?? "View";
        this.kind = kind;
        this.drawn = drawn;
        this.summary = h("p", "jt-summary");
        this.notes = h("ul", { class: "jt-notes", hidden: true });
        this.tableButton = button("Table", "The same as a table (t)", () => this.showTable(!this.asTable));
        this.helpButton = button("?", "Help (?)", () => this.showHelp(Boolean(this.help.hidden)));
        this.figures = h("div");
        this.body = h("div", { class: "jt-body", tabindex: 0, role: "group", "aria-label": this.name });
        this.table = h("div", { class: "jt-table", tabindex: 0, role: "group", "aria-label": "Table", hidden: true });
        this.help = helpCard(kind?.about ?? "", this.figures, () => this.showHelp(false));
        this.polite = h("p", { class: "jt-say", "aria-live": "polite" });
        const title = h("div", { class: "jt-title", role: "heading", "aria-level": level }, this.name);
        const tools = h("div", "jt-tools", this.tableButton, this.helpButton);
        this.root = h(
            "section",
            {
                class: "jt-view", role: "group", tabindex: -1, "data-lm-suppress-shortcuts": "true",
                "data-view": kind?.name,
            },
            h("div", "jt-head", title, tools),
            [this.summary, this.notes, this.body, this.table, this.help, this.polite],
        );
        this.describe("", [], []);
    }

    /**
     * The sentence and the notes above the view, and for the help card, how its figures came about.
     * @param {string} summary
     * @param {string[]} notes
     * @param {string[]} about
     */
    describe(summary, notes, about) {
        this.root.setAttribute("aria-label", `${this.name}. ${cut(summary, 400)}`);
        this.summary.replaceChildren(cut(summary, 400));
        this.summary.title = summary.length > 400 ? cut(summary, 4000) : "";
        this.notes.replaceChildren(...notes.map((note) => h("li", {}, note)));
        this.notes.hidden = !notes.length;
        clear(this.figures);
        if (about.length) this.figures.append(named("About the figures"), ...about.map((one) => soft(one)));
    }

    /**
     * The table instead of the body, or the body again.
     * @param {boolean} on
     */
    showTable(on) {
        this.fillTable(on);
        this.focus();
    }

    /**
     * The same, and the focus stays where it is.
     * @param {boolean} on
     */
    fillTable(on) {
        const table = on ? (this.drawn()?.table() ?? null) : null;
        this.asTable = table !== null;
        press(this.tableButton, this.asTable);
        [this.body.hidden, this.table.hidden] = [this.asTable, !this.asTable];
        clear(this.table);
        if (table) this.table.append(tableOf(table, table.title ?? this.name));
    }

    /** @param {boolean} on */
    showHelp(on) {
        const keys = [...(this.kind?.keys ?? []), ...((on && this.drawn()?.keys?.()) || [])];
        if (on) this.help.lastElementChild?.replaceChildren(...rowsOf(keys));
        this.help.hidden = !on;
        this.helpButton.setAttribute("aria-expanded", `${on}`);
        if (on) this.help.focus({ preventScroll: true });
        else this.focus();
    }

    /** To where the reader came from, step by step. */
    back() {
        if (!this.help.hidden) this.showHelp(false);
        else if (this.asTable) this.showTable(false);
        else this.focus();
    }

    /** Focus what is shown. */
    focus() {
        const drawn = this.drawn();
        if (drawn?.focus && !this.asTable) drawn.focus();
        else (this.asTable ? this.table : this.body).focus({ preventScroll: true });
    }

    /**
     * Say it to a screen reader, when a moment has passed without anything newer.
     * @param {string} words
     */
    say(words) {
        clearTimeout(this.#saying);
        this.#saying = setTimeout(() => this.polite.replaceChildren(words), SAY_EVERY);
    }

    /**
     * A sentence instead of the view.
     * @param {string} words
     */
    trouble(words) {
        clear(this.body).append(trouble("This view cannot be drawn.", words));
    }

    /** End what is under way. */
    close() {
        clearTimeout(this.#saying);
    }
}
