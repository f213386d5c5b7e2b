"""Gradients of first and second order: of every operator, against differences and against PyTorch; and who gets one.

The functions of one argument and of two are those of the parity table; the rest have a row here. A function is written
once where PyTorch spells it as we do (`t` is the module: jt_edu, or torch).
"""

import gc
import math
import re
import weakref

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ir import node as graph
from tests.parity.inputs import draw, seed_of
from tests.parity.judges import (
    expect_equal,
    judge,
    our_orders,
    safe,
    torch_orders,
    total,
    weighed,
)
from tests.parity.table import BINARY, CONV, LOSSES, MATMUL, POOL, SMOOTHING, UNARY, VIEWS

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

F64, C128 = "float64", "complex128"


# ------------------------------------------------------------------------------------------- the functions of the table

NOT_DIFFERENTIABLE = {"isnan", "isinf", "isfinite", "logical_not", "invert"}
SMOOTH_UNARY = [r for r in UNARY if r.name not in NOT_DIFFERENTIABLE and F64 in r.dtypes and r.domain != "odd"]


@pytest.mark.parametrize("row", SMOOTH_UNARY, ids=lambda r: r.name)
def test_a_function_of_one_has_the_gradients_of_pytorch_and_of_differences(torch, row):
    a = safe(
        draw(seed_of(row.name), (4,), F64, row.domain if row.domain != "any" else "any")
        / (1 if row.domain != "any" else 2)
    )
    judge(torch, row.ours, row.torch and (lambda x: row.torch(torch, x)), [a], row.name)


NOT_FOR_COMPLEX = {"log1p by torch"}
COMPLEX_UNARY = [r for r in SMOOTH_UNARY if C128 in r.dtypes]


@pytest.mark.parametrize("row", COMPLEX_UNARY, ids=lambda r: r.name)
def test_a_function_of_a_complex_number_has_the_conjugate_gradients_of_pytorch(torch, row):
    a = draw(seed_of(row.name), (3,), C128, "positive") * 0.4
    theirs = row.torch and (lambda x: row.torch(torch, x))
    judge(torch, row.ours, theirs, [a], row.name)


DIFFERENTIABLE_BINARY = ("add", "subtract", "multiply", "divide", "mod", "power", "maximum", "minimum", "atan2",
 "hypot", "outer",
                         "x + y", "x - y", "x * y", "x / y", "x % y", "x ** y")  # fmt: skip
SMOOTH_BINARY = [r for r in BINARY if r.name in DIFFERENTIABLE_BINARY]
BROADCASTS = (((), ()), ((3,), ()), ((), (2,)), ((2, 1), (1, 3)), ((2, 2), (2,)), ((2, 2), (2, 2)))


@pytest.mark.parametrize("row", SMOOTH_BINARY, ids=lambda r: r.name)
def test_a_function_of_two_has_its_gradients_through_every_broadcast(torch, row):
    for shapes in BROADCASTS:
        arrays = [safe(draw(seed_of(row.name, k), s, F64, "positive")) for k, s in enumerate(shapes)]
        theirs = row.torch and (lambda *xs: row.torch(torch, *xs))
        judge(torch, row.ours, theirs, arrays, f"{row.name} {shapes}")


@pytest.mark.parametrize("row", [r for r in SMOOTH_BINARY if C128 in r.dtypes], ids=lambda r: r.name)
def test_a_function_of_two_complex_numbers_has_conjugate_gradients(torch, row):
    arrays = [draw(seed_of(row.name, k), s, C128, "positive") * 0.6 for k, s in enumerate(((2, 1), (2,)))]
    judge(torch, row.ours, row.torch and (lambda *xs: row.torch(torch, *xs)), arrays, row.name)


@pytest.mark.parametrize("row", [r for r in VIEWS if r.torch], ids=lambda r: r.name)
def test_a_view_has_its_gradients(torch, row):
    for (shape,) in row.shapes:
        a = draw(seed_of(row.name), shape, F64)
        judge(torch, lambda x: row.ours(x * x), lambda x: row.torch(torch, x * x), [a], f"{row.name} {shape}")


@pytest.mark.parametrize("row", [r for r in VIEWS if not r.torch], ids=lambda r: r.name)
def test_a_view_that_pytorch_lacks_has_the_gradients_of_differences(row):
    for (shape,) in row.shapes:
        a = draw(seed_of(row.name), shape, F64)
        judge(None, lambda x: row.ours(x * x), None, [a], f"{row.name} {shape}")


@pytest.mark.parametrize("shapes", MATMUL.shapes, ids=str)
def test_a_matrix_product_has_its_gradients(torch, shapes):
    arrays = [draw(seed_of(s, k), tuple(min(n, 2) for n in s), F64) for k, s in enumerate(shapes)]
    judge(torch, jt.matmul, torch.matmul, arrays, str(shapes))


def test_a_complex_matrix_product_has_conjugate_gradients(torch):
    arrays = [draw(k, s, C128) for k, s in enumerate(((2, 2), (2, 1)))]
    judge(torch, jt.matmul, torch.matmul, arrays)


@pytest.mark.parametrize(("sentence", "image", "weight", "bias", "options"), CONV, ids=[c[0] for c in CONV])
def test_a_convolution_has_its_gradients(torch, sentence, image, weight, bias, options):
    arrays = [
        draw(seed_of(sentence, k), s, F64) for k, s in enumerate((image, weight, *((weight[:1],) if bias else ())))
    ]

    judge(torch, lambda *xs: jt.conv2d(*xs, **options), lambda *xs: torch.nn.functional.conv2d(*xs, **options), arrays,
          sentence, smooth=image[0] * image[2] < 4)  # fmt: skip


@pytest.mark.parametrize(("sentence", "shape", "options"), POOL, ids=[p[0] for p in POOL])
def test_pooling_has_its_gradients(torch, sentence, shape, options):
    f, a = torch.nn.functional, draw(seed_of(sentence), shape, F64)

    judge(
        torch,
        lambda x: jt.max_pool2d(x * x, **options),
        lambda x: f.max_pool2d(x * x, **options),
        [a],
        "max",
        smooth=False,
    )
    judge(
        torch,
        lambda x: jt.pool2d(x * x, op="minimum", **options),
        lambda x: -f.max_pool2d(-x * x, **options),
        [a],
        "min",
        smooth=False,
    )
    for count in (True, False):
        judge(torch, lambda x, c=count: jt.avg_pool2d(x * x, count_include_pad=c, **options),
              lambda x, c=count: f.avg_pool2d(x * x, count_include_pad=c, **options), [a], f"mean {count}",
              smooth=False)  # fmt: skip


@pytest.mark.parametrize(("sentence", "shape", "target", "options"), LOSSES, ids=[r[0] for r in LOSSES])
def test_a_loss_has_its_gradients(torch, sentence, shape, target, options):
    weight = draw(7, shape[1:2], F64, "positive") if options.get("weight") else None
    ours = {**options, "weight": None if weight is None else jt.array(weight)}
    theirs = {**options, "weight": None if weight is None else torch.tensor(weight)}
    a, t, u, f = draw(seed_of(sentence), shape, F64), jt.array(target), torch.tensor(target), torch.nn.functional

    judge(
        torch,
        lambda x: jt.nll_loss(x * x, t, **ours),
        lambda x: f.nll_loss(x * x, u, **theirs),
        [a],
        "nll",
        smooth=False,
    )
    for smooth in SMOOTHING:
        judge(torch, lambda x, s=smooth: jt.cross_entropy_loss(x, t, label_smoothing=s, **ours),
              lambda x, s=smooth: f.cross_entropy(x, u, label_smoothing=s, **theirs), [a], f"smoothing {smooth}",
              smooth=shape == (3, 4))  # fmt: skip


# ------------------------------------------------------------------------------------------------------ other operators

