// Panel: what is known of a call or a message, and why do ranks wait for each other for ever?
//
// Everything here is text and boxes; nothing here moves.

/** @import { Chosen, Scene } from "./stage.js" */
/** @import { Run } from "./model.js" */
/** @import { Arrival } from "./scene.js" */

import { facts, named, soft } from "../../controls.js";
import { h, s } from "../../dom.js";
import { bytesText, grouped } from "../../numbers.js";
import { nanosText } from "./stage.js";

const MOST_ROWS = 12;
const [WIDE, HIGH, BALL] = [360, 230, 17];

/**
 * What is chosen, in words.
 * @param {Scene} scene
 * @param {Chosen} chosen
 * @returns {HTMLElement[]}
 */
export function detail(scene, chosen) {
    if (!chosen) {
        return [soft("Point at a bar or an arrow and click, or step with ← and → from event to event.")];
    }
    return chosen.what === "message" ? ofMessage(scene, chosen.which) : ofCall(scene, chosen.which);
}

/** @param {Scene} scene @param {number} k */
function ofMessage({ run, times, chains }, k) {
    const { source, dest, bytes, tag, call, taker, lost, synchronous } = run.messages;
    const fate = lost[k] ? "lost on the way: nobody will ever receive it" : times.taken[k] < 0 ? "nobody took it" : "";
    const piece = chains[k] === source[k] ? `the piece of rank ${source[k]} itself`
        : `a piece that began at rank ${chains[k]}`;
    const words = `Message ${grouped(k)}: ${bytesText(bytes[k])}, rank ${source[k]} → rank ${dest[k]}`;
    return [
        h("p", "jt-name jt-ranks-name", words),
        facts([
            ["carries", `${grouped(bytes[k])} bytes, ${piece}`],
            ["tag", `${tag[k]}${synchronous[k] ? ", synchronous: the sender waits until it is taken" : ""}`],
            ["sent", nanosText(times.sent[k])], ["arrives", fate || nanosText(times.arrived[k])],
            ["taken", times.taken[k] < 0 ? null : `${nanosText(times.taken[k])}, there at ${nanosText(times.done[k])}`],
            ["sent in", called(run, call[k])], ["taken in", called(run, taker[k])],
        ]),
        line(run, call[k]),
    ];
}

/** @param {Scene} scene @param {number} k */
function ofCall({ run, times, arrivals }, k) {
    const { calls } = run;
    const how = run.text(calls.algorithm[k]);
    const failed = run.text(calls.failed[k]);
    const took = `${nanosText(times.enter[k])} to ${nanosText(times.leave[k])}, `
        + `${nanosText(times.leave[k] - times.enter[k])} in all`;
    const arrival = arrivals[run.meetingOf[k]];
    return [
        h("p", "jt-name jt-ranks-name", `rank ${calls.rank[k]}: `, h("span", "jt-mono", run.text(calls.words[k]))),
        facts([
            ["time", took],
            ["waited", nanosText(Math.max(0, Math.min(times.ready[k], times.leave[k]) - times.enter[k]))],
            ["bytes", calls.bytes[k] ? `${bytesText(calls.bytes[k])} that this rank brings` : null],
            ["by", how && how !== "native" ? `algorithm ${how}` : null], ["failed", failed || null],
        ]),
        line(run, k),
        ...(arrival && arrival.calls.length > 1 ? whoWasLate(run, times.enter, arrival) : []),
    ];
}

/**
 * When each rank came, and how long it waited for the last one.
 * @param {Run} run
 * @param {Float64Array} enter
 * @param {Arrival} arrival
 */
function whoWasLate(run, enter, { calls, here, begin, last, first }) {
    const shown = calls.length > MOST_ROWS ? [...calls.slice(0, MOST_ROWS / 2), ...calls.slice(-MOST_ROWS / 2)] : calls;
    const left = calls.length - shown.length;
    const rows = shown.map((call) => {
        const [rank, waited] = [run.calls.rank[call], here - enter[call]];
        const part = (100 * waited) / (here - begin);
        const mark = rank === last ? "▾ last" : rank === first ? "○ first" : "";
        return h(
            "li", { class: rank === last ? "jt-ranks-last" : "", "data-rank": rank, "data-wait": waited },
            h("span", {}, `rank ${rank}`), h("i", {}, h("b", { style: `width:${part.toFixed(1)}%` })),
            h("span", {}, waited ? `waits ${nanosText(waited)}` : "waits for nobody"), h("em", {}, mark),
        );
    });
    if (here === begin) return [named("Nobody was late: all ranks came at the same time.")];
    const words = `Who was late? The others waited up to ${nanosText(here - begin)}.`;
    return [
        named(words), h("ul", "jt-ranks-late", rows),
        ...(left > 0 ? [soft(`and ${left} ranks in between`)] : []),
    ];
}

