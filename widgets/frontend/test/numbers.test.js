// Numbers read as Python's half writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, count, grouped, millisText, numberText, shapeText } from "../src/numbers.js";

test("bytes have three digits and a unit", () => {
    const cases = [
        [0, "0 B"], [24, "24 B"], [999, "999 B"], [999.6, "1 kB"], [1500, "1.5 kB"], [3_210_000, "3.21 MB"],
        [7e15, "7,000,000 GB"],
    ]; // prettier-ignore
    for (const [size, text] of cases) assert.equal(bytesText(size), text);
});

test("times have the unit that suits them", () => {
    const cases = [
        [0, "0 ms"], [0.0123, "12.3 µs"], [0.9994, "999 µs"], [0.9996, "1 ms"], [4.561, "4.56 ms"], [1234, "1.23 s"],
    ]; // prettier-ignore
    for (const [ms, text] of cases) assert.equal(millisText(ms), text);
});

test("numbers have four digits, and what is no number has its name", () => {
    const cases = [
        [0, "0"], [1, "1"], [-2.34567, "-2.346"], [12345.6, "12,350"], [1e-7, "1e-7"], [1.23456e20, "1.235e20"],
        [0.5, "0.5"], [NaN, "nan"], [Infinity, "inf"], [-Infinity, "-inf"], ["nan", "nan"], ["inf", "inf"],
        ["-inf", "-inf"], [null, "–"],
    ]; // prettier-ignore
    for (const [value, text] of cases) assert.equal(numberText(value), text);
});

test("one is singular, thousands stand apart", () => {
    assert.equal(count(1, "node"), "1 node");
    assert.equal(count(0, "node"), "0 nodes");
    assert.equal(count(5000, "entry", "entries"), "5,000 entries");
    assert.equal(grouped(1234567.25), "1,234,567.25");
    assert.equal(grouped(-1234), "-1,234");
    assert.equal(grouped(1e21), "1,000,000,000,000,000,000,000");
});

test("shapes are Python's tuples", () => {
    assert.deepEqual([[], [3], [2, 3]].map(shapeText), ["()", "(3,)", "(2, 3)"]);
});

test("what has no number of its own is shown in its words", () => {
    assert.deepEqual(["1+2j", "array (3,)", "nan", NaN].map(numberText), ["1+2j", "array (3,)", "nan", "nan"]);
});
