// Style: how do the style sheets reach all views of a page?
//
// Every view of a notebook is a module of its own, and all share the page: each sheet hangs there once, under its name.

import { sheets } from "./sheets.js";
import "./style.css";
import "./shared.css";

/**
 * Give the page, or the shadow that the element lives in, the rules of this module's views.
 * @param {Element} element
 */
export function dress(element) {
    hang(document.head);
    requestAnimationFrame(() => {
        const home = element.getRootNode(); // known only once the element stands on the page
        if (home instanceof ShadowRoot) hang(home);
    });
}

/** @param {ParentNode & Node} home */
function hang(home) {
    for (const [name, text] of sheets) {
        const old = home.querySelector(`style[data-jt-style="${name}"]`);
        const style = old ?? document.createElement("style");
        style.setAttribute("data-jt-style", name);
        if (style.textContent !== text) style.textContent = text;
        if (!old) home.appendChild(style);
    }
}
