// Strip: the bytes that are alive after each step, which is also what one scrubs on, and the buttons beside it.

/** @import { Page } from "../../types.js" */
/** @import { Tape } from "./model.js" */

import { button } from "../../controls.js";
import { h, s } from "../../dom.js";
import { Player } from "../../motion.js";
import { bytesText } from "../../numbers.js";

const [WIDE, HIGH] = [1000, 48]; // of the drawing; the page stretches it
const BEAT = 550; // milliseconds of a step while it plays

/** The strip, its slider and its buttons. */
export class Strip {
    /**
     * @param {Tape} tape
     * @param {Page} page
     * @param {{go: (k: number) => void, freeze: () => void, reduced: () => boolean}} hear
     */
    constructor(tape, page, hear) {
        this.tape = tape;
        this.page = page;
        this.hear = hear;
        this.now = 0;
        const last = tape.steps.length - 1;
        const look = { type: "range", min: 0, max: last, step: 1, "aria-label": "step" };
        this.slider = h("input", { ...look, oninput: () => this.slide() });
        this.words = h("span", "jt-tape-words");
        this.bytes = h("p", "jt-tape-bytes");
        this.head = h("span", "jt-tape-playhead");
        this.mark = h("span", { class: "jt-tape-mark", hidden: true });
        const { go, reduced } = hear;
        this.player = new Player({ last, pace: BEAT, at: () => this.now, go, reduced });
        this.freeze = button("Freeze", "freeze this moment to compare with another (z)", () => hear.freeze());
        this.root = h(
            "div",
            "jt-tape-strip",
            this.buttons(),
            h("div", "jt-tape-track", this.area(), this.peak(), this.mark, this.head, this.slider),
            this.bytes,
        );
    }

    buttons() {
        return h("div", "jt-bar", this.player.buttons, this.words, this.freeze);
    }

    area() {
        const { steps, rows, peak } = this.tape;
        const [wide, high] = [WIDE / Math.max(1, steps.length), HIGH / Math.max(1, peak.bytes)];
        const top = (/** @type {number} */ k) => (HIGH - steps[k].alive * high).toFixed(1);
        const path = steps.map((_, k) => `H${(k * wide).toFixed(1)}V${top(k)}`).join("");
        const backward = { x: rows * wide, y: 0, width: WIDE - rows * wide, height: HIGH };
        const view = { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" };
        const shape = s("path", { d: `M0 ${HIGH}${path}H${WIDE}V${HIGH}Z` });
        const half = s("rect", { class: "jt-tape-half", ...backward });
        return h("div", "jt-tape-area", s("svg", view, half, shape));
    }

    peak() {
        const { step, bytes } = this.tape.peak;
        const at = this.place(step);
        const side = at > 50 ? "jt-peak-left" : "";
        return h(
            "span", { class: `jt-tape-peak jt-peak ${side}`, style: `left:${at}%` },
            h("small", {}, `peak ${bytesText(bytes)}`),
        );
    }

    /** @param {number} k */
    place(k) {
        return ((k + 0.5) / this.tape.steps.length) * 100;
    }

    slide() {
        this.player.stop();
        this.hear.go(Number(this.slider.value));
    }

    /**
     * Show a moment.
     * @param {number} now
     * @param {number} frozen the frozen moment, or -1
     * @param {string} words
     */
    show(now, frozen, words) {
        this.now = now;
        this.slider.value = `${now}`;
        this.slider.setAttribute("aria-valuetext", words);
        this.head.style.left = `${this.place(now)}%`;
        this.mark.hidden = frozen < 0;
        this.mark.style.left = `${this.place(Math.max(frozen, 0))}%`;
        this.freeze.textContent = frozen < 0 ? "Freeze" : "Unfreeze";
        this.words.textContent = this.words.title = words;
        this.bytes.replaceChildren(...this.memory(now));
    }

    /** @param {number} now */
    memory(now) {
        const { steps, peak, kernel_alive: alive } = this.tape;
        const kernel = steps[now].kernel;
        const [here, most] = [steps[now].alive, peak.bytes];
        const alone = [
            h("b", { "data-alive": here }, bytesText(here)),
            ` alive if each step ran by itself (peak ${bytesText(most)})`,
        ];
        if (kernel === null || !alive?.length) return alone;
        const there = h("b", { "data-kernel-alive": alive[kernel] }, bytesText(alive[kernel]));
        const name = `kernel ${kernel}, ${this.page.kernels[kernel]?.name}`;
        return [...alone, "; as it ran, ", there, ` in ${name} (peak ${bytesText(this.page.peak)}).`];
    }

}
