// Ranks: what did each rank do, who waited for whom, and how did the messages travel?
//
//     lanes       a lane a rank; a collective is one bar, or shows its messages inside; ticks say who was late
//     play        time runs on: pieces travel along the arrows that were recorded, and links count their bytes
//     sliders     latency, overhead and the time of a byte; all times are worked out again, here
//     deadlock    who waits for whom, and the circle
//
// Python recorded; the rules of time are in ranks/replay.js, the picture in ranks/stage.js. This file holds them
// together: what is chosen, which window, which clock.

/** @import { Context, Drawn, Selection, ViewKind } from "../types.js" */
/** @import { Net } from "./ranks/model.js" */
/** @import { Level, Moment } from "./ranks/scene.js" */
/** @import { Chosen } from "./ranks/stage.js" */

import { alone, named } from "../controls.js";
import { clear, drag, h, wheel } from "../dom.js";
import { clamp } from "../numbers.js";
import { Bar } from "./ranks/bar.js";
import { Flow } from "./ranks/flow.js";
import { runOf } from "./ranks/model.js";
import { Overview } from "./ranks/overview.js";
import { paletteOf } from "./ranks/paint.js";
import { detail, waitGraph } from "./ranks/panel.js";
import { Player, SPEEDS } from "./ranks/player.js";
import { chainsOf, momentsOf, sceneOf } from "./ranks/scene.js";
import { Stage, nanosText } from "./ranks/stage.js";
import { rowsOf } from "./ranks/rows.js";
import { WhatIf, drawCurves } from "./ranks/whatif.js";
import "../chart.css";
import "./ranks/ranks.css";

const [PASS, FEW] = [6, 150]; // seconds that the window takes at speed 1; messages that are shown at once

/** @type {ViewKind} */
export const ranks = {
    name: "ranks",
    title: "Ranks",
    about: "A lane a rank, time to the right, arrows are messages. A tick says who came late, hatching who waited.",
    keys: [
        ["← →", "the event before, after"], ["↑ ↓", "the rank above, below"], ["Space", "play, pause"],
        [", .", "slower, faster"], ["+ −", "closer, farther"], ["f", "the whole run"],
        ["Shift ← →", "earlier, later"], ["Enter", "show only what is chosen"],
        ["m", "collectives as one bar, or their messages"], ["w", "virtual time, wall time"],
        ["n", "the network as recorded"],
    ],
    draw: (context) => new RankView(context),
};

/** @implements {Drawn} */
class RankView {
    /** @param {Context} context */
    constructor(context) {
        const { page, root, state, bus } = context;
        this.context = context;
        this.run = runOf(page);
        const few = this.run.messages.source.length <= FEW;
        /** @type {Level} */
        this.level = state.get("level", few ? "messages" : "calls") === "messages" ? "messages" : "calls";
        this.virtual = this.run.virtual && state.get("clock", "virtual") !== "wall";
        this.net = this.run.net;
        /** @type {Moment[] | null} */
        this.moments = null;
        this.chains = chainsOf(this.run);
        this.stage = new Stage(this.sceneNow(), paletteOf(root), () => this.painted());
        this.overview = new Overview(this.stage);
        this.flow = new Flow(this.stage.palette);
        this.player = new Player({
            reduced: context.reduced, move: (seconds) => this.move(seconds), step: () => this.step(1),
            changed: (playing) => this.bar?.write(playing, this.level, this.virtual),
        });
        const again = this.run.virtual && this.run.order.length > 0;
        this.whatIf = again ? new WhatIf(this.run, (net) => this.another(net)) : null;
        this.build();
        this.listen();
        bus.on((selection) => this.hear(selection));
        this.choose(this.first(), false);
        this.resize();
    }

    // what is shown

    sceneNow = () => sceneOf(this.run, this.virtual ? this.net : null, this.level, this.chains);

    /** The collective that took longest: the call of the rank that came last. @returns {Chosen} */
    first() {
        const { arrivals } = this.stage.scene;
        const [longest] = [...arrivals].sort((a, b) => b.end - b.begin - (a.end - a.begin));
        return longest && !this.run.waits.length ? { what: "call", which: longest.calls.at(-1) ?? 0 } : null;
    }

