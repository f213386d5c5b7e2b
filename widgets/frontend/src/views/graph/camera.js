// Camera: which part of a sheet is seen, and how large?
//
//     drag to move, Ctrl and wheel or two fingers to zoom (the wheel alone while the focus is inside)
//     fit() for as much as can be read, fit(true) for all of it; arrows in a corner say where there is more
//
// It moves one group and knows nothing of what is in it. Screen points count from the corner of the window, sheet
// points from that of the drawing.

import { button } from "../../controls.js";
import { drag, pinch, wheel } from "../../dom.js";
import { clamp } from "../../numbers.js";
import { ZOOMS } from "./words.js";

export const LEAST = /** @type {number} */ (ZOOMS.at(-1));
const SIDES = ["←", "→", "↑", "↓"];
const MOST = 3;
const MARGIN = 20;
const EDGES = 2 * MARGIN + 2; // with the border of the window
const NARROW = 480; // pixels: titles are enough there
/** For a sheet with a panel beside it. @type {[string, string][]} */
export const PANEL_KEYS = [
    ["e", "into the panel: arrows and Enter there, Esc back"], ["f", "all of it; again: the width"],
    ["+ −", "larger, smaller"],
];
const FIT = "all of it; again: the width (f)";
const TALL = 0.7; // of what the reader's screen shows
export const READABLE = ZOOMS[2]; // the smallest zoom at which a box has both its lines
export const TITLES = ZOOMS[3]; // and at which it has room for its title

/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle */

export class Camera {
    zoom = 1;
    x = 0;
    y = 0;
    /** Whether the reader has moved it: then a new width moves nothing but the middle. */
    free = false;
    /** Whether all of it was asked for, although words are cut. */
    all = false;
    /** The zoom from which all is shown instead of the width, and the smallest one that shows the width. */
    legible = [READABLE, READABLE];
    /** The smallest zoom, unless all of it needs a smaller one. */
    least = LEAST;
    /** Whether all may be shown however small it is: then the names are somebody else's. */
    tiny = false;
    /** Of the window, in pixels, unless the reader drags its edge. */
    high = 840;
    /** Of the drawing; `home` stands in the middle where it is too wide.
     * @type {{width: number, height: number, home?: number}} */
    size = { width: 1, height: 1 };
    /** What a drag does instead of moving the sheet: it gets the points of the sheet that the drag goes through.
     * @type {((points: [number, number][], over: boolean) => void) | null} */
    lasso = null;
    /** Called whenever something else is seen. */
    seeing = () => {};

    /**
     * @param {HTMLElement} window
     * @param {SVGGElement} world
     * @param {(zoom: number) => void} zoomed
     */
    constructor(window, world, zoomed) {
        this.window = window;
        this.world = world;
        this.zoomed = zoomed;
        this.wide = 0;
        this.watch = new ResizeObserver(() => {
            const same = Math.abs(this.wide - window.clientWidth) <= MARGIN; // or a scroll bar would come and go
            const moved = same ? 0 : (window.clientWidth - this.wide) / 2;
            if (!same) this.wide = window.clientWidth;
            if (same || this.free) this.set(this.zoom, this.x + moved, this.y);
            else this.fit(this.all);
        });
        this.watch.observe(window);
        this.listen();
    }

    listen() {
        let [x, y] = [0, 0];
        /** @type {[number, number][]} */
        let points = [];
        drag(this.window, {
            start: () => {
                [x, y, points] = [this.x, this.y, []];
                this.window.classList.add("jt-moving");
            },
            move: (event, dx, dy) => {
                points.push(this.at(event));
                if (this.lasso) this.lasso(points, false);
                else this.move(x + dx, y + dy);
            },
            end: () => {
                this.window.classList.remove("jt-moving");
                this.lasso?.(points, true);
            },
        });
        pinch(this.window, (factor, x, y) => this.by(factor, x, y));
        wheel(this.window, (event) => {
            const box = this.window.getBoundingClientRect();
            const step = event.deltaY * (event.deltaMode ? 16 : 1);
            this.by(Math.exp(-step / 400), event.clientX - box.left, event.clientY - box.top);
        });
    }

    /** All of it, although words are cut; asked for once more, the width. */
    toggle() {
        this.fit(this.free || !this.all);
    }

