// Overview: the whole run in a strip, and the window that the stage shows, to drag.

/** @import { Stage } from "./stage.js" */

import { drag, h } from "../../dom.js";
import { sized } from "./paint.js";
import { LEFT, RIGHT } from "./stage.js";

const HIGH = 34; // pixels

export class Overview {
    /** @param {Stage} stage */
    constructor(stage) {
        this.stage = stage;
        this.canvas = document.createElement("canvas");
        this.still = document.createElement("canvas");
        this.root = h("div", { class: "jt-ranks-over", "aria-hidden": "true" }, this.canvas);
        let begun = 0;
        drag(this.root, {
            start: () => (begun = stage.from),
            move: (_, dx) => stage.look(begun + this.nanos(dx), begun + this.nanos(dx) + stage.to - stage.from),
        });
        this.root.addEventListener("click", (event) => this.jump(event.offsetX));
    }

    /** @param {number} dx pixels */
    nanos(dx) {
        return (dx / this.stage.room) * this.stage.scene.span;
    }

    /** @param {number} x */
    jump(x) {
        const { stage } = this;
        const [middle, half] = [this.nanos(x - LEFT), (stage.to - stage.from) / 2];
        stage.look(middle - half, middle + half);
    }

    /** The bars of all ranks, once for each scene. */
    refresh() {
        const { stage } = this;
        const { lanes, span } = stage.scene;
        const pen = sized(this.still, stage.width, HIGH);
        const [high, unit] = [(HIGH - 4) / lanes.length, stage.room / span];
        pen.fillStyle = stage.palette.paper;
        pen.fillRect(0, 0, stage.width, HIGH);
        const colours = [stage.palette.compute, stage.palette.wait, stage.palette.transfer];
        lanes.forEach(({ front }, rank) => {
            const ends = [-1, -1, -1];
            for (const { kind, begin, end } of front) {
                const [x, right] = [LEFT + begin * unit, LEFT + end * unit];
                if (right - ends[kind] < 1) continue;
                ends[kind] = Math.max(right, x + 1);
                pen.fillStyle = colours[kind];
                pen.fillRect(x, 2 + rank * high, Math.max(1, right - x), Math.max(0.6, high - (high > 4 ? 1 : 0)));
            }
        });
        this.scene = stage.scene;
        this.wide = stage.width;
    }

    draw() {
        const { stage } = this;
        if (this.scene !== stage.scene || this.wide !== stage.width) this.refresh();
        const pen = sized(this.canvas, stage.width, HIGH);
        pen.save();
        pen.setTransform(1, 0, 0, 1, 0, 0);
        pen.drawImage(this.still, 0, 0);
        pen.restore();
        const unit = stage.room / stage.scene.span;
        const [x, right] = [LEFT + stage.from * unit, LEFT + stage.to * unit];
        pen.globalAlpha = 0.62;
        pen.fillStyle = stage.palette.paper;
        pen.fillRect(0, 0, x, HIGH);
        pen.fillRect(right, 0, stage.width - right, HIGH);
        pen.globalAlpha = 1;
        pen.strokeStyle = stage.palette.brand;
        pen.lineWidth = 1.5;
        pen.strokeRect(x, 1, Math.max(3, Math.min(right, stage.width - RIGHT / 2) - x), HIGH - 2);
        pen.fillStyle = stage.palette.brand;
        pen.fillRect(LEFT + stage.at * unit - 0.75, 0, 1.5, HIGH);
    }
}
