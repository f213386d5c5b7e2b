/** Reads cases from a file, works their times out again, and prints where they differ from what each case wants.

    node test/replayed.mjs CASES.json      [{name, page: {ranks}, network, want: {enter: [...], sent: [...], ...}}]
*/

import { readFileSync } from "node:fs";

import { runOf } from "../src/views/ranks/model.js";
import { replay } from "../src/views/ranks/replay.js";

const cases = process.argv[2] ? JSON.parse(readFileSync(process.argv[2], "utf8")) : [];
for (const { name, page, network, want } of cases) {
    const times = replay(runOf(page), network);
    for (const [key, values] of Object.entries(want)) {
        const wrong = values.findIndex((value, k) => value !== times[key][k]);
        if (wrong >= 0) console.log(`${name}: ${key}[${wrong}] is ${times[key][wrong]} and not ${values[wrong]}`);
    }
}