    build() {
        const { root } = this.context;
        const { stage } = this;
        stage.canvas.setAttribute("role", "img");
        stage.canvas.setAttribute("aria-label", this.context.page.summary);
        this.host = h("div", "jt-ranks-stage", stage.canvas);
        this.bar = new Bar(stage, {
            play: () => this.player.toggle(), step: (way) => this.step(way), level: (level) => this.setLevel(level),
            clock: (virtual) => this.setClock(virtual), speed: (speed) => this.setSpeed(speed),
        });
        this.left = h("p", "jt-soft jt-plot-note");
        this.detail = h("div");
        const { failure } = this.run;
        const failed = h("div", {}, failure ? h("pre", "jt-ranks-failure", failure) : null, this.detail);
        this.flowNote = h("p", "jt-soft jt-plot-note");
        this.flow.canvas.setAttribute("role", "img");
        this.aside = h("div", {}, this.run.waits.length ? waitGraph(this.run, this.context.uid) : [
            named("Which way the pieces go"), this.flow.canvas, this.flowNote,
        ]);
        this.curves = h("div");
        const more = this.whatIf || this.run.curves.length;
        clear(root).append(
            this.bar.root, this.host, this.overview.root, this.bar.legend, this.left,
            h("div", "jt-plot-panels jt-ranks-panels", failed, this.aside),
            ...(more ? [h("div", "jt-plot-panels jt-ranks-panels", this.whatIf?.root ?? null, this.curves)] : []),
        );
    }