A = (2, 3)
ROWS = (
    # (sentence, function of t and the inputs, shapes, domain)
    ("sum", lambda t, x: (x * x).sum(), (A,), "any"),
    ("sum of an axis", lambda t, x: (x * x).sum(0), (A,), "any"),
    ("sum of an axis that is kept", lambda t, x: (x * x).sum(1, True), (A,), "any"),
    ("mean", lambda t, x: (x * x).mean(-1), (A,), "any"),
    ("mean of two axes", lambda t, x: (x * x).mean((0, 2)), ((2, 2, 2),), "any"),
    ("max", lambda t, x: (x * x).max(), (A,), "any"),
    ("min", lambda t, x: (x * x).min(), (A,), "any"),
    ("prod", lambda t, x: x.prod(), (A,), "any"),
    ("prod of an axis", lambda t, x: x.prod(1), (A,), "any"),
    ("norm", lambda t, x: t.norm(x), (A,), "any"),
    ("norm of order 1", lambda t, x: t.norm(x, 1, 1), (A,), "any"),
    ("norm of order 3", lambda t, x: t.norm(x, 3, 1), (A,), "any"),
    ("norm of order inf", lambda t, x: t.norm(x, math.inf, 1), (A,), "any"),
    ("logsumexp", lambda t, x: t.logsumexp(x, 1), (A,), "any"),
    ("logsumexp that is kept", lambda t, x: t.logsumexp(x, 0, True), (A,), "any"),
    ("softmax", lambda t, x: t.softmax(x, -1), (A,), "any"),
    ("softmax of the first axis", lambda t, x: t.softmax(x, 0), (A,), "any"),
    ("log_softmax", lambda t, x: t.log_softmax(x, -1), (A,), "any"),
    ("log_softmax of the first axis", lambda t, x: t.log_softmax(x, 0), (A,), "any"),
    ("where", lambda t, x, y: t.where(x > 0, x * y, y * y), (A, (3,)), "any"),
    ("where of a broadcast condition", lambda t, x, y: t.where(y > 0, x * x, y), (A, (3,)), "any"),
    ("clamp", lambda t, x: t.clamp(x, -1, 1) * x, (A,), "any"),
    ("x ** 2", lambda t, x: x**2, (A,), "any"),
    ("x ** 3", lambda t, x: x**3, (A,), "any"),
    ("x ** 1", lambda t, x: x**1, (A,), "any"),
    ("x ** 0", lambda t, x: x**0, (A,), "any"),
    ("x ** 0.5", lambda t, x: x**0.5, (A,), "positive"),
    ("x ** -1", lambda t, x: x**-1, (A,), "positive"),
    ("x ** -0.5", lambda t, x: x**-0.5, (A,), "positive"),
    ("2 ** x", lambda t, x: 2**x, (A,), "any"),
    ("1 / x", lambda t, x: 1 / x, (A,), "positive"),
    ("1 - x", lambda t, x: (1 - x) * x, (A,), "any"),
    ("a number twice", lambda t, x: x * x + x * x * x - x / x, (A,), "positive"),
    ("a slice", lambda t, x: (x * x)[:, 1:], (A,), "any"),
    ("a slice with a step", lambda t, x: (x * x)[1::2], ((5,),), "any"),
    ("a number and a new axis", lambda t, x: (x * x)[1, None], (A,), "any"),
    ("dots", lambda t, x: (x * x)[..., -1], (A,), "any"),
    ("an array of rows, some twice", lambda t, x: (x * x)[[1, 0, 1, 1]], (A,), "any"),
    ("two arrays, some twice", lambda t, x: (x * x)[[1, 0, 1], [2, 2, 2]], (A,), "any"),
    ("an array that broadcasts", lambda t, x: (x * x)[[[1], [0]], [2, 0, 2]], (A,), "any"),
    ("a slice and an array", lambda t, x: (x * x)[:, [2, 2]], (A,), "any"),
    ("arrays apart", lambda t, x: (x * x)[[0, 1], :, [1, 1]], ((2, 2, 2),), "any"),
    ("a mask", lambda t, x: (x * x)[x > 0], (A,), "any"),
    ("a mask of rows", lambda t, x: (x * x)[[True, False]], (A,), "any"),
    ("a transpose of a slice of a reshape", lambda t, x: (x * x).reshape(3, 2)[1:].transpose(0, 1), (A,), "any"),
    ("exp of sin of a sum", lambda t, x: t.exp(t.sin(x).sum(1)) * x[:, 0], (A,), "any"),
    ("layer norm",
     lambda t, x, w: (x - x.mean(-1, True)) / t.sqrt(((x - x.mean(-1, True)) ** 2).mean(-1, True) + 1e-5) * w,
     (A, (3,)), "any"),
    ("attention", lambda t, q, k, v: t.matmul(t.softmax(t.matmul(q, k.transpose(0, 1)), -1), v),
     ((2, 2), (2, 2), (2, 1)), "any"),
    ("a perceptron", lambda t, x, w, b: t.matmul(t.tanh(t.matmul(x, w) + b), w.transpose(0, 1)), ((2, 2), (2, 2), (2,)),
     "any"),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "function", "shapes", "domain"), ROWS, ids=[r[0] for r in ROWS])
def test_an_operator_has_its_gradients(torch, sentence, function, shapes, domain):
    arrays = [
        draw(seed_of(sentence, k), s, F64, domain) / (1 if domain == "positive" else 2) for k, s in enumerate(shapes)
    ]

    judge(torch, lambda *xs: function(jt, *xs), lambda *xs: function(torch, *xs), arrays, sentence)


TWO_SPELLINGS = (
    # (sentence, ours, PyTorch's, shapes)
    ("var", lambda x: x.var(1), lambda t, x: x.var(1, correction=0), (A,)),
    ("unbiased var", lambda x: x.var(unbiased=True), lambda t, x: x.var(), (A,)),
    ("std", lambda x: x.std(0), lambda t, x: x.std(0, correction=0), ((3, 2),)),
    ("max of two axes", lambda x: (x * x).max((0, 1)), lambda t, x: (x * x).amax((0, 1)), ((2, 2, 2),)),
    ("min that is kept", lambda x: (x * x).min(1, True), lambda t, x: (x * x).amin(1, True), (A,)),
    ("prod of all that is kept", lambda x: x.prod(keepdims=True), lambda t, x: x.prod().reshape(1, 1), (A,)),
    ("a negative step", lambda x: (x * x)[::-1], lambda t, x: (x * x).flip(0), (A,)),
    ("a negative step of two", lambda x: (x * x)[::-2], lambda t, x: (x * x).flip(0)[::2], ((5,),)),
    ("negative steps from the middle", lambda x: (x * x)[1::-1, 2:0:-1], lambda t, x: (x * x)[:2, 1:].flip(0, 1),
     ((3, 3),)),
    ("gather", lambda x: jt.gather(x * x, 1, np.array([[0, 0, 2], [1, 1, 1]])),
     lambda t, x: t.gather(x * x, 1, t.tensor([[0, 0, 2], [1, 1, 1]])), (A,)),
    ("gather of less", lambda x: jt.gather(x * x, 0, np.array([[1, 1]])),
     lambda t, x: t.gather(x * x, 0, t.tensor([[1, 1]])), (A,)),
    ("index_select", lambda x: jt.index_select(x * x, 1, np.array([2, 0, 2])),
     lambda t, x: t.index_select(x * x, 1, t.tensor([2, 0, 2])), (A,)),
    ("scatter", lambda x, s: jt.scatter(x * x, 1, np.array([[2, 0], [1, 2]]), s * s),
     lambda t, x, s: t.scatter(x * x, 1, t.tensor([[2, 0], [1, 2]]), s * s), (A, (2, 2))),
    ("scatter by adding", lambda x, s: jt.scatter(x * x, 1, np.array([[0, 0], [1, 2]]), s * s, "add"),
     lambda t, x, s: t.scatter_add(x * x, 1, t.tensor([[0, 0], [1, 2]]), s * s), (A, (2, 2))),
    ("masked_fill", lambda x: jt.masked_fill(x * x, x > 0, 3), lambda t, x: (x * x).masked_fill(x > 0, 3), (A,)),
    ("expand", lambda x: (x * x).expand(2, 3, 2), lambda t, x: (x * x).expand(2, 3, 2), ((3, 1),)),
    ("broadcast along new axes", lambda x: jt.broadcast(x * x, (3, 2, 2), [1]),
     lambda t, x: (x * x)[:, None].expand(3, 2, 2), ((3, 2),)),
    ("concat of three", lambda x, y: jt.concat([x, y * y, x * y[:, :1]], 1),
     lambda t, x, y: t.cat([x, y * y, x * y[:, :1]], 1), (A, A)),
    ("stack of three", lambda x, y: jt.stack([x, y * y, x * y], 1), lambda t, x, y: t.stack([x, y * y, x * y], 1),
     ((2,), (2,))),
    ("all parts of a split", lambda x: total([p.sum() ** 2 for p in x.split(2)]),
     lambda t, x: total([p.sum() ** 2 for p in x.split(2)]), ((5,),)),
    ("min of two that are the same Var", lambda x: jt.minimum(x, x), lambda t, x: t.minimum(x, x), (A,)),
    ("flip and repeat", lambda x: (x * x).flip(0).repeat(2, 1), lambda t, x: (x * x).flip(0).repeat(2, 1), (A,)),
    ("a cast to float32 and back", lambda x: x.float().double() * x, lambda t, x: x.float().double() * x, (A,)),
    ("the real part", lambda x: (x.complex128() * 1j).imag() * x, lambda t, x: (x.to(t.complex128) * 1j).imag * x,
     (A,)),
    ("reindex", lambda x: (x * x).reindex((3, 3), lambda i, j: (i, j - 1), fill=5.0),
     lambda t, x: t.nn.functional.pad((x * x)[:, :2], (1, 0, 0, 1), value=5.0), (A,)),
    ("reindex_reduce", lambda x: (x * x).reindex_reduce("add", (2,), lambda i, j: (i,)), lambda t, x: (x * x).sum(1),
     (A,)),
    ("reindex_reduce by maximum", lambda x: (x * x).reindex_reduce("maximum", (3,), lambda i, j: (j,)),
     lambda t, x: (x * x).amax(0), (A,)),
    ("reindex_reduce by multiply", lambda x: x.reindex_reduce("multiply", (2,), lambda i, j: (i,)),
     lambda t, x: x.prod(1), (A,)),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "ours", "theirs", "shapes"), TWO_SPELLINGS, ids=[r[0] for r in TWO_SPELLINGS])
def test_an_operator_of_another_name_has_its_gradients(torch, sentence, ours, theirs, shapes):
    arrays = [draw(seed_of(sentence, k), s, F64) for k, s in enumerate(shapes)]

    judge(torch, ours, lambda *xs: theirs(torch, *xs), arrays, sentence, smooth="float32" not in sentence)


