// State: what does a view remember when it is drawn again?
//
// Small JSON in the model's trait `state`: a second render finds it, Python can read it, and a saved page keeps it in
// its address (standalone.js). Writing waits a moment, since a scrub changes it many times a second.

/** @import { Json, Model, State } from "./types.js" */

const QUIET = 150; // milliseconds without a change before the model hears of it

/**
 * The state of a model, and how to hear that somebody else changed it.
 * @param {Model} model
 * @param {() => void} changed called when the state came from elsewhere
 * @returns {State & {close(): void}}
 */
export function makeState(model, changed) {
    let kept = read(model);
    let timer = 0;
    const save = () => {
        if (timer) model.save_changes();
        clearTimeout(timer);
        timer = 0;
    };
    const hear = () => {
        const now = read(model);
        if (JSON.stringify(now) === JSON.stringify(kept)) return;
        if (timer) return void model.set("state", kept); // the kernel's echo of an earlier save: this here is newer
        kept = now;
        changed();
    };
    model.on("change:state", hear);
    return {
        get(/** @type {string} */ key, /** @type {any} */ fallback) {
            return fitting(Object.hasOwn(kept, key) ? kept[key] : undefined, fallback);
        },
        set(key, value) {
            kept = { ...kept, [key]: value };
            model.set("state", kept);
            clearTimeout(timer);
            timer = setTimeout(save, QUIET);
        },
        close() {
            save();
            model.off("change:state", hear);
        },
    };
}

/**
 * A part of a state, for a view inside of another one.
 * @param {State} state
 * @param {string} name
 * @returns {State}
 */
export function part(state, name) {
    return {
        get: (/** @type {string} */ key, /** @type {any} */ fallback) => state.get(`${name}.${key}`, fallback),
        set: (key, value) => state.set(`${name}.${key}`, value),
    };
}

/**
 * @param {Model} model
 * @returns {Record<string, Json>}
 */
function read(model) {
    const state = model.get("state");
    return state && typeof state === "object" ? /** @type {Record<string, Json>} */ (state) : {};
}

/**
 * A value of the fallback's type, as an address can be written by anyone. Beside null anything may come.
 * @param {unknown} value
 * @param {any} fallback
 */
function fitting(value, fallback) {
    if (value === undefined) return fallback;
    const same = typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback);
    if (same && typeof value === "number") return Math.round(value); // rows, steps and kernels are counted
    return same || fallback === null ? value : fallback;
}
