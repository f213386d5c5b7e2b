// Bus: how do views hear what is selected in another one?
//
// Each widget loads this module anew, so that the one bus of the page hangs on globalThis. Node ids are those of one
// Python process; `scope` names it, so that two notebooks in one JupyterLab do not light up each other's nodes.

/** @import { Bus, Selection } from "./types.js" */
/** @typedef {EventTarget & {last: Map<string, Selection>, views: number}} Hub */

const KEY = Symbol.for("jt_edu.bus");

/**
 * A view's end of the bus.
 * @param {string} uid who selects
 * @param {string} scope of which Python process the ids are; "" on a page that was saved
 * @returns {Bus}
 */
export function makeBus(uid, scope) {
    const [hub, name] = [theHub(), `select:${scope}`];
    const current = () => hub.last.get(scope) ?? selection({}, "");
    return {
        current,
        select(part) {
            const detail = selection(part, uid);
            hub.last.set(scope, detail);
            hub.dispatchEvent(Object.assign(new Event(name), { detail }));
        },
        on(listener) {
            /** @param {Event} event */
            const hear = (event) => listener(/** @type {Event & {detail: Selection}} */ (event).detail);
            hub.addEventListener(name, hear);
            let listening = true;
            queueMicrotask(() => listening && !isEmpty(current()) && listener(current()));
            return () => {
                listening = false;
                hub.removeEventListener(name, hear);
            };
        },
    };
}

/**
 * A prefix for ids that no other view on the page has.
 * @returns {string}
 */
export function newUid() {
    const hub = theHub();
    hub.views += 1;
    return `jt${hub.views}`;
}

/**
 * Whether a selection names nothing.
 * @param {Selection} one
 * @returns {boolean}
 */
export function isEmpty(one) {
    return !one.nodes.length && [one.kernel, one.line, one.time, one.rank].every((part) => part === null);
}

/** @returns {Hub} */
function theHub() {
    const owner = /** @type {Record<symbol, Hub>} */ (/** @type {unknown} */ (globalThis));
    owner[KEY] ??= Object.assign(new EventTarget(), { last: new Map(), views: 0 });
    return owner[KEY];
}

/**
 * @param {Partial<Selection>} part
 * @param {string} from
 * @returns {Selection}
 */
function selection(part, from) {
    return { nodes: [], kernel: null, line: null, time: null, rank: null, ...part, from };
}