def _written(t, x, y, key, value):
    """x * x with a value written into it: in place for us, in place on a copy for PyTorch."""
    z = x * x if t is jt else (x * x).clone()
    z[key] = value(y)
    return z * z


KEYS = (
    ("a number", 1), ("a slice", slice(0, 2)), ("a column", (slice(None), -1)),
    ("strides", (slice(None, None, 2), slice(1, None))),
    ("dots", ...), ("rows by an array", [2, 0]), ("elements by arrays", ([0, 2], [1, 0])),
    ("a mask", np.array([[True, False], [False, True], [True, True]])), ("a slice and an array", (slice(1, 3), [1])),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "key"), KEYS, ids=[k[0] for k in KEYS])
def test_assignment_hands_gradients_to_what_was_written_and_to_what_was_not(torch, sentence, key):
    there = np.zeros((3, 2))[key].shape
    x, y = draw(1, (3, 2), F64), draw(2, there, F64)
    theirs = torch.tensor(key) if isinstance(key, np.ndarray) else key

    judge(
        torch,
        lambda x, y: _written(jt, x, y, key, lambda v: v * v),
        lambda x, y: _written(torch, x, y, theirs, lambda v: v * v),
        [x, y],
        sentence,
    )
    judge(
        torch,
        lambda x, y: _written(jt, x, y, key, lambda v: v.sum()),
        lambda x, y: _written(torch, x, y, theirs, lambda v: v.sum()),
        [x, y],
        "a number",
    )


def test_assignment_backwards_hands_on_gradients():
    def ours(x, y):
        z = x * x
        z[::-1, ::-2] = y * y
        return z * z

    judge(None, ours, None, [draw(1, (2, 3), F64), draw(2, (2, 2), F64)])


def test_of_values_written_to_one_place_only_the_last_has_a_gradient():
    def ours(x, y):
        z = x * x
        z[[1, 1, 0, 1]] = y * y
        return z * z

    x, y = draw(1, (3,), F64), draw(2, (4,), F64)

    judge(None, ours, None, [x, y])
    grads = our_orders(ours, [x, y], 1)[0]
    assert grads[1][:2].tolist() == [0.0, 0.0]
    assert (grads[0] != 0).tolist() == [False, False, True]


def test_a_scatter_that_multiplies_has_its_gradients(torch):
    index = np.array([[0, 0], [1, 2]])

    def theirs(x, s):
        return (x * x).scatter_reduce(1, torch.tensor(index), s * s, "prod")

    judge(
        torch,
        lambda x, s: jt.scatter(x * x, 1, index, s * s, "multiply"),
        theirs,
        [draw(1, A, F64), draw(2, (2, 2), F64)],
    )


# -------------------------------------------------------------------------------------------------------------- corners

CORNERS = (
    # (sentence, function of t and x, numbers, orders that PyTorch and we agree on)
    ("a maximum of ties", lambda t, x: t.amax(x, 1) if t is not jt else x.max(1), [[3.0, 3.0, 1.0], [2.0, 2.0, 2.0]],
     1),
    ("a minimum of ties", lambda t, x: t.amin(x) if t is not jt else x.min(), [[3.0, 1.0, 1.0]], 1),
    ("a maximum of two that tie", lambda t, x: t.maximum(x, t.flip(x, (0,))), [1.0, 2.0, 1.0], 1),
    ("a minimum of two that tie", lambda t, x: t.minimum(x[0], x[1]), [[1.0, 2.0], [1.0, 3.0]], 1),
    ("a product with a zero", lambda t, x: x.prod(1), [[2.0, 0.0, 3.0], [1.0, 4.0, 5.0]], 2),
    ("a product with two zeros", lambda t, x: x.prod(1), [[2.0, 0.0, 0.0], [0.0, 4.0, 5.0]], 2),
    ("a product of three zeros", lambda t, x: x.prod(), [0.0, 0.0, 0.0], 2),
    ("0 ** 2", lambda t, x: x**2, [0.0, 1.0], 2),
    ("0 ** 3", lambda t, x: x**3, [0.0, -1.0], 2),
    ("0 ** 1", lambda t, x: x**1, [0.0, -1.0], 2),
    ("0 ** 0", lambda t, x: x**0, [0.0, 2.0], 2),
    ("0 ** y", lambda t, x: t.zeros(3, dtype=t.float64) ** x, [0.5, 1.0, 2.0], 1),
    ("x ** y at 0", lambda t, x: x[0] ** x[1], [[0.0, 0.0, 2.0], [2.0, 1.0, 0.0]], 1),
    ("a negative number to a whole power", lambda t, x: x[0] ** x[1].detach(), [[-2.0, -1.5], [3.0, 2.0]], 2),
    ("sqrt of 0", lambda t, x: t.sqrt(x), [0.0, 1.0], 1),
    ("abs of 0", lambda t, x: t.abs(x), [0.0, -1.0], 2),
    ("sign of 0", lambda t, x: t.sign(x) * x, [0.0, -1.0], 2),
    ("relu of 0", lambda t, x: t.relu(x), [0.0, 1.0, -1.0], 2),
    ("clamp at its edges", lambda t, x: t.clamp(x, -1, 1), [-1.0, 1.0, 0.0, 2.0, -3.0], 2),
    ("where guards a division", lambda t, x: t.where(x == 0, x * 2, 1 / t.where(x == 0, x + 1, x)), [0.0, 2.0], 2),
    ("where of a nan that is not chosen", lambda t, x: t.where(x > 0, x, x * 0), [1.0, -1.0], 2),
    ("norm of a zero vector", lambda t, x: t.norm(x), [0.0, 0.0], 1),
    ("max with an infinity", lambda t, x: x.max(), [1.0, math.inf], 1),
    ("softmax with -inf", lambda t, x: t.softmax(x, -1), [1.0, -math.inf, 0.0], 1),
    ("log_softmax with large numbers", lambda t, x: t.log_softmax(x, -1), [1e4, -1e4, 0.0], 1),
    ("logsumexp of -inf and a number", lambda t, x: t.logsumexp(x, 0), [-math.inf, 1.0], 1),
    ("sigmoid of large numbers", lambda t, x: t.sigmoid(x), [800.0, -800.0, 0.0], 2),
    ("tanh of large numbers", lambda t, x: t.tanh(x), [800.0, -800.0, 0.0], 2),
    ("a sum of nothing", lambda t, x: x[:0].sum() + x.sum(), [1.0, 2.0], 2),
    ("floor", lambda t, x: t.floor(x) * x, [1.0, 1.5, -0.5], 2),
    ("round", lambda t, x: t.round(x) * x, [1.0, 1.5, -0.5], 2),
    ("atan2 of 0", lambda t, x: t.atan2(x[0], x[1]), [[0.0, 1.0], [1.0, 0.0]], 2),
    ("hypot of 0", lambda t, x: t.hypot(x[0], x[1]), [[0.0, 3.0], [2.0, 4.0]], 2),
)  # fmt: skip


class _Torch:
    """torch, with our names for what it calls otherwise."""

    def __init__(self, torch):
        self.torch = torch

    def __getattr__(self, name):
        return getattr(self.torch, name, None) or getattr(self.torch.nn.functional, name)


@pytest.mark.parametrize(("sentence", "function", "numbers", "orders"), CORNERS, ids=[c[0] for c in CORNERS])
def test_at_a_corner_the_gradient_is_pytorchs(torch, sentence, function, numbers, orders):
    a = np.array(numbers)

    ours = our_orders(lambda x: function(jt, x), [a], orders)

    expect_equal(ours, torch_orders(torch, lambda x: function(_Torch(torch), x), [a], orders), 1e-12, sentence)


def test_the_gradient_of_0_to_a_power_has_a_gradient_too():
    second = our_orders(lambda y: jt.zeros(3, dtype=F64) ** y, [np.array([0.5, 1.0, 2.0])])[1]

    assert second[0].tolist() == [0.0, 0.0, 0.0]  # where PyTorch answers nan


def test_leaky_relu_and_softplus_at_0(torch):
    a, f = np.array([0.0, 1.0, -1.0]), torch.nn.functional

    expect_equal(
        our_orders(lambda x: jt.leaky_relu(x, 0.1), [a]),
        torch_orders(torch, lambda x: f.leaky_relu(x, 0.1), [a]),
        1e-12,
        "leaky",
    )
    expect_equal(our_orders(jt.softplus, [a]), torch_orders(torch, f.softplus, [a]), 1e-12, "softplus")


def test_softplus_of_large_numbers_has_the_gradient_of_a_sigmoid(torch):
    a = np.array([800.0, -800.0, 20.0])

    expect_equal(our_orders(jt.softplus, [a]), torch_orders(torch, torch.nn.functional.softplus, [a]), 1e-8, "softplus")


# -------------------------------------------------------------------------------------------------------------- complex


def test_the_gradient_of_the_squared_length_of_1_2j_is_2_4j():
    z = jt.array(np.array(1 + 2j))

    assert jt.grad(jt.abs(z) ** 2, z).item() == pytest.approx(2 + 4j)


