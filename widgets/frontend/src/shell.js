// Shell: what do all views have in common?
//
//     decode       the document, once; what is wrong with it is said in the view, and nothing else breaks
//     draw         with a context; again after a new document, or a state that came from elsewhere
//     keys         the view's own first, then t table, ? help, Esc back; none goes on to the notebook
//     close        listeners, timers, the bus
//
// It does not know what any view draws.

/** @import { Context, Drawn, Model, Page, Selection } from "./types.js" */

import { makeAsk } from "./ask.js";
import { makeBus, newUid } from "./bus.js";
import { alone, isPressed, isWritten, soft, textOf } from "./controls.js";
import { decode } from "./document.js";
import { clear, deafToRest } from "./dom.js";
import { Frame } from "./frame.js";
import { makeState, part } from "./state.js";
import { dress } from "./style.js";

/** @typedef {import("./types.js").ViewKind} ViewKind */
/**
 * @typedef {{kinds: Record<string, () => ViewKind>, live: boolean, level: number}} Surroundings `level` is that of the
 * heading
 */

const WHAT_IS_SHOWN = ["change:document", "change:blocks"];
const PATIENCE = 10_000; // milliseconds: until a document that was lost on the way comes again

/**
 * Draw a model into an element, and again whenever its document changes.
 * @param {Model} model
 * @param {HTMLElement} element
 * @param {Surroundings} around
 * @returns {() => void} the end of it
 */
export function mount(model, element, around) {
    const shell = new Shell(model, around);
    dress(element);
    clear(element).append(shell.frame.root);
    void shell.load();
    return () => shell.close();
}

class Shell {
    /** @type {Drawn | null} */
    drawn = null;
    /** @type {Page | null} */
    page = null;
    loads = 0;
    /** Ends the wait for a document that was asked for again; 0 before. @type {number} */
    waiting = 0;
    /** What had the focus last. @type {HTMLElement | SVGElement | null} */
    focused = null;
    /** Ends of the subscriptions of what is drawn now. @type {(() => void)[]} */
    offs = [];

    /**
     * @param {Model} model
     * @param {Surroundings} around
     */
    constructor(model, around) {
        this.model = model;
        this.around = around;
        this.uid = newUid();
        const name = `${model.get("view")}`;
        this.kind = Object.hasOwn(around.kinds, name) ? around.kinds[name]() : undefined;
        this.frame = new Frame(this.kind, around.level, () => this.drawn);
        this.state = makeState(model, () => this.elsewhere());
        this.asking = makeAsk(model, around.live);
        this.again = () => void this.load();
        for (const name of WHAT_IS_SHOWN) model.on(name, this.again);
        const { root } = this.frame;
        this.end = new AbortController();
        if (!around.live) document.addEventListener("keydown", (event) => this.unfocused(event), this.end);
        root.addEventListener("focusin", (event) => this.keepKeys(event));
        root.addEventListener("keydown", (event) => this.key(event));
        for (const name of ["click", "keydown"]) root.addEventListener(name, () => this.keepFocus());
        deafToRest(root);
    }

    /** Decode what the model holds now, and draw it. */
    async load() {
        const turn = (this.loads += 1);
        this.frame.root.setAttribute("aria-busy", "true");
        try {
            const document = bytesOf(this.model.get("document"));
            if (!document.length && this.around.live && !this.waiting) return this.askAgain();
            clearTimeout(this.waiting);
            const page = await decode(document, bytesOf(this.model.get("blocks")));
            if (turn === this.loads) this.show(page);
        } catch (error) {
            if (turn === this.loads) this.trouble(error);
        }
        if (turn === this.loads) this.frame.root.removeAttribute("aria-busy");
    }

    /** The document was lost on its way here: Python is asked for it once. */
    askAgain() {
        this.endView();
        this.waiting = setTimeout(this.again, PATIENCE);
        this.frame.body.append(soft("Waiting for the document…"));
        this.model.send({ again: true });
    }

    /** @param {Page} page */
    show(page) {
        this.page = page;
        this.frame.describe(page.summary, page.notes, page.about);
        this.draw();
    }

    /** Somebody else changed the state: what this view selected before is out of date. */
    elsewhere() {
        const bus = this.bus();
        if (bus.current().from === this.uid) bus.select({});
        this.draw();
    }

