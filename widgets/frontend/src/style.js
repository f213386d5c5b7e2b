// Style: how does one style sheet reach all views of a page?

/** @import { ViewKind } from "./types.js" */

import common from "./style.css";

/**
 * Give the page, or the shadow that the element lives in, the rules of all views; once.
 * @param {Element} element
 * @param {ViewKind[]} kinds
 */
export function dress(element, kinds) {
    const text = [...new Set([common, ...kinds.map((kind) => kind.style ?? "")])].join("\n");
    hang(document.head, text);
    requestAnimationFrame(() => {
        const home = element.getRootNode(); // known only once the element stands on the page
        if (home instanceof ShadowRoot) hang(home, text);
    });
}

/**
 * @param {ParentNode & Node} home
 * @param {string} text
 */
function hang(home, text) {
    const old = home.querySelector("style[data-jt-style]");
    const style = old ?? document.createElement("style");
    style.setAttribute("data-jt-style", "");
    if (style.textContent !== text) style.textContent = text;
    if (!old) home.appendChild(style);
}