COMPLEX_ROWS = (
    ("|z|^2", lambda t, z: t.abs(z) ** 2), ("|z|", lambda t, z: t.abs(z)), ("z * z", lambda t, z: z * z),
    ("z ** 2", lambda t, z: z**2),
    ("z ** 3", lambda t, z: z**3), ("1 / z", lambda t, z: 1 / z), ("conj", lambda t, z: z.conj() * z * z),
    ("exp", lambda t, z: t.exp(z) * z),
    ("log", lambda t, z: t.log(z)), ("sqrt", lambda t, z: t.sqrt(z)), ("sin", lambda t, z: t.sin(z)),
    ("tanh", lambda t, z: t.tanh(z)),
    ("sum", lambda t, z: (z * z).sum()), ("mean", lambda t, z: (z * z).mean(0)), ("prod", lambda t, z: z.prod()),
    ("a slice", lambda t, z: (z * z)[1:]),
    ("a negative number", lambda t, z: -z * z), ("division", lambda t, z: z[0] / z),
    ("a real factor", lambda t, z: t.abs(z) * z),
    ("an array of positions", lambda t, z: (z * z)[[0, 0, 1]]), ("a sign", lambda t, z: z / t.abs(z)),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "function"), COMPLEX_ROWS, ids=[r[0] for r in COMPLEX_ROWS])
def test_a_complex_gradient_is_the_conjugate_one_of_pytorch(torch, sentence, function):
    a = draw(seed_of(sentence), (3,), C128, "positive") * (0.5 + 0.2j)

    judge(torch, lambda z: function(jt, z), lambda z: function(torch, z), [a], sentence)


def test_real_and_complex_numbers_mix_and_each_gets_its_own_kind_of_gradient(torch):
    arrays = [draw(1, (2,), F64), draw(2, (2,), C128)]

    judge(torch, lambda x, z: x * z * z + x, lambda x, z: x * z * z + x, arrays)
    for ours in (lambda x, z: z.real() * x + z.imag(), lambda x, z: z.real * x + z.imag):
        judge(torch, ours, lambda x, z: z.real * x + z.imag, arrays)
    judge(
        torch,
        lambda x, z: jt.where(x > 0, z * z, x * x),
        lambda x, z: torch.where(x > 0, z * z, (x * x).to(z.dtype)),
        arrays,
    )
    judge(torch, lambda x, z: jt.concat([x, z]) * 2, lambda x, z: torch.cat([x.to(z.dtype), z]) * 2, arrays)


# ------------------------------------------------------------------------------------------------------- half precision


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("row", [r for r in ROWS if "power" not in r[0]], ids=lambda r: r[0])
def test_gradients_of_short_floats_are_those_of_float64_up_to_rounding(row, dtype):
    sentence, function, shapes, domain = row
    arrays = [draw(seed_of(sentence, k), s, dtype, domain) / 2 for k, s in enumerate(shapes)]
    xs = [jt.array(a, dtype) for a in arrays]

    grads = jt.grad(weighed(function(jt, *xs), 0.3), xs, allow_unused=True)

    exact = our_orders(lambda *ys: function(jt, *ys), [x.double().numpy() for x in xs], 1)[0]
    error = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5}[dtype]
    for g, e, x in zip(grads, exact, xs, strict=True):
        if g is not None:
            assert g.dtype == x.dtype
            np.testing.assert_allclose(g.double().numpy(), e, error, error * max(1.0, np.abs(e).max()))


# ------------------------------------------------------------------------------------------------ what the learner asks


def square():
    return jt.array(np.array([1.0, 2.0, 3.0]))


def test_gradients_of_a_list_come_as_a_list_and_of_one_as_one():
    x, y = square(), square()
    loss = (x * y * y).sum()

    dx, dy = jt.grad(loss, [x, y])

    assert jt.grad(loss, x).tolist() == dx.tolist() == [1.0, 4.0, 9.0]
    assert dy.tolist() == [2.0, 8.0, 18.0]


def test_a_gradient_with_respect_to_a_value_on_the_way():
    x = square()
    y = x * 2
    loss = (y * y).sum()

    assert jt.grad(loss, y).tolist() == [4.0, 8.0, 12.0]
    assert jt.grad(loss, loss).tolist() == 1.0


def test_a_gradient_runs_nothing_until_its_numbers_are_asked_for():
    x = square()

    with jt.trace() as t:
        dx = jt.grad((x * x).sum(), x)
        ddx = jt.grad(dx.sum(), x)

    assert t.kernels == []
    assert ddx.tolist() == [2.0, 2.0, 2.0]


def test_a_value_used_twice_adds_up_its_gradients():
    x = square()
    y = x * x

    assert jt.grad((y + y * y + x).sum(), x).tolist() == [2 + 4 + 1, 4 + 32 + 1, 6 + 108 + 1]


def test_a_gradient_works_after_the_values_were_computed():
    x = square()
    y = x * x
    loss = (y * y).sum()
    loss.sync()
    y.sync()

    assert jt.grad(loss, x).tolist() == [4.0, 32.0, 108.0]
    assert jt.grad(loss, [x, y])[1].tolist() == [2.0, 8.0, 18.0]


def test_third_and_fourth_order():
    x = jt.array(np.array(2.0))
    y = x**5
    for factor in (5 * 16, 20 * 8, 60 * 4, 120 * 2):
        y = jt.grad(y, x)
        assert y.item() == pytest.approx(factor)


@pytest.mark.parametrize("n", [10_000])
def test_a_chain_of_ten_thousand_operators_is_no_recursion(n):
    x = jt.array(np.array([1.0]))
    y = x
    for _ in range(n):
        y = y * 1.0001

    dx = jt.grad(y.sum(), x)

    assert dx.shape == (1,)


def test_a_chain_of_two_thousand_operators_runs_and_has_a_gradient():
    x = jt.array(np.array([1.0]))
    y = x
    for _ in range(2000):
        y = y * 1.001
    loss = y.sum()

    dx = jt.grad(loss, x)

    assert dx.item() == pytest.approx(loss.item()) == pytest.approx(1.001**2000)


ASKED_WRONGLY = (
    # (sentence, what is asked, what the message says)
    ("a loss of several numbers", lambda x: jt.grad(x * x, x),
     r"starts from one number; found a loss of shape \(3,\)\. Try: loss\.sum\(\)"),
    ("a loss of integers", lambda x: jt.grad(x.int64().sum(), x),
     "smoothly have gradients; found a loss of dtype int64"),
    ("a complex loss", lambda x: jt.grad((x * 1j).sum(), x),
     "starts from a real number; found a loss of dtype complex128"),
    ("a target that the loss does not reach", lambda x: jt.grad((square() * 2).sum(), x),
     r"the loss was not computed from the Var of shape \(3,\).*allow_unused=True"),
    ("a target of integers", lambda x: jt.grad((x * x).sum(), jt.array([1])),
     "has dtype int64; only floats have gradients"),
    ("a target that was stopped", lambda x: jt.grad((x * x).sum(), x.detach()),
     "was stopped by stop_grad, detach or no_grad"),
    ("a path through integers", lambda x: jt.grad(x.int64().float64().sum(), x),
     "breaks at cast_int64 .a cast to whole numbers"),
    ("a path through a comparison", lambda x: jt.grad((x > 0).float64().sum(), x), "breaks at greater"),
    ("a path through detach", lambda x: jt.grad((x * 2).detach().sum() + square().sum(), x),
     "breaks at .*stop_grad or no_grad"),
    ("no Var", lambda x: jt.grad(1.0, x), "jt.grad takes a Var, .*; found float"),
    ("a target that is no Var", lambda x: jt.grad((x * x).sum(), [1.0]),
     "jt.grad takes a Var, .*; found Var, .'float'"),
    ("a seed of another shape", lambda x: jt.vjp(x * x, [x], jt.ones(2)),
     r"of the shape of its Var; found \(2,\) for \(3,\)"),
    ("backward of several numbers", lambda x: (x * x).backward(), "starts from one number"),
    ("backward of nothing that takes part", lambda x: x.detach().sum().backward(), "none that takes part"),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "asked", "message"), ASKED_WRONGLY, ids=[r[0] for r in ASKED_WRONGLY])
def test_what_has_no_gradient_is_refused_with_the_reason(sentence, asked, message):
    with pytest.raises((jt.GradientError, jt.ArgumentError), match=f"(?s){message}"):
        asked(square())


def changed(loss_of):
    """A Var that was changed in place after its loss was computed, and the loss."""
    x = square()
    x.name = "the weight"
    loss = loss_of(x)  # before
    with jt.no_grad():
        x *= 2
    return x, loss


@pytest.mark.parametrize("ask", [
    lambda x, loss: jt.grad(loss, x),
    lambda x, loss: loss.backward(),
    lambda x, loss: jt.optim.SGD([x], 0.1).step(loss),
    lambda x, loss: jt.optim.SGD([x], 0.1).backward(loss),
], ids=["grad", "backward", "step", "optimizer.backward"])  # fmt: skip
def test_a_var_that_was_changed_after_the_loss_is_named_as_such(ask):
    said = r"the weight(, changed| was made, or changed) in place,? after the loss"
    with pytest.raises(jt.GradientError, match=said):
        ask(*changed(lambda x: (x * x).sum()))


@pytest.mark.parametrize("brackets", [True, False])
def test_no_grad_and_enable_grad_decorate_with_and_without_brackets(brackets):
    def twice(x):
        return x * 2

    stopped, recorded = (d()(twice) if brackets else d(twice) for d in (jt.no_grad, jt.enable_grad))

    x = square()

    assert not stopped(x).requires_grad
    assert stopped(x).tolist() == twice(x).tolist()
    with jt.no_grad():
        assert recorded(x).requires_grad


