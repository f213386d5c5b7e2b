"""Reductions over every set of axes, views, brackets and assignment through them: NumPy's numbers, shapes, dtypes."""

import itertools
import warnings

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.inputs import LAYOUTS, both, draw, expect_same, refuses, round_to, seed_of
from tests.parity.table import EVERY, KEYS, POSITIONS, REDUCTIONS, VIEWS


@pytest.fixture(autouse=True)
def _python_backend():
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice|Degrees of freedom", RuntimeWarning)
        yield


# ------------------------------------------------------------------------------------------------------- reductions


def _axes(rank):
    """No axis named, each set of axes, and some of them counted from the end."""
    sets = [s for n in range(1, rank + 1) for s in itertools.combinations(range(rank), n)]
    return [None, *sets, *range(rank), *((-1,) if rank else ()), *((0, -1),) * (rank > 1)]


@pytest.mark.parametrize("row", REDUCTIONS, ids=lambda r: r.name)
def test_a_reduction_over_any_axes_is_numpys(row):
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[-1]
    for shape in ((2, 3, 4), (3, 1), (5,), (1, 1, 1), ()):
        for axes, keep, (layout, _, _) in itertools.product(
            _axes(len(shape)), (False, True), LAYOUTS[: 2 if len(shape) == 3 else 1]
        ):
            seed = seed_of(row.name, shape)
            ours, theirs = both(seed, shape, dtype, row.domain, layout)
            wanted = row.numpy(theirs, axes, keep)
            expect_same(
                row.ours(ours, axes, keep), wanted, loose=row.loose, what=f"{shape} {axes} {keep} {layout}, seed {seed}"
            )


@pytest.mark.parametrize(
    ("row", "dtype"), [pytest.param(r, d, id=f"{r.name}-{d}") for r in REDUCTIONS for d in r.dtypes]
)
def test_a_reduction_of_any_dtype_has_numpys_numbers_and_dtype(row, dtype):
    for axes, keep in ((None, False), (0, True), ((0, 2), False)):
        seed = seed_of(row.name, dtype)
        ours, theirs = both(seed, (3, 2, 4), dtype, row.domain)
        if dtype == "bfloat16":  # NumPy would round to float32 only
            wanted = np.asarray(row.numpy(theirs.astype(np.float64), axes, keep))
            wanted = round_to(wanted, "bfloat16") if wanted.dtype == np.float64 else wanted
        elif dtype == "float16":
            wanted = np.asarray(row.numpy(theirs.astype(np.float64), axes, keep))
            wanted = wanted.astype(np.float16) if wanted.dtype == np.float64 else wanted
        else:
            wanted = row.numpy(theirs, axes, keep)
        expect_same(
            row.ours(ours, axes, keep), wanted, dtypes=(dtype,), loose=row.loose, what=f"{axes} {keep}, seed {seed}"
        )


@pytest.mark.parametrize("row", REDUCTIONS, ids=lambda r: r.name)
def test_a_reduction_of_nothing_is_numpys_or_refused_by_both(row):
    for shape, axes in (((0,), None), ((2, 0), 1), ((2, 0), 0), ((0, 3), (0, 1)), ((2, 0, 3), 2)):
        a = np.zeros(shape, row.dtypes[-1] if row.dtypes[-1] != "bfloat16" else "float32")
        if row.name == "logsumexp" or "inf" in row.name:
            continue
        theirs = refuses(row.numpy, a, axes, False)
        if theirs:
            assert refuses(row.ours, jt.array(a), axes, False), (shape, axes)
        else:
            expect_same(row.ours(jt.array(a), axes, False), row.numpy(a, axes, False), what=f"{shape} {axes}")


@pytest.mark.parametrize(
    ("row", "dtype"), [pytest.param(r, d, id=f"{r.name}-{d}") for r in POSITIONS for d in r.dtypes]
)
def test_the_first_of_equal_numbers_is_the_one_that_argmax_names(row, dtype):
    for shape, axis, keep in itertools.product([(2, 3, 4), (5,), (1, 3)], [None, 0, -1], [False, True]):
        seed = seed_of(row.name, shape, dtype)
        ours, theirs = both(seed, shape, dtype, row.domain)
        expect_same(
            row.ours(ours, axis, keep), row.numpy(theirs, axis, keep), what=f"{shape} {axis} {keep}, seed {seed}"
        )


