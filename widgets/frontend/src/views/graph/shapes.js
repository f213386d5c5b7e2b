// Shapes: which outline has a box, and which way does a line take? The same as in jt_edu/draw/svg.py.
//
//     (source)   [elementwise]   /reindex/   \reduce/   <index>   [|host call|]   [[several]]
//
// Outlines tell the kinds apart; colours only repeat it. Everything here is the text of a path.

/** @typedef {[number, number]} Point */

const SLANT = 12; // of a card that is 46 pixels high
const HIGH = 46;
const CORNER = 5;

/**
 * The outline of a box of some kind.
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @returns {string}
 */
export function outline(kind, x, y, w, h) {
    const slant = (SLANT * h) / HIGH;
    const [right, low, middle] = [x + w, y + h, y + h / 2];
    switch (kind) {
        case "source":
            return pill(x, y, w, h, h / 2);
        case "elementwise":
        case "gradient":
            return pill(x, y, w, h, 9);
        case "line":
            return pill(x, y, w, h, 3) + `M${n(x)} ${n(y + 4)}h${n(w)}`;
        case "kernel":
        case "module":
        case "part":
        case "repeat":
        case "input": {
            const radius = kind === "input" ? h / 2 - 2 : 9;
            return pill(x + 4, y + 4, w - 4, h - 4, radius) + pill(x, y, w - 4, h - 4, radius);
        }
        case "hostcall":
            return `${pill(x, y, w, h, 4)}M${n(x + 8)} ${n(y)}v${n(h)}M${n(right - 8)} ${n(y)}v${n(h)}`;
        case "reindex":
            return polygon([[x + slant, y], [right, y], [right - slant, low], [x, low]]);
        case "reindex_reduce":
            return polygon([[x, y], [right, y], [right - slant, low], [x + slant, low]]);
        case "code":
            return polygon([[x, y], [right - slant, y], [right, y + slant], [right, low], [x, low]]);
        default:
            return polygon([
                [x, middle], [x + slant, y], [right - slant, y],
                [right, middle], [right - slant, low], [x + slant, low],
            ]); // prettier-ignore
    }
}

/**
 * A rectangle with round corners.
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} radius
 * @returns {string}
 */
export function pill(x, y, w, h, radius) {
    const r = Math.min(radius, w / 2, h / 2);
    const [across, down] = [n(w - 2 * r), n(h - 2 * r)];
    /** @param {number} dx @param {number} dy */
    const turn = (dx, dy) => `a${n(r)} ${n(r)} 0 0 1 ${n(dx * r)} ${n(dy * r)}`;
    const first = `h${across}${turn(1, 1)}v${down}${turn(-1, 1)}`;
    return `M${n(x + r)} ${n(y)}${first}h-${across}${turn(-1, -1)}v-${down}${turn(1, -1)}z`;
}

/**
 * A way through points: straight, bent, straight, bent, …, straight.
 * @param {readonly Point[]} points
 * @returns {string}
 */
export function way(points) {
    let [x, y] = points[0];
    let text = `M${n(x)} ${n(y)}`;
    for (const [px, py] of points.slice(1)) {
        if (Math.abs(px - x) < 0.5) {
            text += `V${n(py)}`;
        } else {
            const middle = n((y + py) / 2);
            text += `C${n(x)} ${middle} ${n(px)} ${middle} ${n(px)} ${n(py)}`;
            x = px;
        }
        y = py;
    }
    return text;
}

/**
 * An arc from one place to a far one, to show where a line would go that is not drawn.
 * @param {Point} from
 * @param {Point} to
 * @returns {string}
 */
export function arc([x, y], [px, py]) {
    const aside = Math.min(160, 40 + Math.abs(py - y) / 4);
    const edge = Math.max(x, px) + aside;
    return `M${n(x)} ${n(y)}C${n(edge)} ${n(y)} ${n(edge)} ${n(py)} ${n(px)} ${n(py)}`;
}

/**
 * Straight sides, round corners.
 * @param {Point[]} corners
 * @returns {string}
 */
function polygon(corners) {
    const parts = corners.map(([x, y], k) => {
        const [before, after] = [corners.at(k - 1) ?? [0, 0], corners[(k + 1) % corners.length]].map(([px, py]) => {
            const length = Math.hypot(px - x, py - y) || 1;
            return `${n(x + ((px - x) * CORNER) / length)} ${n(y + ((py - y) * CORNER) / length)}`;
        });
        return `${k ? "L" : "M"}${before}Q${n(x)} ${n(y)} ${after}`;
    });
    return `${parts.join("")}Z`;
}

/** @param {number} value */
function n(value) {
    return `${Math.round(value * 10) / 10}`;
}
