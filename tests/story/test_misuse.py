"""Misuse: whatever a learner writes, the answer is NumPy's or an error that helps, and the process lives on.

A row of the first table is refused: the error is of jt_edu's family and of the Python kind that a NumPy user expects;
its text holds the rule and the offending value, and a way out where the rule does not say it itself; it names the
learner's line where it is raised at run time. A row of the second table is odd, but has an answer: NumPy's. Stories
that need more than a line follow.
"""

import copy
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import (
    ArgumentError,
    BackendError,
    DtypeError,
    GradientError,
    KernelError,
    RangeError,
    ShapeError,
    UnknownNameError,
)  # fmt: skip
from jt_edu.ir.index_expr import load
from jt_edu.ir.meta_ops import HostCall
from jt_edu.ir.node import Node

F = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
I = np.array([[1, 2, 3], [4, 5, 6]])  # noqa: E741
V, N = np.array([1.0, 2.0, 3.0], np.float32), np.array([0, 1, 2, 3, 4, 5])
B, C = np.array([True, False]), np.array([1 + 2j, 3j])
R = np.arange(24.0).reshape(2, 3, 4)
NONE = np.zeros((0, 3), np.float32)  # rows of three, but no row
THREE = np.array(3.0)
nan, inf = math.nan, math.inf


class Row(NamedTuple):
    sentence: str
    call: object
    expected: object
    words: tuple = ()


def table(*rows):
    """Rows as test cases; each sentence is said once."""
    assert all(a < b for a, b in pairwise(sorted(row.sentence for row in rows))), "a sentence is there twice"
    return [pytest.param(row, id=row.sentence.replace(" ", "_")) for row in rows]


def refused(sentence, call, error, *words):
    """`call` raises `error` at once; its text holds `words`."""
    return Row(sentence, call, error, words)


def refused_when_run(sentence, call, error, *words):
    """Building is fine; computing raises, and names the line."""
    return Row(sentence, call, error, (*words, "test_misuse.py:"))


def var(a, dtype=None):
    return jt.array(a, dtype)


WINDOW = var(np.ones((1, 1, 3, 3), np.float32))


# ---------------------------------------------------------------------------------------------------------- refused


class Answers(jt.Function):
    """A Function whose gradient answers what it was told to."""

    def __init__(self, answer):
        self.answer = answer

    def execute(self, x):
        return x * 2

    def grad(self, dout):
        return self.answer(dout)


def function_grad(answer):
    x = var(V)
    return jt.grad(Answers(answer)(x).sum(), x)


def hooked(answer):
    x = var(V)
    x.register_hook(answer)
    return jt.grad((x * x).sum(), x)


def assigned(key, value, to=F):
    x = var(to)
    x[key] = value
    return x.numpy()


def set_flag(name, value):
    with jt.flag_scope(**{name: value}):
        pytest.fail("a wrong value is refused where it is set, and not by the first kernel")


def doubled(i):
    for _ in range(60):
        i = i + i
    return i


def names(sentence, operator, symbol):
    """Shapes that do not fit, for one operator."""
    return refused(
        f"{sentence} refuses shapes that do not fit",
        lambda: operator(var(I), var(N)),
        ShapeError,
        symbol,
        "(2, 3)",
        "(6,)",
    )


