// Tables: the equivalent of a view for who reads in rows.

/** @import { Table } from "./types.js" */

import { h } from "./dom.js";
import { grouped } from "./numbers.js";

const MOST_ROWS = 1000;

/**
 * A table with its caption; of a very long one the beginning, which the caption says.
 * @param {Table} table
 * @param {string} title
 * @returns {HTMLElement}
 */
export function tableOf({ columns, rows }, title) {
    const shown = rows.slice(0, MOST_ROWS);
    const some = rows.length > MOST_ROWS ? `: showing ${grouped(MOST_ROWS)} of ${grouped(rows.length)} rows` : "";
    const lines = shown.map((row) => h("tr", {}, row.map(cell)));
    return framed(columns, lines, "", h("caption", {}, `${title} as a table${some}`));
}

/**
 * Rows with the head of a table above them.
 * @param {string[]} columns
 * @param {HTMLTableRowElement[]} lines
 * @param {string} [look] class of the table
 * @param {HTMLElement | null} [caption]
 * @returns {HTMLTableElement}
 */
export function framed(columns, lines, look = "", caption = null) {
    const head = h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)));
    return h("table", look, caption, h("thead", {}, head), h("tbody", {}, lines));
}

/** @param {string | number} value */
function cell(value) {
    return typeof value === "number" ? h("td", "jt-number", grouped(value)) : h("td", {}, value);
}