def test_a_change_before_the_loss_is_no_reason():
    x = square()
    x *= 2

    (x * x).sum().backward()

    assert x.grad is not None


def test_parameters_that_were_all_stopped_are_told_apart_from_a_loss_that_reaches_none():
    x = square()
    x.requires_grad = False

    with pytest.raises(jt.GradientError, match=r"none that takes part.*Try: p.requires_grad = True"):
        jt.optim.SGD([x], 0.1).step((x * square()).sum())


def test_the_message_names_the_line_where_the_path_breaks():
    x = square()
    y = x.int64()  # here
    loss = y.float64().sum()

    with pytest.raises(jt.GradientError, match=r"test_autograd\.py:\d+: y = x\.int64\(\)  # here"):
        jt.grad(loss, x)


def test_the_message_names_the_var_if_it_has_a_name():
    x = square()
    x.name = "the weight"

    with pytest.raises(jt.GradientError, match="not computed from the weight"):
        jt.grad((square() * 2).sum(), x)


def test_allow_unused_answers_none_for_what_is_not_reached_only():
    x, y, z = square(), square(), jt.array([1])

    grads = jt.grad((x * 2).sum(), [x, y, z], allow_unused=True)

    assert grads[0].tolist() == [2.0, 2.0, 2.0]
    assert grads[1:] == [None, None]


REASONS = (
    ("there is one", lambda x: (x * x).sum(), "there is a gradient"),
    ("never used", lambda x: square().sum(), "the loss was not computed from"),
    ("detached", lambda x: x.detach().sum() + square().sum(), "not computed from .* or only by way of detach"),
    ("detached on the way", lambda x: (x * 2).detach().sum() + square().sum(),
     r"breaks at detach \(stop_grad or no_grad\)"),
    ("cast to whole numbers", lambda x: x.int32().float64().sum() + square().sum(), "breaks at cast_int32"),
    ("compared", lambda x: jt.where(x > 0, 1.0, 2.0).sum() + square().sum(), "breaks at greater"),
    ("argmax", lambda x: x.argmax().float64() + square().sum(), "breaks at .*whole numbers, a comparison or an argmax"),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "loss", "reason"), REASONS, ids=[r[0] for r in REASONS])
def test_why_there_is_no_gradient_is_told(sentence, loss, reason):
    x = square()

    said = jt.why_no_grad(x, loss(x))

    assert re.search(reason, said), said


def test_why_there_is_no_gradient_after_no_grad_and_stop_grad():
    x, y = square(), square()
    with jt.no_grad():
        z = x * 2
    assert "no_grad" in jt.why_no_grad(x, (z * square()).sum())

    y.stop_grad()
    assert "stopped by stop_grad" in jt.why_no_grad(y, (y * square()).sum())


def test_vjp_weighs_the_elements_of_its_output():
    x, y = square(), square()

    dx, dy = jt.vjp(x * x * y, [x, y], np.array([1.0, 10.0, 100.0]))

    assert dx.tolist() == [2.0, 80.0, 1800.0]
    assert dy.tolist() == [1.0, 40.0, 900.0]
    assert jt.vjp(x * x, [y], np.ones(3))[0].tolist() == [0.0, 0.0, 0.0]


def test_vjp_is_itself_differentiable():
    x = square()

    (dx,) = jt.vjp(x * x * x, [x], np.ones(3))

    assert jt.grad(dx.sum(), x).tolist() == [6.0, 12.0, 18.0]


# ------------------------------------------------------------------------------------------------ starting and stopping


def test_detach_cuts_and_leaves_the_original_alone():
    x = square()
    y = x.detach()

    assert jt.grad((x * y).sum(), x).tolist() == [1.0, 2.0, 3.0]
    assert (x.requires_grad, y.requires_grad, y.is_stop_grad()) == (True, False, True)


def test_stop_grad_and_start_grad_switch_in_place():
    x = square()
    x.stop_grad()
    assert x.requires_grad is False

    x.start_grad()
    assert jt.grad((x * x).sum(), x).tolist() == [2.0, 4.0, 6.0]

    x.requires_grad = False
    assert x.is_stop_grad()
    x.requires_grad = True
    assert not x.is_stop_grad()


def test_stopping_a_value_on_the_way_makes_it_a_constant():
    x = square()
    y = x * 2
    y.stop_grad()

    assert jt.grad((x * y).sum(), x).tolist() == [2.0, 4.0, 6.0]


def test_starting_a_computed_value_makes_it_a_leaf():
    x = square()
    y = (x * 2).detach()
    y.start_grad()

    assert jt.grad((y * y).sum(), y).tolist() == [4.0, 8.0, 12.0]
    assert jt.grad((y * y).sum(), [x], allow_unused=True) == [None]


def test_whole_numbers_cannot_start():
    with pytest.raises(jt.DtypeError, match="only floats have gradients"):
        jt.array([1, 2]).start_grad()
    assert jt.array([1, 2]).requires_grad is False


def test_no_grad_works_as_a_block_and_as_a_decorator_and_enable_grad_undoes_it():
    x = square()

    @jt.no_grad()
    def twice(v):
        return v * 2

    with jt.no_grad():
        stopped = x * 2
        with jt.enable_grad():
            started = x * 2

    assert [v.requires_grad for v in (stopped, started, twice(x), x * 2)] == [False, True, False, True]


def test_a_gradient_of_many_numbers_starts_from_grad_outputs_as_in_pytorch(torch):
    x, t = jt.array([1.0, 2.0]), torch.tensor([1.0, 2.0], requires_grad=True)
    g = [1.0, 10.0]

    found = jt.autograd.grad(outputs=x**3, inputs=x, grad_outputs=jt.array(g))

    assert found.tolist() == torch.autograd.grad(t**3, t, grad_outputs=torch.tensor(g))[0].tolist()
    assert jt.grad(x**3, [x], grad_outputs=[jt.array(g)])[0].tolist() == jt.vjp(x**3, [x], g)[0].tolist()
    assert jt.grad(jt.grad(x**3, x, grad_outputs=g).sum(), x).tolist() == [6.0, 120.0]
    with pytest.raises(jt.GradientError, match=r"\(3,\) for \(2,\)"):
        jt.grad(x * x, x, grad_outputs=jt.ones(3))


def test_gradients_are_switched_for_what_follows_for_a_block_and_for_a_function():
    x = jt.array([1.0])
    try:
        jt.set_grad_enabled(False)
        stopped = (x * 2).requires_grad, jt.is_grad_enabled()
        with jt.set_grad_enabled(True):
            inside = (x * 2).requires_grad, jt.is_grad_enabled()
        after = jt.is_grad_enabled()
    finally:
        jt.set_grad_enabled(True)
    decorated = jt.set_grad_enabled(mode=False)(lambda: (x * 2).requires_grad)

    assert (stopped, inside, after) == ((False, False), (True, True), False)
    assert (decorated(), jt.is_grad_enabled(), (x * 2).requires_grad) == (False, True, True)
    with pytest.raises(jt.ArgumentError, match="mode as True or False"):
        jt.set_grad_enabled("no")


def test_no_grad_ends_with_an_error_inside():
    x = square()
    with pytest.raises(ZeroDivisionError), jt.no_grad():
        raise ZeroDivisionError

    assert (x * 2).requires_grad


def test_update_keeps_no_history_and_the_right_to_a_gradient():
    x = square()
    x.update(x * 2)

    assert jt.grad((x * x).sum(), x).tolist() == [4.0, 8.0, 12.0]


@pytest.mark.parametrize(("kept", "put"), [("int32", 2.5), ("float32", 1j), ("bool", 3)])
@pytest.mark.parametrize("way", ["assign", "update", "data"])
def test_what_is_put_into_a_var_loses_no_fraction_and_no_imaginary_part(kept, put, way):
    x = jt.zeros(2, dtype=kept)
    new = jt.array([put, put])

    with pytest.raises(jt.DtypeError, match=f"a Var of {kept} keeps its dtype; found {new.dtype}"):
        setattr(x, "data", new) if way == "data" else getattr(x, way)(new)

    assert x.tolist() == [0, 0]
    x.assign(new.real().cast(kept))
    assert x.dtype == kept


def test_assign_keeps_history():
    x = square()
    y = square()
    y.assign(x * 2)

    assert jt.grad((y * y).sum(), x).tolist() == [8.0, 16.0, 24.0]


def test_arithmetic_in_place_keeps_history_and_leaves_old_readers_alone():
    x = square()
    y = x * 1
    z = y * y
    y += x

    assert jt.grad(z.sum(), x).tolist() == [2.0, 4.0, 6.0]
    assert jt.grad((y * y).sum(), x).tolist() == [8.0, 16.0, 24.0]


def test_the_first_change_of_a_pending_var_in_place_asks_for_no_name_that_it_lacks(monkeypatch):
    asked = []
    monkeypatch.setattr(type(square()), "__getattr__", lambda var, name: asked.append(name))
    y = square() * 1
    y += 1

    assert asked == []


def test_a_gradient_is_chosen_again_only_where_a_rule_reads_more_than_the_gradient():
    x = jt.array([4.0, 0.0, -1.0])
    turned, rooted = (jt.grad(jt.where(x > 0, v, 0.0).sum(), x) for v in (-x, x.sqrt()))
    choices = [
        [n.op.name for n in graph.inputs_first([dx.node]) if n.op.name in ("select", "picked")]
        for dx in (turned, rooted)
    ]

    assert choices == [["select"], ["select", "picked"]]
    assert (turned.tolist(), rooted.tolist()) == ([-1.0, 0.0, 0.0], [0.25, 0.0, 0.0])