REFUSED = table(
    # shapes
    names("addition", lambda x, y: x + y, "add"),
    names("subtraction", lambda x, y: x - y, "subtract"),
    names("multiplication", lambda x, y: x * y, "multiply"),
    names("division", lambda x, y: x / y, "divide"),
    names("floor division", lambda x, y: x // y, "floor_divide"),
    names("the remainder", lambda x, y: x % y, "remainder"),
    names("the power", lambda x, y: x**y, "power"),
    names("a comparison", lambda x, y: x < y, "less"),
    names("equality", lambda x, y: x == y, "equal"),
    names("and", lambda x, y: x & y, "bitwise_and"),
    names("a shift", lambda x, y: x << y, "left_shift"),
    names("maximum", jt.maximum, "maximum"),
    names("a matrix product", lambda x, y: x @ y, "matmul"),
    names("where", lambda x, y: jt.where(x > 1, x, y), "where"),
    refused("a ragged list is no array", lambda: var([[1, 2], [3]]), ShapeError, "[[1, 2], [3]]"),
    refused("reshape keeps the number of elements", lambda: var(F).reshape(4), ShapeError, "(2, 3)", "(4,)", "6"),
    refused("reshape works out one length and no more", lambda: var(F).reshape(-1, -1), ShapeError, "(-1, -1)"),
    refused("reshape divides without a rest", lambda: var(F).reshape(4, -1), ShapeError, "(4, -1)"),
    refused("reshape takes no length of -2", lambda: var(F).reshape(-2, 3), ShapeError, "-2"),
    refused("reshape takes whole lengths", lambda: var(F).reshape(2.0, 3), ArgumentError, "2.0"),
    refused("broadcast_to repeats axes of length 1 only", lambda: var(F).broadcast_to((3, 3)), ShapeError, "(2, 3)",
     "(3, 3)"),
    refused("broadcast_to drops no axis", lambda: var(F).broadcast_to((3,)), ShapeError, "(2, 3)", "(3,)"),
    refused("a length is not negative", lambda: jt.zeros(2, -3), ShapeError, "(2, -3)"),
    refused("a length is whole", lambda: jt.zeros(2, 1.5), ShapeError, "1.5"),
    refused("concat needs all other axes to be equal", lambda: jt.concat([var(F), var(V)]), ShapeError,
            "(2, 3)", "(3,)"),
    refused("concat of nothing has no shape", lambda: jt.concat([]), ArgumentError, "[]"),
    refused("concat takes a list", lambda: jt.concat(5), ArgumentError, "5"),
    refused("stack needs equal shapes", lambda: jt.stack([var(F), var(V)]), ShapeError, "(2, 3)", "(3,)"),
    refused("stack of nothing has no shape", lambda: jt.stack([]), ArgumentError, "[]"),
    refused("split covers the axis", lambda: var(F).split([1, 2]), ShapeError, "[1, 2]", "2"),
    refused("split takes a whole size", lambda: var(F).split(1.5), ArgumentError, "1.5"),
    refused("split takes a positive size", lambda: var(F).split(0), ArgumentError, "0"),
    refused("chunk takes a whole number", lambda: var(F).chunk(1.5), ArgumentError, "1.5"),
    refused("pad takes pairs", lambda: var(F).pad((1,)), ShapeError, "(1,)"),
    refused("pad takes whole widths", lambda: var(F).pad((0.5, 1)), ArgumentError, "0.5"),
    refused("cropping more than there is makes no sense", lambda: var(F).pad((-2, -2)), ShapeError, "(-2, -2)"),
    refused("repeat takes whole counts", lambda: var(F).repeat(1.5), ArgumentError, "1.5"),
    refused("squeeze removes axes of length 1", lambda: var(F).squeeze(0), ShapeError, "(2, 3)"),
    refused("scalars have no matrix product", lambda: var(THREE) @ var(THREE), ShapeError, "()"),
    refused("0-d Vars cannot be joined end to end", lambda: jt.concat([var(THREE), var(THREE)]), RangeError, "0 axes"),
    refused("assign keeps the shape", lambda: var(F).assign(V), ShapeError, "(3,)", "(2, 3)"),
    refused("in-place arithmetic cannot grow a Var", lambda: var(V).__iadd__(var(F)), ShapeError, "(2, 3)", "(3,)"),
    refused("a convolution needs images", lambda: jt.conv2d(jt.ones(3, 3), jt.ones(1, 1)), ShapeError, "(3, 3)"),
    refused("a window fits into the image", lambda: jt.conv2d(WINDOW, jt.ones(1, 1, 4, 4)), ShapeError, "4", "3"),
    refused("a stride of 0 goes nowhere", lambda: jt.conv2d(WINDOW, WINDOW, stride=0), ArgumentError, "0"),
    refused("groups must divide the channels", lambda: jt.conv2d(WINDOW, WINDOW, groups=2), ArgumentError, "2"),
    refused("weights see all channels", lambda: jt.conv2d(WINDOW, jt.ones(1, 3, 2, 2)), ShapeError, "3"),
    # dtypes
    refused("bools are not subtracted", lambda: var(B) - var(B), DtypeError, "bool"),
    refused("bools have no sign", lambda: -var(B), DtypeError, "bool"),
    refused("floats have no bits to and", lambda: var(F) & 1, DtypeError, "float32"),
    refused("floats have no bits to or", lambda: var(F) | var(F), DtypeError, "float32"),
    refused("floats have no bits to invert", lambda: ~var(F), DtypeError, "float32"),
    refused("floats are not shifted", lambda: var(F) << 1, DtypeError, "float32"),
    refused("complex numbers have no order", lambda: var(C) < var(C), DtypeError, "complex128"),
    refused("complex numbers have no maximum", lambda: jt.maximum(var(C), var(C)), DtypeError, "complex128"),
    refused("complex numbers have no largest one", lambda: var(C).max(), DtypeError, "complex128"),
    refused("complex numbers are not rounded down", lambda: var(C) // 2, DtypeError, "complex128"),
    refused("an array of strings holds no numbers", lambda: var(np.array(["a"])), DtypeError, "<U1"),
    refused("a list of strings holds no numbers", lambda: var(["a", "b"]), DtypeError, "['a', 'b']"),
    refused("an array of objects holds no numbers", lambda: var(np.array([1], object)), DtypeError, "object"),
    refused("a list of objects holds no numbers", lambda: var([{}]), DtypeError, "[{}]"),
    refused("None is no number", lambda: var(F) + None, DtypeError, "None"),
    refused("text is no number", lambda: var(F) + "abc", DtypeError, "abc"),
    refused("times are no numbers", lambda: var(np.array([0], "datetime64[s]")), DtypeError, "datetime64"),
    refused("numbers of 128 bits are not known", lambda: var(np.zeros(1, np.longdouble)), DtypeError, "float128"),
    refused("a whole number of 71 bits has no dtype", lambda: var(2**70), DtypeError, str(2**70)),
    refused("a constant must fit its partner", lambda: var([1], "uint8") + 300, DtypeError, "300", "0 to 255"),
    refused("a negative constant does not fit unsigned numbers", lambda: var([1], "uint8") * -1, DtypeError, "-1",
     "uint8"),
    refused("a huge constant does not fit int64", lambda: var(I) + 2**70, DtypeError, str(2**70), "int64"),
    refused("a constant beyond every float is none", lambda: var(F) * 10**400, DtypeError, "1000"),
    refused("a whole number to a negative power is a fraction", lambda: var(I) ** -1, DtypeError, "int64 ** -1"),
    refused("an unknown dtype is none", lambda: var(F).cast("float31"), DtypeError, "float31"),
    refused("None is no dtype", lambda: var(F).cast(None), DtypeError, "None"),
    refused("a list is no dtype", lambda: var(F).cast([1]), DtypeError, "[1]"),
    refused("object is no dtype", lambda: var(F).cast(object), DtypeError, "object"),
    refused("a complex number is not put into a real Var", lambda: assigned(0, 1j), DtypeError, "complex64"),
    refused("from_numpy shares arrays only", lambda: jt.from_numpy([1, 2]), DtypeError, "list"),
    refused("from_numpy shares no array of strings", lambda: jt.from_numpy(np.array(["a"])), DtypeError, "<U1"),
    refused("from_numpy shares no transposed array", lambda: jt.from_numpy(F.T), ArgumentError, "(3, 2)", "jt.array"),
    refused("one_hot takes whole numbers", lambda: jt.one_hot(var(V), 3), DtypeError, "float32"),
    refused("one_hot takes a whole number of classes", lambda: jt.one_hot(var(N), 1.5), ArgumentError, "1.5"),
    refused("one_hot takes no negative number of classes", lambda: jt.one_hot(var(N), -3), ArgumentError, "-3"),
    refused("class numbers are whole", lambda: jt.nll_loss(var(F), var([0.0, 1.0])), DtypeError, "float32"),
    refused("each row of scores has one class", lambda: jt.nll_loss(var(F), var([0])), ShapeError, "(2, 3)", "(1,)"),
    # axes
    refused("an axis is there to be summed", lambda: var(F).sum(2), RangeError, "axis 2", "-2 to 1"),
    refused("a negative axis is there to be summed", lambda: var(F).sum(-3), RangeError, "axis -3"),
    refused("no axis is summed twice", lambda: var(F).sum((0, 0)), ArgumentError, "(0, 0)"),
    refused("an axis is not named from both ends", lambda: var(F).mean((0, -2)), ArgumentError, "(0, -2)"),
    refused("an axis is a whole number", lambda: var(F).sum(1.0), ArgumentError, "1.0"),
    refused("an axis is no text", lambda: var(F).max("rows"), ArgumentError, "rows"),
    refused("max names itself when an axis is wrong", lambda: var(F).max(5), RangeError, "max", "axis 5"),
    refused("axes are given once", lambda: var(F).sum(dim=0, axis=0), ArgumentError, "sum", "axis"),
    refused("argmax takes one axis", lambda: var(F).argmax((0, 1)), ArgumentError, "(0, 1)"),
    refused("softmax needs its axis", lambda: jt.softmax(var(F), 2), RangeError, "axis 2"),
    refused("permute names each axis once", lambda: var(F).permute(0, 0), ShapeError, "(0, 0)"),
    refused("permute names all axes", lambda: var(F).permute(0), ShapeError, "(0,)"),
    refused("flip needs its axis", lambda: var(F).flip(2), RangeError, "axis 2"),
    refused("unsqueeze adds within the shape", lambda: var(F).unsqueeze(4), RangeError, "axis 4"),
    refused("flatten goes forwards", lambda: var(F).flatten(1, 0), ArgumentError, "1", "0"),
    refused("0-d Vars have no second axis to sum", lambda: var(THREE).sum(1), RangeError, "axis 1"),
    refused("0-d Vars have no softmax along a second axis", lambda: jt.softmax(var(THREE), 1), RangeError, "axis 1"),
    refused("an index counter needs its axis", lambda: jt.index((2, 3), 5), ArgumentError, "5"),
    # nothing
    refused("nothing has no largest element", lambda: var(NONE).max(), ShapeError, "(0, 3)"),
    refused("an empty column has no smallest element", lambda: var(NONE).min(0), ShapeError, "(0, 3)"),
    refused("nothing has no argmax", lambda: var(NONE).argmax(), ShapeError, "max"),
    # indices
    refused("an index lies inside its axis", lambda: var(F)[2], RangeError, "2", "(2, 3)"),
    refused("a negative index lies inside its axis", lambda: var(F)[-3], RangeError, "-3"),
    refused("an index of 71 bits lies outside", lambda: var(F)[2**70], RangeError, str(2**70)),
    refused("there are no more indices than axes", lambda: var(F)[0, 0, 0], RangeError, "3", "2 axes"),
    refused("a scalar has no element 0", lambda: var(THREE)[0], RangeError, "0 axes"),
    refused("nothing has no first row", lambda: var(NONE)[0], RangeError, "0"),
    refused("one ellipsis is enough", lambda: var(F)[..., ...], ArgumentError, "2"),
    refused("an index is no float", lambda: var(F)[1.0], ArgumentError, "1.0"),
    refused("an index is no text", lambda: var(F)["a"], ArgumentError, "'a'"),
    refused("a slice is made of whole numbers", lambda: var(F)[:1.5], ArgumentError, "1.5"),
    refused("a slice moves", lambda: var(F)[::0], ArgumentError, "0"),
    refused("index arrays are whole", lambda: var(F)[var([0.0])], DtypeError, "float32"),
    refused("index arrays fit each other", lambda: var(F)[[0, 1], [0, 1, 2]], ShapeError, "(2,)", "(3,)"),
    refused("a mask is as long as its axis", lambda: var(F)[np.array([True, False, False])], RangeError, "(3,)",
     "(2,)"),
    refused("a mask has the shape of its axes", lambda: var(F)[np.ones((3, 2), bool)], RangeError, "(3, 2)", "(2, 3)"),
    refused("a mask has no more axes than its Var", lambda: var(F)[np.ones((2, 3, 1), bool)], RangeError, "3"),
    refused("assignment fits the brackets", lambda: assigned(0, [1, 2]), ShapeError, "(2,)", "(3,)"),
    refused("assignment through a mask fits it", lambda: assigned(F > 2, [1, 2, 3]), ShapeError, "(3,)", "(4,)"),
    refused("assignment lies inside the axis", lambda: assigned(5, 1), RangeError, "5"),
    refused("gather takes whole positions", lambda: var(F).gather(0, var([[0.0]])), DtypeError, "float32"),
    refused("gather's index has the axes of its Var", lambda: var(F).gather(0, var([0])), ShapeError, "(1,)", "(2, 3)"),
    refused("scatter knows its reductions", lambda: var(F).scatter(0, [[0]], [[1.0]], "max"), ArgumentError, "'max'"),
    refused("scatter has something to write at each index", lambda: var(F).scatter(1, [[0, 1]], var([[1.0]])),
     ShapeError, "(1, 1)", "(1, 2)"),
    refused_when_run("an index array lies inside the axis", lambda: var(F)[[0, 5]], RangeError, "5", "-2 to 1"),
    refused_when_run("a negative index array lies inside the axis", lambda: var(F)[var([0, -3])], RangeError, "-3"),
    refused_when_run("a computed index lies inside the axis", lambda: var(F)[var(N).argmax() + 5], RangeError, "10"),
    refused_when_run("a computed index array lies inside the axis", lambda: var(F)[var(N) - 3], RangeError, "-3"),
    refused_when_run("nothing has no row to look up", lambda: var(NONE)[var([0])], RangeError, "0"),
    refused_when_run("a computed place to assign lies inside", lambda: assigned(var(N).argmax() + 5, 1), RangeError,
     "10"),
    refused_when_run("gather stays inside", lambda: var(F).gather(0, var([[0, 1, 5]])), RangeError, "5"),
    refused_when_run("scatter stays inside", lambda: var(F).scatter(0, var([[9]]), var([[1.0]])), RangeError, "9"),
    refused_when_run("class numbers stay inside the scores", lambda: jt.cross_entropy_loss(var(F), var([0, 7])),
     RangeError, "7"),
    # reindex
    refused("reindex needs an index for each axis", lambda: var(F).reindex((2,), lambda i: (i,)), ArgumentError,
     "(2, 3)", "i0"),
    refused("reindex takes no index too many", lambda: var(F).reindex((2, 3), lambda i, j: (i, j, i)), ArgumentError,
     "3"),
    refused("an index function takes the counters of the result", lambda: var(F).reindex((2, 2), lambda i: (i, i)),
     ArgumentError, "2"),
    refused("an index function of one counter too few", lambda: var(F).reindex((2, 3), lambda i: (i, i)), ArgumentError,
     "takes one counter per axis of the result, here 2"),
    refused("an index function answers counters", lambda: var(F).reindex((2, 3), lambda i, j: (i, "a")), ArgumentError,
     "'a'"),
    refused("an index function answers no floats", lambda: var(F).reindex((2, 3), lambda i, j: (i, 1.5)), ArgumentError,
     "1.5"),
    refused("an index function divides with two slashes", lambda: var(F).reindex((2, 3), lambda i, j: (i / 2, j)),
     ArgumentError, "whole numbers", "i // 2"),
    refused("a counter is neither true nor false", lambda: var(F).reindex((2, 3), lambda i, j: (i if i > 0 else j, j)),
     ArgumentError, "0 < i0", "both"),
    refused("an index is not divided by zero", lambda: var(F).reindex((2, 3), lambda i, j: (i, j // 0)).numpy(),
     ArgumentError, "0"),
    refused("an index is not divided by what can be zero",
     lambda: var(F).reindex((2, 3), lambda i, j: (i // j, j)).numpy(), ArgumentError, "i1"),
    refused("an index text is not divided by zero", lambda: var(F).reindex((2, 3), ["i0", "i1/0"]).numpy(),
     ArgumentError, "0"),
    refused("an index text needs all its axes", lambda: var(F).reindex((2, 3), ["i0"]), ArgumentError, "(2, 3)"),
    refused("an index text knows its counters", lambda: var(F).reindex((2, 3), ["i0", "i5"]), RangeError, "i5"),
    refused("an index text knows no other name", lambda: var(F).reindex((2, 3), ["i0", "foo"]), ArgumentError, "foo"),
    refused("an index text is whole", lambda: var(F).reindex((2, 3), ["i0", "i1+"]), ArgumentError, "i1+"),
    refused("an index text runs no code", lambda: var(F).reindex((2, 3), ["i0", "__import__('os')"]), ArgumentError,
     "__import__"),
    refused("an index text knows the axes of its Var", lambda: var(F).reindex((2, 3), ["i0", "xshape7"]), ArgumentError,
     "xshape7"),
    refused("where is a function or texts", lambda: var(F).reindex((2, 3), 5), ArgumentError, "5"),
    refused("a condition knows its counters", lambda: var(F).reindex((2, 3), ["i0", "i1"], valid="i9<1"), RangeError,
     "i9"),
    refused("an index array must be given", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"]), ArgumentError, "e0"),
    refused("index arrays of reindex are whole", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var(V)]),
     DtypeError, "float32"),
    refused("index arrays of reindex are long enough",
     lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var([2, 1])]).numpy(), RangeError, "2"),
    refused("index arrays are read inside",
     lambda: var(F).reindex((2, 3), ["i0", "@e0(i1-5)"], extras=[var([2, 1, 0])]).numpy(), RangeError, "-5"),
    refused("index arrays are read at all their axes",
     lambda: var(F).reindex((2, 3), ["i0", "@e0(i0,i1)"], extras=[var([2, 1, 0])]), ArgumentError, "@e0(i0, i1)"),
    refused("an index string has an end", lambda: var(V).reindex((3,), ["i0" + "+1-1" * 400]), ArgumentError, "256"),
    refused("an index string has an end that Python sees", lambda: var(V).reindex((3,), ["i0" + "+1-1" * 4000]),
     ArgumentError, "i0+1-1"),
    refused("an index that doubles has an end", lambda: var(V).reindex((3,), doubled), ArgumentError, "256 parts"),
    refused("a fill value fits the dtype", lambda: var(I).reindex((2, 9), lambda i, j: (i, j), fill="a"), DtypeError,
     "'a'"),
    refused("a fill value fits the bits", lambda: var(I).reindex((2, 9), lambda i, j: (i, j), fill=2**70), DtypeError,
     str(2**70)),
    refused("positions do not wrap around", lambda: var(F).reindex((2, 3), lambda i, j: (i * 2**62 * 3, j)), RangeError,
     "64 bits"),
    refused("positions fit into 64 bits", lambda: var(F).reindex((2, 3), lambda i, j: (i + 2**70, j)), RangeError,
     str(2**70)),
    refused("index arrays are read at counters",
     lambda: var(V).reindex((3,), ["@e0(@e0(i0))"], extras=[var([2, 0, 1])]), ArgumentError, "@e0(@e0(i0))"),
    refused("index arrays are read as they are", lambda: var(V).reindex((3,), ["@e0(i0)+1"], extras=[var([1, 0, -1])]),
     ArgumentError, "@e0(i0) + 1"),
    refused("reindex_reduce knows its reducers", lambda: var(F).reindex_reduce("foo", (2,), lambda i, j: (i,)),
     ArgumentError, "foo", "maximum"),
    refused("reindex_reduce needs an index for each axis",
     lambda: var(F).reindex_reduce("add", (2,), lambda i, j: (i, j)), ArgumentError, "(2,)"),
    refused("complex numbers have no maximum to accumulate",
     lambda: var(C).reindex_reduce("maximum", (1,), lambda i: (0,)), DtypeError, "complex128"),
    refused_when_run("an index array of reindex stays inside",
     lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var([5, 1, 0])]), RangeError, "5"),
    refused_when_run("an index array of reindex_reduce stays inside",
     lambda: var(F).reindex_reduce("add", (2,), ["@e0(i1)"], extras=[var([0, 1, 5])]), RangeError, "5"),
    # gradients
    refused("a gradient starts from one number", lambda: jt.grad(var(F), var(F)), GradientError, "(2, 3)", "sum"),
    refused("a gradient starts from a float", lambda: jt.grad(var(I).sum(), var(F)), GradientError, "int64"),
    refused("a gradient starts from a real number", lambda: jt.grad(var(C).sum(), var(C)), GradientError, "complex128"),
    refused("whole numbers have no gradient", lambda: jt.grad(var(F).sum(), var(I)), GradientError, "int64"),
    refused("an unused Var has no gradient", lambda: jt.grad(var(F).sum(), var(V)), GradientError, "(3,)",
     "allow_unused"),
    refused("no gradient passes a comparison", lambda: jt.grad((x := var(F)).sum() + (x > 1).float().sum(), var(V)),
     GradientError, "(3,)"),
    refused("no gradient passes argmax", lambda: jt.grad((x := var(F)).argmax().float(), x), GradientError, "argmax"),
    refused("no gradient passes whole numbers", lambda: jt.grad((x := var(F)).int64().float().sum(), x), GradientError,
     "cast"),
    refused("no gradient passes detach", lambda: jt.grad((x := var(F)).detach().sum(), x), GradientError, "(2, 3)"),
    refused("grad takes Vars", lambda: jt.grad(var(F).sum(), 3.0), ArgumentError, "float"),
    refused("grad takes a Var as loss", lambda: jt.grad(3.0, var(F)), ArgumentError, "float"),
    refused("backward starts from the right shape", lambda: (x := var(F)).sum().backward(var(V)) or x, GradientError,
     "(3,)", "()"),
    refused("vjp starts from the right shape", lambda: jt.vjp(var(F), [var(F)], var(V)), GradientError, "(3,)",
     "(2, 3)"),
    refused("backward finds something to fill", lambda: var(I).sum().backward(), GradientError, "none"),
    refused("whole numbers take part in no gradient", lambda: var(I).start_grad(), DtypeError, "int64"),
    refused("a hook keeps the shape", lambda: hooked(lambda g: g[0]), GradientError, "()", "(3,)"),
    refused("a hook returns a Var", lambda: hooked(lambda g: 3.0), GradientError, "float"),
    refused("Function.grad returns one gradient per input", lambda: function_grad(lambda d: (d, d)), GradientError, "2",
     "1"),
    refused("Function.grad keeps the shape", lambda: function_grad(lambda d: d[0]), GradientError, "()", "(3,)"),
    refused("Function.grad returns Vars", lambda: function_grad(lambda d: 3.0), GradientError, "float"),
    refused("a Function says what it computes", lambda: jt.Function()(var(F)), GradientError, "Function", "execute"),
    # one number
    refused("many numbers are neither true nor false", lambda: bool(var(F)), ShapeError, "(2, 3)", "any()"),
    refused("no number is neither true nor false", lambda: bool(var(NONE)), ShapeError, "(0, 3)"),
    refused("many numbers are not one", lambda: var(F).item(), ShapeError, "(2, 3)"),
    refused("no number is not one", lambda: float(var(NONE)), ShapeError, "(0, 3)"),
    refused("a complex number is no float", lambda: float(var(1 + 2j)), DtypeError, "complex64"),
    refused("a float is no index of a list", lambda: [1, 2][var(1.0)], DtypeError, "float32"),
    refused("a scalar has no length", lambda: len(var(THREE)), TypeError, "()"),
    refused("a scalar cannot be walked through", lambda: list(var(THREE)), TypeError, "()"),
    refused("many numbers are not formatted as one", lambda: f"{var(F):.2f}", ShapeError, "(2, 3)"),
    refused("a list does not find a Var among others by value", lambda: var(F) in [var(F)], ShapeError, "(2, 3)"),
    # settings, and the rest
    refused("an unknown flag is named", lambda: set_flag("fuze", True), UnknownNameError, "fuze", "jt.flags.fuse"),
    refused("an unknown flag cannot be read", lambda: jt.flags.bakend, UnknownNameError, "bakend", "jt.flags.backend"),
    refused("a flag is not an array", lambda: set_flag("fuse", np.ones(2)), ArgumentError, "of type bool", "1., 1."),
    refused("Jittor's flag of another device", lambda: set_flag("use_cuda", 1), BackendError, "use_cuda", "GPU"),
    refused("a backend of another device", lambda: set_flag("backend", "cuda"), BackendError, "cuda", "cudasim"),
    refused("a flag keeps its type", lambda: set_flag("fuse", "yes"), ArgumentError, "'yes'", "bool"),
    refused("a backend is named by text", lambda: set_flag("backend", 3), ArgumentError, "3", "str"),
    refused("an unknown backend is named", lambda: set_flag("backend", "nunba"), BackendError, "nunba", "numba"),
    refused("arange needs a step", lambda: jt.arange(0, 5, 0), ArgumentError, "arange(0, 5, 0)"),
    refused("linspace needs a number of steps", lambda: jt.linspace(0, 1, -1), ArgumentError, "-1"),
    refused("randint needs a range", lambda: jt.randint(5, 5), ArgumentError, "5"),
    refused("random numbers are floats", lambda: jt.rand(3, dtype="int32"), DtypeError, "int32"),
    refused("a seed is a whole number", lambda: jt.set_global_seed(1.5), ArgumentError, "1.5"),
    refused("a loss is reduced in a known way", lambda: jt.cross_entropy_loss(var(F), var([0, 1]), reduction="max"),
     ArgumentError, "'max'"),
    refused("smoothing is a share", lambda: jt.cross_entropy_loss(var(F), var([0, 1]), label_smoothing=2),
     ArgumentError, "2"),
    refused("gelu knows its approximations", lambda: jt.gelu(var(F), "cubic"), ArgumentError, "'cubic'"),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_is_refused_with_a_reason(row, backend):
    with pytest.raises(row.expected) as caught:
        row.call().numpy()

    error = caught.value
    assert isinstance(error, jt.JtError)
    assert isinstance(error, ValueError | TypeError | IndexError | RuntimeError | AttributeError)
    assert error.asked
    assert not [word for word in row.words if word not in str(error)], str(error)


# --------------------------------------------------------------------------------------------- odd, but answered


def like_numpy(sentence, call, *arrays):
    """`call` answers the same for Vars and for the NumPy arrays that they are made of."""
    return Row(sentence, call, arrays)


def answers(sentence, call, expected):
    """`call` answers `expected`, a NumPy array or number."""
    return Row(sentence, call, expected)


def changed(x, key, value):
    x[key] = value
    return x


def whole(dtype, *numbers):
    return np.array(numbers, dtype)


LOW = {d: whole(d, np.iinfo(d).min, np.iinfo(d).max, 7) for d in ("int8", "int16", "int32", "int64")}
ODD = np.array([nan, inf, -inf, -0.0, 0.0, 1.5, -1.5])
MINUS = np.array([-0.0, 0.0])

ANSWERED = table(
    # whole numbers
    like_numpy("whole division by zero is 0", lambda x: x // 0, whole("int64", 7, 0, -7)),
    like_numpy("the remainder by zero is 0", lambda x: x % 0, whole("int64", 7, 0, -7)),
    like_numpy("whole division by a zero of an array is 0", lambda x, y: x // y, whole("int32", 7, -7),
     whole("int32", 0, 0)),
    like_numpy("unsigned division by zero is 0", lambda x: x // 0, whole("uint8", 5)),
    like_numpy("division of whole numbers by zero is inf", lambda x: x / 0, whole("int64", 1, 0, -1)),
    *(like_numpy(f"the lowest {d} divided by -1 stays", lambda x: x // -1, a) for d, a in LOW.items()),
    *(like_numpy(f"the lowest {d} leaves no remainder by -1", lambda x: x % -1, a) for d, a in LOW.items()),
    *(like_numpy(f"the lowest {d} has itself as its negative", lambda x: -x, a) for d, a in LOW.items()),
    *(like_numpy(f"the lowest {d} has itself as its magnitude", abs, a) for d, a in LOW.items()),
    *(like_numpy(f"{d} wraps around", lambda x: x + x * x + 1, a) for d, a in LOW.items()),
    like_numpy("shifting by all bits gives 0", lambda x: x << 64, whole("int64", 1, -1)),
    like_numpy("shifting by more than all bits gives 0", lambda x: x << 100, whole("int64", 1, -1)),
    like_numpy("shifting into the sign is allowed", lambda x: x << 63, whole("int64", 1, 3)),
    like_numpy("shifting right by all bits leaves the sign", lambda x: x >> 64, whole("int64", 5, -5)),
    like_numpy("small integers shift out", lambda x: x << 8, whole("int8", 1, -1)),
    like_numpy("small integers shift right", lambda x: x >> 10, whole("int8", 8, -8)),
    like_numpy("unsigned integers shift right", lambda x: x >> 40, whole("uint32", 5)),
    like_numpy("true to the power of 3 is 1", lambda x: x**3, B),
    like_numpy("whole numbers have fractional powers", lambda x: x**0.5, N),
    like_numpy("0 to the power of 0 is 1", lambda x: x**0, np.array([0.0, nan])),
    like_numpy("0 to the power of -1 is inf", lambda x: x**-1, np.array([0.0, 2.0])),
    like_numpy("a negative number has no fractional power", lambda x: x**0.5, np.array([-8.0])),
    like_numpy("a narrow sum is taken in 64 bits", lambda x: x.sum(), whole("int8", 127, 127)),
    like_numpy("an unsigned sum stays unsigned", lambda x: x.sum(), whole("uint8", 255, 255)),
    like_numpy("a product wraps in 64 bits", lambda x: x.prod(), np.full(70, 2)),
    like_numpy("bools divide as numbers", lambda x: x / x, B),
    like_numpy("bools add as or", lambda x: x + x, B),
    like_numpy("bools multiply as and", lambda x: x * x, B),
    like_numpy("bools and whole numbers add", lambda x, y: x + y, B, whole("int8", 1, 2)),
    # nan, inf, -0
    like_numpy("isnan is right behind arithmetic",
     lambda x: np.isnan(x - x) if isinstance(x, np.ndarray) else jt.isnan(x - x), ODD),
    like_numpy("isinf is right behind arithmetic",
     lambda x: np.isinf(x * 2) if isinstance(x, np.ndarray) else jt.isinf(x * 2), ODD),
    like_numpy("nan is not itself", lambda x: (x + 0) == (x + 0), ODD),
    like_numpy("nan differs from itself", lambda x: (x + 0) != (x + 0), ODD),
    like_numpy("nan is not less", lambda x: (x < 1) | (x >= 1), ODD),
    answers("0 and the largest number of uint64 in one list", lambda: jt.array([0, 2**64 - 1], "uint64"),
            np.array([0, 2**64 - 1], np.uint64)),
    answers("an index divides a number", lambda: jt.arange(12).reindex((4,), lambda i: 10 // (i + 1)),
            np.array([10, 5, 3, 2])),
    answers("a number's remainder by an index", lambda: jt.arange(12).reindex((6,), lambda i: 7 % (i + 1)),
            np.array([0, 1, 1, 3, 2, 1])),
    answers("an index is divided by one below 0", lambda: jt.arange(12).reindex((6,), lambda i: (-7) // (i - 9)),
            np.array([0, 0, 1, 1, 1, 1])),
    answers("a comparison as an index is 1 or 0, as in C", lambda: jt.arange(12).reindex((3,), lambda i: i < 2),
            np.array([1, 1, 0])),
    answers("where chooses between nan and numbers", lambda: jt.where(jt.isnan(v := var(ODD)), 0.0, v),
     np.where(np.isnan(ODD), 0.0, ODD)),
    answers("maximum keeps nan", lambda: jt.maximum(var(ODD), 0.0), np.maximum(ODD, 0.0)),
    answers("minimum keeps nan from either side", lambda: jt.minimum(1.0, var(ODD)), np.minimum(1.0, ODD)),
    answers("relu keeps nan", lambda: var(ODD).relu(), np.where(ODD <= 0, 0.0, ODD)),
    answers("clamp keeps nan", lambda: var(ODD).clamp(-1, 1), np.clip(ODD, -1, 1)),
    answers("clamp by nan is nan", lambda: var(ODD).clamp(-1, np.nan), np.clip(ODD, -1, np.nan)),
    answers("clamp by NumPy's nan is nan", lambda: var(ODD).clamp_min(np.float32("nan")), ODD * np.nan),
    answers("clamp without bounds is the same", lambda: jt.clip(var(ODD)), ODD),
    like_numpy("max keeps nan", lambda x: (x * 2).max(), ODD),
    like_numpy("min keeps nan", lambda x: (x * 2).min(), ODD),
    like_numpy("argmax finds nan", lambda x: (x * 2).argmax(), ODD[::-1].copy()),
    like_numpy("argmin finds nan", lambda x: (x * 2).argmin(), ODD[::-1].copy()),
    like_numpy("inf less inf is nan", lambda x: (x - x).sum(), ODD),
    like_numpy("the mean of inf is inf", lambda x: x.mean(), ODD[1:2]),
    like_numpy("nan is true", lambda x: x.any(), np.array([nan])),
    like_numpy("division of floats by zero is inf", lambda x: x / 0, ODD),
    like_numpy("floor division of floats by zero is inf", lambda x: x // 0, ODD),
    like_numpy("the remainder of floats by zero is nan", lambda x: x % 0, ODD),
    like_numpy("the remainder by inf", lambda x: x % inf, ODD),
    like_numpy("floor division by inf", lambda x: x // inf, ODD),
    like_numpy("floor division of inf", lambda x: x // 1, ODD),
    like_numpy("the remainder has the sign of the divisor", lambda x: x % -2, ODD),
    like_numpy("-0 times 1 stays -0", lambda x: x * 1, MINUS),
    like_numpy("-0 plus 0 is 0", lambda x: x + 0, MINUS),
    like_numpy("-0 less 0 stays -0", lambda x: x - 0, MINUS),
    like_numpy("0 has -0 as its negative", lambda x: -x, MINUS),
    like_numpy("the sign of -0 makes 1 / -0 negative", lambda x: 1 / (x * 3), MINUS),
    like_numpy("the magnitude of -0 is 0", abs, MINUS),
    answers("the square root of -0 is -0", lambda: jt.sqrt(var(MINUS)), np.sqrt(MINUS)),
    like_numpy("-0 equals 0", lambda x: x == 0, MINUS),
    like_numpy("-0 survives a view", lambda x: x.reshape(2, 1).T[:, ::-1], MINUS),
    # nothing
    like_numpy("the sum of nothing is 0", lambda x: x.sum(), NONE),
    like_numpy("the sum of no rows is a row of zeros", lambda x: x.sum(0), NONE),
    like_numpy("sums of no columns are none", lambda x: x.sum(1), NONE),
    like_numpy("the product of nothing is 1", lambda x: x.prod(0), NONE),
    like_numpy("any of nothing is false", lambda x: x.any(), NONE),
    like_numpy("all of nothing is true", lambda x: x.all(0), NONE),
    like_numpy("there are no largest numbers of no rows", lambda x: x.max(1), NONE),
    like_numpy("there are no positions in no rows", lambda x: x.argmax(1), NONE),
    answers("the mean of nothing is nan", lambda: var(NONE).mean(0), np.full(3, nan, np.float32)),
    answers("the variance of nothing is nan", lambda: var(NONE).var(0), np.full(3, nan, np.float32)),
    answers("softmax of nothing is nothing", lambda: jt.softmax(var(NONE), 0), NONE),
    like_numpy("nothing times a matrix is nothing", lambda x, y: x @ y, NONE, np.ones((3, 2), np.float32)),
    like_numpy("a product over nothing is 0", lambda x, y: x.T @ y, NONE, NONE),
    like_numpy("stacks of empty matrices", lambda x, y: x @ y, np.ones((2, 0, 3)), np.ones((2, 3, 0))),
    answers("a convolution of no images", lambda: jt.conv2d(jt.zeros(0, 1, 3, 3), jt.ones(1, 1, 2, 2)),
     np.zeros((0, 1, 2, 2), np.float32)),
    answers("a convolution over no channels is 0", lambda: jt.conv2d(jt.zeros(1, 0, 3, 3), jt.ones(1, 0, 2, 2)),
     np.zeros((1, 1, 2, 2), np.float32)),
    answers("pooling of no images", lambda: jt.max_pool2d(jt.zeros(0, 1, 4, 4), 2), np.zeros((0, 1, 2, 2), np.float32)),
    answers("an index array of one axis is read at a bare counter",
     lambda: var(V).reindex((2,), lambda i: (load(0, i),), extras=[jt.array([2, 0])]), V[[2, 0]]),
    answers("nothing and something in one row", lambda: jt.concat([var(NONE), var(F)]), F),
    answers("nothing twice is nothing", lambda: jt.stack([var(NONE), var(NONE)]), np.stack([NONE, NONE])),
    answers("padding nothing gives the padding", lambda: var(NONE).pad((0, 0, 1, 1), value=7),
     np.full((2, 3), 7, np.float32)),
    like_numpy("nothing plus a row is nothing", lambda x, y: x + y, NONE, V),
    like_numpy("nothing can be reshaped", lambda x: x.reshape(3, 0, 5), NONE),
    like_numpy("nothing can be looked up", lambda x: x[[]], F),
    like_numpy("nothing can be looked up in a table of positions", lambda x: x[np.zeros((0, 2), int)], F),
    answers("the gradient of nothing is nothing", lambda: jt.grad((x := var(NONE)).sum(), x), NONE),
    answers("a position outside of an empty result", lambda: jt.zeros(0, 3)[:, var([0, 2])],
     np.zeros((0, 2), np.float32)),
    # scalars
    like_numpy("a scalar is its own sum", lambda x: x.sum(), THREE),
    like_numpy("a scalar is its own maximum", lambda x: x.max(), THREE),
    like_numpy("a scalar is its own transpose", lambda x: x.T, THREE),
    like_numpy("a scalar has argmax 0", lambda x: x.argmax(), THREE),
    like_numpy("a scalar can be reshaped", lambda x: x.reshape(1, 1), THREE),
    like_numpy("a scalar takes empty brackets", lambda x: x[()], THREE),
    like_numpy("a scalar takes an ellipsis", lambda x: x[...], THREE),
    like_numpy("a scalar takes None", lambda x: x[None, ..., None], THREE),
    like_numpy("a scalar takes a mask", lambda x: x[True], THREE),
    like_numpy("a scalar takes a false mask", lambda x: x[False], THREE),
    answers("a scalar is its own gradient's source", lambda: jt.grad((z := var(THREE)) * z, z), np.array(6.0)),
    answers("scalars can be stacked", lambda: jt.stack([var(THREE), var(THREE)]), np.array([3.0, 3.0])),
    answers("a scalar chooses", lambda: jt.where(var(True), var(THREE), 0.0), THREE),
    # brackets
    *(
        like_numpy(f"brackets understand [{text}]", lambda x, key=key: x[key], R)
        for text, key in {
            "::-1": np.s_[::-1], "::-2, 1:": np.s_[::-2, 1:], "5:1": np.s_[5:1], "-100:100": np.s_[-100:100],
            "..., -1": np.s_[..., -1], "None": np.s_[None], "True": True, "False": False, "0, True": (0, True),
            "True, None": (True, None), "[1, 0]": [1, 0], "[-1]": [-1], "0, :, [0, 1]": np.s_[0, :, [0, 1]],
            ":, [0, 1], [0, 1]": np.s_[:, [0, 1], [0, 1]], "[0, 1], :, [0, 1]": np.s_[[0, 1], :, [0, 1]],
            "[0, 1], None, [0, 1]": np.s_[[0, 1], None, [0, 1]], "[[0], [1]], [0, 2]": np.s_[[[0], [1]], [0, 2]],
            "mask of the first axis": np.array([True, False]), "mask of two axes": np.eye(2, 3, dtype=bool),
            ":, mask": (slice(None), np.array([True, False, True])), "mask, 1": (np.array([False, True]), 1),
            "..., mask": (..., np.array([True, False, False, True])), "np.int8(1)": np.int8(1),
            "a far slice": np.s_[2**70:], "a long step": np.s_[:: 2**40],
            "unsigned positions": np.array([1, 0], np.uint8),
            "wide unsigned positions": np.array([1, 0], np.uint64), "narrow positions": np.array([-1, 0], np.int8),
        }.items()
    ),
    *(
        like_numpy(f"assignment understands [{text}]", lambda x, key=key, value=value: changed(x + 0, key, value), R)
        for text, key, value in [
            ("0", 0, 5.0), ("::-1, 0", np.s_[::-1, 0], np.ones(4)), (":, ::-2", np.s_[:, ::-2], 2.0),
            ("True", True, 1.0),
            ("False", False, 1.0), ("empty slice", np.s_[1:1], 9.0),
            ("[0, 0]", [0, 0], np.stack([np.ones((3, 4)), np.zeros((3, 4))])),
            ("mask", R > 7, 0.0), ("..., [1, 1]", np.s_[..., [1, 1]], np.arange(2.0)),
            ("1, :, [0, 2]", np.s_[1, :, [0, 2]], 7.0),
            ("None, 0", np.s_[None, 0], 3.0), ("unsigned positions", np.array([1], np.uint8), 4.0),
        ]
    ),
    answers("positions named twice keep the last value", lambda: assigned([0, 0, 0], np.arange(9.0).reshape(3, 3)),
     np.array([[6, 7, 8], [4, 5, 6]])),
    # NumPy on the left, lists, numbers
    answers("an array times a Var is a Var", lambda: V * var(F), V * F),
    answers("an array less a Var is a Var", lambda: I - var(F), I - F),
    answers("an array compared with a Var is a Var", lambda: F < var(V), F < V),
    answers("an array @ a Var is a Var", lambda: F @ var(V), F @ V),
    answers("a NumPy number keeps its width", lambda: np.float64(2) * var(V), np.float64(2) * V),
    answers("a NumPy integer to the power of a Var", lambda: np.int64(2) ** var(I), np.int64(2) ** I),
    answers("a list plus a Var", lambda: [1, 2, 3] + var(V), [1, 2, 3] + V),
    answers("a tuple times a Var", lambda: (1, 2, 3) * var(I), (1, 2, 3) * I),
    answers("a large whole number meets a float", lambda: var(V) * 2**70, V * np.float32(2**70)),
    answers("a whole number of 64 bits is unsigned", lambda: var(2**63), np.uint64(2**63)),
    answers("the lowest whole number is int64", lambda: var(-(2**63)), np.int64(-(2**63))),
    answers("a Var of a Var is a copy", lambda: jt.array(var(V)), V),
    answers("a list of Vars is an array", lambda: jt.array([var(V), var(V)]), np.stack([V, V])),
    answers("NumPy reads a Var", lambda: var(np.add(var(V), np.asarray(var(V)))), V + V),
    answers("NumPy stacks Vars", lambda: var(np.stack([var(V), var(V)])), np.stack([V, V])),
    # casts
    answers("complex to real keeps the real part", lambda: var(C).cast("float32"), C.real.astype(np.float32)),
    answers("complex to whole keeps the real part", lambda: var(C).cast("int64"), C.real.astype(int)),
    answers("complex to bool asks both parts", lambda: var(C).cast("bool"), C.astype(bool)),
    like_numpy("nan is true as a bool", lambda x: x.astype("bool"), ODD),
    like_numpy("whole numbers wrap when cast", lambda x: x.astype("uint8"), whole("int64", 300, -1)),
    like_numpy("negative numbers wrap when cast to unsigned", lambda x: x.astype("uint64"), whole("int64", -1)),
    answers("float64 beyond float32 is inf", lambda: var(np.array([1e300, -1e300])).float(),
     np.array([inf, -inf], np.float32)),
    answers("float32 beyond float16 is inf", lambda: var(np.array([1e10], np.float32)).half(),
     np.array([inf], np.float16)),
    # reindex
    answers("reindex reads the fill outside", lambda: var(F).reindex((2, 3), lambda i, j: (i + 5, j), fill=9),
     np.full((2, 3), 9, np.float32)),
    answers("reindex reads the fill below 0", lambda: var(V).reindex((3,), lambda i: i - 2, fill=-1),
     np.array([-1, -1, 1], np.float32)),
    answers("reindex of nothing is the fill", lambda: var(NONE).reindex((2, 3), lambda i, j: (i, j), fill=7),
     np.full((2, 3), 7, np.float32)),
    answers("reindex fills with nan", lambda: var(V).reindex((4,), lambda i: i, fill=nan),
     np.array([1, 2, 3, nan], np.float32)),
    answers("reindex fills with True", lambda: var(B).reindex((3,), lambda i: i, fill=True),
     np.array([True, False, True])),
    answers("reindex without counters", lambda: var(V).reindex((), lambda: (1,)), np.float32(2)),
    answers("reindex of a scalar", lambda: var(THREE).reindex((2,), lambda i: ()), np.array([3.0, 3.0])),
    answers("fill None reads nothing outside", lambda: var(F).reindex((2, 5), lambda i, j: (i, j), fill=None),
     np.pad(F, ((0, 0), (0, 2)))),
    answers("Jittor's slash divides whole numbers", lambda: var(F).reindex((4, 3), ["i0/2", "i1"]), F.repeat(2, 0)),
    answers("Jittor's conditions are understood",
     lambda: var(F).reindex((2, 3), ["i0", "i1"], valid="i0<1||i1>=xshape1-1"),
     np.array([[1, 2, 3], [0, 0, 6]], np.float32)),
    answers("Jittor's not is understood", lambda: var(F).reindex((2, 3), ["i0", "i1"], valid="i0<1 && !(i1==2)"),
     np.array([[1, 2, 0], [0, 0, 0]], np.float32)),
    answers("a computed index array may be narrow", lambda: var(V)[(var(N) % 3).cast("int8")], V[N % 3]),
    answers("accumulating starts where nothing arrives", lambda: var(F).reindex_reduce("add", (4,), lambda i, j: (i,)),
     np.array([6, 15, 0, 0], np.float32)),
    answers("a maximum of nothing is -inf", lambda: var(F).reindex_reduce("maximum", (3,), lambda i, j: (i,)),
     np.array([3, 6, -inf], np.float32)),
    answers("a minimum of no whole numbers is the highest",
     lambda: var(I).reindex_reduce("minimum", (3,), lambda i, j: (i,)), np.array([1, 4, 2**63 - 1])),
    answers("the last write wins", lambda: var(F).reindex_reduce("last", (3,), lambda i, j: (j,)), F[1]),
    answers("accumulating outside is dropped", lambda: var(F).reindex_reduce("add", (2,), lambda i, j: (i - 5,)),
     np.zeros(2, np.float32)),
    answers("narrow accumulation has room",
     lambda: var(whole("uint8", 200, 200)).reindex_reduce("add", (1,), lambda i: (0,)), whole("int32", 400)),
    # fused and not
    like_numpy("where guards a division", lambda x: 1 / (x * x + (x == 0)), ODD),
    like_numpy("a chain of views is one view", lambda x: x[::-1].T[1:, ::-1].reshape(-1)[::2], F),
    answers("views of a computed sum", lambda: (s := var(F).sum(1)).reshape(2, 1)[::-1] + s,
     F.sum(1).reshape(2, 1)[::-1] + F.sum(1)),
)  # fmt: skip


MODES = {
    "python": {"backend": "python"},
    "numba": {"backend": "numba"},
    "unfused": {"backend": "python", "fuse": False},
    "at_once": {"backend": "python", "lazy_execution": False},
}


@pytest.mark.parametrize("row", ANSWERED)
@pytest.mark.parametrize("mode", MODES)
def test_is_answered_as_numpy_does(row, mode):
    with jt.flag_scope(**MODES[mode]):
        if isinstance(row.expected, tuple):
            found = row.call(*(jt.array(a) for a in row.expected)).numpy()
            with np.errstate(all="ignore"):
                wanted = np.asarray(row.call(*row.expected))
            assert found.dtype == wanted.dtype
        else:
            found, wanted = var(row.call()).numpy(), np.asarray(row.expected)

    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-6)
    if wanted.dtype.kind == "f":
        zeros = (found == 0) & (wanted == 0)
        assert (np.signbit(found) == np.signbit(wanted))[zeros].all(), "the sign of a zero"


# ---------------------------------------------------------------------------------------- after a failure, all is well


def test_an_error_while_running_leaves_everything_else_usable(backend):
    x = var(F)
    good, bad = x * 2 + 1, x[var([0, 6]) + var([0, 1])]
    for _ in range(2):
        with pytest.raises(RangeError, match="7"):
            jt.sync([good, bad])
    np.testing.assert_array_equal(good.numpy(), F * 2 + 1)
    np.testing.assert_array_equal((good + x).numpy(), F * 3 + 1)


def test_with_lazy_execution_off_an_error_is_raised_where_it_is_made(backend):
    x = var(F)
    with jt.flag_scope(lazy_execution=False):
        with pytest.raises(RangeError, match="index 7"):
            x[var([0, 7])]
        np.testing.assert_array_equal((x + 1).numpy(), F + 1)


def host_call(run):
    """A Var made by NumPy work that does what it is told."""
    return jt.Var._of(Node(HostCall("told", run), (var(V).node,), (3,), var(V).dtype))


def test_an_error_in_a_host_call_names_the_line_and_keeps_its_cause(backend):
    def fails(a):
        raise ZeroDivisionError("told to fail")

    y = host_call(fails) + 1
    with pytest.raises(KernelError, match=r"told to fail(.|\n)*test_misuse.py") as caught:
        y.numpy()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    np.testing.assert_array_equal((var(V) + 1).numpy(), V + 1)


def test_a_host_call_that_answers_another_shape_is_an_error(backend):
    with pytest.raises(jt.JtError, match="told"):
        host_call(lambda a: a[:2]).numpy()


def test_an_interrupt_leaves_the_graph_usable(backend):
    calls = []

    def interrupted_once(a):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return a * 2

    x = var(V) + 1
    y = host_call(interrupted_once) + x
    with jt.trace(), pytest.raises(KeyboardInterrupt):
        y.numpy()
    np.testing.assert_array_equal(y.numpy(), V * 2 + V + 1)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_control_c_inside_a_kernel_leaves_the_graph_usable():
    def pressed(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, pressed)
    try:
        with jt.flag_scope(backend="python"):
            y = (jt.arange(300_000) * 2).sum()
            signal.setitimer(signal.ITIMER_REAL, 0.03)
            with pytest.raises(KeyboardInterrupt):
                y.numpy()
            assert y.item() == 300_000 * 299_999
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Told(jt.Function):
    """A Function that fails where it is told to."""

    def __init__(self, where):
        self.where = where

    def execute(self, x):
        if self.where == "execute":
            raise ZeroDivisionError(self.where)
        return x * 2

    def grad(self, dout):
        raise ZeroDivisionError(self.where)


def test_errors_of_the_learner_pass_through_functions_and_hooks(backend):
    x = var(V)
    with pytest.raises(ZeroDivisionError, match="execute"):
        Told("execute")(x)
    y = Told("grad")(x).sum()
    with pytest.raises(ZeroDivisionError, match="grad"):
        jt.grad(y, x)

    def hook(gradient):
        raise ZeroDivisionError("hook")

    remove = x.register_hook(hook)
    loss = (x * x).sum()
    with pytest.raises(ZeroDivisionError, match="hook"):
        jt.grad(loss, x)
    remove()
    np.testing.assert_array_equal(jt.grad(loss, x).numpy(), 2 * V)  # gradients are still recorded


def test_a_trace_survives_an_error_and_may_stand_in_another():
    with jt.trace() as outer:
        (var(V) + 1).numpy()
        with pytest.raises(RangeError), jt.trace() as inner:
            var(F)[var([5])].numpy()
        (var(V) * 2).numpy()
    assert (len(outer.kernels), len(inner.kernels)) == (2, 0)
    assert {b.id for b in inner.built} < {b.id for b in outer.built}
    (var(V) - 1).numpy()
    assert len(outer.kernels) == 2
    outer.to_json(), repr(inner)


def test_flags_are_put_back_after_an_error():
    before = repr(jt.flags)
    with pytest.raises(ArgumentError), jt.flag_scope(fuse=False, backend=3):
        pass
    with pytest.raises(UnknownNameError), jt.flag_scope(nonsense=1):
        pass
    assert repr(jt.flags) == before


def test_more_memory_than_there_is_is_an_error(backend):
    for y in (jt.zeros(10**7, 10**7), jt.ones(10**9, 10**9) * 2, jt.zeros(10**7, 1) + jt.zeros(10**9)):
        with pytest.raises((MemoryError, jt.JtError)) as caught:
            y.sync()
        assert "1000000" in str(caught.value)
        assert "test_misuse.py" in str(caught.value)
    np.testing.assert_array_equal((var(V) + 1).numpy(), V + 1)


# ------------------------------------------------------------------------------------------ time, and who holds what


def test_what_is_deleted_while_it_is_needed_is_still_there(backend):
    x = var(V)
    y = x * 2
    z = y + x
    del x, y
    np.testing.assert_array_equal(z.numpy(), V * 3)


def test_a_pending_value_keeps_what_it_was_made_of(backend):
    x = var(F)
    y = x * 2
    x.assign(np.zeros((2, 3)))
    z = x * 2
    x[0] = 5
    w = x * 2
    x += 1
    np.testing.assert_array_equal(y.numpy(), F * 2)
    np.testing.assert_array_equal(z.numpy(), F * 0)
    np.testing.assert_array_equal(w.numpy(), [[10] * 3, [0] * 3])
    np.testing.assert_array_equal(x.numpy(), [[6] * 3, [1] * 3])


def test_swapping_two_vars_row_by_row(backend):
    x = var(F)
    x[0], x[1] = x[1], x[0]
    np.testing.assert_array_equal(x.numpy(), F[::-1])


def test_what_is_written_to_a_shared_array_is_seen_by_what_runs_later(backend):
    a = V.copy()
    shared, copied = jt.from_numpy(a), jt.array(a)
    early, late = shared * 2, shared * 2 + copied
    early.sync()
    a += 10
    np.testing.assert_array_equal(early.numpy(), V * 2)
    np.testing.assert_array_equal(late.numpy(), (V + 10) * 2 + V)
    shared[0] = 7
    assert a[0] == V[0] + 10, "assignment gives the Var a new value, and leaves the array alone"


def test_a_read_only_array_is_read(backend):
    a = V.copy()
    a.flags.writeable = False
    for x in (jt.from_numpy(a), jt.array(a)):
        np.testing.assert_array_equal((x + 1).numpy(), V + 1)
        x[0] = 9
        assert x.tolist() == [9, 2, 3]
    assert a.tolist() == V.tolist()
    np.testing.assert_array_equal(jt.array(np.broadcast_to(V, (2, 3))).numpy(), [V, V])
    np.testing.assert_array_equal(jt.array(F.T[::-1]).numpy(), F.T[::-1])


def test_a_var_is_found_by_identity(backend):
    x, same_numbers = var(V), var(V)
    table = {x: "x", same_numbers: "other"}
    assert table[x] == "x"
    assert x in [x] and x in {x} and x not in {same_numbers}
    assert 2.0 in x and 9.0 not in x
    assert hash(x) == hash(x)


def test_a_var_acts_as_a_number_and_as_a_row(backend):
    x = var(V)
    assert [float(e) for e in x] == V.tolist()
    assert (max(x).item(), min(x).item(), sum(x).item(), any(x), all(var([1, 0]))) == (3, 1, 6, True, False)
    assert [e.item() for e in sorted(-x)] == [-3, -2, -1]
    assert (len(x), len(var(F)), len(var(NONE))) == (3, 2, 0)
    assert (range(var(3)), [7, 8][var(1)], "%d" % var(4)) == (range(3), 8, "4")
    assert (f"{var(0.5):.2f}", f"{var(7)}", str(var([True]))) == (
        "0.50",
        "jt.Var(7, dtype=int64)",
        "jt.Var([ True], dtype=bool)",
    )
    with pytest.raises(ValueError, match="NaN"):
        int(var(nan))


def test_every_var_can_be_shown(backend):
    assert repr(jt.zeros(1000, 1000)).count("\n") < 10
    assert repr(jt.zeros(2, 0)) == "jt.Var([], shape=(2, 0), dtype=float32)"  # the numbers do not tell
    assert "nan" in repr(var([nan])) and "inf" in repr(var([inf]))
    assert "[]" in repr(var(NONE)) and "3." in repr(var(THREE)) and "j" in repr(var(C))
    for dtype in ("float16", "bfloat16", "uint8", "complex64"):
        assert dtype in repr(var([1], dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "bool", "complex64"])
def test_copies_and_pickles_are_equal_and_apart(backend, dtype):
    x = var([[0, 1], [1, 0]]).cast(dtype)
    x.name = "x"
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):  # noqa: S301 - our own bytes
        assert (twin.dtype, twin.name, twin.requires_grad) == (x.dtype, "x", x.requires_grad)
        np.testing.assert_array_equal(twin.numpy(), x.numpy())
        twin[0, 0] = 1
        assert x.numpy()[0, 0] == 0


# ------------------------------------------------------------------------------------------ large and many


def test_a_chain_of_ten_thousand_operators_has_a_value_and_a_gradient(backend):
    x = y = var(np.array([1.0, 2.0]))
    for _ in range(5000):
        y = y * 0.999 + 0.001
    gradient = jt.grad(y.sum(), x)
    np.testing.assert_allclose(y.numpy(), 1 + (np.array([1.0, 2.0]) - 1) * 0.999**5000, 1e-9)
    np.testing.assert_allclose(gradient.numpy(), np.full(2, 0.999**5000), 1e-9)


def test_a_sum_of_two_thousand_vars(backend):
    parts = [var(np.array([float(k), 1.0])) for k in range(2000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    np.testing.assert_array_equal(total.numpy(), [1999000, 2000])
    np.testing.assert_array_equal(jt.stack(parts[:500]).sum(0).numpy(), [124750, 500])
    gradients = jt.grad((total * total).sum(), [parts[0], parts[-1]])
    assert gradients[1].tolist() == [2 * 1999000.0, 4000.0]


def test_two_thousand_values_of_one_graph_at_once(backend):
    x = var(V)
    outs = [x * float(k) for k in range(2000)]
    jt.sync(outs)
    assert [o.tolist() for o in outs[::999]] == [[k, 2 * k, 3 * k] for k in (0.0, 999.0, 1998.0)]


@pytest.mark.parametrize("flavour", ["python", "numba"])
def test_threads_build_and_run_graphs_at_the_same_time(flavour):
    wrong, gate = [], threading.Barrier(8)

    def work(number):
        rng = np.random.default_rng(number)
        gate.wait()
        try:
            for k in range(50):
                a = rng.standard_normal((3 + k % 4, 5))
                x = jt.array(a)
                loss = ((x * number + 1).tanh() @ x.T).sum() if k % 2 else (x.softmax(1) * x).sum()
                gradient = jt.grad(loss, x).numpy()
                e = np.exp(a - a.max(1, keepdims=True))
                s = e / e.sum(1, keepdims=True)
                want = (np.tanh(a * number + 1) @ a.T).sum() if k % 2 else (s * a).sum()
                if not np.isclose(loss.item(), want) or gradient.shape != a.shape or not np.isfinite(gradient).all():
                    wrong.append((number, k, loss.item(), want))
        except BaseException as error:  # noqa: BLE001 - told below
            wrong.append((number, repr(error)))

    with jt.flag_scope(backend=flavour):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


# --------------------------------------------------------------------------------------- other processes, and the disk

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np, jt_edu as jt
x = jt.array(np.arange(12.0).reshape(3, 4))
y = ((x * 2 + 1).tanh().sum(1) / x.max(1)).softmax(0)
a = np.arange(12.0).reshape(3, 4)
z = np.tanh(a * 2 + 1).sum(1) / a.max(1)
w = np.exp(z - z.max())
np.testing.assert_allclose(y.numpy(), w / w.sum(), 1e-12)
with jt.trace() as t:
    (x - 7).numpy()
print("right", t.compiled)
"""


def start(text, cache, **more):
    environment = {**os.environ, "JT_EDU_CACHE": str(cache), "PYTHONPATH": str(ROOT), **more}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    return out


def test_two_processes_compile_the_same_kernels_at_once(tmp_path):
    both = [start(PROGRAM, tmp_path) for _ in range(2)]
    assert all("right" in told(p) for p in both)
    assert "right 0" in told(start(PROGRAM, tmp_path)), "a third finds them on disk"


@pytest.mark.parametrize("damage", [b"", b"nonsense", None], ids=["emptied", "overwritten", "cut_in_half"])
def test_a_damaged_cache_is_made_again(tmp_path, damage):
    assert "right 1" in told(start(PROGRAM, tmp_path))
    files = [f for f in tmp_path.rglob("*") if f.suffix in (".py", ".bin")]
    assert files
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert "right 1" in told(start(PROGRAM, tmp_path))
    assert "right 0" in told(start(PROGRAM, tmp_path))


@pytest.mark.parametrize("where", ["a_file", "/dev/null/cache", "/proc/nothing"])
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, where):
    (tmp_path / "a_file").write_text("not a folder")
    assert "right" in told(start(PROGRAM, tmp_path / where))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("flavour", ["python", "numba"])
def test_a_forked_child_goes_on_computing(tmp_path, flavour):
    size = 3_000_000 if flavour == "numba" else 3000  # large enough for several threads
    text = f"""
    import os, warnings, numpy as np, jt_edu as jt
    jt.flags.backend = {flavour!r}
    x = jt.array(np.ones({size}))
    (x * 2 + 1).numpy(); pending = x * 3
    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own about forking with threads
    child = os.fork()
    right = (pending.numpy() == 3).all() and (x * 2 + 1).numpy()[-1] == 3
    right = bool(right and (x - 5).sum().item() == -4.0 * {size})
    if child == 0:
        os._exit(0 if right else 1)
    print("right" if right and os.waitpid(child, 0)[1] == 0 else "wrong")
    """
    assert "right" in told(start(text, tmp_path, JT_EDU_THREADS="2"))


def test_an_unknown_backend_of_the_environment_does_not_break_the_import(tmp_path):
    assert "fine" in told(
        start("import jt_edu as jt; print('fine', jt.array(1) + 1)", tmp_path, JT_EDU_BACKEND="nonsense")
    )
