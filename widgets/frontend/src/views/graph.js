// GraphView: what did the lines build, and what does each of them hold?
//
//     modules | kernels | operators      what shares a box; boxes open and close where they stand
//     search                             lights up what it finds, or hides the rest
//     hover, focus                       a box in detail, with its value; a click selects it in all views
//
// Which boxes there are and where they stand is decided in src/graph; this file opens, searches, walks and selects.

/** @import { Context, Selection, ViewKind } from "../types.js" */
/** @import { Card, View } from "../graph/view.js" */

import { alone, isButton, walkButtons } from "../controls.js";
import { clear, h, reachable } from "../dom.js";
import { nodesOf } from "../names.js";
import { count } from "../numbers.js";
import { compose } from "../graph/scene.js";
import { pathTo, view } from "../graph/view.js";
import { WAYS, barOf } from "./graph/bar.js";
import { PANEL_KEYS } from "./graph/camera.js";
import { labelOf } from "./graph/card.js";
import { legend, ofBox, ofEdges, ofNode } from "./graph/details.js";
import { Portals } from "./graph/portals.js";
import { table } from "./graph/rows.js";
import { Search } from "./graph/search.js";
import { Sheet } from "./graph/sheet.js";
import { next, waysOf } from "./graph/walk.js";

const MOST = 1500; // boxes, lines and chips that are drawn at once

/** @type {ViewKind} */
export const graph = {
    name: "graph",
    title: "Graph",
    about: "Values flow down from box to box. A box may hold many operators: open it; hover one for its value.",
    keys: [
        ["← ↑ ↓ →", "inputs above, users below, boxes beside"],
        ["Enter", "open the box, as a double click does"],
        ["Backspace", "close what it stands in"],
        ["/", "search; Enter goes to the next match"],
        ["h", "hide what a search did not find"],
        ["g", "modules, kernels, operators"],
        ["x", "fold repeats"], ["s", "shapes on lines"],
        ["o", "open all that is closed, one level deeper"],
        ["c", "close all"], ["k", "select the kernel"],
        ["v", "compute values"],
        ...PANEL_KEYS,
    ],
    draw: (context) => {
        const drawn = new GraphView(context);
        return { key: (event) => drawn.key(event), table: () => table(context), close: () => drawn.sheet.close() };
    },
};

/** The view, and what its parts need of it. */
export class GraphView {
    /** @type {View} */
    seen;
    /** @type {Set<string> | null} */
    opened = null;
    /** @type {string | null} */
    chosen = null;

    /** @param {Context} context */
    constructor(context) {
        const { page, state } = context;
        this.context = context;
        const usual = page.graph.nodes.some((node) => node.module) ? "module" : "kernel";
        const asked = state.get("group", usual);
        this.group = WAYS.includes(asked) ? asked : usual;
        this.fold = state.get("fold", true);
        this.shapes = state.get("shapes", false);
        const opened = state.get("opened", /** @type {string[] | null} */ (null));
        this.opened = Array.isArray(opened) ? new Set(opened.map(String)) : null;
        this.seen = this.look();
        if (this.weight(this.seen) > MOST) this.seen = this.first();
        this.sheet = new Sheet(context.uid, this, context.reduced);
        this.portals = new Portals(this);
        this.search = new Search(this);
        this.panel = h("div", "jt-panel");
        this.note = h("p", "jt-soft");
        this.build();
        this.show();
        context.bus.on((selection) => this.hear(selection));
    }

    build() {
        this.bar = barOf(this);
        const both = h("div", "jt-beside", this.sheet.window, this.panel);
        clear(this.context.root).append(this.bar.element, this.note, both);
    }

    /**
     * What would be drawn with these boxes open.
     * @param {Set<string> | null} [open]
     * @param {number} [most] boxes
     * @returns {View}
     */
    look(open = this.opened, most = MOST) {
        const { group, fold, shapes } = this;
        return view(this.context.page.graph, { group, open, fold, shapes, most });
    }

    /** What is drawn to begin with: as much as one can look at, and what comes first of a graph without boxes. */
    first() {
        this.opened = null;
        const seen = this.look();
        return this.weight(seen) > MOST ? this.look(null, MOST / 3) : seen;
    }

    /** @param {View} seen how many elements it takes */
    weight(seen) {
        const chips = [...seen.cards.values()].reduce((total, card) => total + card.left.length + card.right.length, 0);
        return seen.cards.size + seen.lines.length + chips;
    }

    /**
     * Show what is open now; the anchor stays where it is.
     * @param {string} [anchor]
     */
    show(anchor) {
        const { edges } = this.context.page.graph;
        const boxes = new Map([...this.seen.shows].map(([id, box]) => [Number(id), `${box}`]));
        this.edges = waysOf(edges.map((edge) => /** @type {const} */ ([edge.source, edge.target])), boxes);
        this.sheet.show(compose(this.seen), anchor);
        this.bar?.tell();
        this.tell(this.seen.notes.join(" "));
        this.search.again();
        this.hear(this.context.bus.current());
        this.detail(null);
    }

