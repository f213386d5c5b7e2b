// Panel: one step of a tape at large. What it computed, from what, by which rule; what was kept, what is added.

/** @import { Page } from "../../types.js" */
/** @import { Step, Tape } from "./model.js" */

import { facts, named, soft } from "../../controls.js";
import { h } from "../../dom.js";
import { heat } from "../../heat.js";
import { nameOf } from "../../names.js";
import { bytesText, numberText, shapeText } from "../../numbers.js";
import { between, meaning, statistics, valueName, wordsOf } from "./model.js";

const [LARGE, SMALL] = [112, 32]; // pixels of a thumbnail
const MOST = 8; // rows of one list
const LETTERS = "x, y: what the operator reads; out: its value; dout: the gradient of that; c: the condition.";

/**
 * The children of the panel at a moment.
 * @param {Tape} tape
 * @param {Page} page
 * @param {number} now
 */
export function panelOf(tape, page, now) {
    const step = tape.steps[now];
    const node = page.nodes.get(step.node);
    return [
        h("p", "jt-tape-when", `${step.phase} · ${now + 1} of ${tape.steps.length}`),
        h("p", "jt-tape-title", title(tape, page, step)),
        h("p", { class: "jt-tape-where", title: node?.where }, node?.where ?? ""),
        large(page, step.node),
        rule(tape, page, step),
        sums(page, step),
        list(page, "Reads", step.inputs.filter((id) => !step.saved?.includes(id)).map((id) => ({ id, note: "" }))),
        saved(tape, page, step),
        keeps(tape, step, now),
    ];
}

/**
 * @param {Tape} tape
 * @param {Page} page
 * @param {Step} step
 */
function title(tape, page, step) {
    const name = valueName(tape, page, step);
    return [h("b", {}, name), name === step.op ? "" : ` = ${step.op}`, h("small", {}, ` #${step.node}`)];
}

/**
 * @param {Page} page
 * @param {number} id
 */
function large(page, id) {
    const value = page.values[id];
    const node = page.nodes.get(id);
    const told = facts([
        ["shape", shapeText(node?.shape ?? [])], ["dtype", node?.dtype],
        ...statistics(value).map(stated),
    ]);
    const picture = value ? heat(value, page, LARGE) : h("p", "jt-tape-none", "its value was not recorded");
    return h("div", { class: "jt-tape-large", "data-value": id }, picture, told);
}

/**
 * @param {ReturnType<typeof statistics>[number]} statistic
 * @returns {[string, HTMLElement]}
 */
function stated([name, number]) {
    return [name, h("span", { "data-stat": name }, numberText(number))];
}

/**
 * The one rule that a gradient step follows, or all that built it, or those of a forward step; parts of one
 * operator one after the other.
 * @param {Tape} tape
 * @param {Page} page
 * @param {Step} step
 */
function rule(tape, page, step) {
    const twins = step.twin === null ? [step.node] : [...step.through.map((id) => page.nodes.get(id)?.twin), step.twin];
    const parts = [...new Set(twins)].flatMap(
        (of) => (of && tape.rules?.[of] ? [{ op: page.nodes.get(of)?.op, lines: tape.rules[of] }] : []),
    );
    if (!parts.length && !step.rule?.length) return null;
    const read = step.twin === null ? "it" : meaning(page, step.twin);
    const heading = `Gradient with respect to what ${read} reads`;
    const text = step.rule?.length ? step.rule : parts.map(
        ({ op, lines }) => (parts.length > 1 ? `${op}:  ` : "") + lines.join(parts.length > 1 ? ",  " : "\n"),
    );
    return h("section", {}, named(heading), h("pre", {}, text.join("\n")), soft(LETTERS));
}

/**
 * @param {Page} page
 * @param {Step} step
 */
function sums(page, step) {
    if (!step.adds) return null;
    const { to, parts, done, of } = step.adds;
    const before = done - parts.length;
    const rows = parts.map((part, k) => {
        const through = part.reader === null ? "" : `through ${meaning(page, part.reader)}`;
        return item(page, part.node, `${before + k ? "+= " : "= "}`, through);
    });
    const told = done === of ? "all that reach it" : `${done} of ${of} so far`;
    const last = before ? `; the last ${parts.length}:` : "";
    return h(
        "section",
        "jt-tape-adds",
        named(`grad of ${nameOf(page, to)}: ${told}${last}`),
        h("ol", {}, rows),
    );
}