def test_the_axes_of_a_reduction_may_be_called_dim_dims_or_axis():
    x = jt.array(np.arange(24.0).reshape(2, 3, 4))
    for name in ("sum", "mean", "prod", "max", "min", "any", "all", "var", "std", "logsumexp", "norm"):
        function = getattr(x, name)
        wanted = function(dims=1, keepdims=True).numpy()
        for words in ({"dim": 1, "keepdim": True}, {"axis": 1, "keepdims": True}):
            np.testing.assert_array_equal(function(**words).numpy(), wanted)
        assert refuses(lambda f=function: f(dim=1, axis=1)) == "ArgumentError"
        assert refuses(lambda f=function: f(dims=3)) == "RangeError"
        assert refuses(lambda f=function: f(dims=(1, -2))) == "ArgumentError"


def test_the_sum_of_a_dtype_of_ones_choice_is_taken_in_it():
    x = jt.array(np.full((2, 3), 100, np.int8))

    assert x.sum(dtype="int8").item() == np.full((2, 3), 100, np.int8).sum(dtype=np.int8)
    assert x.sum(dtype="float64").item() == 600.0


# ------------------------------------------------------------------------------------------------------------ views


@pytest.mark.parametrize("row", VIEWS, ids=lambda r: r.name)
def test_a_view_shows_what_numpys_shows(row):
    for (shape,), (layout, _, _) in itertools.product(row.shapes, LAYOUTS):
        ours, theirs = both(seed_of(row.name), shape, "int64", "any", layout)
        expect_same(row.ours(ours), row.numpy(theirs), what=f"{shape} {layout}")


@pytest.mark.parametrize("dtype", EVERY)
def test_views_of_any_dtype_change_no_number(dtype):
    ours, theirs = both(3, (4, 4), dtype, "odd")
    for row in VIEWS:
        if ((4, 4),) in row.shapes or row.name in ("pad", "flip", "concat of one", "repeat", "x.T", "crop and pad"):
            if row.name == "crop and pad" and dtype.startswith("uint"):  # it fills with -5
                assert refuses(row.ours, ours) == "DtypeError"
                continue
            wanted = np.asarray(row.numpy(theirs))
            wanted = round_to(wanted, dtype) if dtype == "bfloat16" else wanted
            expect_same(row.ours(ours), wanted, dtypes=(dtype,), what=row.name)


def test_concat_promotes_as_numpy_does():
    for x, y in itertools.product(("bool", "int8", "uint8", "int64", "float32", "float64", "complex64"), repeat=2):
        a, b = np.ones(2, x), np.ones(1, y)
        expect_same(jt.concat([jt.array(a), jt.array(b)]), np.concatenate([a, b]), what=f"{x} {y}")
        expect_same(jt.stack([jt.array(a), jt.array(b.repeat(2))]), np.stack([a, b.repeat(2)]), what=f"{x} {y}")


