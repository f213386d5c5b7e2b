// DOM: how are elements made, so that a stranger's words stay words?
//
//     h("p", "jt-note", "text")               an HTML element with its class
//     h("p", {class: "jt-note", id}, "text")  with other attributes, too
//     s("rect", {x: 1, onclick: hear})        an SVG element; attributes that start with "on" are listeners
//     clear(element)                          without its children
//     reveal(element, scroller)               scrolled into sight, no farther than needed
//     reachable(element)                      a Tab stop, where it scrolls
//     drag(element, {move})                   a drag that leaves clicks alone
//     pinch(element, hear)                    two fingers, and the point between them
//     wheel(element, hear)                    the wheel, only where it was meant for this element
//     deafToRest(element)                     what moves under a pointer that rests is not pointed at
//
// Text is always a text node: documents come from strangers, and nothing here parses markup. Nothing here knows pages.

/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Attribute */
/** @typedef {Record<string, Attribute> | string} Attributes a text is the class */
/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

const SVG = "http://www.w3.org/2000/svg";
const FAR_ENOUGH = 4; // pixels, before a press is a drag: a captured pointer gives no click

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * Remove all children.
 * @template {Element} E
 * @param {E} element
 * @returns {E} the element
 */
export function clear(element) {
    element.replaceChildren();
    return element;
}

/**
 * Scroll `scroller`, and nothing else, until it shows the element.
 * @param {Element} element
 * @param {Element} scroller
 * @param {{sideways?: boolean}} [how] whether to scroll to the left and right, too
 */
export function reveal(element, scroller, { sideways = false } = {}) {
    const [inner, outer] = [element.getBoundingClientRect(), scroller.getBoundingClientRect()];
    scroller.scrollTop += Math.min(0, inner.top - outer.top) || Math.max(0, inner.bottom - outer.bottom);
    if (sideways) scroller.scrollLeft += Math.min(0, inner.left - outer.left) || Math.max(0, inner.right - outer.right);
}

/**
 * What scrolls is a Tab stop, so that keys can scroll it, too; what does not is none.
 * @param {HTMLElement} element
 */
export function reachable(element) {
    if (element.scrollHeight > element.clientHeight + 1) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
}

/**
 * Drags with any pointer. Clicks still arrive, because the pointer is captured only once it has moved.
 * @param {Element} element
 * @param {{start?: (event: PointerEvent) => void, move: (event: PointerEvent, dx: number, dy: number) => void,
 *     end?: (event: PointerEvent) => void}} hear `dx` and `dy` count from where the drag began
 */
export function drag(element, hear) {
    /** @type {PointerEvent | null} */
    let from = null;
    let dragging = false;
    listen(element, "pointerdown", (event) => {
        from = event.button === 0 ? event : null;
    });
    listen(element, "pointermove", (event) => {
        if (!from || event.pointerId !== from.pointerId) return;
        const [dx, dy] = [event.clientX - from.clientX, event.clientY - from.clientY];
        if (!dragging && Math.hypot(dx, dy) < FAR_ENOUGH) return;
        if (!dragging) {
            dragging = true;
            element.setPointerCapture(event.pointerId);
            hear.start?.(from);
        }
        hear.move(event, dx, dy);
    });
    for (const name of ["pointerup", "pointercancel"]) {
        listen(element, name, (event) => {
            if (dragging) hear.end?.(event);
            [from, dragging] = [null, false];
        });
    }
}

/**
 * Two fingers that move apart or together: by which factor since they last moved, and about which point of the element.
 * @param {Element} element
 * @param {(factor: number, x: number, y: number) => void} hear
 */
export function pinch(element, hear) {
    /** @type {Map<number, [number, number]>} */
    const down = new Map();
    const apart = () => Math.hypot(...[0, 1].map((k) => [...down.values()].reduce((sum, at) => at[k] - sum, 0)));
    listen(element, "pointerdown", (event) => {
        if (event.pointerType === "touch") down.set(event.pointerId, [event.clientX, event.clientY]);
    });
    listen(element, "pointermove", (event) => {
        if (!down.has(event.pointerId)) return;
        const before = apart();
        down.set(event.pointerId, [event.clientX, event.clientY]);
        if (down.size !== 2 || !before) return;
        const box = element.getBoundingClientRect();
        const [[ax, ay], [bx, by]] = [...down.values()];
        hear(apart() / before, (ax + bx) / 2 - box.left, (ay + by) / 2 - box.top);
    });
    for (const name of ["pointerup", "pointercancel"]) listen(element, name, (event) => down.delete(event.pointerId));
}

/**
 * The wheel, with Ctrl or Cmd, or while the focus is inside: else it belongs to the page, which scrolls.
 * @param {Element} element
 * @param {(event: WheelEvent) => void} hear
 */
export function wheel(element, hear) {
    /** @param {Event} event */
    const listener = (event) => {
        const turn = /** @type {WheelEvent} */ (event);
        if (!turn.ctrlKey && !turn.metaKey && !element.matches(":focus-within")) return;
        turn.preventDefault();
        hear(turn);
    };
    element.addEventListener("wheel", listener, { passive: false });
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {(event: PointerEvent) => void} hear
 */
function listen(element, name, hear) {
    element.addEventListener(name, /** @type {EventListener} */ (hear));
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
    const all = typeof attributes === "string" ? { class: attributes } : attributes;
    for (const [name, value] of Object.entries(all)) give(element, name, value);
    put(element, children);
    return element;
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {Attribute} value
 */
function give(element, name, value) {
    if (typeof value === "function") {
        element.addEventListener(name.replace(/^on/, ""), value);
    } else if (isDangerous(name, `${value}`)) {
        throw new Error(`The attribute ${name} could run or load something: ${value}`);
    } else if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : `${value}`);
    }
}

/**
 * Whether an attribute could run something, or ask another machine for something.
 * @param {string} name
 * @param {string} value
 * @returns {boolean}
 */
function isDangerous(name, value) {
    return /^on|^srcdoc$/i.test(name) || (/href$|^src$/i.test(name) && !/^(#|data:image\/|blob:)/.test(value));
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function put(element, children) {
    for (const child of children) {
        if (Array.isArray(child)) put(element, child);
        else if (child instanceof Node) element.append(child);
        else if (child !== null && child !== undefined && child !== false) element.append(`${child}`);
    }
}

/**
 * What is redrawn or scrolled under a mouse that rests gets "enter" and "over" as if it were pointed at, and would take
 * back what a key just chose. After a key, only a mouse that moved is told.
 * @param {Element} element
 */
export function deafToRest(element) {
    let before = "", keyed = false;
    const place = (/** @type {any} */ { clientX, clientY }) => `${Math.floor(clientX)} ${Math.floor(clientY)}`;
    element.addEventListener("mousemove", (event) => { before = place(event); keyed = false; }, true);
    element.addEventListener("keydown", () => { keyed = true; }, true);
    for (const name of ["pointerover", "pointerenter", "mouseover", "mouseenter"]) {
        element.addEventListener(name, (event) => {
            if (keyed && place(event) === before) event.stopImmediatePropagation();
        }, true);
    }
}
