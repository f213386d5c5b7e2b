// Bar: the buttons above the lanes, and the legend below them.

/** @import { Level } from "./scene.js" */
/** @import { Stage } from "./stage.js" */

import { button, press } from "../../controls.js";
import { h } from "../../dom.js";
import { entry } from "../../legend.js";
import { sized } from "./paint.js";
import { SPEEDS } from "./player.js";
import { nanosText } from "./stage.js";

const LEVELS = /** @type {const} */ (["calls", "messages"]);
const KINDS = ["computes", "waits", "sends, receives"];

export class Bar {
    /**
     * @param {Stage} stage
     * @param {{play: () => void, step: (way: number) => void, level: (level: Level) => void,
     *     clock: (virtual: boolean) => void, speed: (speed: number) => void}} act
     */
    constructor(stage, act) {
        this.stage = stage;
        this.play = button("▶ Play", "Play, pause (Space)", act.play);
        this.speed = h("select", {
            class: "jt-field", "aria-label": "Speed", title: "Slower, faster (, .)",
            onchange: () => act.speed(Number(this.speed.value)),
        }, SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)));
        this.moment = h("output", "jt-mono");
        this.levels = [
            button("Calls", "A collective as one bar (m)", () => act.level("calls")),
            button("Messages", "The messages inside (m)", () => act.level("messages")),
        ];
        this.clocks = stage.scene.run.virtual ? [
            button("Virtual", "Virtual time (w)", () => act.clock(true)),
            button("Wall", "Wall time: simulated ranks take turns (w)", () => act.clock(false)),
        ] : [];
        this.swatches = KINDS.map(() => h("canvas", { "aria-hidden": "true" }));
        const gap = () => h("span", "jt-ranks-gap");
        this.root = h(
            "div", "jt-bar jt-ranks-bar", this.play,
            button("‹", "The event before (←)", () => act.step(-1), { "aria-label": "The event before" }),
            button("›", "The event after (→)", () => act.step(1), { "aria-label": "The event after" }),
            this.speed, gap(), this.levels, gap(), this.clocks, gap(),
            button("−", "Farther (-)", () => stage.zoom(2), { "aria-label": "Farther" }),
            button("+", "Closer (+)", () => stage.zoom(0.5), { "aria-label": "Closer" }),
            button("All", "The whole run (f)", () => stage.fit()), gap(), this.moment,
        );
        this.legend = h(
            "p", "jt-plot-legend jt-ranks-legend", KINDS.map((one, k) => entry(this.swatches[k], one)),
            entry(h("em", {}, "→"), "a message"), entry(h("em", {}, "○ ▾"), "first, last to come to a collective"),
        );
        this.dip();
    }

    /** The samples of the legend, in the colours of the page. */
    dip() {
        const { kinds, edges } = this.stage.palette;
        this.swatches.forEach((canvas, kind) => {
            const pen = sized(canvas, 28, 14);
            pen.fillStyle = kinds[kind];
            pen.fillRect(0, 0, 28, 14);
            pen.strokeStyle = edges[kind];
            pen.strokeRect(0.5, 0.5, 27, 13);
        });
    }

    /**
     * What is on.
     * @param {boolean} playing
     * @param {Level} level
     * @param {boolean} virtual
     */
    write(playing, level, virtual) {
        this.play.replaceChildren(playing ? "❚❚ Pause" : "▶ Play");
        this.levels.forEach((one, k) => press(one, LEVELS[k] === level));
        this.clocks.forEach((one, k) => press(one, (k === 0) === virtual));
    }

    /** The moment that is shown. */
    tick() {
        const words = `at ${nanosText(this.stage.at)}`;
        if (this.moment.textContent !== words) this.moment.replaceChildren(words);
    }
}