    /** @param {string} words above the sheet */
    tell = (words) => {
        this.note.textContent = words;
    };

    // opening and closing

    /** @param {string} way what shares a box */
    regroup(way) {
        this.group = way;
        this.seen = this.first();
        this.keep();
        this.show();
        this.context.say(`${count(this.seen.cards.size, "box", "boxes")}.`);
    }

    /** @param {"fold" | "shapes"} what is turned on or off */
    turn(what) {
        this[what] = !this[what];
        const old = this.seen;
        this.seen = this.look();
        if (this.refused(this.seen, old)) this[what] = !this[what];
        else {
            this.keep();
            this.show(this.chosen ?? undefined);
        }
    }

    keep() {
        const { state } = this.context;
        state.set("group", this.group);
        state.set("fold", this.fold);
        state.set("shapes", this.shapes);
        state.set("opened", this.opened && [...this.opened]);
    }

    /**
     * Whether a drawing would be too large; then it says so, and everything stays as it is.
     * @param {View} seen
     * @param {View} old
     */
    refused(seen, old) {
        const weight = this.weight(seen);
        if (weight <= MOST) return false;
        this.seen = old;
        const { nodes } = this.context.page.graph;
        const shown = `Showing ${count(old.cards.size, "box", "boxes")} for ${count(nodes.length, "node")}.`;
        const words = `That would draw ${count(weight, "element")}; ${count(MOST, "element")} is the most. ${shown}`;
        this.tell(words);
        this.context.say(words);
        return true;
    }

    /**
     * Open or close boxes.
     * @param {Set<string>} opened
     * @param {string} [anchor]
     * @returns {boolean} whether that was possible
     */
    change(opened, anchor) {
        const old = this.seen;
        const seen = this.look(opened);
        if (this.refused(seen, old)) return false;
        [this.opened, this.seen] = [opened, seen];
        this.keep();
        this.show(anchor);
        return true;
    }

    /** @param {string} id open a closed box in its place */
    open(id) {
        const card = this.card(id);
        if (!card?.box || !this.change(new Set([...this.seen.opened, id]), id)) return;
        this.context.say(`Opened ${card.label}: ${count(this.seen.cards.size, "box", "boxes")} now.`);
        const first = [...this.seen.cards.values()].find((one) => one.path.includes(id));
        if (first) this.choose(`${first.id}`);
    }

    /** @param {string} key close a frame, and stand on its box */
    close(key) {
        const opened = new Set(this.seen.opened);
        opened.delete(key);
        if (this.change(opened, key)) this.choose(key, true);
    }

    /** Open what is closed, one level deeper; of very many boxes those that come first. */
    openMore() {
        const { cards, opened } = this.seen;
        const boxes = [...cards.values()].filter((card) => card.box);
        const model = boxes.filter((card) => card.kind !== "input");
        let closed = (model.length ? model : boxes).map((card) => `${card.id}`);
        const all = () => new Set([...opened, ...closed]);
        while (closed.length > 1 && this.weight(this.look(all())) > MOST) closed = closed.slice(0, closed.length / 2);
        this.context.say(closed.length ? `Opening ${count(closed.length, "box", "boxes")}.` : "Everything is open.");
        if (closed.length) this.change(all());
    }

    closeAll = () => this.change(new Set());

    // choosing

    /** @param {string} id @returns {Card | undefined} */
    card(id) {
        return this.sheet.cards.get(id)?.placed.card;
    }

    /**
     * A card gets the focus, and is selected in all views.
     * @param {string} id
     * @param {boolean} [still] without moving the sheet
     */
    choose(id, still = false) {
        const card = this.card(id);
        if (!card) return;
        this.chosen = id;
        this.sheet.focus(id, still);
        const nodes = card.nodes.map(Number);
        const kernels = new Set(nodes.map((node) => this.context.page.nodes.get(node)?.kernel ?? null));
        const [kernel] = kernels;
        this.select(nodes, kernels.size === 1 && kernel !== null ? kernel : null);
        this.detail(null);
    }

    /** @param {number[]} nodes @param {number | null} kernel its number */
    select(nodes, kernel) {
        const key = kernel === null ? null : (this.context.page.kernels[kernel]?.key ?? null);
        this.context.bus.select({ nodes, kernel: key });
    }

    /** @param {number | string} id show a node, or a box by its key, opening what it stands in */
    reach(id) {
        const group = this.seen.groups.get(`${id}`);
        const node = group?.nodes[0] ?? id;
        if (!this.seen.shows.has(node)) return;
        const around = pathTo(this.seen, node);
        const wanted = group ? around.slice(0, around.indexOf(group.key)) : around;
        const closed = wanted.find((key) => this.card(key));
        if (closed && !this.change(new Set([...this.seen.opened, ...wanted]), closed)) return;
        const shown = `${this.card(`${id}`) ? id : this.seen.shows.get(node)}`;
        this.choose(shown);
        this.sheet.approach(shown, this.panel);
    }

