// jt_edu's views, as one module.
//
//     Jupyter      anywidget imports it once for each widget and calls `render`
//     a page       that View.save wrote runs it, and it draws the page's one view
//
// To add a view: import it here and put it into the list. The list names views without touching them: Python takes out
// of the module what the view at hand does not need (jt_widgets/bundle.py), and then the others are not there.

/** @import { Model, ViewKind } from "./types.js" */

import { mount } from "./shell.js";
import { start } from "./standalone.js";
import { explore } from "./views/explore.js";
import { fusion } from "./views/fusion.js";
import { graph } from "./views/graph.js";
import { kernel } from "./views/kernel.js";
import { loops } from "./views/loops.js";
import { memory } from "./views/memory.js";
import { ranks } from "./views/ranks.js";
import { roofline } from "./views/roofline.js";
import { table } from "./views/table.js";
import { tape } from "./views/tape.js";
import { train } from "./views/train.js";

/** @type {Record<string, () => ViewKind>} */
const KINDS = {
    explore: () => explore, fusion: () => fusion, graph: () => graph, kernel: () => kernel, loops: () => loops,
    memory: () => memory, ranks: () => ranks, roofline: () => roofline, table: () => table, tape: () => tape,
    train: () => train,
};

/**
 * Draw a widget into its cell.
 * @param {{model: Model, el: HTMLElement}} given
 * @returns {() => void}
 */
function render({ model, el }) {
    return mount(model, el, { kinds: KINDS, live: true, level: 3 });
}

start(KINDS);

export default { render };