def test_a_picked_gradient_is_differentiated_again():
    x = jt.array([4.0, 0.0, -1.0])
    once = jt.grad(jt.where(x > 0, x.sqrt(), x * x).sum(), x)

    assert once.tolist() == [0.25, 0.0, -2.0]
    assert jt.grad(once.sum(), x).tolist() == [-1 / 32, 2.0, 2.0]


def test_a_picked_gradient_that_is_0_by_chance_is_differentiated_as_any_other():
    x = jt.array([2.0, 3.0])
    seed = jt.zeros(2)
    once = jt.vjp(jt.where(x > 1, x * x, x.sqrt()), [x], seed)[0]
    exact = (jt.where(x > 1, x * x, x.sqrt()) - jt.array([4.0, 9.0])) ** 2

    assert jt.grad(once.sum(), seed).tolist() == [4.0, 6.0]
    assert jt.grad(jt.grad(exact.sum(), x).sum(), x).tolist() == [32.0, 72.0]


# --------------------------------------------------------------------------------------------------- backward and hooks


def test_backward_fills_and_adds_up_grad():
    x, y = square(), square()

    (x * y).sum().backward()
    (x * x).sum().backward()

    assert x.grad.tolist() == [1 + 2, 2 + 4, 3 + 6]
    assert y.grad.tolist() == [1.0, 2.0, 3.0]
    x.grad = None
    assert x.grad is None


def test_backward_takes_a_gradient_to_begin_with():
    x = square()

    (x * x).backward(np.array([1.0, 10.0, 100.0]))

    assert x.grad.tolist() == [2.0, 40.0, 600.0]


def test_grad_that_was_asked_for_as_a_graph_is_differentiated_again():
    x = square()
    loss = (x * x * x).sum()

    loss.backward(retain_graph=True)
    x.grad = None
    loss.backward(create_graph=True)
    (x.grad * x.grad).sum().backward()

    t = x.numpy()
    np.testing.assert_allclose(x.grad.numpy(), 3 * t**2 + 2 * 3 * t**2 * 6 * t)


def test_backward_leaves_stopped_vars_without_grad():
    x, y = square(), square()
    y.stop_grad()

    (x * y).sum().backward()

    assert y.grad is None


def test_a_hook_sees_and_replaces_the_gradient_until_it_is_removed():
    x, seen = square(), []
    handle = x.register_hook(lambda g: seen.append(g.tolist()))
    undo = x.register_hook(lambda g: g * 10)

    first = jt.grad((x * x).sum(), x).tolist()
    undo()
    second = jt.grad((x * x).sum(), x).tolist()
    handle.remove()
    jt.grad((x * x).sum(), x)

    assert (first, second) == ([20.0, 40.0, 60.0], [2.0, 4.0, 6.0])
    assert seen == [[2.0, 4.0, 6.0]] * 2


def test_one_function_that_is_hooked_twice_is_removed_once_by_each_handle():
    x, tenfold = square(), lambda g: g * 10
    first, second = x.register_hook(tenfold), x.register_hook(tenfold)

    first.remove()
    first.remove()
    assert jt.grad((x * x).sum(), x).tolist() == [20.0, 40.0, 60.0]

    second.remove()
    assert x.hooks == ()


def test_a_hook_on_the_way_changes_what_comes_behind_it():
    x = square()
    y = x * 2
    y.register_hook(lambda g: g * 0 + 1)

    assert jt.grad((y * y).sum(), x).tolist() == [2.0, 2.0, 2.0]


def test_a_hook_sees_the_whole_gradient_once():
    x, seen = square(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))

    jt.grad((y * y + y).sum(), x)

    assert seen == [[5.0, 9.0, 13.0]]


def test_a_hook_may_not_change_the_shape():
    x = square()
    x.register_hook(lambda g: g.sum())

    with pytest.raises(jt.GradientError, match=r"of the gradient's shape; found \(\) for \(3,\)"):
        jt.grad((x * x).sum(), x)


# ----------------------------------------------------------------------- floats from whole numbers, and what is stopped

FROM_WHOLE = {
    "float": lambda n: n.float(),
    "half": lambda n: n.half(),
    "times 1.0": lambda n: n * 1.0,
    "plus 1j": lambda n: n + 1j,
    "half of it": lambda n: n / 2,
    "by itself": lambda n: n / n,
    "a root": lambda n: n.sqrt(),
    "a power": lambda n: n**0.5,
    "exp": jt.exp,
    "mean": lambda n: n.mean(),
    "standard deviation": lambda n: n.std(),
    "as float64": lambda n: n.astype("float64"),
    "a copy": lambda n: jt.array(n, dtype="float32"),
    "one hot": lambda n: jt.nn.one_hot(n, 5).float(),
    "a mask": lambda n: (n > 1).float(),
    "one of two numbers": lambda n: jt.where(n > 1, 1.0, 0.0),
    "arange": lambda n: jt.arange(3).float(),
    "stacked": lambda n: jt.stack([n.float(), n.double()]),
    "drawn": lambda n: jt.bernoulli(n / 4),
    "drawn whole": lambda n: jt.randint(0, 9, (3,), dtype="float32"),
    "from a stopped one": lambda n: jt.array([1.5]).detach().long().float(),
    "softmax": lambda n: jt.nn.softmax(n.float(), 0),
}


@pytest.mark.parametrize("make", FROM_WHOLE.values(), ids=FROM_WHOLE)
def test_floats_made_from_whole_numbers_take_part_in_gradients(make):
    x = make(jt.array([1, 2, 3]))

    assert x.requires_grad
    assert jt.grad((x * x).real().sum(), x).tolist() == (2 * x.conj()).tolist()
    with jt.no_grad():
        assert not make(jt.array([1, 2, 3])).requires_grad


def test_floats_of_stopped_ones_and_whole_numbers_stay_stopped():
    table, words = square().stop_grad(), jt.array([0, 2])

    assert not table[words].requires_grad
    assert not (table * 2).requires_grad
    assert not jt.where(table > 1, table, 0.0).requires_grad
    assert not jt.zeros(3, requires_grad=False).double().requires_grad


def test_a_real_var_takes_no_complex_gradient():
    x = square()

    for ask in (lambda g: jt.grad(x * x, x, grad_outputs=g), lambda g: jt.vjp(x * x, [x], g), (x * x).backward):
        with pytest.raises(jt.GradientError, match="dtype complex"):
            ask(jt.array([1j, 1, 1]))


def test_a_path_that_ends_in_whole_numbers_ends_there_and_the_error_says_so():
    x = square()
    loss = (x.long().float() * 2).sum()

    with pytest.raises(jt.GradientError, match=r"breaks at cast_int64 \(a cast to whole numbers"):
        jt.grad(loss, x)
    assert jt.grad(loss + x.sum(), x).tolist() == [1, 1, 1]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_parameter_made_from_whole_numbers_is_trained(compiled):
    class Scaled(jt.nn.Module):
        def __init__(self):
            self.scale = jt.array([1, 2]).float()

        def execute(self, x):
            return (x * self.scale).sum()

    net = Scaled()
    sgd = jt.optim.SGD(net.parameters(), lr=1)

    def step(x):
        sgd.step(net(x))

    (jt.compile(step) if compiled else step)(jt.array([1.0, 10.0]))

    assert [name for name, _ in net.named_parameters()] == ["scale"]
    assert net.scale.tolist() == [0.0, -8.0]


def _written_to(x, value):
    x[:] = value


IN_PLACE = {
    "+=": lambda x, value: x.__iadd__(value),
    "*=": lambda x, value: x.__imul__(value),
    "assign": lambda x, value: x.assign(value),
    "data": lambda x, value: setattr(x, "data", value),
    "brackets": _written_to,
    "out": lambda x, value: jt.add(value, 1, out=x),
    "whole numbers": lambda x, value: x.assign(jt.array([1, 2, 3])),
    "an average": lambda x, value: x.update(x * 0.9 + value * 0.1),
}


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
@pytest.mark.parametrize("stopped", ["stop_grad", "no_grad", "detach", "not asked for"])
def test_what_was_stopped_stays_stopped_when_it_is_changed_in_place(change, stopped):
    with jt.no_grad():
        of_no_grad = jt.zeros(3)
    states = {"stop_grad": jt.zeros(3).stop_grad(), "no_grad": of_no_grad, "detach": jt.zeros(3).detach()}
    state = states.get(stopped, jt.zeros(3, requires_grad=False))
    x = square()

    change(state, x * 2)

    assert not state.requires_grad
    assert jt.grad((state * x).sum(), x).tolist() == state.tolist()


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
@pytest.mark.parametrize("stopped", [False, True])
def test_what_takes_part_still_does_when_it_is_changed_in_place(change, stopped):
    state, value = jt.ones(3), square() * 2

    change(state, value.detach() if stopped else value)

    assert state.requires_grad
    assert jt.grad((state * state).sum(), state).tolist() == (state * 2).tolist()