/** @param {Run} run @param {number} call */
function called(run, call) {
    return call < 0 ? null : run.text(run.calls.words[call]);
}

/** The learner's line. @param {Run} run @param {number} call */
function line(run, call) {
    const words = call < 0 ? "" : run.text(run.calls.line[run.top[call]]);
    return h("p", "jt-mono jt-ranks-line", words);
}

/**
 * Who waits for whom, with the circle of those that wait for each other.
 * @param {Run} run
 * @param {string} uid
 * @returns {HTMLElement}
 */
export function waitGraph({ waits, circle }, uid) {
    const ranks = [...new Set([...circle, ...waits.flatMap((one) => [one.rank, ...one.peers.slice(0, 8)])])];
    const shown = ranks.slice(0, 16).sort((a, b) => a - b);
    const place = (/** @type {number} */ rank) => {
        const part = shown.indexOf(rank) / shown.length - (shown.length === 2 ? 0.5 : 0.25);
        const turn = part * 2 * Math.PI;
        const at = [WIDE / 2 + 120 * Math.cos(turn), HIGH / 2 + (HIGH / 2 - 30) * Math.sin(turn)];
        return /** @type {[number, number]} */ (at);
    };
    const inCircle = (/** @type {number} */ a, /** @type {number} */ b) =>
        circle.some((rank, k) => rank === a && circle[k + 1] === b);
    const arrows = waits.flatMap(({ rank, peers }) => peers.filter((peer) => shown.includes(peer)
        && shown.includes(rank)).map((peer) => waitArrow(place(rank), place(peer), inCircle(rank, peer), uid)));
    const balls = shown.map((rank) => {
        const [x, y] = place(rank);
        const gone = waits.every((one) => one.rank !== rank);
        const kind = circle.includes(rank) ? "jt-ranks-circle" : gone ? "jt-ranks-gone" : "";
        return s("g", kind, s("circle", { cx: x, cy: y, r: BALL }), s("text", { x, y: y + 4 }, rank));
    });
    const label = circle.length
        ? circle.slice(0, -1).map((a, k) => `rank ${a} waits for rank ${circle[k + 1]}`).join(", ")
        : `${waits.length} ranks wait`;
    const head = s("marker", {
        id: `${uid}-head`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto",
        markerUnits: "userSpaceOnUse",
    }, s("path", { d: "M0 0.5L8 4L0 7.5z" }));
    const picture = s(
        "svg", {
            class: "jt-ranks-waits", viewBox: `0 0 ${WIDE} ${HIGH}`, width: WIDE, height: HIGH, role: "img",
            "aria-label": label,
        },
        s("defs", {}, head), arrows, balls,
    );
    const rest = waits.length - shown.filter((rank) => waits.some((one) => one.rank === rank)).length;
    const more = rest > 0 ? ` Showing ${shown.length} of the ranks.` : "";
    return h("div", {}, named(`${circle.length ? "A circle: " : ""}${label}.${more}`), picture);
}

/** @param {[number, number]} from @param {[number, number]} to @param {boolean} circle @param {string} uid */
function waitArrow([x, y], [toX, toY], circle, uid) {
    const long = Math.hypot(toX - x, toY - y) || 1;
    const [ux, uy] = [(toX - x) / long, (toY - y) / long];
    const [a, b] = [[x + ux * (BALL + 2), y + uy * (BALL + 2)], [toX - ux * (BALL + 4), toY - uy * (BALL + 4)]];
    const bend = [(x + toX) / 2 - uy * 26, (y + toY) / 2 + ux * 26];
    const [from, by, to] = [a, bend, b].map((place) => place.map((one) => one.toFixed(1)).join(" "));
    const look = `jt-ranks-wait${circle ? " jt-ranks-circle" : ""}`;
    return s("path", { class: look, d: `M${from}Q${by} ${to}`, "marker-end": `url(#${uid}-head)` });
}
