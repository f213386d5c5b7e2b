/**
 * How long does a layout take? Prints the least of fifteen runs, in milliseconds of the CPU.
 *
 *     node test/speed.mjs
 */

import { compose } from "../src/graph/scene.js";
import { view } from "../src/graph/view.js";
import { network, training } from "./graphs.js";

const RUNS = 15;

/** @param {string} name @param {() => import("../src/graph/scene.js").Scene} work */
function measure(name, work) {
    let least = Infinity;
    let cards = 0;
    for (let run = 0; run < RUNS; run += 1) {
        const begin = process.cpuUsage();
        cards = work().cards.length;
        const used = process.cpuUsage(begin);
        least = Math.min(least, (used.user + used.system) / 1000);
    }
    console.log(`${name}: ${least.toFixed(1)} ms, ${cards} cards`);
}

const large = training(5000);
const deep = network(8);
measure(`${large.nodes.length} nodes, all open`, () => compose(view(large, { group: "none", most: Infinity })));
measure(`${deep.nodes.length} nodes in modules, closed`, () => compose(view(deep, { group: "module", open: [] })));
measure(`${deep.nodes.length} nodes in modules, at first`, () => compose(view(deep, { group: "module" })));
