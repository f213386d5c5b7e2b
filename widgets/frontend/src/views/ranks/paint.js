// Paint: how do lanes look on a canvas, in light and in dark?
//
//     computes  solid        waits  hatched        sends and receives  striped
//
// Colours are those of the page, resolved once; patterns are made of them. Nothing here knows ranks.

/** @typedef {Record<"ink" | "paper" | "soft" | "line" | "shade" | "lit" | "brand" | "bad" | "compute" | "computeEdge" |
 *     "wait" | "waitEdge" | "transfer" | "transferEdge", string> & {hues: string[], kinds: (string | CanvasPattern)[],
 *     edges: string[], flats: string[], stuck: string | CanvasPattern}} Palette */

const MIXED = {
    ink: "var(--jt-ink)", paper: "var(--jt-paper)", soft: "var(--jt-soft)", line: "var(--jt-line)",
    shade: "var(--jt-shade)", lit: "var(--jt-lit)", brand: "var(--jt-brand)", bad: "var(--jt-bad)",
    compute: mix("--jt-sky", 58, "--jt-paper"), computeEdge: mix("--jt-sky", 60, "--jt-ink"),
    wait: mix("--jt-orange", 82, "--jt-paper"), waitEdge: mix("--jt-orange", 62, "--jt-paper"),
    transfer: mix("--jt-blue", 78, "--jt-paper"), transferEdge: mix("--jt-blue", 72, "--jt-ink"),
};
const HUES = ["blue", "red", "green", "purple", "orange", "sky"];
const TILE = 6; // pixels of a pattern
export const FONT = '"Helvetica Neue", "Segoe UI", Roboto, Arial, "Liberation Sans", system-ui, sans-serif';

/** @param {string} colour @param {number} percent @param {string} other */
function mix(colour, percent, other) {
    return `color-mix(in srgb, var(${colour}) ${percent}%, var(${other}))`;
}

/**
 * The colours of an element's page.
 * @param {HTMLElement} root
 * @returns {Palette}
 */
export function paletteOf(root) {
    const probe = document.createElement("span");
    probe.hidden = true;
    root.append(probe);
    const resolved = (/** @type {string} */ words) => {
        probe.style.color = words;
        return getComputedStyle(probe).color;
    };
    const found = Object.fromEntries(Object.entries(MIXED).map(([name, words]) => [name, resolved(words)]));
    const hues = HUES.map((name) => resolved(mix(`--jt-${name}`, 46, "--jt-paper")));
    probe.remove();
    const colours = /** @type {Palette} */ (/** @type {unknown} */ ({ ...found, hues }));
    const kinds = [colours.compute, hatch(colours.wait, colours.paper), stripes(colours.transfer, colours.paper)];
    const edges = [colours.computeEdge, colours.waitEdge, colours.transferEdge];
    const flats = [colours.compute, colours.waitEdge, colours.transfer];
    return { ...colours, kinds, edges, flats, stuck: hatch(colours.bad, colours.paper) };
}

/** @param {string} colour @param {string} paper */
function hatch(colour, paper) {
    return tile(colour, paper, (pen) => {
        pen.lineWidth = 1.5;
        for (const shift of [-TILE, 0, TILE]) {
            pen.moveTo(shift - 1, TILE + 1);
            pen.lineTo(shift + TILE + 1, -1);
        }
    });
}

/** @param {string} colour @param {string} paper */
function stripes(colour, paper) {
    return tile(colour, paper, (pen) => {
        pen.lineWidth = 2;
        for (const y of [TILE / 4, (3 * TILE) / 4]) {
            pen.moveTo(0, y);
            pen.lineTo(TILE, y);
        }
    });
}

/**
 * @param {string} colour
 * @param {string} paper
 * @param {(pen: CanvasRenderingContext2D) => void} draw
 * @returns {CanvasPattern | string}
 */
function tile(colour, paper, draw) {
    const scale = window.devicePixelRatio || 1;
    const side = Math.round(TILE * scale);
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
    const pen = canvas.getContext("2d");
    if (!pen) return colour;
    pen.scale(side / TILE, side / TILE);
    pen.fillStyle = paper;
    pen.fillRect(0, 0, TILE, TILE);
    pen.strokeStyle = colour;
    pen.beginPath();
    draw(pen);
    pen.stroke();
    const pattern = pen.createPattern(canvas, "repeat");
    pattern?.setTransform(new DOMMatrix().scale(TILE / side));
    return pattern ?? colour;
}

/**
 * A canvas of a size in pixels of the page, sharp on any screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function sized(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return pen;
}

/**
 * Words with a rim of paper, so that they can be read on anything.
 * @param {CanvasRenderingContext2D} pen
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @param {{fill: string, rim?: string, align?: CanvasTextAlign, bold?: boolean}} how
 */
export function write(pen, words, x, y, { fill, rim, align = "left", bold = false }) {
    pen.font = `${bold ? "600 " : ""}11px ${FONT}`;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    if (rim) {
        pen.lineJoin = "round";
        pen.lineWidth = 3.5;
        pen.strokeStyle = rim;
        pen.strokeText(words, x, y);
    }
    pen.fillStyle = fill;
    pen.fillText(words, x, y);
}

/**
 * An arrow from one place to another.
 * @param {CanvasRenderingContext2D} pen
 * @param {readonly [number, number]} from
 * @param {readonly [number, number]} to
 * @param {{colour: string, rim?: string, wide?: number, head?: number, dash?: number[]}} how
 */
export function arrow(pen, [x, y], [toX, toY], { colour, rim, wide = 1.3, head = 6, dash = [] }) {
    const angle = Math.atan2(toY - y, toX - x);
    const [endX, endY] = [toX - head * 0.8 * Math.cos(angle), toY - head * 0.8 * Math.sin(angle)];
    const stroke = (/** @type {string} */ style, /** @type {number} */ width) => {
        pen.strokeStyle = style;
        pen.lineWidth = width;
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(endX, endY);
        pen.stroke();
    };
    if (rim) stroke(rim, wide + 2.4);
    pen.setLineDash(dash);
    stroke(colour, wide);
    pen.setLineDash([]);
    if (!head) return;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(toX, toY);
    for (const side of [0.42, -0.42]) {
        pen.lineTo(toX - head * 1.5 * Math.cos(angle + side), toY - head * 1.5 * Math.sin(angle + side));
    }
    pen.fill();
}

/**
 * What travels: a small card with the number of the rank where its piece began.
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {{words: string, fill: string, edge: string, side: number}} how
 */
export function card(pen, x, y, { words, fill, edge, side }) {
    const wide = Math.max(side, words.length * 7 + 5) * (side < 10 ? side / 12 : 1);
    pen.fillStyle = fill;
    pen.strokeStyle = edge;
    pen.lineWidth = 1.3;
    pen.beginPath();
    pen.roundRect(x - wide / 2, y - side / 2, wide, side, Math.min(4, side / 3));
    pen.fill();
    pen.stroke();
    if (side >= 13) write(pen, words, x, y + 0.5, { fill: edge, align: "center", bold: true });
}
