// Layers: the gradient norm of each module, and how far its update moves it, in the step that is looked at.
//
// A click on a row gives its module a line in the charts, or takes the line away. Of many modules those with a line are
// listed at first.

/** @import { Context } from "../../types.js" */
/** @import { Row, Section } from "./model.js" */

import { h } from "../../dom.js";
import { clamp, count, numberText } from "../../numbers.js";
import { framed } from "../../tables.js";
import { LINES, evenly } from "./model.js";

const MANY = 12; // rows

export class Layers {
    at = -1;

    /**
     * @param {Context} context
     * @param {() => Section} section what is known now
     * @param {() => void} redraw after the choice of lines
     */
    constructor(context, section, redraw) {
        this.context = context;
        this.section = section;
        this.redraw = redraw;
        this.all = context.state.get("all", false);
        this.table = h("div");
        this.more = h("button", { class: "jt-button", type: "button", onclick: () => this.showAll(!this.all) });
        this.element = h("div", "jt-plot-layers", this.table, this.more);
    }

    chosen() {
        const { modules } = this.section();
        const some = this.context.state.get("modules", evenly(modules.length));
        return some.filter((k) => k < modules.length).slice(-LINES);
    }

    /** @param {number} k */
    choose(k) {
        if (this.section().modules[k] === undefined) return;
        const chosen = this.chosen();
        const now = chosen.includes(k) ? chosen.filter((one) => one !== k) : [...chosen, k].slice(-LINES);
        this.context.state.set("modules", now);
        this.redraw();
    }

    /** @param {boolean} all */
    showAll(all) {
        this.all = all;
        this.context.state.set("all", all);
        this.redraw();
    }

    /** @param {number} by rows */
    walk(by) {
        const { modules } = this.section();
        this.at = clamp(this.at + by, 0, modules.length - 1);
        if (modules.length > MANY && !this.all) this.showAll(true);
        this.table.querySelector(".jt-plot-here")?.classList.remove("jt-plot-here");
        const row = this.table.querySelectorAll("tbody tr")[this.at];
        row?.classList.add("jt-plot-here");
        row?.scrollIntoView({ block: "nearest" });
        this.context.say(`${modules[this.at] ?? "no module"}: m shows its line, or takes it away`);
    }

    /** @param {Row} row */
    show(row) {
        const [{ modules }, chosen] = [this.section(), this.chosen()];
        const many = modules.length > MANY;
        const lines = modules.map((name, k) => {
            const look = { title: "show its line, or take it away (↑ ↓, then m)", onclick: () => this.choose(k) };
            const figures = [row.gradient[k], row.ratio[k]].map((one) => h("td", "jt-number", numberText(one)));
            const classes = [chosen.includes(k) && "jt-plot-shown", k === this.at && "jt-plot-here"];
            const hidden = many && !this.all && !chosen.includes(k);
            return h("tr", { class: classes.filter(Boolean).join(" "), hidden, ...look }, h("td", {}, name), figures);
        });
        const some = `; lines: ${chosen.length} of ${modules.length}, click a row for its own`;
        const caption = h("caption", {}, `Step ${row.step}${modules.length > LINES ? some : ""}`);
        const table = framed(["module", "gradient norm", "update / weight"], lines, "jt-rows", caption);
        this.table.replaceChildren(table);
        this.more.hidden = !many;
        this.more.textContent = this.all ? "Only those with a line" : `All ${count(modules.length, "module")}`;
    }
}
