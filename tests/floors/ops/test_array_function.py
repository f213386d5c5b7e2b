"""NumPy's functions of Vars: which stay in the graph, and that they say what NumPy says."""

import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.array_function import SAME

M = np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 0.5]], "float32")
N = np.array([[1.0, 2.0, 0.5], [4.0, -1.0, 0.25]], "float32")
HOLES = np.array([[3.0, np.nan, 2.0], [-1.0, 5.0, 0.5]], "float32")
PLACES = np.array([[0, 1], [1, 0]])

# What is asked of a function, where it is not f(M) and f(M, axis=0).
CALLS = {
    "allclose": [((M, N), {}), ((M, M), {"rtol": 0.1})],
    "array_equal": [((M, N), {}), ((M, M), {})],
    "array_split": [((M, 2), {"axis": 1})],
    "broadcast_to": [((M, (4, 2, 3)), {})],
    "clip": [((M, 0, 2), {}), ((M, None, N), {})],
    "cross": [((M, N), {})],
    "cumprod": [((M,), {"axis": 1}), ((M[0],), {})],
    "cumsum": [((M,), {"axis": 1}), ((M[0],), {})],
    "diff": [((M,), {"axis": 0}), ((M,), {"n": 2})],
    "einsum": [(("ij,kj->ik", M, N), {})],
    "expand_dims": [((M, 1), {})],
    "flip": [((M,), {}), ((M,), {"axis": 1})],
    "isclose": [((M, N), {}), ((M, M), {})],
    "isin": [((M, N), {}), ((M, N), {"invert": True})],
    "moveaxis": [((M, 0, 1), {})],
    "nan_to_num": [((HOLES,), {"nan": 4.0})],
    "nancumprod": [((HOLES,), {"axis": 1})],
    "nancumsum": [((HOLES,), {"axis": 1})],
    "quantile": [((M, 0.3), {}), ((M, 0.3), {"axis": 1, "keepdims": True})],
    "reshape": [((M, (3, 2)), {}), ((M, -1), {})],
    "roll": [((M, 1), {}), ((M, 1), {"axis": 1})],
    "rot90": [((M,), {}), ((M, 2), {})],
    "round": [((M,), {"decimals": 1})],
    "squeeze": [((M[:1],), {}), ((M[:1],), {"axis": 0})],
    "swapaxes": [((M, 0, 1), {})],
    "take": [((M, PLACES), {}), ((M, PLACES), {"axis": 1})],
    "take_along_axis": [((M, PLACES), {"axis": 1})],
    "tensordot": [((M, N.T, 1), {})],
    "tile": [((M, (2, 2)), {})],
    "transpose": [((M,), {}), ((M, (1, 0)), {})],
    "tril": [((M,), {}), ((M, 1), {})],
    "triu": [((M,), {}), ((M, 1), {})],
    "vdot": [((M, N), {})],
    "where": [((M > 1, M, N), {}), ((M > 1, M, 0), {})],
}
ALONE = (
    "all any atleast_1d atleast_2d atleast_3d count_nonzero diag diagflat diagonal fliplr flipud imag matrix_transpose "
    "ones_like ravel real zeros_like"
).split()
JOINING = "column_stack concat concatenate dstack hstack stack vstack".split()


def calls(name):
    """Pairs of arguments by place and by name."""
    if name in CALLS:
        return CALLS[name]
    if name in ALONE:
        return [((M,), {})]
    if name in JOINING:
        axes = [{"axis": 1}] if name in ("concat", "concatenate", "stack") else []
        return [(([M, N],), named) for named in ({}, *axes)]
    given = HOLES if name.startswith("nan") else M
    return [((given,), {}), ((given,), {"axis": 0}), ((given,), {"axis": -1, "keepdims": True})]


def as_vars(given):
    if isinstance(given, np.ndarray):
        return jt.array(given)
    return list(map(as_vars, given)) if isinstance(given, list) else given


def parts(answer):
    return list(answer) if isinstance(answer, list | tuple) else [answer]


@pytest.mark.parametrize("name", SAME)
def test_a_function_of_numpy_says_of_vars_what_it_says_of_arrays_and_stays_in_the_graph(name):
    function = getattr(np, name)
    for inputs, options in calls(name):
        wanted = parts(function(*inputs, **options))
        found = parts(function(*map(as_vars, inputs), **options))

        assert len(found) == len(wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            assert isinstance(ours, bool if name in ("allclose", "array_equal") else jt.Var)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)])
