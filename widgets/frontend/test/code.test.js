// Code: the pieces of a line, and its colours of numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { folds, pieces } from "../src/code.js";
import { colours } from "../src/heat.js";

test("a line falls into its pieces and nothing is lost", () => {
    const found = pieces("for i in x:", [[1, 6, 8, "k"], [1, 0, 3, "k"]]);

    assert.deepEqual(found, [["for", "k"], [" i ", ""], ["in", "k"], [" x:", ""]]);
    assert.deepEqual(pieces("", []), []);
    assert.deepEqual(pieces("plain", []), [["plain", ""]]);
});

test("spans that overlap, run over the end or turn back lose no letter", () => {
    const odd = [[1, 0, 4, "k"], [1, 2, 9, "s"], [1, 5, 5, "m"], [1, 6, 99, "c"]];

    assert.equal(pieces("abcdefgh", odd).map(([text]) => text).join(""), "abcdefgh");
});

test("of a docstring the first line stays, and one that is short is not folded", () => {
    const long = ['"""What it does.', "", "A picture.", '"""'];
    const lines = [...long, "x = 1", '"""one line"""', "def f():", '    """Two', '    """'];

    assert.deepEqual(folds(lines), [[0, 3]]);
    assert.deepEqual(folds(['"""It never', "ends", "here"]), []);
});

test("of a long source so many lines are shown, docstrings counted as one, and a few more are no fold", () => {
    const lines = ['"""a', "b", 'c"""', ...Array.from({ length: 20 }, (_, k) => `x${k}`)];

    assert.deepEqual(folds(lines, 8), [[0, 2], [9, 22]]);
    assert.deepEqual(folds(lines, 20), [[0, 2]]);
});

test("numbers of one sign run from dark to light, of both around grey", () => {
    const [one, both] = [colours([1, 2, 3]), colours([-1, 0, 4])];

    assert.equal(one(1), "#440154");
    assert.equal(one(3), "#fde725");
    assert.equal(both(0), "#d9d9d6");
    assert.equal(both(4), "#9c4f00");
    assert.equal(colours([5, 5])(5), colours([0])(0));
    assert.match(colours([NaN, Infinity])(1), /^#[0-9a-f]{6}$/);
});
