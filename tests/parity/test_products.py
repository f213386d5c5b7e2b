"""Matrix products, convolutions, pooling, softmax and losses: NumPy's numbers, or PyTorch's where NumPy has none."""

import numpy as np
import pytest
import scipy.special

import jt_edu as jt
from tests.parity.families.contractions import WIDE
from tests.parity.inputs import LAYOUTS, TOLERANCE, both, draw, expect_same, refuses, round_to, seed_of
from tests.parity.table import CONV, LOSSES, MATMUL, POOL, REAL_FLOATS, SMOOTHING

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")


# ---------------------------------------------------------------------------------------------------- matrix products


@pytest.mark.parametrize("shapes", MATMUL.shapes, ids=str)
def test_a_matrix_product_is_numpys(shapes):
    for layout, _, _ in LAYOUTS:
        (a, x), (b, y) = (both(seed_of(shape, k), shape, "float64", "any", layout) for k, shape in enumerate(shapes))
        expect_same(a @ b, x @ y, loose=8, what=layout)
        expect_same(jt.matmul(a, b), x @ y, loose=8, what=layout)


@pytest.mark.parametrize("dtype", MATMUL.dtypes)
def test_a_matrix_product_has_numpys_dtype_and_room_for_sums_of_whole_numbers(dtype):
    for shapes in (((2, 3), (3, 4)), ((2, 2, 3), (3,))):
        (a, x), (b, y) = (both(seed_of(shape, dtype), shape, dtype) for shape in shapes)
        x, y = (array.astype(WIDE.get(array.dtype.name, array.dtype)) for array in (x, y))
        wanted = round_to(x @ y, dtype) if x.dtype.kind == "f" else x @ y
        expect_same(a @ b, wanted, dtypes=(dtype,), loose=8)


def test_a_matrix_product_of_two_dtypes_promotes():
    a, b = np.ones((2, 2), np.int32), np.ones((2, 2), np.float32)

    expect_same(jt.array(a) @ jt.array(b), a @ b)
    expect_same(a @ jt.array(b), a @ b)
    expect_same(jt.array(a).dot(b), a @ b)


