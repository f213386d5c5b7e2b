// Check: compare one gradient with finite differences. Python computes; here is the question and its answer.

/** @import { Context } from "../../types.js" */
/** @import { Tape } from "./model.js" */

import { h } from "../../dom.js";

/**
 * A choice of leaves, a button, and the answer; `run` asks.
 * @param {Tape} tape
 * @param {Context} context
 */
export function checkOf(tape, { ask, say, uid }) {
    const names = tape.leaves.map((leaf) => leaf.name || `#${leaf.node}`);
    const options = tape.leaves.map((leaf, k) => h("option", { value: leaf.node }, `d${names[k]}`));
    const choice = h(
        "select",
        { class: "jt-field", tabindex: -1, id: `${uid}-leaf`, "aria-label": "which gradient is checked" },
        options,
    );
    const answer = h("p", { class: "jt-tape-answer", role: "status" });
    const title = "compare with finite differences in float64 (g)";
    const button = h(
        "button", { class: "jt-button", type: "button", tabindex: -1, title, onclick: () => void run() }, "Check",
    );
    const how = h("small", {}, "by finite differences, in float64");

    async function run() {
        button.disabled = true;
        tell("asking Python …", "");
        try {
            const reply = await ask({ do: "check", leaf: Number(choice.value) }, 60);
            tell(`${reply.words}`, reply.agrees ? "jt-tape-good" : "jt-tape-bad");
        } catch (error) {
            tell(error instanceof Error ? error.message : `${error}`, "jt-tape-bad");
        }
        button.disabled = false;
    }

    /**
     * @param {string} words
     * @param {string} how
     */
    function tell(words, how) {
        answer.className = `jt-tape-answer ${how}`;
        answer.textContent = `${{ "jt-tape-good": "✓ ", "jt-tape-bad": "✗ " }[how] ?? ""}${words}`;
        say(words);
    }

    /** @param {number} node the leaf whose gradient is looked at now */
    function choose(node) {
        if (tape.leaves.some((leaf) => leaf.node === node)) choice.value = `${node}`;
    }
    return {
        root: h(
            "section",
            { class: "jt-tape-check" },
            h("p", { class: "jt-tape-part" }, "Is this gradient right?"),
            choice,
            button,
            how,
            answer,
        ),
        run,
        choose,
    };
}