/**
 * @param {Page} page
 * @param {string} heading
 * @param {{id: number, note: string}[]} rows
 */
function list(page, heading, rows) {
    if (!rows.length) return null;
    const more = rows.length > MOST ? h("li", {}, `and ${rows.length - MOST} more`) : null;
    return h(
        "section",
        {},
        named(heading),
        h("ul", {}, rows.slice(0, MOST).map(({ id, note }) => item(page, id, "", note)), more),
    );
}

/**
 * @param {Page} page
 * @param {number} id
 * @param {string} sign
 * @param {string} note
 */
function item(page, id, sign, note) {
    const value = page.values[id];
    const mean = value ? `mean ${numberText(value.mean)}` : "";
    return h("li", { "data-part": id },
        value ? heat(value, page, SMALL) : h("span", "jt-tape-none"),
        h(
            "span",
            {},
            h("b", {}, `${sign}${nameOf(page, id)}`),
            h("small", {}, ` #${id} `),
            note,
            h("br"),
            h("small", {}, mean),
        ),
    );
}

/**
 * @param {Tape} tape
 * @param {Page} page
 * @param {Step} step
 */
function saved(tape, page, step) {
    const rows = tape.kept.filter((one) => step.saved?.includes(one.node));
    const noted = rows.map(({ node, step: since, bytes }) => {
        return { id: node, note: `since step ${since + 1}, ${bytesText(bytes)}` };
    });
    return list(page, "Saved activations it reads", noted);
}

/**
 * @param {Tape} tape
 * @param {Step} step
 * @param {number} now
 */
function keeps(tape, step, now) {
    const kept = tape.kept.find((one) => one.node === step.node);
    if (!kept || step.phase !== "forward") return null;
    const readers = tape.steps.flatMap((other, k) => (other.saved?.includes(step.node) ? [k + 1] : []));
    const words = `Saved for backward: ${bytesText(kept.bytes)}, from step ${now + 1} until step ${kept.until + 1}; `;
    return h("p", "jt-tape-keeps", `${words}read again by step ${readers.slice(0, MOST).join(", ")}.`);
}

/**
 * Two moments side by side.
 * @param {Tape} tape
 * @param {Page} page
 * @param {number} frozen
 * @param {number} now
 */
export function comparison(tape, page, frozen, now) {
    const { steps, came, went } = between(tape, frozen, now);
    const far = `${steps} steps lie between: ${came} values came and are still there, ${went} went.`;
    const [a, b] = [tape.steps[frozen], tape.steps[now]];
    const rows = ["min", "mean", "max"].map((name) => [name, ...[a, b].map((step) => stat(page, step.node, name))]);
    rows.push(["alive", bytesText(a.alive), bytesText(b.alive)]);
    const cell = (/** @type {number} */ k) => h(
        "td", {}, valueName(tape, page, tape.steps[k]), picture(page, tape.steps[k].node),
    );
    return h("section", "jt-tape-frozen",
        named(`Frozen at step ${frozen + 1}`),
        h("table", { "aria-label": `${wordsOf(tape, page, frozen)} beside now` },
            h("tbody", {}, h("tr", {}, h("td", {}), cell(frozen), cell(now)),
                rows.map(([name, ...both]) => {
                    return h("tr", {}, h("th", { scope: "row" }, name), both.map((one) => h("td", {}, one)));
                }))),
        h("p", {}, steps ? far : "Both are this moment: step on."),
    );
}

/**
 * @param {Page} page
 * @param {number} id
 */
function picture(page, id) {
    return page.values[id] ? heat(page.values[id], page, SMALL) : null;
}

/**
 * @param {Page} page
 * @param {number} id
 * @param {string} name
 */
function stat(page, id, name) {
    const found = statistics(page.values[id]).find(([one]) => one === name);
    return found ? numberText(found[1]) : "–";
}
