// Functions: the counter that keeps them short sees all kinds of them, and is not misled by strings.

import assert from "node:assert/strict";
import { test } from "node:test";
import { functions } from "./functions.mjs";

test("functions, methods and arrows are found, loops are not", () => {
    const source = [
        "function one(a) {", "    if (a) {", "        return 1;", "    }", "}",
        "class Two {", "    get three() {", "        return 3;", "    }", "}",
        "const four = (a) =>", "    five(", "        a);",
    ].join("\n"); // prettier-ignore

    assert.deepEqual(functions(source), [[1, 5], [7, 3], [11, 3]]);
});

test("brackets in strings, patterns, comments and templates open nothing", () => {
    const source = [
        "const a = () => \"{\";", "const b = (x) => x / /[/{]/.exec(x) / 2; // {", "/* { */",
        "const c = (x) => {", "    return `{${x.map((y) => `${y}}`)}", "{`;", "};",
    ].join("\n"); // prettier-ignore

    assert.deepEqual(functions(source), [[1, 1], [2, 1], [4, 4], [5, 1]]);
});
