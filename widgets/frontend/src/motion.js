// Motion: what runs by itself, frame by frame or beat by beat, and the buttons that start and stop it?
//
//     const stop = tween(600, (part) => ...)      part goes from 0 to 1
//     new Player({...})                           back, step, play: the same in all views that walk through steps
//
// Nothing here knows what moves.

import { button } from "./controls.js";

/**
 * Something that takes a while: the part of the way that is done, at every frame.
 * @param {number} milliseconds
 * @param {(part: number) => void} paint
 * @returns {() => void} how to stop it
 */
export function tween(milliseconds, paint) {
    const begin = performance.now();
    let frame = 0;
    const step = () => {
        const part = Math.min(1, (performance.now() - begin) / milliseconds);
        if (part < 1) frame = requestAnimationFrame(step);
        paint(part);
    };
    step();
    return () => cancelAnimationFrame(frame);
}

/**
 * Steps that can be walked through.
 * @typedef {object} Walk
 * @property {number} last
 * @property {number} pace milliseconds of a step
 * @property {() => number} at where one is
 * @property {(step: number) => void} go
 * @property {() => boolean} reduced
 */

/** Buttons that walk through steps, and a clock that presses one of them. */
export class Player {
    clock = 0;

    /** @param {Walk} walk */
    constructor(walk) {
        this.walk = walk;
        this.play = button("", "play or stop (Space)", () => this.toggle());
        this.buttons = [
            button("‹ Back", "one step back ([)", () => walk.go(walk.at() - 1)),
            button("Step ›", "one step on (])", () => walk.go(walk.at() + 1)), this.play,
        ];
        this.stop();
    }

    /** Begin to play, or stop; one step where nothing may move by itself. */
    toggle() {
        const { at, last, go, reduced, pace } = this.walk;
        if (this.clock) return this.stop();
        if (reduced()) return go(at() + 1);
        if (at() >= last) go(0);
        this.clock = window.setInterval(() => (at() < last ? go(at() + 1) : this.stop()), pace);
        this.play.textContent = "■ Stop";
    }

    stop() {
        clearInterval(this.clock);
        this.clock = 0;
        this.play.textContent = "▶ Play";
    }
}
