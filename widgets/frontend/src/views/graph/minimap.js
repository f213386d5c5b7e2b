// Minimap: where in a large drawing is the part that the window shows?
//
// It is there only where the window does not show all; a press or a drag on it moves the window. It repeats what the
// sheet holds, so it is no Tab stop, and nothing to read aloud.

/** @import { Scene } from "../../graph/scene.js" */

import { h, s } from "../../dom.js";
import { CARD } from "../../graph/scene.js";
import { clamp } from "../../numbers.js";

const WIDE = 150; // pixels, at most
const HIGH = 130;

export class Minimap {
    /** @param {import("./camera.js").Camera} camera */
    constructor(camera) {
        this.camera = camera;
        this.boxes = s("path");
        this.part = s("rect");
        this.svg = s("svg", {}, this.boxes, this.part);
        this.element = h("div", { class: "jt-map", "aria-hidden": "true" }, this.svg);
        camera.window.append(this.element);
        camera.seeing = () => this.tell();
        const go = (/** @type {PointerEvent} */ event) => {
            event.stopPropagation(); // or the sheet would be dragged
            if (event.buttons !== 1) return;
            const box = this.svg.getBoundingClientRect();
            const { zoom, window, size } = camera;
            const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
            const [wide, high] = [window.clientWidth, window.clientHeight];
            camera.move(wide / 2 - x * size.width * zoom, high / 2 - y * size.height * zoom);
        };
        this.svg.addEventListener("pointerdown", go);
        this.svg.addEventListener("pointermove", go);
    }

    /** @param {Scene} scene */
    paint({ cards, width, height }) {
        const share = Math.min(WIDE / width, HIGH / height);
        const size = { width: Math.max(12, width * share), height: Math.max(12, height * share) };
        for (const [name, value] of Object.entries(size)) this.svg.setAttribute(name, `${value}`);
        this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.svg.setAttribute("preserveAspectRatio", "none");
        const boxes = cards.map(({ x, y, width: wide }) => `M${x} ${y}h${wide}v${CARD}h${-wide}z`);
        this.boxes.setAttribute("d", boxes.join(""));
    }

    /** Show which part is seen. */
    tell() {
        const { zoom, x, y, window } = this.camera;
        this.element.style.scale = `${clamp(window.clientWidth / 700, 0.5, 1)}`; // it covers what it stands on
        const side = (/** @type {number} */ from, /** @type {number} */ length, /** @type {number} */ most) => {
            const [low, high] = [-from / zoom, (length - from) / zoom].map((end) => clamp(end, 0, most));
            return [low, high - low];
        };
        const { width: wide, height: high } = this.camera.size;
        const [[left, width], [top, height]] = [side(x, window.clientWidth, wide), side(y, window.clientHeight, high)];
        const part = { x: left, y: top, width, height };
        for (const [name, value] of Object.entries(part)) this.part.setAttribute(name, `${value}`);
    }
}