    listen() {
        const { host, stage } = this;
        if (!host) return;
        this.watch = new ResizeObserver(() => this.resize());
        this.watch.observe(host);
        let begun = 0;
        drag(host, {
            start: () => (begun = stage.from),
            move: (_, dx) => {
                const wide = stage.to - stage.from;
                const from = begun - (dx / stage.room) * wide;
                stage.look(from, from + wide);
            },
        });
        wheel(host, (event) => this.turn(event));
        host.addEventListener("click", (event) => this.click(event.offsetX, event.offsetY));
        host.addEventListener("dblclick", () => this.closeUp());
        this.dark = window.matchMedia("(prefers-color-scheme: dark)");
        this.recolour = () => this.dress();
        this.dark.addEventListener("change", this.recolour);
        this.theme = new MutationObserver(this.recolour);
        this.theme.observe(document.body, { attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
    }

    /** The colours of the page, which may have changed. */
    dress() {
        this.stage.palette = this.flow.palette = paletteOf(this.context.root);
        this.flow.drawn = null;
        this.bar?.dip();
        this.overview.refresh();
        this.stage.refresh();
    }

    resize() {
        const width = Math.max(320, this.host?.clientWidth ?? 0);
        const aside = clamp((this.aside?.clientWidth ?? 0) || 380, 300, 520);
        const same = width === this.stage.width && aside === this.flow.width;
        this.flow.width = aside;
        this.flow.drawn = null;
        this.stage.width = width;
        if (!same) this.writeCurves();
        this.stage.refresh();
    }

    /** After each frame. */
    painted() {
        const { stage } = this;
        this.overview.draw();
        if (!this.run.waits.length) this.flow.draw(stage.at);
        if (!this.player.playing) this.flow.canvas.setAttribute("aria-label", this.flow.words(stage.at));
        if (this.left && this.left.textContent !== stage.left) this.left.replaceChildren(stage.left);
        this.bar?.tick();
        this.context.root.dataset.frame = `${stage.took.toFixed(2)}`;
    }

    // another scene

    /** Work everything out again; the window keeps what it shows. */
    renew() {
        const { stage } = this;
        const { span } = stage.scene;
        const scene = this.sceneNow();
        const part = scene.span / span;
        this.moments = null;
        stage.scene = scene;
        stage.at *= part;
        stage.show(scene);
        stage.look(stage.from * part, stage.to * part);
        this.choose(stage.chosen, false);
        this.whatIf?.tell(this.virtual ? scene.times.duration : -1);
    }

    /** @param {Net} net */
    another(net) {
        this.net = net;
        cancelAnimationFrame(this.waiting ?? 0);
        this.waiting = requestAnimationFrame(() => this.setClock(true));
    }

    /** @param {Level} level */
    setLevel(level) {
        this.level = level;
        this.context.state.set("level", level);
        this.renew();
        this.context.say(level === "calls" ? "collectives as one bar" : "the messages inside of collectives");
    }

    /** @param {boolean} virtual */
    setClock(virtual) {
        if (!this.run.virtual) return;
        this.virtual = virtual;
        this.context.state.set("clock", virtual ? "virtual" : "wall");
        this.renew();
        this.context.say(virtual ? "virtual time" : "wall time");
    }

    /** @param {number} speed */
    setSpeed(speed) {
        this.player.speed = speed;
        /** @type {Bar} */ (this.bar).speed.value = `${speed}`;
    }

    writeCurves() {
        if (!this.curves || !this.run.curves.length) return;
        const { scene, chosen } = this.stage;
        drawCurves(this.curves, scene, this.callOf(chosen), this.net, this.whatIf?.moved ?? false);
    }

    // what is chosen

    /** The learner's call that a choice is a part of, or -1. @param {Chosen} chosen */
    callOf(chosen) {
        const { messages, top } = this.run;
        const call = !chosen ? -1 : chosen.what === "call" ? chosen.which : messages.call[chosen.which];
        return call < 0 ? -1 : top[call];
    }

    /**
     * @param {Chosen} chosen
     * @param {boolean} [tell] whether every other view hears of it
     */
    choose(chosen, tell = true) {
        const { stage } = this;
        stage.chosen = chosen;
        const { scene } = stage;
        clear(/** @type {HTMLElement} */ (this.detail)).append(...detail(scene, chosen));
        this.flowNote?.replaceChildren(this.flow.show(scene, this.callOf(chosen)));
        this.bar?.write(this.player.playing, this.level, this.virtual);
        this.writeCurves();
        this.whatIf?.tell(this.virtual ? scene.times.duration : -1);
        stage.refresh();
        if (tell) this.context.bus.select({ rank: stage.rank < 0 ? null : stage.rank, time: stage.at });
    }

    /** @param {number} x @param {number} y */
    click(x, y) {
        const { stage } = this;
        const { chosen, rank, time } = stage.hit(x, y);
        [stage.rank, stage.at] = [rank, time];
        this.choose(chosen);
    }

    /** @param {Selection} selection */
    hear({ rank, time, from }) {
        const { stage } = this;
        if (from === this.context.uid || rank === null || rank === undefined || rank >= this.run.size) return;
        stage.rank = rank;
        if (time !== null) this.goTo(time);
        stage.refresh();
    }

    /** Show a moment. @param {number} time */
    goTo(time) {
        const { stage } = this;
        stage.at = clamp(time, 0, stage.scene.span);
        const wide = stage.to - stage.from;
        if (stage.at < stage.from || stage.at > stage.to) stage.look(stage.at - wide * 0.1, stage.at + wide * 0.9);
        stage.paint();
    }

    /** Only what is chosen. */
    closeUp() {
        const { stage, stage: { chosen, scene: { times, arrivals } } } = this;
        if (!chosen) return;
        const { which } = chosen;
        const arrival = chosen.what === "call" ? arrivals[this.run.meetingOf[which]] : undefined;
        const [from, to] = arrival ? [arrival.begin, arrival.end]
            : chosen.what === "call" ? [times.enter[which], times.leave[which]]
                : [times.sent[which], Math.max(times.arrived[which], times.done[which])];
        stage.look(from - (to - from) * 0.06, to + (to - from) * 0.06);
        if (arrival && this.level === "calls") this.setLevel("messages");
    }

    // time

    /** @param {number} seconds @returns {boolean} whether there is more */
    move(seconds) {
        const { stage } = this;
        const end = stage.scene.times.duration;
        if (stage.at >= end) stage.at = 0;
        const wide = stage.to - stage.from;
        this.goTo(Math.min(end, stage.at + (seconds * wide) / PASS));
        return stage.at < end;
    }

    /** To the next event, or back. @param {number} way @returns {boolean} whether there is more */
    step(way) {
        const { stage } = this;
        const moments = (this.moments ??= momentsOf(this.run, stage.scene.times, this.level));
        const known = this.here !== undefined && moments[this.here]?.time === stage.at;
        const here = known ? Number(this.here) : moments.findLastIndex((one) => one.time < stage.at);
        const next = clamp(here + way, 0, moments.length - 1);
        if (moments.length) this.toMoment(moments[next], next);
        return next < moments.length - 1;
    }

    /** @param {Moment} moment @param {number} number */
    toMoment({ time, rank, what, which, words }, number) {
        this.here = number;
        this.stage.rank = rank;
        this.goTo(time);
        this.choose({ what, which });
        this.context.say(`${nanosText(time)}: rank ${rank} ${words}`);
    }

    /** The event of another rank that is nearest in time. @param {number} way */
    beside(way) {
        const { stage } = this;
        const moments = (this.moments ??= momentsOf(this.run, stage.scene.times, this.level));
        const rank = clamp(stage.rank + way, 0, this.run.size - 1);
        if (!stage.inSight(rank)) stage.scroll(way);
        let best = -1;
        moments.forEach((one, k) => {
            const nearer = best < 0 || Math.abs(one.time - stage.at) < Math.abs(moments[best].time - stage.at);
            if (one.rank === rank && nearer) best = k;
        });
        stage.rank = rank;
        if (best >= 0) this.toMoment(moments[best], best);
        else stage.refresh();
    }

    /** @param {WheelEvent} event */
    turn(event) {
        const { stage } = this;
        if (event.ctrlKey || event.metaKey) stage.zoom(Math.exp(event.deltaY / 300), stage.time(event.offsetX));
        else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            this.pan((event.deltaX || event.deltaY) / 600);
        }
        else if (this.run.size > (stage.shown)) stage.scroll(Math.sign(event.deltaY) * 3);
        else stage.zoom(Math.exp(event.deltaY / 300), stage.time(event.offsetX));
    }

    /** @param {number} part of the window */
    pan(part) {
        const { stage } = this;
        const by = part * (stage.to - stage.from);
        stage.look(stage.from + by, stage.to + by);
    }

    // keys

    /** @param {KeyboardEvent} event */
    key(event) {
        const typing = event.target instanceof Element && event.target.matches("input, select");
        if (!alone(event) || (typing && event.key !== "n")) return false;
        const way = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (way && event.key.length > 8) event.shiftKey ? this.pan(way / 5) : this.step(way);
        else if (way) this.beside(way);
        else return this.act(event.key);
        return true;
    }

    /** @param {string} key */
    act(key) {
        const { stage, player } = this;
        const pace = SPEEDS[clamp(SPEEDS.indexOf(player.speed) + (key === "." ? 1 : -1), 0, SPEEDS.length - 1)];
        /** @type {Record<string, () => void>} */
        const acts = {
            " ": () => player.toggle(), ",": () => this.setSpeed(pace), ".": () => this.setSpeed(pace),
            "+": () => stage.zoom(0.5), "=": () => stage.zoom(0.5), "-": () => stage.zoom(2), f: () => stage.fit(),
            Enter: () => this.closeUp(), m: () => this.setLevel(this.level === "calls" ? "messages" : "calls"),
            w: () => this.setClock(!this.virtual), n: () => this.whatIf?.back(),
            Home: () => this.goTo(0), End: () => this.goTo(stage.scene.times.duration),
            PageUp: () => stage.scroll(-8), PageDown: () => stage.scroll(8),
        };
        if (!Object.hasOwn(acts, key)) return false;
        acts[key]();
        return true;
    }

    table = () => rowsOf(this.stage.scene);

    close() {
        this.player.stop();
        this.stage.close();
        this.watch?.disconnect();
        this.theme?.disconnect();
        cancelAnimationFrame(this.waiting ?? 0);
        if (this.recolour) this.dark?.removeEventListener("change", this.recolour);
    }
}