MISTAKES = (
    ("reshape to another number of elements", lambda x: x.reshape(4, 4)),
    ("two lengths left open", lambda x: x.reshape(-1, -1)),
    ("an axis that is not there", lambda x: x.transpose(0, 2)), ("an axis named twice", lambda x: x.permute(0, 0)),
    ("too few axes", lambda x: x.permute(0)), ("squeezing a long axis", lambda x: x.squeeze(0)),
    ("unsqueezing too far", lambda x: x.unsqueeze(4)), ("expanding a long axis", lambda x: x.expand(4, 3)),
    ("a negative count", lambda x: x.repeat(-1)), ("half a pair of widths", lambda x: x.pad((1,))),
    ("too many widths", lambda x: x.pad((1,) * 6)), ("cropping more than there is", lambda x: x.pad((-2, -2))),
    ("another kind of padding", lambda x: x.pad((1, 1), mode="mirror")),
    ("concat of nothing", lambda x: jt.concat([])),
    ("concat of different shapes", lambda x: jt.concat([x, x.T])),
    ("concat of different ranks", lambda x: jt.concat([x, x[0]])),
    ("stack of different shapes", lambda x: jt.stack([x, x.T])),
    ("parts that do not add up", lambda x: x.split([1, 2])),
    ("parts of no length", lambda x: x.split(0)), ("no chunk", lambda x: x.chunk(0)),
    ("flatten backwards", lambda x: x.flatten(1, 0)),
    ("stack of nothing", lambda x: jt.stack([])), ("negative parts", lambda x: x.split([3, -1])),
    ("a length below -1", lambda x: x.reshape(-2, -3)), ("half an axis", lambda x: x.reshape(1.5, 4)),
    ("a word for an axis", lambda x: x.sum("rows")), ("broadcast to less", lambda x: x.broadcast_to((3,))),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "mistake"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_view_that_makes_no_sense_is_refused_where_it_is_written(sentence, mistake):
    assert refuses(mistake, jt.ones((2, 3))) in ("ShapeError", "ArgumentError", "RangeError")


# --------------------------------------------------------------------------------------------------------- brackets


def _as_vars(key):
    parts = key if isinstance(key, tuple) else (key,)
    swapped = tuple(jt.array(k) if isinstance(k, np.ndarray) else k for k in parts)
    return swapped if isinstance(key, tuple) else swapped[0]


@pytest.mark.parametrize(("sentence", "key", "shape"), KEYS, ids=[k[0] for k in KEYS])
def test_brackets_read_what_numpys_read(sentence, key, shape):
    for layout, _, _ in LAYOUTS:
        ours, theirs = both(seed_of(sentence), shape, "int64", "any", layout)
        expect_same(ours[key], theirs[key], what=layout)
        expect_same(ours[_as_vars(key)], theirs[key], what=f"{layout}, with Vars")


@pytest.mark.parametrize(("sentence", "key", "shape"), KEYS, ids=[k[0] for k in KEYS])
def test_assignment_writes_what_numpys_writes(sentence, key, shape):
    there = np.zeros(shape)[key].shape
    values = {"a number": 7, "all": -1 - np.arange(np.prod(there, dtype=int)).reshape(there)}
    if there and there[-1]:
        values["the last axis"] = np.arange(there[-1]) + 100
        values["one more axis of length 1"] = np.arange(there[-1]).reshape((1,) * len(there) + (-1,)) - 100
    for (name, value), as_var, layout in itertools.product(values.items(), (False, True), ("plain", "transposed")):
        ours, theirs = both(seed_of(sentence), shape, "int64", "any", layout)
        theirs = theirs.copy()
        old = ours + 0
        if refuses(theirs.copy().__setitem__, key, value):
            continue  # NumPy is stricter with masks

        ours[_as_vars(key) if as_var else key] = jt.array(value) if as_var else value
        theirs[key] = value

        expect_same(ours, theirs, what=f"{name} {layout}")
        expect_same(old, both(seed_of(sentence), shape, "int64", "any", layout)[1], what="what was read before stays")


def test_positions_that_are_named_twice_keep_the_value_named_last():
    x = jt.zeros(4)

    x[np.array([1, 3, 1, 1])] = np.array([4.0, 2.0, 3.0, 1.0])

    assert x.tolist() == [0.0, 1.0, 0.0, 2.0]


def test_assignment_casts_to_the_dtype_that_is_there():
    x = jt.array(np.arange(4, dtype=np.int32))

    x[1:3] = 2.9
    x[jt.array([0])] = np.array([True])

    assert str(x.dtype) == "int32"
    assert x.tolist() == [1, 2, 2, 3]


def test_arithmetic_in_place_through_brackets():
    x, a = jt.array(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3)

    x[:, 1] += 10
    x[0] *= 2
    a[:, 1] += 10
    a[0] *= 2

    np.testing.assert_array_equal(x.numpy(), a)


WRONG_KEYS = (
    ("too far", 5), ("too far from the end", -6), ("too many indices", (0, 0)), ("a float", 1.5), ("a word", "a"),
    ("two dots", (..., ...)),
    ("an array that is too far", np.array([0, 5])), ("an array too far from the end", np.array([-6])),
    ("floats", np.array([0.5])),
    ("a mask of another length", np.array([True, False])),
    ("arrays that do not fit", (np.array([0, 1]), np.array([0, 1, 2]))),
    ("a step of 0", slice(None, None, 0)), ("a slice of floats", slice(0.5, 2)), ("a dictionary", {}),
    ("complex positions", np.array([1j])),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "key"), WRONG_KEYS, ids=[k[0] for k in WRONG_KEYS])
def test_brackets_that_numpy_refuses_are_refused(sentence, key):
    shape = (5, 5) if sentence == "arrays that do not fit" else (5,)
    x = jt.ones(shape)

    assert refuses(lambda: np.ones(shape)[key]) or sentence == "a step of 0"
    assert refuses(lambda: x[key].numpy())
    assert refuses(lambda: x.__setitem__(key, 1.0) or x.numpy())


def test_a_value_that_does_not_fit_the_brackets_is_refused_with_both_shapes():
    x = jt.ones((2, 3))

    with pytest.raises(jt.ShapeError, match=r"\(3, 2\) and \(2, 2\)"):
        x[:, 1:] = jt.ones((3, 2))


# ------------------------------------------------------------------------------------------------- gather and scatter


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_takes_along_an_axis(dim):
    ours, theirs = both(1, (3, 4), "float64")
    index = draw(2, (3, 4), "int64", "positive") % 3
    expect_same(jt.gather(ours, dim, jt.array(index)), np.take_along_axis(theirs, index, dim))
    expect_same(ours.gather(dim, index - 3), np.take_along_axis(theirs, index - 3, dim))