def _sums_of_products(lib):
    """Name -> a sum of products of a matrix (3, 3), an image (1, 2, 4, 4) and weights (2, 2, 3, 3)."""
    return {
        "matmul": lambda m, x, w: m @ m,
        "mv": lambda m, x, w: m @ m[0],
        "dot": lambda m, x, w: jt.dot(m[0], m[1]),
        "vdot": lambda m, x, w: jt.vdot(m, m),
        "vecdot": lambda m, x, w: jt.vecdot(m, m),
        "inner": lambda m, x, w: jt.inner(m, m),
        "bmm": lambda m, x, w: jt.bmm(m.unsqueeze(0), m.unsqueeze(0)),
        "tensordot": lambda m, x, w: jt.tensordot(m, m),
        "addmm": lambda m, x, w: jt.addmm(m, m, m, beta=3, alpha=2),
        "addr": lambda m, x, w: jt.addr(m, m[0], m[1]),
        "einsum": lambda m, x, w: jt.einsum("ij,kj->ik", m, m),
        "einsum of one": lambda m, x, w: jt.einsum("ij->i", m),
        "einsum of three": lambda m, x, w: jt.einsum("i,j,k->k", m[0] // 9, m[1] // 9, m[2]),
        "linear": lambda m, x, w: lib.linear(m, m, m[0]),
        "bilinear": lambda m, x, w: lib.bilinear(m // 9, m, m.reshape(1, 3, 3) // 9),
        "conv1d": lambda m, x, w: jt.conv1d(x[:, :, 0], w[:, :, 0]),
        "conv2d": lambda m, x, w: jt.conv2d(x, w, w[0, 0, 0, :2]),
        "conv2d in groups": lambda m, x, w: jt.conv2d(x, w[:, :1], groups=2),
        "conv2d by a number": lambda m, x, w: jt.conv2d(x, w[:, :, :1, :1]),
        "conv3d": lambda m, x, w: jt.conv3d(x.unsqueeze(2), w.unsqueeze(2), padding=1),
        "conv_transpose2d": lambda m, x, w: jt.conv_transpose2d(x, w, stride=2),
        "fold": lambda m, x, w: lib.fold(lib.unfold(x, 3), (4, 4), 3),
        "reindex_reduce": lambda m, x, w: m.reindex_reduce("add", (3,), lambda i, j: (i,)),
        "embedding_bag": lambda m, x, w: lib.embedding_bag(jt.array([[0, 1, 2]]), m, mode="sum"),
        "matrix_power": lambda m, x, w: jt.matrix_power(m, 3),
        "multi_dot": lambda m, x, w: jt.multi_dot([m, m, m]),
    }


SUMMED_IN = {**WIDE, "int64": "int64"}


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", _sums_of_products(jt.nn.functional))
def test_sums_of_products_of_whole_numbers_do_not_wrap(name, backend, rng):
    function = _sums_of_products(jt.nn.functional)[name]
    arrays = [rng.integers(90, 127, shape) for shape in ((3, 3), (1, 2, 4, 4), (2, 2, 3, 3))]
    exact = function(*map(jt.array, arrays)).numpy()
    for dtype, wanted in SUMMED_IN.items() if backend == "python" else [("int8", "int32"), ("int32", "int64")]:
        with jt.flag_scope(backend=backend):
            found = function(*(jt.array(a.astype(dtype)) for a in arrays))

            long = name in ("matrix_power", "multi_dot") and wanted == "int32"
            assert found.dtype == ("int64" if long else wanted), dtype
            np.testing.assert_array_equal(found.numpy(), exact)


def test_products_that_nothing_is_added_to_keep_their_dtype():
    x = jt.array([100, 27], dtype="int8")

    for y in (x * x, jt.outer(x, x), jt.kron(x, x), jt.einsum("i,j->ij", x, x), jt.tensordot(x, x, 0)):
        assert y.dtype == "int8"


def test_bools_are_multiplied_by_and_and_added_up_by_or():
    m = np.array([[True, False], [True, True]])

    expect_same(jt.array(m) @ jt.array(m), m @ m)
    assert jt.conv2d(jt.ones((1, 1, 3, 3), dtype="bool"), jt.ones((1, 1, 2, 2), dtype="bool")).dtype == "bool"


def test_bmm_multiplies_two_stacks():
    (a, x), (b, y) = both(1, (3, 2, 4), "float64"), both(2, (3, 4, 2), "float64")

    expect_same(jt.bmm(a, b), x @ y, loose=4)


MISTAKES = (
    ("inner lengths differ", lambda: jt.ones((2, 3)) @ jt.ones((2, 3))),
    ("a number", lambda: jt.ones((2, 3)) @ jt.array(1.0)),
    ("stacks of two lengths", lambda: jt.ones((2, 1, 1)) @ jt.ones((3, 1, 1))),
    ("bmm of matrices", lambda: jt.bmm(jt.ones((1, 1)), jt.ones((1, 1)))),
    ("bmm of two lengths", lambda: jt.bmm(jt.ones((1, 1, 1)), jt.ones((2, 1, 1)))),
    ("an image of two axes", lambda: jt.conv2d(jt.ones((1, 1)), jt.ones((1, 1, 1, 1)))),
    ("channels that differ", lambda: jt.conv2d(jt.ones((1, 2, 3, 3)), jt.ones((1, 1, 1, 1)))),
    ("a stride of 0", lambda: jt.conv2d(jt.ones((1, 1, 3, 3)), jt.ones((1, 1, 1, 1)), stride=0)),
    ("groups that do not divide", lambda: jt.conv2d(jt.ones((1, 3, 3, 3)), jt.ones((2, 1, 1, 1)), groups=2)),
    ("a window that is too large", lambda: jt.conv2d(jt.ones((1, 1, 2, 2)), jt.ones((1, 1, 3, 3)))),
    ("negative padding", lambda: jt.conv2d(jt.ones((1, 1, 3, 3)), jt.ones((1, 1, 1, 1)), padding=-1)),
    ("too much padding", lambda: jt.max_pool2d(jt.ones((1, 1, 4, 4)), 2, padding=2)),
    ("pooling a matrix", lambda: jt.avg_pool2d(jt.ones((4, 4)), 2)),
    ("another way to pool", lambda: jt.pool2d(jt.ones((1, 1, 4, 4)), 2, op="median")),
    ("a bias of another length", lambda: jt.conv2d(jt.ones((1, 1, 3, 3)), jt.ones((2, 1, 1, 1)), jt.ones(3))),
    ("targets that are floats", lambda: jt.cross_entropy_loss(jt.ones((2, 3)), jt.ones(2))),
    ("targets of another shape", lambda: jt.nll_loss(jt.ones((2, 3)), jt.array([0]))),
    ("another reduction", lambda: jt.nll_loss(jt.ones((2, 3)), jt.array([0, 1]), reduction="max")),
    ("more than all", lambda: jt.cross_entropy_loss(jt.ones((1, 3)), jt.array([0]), label_smoothing=2)),
    ("a class that is not there", lambda: jt.cross_entropy_loss(jt.ones((1, 3)), jt.array([3])).item()),
    ("an axis that is not there", lambda: jt.softmax(jt.ones(3), 1)),
    ("weights of another length", lambda: jt.nll_loss(jt.ones((1, 3)), jt.array([0]), weight=jt.ones(2)).item()),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "mistake"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_products_and_losses_that_make_no_sense_are_refused(sentence, mistake):
    assert refuses(mistake) in ("ShapeError", "ArgumentError", "DtypeError", "RangeError")


# --------------------------------------------------------------------------------------------- convolution and pooling


@pytest.mark.parametrize(("sentence", "image", "weight", "bias", "options"), CONV, ids=[c[0] for c in CONV])
def test_a_convolution_is_pytorchs(torch, sentence, image, weight, bias, options):
    (a, x), (b, y) = both(seed_of(sentence), image, "float64"), both(seed_of(weight), weight, "float64")
    c, z = both(3, weight[:1], "float64") if bias else (None, None)

    wanted = torch.nn.functional.conv2d(
        torch.tensor(x), torch.tensor(y), None if z is None else torch.tensor(z), **options
    )

    expect_same(jt.conv2d(a, b, c, **options), wanted.numpy(), loose=8)


@pytest.mark.parametrize("dtype", [*REAL_FLOATS, "complex64"])
def test_a_convolution_of_any_float_keeps_its_dtype(torch, dtype):
    (a, x), (b, y) = both(1, (1, 2, 4, 4), dtype, "unit"), both(2, (2, 2, 3, 3), dtype, "unit")

    wide = "complex128" if dtype == "complex64" else "float64"
    wanted = torch.nn.functional.conv2d(torch.tensor(x.astype(wide)), torch.tensor(y.astype(wide)), padding=1).numpy()
    ours = jt.conv2d(a, b, padding=1)

    assert str(ours.dtype) == dtype
    np.testing.assert_allclose(ours.numpy(), wanted, rtol=4 * TOLERANCE[dtype], atol=8 * TOLERANCE[dtype])


@pytest.mark.parametrize(("sentence", "shape", "options"), POOL, ids=[p[0] for p in POOL])
def test_pooling_is_pytorchs(torch, sentence, shape, options):
    a, x = both(seed_of(sentence), shape, "float64")
    f = torch.nn.functional

    expect_same(jt.max_pool2d(a, **options), f.max_pool2d(torch.tensor(x), **options).numpy())
    expect_same(-jt.pool2d(-a, op="minimum", **options), f.max_pool2d(torch.tensor(x), **options).numpy())
    expect_same(jt.pool2d(a, **options), f.max_pool2d(torch.tensor(x), **options).numpy())
    for count in (True, False):
        wanted = f.avg_pool2d(torch.tensor(x), count_include_pad=count, **options).numpy()
        expect_same(jt.avg_pool2d(a, count_include_pad=count, **options), wanted, loose=4)


def test_pooling_may_add_what_it_sees(torch):
    a, x = both(1, (1, 2, 5, 5), "float64")

    wanted = torch.nn.functional.avg_pool2d(torch.tensor(x), 3, 2, 1, divisor_override=1).numpy()

    expect_same(jt.pool2d(a, 3, 2, 1, op="add"), wanted, loose=4)


def test_a_nan_in_a_window_is_what_the_maximum_answers():
    x = np.zeros((1, 1, 2, 4))
    x[0, 0, 1, 1] = np.nan

    np.testing.assert_array_equal(jt.max_pool2d(jt.array(x), 2).numpy()[0, 0], [[np.nan, 0.0]])


# -------------------------------------------------------------------------------------------------- softmax and losses

SOFTMAXES = {"softmax": (jt.softmax, scipy.special.softmax), "log_softmax": (jt.log_softmax, scipy.special.log_softmax)}


@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_is_scipys_over_any_axis(name):
    ours, theirs = SOFTMAXES[name]
    for shape in ((4,), (3, 4), (2, 3, 4), (1, 1), (0, 3)):
        for axis in range(-len(shape), len(shape)):
            for layout, _, _ in LAYOUTS[:2]:
                if shape[axis]:
                    a, x = both(seed_of(name, shape), shape, "float64", "any", layout)
                    expect_same(
                        ours(a, axis), theirs(x, axis) if x.size else x, loose=4, what=f"{shape} {axis} {layout}"
                    )


@pytest.mark.parametrize("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_keeps_its_dtype(name, dtype):
    ours, theirs = SOFTMAXES[name]
    a, x = both(seed_of(dtype), (3, 4), dtype)

    expect_same(ours(a), round_to(theirs(x.astype(np.float64), -1), dtype), dtypes=(dtype,), loose=4)


def test_softmax_survives_infinities_and_large_numbers(torch):
    rows = [[1e4, 1e4 + 1, 0], [-np.inf, 0, 1], [-np.inf, -np.inf, 3], [-1e300, 0, 0], [np.nan, 0, 0]]
    x = torch.tensor(rows, dtype=torch.float64)

    expect_same(jt.softmax(jt.array(x.numpy())), x.softmax(-1).numpy())
    expect_same(jt.log_softmax(jt.array(x.numpy())), x.log_softmax(-1).numpy())


def test_logsumexp_survives_infinities_and_large_numbers(torch):
    rows = [[1e4, 1e4 + 1, 0], [-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [np.inf, 0, 1], [np.nan, 0, 0]]
    x = torch.tensor(rows, dtype=torch.float64)

    expect_same(jt.logsumexp(jt.array(x.numpy()), 1), x.logsumexp(1).numpy())


def _loss_arguments(torch, shape, target, options):
    a, x = both(seed_of(shape), shape, "float64")
    weight = draw(7, shape[1:2], "float64", "positive") if options.get("weight") else None
    ours = {**options, "weight": None if weight is None else jt.array(weight)}
    theirs = {**options, "weight": None if weight is None else torch.tensor(weight)}
    return a, torch.tensor(x), jt.array(target), torch.tensor(target), ours, theirs


@pytest.mark.parametrize(("sentence", "shape", "target", "options"), LOSSES, ids=[r[0] for r in LOSSES])
def test_a_loss_is_pytorchs(torch, sentence, shape, target, options):
    a, x, t, u, ours, theirs = _loss_arguments(torch, shape, target, options)
    f = torch.nn.functional

    expect_same(jt.nll_loss(a, t, **ours), f.nll_loss(x, u, **theirs).numpy(), loose=4)
    for smooth in SMOOTHING:
        wanted = f.cross_entropy(x, u, label_smoothing=smooth, **theirs).numpy()
        expect_same(
            jt.cross_entropy_loss(a, t, label_smoothing=smooth, **ours), wanted, loose=8, what=f"smoothing {smooth}"
        )


def test_the_mean_over_nothing_is_nan_as_in_pytorch():
    assert np.isnan(jt.cross_entropy_loss(jt.ones((2, 3)), jt.array([-100, -100])).item())
