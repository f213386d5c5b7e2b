// Style: how does one style sheet reach all views of a page?

import text from "./all.css";

/**
 * Give the page, or the shadow that the element lives in, the rules of all views; once.
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
    const old = home.querySelector("style[data-jt-style]");
    const style = old ?? document.createElement("style");
    style.setAttribute("data-jt-style", "");
    if (style.textContent !== text) style.textContent = text;
    if (!old) home.appendChild(style);
}
