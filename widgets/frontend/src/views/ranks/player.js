// Player: how does time run on? Frame by frame, or from event to event for who wants no motion.

const EVERY = 700; // milliseconds between two events
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Player {
    speed = 1;
    playing = false;
    #frame = 0;
    #timer = 0;
    #last = 0;

    /**
     * @param {{reduced: () => boolean, move: (seconds: number) => boolean, step: () => boolean,
     *     changed: (playing: boolean) => void}} told `move` and `step` answer whether there is more
     */
    constructor(told) {
        this.told = told;
    }

    toggle() {
        if (this.playing) this.stop();
        else this.play();
    }

    play() {
        this.playing = true;
        this.told.changed(true);
        if (this.told.reduced()) this.#timer = setInterval(() => this.told.step() || this.stop(), EVERY / this.speed);
        else {
            this.#last = performance.now();
            this.#frame = requestAnimationFrame((now) => this.#tick(now));
        }
    }

    stop() {
        cancelAnimationFrame(this.#frame);
        clearInterval(this.#timer);
        if (!this.playing) return;
        this.playing = false;
        this.told.changed(false);
    }

    /** @param {number} now */
    #tick(now) {
        const passed = Math.max(0, now - this.#last) / 1000;
        this.#last = now;
        if (!this.told.move(Math.min(passed, 0.1) * this.speed)) return this.stop();
        this.#frame = requestAnimationFrame((later) => this.#tick(later));
    }
}
