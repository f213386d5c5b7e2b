// Camera: which part of a sheet is seen, and how large?
//
//     drag to move, Ctrl and wheel to zoom (the wheel alone while the focus is inside), fit() for the width
//
// It moves one group and knows nothing of what is in it. Screen points count from the corner of the window, sheet
// points from that of the drawing.

import { drag, wheel } from "../../dom.js";
import { clamp } from "../../numbers.js";
import { ZOOMS } from "./words.js";

const LEAST = /** @type {number} */ (ZOOMS.at(-1));
const MOST = 3;
const MARGIN = 20;
const READABLE = ZOOMS[2]; // the smallest zoom at which a box has both its lines
const HIGH = 520; // of the window, unless the reader drags its edge

/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle */

export class Camera {
    zoom = 1;
    x = 0;
    y = 0;
    /** Whether the reader has moved it: then a new width changes nothing. */
    free = false;
    /** Of the drawing; `home` stands in the middle where it is too wide.
     * @type {{width: number, height: number, home?: number}} */
    size = { width: 1, height: 1 };
    /** What a drag does in place of moving the sheet: it gets the points of the sheet that the drag goes through.
     * @type {((points: [number, number][], over: boolean) => void) | null} */
    lasso = null;

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
        this.watch = new ResizeObserver(() => this.wide === window.clientWidth || this.free || this.fit());
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
        wheel(this.window, (event) => {
            const box = this.window.getBoundingClientRect();
            const step = event.deltaY * (event.deltaMode ? 16 : 1);
            this.by(Math.exp(-step / 400), event.clientX - box.left, event.clientY - box.top);
        });
    }

    /** Asked for once more: the whole width, although words are cut. */
    toggle() {
        this.fit(this.free || this.zoom !== READABLE ? READABLE : LEAST);
    }

    /**
     * Show the width, as far as words can be read; then the window ends where the drawing does.
     * @param {number} [least] zoom
     */
    fit(least = READABLE) {
        const wide = this.window.clientWidth;
        if (!wide) return;
        const { width, home = width / 2 } = this.size;
        const zoom = clamp((wide - 2 * MARGIN) / width, least, 1);
        const room = wide - width * zoom;
        this.window.style.height = `${Math.min(HIGH, Math.ceil(this.size.height * zoom) + 2 * MARGIN)}px`;
        this.free = false;
        this.wide = wide;
        const left = room < 2 * MARGIN ? clamp(wide / 2 - home * zoom, room - MARGIN, MARGIN) : room / 2;
        this.set(zoom, left, MARGIN);
    }

    /** @param {number} x @param {number} y */
    move(x, y) {
        this.free = true;
        this.set(this.zoom, x, y);
    }

    /**
     * Zoom about a point of the window; without one, about its middle.
     * @param {number} factor
     * @param {number} [x]
     * @param {number} [y]
     */
    by(factor, x = this.window.clientWidth / 2, y = this.window.clientHeight / 2) {
        const zoom = clamp(this.zoom * factor, LEAST, MOST);
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
        if (dx || dy) this.move(this.x + dx, this.y + dy);
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
