// Parts: axes, legends and the marks of spikes in the charts of a training.
//
// Nothing here knows which step is looked at.

/** @import { Plot } from "../../chart.js" */
/** @import { Mark, Row, Status } from "./model.js" */

import { axis, mark } from "../../chart.js";
import { h, s } from "../../dom.js";
import { entry, sample } from "../../legend.js";
import { bytesText, count, numberText } from "../../numbers.js";
import "../../chart.css";

const NEAR = 12; // pixels from a mark to a click that means it

/**
 * The mark of a spike, which may stand for others right beside it. What is filled can be opened.
 * @param {Plot} plane
 * @param {Row} row
 * @param {number} all
 * @param {boolean} kept
 */
export function spikeMark(plane, row, all, kept) {
    const place = typeof row.loss === "number" ? plane.y(row.loss) : plane.box.top + 6;
    const up = Number.isFinite(place) ? place : plane.box.bottom - 6; // a log scale has none for what is not above 0
    const more = all > 1 ? `, and ${count(all - 1, "spike")} beside it` : "";
    const opens = kept ? "a click opens its tape" : "its batch and parameters are not kept";
    const words = `spike in step ${row.step}: loss ${numberText(row.loss)}${more}; ${opens}`;
    const d = mark("diamond", 5, plane.x(row.step), up);
    const look = { class: `jt-plot-dot jt-plot-spike${kept ? "" : " jt-plot-gone"}`, d, "data-step": row.step };
    return s("path", look, s("title", {}, words));
}

/**
 * The spike that a click means.
 * @param {MouseEvent} event
 * @param {Plot} plane
 */
export function spikeAt({ clientX, clientY }, plane) {
    const far = (/** @type {Element} */ one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return Math.hypot(clientX - (left + right) / 2, clientY - (top + bottom) / 2);
    };
    const marks = [...plane.over.querySelectorAll("[data-step]")].sort((a, b) => far(a) - far(b));
    return marks.length && far(marks[0]) <= NEAR ? marks[0] : null;
}

/**
 * The axis of a chart's numbers.
 * @param {string} title
 * @param {string} kind
 * @param {(number | null)[]} numbers
 */
export function upwards(title, kind, numbers) {
    if (kind === "log") return axis("log", numbers, title);
    const share = (/** @type {number} */ value) => `${numberText(value * 100)} %`;
    const ends = { accuracy: [0, 1], share: [0, 0.1] }; // where no unit is dead, the axis ends at 10 %
    const least = kind === "loss" ? [0] : ends[/** @type {"share"} */ (kind)];
    return axis("linear", [...numbers, ...least], title, kind === "loss" ? numberText : share);
}

/** @param {Status} status of which steps the parameters are kept */
export function keptText({ kept, kept_bytes: bytes }) {
    return kept.length ? ` Kept: ${count(kept.length, "step")} up to ${kept.at(-1)}, ${bytesText(bytes)}.` : "";
}

/** @param {[string, Mark[], number][]} columns */
export function legend(columns) {
    const look = (/** @type {number} */ k) => sample(`jt-plot-line jt-plot-s${k}`, "M0 7h24", 24);
    return h("p", "jt-plot-legend", columns.map(([name, , k]) => entry(look(k), name)));
}