    /** What was drawn goes, and the view draws anew. */
    draw() {
        if (!this.page) return;
        const focused = this.frame.root.contains(document.activeElement);
        this.endView();
        try {
            if (!this.kind) throw unknown(this.model.get("view"));
            this.drawn = this.kind.draw(this.context(this.page));
            this.frame.fillTable(this.frame.asTable);
            if (focused) this.frame.focus();
        } catch (error) {
            this.trouble(error);
        }
    }

    /**
     * @param {Page} page
     * @returns {Context}
     */
    context(page) {
        return {
            page,
            root: this.frame.body,
            bus: this.bus(),
            state: this.state,
            live: this.around.live,
            ask: this.asking.ask,
            hear: this.asking.hear,
            say: (words) => this.frame.say(words),
            reduced: () => window.matchMedia("(prefers-reduced-motion: reduce)").matches,
            uid: this.uid,
            embed: (kind, element) => this.embed(page, kind, element),
        };
    }

    /** A bus whose subscriptions end with the drawing, also where a view forgets to. */
    bus() {
        const bus = makeBus(this.uid, this.around.live ? `${this.model.get("session") ?? ""}` : "");
        return {
            ...bus,
            on: (/** @type {(selection: Selection) => void} */ listener) => {
                const off = bus.on(listener);
                this.offs.push(off);
                return off;
            },
        };
    }

    /**
     * @param {Page} page
     * @param {ViewKind} kind
     * @param {HTMLElement} element
     * @returns {Drawn}
     */
    embed(page, kind, element) {
        const inner = { ...this.context(page), root: element, uid: newUid(), state: part(this.state, kind.name) };
        return Object.assign(kind.draw(inner), { keys: () => kind.keys });
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.defaultPrevented || event.key === "Tab") return;
        if (isPressed(event)) return event.stopPropagation();
        if (this.viewKey(event) || this.commonKey(event)) event.preventDefault();
        event.stopPropagation();
    }

    /**
     * A page of one view means the view by every key, also before anything on it was clicked.
     * @param {KeyboardEvent} event
     */
    unfocused(event) {
        if (event.target === document.body) this.key(event);
    }

    /** @param {KeyboardEvent} event */
    viewKey(event) {
        if (this.frame.asTable || !this.frame.help.hidden) return false;
        return this.drawn?.key?.(event) ?? false;
    }

    /** @param {KeyboardEvent} event */
    commonKey(event) {
        if (!alone(event)) return false;
        const writing = isWritten(event);
        if (event.key === "Escape") this.frame.back();
        else if (event.key === "t" && !writing) this.frame.showTable(!this.frame.asTable);
        else if (event.key === "?" && !writing) this.frame.showHelp(Boolean(this.frame.help.hidden));
        else return false;
        return true;
    }

    /**
     * Jupyter looks for this mark from the focused element upwards, but some shortcuts of Notebook 7 ask for no more
     * than ":focus", and hear keys before they reach us: the mark has to be on the very element.
     * @param {Event} event
     */
    keepKeys(event) {
        if (!(event.target instanceof HTMLElement || event.target instanceof SVGElement)) return;
        event.target.setAttribute("data-lm-suppress-shortcuts", "true");
        this.focused = event.target;
    }

    /** What had the focus may be gone after what was done with it; the next key would be the notebook's. */
    keepFocus() {
        setTimeout(() => {
            const gone = this.focused && !(this.focused.isConnected && this.focused.checkVisibility());
            if (gone && document.activeElement === document.body) this.frame.focus();
        });
    }

    /** @param {unknown} error */
    trouble(error) {
        this.endView();
        this.frame.trouble(textOf(error));
    }

    endView() {
        for (const off of this.offs.splice(0)) off();
        try {
            this.drawn?.close?.();
        } catch (error) {
            console.warn("A view did not close:", error);
        }
        this.drawn = null;
        clear(this.frame.body);
        this.frame.body.tabIndex = 0; // a view may have moved the Tab stop into itself
    }

    close() {
        this.loads += 1;
        clearTimeout(this.waiting);
        this.end.abort();
        this.endView();
        this.frame.close();
        this.state.close();
        this.asking.close();
        for (const name of WHAT_IS_SHOWN) this.model.off(name, this.again);
    }
}

/** @param {unknown} name */
function unknown(name) {
    return new Error(`There is no view "${name}" in this jt_edu.`);
}

/**
 * What a trait of bytes looks like on this side.
 * @param {unknown} given
 * @returns {Uint8Array}
 */
function bytesOf(given) {
    if (given instanceof DataView) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
    if (given instanceof Uint8Array) return given;
    if (given instanceof ArrayBuffer) return new Uint8Array(given);
    return new Uint8Array();
}
