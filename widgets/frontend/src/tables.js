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
    return h("table", {},
        h("caption", {}, `${title} as a table${some}`),
        h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, shown.map((row) => h("tr", {}, row.map(cell)))),
    );
}

/** @param {string | number} value */
function cell(value) {
    return typeof value === "number" ? h("td", { class: "jt-number" }, grouped(value)) : h("td", {}, value);
}
