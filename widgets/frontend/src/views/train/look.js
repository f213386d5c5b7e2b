// Look: how is the loss drawn? On a log scale or not, and as it is or smoothed.

/** @import { Context } from "../../types.js" */
/** @import { Mark, Section } from "./model.js" */

import { button, press } from "../../controls.js";
import { h } from "../../dom.js";
import { smoothed } from "./model.js";

const FAINT = 9; // the style of a line behind its smoothed one

export class Look {
    /**
     * @param {Context["state"]} state
     * @param {() => void} redraw after a change
     */
    constructor(state, redraw) {
        this.state = state;
        this.redraw = redraw;
        this.scale = button("Log scale", "for the loss (l)", () => this.turn());
        const smooth = h("input", {
            type: "range", min: 0, max: 98, step: 2, value: this.percent, "aria-label": "smoothing of the loss",
            oninput: () => this.set("smooth", Number(smooth.value)),
        });
        this.element = h("div", "jt-bar", this.scale, h("label", "jt-soft jt-plot-smooth", "smoothing", smooth));
        press(this.scale, this.log);
    }

    get log() {
        return this.state.get("log", false);
    }

    /** How much the steps before count in the smoothed line. */
    get percent() {
        return Math.min(this.state.get("smooth", 0), 98);
    }

    /** From a linear scale to a log one, and back. */
    turn() {
        this.set("log", !this.log);
        press(this.scale, this.log);
    }

    /**
     * @param {string} name
     * @param {number | boolean} value
     */
    set(name, value) {
        this.state.set(name, value);
        this.redraw();
    }

    /**
     * The lines of the loss: of each step, smoothed, of validation. Each has a name, marks, and a style.
     * @param {Section} train
     * @returns {[string, Mark[], number][]}
     */
    lines({ rows, checks = [] }) {
        const each = rows.map((row) => /** @type {Mark} */ ([row.step, row.loss]));
        const marks = checks.map(({ step, loss }) => /** @type {Mark} */ ([step, loss]));
        /** @type {[string, Mark[], number][]} */
        const lines = [["each step", each, this.percent ? FAINT : 0]];
        if (this.percent) lines.push(["smoothed", smoothed(each, this.percent / 100), 0]);
        if (checks.length) lines.push(["validation", marks, 1]);
        return lines;
    }
}
