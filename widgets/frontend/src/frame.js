// Frame: what stands around every view?
//
//     Title                                  [Table] [?]
//     one sentence
//     notes
//     the view's body, or its table, or the help card
//
// The body (or the table in its place) is the one Tab stop: buttons have keys. Nothing here knows pages or Python.

/** @import { Table, ViewKind } from "./types.js" */

import { clear, h } from "./dom.js";
import { helpCard } from "./help.js";
import { tableOf } from "./tables.js";

const SAY_EVERY = 700; // milliseconds: a screen reader that is interrupted says nothing

export class Frame {
    /** Whether the table is shown. */
    asTable = false;
    #saying = 0;

    /**
     * @param {ViewKind | undefined} kind undefined where nobody knows the view
     * @param {number} level of the heading
     * @param {() => Table | null} table asked for when the table is to be shown
     */
    constructor(kind, level, table) {
        this.name = kind?.title ?? "View";
        this.makeTable = table;
        this.summary = h("p", { class: "jt-summary" });
        this.notes = h("ul", { class: "jt-notes", hidden: true });
        this.tableButton = button("Table", "The same as a table (t)", () => this.showTable(!this.asTable));
        this.helpButton = button("?", "Keys (?)", () => this.showHelp(Boolean(this.help.hidden)));
        this.body = h("div", { class: "jt-body", tabindex: 0, role: "group", "aria-label": this.name });
        this.table = h("div", { class: "jt-table", tabindex: 0, role: "group", "aria-label": "Table", hidden: true });
        this.help = helpCard(kind?.keys ?? [], () => this.showHelp(false));
        this.polite = h("p", { class: "jt-say", "aria-live": "polite" });
        const title = h("div", { class: "jt-title", role: "heading", "aria-level": level }, this.name);
        const tools = h("div", { class: "jt-tools" }, this.tableButton, this.helpButton);
        this.root = h(
            "section",
            { class: "jt-view", role: "group", "data-lm-suppress-shortcuts": "true", "data-view": kind?.name },
            h("div", { class: "jt-head" }, title, tools),
            [this.summary, this.notes, this.body, this.table, this.help, this.polite],
        );
        this.describe("", []);
    }

    /**
     * The sentence and the notes above the view.
     * @param {string} summary
     * @param {string[]} notes
     */
    describe(summary, notes) {
        this.root.setAttribute("aria-label", `${this.name}. ${summary}`);
        this.summary.replaceChildren(summary);
        this.notes.replaceChildren(...notes.map((note) => h("li", {}, note)));
        this.notes.hidden = !notes.length;
    }

    /**
     * The table in place of the body, or the body again.
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
        const table = on ? this.makeTable() : null;
        this.asTable = table !== null;
        this.tableButton.setAttribute("aria-pressed", `${this.asTable}`);
        [this.body.hidden, this.table.hidden] = [this.asTable, !this.asTable];
        clear(this.table);
        if (table) this.table.append(tableOf(table, this.name));
    }

    /** @param {boolean} on */
    showHelp(on) {
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
        (this.asTable ? this.table : this.body).focus({ preventScroll: true });
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
     * A sentence in place of the view.
     * @param {string} words
     */
    trouble(words) {
        const title = h("strong", {}, "This view cannot be drawn.");
        clear(this.body).append(h("div", { class: "jt-trouble", role: "alert" }, title, h("p", {}, words)));
    }

    /** End what is under way. */
    close() {
        clearTimeout(this.#saying);
    }
}

/**
 * A button of the heading. It is no Tab stop, since a key does the same.
 * @param {string} words
 * @param {string} title
 * @param {() => void} act
 * @returns {HTMLButtonElement}
 */
function button(words, title, act) {
    return h("button", { class: "jt-button", type: "button", title, tabindex: -1, onclick: act }, words);
}
