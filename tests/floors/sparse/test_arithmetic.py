"""Arithmetic of sparse tensors is that of dense ones, and stores nothing where nothing was stored."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.sparse.arithmetic import KEEP_ZERO, LINEAR
from tests.floors.sparse.patterns import SHAPES, close, numbers, pair

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("n", "m", "nnz"), SHAPES)
def test_sums_and_products_are_those_of_dense_matrices(rng, backend, n, m, nnz):
    with jt.flag_scope(backend=backend):
        (x, a), (y, b) = pair(rng, n, m, nnz), pair(rng, n, m, nnz)
        dense, row, column = numbers(rng, n, m), numbers(rng, m), numbers(rng, n, 1)
        whole = a.toarray()

        for left in (x, x.coalesce(), x.to_sparse_csr()):
            for ours, wanted in (
                (left + y, a + b), (left - y, a - b), (left * y, a * b), (left * dense, whole * dense),
                (dense * left, whole * dense), (jt.array(row) * left, whole * row), (left * column, whole * column),
                (left + dense, whole + dense), (dense + left, whole + dense), (dense - left, dense - whole),
                (left - jt.array(dense), whole - dense), (left * 2.5, a * 2.5), (2.5 * left, a * 2.5), (-left, -a),
                (left / 4, a / 4), (left * np.float64(2), a * 2.0), (left**2, whole**2), (left.sum(), whole.sum()),
                (left.sum(0), whole.sum(0)), (left.sum(-1), whole.sum(1)), (left.sum((0, 1)), whole.sum()),
            ):  # fmt: skip
                close(ours, wanted)


def test_what_meets_nothing_is_empty(rng):
    (x, _), (empty, _) = pair(rng, 3, 4, 5), pair(rng, 3, 4, 0)

    assert (x * empty).nnz == (empty * x).nnz == 0 and (x * empty).to_dense().tolist() == [[0.0] * 4] * 3


def test_softmax_of_whole_numbers_is_that_of_floats():
    x = jt.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1, 2, 3])

    for name in ("softmax", "log_softmax"):
        found, wanted = (getattr(each, name)(1).values().numpy() for each in (x, x.double()))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_softmax_of_large_numbers_does_not_overflow():
    x = jt.sparse_coo_tensor([[0, 0, 0], [0, 1, 2]], [2000.0, -2000.0, 2000.0])

    assert x.softmax(1).values().tolist() == [0.5, 0.0, 0.5]
    assert x.log_softmax(1).values().numpy() == pytest.approx([-np.log(2), -4000 - np.log(2), -np.log(2)])


def test_layouts_stay_where_they_can(rng):
    x, _ = pair(rng, 4, 3, 6)
    rows = x.to_sparse_csr()

    for made in (rows * 2, rows + x, rows * rows, rows.sin(), rows * np.ones((4, 1)), rows @ rows.t()):
        assert made.layout == jt.sparse_csr
    assert {(x + rows).layout, (x * rows).layout, rows.t().layout, (x @ x.t()).layout} == {jt.sparse_coo}
    assert (x.sin() * 2).is_coalesced() and not (x * 2).is_coalesced() and not x.coalesce().sum(0).is_coalesced()


@pytest.mark.parametrize("name", [n for n in f"{LINEAR} {KEEP_ZERO}".split() if n not in ("cast", "astype", "to")])
def test_a_function_that_keeps_zero_is_that_of_the_dense_tensor(name):
    values = np.array([0.25, 0.5, -0.125, -0.75])
    x = jt.sparse_coo_tensor([[0, 1, 0, 2], [1, 0, 1, 2]], values, (3, 4))

    ours, wanted = getattr(x, name)(), getattr(x.to_dense(), name)()

    assert ours.dtype == wanted.dtype and ours.nnz == (4 if name in LINEAR.split() else 3)
    np.testing.assert_array_equal(ours.to_dense().numpy(), wanted.numpy())


def test_dtypes_are_asked_for_as_of_a_var():
    x = jt.sparse_coo_tensor([[0, 0]], [0.75, 0.5])

    assert x.cast("float64").dtype == x.to(jt.float64).dtype == x.astype("float64").dtype == jt.float64
    assert x.to("int32").to_dense().tolist() == [1]


def test_hybrid_tensors_add_multiply_and_sum_as_dense_ones(torch, rng):
    where, values, dense = [[0, 2, 0], [1, 0, 1]], numbers(rng, 3, 4), numbers(rng, 3, 2, 4)
    x, theirs = (
        jt.sparse_coo_tensor(where, values, (3, 2, 4)),
        torch.sparse_coo_tensor(where, values, (3, 2, 4), check_invariants=True),
    )
    whole = theirs.to_dense().numpy()

    for dim in (0, 1, 2, -1, (0, 1), (1, 2), (0, 2), None):
        wanted = torch.sparse.sum(theirs, dim) if dim is not None else torch.sparse.sum(theirs)
        close(jt.sparse.sum(x, dim), wanted.to_dense().numpy())
    close(x * dense, whole * dense)
    close(x * dense[0, 0], whole * dense[0, 0])
    close(x + x, 2 * whole)
    close(x * x, whole * whole)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_is_of_what_is_stored(torch, rng, name, dim):
    rows, columns, values = rng.integers(0, 4, 9), rng.integers(0, 5, 9), numbers(rng, 9)
    theirs = torch.sparse_coo_tensor(
        np.stack([rows, columns]), torch.tensor(values, requires_grad=True), (4, 5), check_invariants=True
    )
    mine = jt.array(values)
    ours = jt.sparse_coo_tensor([rows, columns], mine, (4, 5))

    for x in (ours, ours.to_sparse_csr()):
        np.testing.assert_allclose(
            getattr(jt.sparse, name)(x, dim).values().numpy(),
            getattr(torch.sparse, name)(theirs, dim % 2).coalesce().values().detach().numpy(), rtol=1e-12,
        )  # fmt: skip
    dense = jt.array(np.where(ours.to_dense().numpy() == 0, -np.inf, 0)) + ours.to_dense()
    weights = numbers(rng, 4, 5)
    wanted = jt.grad((getattr(jt, name)(dense, dim).where(dense > -np.inf, 0) * weights).sum(), mine)
    found = jt.grad((getattr(ours, name)(dim) * weights).sum(), mine)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_are_those_of_dense_matrices(rng, dtype):
    rows, columns = [0, 1, 0, 2], [1, 0, 1, 2]
    values, other, dense = (jt.array(numbers(rng, *shape, dtype=dtype)) for shape in ((4,), (4,), (3, 3)))
    x, y = jt.sparse_coo_tensor([rows, columns], values, (3, 3)), jt.sparse_coo_tensor([columns, rows], other, (3, 3))

    def size(z):
        whole = z.to_dense() if isinstance(z, jt.sparse.SparseVar) else z
        return (whole * whole.conj()).real.sum() if dtype == "complex128" else (whole**2).sum()

    for work in (
        lambda a, b, d: a * d + b, lambda a, b, d: a * b * d[0], lambda a, b, d: (a - b).sum(1) * d[0],
        lambda a, b, d: d * a.sin() + b.square(),
    ):  # fmt: skip
        inputs = [values, other, dense]
        found, wanted = jt.grad(size(work(x, y, dense)), inputs), jt.grad(size(_whole(work, x, y, dense)), inputs)
        again = [jt.grad(sum((abs(g) ** 2).sum() for g in first), inputs) for first in (found, wanted)]
        for a, b in zip([*found, *again[0]], [*wanted, *again[1]], strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9)


def _whole(work, x, y, dense):
    return work(x.to_dense(), y.to_dense(), dense)


@pytest.mark.parametrize(
    ("words", "ask"),
    [
        ("0 / 0 is not 0", lambda x: x / jt.ones(3)), ("0 / 0 is not 0", lambda x: x / x),
        ("k as a number above 0", lambda x: x**0), ("k as a number above 0", lambda x: x**-1),
        ("added to what has its shape", lambda x: x + 1), ("added to what has its shape", lambda x: 1 - x),
        ("sparse tensors of the same shape", lambda x: x + jt.sparse_coo_tensor([[0]], [1.0])),
        ("sparse tensors of the same shape", lambda x: x * jt.sparse_coo_tensor([[0]], [[1.0, 1.0, 1.0]])),
        ("fits into its shape", lambda x: x * jt.ones((3, 3, 3))), ("needs shapes that fit", lambda x: x * jt.ones(2)),
        ("jt.sparse.softmax takes a sparse tensor; found a Var", lambda x: jt.sparse.softmax(jt.ones(3), 0)),
        ("jt.sparse.sum takes a sparse tensor; .* Try: x.to_sparse", lambda x: jt.sparse.sum(jt.ones(3))),
        ("along a sparse axis", lambda x: jt.sparse_coo_tensor([[0]], [[1.0]]).softmax(1)),
        ("softmax on a Var with 2 axes; found axis 2", lambda x: x.softmax(2)),
    ],
)  # fmt: skip
def test_what_would_not_be_sparse_is_refused_in_words(words, ask):
    with pytest.raises(jt.JtError, match=words):
        ask(jt.sparse_coo_tensor([[0, 2], [1, 1]], [1.0, 2.0], (3, 3)))


def test_products_of_vars_are_as_they_were():
    x = jt.array([1.0, 2.0])

    assert (x * x + x - 1).tolist() == [1, 5] and (x @ x).item() == 5
    assert "def left(" in jt.walk((x * x).sum()).stops[0].code
    with pytest.raises(jt.DtypeError, match=r"x\.to_dense\(\)"):
        x / jt.sparse_coo_tensor([[0]], [1.0], (2,))


def test_numbers_without_a_sign_are_subtracted_in_the_dtype_that_both_meet_in():
    five, three = (jt.sparse_coo_tensor([[0]], np.array([n], d), (1,)) for n, d in ((5, "int32"), (3, "uint8")))

    assert (five - three).to_dense().tolist() == [2]
    assert (five.float() - three.to_dense()).tolist() == [2.0]
    assert (np.array([10.0]) - three).tolist() == [7.0]
