// Editor: a kernel's text, to be changed by hand. Line numbers beside it; the line of an error is marked.
//
// It does not know what happens to the text.

import { h } from "../../dom.js";

/** @typedef {{element: HTMLElement, text: () => string, focus: () => void,
 *     key: (event: KeyboardEvent) => boolean, complain: (line: number | null) => void}} Editor */

/**
 * @param {string} text
 * @param {(text: string) => void} changed
 * @returns {Editor}
 */
export function editor(text, changed) {
    const area = h("textarea", {
        class: "jt-field jt-kernel-text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off",
        "aria-label": "Source of the kernel", oninput: () => grew(),
    });
    area.value = text.replace(/\n$/, "");
    const numbers = h("div", { class: "jt-kernel-gutter", "aria-hidden": "true" });
    let wrong = 0;
    function grew() {
        const count = area.value.split("\n").length;
        area.rows = Math.max(count, 3) + 1;
        const digits = Array.from({ length: count }, (_, k) => number(k + 1, wrong));
        numbers.replaceChildren(...digits);
        changed(area.value);
    }
    grew();
    return {
        element: h("div", "jt-kernel-editor", numbers, area),
        text: () => `${area.value}\n`,
        focus: () => area.focus({ preventScroll: true }),
        key: (event) => event.target === area && plainEnter(event) && newLine(area, grew),
        complain(line) {
            wrong = line ?? 0;
            grew();
            area.setAttribute("aria-invalid", `${line !== null}`);
            if (line !== null) select(area, line);
        },
    };
}

/**
 * @param {number} line
 * @param {number} wrong
 */
function number(line, wrong) {
    return h("div", { class: line === wrong ? "jt-kernel-wrong" : null }, line === wrong ? `\u25b6 ${line}` : line);
}

/** @param {KeyboardEvent} event */
function plainEnter(event) {
    return event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing;
}

/**
 * A new line begins where the one before began; after a colon one step deeper.
 * @param {HTMLTextAreaElement} area
 * @param {() => void} grew
 */
function newLine(area, grew) {
    const line = area.value.slice(0, area.selectionStart).split("\n").at(-1) ?? "";
    const indent = /^ */.exec(line)?.[0] ?? "";
    area.setRangeText(`\n${indent}${/:\s*$/.test(line) ? "    " : ""}`, area.selectionStart, area.selectionEnd, "end");
    grew();
    return true;
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {number} line
 */
function select(area, line) {
    const lines = area.value.split("\n");
    const begin = lines.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
    area.focus({ preventScroll: true });
    area.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
}
