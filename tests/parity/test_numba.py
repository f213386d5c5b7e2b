"""The numba backend on a representative part of the table: many functions share one kernel, so that few are compiled.

What is compared is what the python backend is compared with: NumPy, or the python backend itself where that was
compared already.
"""

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.inputs import both, draw, expect_same, round_to, seed_of
from tests.parity.table import (
    BINARY,
    CONV,
    KEYS,
    LOSSES,
    MATMUL,
    POOL,
    POSITIONS,
    REDUCTIONS,
    TERNARY,
    UNARY,
    VIEWS,
)


@pytest.fixture(autouse=True)
def _numba_backend():
    with jt.flag_scope(backend="numba"), np.errstate(all="ignore"):
        yield


def together(pairs, *, dtypes=(), loose=4.0):
    """Compute all of ours in one go, then compare each with its twin."""
    with jt.trace() as t:
        jt.sync([ours for _, ours, _ in pairs])
    for name, ours, theirs in pairs:
        expect_same(ours, theirs, dtypes=dtypes, loose=loose, what=name)
    return t


DTYPES = ("bool", "int8", "uint8", "float16", "bfloat16", "float32", "complex64")  # one of each kind


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [UNARY, BINARY, TERNARY], ids=["unary", "binary", "ternary"])
def test_elementwise_functions_that_share_a_kernel(rows, dtype):
    groups = {}
    for row in rows:
        if row.numpy is not None and dtype in row.dtypes and row.name != "outer":
            groups.setdefault(row.domain, []).append(row)
    for domain, members in groups.items():
        seed = seed_of(domain, dtype)
        inputs = [both(seed + k, (3, 5), dtype, domain) for k in range(len(members[0].shapes[0]))]
        ours, theirs = zip(*inputs, strict=True)
        together([(r.name, r.ours(*ours), r.numpy(*theirs)) for r in members], dtypes=(dtype,))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_reductions_that_share_a_kernel(dtype):
    for axes, keep in ((None, False), (1, True), (0, False)) if dtype == "float32" else ((1, True),):
        groups = {}
        for row in REDUCTIONS:
            if dtype in row.dtypes:
                groups.setdefault(row.domain, []).append(row)
        for domain, members in groups.items():
            ours, theirs = both(seed_of(domain, dtype), (5, 4), dtype, domain)
            wide = theirs.astype(np.float64) if dtype in ("float16", "bfloat16") else theirs
            pairs = [(r.name, r.ours(ours, axes, keep), np.asarray(r.numpy(wide, axes, keep))) for r in members]
            if wide is not theirs:
                pairs = [(n, a, round_to(b, dtype) if b.dtype == np.float64 else b) for n, a, b in pairs]
            together(pairs, dtypes=(dtype,))


def test_reductions_of_more_numbers_than_one_block_holds():
    rng = np.random.default_rng(1)
    for shape in ((70_001,), (3, 30_011), (30_011, 3), (41, 53, 43)):
        a = rng.normal(size=shape).astype(np.float32)
        x, wide = jt.array(a), a.astype(np.float64)
        for axis in (None, 0, -1):
            exact = [wide.sum(axis), wide.max(axis), wide.min(axis), wide.mean(axis), wide.var(axis)]
            jt.sync(found := [x.sum(axis), x.max(axis), x.min(axis), x.mean(axis), x.var(axis)])
            for ours, theirs in zip(found, exact, strict=True):
                np.testing.assert_allclose(ours.numpy(), theirs, rtol=2e-5, atol=2e-5 * np.sqrt(a.size))


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_positions_that_share_a_kernel(dtype):
    for axis in (0, -1):
        ours, theirs = both(seed_of(dtype), (4, 5), dtype, "few")
        together(
            [(r.name, r.ours(ours, axis, False), r.numpy(theirs, axis, False)) for r in POSITIONS if dtype in r.dtypes]
        )


def test_views_on_numba():
    for row in VIEWS[::3]:
        (shape,) = row.shapes[-1]
        ours, theirs = both(seed_of(row.name), shape, "int64", "any", "transposed")
        together([(row.name, row.ours(ours), row.numpy(theirs))])


def test_brackets_on_numba():
    for sentence, key, shape in [k for k in KEYS if k[2] != (5,)][::3]:
        ours, theirs = both(seed_of(sentence), shape, "int64", "any")
        together([(sentence, ours[key], theirs[key])])