    /**
     * Show all where words can be read, else the width; then the window ends where the drawing does.
     * @param {boolean} [all] even where words are cut
     */
    fit(all = false) {
        const { window, size, legible: [enough, least] } = this;
        const wide = window.clientWidth;
        const { width, height, home = width / 2 } = size;
        const across = (wide - 2 * MARGIN) / width;
        const whole = () => Math.min(across, (window.clientHeight - 2 * MARGIN) / height);
        const short = Math.min(this.high, Math.max(320, TALL * innerHeight));
        window.style.height = `${clamp(Math.ceil(height * enough) + EDGES, short, this.high)}px`; // or it would be cut
        if (whole() < enough) window.style.height = `${short}px`;
        if (!wide) return;
        const both = whole();
        this.least = this.tiny ? Math.min(LEAST, both) : LEAST;
        const seen = all || both >= enough;
        const zoom = seen ? clamp(both, this.least, 1) : clamp(across, wide < NARROW ? TITLES : least, 1);
        const room = wide - width * zoom;
        window.style.height = `${Math.min(window.offsetHeight, Math.ceil(height * zoom) + EDGES)}px`;
        [this.free, this.all, this.wide] = [false, all, wide];
        const left = room < 2 * MARGIN ? clamp(wide / 2 - home * zoom, room - MARGIN, MARGIN) : room / 2;
        this.set(zoom, left, MARGIN);
    }

    /** @param {number} x @param {number} y */
    move(x, y) {
        this.free = true;
        this.set(this.zoom, x, y);
    }

    /**
     * Bring a part to the middle, where its words can be read, unless it is in plain sight.
     * @param {Rectangle} part @param {number} covered pixels at the lower edge, under something else
     */
    approach({ x, y, width, height }, covered) {
        const [wide, high] = [this.window.clientWidth, this.window.clientHeight - covered];
        const [[left, top], [right, low]] = [this.seen(x, y), this.seen(x + width, y + height)];
        const inside = Math.min(left, top, wide - right, high - low) >= 3 * MARGIN;
        if (inside && this.zoom >= TITLES) return;
        const zoom = Math.max(this.zoom, READABLE);
        this.all = false;
        this.set(zoom, wide / 2 - (x + width / 2) * zoom, high / 2 - (y + height / 2) * zoom);
    }

    /** Move, although it was not the reader who did. @param {number} dx @param {number} dy */
    shift(dx, dy) {
        this.all = false;
        this.set(this.zoom, this.x + dx, this.y + dy);
    }

    /** What a reader presses for it. */
    buttons() {
        return [
            button("−", "smaller (−)", () => this.by(0.8)), button("+", "larger (+)", () => this.by(1.25)),
            button("Fit", FIT, () => this.toggle()),
        ];
    }

    /** The same by key. @type {Record<string, () => void>} */
    keys = { f: () => this.toggle(), "+": () => this.by(1.25), "-": () => this.by(0.8) };

    /**
     * Zoom about a point of the window; without one, about its middle.
     * @param {number} factor
     * @param {number} [x]
     * @param {number} [y]
     */
    by(factor, x = this.window.clientWidth / 2, y = this.window.clientHeight / 2) {
        const zoom = clamp(this.zoom * factor, this.least, MOST);
        const grown = zoom / this.zoom;
        this.free = true;
        this.set(zoom, x - (x - this.x) * grown, y - (y - this.y) * grown);
    }

    /**
     * Move just as far as needed to see a part of the sheet.
     * @param {Rectangle} part
     */
    reveal(part) {
        const [wide, high] = [this.window.clientWidth, this.window.clientHeight];
        const left = part.x * this.zoom + this.x;
        const top = part.y * this.zoom + this.y;
        const dx = inside(left, left + part.width * this.zoom, wide);
        const dy = inside(top, top + part.height * this.zoom, high);
        if (dx || dy) this.shift(dx, dy);
    }

    /**
     * Where a point of the sheet is in the window.
     * @param {number} x
     * @param {number} y
     * @returns {[number, number]}
     */
    seen(x, y) {
        return [x * this.zoom + this.x, y * this.zoom + this.y];
    }

    /**
     * Which point of the sheet an event is at.
     * @param {PointerEvent} event
     * @returns {[number, number]}
     */
    at(event) {
        const box = this.window.getBoundingClientRect();
        return [(event.clientX - box.left - this.x) / this.zoom, (event.clientY - box.top - this.y) / this.zoom];
    }

    /** @param {number} zoom @param {number} x @param {number} y */
    set(zoom, x, y) {
        const changed = zoom !== this.zoom;
        [this.zoom, this.x, this.y] = [zoom, x, y];
        this.world.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${zoom.toFixed(4)})`);
        if (changed) this.zoomed(zoom);
        this.hint();
    }

    /** Say where there is more than the window shows. */
    hint() {
        const { window, zoom, x, y, size } = this;
        const [right, low] = [x + size.width * zoom - window.clientWidth, y + size.height * zoom - window.clientHeight];
        const more = SIDES.filter((_, k) => [-x, right, -y, low][k] > 1).join(" ");
        if (more) window.dataset.more = more;
        else delete window.dataset.more;
        this.seeing();
    }

    close() {
        this.watch.disconnect();
    }
}

/**
 * How far a stretch must move to be inside of [0, length].
 * @param {number} low
 * @param {number} high
 * @param {number} length
 */
function inside(low, high, length) {
    if (low >= MARGIN && high <= length - MARGIN) return 0;
    if (high - low > length - 2 * MARGIN || low < MARGIN) return MARGIN - low;
    return length - MARGIN - high;
}