def test_a_power_and_a_product_of_matrices_in_place_move_the_var_and_keep_its_flag():
    x, state = jt.array([[2.0, 0.0], [0.0, 3.0]]), jt.ones((2, 2)).stop_grad()
    name, same = x, state

    x **= 2
    x @= x
    state **= x
    state @= x

    assert (name is x, name.tolist()) == (True, [[16.0, 0.0], [0.0, 81.0]])
    assert (same is state, state.requires_grad) == (True, False)


def test_data_of_a_var_is_copied_into_a_parameter_without_its_history():
    p, q = jt.ones(2), jt.ones(2) * 3
    sgd = jt.optim.SGD([p], lr=1)

    p.data = q
    sgd.step((p * p).sum())

    assert (p.tolist(), q.tolist()) == ([-3, -3], [3, 3])


class Norm(jt.nn.Module):
    """Batch norm as one writes it by hand: `+=` on statistics that were stopped."""

    def __init__(self, features):
        self.weight, self.bias = jt.ones(features), jt.zeros(features)
        self.mean, self.var = jt.zeros(features).stop_grad(), jt.ones(features).stop_grad()

    def execute(self, x):
        if self.is_training():
            mean = x.mean(0)
            var = (x * x).mean(0) - mean * mean
            self.mean += (mean - self.mean) * 0.1
            self.var += (var - self.var) * 0.1
        else:
            mean, var = self.mean, self.var
        return (x - mean) / jt.sqrt(var + 1e-5) * self.weight + self.bias


@pytest.mark.parametrize("compiled", [False, True])
def test_running_statistics_that_were_stopped_are_not_trained_in_eval_mode(compiled):
    print("seed 3")
    x = jt.array(np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32))
    net = Norm(3)
    sgd = jt.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        sgd.step((net(x) ** 2).sum())

    move = jt.compile(step) if compiled else step
    move(x)
    mean, var, weight = net.mean.numpy(copy=True), net.var.numpy(copy=True), net.weight.numpy(copy=True)
    assert np.abs(mean).max() > 0.001
    net.eval()
    for _ in range(3):
        move(x)

    np.testing.assert_array_equal(net.mean.numpy(), mean)
    np.testing.assert_array_equal(net.var.numpy(), var)
    assert np.abs(net.weight.numpy() - weight).min() > 0.001


# --------------------------------------------------------------------------------------------------------- lenient_grad


def test_with_lenient_grad_a_missing_path_is_zeros_and_a_warning_names_it():
    x, w = square(), jt.array([4.0])
    w.name = "w"

    with jt.flag_scope(lenient_grad=True), pytest.warns(UserWarning, match="not computed from w.*Its gradient is 0"):
        dx, dw = jt.grad((x * x).sum(), [x, w])

    assert (dx.tolist(), dw.tolist()) == ([2, 4, 6], [0])
    with pytest.raises(jt.GradientError, match="not computed from w"):
        jt.grad((x * x).sum(), w)


def test_with_lenient_grad_a_loss_of_several_numbers_is_summed_and_a_warning_says_so():
    x = square()
    sgd = jt.optim.SGD([x], lr=0.5)

    ways = lambda: jt.grad(x * x, x), lambda: (x * x).backward(), lambda: sgd.step(x * x)
    for way in ways:
        x.grad = None
        with jt.flag_scope(lenient_grad=True), pytest.warns(UserWarning, match=r"of shape \(3,\) is summed"):
            way()

    assert x.tolist() == [0, 0, 0]
    for strict in ways:
        with pytest.raises(jt.GradientError, match="a gradient starts from one number"):
            strict()


# ------------------------------------------------------------------------------------------------------------- Function


class Cube(jt.Function):
    """x ** 3, with a gradient of its own."""

    def execute(self, x):
        self.x = x
        return x * x * x

    def grad(self, dout):
        return dout * 3 * self.x * self.x


def test_a_function_brings_its_own_gradient_of_any_order():
    x = square()

    dx = jt.grad(Cube.apply(x).sum(), x)

    assert dx.tolist() == [3.0, 12.0, 27.0]
    assert jt.grad(dx.sum(), x).tolist() == [6.0, 12.0, 18.0]
    judge(None, lambda v: Cube()(v * v), None, [np.array([0.3, -1.2])])


class Both(jt.Function):
    """Sum and product of two, and a count that has no gradient."""

    def execute(self, x, y, n):
        self.x, self.y, self.n = x, y, n
        return x + y, x * y, n

    def grad(self, dsum, dproduct, dn):
        assert dn is None
        return dsum + dproduct * self.y, dsum + dproduct * self.x


def test_a_function_of_several_outputs_is_asked_once_with_all_of_them():
    x, y = square(), square()

    s, p, n = Both()(x, y, 7)
    dx, dy = jt.grad((s * 2 + p * p).sum(), [x, y])

    assert n == 7
    assert dx.tolist() == [2 + 2 * v**3 for v in (1.0, 2.0, 3.0)]
    assert dy.tolist() == dx.tolist()


def test_an_output_of_a_function_that_nobody_used_has_gradient_0():
    x, y = square(), square()

    _, p, _ = Both()(x, y, 7)

    assert jt.grad(p.sum(), [x, y])[0].tolist() == [1.0, 2.0, 3.0]


class Several(jt.Function):
    """Two outputs that take part in gradients, and others that do not; it notes what grad is given."""

    given = None

    def execute(self, x, y):
        self.y = y
        return x * y, x / y, "a text", (x * 10).long(), (x + 1).stop_grad(), np.ones(1, np.float32), None, [1]

    def grad(self, *douts):
        type(self).given = [None if d is None else d.tolist() for d in douts]
        return douts[0] * self.y, None


def test_a_function_hands_on_what_is_no_var_and_grad_gets_none_for_it():
    x, y = jt.array(3.0), jt.array(4.0)

    product, _, text, whole, stopped, made, nothing, numbers = Several.apply(x, y)

    assert (text, whole.item(), nothing, numbers) == ("a text", 30, None, [1])
    assert (stopped.requires_grad, made.requires_grad) == (False, True)  # arrays of NumPy become Vars
    assert jt.grad(product * made.sum(), x).item() == 4
    assert Several.given == [1.0, 0.0, None, None, None, [12.0], None, None]


@pytest.mark.parametrize("stop", ["stop_grad", "requires_grad", "requires_grad_"])
def test_grad_gets_none_for_an_output_that_was_stopped(stop):
    x, y = jt.array(3.0), jt.array(4.0)
    product, quotient, *_ = Several.apply(x, y)
    if stop == "stop_grad":
        quotient.stop_grad()
    elif stop == "requires_grad":
        quotient.requires_grad = False
    else:
        quotient.requires_grad_(False)

    dx, dy = jt.grad(product + quotient * 3, [x, y], allow_unused=True)

    assert (dx.item(), dy) == (4, None)
    assert Several.given[:2] == [1.0, None]


def test_a_loss_keeps_its_gradient_when_an_output_behind_it_is_stopped_later():
    x = square()
    y = Square.apply(x)
    loss = y.sum()

    y.stop_grad()

    assert jt.grad(loss, x).tolist() == [2, 4, 6]


class Square(jt.Function):
    def execute(self, x):
        self.x = x
        return x * x

    def grad(self, dout):
        return dout * 2 * self.x


def test_a_function_that_is_called_again_before_its_gradient_keeps_each_call_apart():
    f, a, b = Square(), jt.array(1.0), jt.array(5.0)

    assert [g.item() for g in jt.grad(f(a) + f(b), [a, b])] == [2, 10]
    assert jt.grad(f(f(f(b))), b).item() == 8 * 5**7
    assert f.x.item() == 5  # and what it kept may be looked at


class Half(jt.Function):
    """A function that hands a gradient to its first input only."""

    def execute(self, x, y):
        return x * y

    def grad(self, dout):
        return dout * 5, None


def test_none_stands_for_no_gradient():
    x, y = square(), square()

    assert jt.grad(Half()(x, y).sum(), [x, y], allow_unused=True)[0].tolist() == [5.0, 5.0, 5.0]
    assert jt.grad(Half()(x, y).sum(), [x, y], allow_unused=True)[1] is None


def _function(answer):
    class Wrong(jt.Function):
        def execute(self, x, y):
            return x * y

        def grad(self, dout):
            return answer(dout)

    return Wrong()


WRONG_FUNCTIONS = (
    ("too few", lambda d: (d,), "one gradient .or None. for each Var that execute was given; found 1 for 2"),
    ("too many", lambda d: (d, d, d), "found 3 for 2"),
    ("another shape", lambda d: (d.sum(), d), r"the shapes of its inputs; found \(\) for an input of \(3,\)"),
    ("no Vars", lambda d: (1.0, d), "returns Vars or None; found float"),
    ("nothing", lambda d: None, "for each Var that execute was given; found 1 for 2, None"),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "answer", "message"), WRONG_FUNCTIONS, ids=[w[0] for w in WRONG_FUNCTIONS])
def test_a_function_that_answers_wrongly_is_told_so(sentence, answer, message):
    x, y = square(), square()

    with pytest.raises(jt.GradientError, match=message):
        jt.grad(_function(answer)(x, y).sum(), [x, y])


def test_a_function_that_changes_its_input_in_place_is_told_and_the_input_stays():
    class Plus(jt.Function):
        def execute(self, x):
            x += 1
            return x

        def grad(self, dout):
            return dout

    x = square()
    y = x * 1

    with pytest.raises(jt.GradientError, match=r"Plus\.execute leaves its inputs as they are; found input 0 changed"):
        Plus()(y)
    assert y.tolist() == x.tolist()
    assert jt.grad(y.sum(), x).tolist() == [1, 1, 1]


