// Functions: how many lines has each function of some files?
//
//     node test/functions.mjs 40 src test      every function of more than 40 lines as "path:line: lines", then a sum
//
// It reads words, brackets, strings and patterns, and no grammar: a body follows "=>", or the ")" of a list of
// parameters, which is a ")" whose "(" follows no if, for, while, switch, catch. Without arguments, it says nothing.

import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** @typedef {{text: string, line: number, mate: number}} Token `mate`: the bracket that belongs to it */

const PIECE = /\s+|\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|[\w$#]+|=>|[^]/y;
const PATTERN = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;
const VALUE = /[\w$)\]}"`]$/; // after it, a slash divides
const BEFORE_VALUE = new Set(["return", "typeof", "case", "of", "in", "await", "void"]);
const CONTROL = new Set(["if", "for", "while", "switch", "catch", "await"]);
const OPENS = new Set(["(", "[", "{", "${"]);
const CLOSES = new Set([")", "]", "}"]);
const ENDS = new Set([",", ";"]);

/**
 * First line and number of lines of each function.
 * @param {string} source
 * @returns {[number, number][]}
 */
export function functions(source) {
    const tokens = tokensOf(source);
    return tokens.flatMap((token, place) => {
        const span = token.text === "=>" ? arrow(tokens, place) : body(tokens, place);
        return span ? [[span[0], span[1] - span[0] + 1]] : [];
    });
}

/** @param {Token[]} tokens @param {number} place of "=>" */
function arrow(tokens, place) {
    const [before, after] = [tokens[place - 1], tokens[place + 1]];
    const first = before.text === ")" ? tokens[before.mate] : before;
    const last = after.text === "{" ? after.mate : endOf(tokens, place + 1);
    return [first.line, tokens[last].line];
}

/** @param {Token[]} tokens @param {number} place of a bracket that may open the body of a function or a method */
function body(tokens, place) {
    const [before, here] = [tokens[place - 1], tokens[place]];
    if (here.text !== "{" || before?.text !== ")") return null;
    const name = tokens[before.mate - 1];
    return CONTROL.has(name.text) ? null : [name.line, tokens[here.mate].line];
}

/** @param {Token[]} tokens @param {number} place where a value begins: where does it end? */
function endOf(tokens, place) {
    let at = place;
    while (!ENDS.has(tokens[at].text) && !CLOSES.has(tokens[at].text)) {
        at = OPENS.has(tokens[at].text) ? tokens[at].mate + 1 : at + 1;
    }
    return at - 1;
}

/** @param {string} source @returns {Token[]} without spaces and comments */
function tokensOf(source) {
    /** @type {Token[]} */
    const tokens = [];
    /** @type {number[]} */
    const open = [];
    let [at, line] = [0, 1];
    while (at < source.length) {
        const text = pieceAt(source, at, tokens, open);
        if (!/^(\s|\/\/|\/\*)/.test(text)) add(tokens, open, text, line);
        line += text.split("\n").length - 1;
        at += text.length;
    }
    return tokens;
}

/** @param {string} source @param {number} at @param {Token[]} tokens @param {number[]} open */
function pieceAt(source, at, tokens, open) {
    const letter = source[at];
    if (letter === "`") return letter + match(TEMPLATE, source, at + 1);
    if (letter === "}" && tokens[open[open.length - 1]].text === "${") return letter + match(TEMPLATE, source, at + 1);
    const before = tokens[tokens.length - 1]?.text ?? "";
    const divides = VALUE.test(before) && !BEFORE_VALUE.has(before);
    return (letter === "/" && !divides && match(PATTERN, source, at)) || match(PIECE, source, at);
}

/** @param {RegExp} pattern @param {string} source @param {number} at */
function match(pattern, source, at) {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? "";
}

/**
 * A piece of a template is up to two brackets: what it closes, and what it opens.
 * @param {Token[]} tokens
 * @param {number[]} open places of the brackets that are open
 * @param {string} text
 * @param {number} line
 */
function add(tokens, open, text, line) {
    const last = line + text.split("\n").length - 1;
    if (CLOSES.has(text[0])) {
        const mate = open.pop();
        tokens[mate].mate = tokens.push({ text: text[0], line, mate }) - 1;
    }
    if (text.endsWith("${") || OPENS.has(text)) open.push(tokens.length);
    if (text.endsWith("${")) tokens.push({ text: "${", line: last, mate: -1 });
    else if (!CLOSES.has(text)) tokens.push({ text: CLOSES.has(text[0]) ? "`" : text, line: last, mate: -1 });
}

/** @param {string} path @returns {string[]} the files of a folder, and of those in it */
function filesIn(path) {
    if (!statSync(path).isDirectory()) return /\.m?js$/.test(path) ? [path] : [];
    return readdirSync(path).flatMap((name) => filesIn(join(path, name)));
}

const [most, ...paths] = process.argv.slice(2);
const found = paths.flatMap(filesIn).flatMap((path) => {
    return functions(readFileSync(path, "utf8")).map(([line, lines]) => ({ path, line, lines }));
});
for (const { path, line, lines } of found) if (lines > Number(most)) console.log(`${path}:${line}: ${lines} lines`);
const middle = found.map(({ lines }) => lines).sort((a, b) => a - b)[found.length >> 1];
if (most) console.log(`${found.length} functions, the median has ${middle} lines`);
