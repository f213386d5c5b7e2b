// Standalone: how does a view live on a page without Jupyter?
//
// A page that View.save wrote holds the view's name, its document and its blocks in elements. A model of a few lines
// stands in for Jupyter's; its state is the page's address, so that back, forward and a copied link lead to what was
// seen.

/** @import { Json, Model, ViewKind } from "./types.js" */

import { fromBase64 } from "./document.js";
import { mount } from "./shell.js";

const NEW_STEP = 1000; // milliseconds: changes that follow each other faster are one step for "back"
const LONGEST = 4000; // letters of an address

/**
 * Draw the view of this page, where it is a page that holds one.
 * @param {Record<string, () => ViewKind>} kinds
 */
export function start(kinds) {
    const home = document.getElementById("jt-standalone");
    if (!home) return;
    mount(pageModel(home), home, { kinds, live: false, level: 1 });
}

/**
 * @param {HTMLElement} home
 * @returns {Model}
 */
function pageModel(home) {
    const events = new EventTarget();
    const framed = window !== window.parent; // an address inside of a notebook is nobody's
    /** @type {Record<string, unknown>} */
    const traits = {
        view: home.dataset.view,
        document: bytes("jt-document"),
        blocks: bytes("jt-blocks"),
        state: { ...JSON.parse(home.dataset.state ?? "{}"), ...(framed ? {} : fromAddress()) },
    };
    window.addEventListener("hashchange", () => {
        traits.state = fromAddress();
        events.dispatchEvent(new Event("change:state"));
    });
    const write = framed ? () => undefined : addressWriter();
    return {
        get: (name) => traits[name],
        set: (name, value) => void (traits[name] = value),
        save_changes: () => write(/** @type {Record<string, Json>} */ (traits.state)),
        on: (name, listener) => events.addEventListener(name, listener),
        off: (name, listener) => events.removeEventListener(name, listener),
        send: () => undefined,
    };
}

/** @param {string} id */
function bytes(id) {
    return fromBase64(document.getElementById(id)?.textContent ?? "");
}

/** @returns {Record<string, Json>} */
function fromAddress() {
    const found = [...new URLSearchParams(location.hash.slice(1))];
    return Object.fromEntries(found.map(([key, text]) => [key, parsed(text)]));
}

/**
 * @param {string} text
 * @returns {Json}
 */
function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}

/** @returns {(state: Record<string, Json>) => void} */
function addressWriter() {
    let last = -Infinity;
    return (state) => {
        const pairs = Object.entries(state).map(([key, value]) => [key, JSON.stringify(value)]);
        const address = `#${new URLSearchParams(pairs)}`;
        if (address === location.hash || address.length > LONGEST) return;
        const step = performance.now() - last > NEW_STEP;
        last = performance.now();
        history[step ? "pushState" : "replaceState"](null, "", address);
    };
}
