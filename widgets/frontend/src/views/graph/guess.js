// Guess: what does the learner think will share a kernel?
//
//     a loop drawn around boxes      they get the next letter
//     a click, or Space              the box gets the letter of now, or loses it
//     reveal                         the plan is shown, with the score and every pair that was misjudged
//
// What is right is decided in predict.js; nothing here knows why.

import { button, named, press, soft } from "../../controls.js";
import { clear, h, s } from "../../dom.js";
import { count } from "../../numbers.js";
import { listOf } from "./parts.js";
import { encloses, freshLetter, pairsOf, score } from "./predict.js";

const HELP = "With the keyboard: arrows walk, Space marks, n begins a new group.";
const UNFUSED = 1; // the pass from which one predicts: matrix products are whole

export class Guess {
    on = false;
    /** @type {Map<number, string>} */
    marks = new Map();
    letter = "A";

    /** @param {import("../fusion.js").Lens} lens */
    constructor(lens) {
        this.lens = lens;
        this.element = h("div", { class: "jt-guess", hidden: true });
        this.button = button("Predict", "what will share a kernel (p)", () => (this.on ? this.stop() : this.start()));
    }

    /** @returns {import("../../types.js").Pass} the pass that is predicted */
    get plan() {
        return this.lens.passes[this.lens.passes.length - 1];
    }

    start() {
        this.on = true;
        this.marks = new Map();
        this.letter = "A";
        this.lens.move(Math.min(UNFUSED, this.lens.passes.length - 1));
        this.lens.camera.lasso = (points, over) => this.loop(points, over);
        this.lens.context.say("Predict: mark what will share a kernel.");
        this.show();
    }

    stop() {
        this.on = false;
        this.marks = new Map();
        this.lens.camera.lasso = null;
        this.lens.lasso.setAttribute("d", "");
        this.show();
    }

    /** The rules by name, instead of a score. */
    rules() {
        this.stop();
        this.lens.ledger.rules();
    }

    /**
     * The keys that mean something while predicting.
     * @param {string} key
     * @returns {(() => void) | undefined}
     */
    key(key) {
        if (!this.on) return undefined;
        /** @type {Record<string, () => void>} */
        const keys = {
            " ": () => this.lens.chosen && this.toggle(Number(this.lens.chosen)),
            n: () => this.fresh(),
            r: () => this.reveal(),
            p: () => this.stop(),
            Escape: () => this.stop(),
        };
        return keys[key];
    }

    /** Begin a new group. */
    fresh() {
        this.letter = freshLetter(this.marks);
        this.lens.context.say(`Group ${this.letter}`);
        this.show();
    }

    /** @param {number} id a computed node gets the letter of now, or loses it */
    toggle(id) {
        if (!this.free(id)) return;
        if (this.marks.get(id) === this.letter) this.marks.delete(id);
        else this.marks.set(id, this.letter);
        this.lens.context.say(this.marks.has(id) ? `in group ${this.letter}` : "in no group");
        this.show();
    }

    /** @param {number} id whether it can be marked: something computes it */
    free(id) {
        return (this.plan.groups[id] ?? null) !== null;
    }

    /**
     * A loop that is being drawn, or is complete.
     * @param {[number, number][]} points
     * @param {boolean} over
     */
    loop(points, over) {
        const d = points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
        this.lens.lasso.setAttribute("d", over || !d ? "" : `${d}Z`);
        if (!over || points.length < 3) return;
        const inside = [...this.lens.flight.cards.keys()].filter((id) => {
            const box = this.lens.flight.rectangle(id);
            return box && this.free(Number(id)) && encloses([box.x + box.width / 2, box.y + box.height / 2], points);
        });
        if (!inside.length) return;
        for (const id of inside) this.marks.delete(Number(id));
        this.letter = freshLetter(this.marks);
        for (const id of inside) this.marks.set(Number(id), this.letter);
        this.lens.context.say(`${count(inside.length, "box", "boxes")} in group ${this.letter}`);
        this.show();
    }

    reveal() {
        const result = score(this.lens.context.page.graph.edges, this.plan.groups, this.marks);
        this.on = false;
        this.lens.camera.lasso = null;
        this.lens.fly(this.lens.passes.length - 1);
        this.show(result);
        this.lens.context.say(`${result.right} of ${count(result.all, "pair")} right.`);
    }

    /** @param {import("./predict.js").Score} [result] */
    show(result) {
        press(this.button, this.on);
        this.lens.window.classList.toggle("jt-predicting", this.on); // style.css: the summary would tell
        this.element.hidden = !this.on && !result;
        this.lens.ledger.element.hidden = !this.element.hidden;
        clear(this.element);
        if (result) this.element.append(...this.told(result));
        else if (this.on) this.element.append(...this.asked());
        this.place();
    }

    asked() {
        const groups = new Set(this.marks.values()).size;
        const pairs = pairsOf(this.lens.context.page.graph.edges, this.plan.groups).length;
        return [
            named("What will share a kernel?"),
            h("p", {}, "Draw a loop around boxes, or click them one by one. ", HELP),
            soft(`${count(groups, "group")} marked, now group ${this.letter}; ${count(pairs, "pair")} to judge.`),
            row(
                button("Reveal", "compare with the plan (r)", () => this.reveal()),
                button("New group", "the next letter (n)", () => this.fresh()),
                button("Give up", "back to the rules (p)", () => this.stop()),
            ),
        ];
    }

    /** @param {import("./predict.js").Score} result */
    told({ right, all, wrong }) {
        const said = new Map(wrong.map((one) => [one.edge, `You said ${apart(one.said)}; they are ${apart(one.is)}.`]));
        const { page } = this.lens.context;
        return [
            named(`${right} of ${count(all, "pair")} right`),
            h("p", {}, wrong.length ? "Misjudged:" : "Every pair is right."),
            listOf(page, [...said.keys()], (id) => this.lens.choose(`${id}`), (edge) => said.get(edge) ?? ""),
            row(
                button("Again", "predict once more (p)", () => this.start()),
                button("Done", "back to the rules (a)", () => this.stop()),
            ),
        ];
    }

    /** Put the letters onto their boxes, with which they travel. */
    place() {
        for (const [id, { root }] of this.lens.flight.cards) {
            const letter = this.marks.get(Number(id));
            root.querySelector(".jt-badge")?.remove();
            if (letter === undefined) continue;
            root.append(s("g", "jt-badge", s("circle", { r: 12 }), s("text", { y: 5 }, letter)));
        }
    }
}

/** @param {...HTMLElement} buttons */
function row(...buttons) {
    return h("div", "jt-row-of", buttons);
}

/** @param {boolean} together */
function apart(together) {
    return together ? "together" : "apart";
}