def test_a_function_whose_grad_forgot_to_return_is_named():
    class Twice(jt.Function):
        def execute(self, x):
            return x * 2

        def grad(self, dout):
            dout * 2  # the mistake

    x = square()
    loss = Twice.apply(x * 3).sum()

    with pytest.raises(jt.GradientError, match=r"breaks at function at .*, whose grad answered None"):
        jt.grad(loss, x)
    assert "whose grad answered None" in jt.why_no_grad(x, loss)


def test_a_function_without_its_methods_is_told_so():
    with pytest.raises(jt.GradientError, match="Function must say what it computes"):
        jt.Function()(square())

    class ForPyTorch(jt.Function):
        @staticmethod
        def forward(ctx, x):  # noqa: ARG004 - as PyTorch wants it
            return x * 2

    with pytest.raises(jt.GradientError, match=r"but forward, PyTorch's name\. Try: def execute\(self, x\).*no ctx"):
        ForPyTorch.apply(square())

    class NoGradient(jt.Function):
        def execute(self, x):
            return x * 2

    x = square()
    with pytest.raises(jt.GradientError, match="NoGradient must say what its gradient is"):
        jt.grad(NoGradient()(x).sum(), x)


class Times(jt.Function):
    """x times a number, and the gradients that a test wants."""

    def execute(self, x, factor, answer):
        self.factor, self.answer = factor, answer
        return x * factor

    def grad(self, dout):
        return tuple(dout * self.factor if part is Ellipsis else part for part in self.answer)


@pytest.mark.parametrize("answer", [(...,), (..., None, None)])
def test_a_function_may_answer_none_for_what_is_no_var(answer):
    x = square()

    assert jt.grad(Times.apply(x, 3.0, answer).sum(), x).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("answer", [(..., None), (..., ..., None), (), (..., None, None, None)])
def test_a_function_that_answers_for_other_inputs_is_told_so(answer):
    x = square()

    with pytest.raises(jt.GradientError, match=r"Times\.grad returns"):
        jt.grad(Times.apply(x, 3.0, answer).sum(), x)


def test_gradients_take_part_in_gradients_unless_create_graph_is_false():
    x = square()
    loss = (x * x * x).sum()

    for words in ({}, {"retain_graph": True}, {"create_graph": True}, {"create_graph": None, "retain_graph": None}):
        first = jt.grad(loss, x, **words)
        assert jt.grad(first.sum(), x).tolist() == [6.0, 12.0, 18.0]

    cut, other = jt.grad(loss, [x, jt.ones(2)], allow_unused=True, create_graph=False)
    assert (cut.requires_grad, cut.tolist(), other) == (False, [3.0, 12.0, 27.0], None)
    for word in ("retain_graph", "create_graph"):
        with pytest.raises(jt.ArgumentError, match=f"{word}='yes'"):
            jt.grad(loss, x, **{word: "yes"})


def test_a_function_of_stopped_vars_or_in_no_grad_has_no_history():
    x = square()

    assert Cube()(x.detach()).requires_grad is False
    with jt.no_grad():
        assert Cube()(x).requires_grad is False


def test_a_function_that_returns_its_input_still_has_its_own_gradient():
    class Scaled(jt.Function):
        """The identity, whose gradient is ten times as large."""

        def execute(self, x):
            return x

        def grad(self, dout):
            return dout * 10

    x = square()

    assert jt.grad((Scaled()(x) * x).sum(), x).tolist() == [10 + 1, 20 + 2, 30 + 3]


class Doubled(jt.Function):
    def execute(self, x):
        return x * 2

    def grad(self, dout):
        return dout * 2


class DoubledByNumpy(jt.Function):
    """Its output was not computed from its input, as far as the graph knows."""

    def execute(self, x):
        return jt.array(x.numpy() * 2)

    def grad(self, dout):
        return dout * 2


class Given(Doubled):
    """Its output has nothing to do with the numbers of its input."""

    def execute(self, x):
        return jt.array([6.0])


@pytest.mark.parametrize("function", [Doubled, DoubledByNumpy, Given])
@pytest.mark.parametrize("before", ["a leaf", "computed", "pending"])
@pytest.mark.parametrize("held", [True, False])
def test_a_function_hands_gradients_on_after_its_graph_has_run(function, before, held):
    x = jt.array([3.0])
    given = x if before == "a leaf" else x * 1
    if before == "computed":
        given.sync()
    y = function.apply(given)
    z = y * 5
    if not held:
        del y, given

    z.sync()

    assert jt.grad(z, x).item() == 10
    assert jt.grad((z * 1).sync(), x).item() == 10


class Apart(jt.Function):
    def execute(self, x):
        return x * 2, x * 3, x * 5

    def grad(self, *douts):
        self.told = [None if dout is None else dout.tolist() for dout in douts]
        return sum(dout * k for dout, k in zip(douts, (2, 3, 5), strict=True) if dout is not None)


def test_a_function_is_told_of_outputs_that_nobody_holds_any_more():
    function, x = Apart(), jt.array([3.0, 4.0])
    first, _, last = function(x)
    last.stop_grad()
    del _, last

    assert jt.grad(first.sum(), x).tolist() == [2.0, 2.0]
    assert function.told == [[1.0, 1.0], [0.0, 0.0], None]


def test_a_function_goes_with_the_vars_that_it_made():
    gc.collect()
    gc.disable()
    try:
        function, x = Apart(), jt.array([3.0])
        y = function(x)[0]
        alive = [weakref.ref(function), weakref.ref(y.node), weakref.ref(x.node)]
        del function, x, y

        assert [thing() for thing in alive] == [None] * 3
    finally:
        gc.enable()


def test_a_loop_of_functions_that_ran_keeps_no_history_of_what_nobody_holds():
    x = jt.array([3.0])
    first = weakref.ref(x.node)

    for _ in range(3):
        x = Doubled.apply(x)
        x.sync()

    assert first() is None
    assert x.item() == 24


def names_that_move(x):
    """Values of a step that keep their names until the next step gives these to others."""
    for _ in range(20):
        z = x + 1
        y = z * 2
        x = y * 0.25
        x.sync()
        yield x, y, z


def the_value_before(x):
    for _ in range(20):
        before, x = x, x * 0.5
        x.sync()
        yield x, before


def the_value_before_of_two_operators(x):
    for _ in range(20):
        before, x = x, (x + 1) * 0.5
        x.sync()
        yield x, before


@pytest.mark.parametrize("loop", [names_that_move, the_value_before, the_value_before_of_two_operators])
def test_a_loop_keeps_the_history_that_somebody_can_ask_for_and_no_other(loop):
    kept, last = weakref.WeakSet(), None
    for last in loop(jt.array([3.0])):
        kept.update(v.node for v in last)
    assert len(kept) <= 2 * len(last)

    first = jt.array([3.0])
    *_, last = loop(first)
    assert jt.grad(last[0], first).item() == 0.5**20


@pytest.mark.parametrize(
    "step",
    [
        lambda x, w, u: (x + 1) * 0.5, lambda x, w, u: w * x, lambda x, w, u: u + x * 0.5,
        lambda x, w, u: jt.tanh(w * x + u), lambda x, w, u: 0.1 * (w * w).sum() + 0.9 * x,
    ],
    ids=["alone", "held * x", "held + x * number", "a cell", "a moving average"],
)  # fmt: skip
def test_a_long_history_is_not_walked_through_at_each_step(monkeypatch, step):
    looked, found = [], graph.history
    monkeypatch.setattr(graph, "history", lambda *given: looked.extend(found(*given)) or found(*given))
    w, u, first = jt.array([0.5]), jt.array([0.1]), jt.array([3.0])
    x = first
    for _ in range(200):
        x = step(x, w, u)
        x.sync()

    assert jt.grad(x, first).item() == pytest.approx(0.0, abs=1e-6)
    assert len(looked) < 200 * 30


def test_a_cast_hands_its_gradient_back_in_the_dtype_of_its_input():
    for found in ("float16", "bfloat16", "float32", "float64", "complex64"):
        for wanted in ("float16", "bfloat16", "float32", "float64"):
            x = jt.array(np.array([1.0, 2.0]), found)

            dx = jt.grad((x.cast(wanted) * 3).sum(), x)

            assert (str(dx.dtype), dx.numpy().tolist()) == (found, [3.0, 3.0])


@pytest.mark.parametrize(("function", "wanted"), [(jt.logaddexp, 0.25), (jt.logaddexp2, math.log(2) / 4)])
def test_the_second_gradient_of_logaddexp_at_a_tie_is_that_of_its_neighbours(function, wanted):
    x, y = jt.array([0.5, np.inf], dtype="float64"), jt.array([0.5, np.inf], dtype="float64")

    first = jt.grad(function(x, y).sum(), x)

    assert first.tolist() == [0.5, 0.5]
    assert jt.grad(first.sum(), x).tolist()[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", ["expm1", "celu", "elu"])
def test_slopes_of_exp_minus_1_keep_their_digits_far_below_0(name):
    x = jt.array([-10.0, -35.0, -80.0])
    function = getattr(jt, name)

    np.testing.assert_allclose(jt.grad(function(x).sum(), x).numpy(), np.exp(x.numpy().astype("float64")), rtol=1e-6)