    /** @param {Selection} selection */
    hear(selection) {
        const on = new Set(nodesOf(this.context.page, selection).map((id) => `${this.seen.shows.get(id)}`));
        this.sheet.mark({ "jt-on": (id) => on.has(id) });
    }

    // what the sheet tells

    /** @param {string} id */
    pick(id) {
        this.choose(id);
    }

    /** @param {string} id @param {string} chip */
    chip(id, chip) {
        this.portals.jump(id, chip);
    }

    /** @param {{id?: string, line?: number, chip?: string} | null} what */
    over(what) {
        this.portals.haunt(what?.id, what?.chip);
        this.detail(what);
    }

    /** @param {{id?: string, line?: number} | null} what is under the pointer; null: what is chosen */
    detail(what) {
        const id = what?.id ?? (what?.line === undefined ? this.chosen : null);
        const card = id === null ? undefined : this.card(id);
        const line = what?.line === undefined ? undefined : this.sheet.scene?.lines[what.line]?.line;
        clear(this.panel).append(...(card ? this.ofCard(card) : line ? this.ofLine(line) : legend(this.kinds())));
        reachable(this.panel);
    }

    kinds() {
        return [...this.seen.cards.values()].map((card) => card.kind);
    }

    /** @param {Card} card */
    ofCard(card) {
        const { page } = this.context;
        const node = card.box ? undefined : page.nodes.get(Number(card.id));
        return node ? ofNode(page, node, this.hears) : ofBox(page, card, this.hears);
    }

    /** @param {import("../graph/view.js").Line} line */
    ofLine({ source, target }) {
        const { page } = this.context;
        const at = (/** @type {number} */ id) => `${this.seen.shows.get(id)}`;
        const [from, to] = [`${source}`, `${target}`];
        const edges = page.graph.edges.filter((edge) => at(edge.source) === from && at(edge.target) === to);
        return ofEdges(page, edges, this.hears);
    }

    /** @returns {import("./graph/details.js").Hear} */
    get hears() {
        const { page } = this.context;
        return {
            go: (id) => this.reach(id),
            kernel: (index) => this.select(page.kernels[index]?.nodes ?? page.graph.kernels[index]?.nodes ?? [], index),
        };
    }

    // keys

    /** @param {KeyboardEvent} event */
    key(event) {
        if (!alone(event)) return false;
        if (this.search.owns(event)) return this.search.key(event.key);
        if (isButton(event, this.panel)) return walkButtons(this.panel, event.key, () => this.backToSheet());
        const { camera } = this.sheet;
        /** @type {Record<string, () => void>} */
        const keys = {
            ...camera.keys,
            "/": () => this.search.begin(),
            g: () => this.regroup(WAYS[(WAYS.indexOf(this.group) + 1) % WAYS.length]),
            x: () => this.turn("fold"),
            s: () => this.turn("shapes"),
            o: () => this.openMore(),
            c: () => this.closeAll(),
            h: () => this.search.turn(),
            k: () => this.selectKernel(),
            v: () => this.bar?.compute(),
            e: () => walkButtons(this.panel, "Home"),
        };
        if (keys[event.key]) keys[event.key]();
        else return this.walk(event.key);
        return true;
    }

    /** @param {string} key */
    walk(key) {
        const here = this.sheet.focused ?? this.chosen;
        if (key === "Escape" || key === "Backspace") return this.back();
        if (key === "Enter" || key === " ") {
            if (here) this.open(here);
            return here !== null;
        }
        if (!/^(Arrow|Home$|End$)/.test(key) || !this.edges) return false;
        const spots = [...this.sheet.cards].map(([id, { placed: { x, y, width } }]) => ({ id, x, y, width }));
        const to = next(key, here, spots, this.edges);
        if (to) this.choose(to);
        const card = to && this.card(to);
        if (card) this.context.say(labelOf(card));
        return true;
    }

    /** Select the kernel of what is chosen, where it has one. */
    selectKernel() {
        const nodes = this.card(this.chosen ?? "")?.nodes ?? [];
        const kernel = nodes.map((id) => this.context.page.nodes.get(Number(id))?.kernel).find((one) => one != null);
        if (kernel != null) this.hears.kernel(kernel);
    }

    backToSheet() {
        if (this.chosen) this.sheet.focus(this.chosen);
        else this.context.root.focus({ preventScroll: true });
    }

    /** Out of a search, or out of the innermost frame. */
    back() {
        if (this.search.end()) return true;
        const inner = this.chosen ? this.card(this.chosen)?.path.at(-1) : undefined;
        if (inner !== undefined) this.close(inner);
        return inner !== undefined;
    }
}
