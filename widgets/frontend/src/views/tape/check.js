// Check: compare one gradient with finite differences. Python computes; here is the question and its answer.

/** @import { Context } from "../../types.js" */
/** @import { Tape } from "./model.js" */

import { NO_KERNEL } from "../../ask.js";
import { button, named, textOf } from "../../controls.js";
import { h, reveal } from "../../dom.js";
import { gradientOf } from "../../names.js";

/** A choice of leaves, a button, and the answer. */
export class Check {
    /**
     * @param {Tape} tape
     * @param {Context} context
     */
    constructor(tape, context) {
        this.tape = tape;
        this.context = context;
        const options = tape.leaves.map(({ node, name }) => {
            return h("option", { value: node }, gradientOf(name || `#${node}`));
        });
        const look = { class: "jt-field", id: `${context.uid}-leaf` };
        this.choice = h("select", { ...look, "aria-label": "which gradient is checked" }, options);
        this.answer = h("p", { class: "jt-tape-answer", role: "status" });
        const title = "compare with finite differences in float64 (g)";
        this.button = button("Check", title, () => void this.run(), { disabled: !context.live });
        const needs = context.live ? "" : "; this asks Python: it needs a running notebook";
        const how = h("small", {}, `by finite differences, in float64${needs}`);
        const heading = named("Is this gradient right?");
        this.root = h("section", "jt-tape-check", heading, this.choice, this.button, how, this.answer);
    }

    /** Ask Python about the leaf that is chosen. */
    async run() {
        if (!this.context.live) return this.tell(NO_KERNEL, "jt-tape-bad");
        this.button.disabled = true;
        this.tell("asking Python …", "");
        try {
            const reply = await this.context.ask({ do: "check", leaf: Number(this.choice.value) }, 60);
            this.tell(`${reply.words}`, reply.agrees ? "jt-tape-good" : "jt-tape-bad");
        } catch (error) {
            this.tell(textOf(error), "jt-tape-bad");
        }
        this.button.disabled = false;
    }

    /**
     * @param {string} words
     * @param {string} how
     */
    tell(words, how) {
        this.answer.className = `jt-tape-answer ${how}`;
        this.answer.textContent = `${{ "jt-tape-good": "✓ ", "jt-tape-bad": "✗ " }[how] ?? ""}${words}`;
        if (this.root.parentElement) reveal(this.root, this.root.parentElement);
        this.context.say(words);
    }

    /** @param {number} node the leaf whose gradient is looked at now */
    choose(node) {
        if (this.tape.leaves.some((leaf) => leaf.node === node)) this.choice.value = `${node}`;
    }
}
