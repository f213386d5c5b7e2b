/**
 * Text: how wide is a word, and how do shapes and bytes read?
 *
 * The same table of widths as in jt_edu/draw/text_metrics.py, so that a picture drawn in Python is the same as one
 * drawn here.
 * Nothing here knows a font, a browser or a graph.
 */

/** @typedef {{dtype?: unknown, shape?: readonly unknown[]}} Typed what has a shape and a dtype */

const MONO = 605; // widths in thousandths of the size of a letter: whole numbers, so that every machine sums alike
const PLAIN = 620;
const WIDTHS = new Map([
    ...each("'ijlI.,:;|! ", 340),
    ...each("ftr-()[]/\\{}·", 420),
    ...each("mwMW@%", 990),
    ...each("ABCDEFGHJKLNOPQRSTUVXYZ", 750),
    ...each("#+<=>~^&↑↓→×", 840),
]);
const WIDE =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{3ffff}]/u;
const ACCENT = /[\p{Mn}\p{Me}]/u;
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g; // as Python splits
const SIMPLE = /^(?:[!-~]+(?: [!-~]+)*)?$/; // most texts: nothing to clean
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Cn}]/gu;
const UNITS = ["B", "kB", "MB", "GB"];
const LARGEST = 1e30; // no axis is longer

const ASCII = Array.from({ length: 128 }, (_, code) => otherWidth(String.fromCharCode(code)));
/** @type {Map<number, string>} */
const SIZES = new Map(); // graphs repeat the same few sizes

/** @type {Readonly<Record<string, string>>} What the kinds of nodes are called. */
export const KINDS = {
    elementwise: "elementwise",
    reindex: "reindex",
    reindex_reduce: "reindex reduce",
    source: "source",
    input: "input",
    constant: "constant",
    index: "index",
    code: "code",
    hostcall: "host call",
    kernel: "kernel",
    module: "module",
    line: "line",
    repeat: "repeat",
    part: "part",
};

/**
 * @param {string} characters
 * @param {number} width
 * @returns {[string, number][]}
 */
function each(characters, width) {
    return [...characters].map((one) => [one, width]);
}

/**
 * How wide a text is, in pixels. Styles: plain, bold, mono, caps (which is written in capitals, spaced).
 * @param {string} text
 * @param {number} size of the letters, in pixels
 * @param {"plain" | "bold" | "mono" | "caps"} [style]
 * @returns {number}
 */
export function width(text, size, style = "plain") {
    let total = 0;
    for (const one of style === "caps" ? text.toUpperCase() : text) {
        total += style === "mono" ? MONO * cells(one) : plainWidth(one) + (style === "caps" ? 700 : 0);
    }
    return (size * (style === "bold" ? 1.06 : 1.0) * total) / 10_000;
}

/** @param {string} character @returns {number} ten-thousandths of the size of a letter */
function plainWidth(character) {
    const code = character.charCodeAt(0);
    return code < 128 ? ASCII[code] : otherWidth(character);
}

/** @param {string} character @returns {number} */
function otherWidth(character) {
    const known = WIDTHS.get(character);
    return known === undefined ? PLAIN * cells(character) : 10 * known;
}

/** @param {string} character @returns {number} tenths of a letter: 0 for an accent that stands on one */
function cells(character) {
    if (character < "\u0300") {
        return 10;
    }
    return ACCENT.test(character) ? 0 : WIDE.test(character) ? 17 : 12;
}

/**
 * Any value as one line that can be written as XML, and that cannot turn the direction of writing.
 * @param {unknown} value
 * @returns {string}
 */
export function clean(value) {
    if (typeof value === "number") {
        return String(value);
    }
    const text = value === null || value === undefined ? "" : String(value);
    return SIMPLE.test(text) ? text : text.replace(SPACES, " ").replace(/^ | $/g, "").replace(FORBIDDEN, "\ufffd");
}

/**
 * The text, or its beginning and an ellipsis.
 * @param {string} text
 * @param {number} limit in characters
 * @returns {string}
 */
export function cut(text, limit) {
    if (text.length <= limit) {
        return text;
    }
    const letters = Array.from(text.slice(0, 2 * limit + 2));
    return letters.length <= limit ? text : `${letters.slice(0, limit - 1).join("").trimEnd()}…`;
}

/**
 * What NumPy's users read: (2, 3) float32.
 * @param {Typed} node
 * @returns {string}
 */
export function shapeText(node) {
    return `${tupleText(node.shape ?? [])} ${clean(node.dtype)}`.trimEnd();
}

/**
 * A shape as Python writes it: (), (3,), (2, 3).
 * @param {readonly unknown[]} shape
 * @returns {string}
 */
export function tupleText(shape) {
    const sizes = shape.map(clean);
    return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

/**
 * How many bytes a value takes; 0 where the dtype does not say how long a number is.
 * @param {Typed} node
 * @returns {number}
 */
export function bytesOf(node) {
    const dtype = clean(node.dtype);
    const bits = /(\d{1,4})_?$/.exec(dtype);
    let size = bits ? Math.floor(Number(bits[1]) / 8) : dtype.startsWith("bool") ? 1 : 0;
    for (const length of node.shape ?? []) {
        size *= Number.isInteger(length) ? Math.min(Number(length), LARGEST) : 0;
    }
    return size < LARGEST ** 9 ? size : 0;
}

/**
 * A number of bytes in words: 24 B, 1.5 kB, 3.2 MB; nothing for none.
 * @param {number} size
 * @returns {string}
 */
export function sizeText(size) {
    let text = SIZES.get(size);
    if (text === undefined) {
        text = size ? inUnits(size) : "";
        if (SIZES.size < 1000) {
            SIZES.set(size, text);
        }
    }
    return text;
}

/** @param {number} size @returns {string} */
function inUnits(size) {
    let unit = 0;
    for (; unit < UNITS.length - 1 && size >= 999.5; unit += 1) {
        size /= 1000;
    }
    return `${size < 1000 ? threeDigits(size) : grouped(roundEven(size))} ${UNITS[unit]}`;
}

/** @param {number} size @returns {string} three digits; just between two the even one, as in Python */
function threeDigits(size) {
    const digits = size.toPrecision(60).replace(/[^\d]/g, "").replace(/^0+/, "");
    const between = /^\d\d[02468]50*$/.test(digits);
    const text = size.toPrecision(between ? 4 : 3);
    return String(Number(between ? text.slice(0, -1) : text));
}

/**
 * The nearest whole number; what lies just between two goes to the even one, as in Python.
 * @param {number} number
 * @returns {number}
 */
export function roundEven(number) {
    const low = Math.floor(number);
    const over = number - low;
    return over > 0.5 || (over === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/**
 * Thousands apart: 5,000.
 * @param {number} number
 * @returns {string}
 */
export function grouped(number) {
    const [whole, ...part] = String(Number.isInteger(number) ? BigInt(number) : number).split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...part].join(".");
}

/**
 * How many of something: 1 node, 5,000 nodes.
 * @param {number} number
 * @param {string} noun
 * @param {string} [plural]
 * @returns {string}
 */
export function count(number, noun, plural = `${noun}s`) {
    return `${grouped(number)} ${number === 1 ? noun : plural}`;
}
