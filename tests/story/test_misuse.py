"""Misuse: whatever a learner writes, the answer is NumPy's or an error that helps, and the process lives on.

A row of the first table is refused: the error is of jt_edu's family and of the Python kind that a NumPy user expects; its
text holds the rule and the offending value, and a way out where the rule does not say it itself; it names the learner's
line where it is raised at run time. A row of the second table is odd, but has an answer: NumPy's. Stories that need more
than a line follow.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import ArgumentError, BackendError, DtypeError, GradientError, RangeError, ShapeError

F = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
I = np.array([[1, 2, 3], [4, 5, 6]])  # noqa: E741
V, N = np.array([1.0, 2.0, 3.0], np.float32), np.array([0, 1, 2, 3, 4, 5])
B, C = np.array([True, False]), np.array([1 + 2j, 3j])
R = np.arange(24.0).reshape(2, 3, 4)
NONE = np.zeros((0, 3), np.float32)  # rows of three, but no row
THREE = np.array(3.0)
nan, inf = math.nan, math.inf


@pytest.fixture(params=["python", "numba"], autouse=True)
def backend(request):
    with jt.flag_scope(backend=request.param):
        yield request.param


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


def kwargs(**given):
    return given


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
        return (jt.array(1.0) + 1).numpy()


def names(sentence, operator, symbol):
    """Shapes that do not fit, for one operator."""
    return refused(
        f"{sentence} refuses shapes that do not fit", lambda: operator(var(I), var(N)), ShapeError, symbol, "(2, 3)", "(6,)"
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
    names("where", lambda x, y: jt.where(x > 1, x, y), "select"),
    refused("a ragged list is no array", lambda: var([[1, 2], [3]]), ShapeError, "[[1, 2], [3]]"),
    refused("reshape keeps the number of elements", lambda: var(F).reshape(4), ShapeError, "(2, 3)", "(4,)", "6"),
    refused("reshape works out one length and no more", lambda: var(F).reshape(-1, -1), ShapeError, "(-1, -1)"),
    refused("reshape divides without a rest", lambda: var(F).reshape(4, -1), ShapeError, "(4, -1)"),
    refused("reshape takes no length of -2", lambda: var(F).reshape(-2, 3), ShapeError, "-2"),
    refused("reshape takes whole lengths", lambda: var(F).reshape(2.0, 3), ArgumentError, "2.0"),
    refused("broadcast_to repeats axes of length 1 only", lambda: var(F).broadcast_to((3, 3)), ShapeError, "(2, 3)", "(3, 3)"),
    refused("broadcast_to drops no axis", lambda: var(F).broadcast_to((3,)), ShapeError, "(2, 3)", "(3,)"),
    refused("a length is not negative", lambda: jt.zeros(2, -3), ShapeError, "(2, -3)"),
    refused("a length is whole", lambda: jt.zeros(2, 1.5), ShapeError, "1.5"),
    refused("concat needs equal other axes", lambda: jt.concat([var(F), var(V)]), ShapeError, "(2, 3)", "(3,)"),
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
    refused("groups divide the channels", lambda: jt.conv2d(WINDOW, WINDOW, groups=2), ArgumentError, "2"),
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
    refused("a negative constant does not fit unsigned numbers", lambda: var([1], "uint8") * -1, DtypeError, "-1", "uint8"),
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
    refused("one_hot takes a whole number of classes", lambda: jt.one_hot(var(N), 1.5), ShapeError, "1.5"),
    refused("one_hot takes no negative number of classes", lambda: jt.one_hot(var(N), -3), ShapeError, "-3"),
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
    refused("0-d Vars have no axis to sum", lambda: var(THREE).sum(0), RangeError, "axis 0"),
    refused("0-d Vars have no softmax along an axis", lambda: jt.softmax(var(THREE), 0), RangeError, "axis 0"),
    refused("an index counter needs its axis", lambda: jt.index((2, 3), 5), ArgumentError, "5"),
    # nothing
    refused("nothing has no largest element", lambda: var(NONE).max(), ShapeError, "(0, 3)"),
    refused("an empty column has no smallest element", lambda: var(NONE).min(0), ShapeError, "(0, 3)"),
    refused("nothing has no argmax", lambda: var(NONE).argmax(), ShapeError, "max"),
    refused("nothing has no logsumexp", lambda: var(NONE).logsumexp(), ShapeError, "(0, 3)"),
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
    refused("a mask is as long as its axis", lambda: var(F)[np.array([True, False, False])], RangeError, "(3,)", "(2,)"),
    refused("a mask has the shape of its axes", lambda: var(F)[np.ones((3, 2), bool)], RangeError, "(3, 2)", "(2, 3)"),
    refused("a mask has no more axes than its Var", lambda: var(F)[np.ones((2, 3, 1), bool)], RangeError, "3"),
    refused("assignment fits the brackets", lambda: assigned(0, [1, 2]), ShapeError, "(2,)", "(3,)"),
    refused("assignment through a mask fits it", lambda: assigned(F > 2, [1, 2, 3]), ShapeError, "(3,)", "(4,)"),
    refused("assignment lies inside the axis", lambda: assigned(5, 1), RangeError, "5"),
    refused("gather takes whole positions", lambda: var(F).gather(0, var([[0.0]])), DtypeError, "float32"),
    refused("gather's index has the axes of its Var", lambda: var(F).gather(0, var([0])), ShapeError, "(1,)", "(2, 3)"),
    refused("scatter knows its reductions", lambda: var(F).scatter(0, [[0]], [[1.0]], "max"), ArgumentError, "'max'"),
    refused("scatter has something to write at each index", lambda: var(F).scatter(1, [[0, 1]], var([[1.0]])), ShapeError, "(1, 1)", "(1, 2)"),
    refused_when_run("an index array lies inside the axis", lambda: var(F)[[0, 5]], RangeError, "5", "-2 to 1"),
    refused_when_run("a negative index array lies inside the axis", lambda: var(F)[var([0, -3])], RangeError, "-3"),
    refused_when_run("a computed index lies inside the axis", lambda: var(F)[var(N).argmax() + 5], RangeError, "10"),
    refused_when_run("a computed index array lies inside the axis", lambda: var(F)[var(N) - 3], RangeError, "-3"),
    refused_when_run("nothing has no row to look up", lambda: var(NONE)[var([0])], RangeError, "0"),
    refused_when_run("a computed place to assign lies inside", lambda: assigned(var(N).argmax() + 5, 1), RangeError, "10"),
    refused_when_run("gather stays inside", lambda: var(F).gather(0, var([[0, 1, 5]])), RangeError, "5"),
    refused_when_run("scatter stays inside", lambda: var(F).scatter(0, var([[9]]), var([[1.0]])), RangeError, "9"),
    refused_when_run("class numbers stay inside the scores", lambda: jt.cross_entropy_loss(var(F), var([0, 7])), RangeError, "7"),
    # reindex
    refused("reindex needs an index for each axis", lambda: var(F).reindex((2,), lambda i: (i,)), ArgumentError, "(2, 3)", "i0"),
    refused("reindex takes no index too many", lambda: var(F).reindex((2, 3), lambda i, j: (i, j, i)), ArgumentError, "3"),
    refused("an index function takes the counters of the result", lambda: var(F).reindex((2, 2), lambda i: (i, i)), ArgumentError, "2"),
    refused("an index function answers counters", lambda: var(F).reindex((2, 3), lambda i, j: (i, "a")), ArgumentError, "'a'"),
    refused("an index function answers no floats", lambda: var(F).reindex((2, 3), lambda i, j: (i, 1.5)), ArgumentError, "1.5"),
    refused("an index function divides with two slashes", lambda: var(F).reindex((2, 3), lambda i, j: (i / 2, j)), ArgumentError, "/"),
    refused("a counter is neither true nor false", lambda: var(F).reindex((2, 3), lambda i, j: (i if i > 0 else j, j)), ArgumentError, "0 < i0", "both"),
    refused("an index is not divided by zero", lambda: var(F).reindex((2, 3), lambda i, j: (i, j // 0)).numpy(), ArgumentError, "0"),
    refused("an index is not divided by what can be zero", lambda: var(F).reindex((2, 3), lambda i, j: (i // j, j)).numpy(), ArgumentError, "i1"),
    refused("an index text is not divided by zero", lambda: var(F).reindex((2, 3), ["i0", "i1/0"]).numpy(), ArgumentError, "0"),
    refused("an index text needs all its axes", lambda: var(F).reindex((2, 3), ["i0"]), ArgumentError, "(2, 3)"),
    refused("an index text knows its counters", lambda: var(F).reindex((2, 3), ["i0", "i5"]), RangeError, "i5"),
    refused("an index text knows no other name", lambda: var(F).reindex((2, 3), ["i0", "foo"]), ArgumentError, "foo"),
    refused("an index text is whole", lambda: var(F).reindex((2, 3), ["i0", "i1+"]), ArgumentError, "i1+"),
    refused("an index text runs no code", lambda: var(F).reindex((2, 3), ["i0", "__import__('os')"]), ArgumentError, "__import__"),
    refused("an index text knows the axes of its Var", lambda: var(F).reindex((2, 3), ["i0", "xshape7"]), ArgumentError, "xshape7"),
    refused("where is a function or texts", lambda: var(F).reindex((2, 3), 5), ArgumentError, "5"),
    refused("a condition knows its counters", lambda: var(F).reindex((2, 3), ["i0", "i1"], valid="i9<1"), RangeError, "i9"),
    refused("an index array must be given", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"]), ArgumentError, "e0"),
    refused("index arrays of reindex are whole", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var(V)]), DtypeError, "float32"),
    refused("index arrays of reindex are long enough", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var([2, 1])]).numpy(), RangeError, "2"),
    refused("index arrays are read inside", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1-5)"], extras=[var([2, 1, 0])]).numpy(), RangeError, "-5"),
    refused("index arrays are read at all their axes", lambda: var(F).reindex((2, 3), ["i0", "@e0(i0,i1)"], extras=[var([2, 1, 0])]), ArgumentError, "@e0(i0, i1)"),
    refused("a fill value fits the dtype", lambda: var(I).reindex((2, 9), lambda i, j: (i, j), fill="a"), DtypeError, "'a'"),
    refused("a fill value fits the bits", lambda: var(I).reindex((2, 9), lambda i, j: (i, j), fill=2**70), DtypeError, str(2**70)),
    refused("reindex_reduce knows its reducers", lambda: var(F).reindex_reduce("foo", (2,), lambda i, j: (i,)), ArgumentError, "foo", "maximum"),
    refused("reindex_reduce needs an index for each axis", lambda: var(F).reindex_reduce("add", (2,), lambda i, j: (i, j)), ArgumentError, "(2,)"),
    refused("complex numbers have no maximum to accumulate", lambda: var(C).reindex_reduce("maximum", (1,), lambda i: (0,)), DtypeError, "complex128"),
    refused_when_run("an index array of reindex stays inside", lambda: var(F).reindex((2, 3), ["i0", "@e0(i1)"], extras=[var([5, 1, 0])]), RangeError, "5"),
    refused_when_run("an index array of reindex_reduce stays inside", lambda: var(F).reindex_reduce("add", (2,), ["@e0(i1)"], extras=[var([0, 1, 5])]), RangeError, "5"),
    # gradients
    refused("a gradient starts from one number", lambda: jt.grad(var(F), var(F)), GradientError, "(2, 3)", "sum"),
    refused("a gradient starts from a float", lambda: jt.grad(var(I).sum(), var(F)), GradientError, "int64"),
    refused("a gradient starts from a real number", lambda: jt.grad(var(C).sum(), var(C)), GradientError, "complex128"),
    refused("whole numbers have no gradient", lambda: jt.grad(var(F).sum(), var(I)), GradientError, "int64"),
    refused("an unused Var has no gradient", lambda: jt.grad(var(F).sum(), var(V)), GradientError, "(3,)", "allow_unused"),
    refused("no gradient passes a comparison", lambda: jt.grad((x := var(F)).sum() + (x > 1).float().sum(), var(V)), GradientError, "(3,)"),
    refused("no gradient passes argmax", lambda: jt.grad((x := var(F)).argmax().float(), x), GradientError, "argmax"),
    refused("no gradient passes whole numbers", lambda: jt.grad((x := var(F)).int64().float().sum(), x), GradientError, "cast"),
    refused("no gradient passes detach", lambda: jt.grad((x := var(F)).detach().sum(), x), GradientError, "(2, 3)"),
    refused("grad takes Vars", lambda: jt.grad(var(F).sum(), 3.0), ArgumentError, "float"),
    refused("grad takes a Var as loss", lambda: jt.grad(3.0, var(F)), ArgumentError, "float"),
    refused("backward starts from the right shape", lambda: var(F).sum().backward(var(V)), GradientError, "(3,)", "()"),
    refused("vjp starts from the right shape", lambda: jt.vjp(var(F), [var(F)], var(V)), GradientError, "(3,)", "(2, 3)"),
    refused("backward finds something to fill", lambda: var(I).sum().backward(), GradientError, "none"),
    refused("whole numbers take part in no gradient", lambda: var(I).start_grad(), DtypeError, "int64"),
    refused("a hook keeps the shape", lambda: hooked(lambda g: g[0]), GradientError, "()", "(3,)"),
    refused("a hook answers a Var", lambda: hooked(lambda g: 3.0), GradientError, "float"),
    refused("Function.grad answers one gradient per input", lambda: function_grad(lambda d: (d, d)), GradientError, "2", "1"),
    refused("Function.grad keeps the shape", lambda: function_grad(lambda d: d[0]), GradientError, "()", "(3,)"),
    refused("Function.grad answers Vars", lambda: function_grad(lambda d: 3.0), GradientError, "float"),
    refused("a Function says what it computes", lambda: jt.Function()(var(F)), GradientError, "Function", "execute"),
    # one number
    refused("many numbers are neither true nor false", lambda: bool(var(F)), ShapeError, "(2, 3)", "any()"),
    refused("no number is neither true nor false", lambda: bool(var(NONE)), ShapeError, "(0, 3)"),
    refused("many numbers are not one", lambda: var(F).item(), ShapeError, "(2, 3)"),
    refused("no number is not one", lambda: float(var(NONE)), ShapeError, "(0, 3)"),
    refused("a complex number is no float", lambda: float(var(1 + 2j)), DtypeError, "complex64"),
    refused("a float is no index of a list", lambda: [1, 2][var(1.0)], DtypeError, "float32"),
    refused("a scalar has no length", lambda: len(var(THREE)), ShapeError, "()"),
    refused("a scalar cannot be walked through", lambda: list(var(THREE)), ShapeError, "()"),
    refused("many numbers are not formatted as one", lambda: f"{var(F):.2f}", ShapeError, "(2, 3)"),
    refused("a list does not find a Var among others by value", lambda: var(F) in [var(F)], ShapeError, "(2, 3)"),
    # settings, and the rest
    refused("an unknown flag is named", lambda: set_flag("fuze", True), ArgumentError, "fuze", "jt.flags.fuse"),
    refused("an unknown flag cannot be read", lambda: jt.flags.bakend, ArgumentError, "bakend", "jt.flags.backend"),
    refused("a flag keeps its type", lambda: set_flag("fuse", "yes"), ArgumentError, "'yes'", "bool"),
    refused("a backend is named by text", lambda: set_flag("backend", 3), ArgumentError, "3", "str"),
    refused("an unknown backend is named", lambda: set_flag("backend", "nunba"), BackendError, "nunba", "numba"),
    refused("arange needs a step", lambda: jt.arange(0, 5, 0), ArgumentError, "arange(0, 5, 0)"),
    refused("linspace needs a number of steps", lambda: jt.linspace(0, 1, -1), ArgumentError, "-1"),
    refused("randint needs a range", lambda: jt.randint(5, 5), ArgumentError, "5"),
    refused("random numbers are floats", lambda: jt.rand(3, dtype="int32"), DtypeError, "int32"),
    refused("a seed is a whole number", lambda: jt.set_global_seed(1.5), ArgumentError, "1.5"),
    refused("a loss is reduced in a known way", lambda: jt.cross_entropy_loss(var(F), var([0, 1]), reduction="max"), ArgumentError, "'max'"),
    refused("smoothing is a share", lambda: jt.cross_entropy_loss(var(F), var([0, 1]), label_smoothing=2), ArgumentError, "2"),
    refused("gelu knows its approximations", lambda: jt.gelu(var(F), "cubic"), ArgumentError, "'cubic'"),
    refused("clamp needs a bound", lambda: var(F).clamp(), ArgumentError, "max_v=None"),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_is_refused_with_a_reason(row):
    with pytest.raises(row.expected) as caught:
        row.call().numpy()

    error = caught.value
    assert isinstance(error, jt.JtError)
    assert isinstance(error, ValueError | TypeError | IndexError | RuntimeError)
    assert error.asked
    assert not [word for word in row.words if word not in str(error)], str(error)