def test_assignment_through_brackets_on_numba():
    for sentence, key, shape in KEYS[::2]:
        if len(shape) == 3:
            ours, theirs = both(seed_of(sentence), shape, "int64", "any")
            theirs, value = (
                theirs.copy(),
                100 + np.arange(np.zeros(shape)[key].size).reshape(np.zeros(shape)[key].shape),
            )
            ours[key] = value
            theirs[key] = value
            together([(sentence, ours, theirs)])


def test_gather_scatter_and_one_hot_on_numba():
    ours, theirs = both(1, (3, 4), "float32")
    index = draw(2, (3, 4), "int64", "positive") % 3
    added = theirs.copy()
    np.add.at(added, (index, np.arange(4)[None]), theirs)
    together([
        ("gather", jt.gather(ours, 0, index), np.take_along_axis(theirs, index, 0)),
        ("scatter by adding", jt.scatter(ours, 0, index, ours, "add"), added),
        ("index_select", jt.index_select(ours, 1, index[0]), np.take(theirs, index[0], 1)),
        ("one_hot", jt.one_hot(jt.array(index), 3), np.eye(3, dtype=np.int64)[index]),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex64"])
def test_matrix_products_on_numba(dtype):
    for shapes in MATMUL.shapes if dtype == "float32" else MATMUL.shapes[3:12:6]:
        (a, x), (b, y) = (both(seed_of(s, k), s, dtype, "unit") for k, s in enumerate(shapes))
        together([(str(shapes), a @ b, round_to(x @ y, dtype))], dtypes=(dtype,), loose=16)


def test_convolution_and_pooling_on_numba(torch):
    f = torch.nn.functional
    for sentence, image, weight, bias, options in CONV[1::2]:
        (a, x), (b, y) = both(seed_of(sentence), image, "float32"), both(seed_of(weight), weight, "float32")
        c, z = both(3, weight[:1], "float32") if bias else (None, None)
        wanted = f.conv2d(torch.tensor(x), torch.tensor(y), None if z is None else torch.tensor(z), **options)
        together([(sentence, jt.conv2d(a, b, c, **options), wanted.numpy())], loose=16)
    for sentence, shape, options in POOL[::2]:
        a, x = both(seed_of(sentence), shape, "float32")
        together([
            (sentence, jt.max_pool2d(a, **options), f.max_pool2d(torch.tensor(x), **options).numpy()),
            (sentence, jt.avg_pool2d(a, **options), f.avg_pool2d(torch.tensor(x), **options).numpy()),
        ])  # fmt: skip


def test_losses_and_their_gradients_on_numba(torch):
    f = torch.nn.functional
    for sentence, shape, target, options in LOSSES:
        if "weight" in options or "sum" in sentence:
            continue
        a, x = both(seed_of(sentence), shape, "float32")
        x = torch.tensor(x, requires_grad=True)
        loss, wanted = (
            jt.cross_entropy_loss(a, jt.array(target), **options),
            f.cross_entropy(x, torch.tensor(target), **options),
        )
        wanted.sum().backward()
        together(
            [(sentence, loss, wanted.detach().numpy()), (sentence, jt.grad(loss.sum(), a), x.grad.numpy())], loose=16
        )


def test_random_numbers_are_the_same_on_both_backends():
    for draw_numbers in (
        lambda: jt.rand(50),
        lambda: jt.rand(50, dtype="float64"),
        lambda: jt.randint(0, 100, (50,)),
        lambda: jt.random((50,), "float16"),
    ):
        jt.set_global_seed(3)
        ours = draw_numbers().numpy()
        jt.set_global_seed(3)
        with jt.flag_scope(backend="python"):
            np.testing.assert_array_equal(draw_numbers().numpy(), ours)


def test_normal_numbers_are_nearly_the_same_on_both_backends():
    for dtype in ("float32", "float64"):
        jt.set_global_seed(3)
        ours = jt.randn(50, dtype=dtype).numpy()
        jt.set_global_seed(3)
        with jt.flag_scope(backend="python"):
            np.testing.assert_allclose(jt.randn(50, dtype=dtype).numpy(), ours, rtol=1e-5)