def test_gather_may_ask_for_less_than_there_is(torch):
    ours, theirs = both(1, (3, 4), "float64")
    index = np.array([[0, 2], [1, 1]])
    for dim in (0, 1):
        expect_same(jt.gather(ours, dim, index), torch.gather(torch.tensor(theirs), dim, torch.tensor(index)).numpy())


@pytest.mark.parametrize("mode", ["void", "add", "multiply"])
@pytest.mark.parametrize("dim", [0, 1, -2])
def test_scatter_writes_as_pytorch_does(torch, dim, mode):
    ours, theirs = both(1, (3, 4), "float64")
    source = draw(2, (3, 3), "float64")
    index = np.array([[0, 2, 1], [2, 1, 0], [1, 0, 2]])
    target = torch.tensor(theirs)
    options = {} if mode == "void" else {"reduce": mode}
    if mode == "void":
        wanted = target.scatter(dim, torch.tensor(index), torch.tensor(source))
    else:
        wanted = target.scatter_reduce(
            dim, torch.tensor(index), torch.tensor(source), {"add": "sum", "multiply": "prod"}[mode]
        )
    expect_same(jt.scatter(ours, dim, index, jt.array(source), **options), wanted.numpy(), loose=4)


@pytest.mark.parametrize("made", [jt.array, np.array, list])
def test_a_source_of_scatter_means_the_same_as_a_var_an_array_and_a_list(made):
    longer, shorter = made([[5.0, 6.0]]), made([[5.0]])

    assert jt.scatter(jt.zeros((1, 3)), 1, jt.array([[2]]), longer).tolist() == [[0, 0, 5]]
    with pytest.raises(jt.ShapeError, match=r"scatter needs a src no shorter than its index; found src \(1, 1\)"):
        jt.scatter(jt.zeros((1, 3)), 1, jt.array([[2, 0]]), shorter)


def test_scatter_adds_where_positions_meet():
    x = jt.scatter(
        jt.zeros((2, 3)), 1, np.array([[0, 0, 0], [2, 1, 2]]), jt.array([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]), "add"
    )

    assert x.tolist() == [[7.0, 0.0, 0.0], [0.0, 2.0, 5.0]]


def test_scatter_of_a_number_writes_it_everywhere():
    assert jt.scatter(jt.zeros((1, 3)), 1, np.array([[2, 0]]), 5).tolist() == [[5.0, 0.0, 5.0]]


@pytest.mark.parametrize("index", [[2, 0, 0], [[1, 0]], []], ids=str)
def test_index_select_takes_slices(index):
    ours, theirs = both(1, (3, 4, 2), "float64")
    positions = np.array(index, np.int64)
    for dim in (0, 1, -1):
        wanted = np.take(theirs, positions % theirs.shape[dim], dim)
        expect_same(jt.index_select(ours, dim, positions % theirs.shape[dim]), wanted)


def test_one_hot_marks_one_place():
    for shape in ((), (3,), (2, 2), (0,)):
        a = draw(1, shape, "int64", "small")
        expect_same(jt.one_hot(jt.array(a), 4), np.eye(4, dtype=np.int64)[a])


POSITION_MISTAKES = (
    ("floats as positions", lambda x: jt.gather(x, 0, jt.ones((2, 3)))),
    ("another rank", lambda x: jt.gather(x, 0, jt.array([0]))),
    ("too far", lambda x: jt.gather(x, 0, np.array([[2, 0, 0]])).numpy()),
    ("more than there is", lambda x: jt.gather(x, 0, np.zeros((2, 4), int))),
    ("scatter too far", lambda x: jt.scatter(x, 0, np.array([[0, 0, 2]]), 1.0).numpy()),
    ("one_hot of floats", lambda x: jt.one_hot(x, 3)),
    ("another way to reduce", lambda x: jt.scatter(x, 0, np.zeros((2, 3), int), 1.0, "mean")),
    ("a source that is too small", lambda x: jt.scatter(x, 0, np.zeros((2, 3), int), jt.ones((1, 3))).numpy()),
    ("select too far", lambda x: jt.index_select(x, 1, np.array([3])).numpy()),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "mistake"), POSITION_MISTAKES, ids=[m[0] for m in POSITION_MISTAKES])
def test_positions_that_make_no_sense_are_refused(sentence, mistake):
    assert refuses(mistake, jt.ones((2, 3))) in ("DtypeError", "ShapeError", "RangeError", "ArgumentError")