def test_a_ufunc_of_vars_and_arrays_is_the_operator_of_its_name(name):
    ufunc, offered = getattr(np, name), getattr(np, name).__name__ in dir(jt)
    pairs = [(M, N), (M / 6, N), (np.array([[3, 1], [2, 5]]), np.array([[1, 2], [3, 1]])), (M > 1, N > 0)]
    met = 0
    for pair in pairs:
        given = pair[: ufunc.nin]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                wanted = parts(ufunc(*given))
            except (TypeError, ValueError):
                continue
        if name in ("reciprocal", "conj", "conjugate", "square") and given[0].dtype.kind in "bi":
            continue  # NumPy has whole numbers there: docs/where_we_differ.md
        mixed = [given, map(jt.array, given), (*given[:-1], jt.array(given[-1])), (jt.array(given[0]), *given[1:])]
        for some in mixed[1:]:
            for ours, theirs in zip(parts(ufunc(*some)), wanted, strict=True):
                met += 1
                assert isinstance(ours, jt.Var) == offered
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)
    assert met or name in ("isnat", "matmul", "matvec", "vecmat", "ldexp", "bitwise_count")


def test_a_gradient_goes_through_functions_of_numpy():
    x = jt.array([0.5, 1.0, 2.0])
    loss = np.sum(np.sin(x) * np.array([1.0, 2.0, 3.0], "float32"))

    np.testing.assert_allclose(jt.grad(loss, [x])[0], np.cos([0.5, 1, 2]) * [1, 2, 3], rtol=1e-5)


def test_memory_of_numpy_takes_the_numbers():
    x, total = jt.array([1.0, 2.0]), np.ones(2, "float32")
    total += x
    np.add(total, x, out=total)
    found = np.sum(jt.ones((2, 2)), axis=0, out=np.zeros(2, "float32"))

    assert type(total) is np.ndarray
    assert total.tolist() == [3, 5]
    assert type(found) is np.ndarray
    assert found.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("ask", "wanted"),
    [
        (lambda x: np.add.reduce(x), 3),
        (lambda x: np.multiply.outer(x, [1, 2]), [[1, 2], [2, 4]]),
        (lambda x: np.linalg.norm([x, x]), 10**0.5),
        (lambda x: np.histogram(x, bins=[0, 1.5, 3])[0], [1, 1]),
        (lambda x: np.sort(-x), [-2, -1]),
        (lambda x: np.repeat(x, 2), [1, 1, 2, 2]),
        (lambda x: np.shape(x), (2,)),
    ],
)
def test_what_has_no_operator_of_the_same_meaning_is_numpys_answer_for_the_numbers(ask, wanted):
    found = ask(jt.array([1.0, 2.0]))

    assert not isinstance(found, jt.Var)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_an_argument_that_only_numpy_takes_is_told_with_both_ways_out():
    with pytest.raises(jt.ArgumentError, match=r"np\.sum.*jt\.sum.*initial.*x\.numpy\(\)"):
        np.sum(jt.ones(3), initial=3)
    with pytest.raises(jt.ArgumentError, match=r"np\.exp.*jt\.exp.*where.*x\.numpy\(\)"):
        np.exp(jt.ones(3), where=[True, False, True])


def test_an_operators_own_error_is_told_as_it_is():
    with pytest.raises(jt.ShapeError, match="add needs shapes that fit"):
        np.add(jt.ones(2), np.ones(3))
    with pytest.raises(jt.RangeError, match="axis 4"):
        np.mean(jt.ones(2), axis=4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
def test_other_libraries_take_a_copy_by_dlpack(dtype):
    x = jt.array(M).cast(dtype)

    taken = np.from_dlpack(x)
    assert taken.dtype == dtype
    assert np.from_dlpack(jt.array(M).bfloat16()).dtype == "float32"
    np.testing.assert_array_equal(taken, x.numpy())
    taken[...] = 0
    assert x.numpy().any(), "the Var has numbers of its own"


def test_torch_takes_vars_of_any_rank(torch):
    for take in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack):
        assert take(jt.array(M)).tolist() == M.tolist()
        assert take(jt.array(2.5)).item() == 2.5
