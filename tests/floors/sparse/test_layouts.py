"""Layouts hold the same tensor, and say what they are; what cannot be a sparse tensor is refused before it is read."""

import copy
import pickle

import numpy as np
import pytest

import jt_edu as jt
from tests.floors.sparse.patterns import SHAPES, close, numbers, pair

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("n", "m", "nnz"), SHAPES)
def test_every_layout_holds_the_same_matrix(rng, backend, n, m, nnz):
    with jt.flag_scope(backend=backend):
        x, theirs = pair(rng, n, m, nnz)
        once, rows = x.coalesce(), x.to_sparse_csr()
        wanted = theirs.tocsr()
        wanted.sum_duplicates()

        for each in (x, once, rows, x.t().t(), rows.to_sparse_coo(), x.to_dense().to_sparse(layout=jt.sparse_csr)):
            close(each, theirs)
        close(x.T, theirs.T)
        close(rows.t(), theirs.T)
        assert not once.t().is_coalesced() and once.transpose(0, 0).is_coalesced()
        assert once.nnz == rows.nnz == wanted.nnz
        np.testing.assert_array_equal(rows.crow_indices().numpy(), wanted.indptr)
        np.testing.assert_array_equal(rows.col_indices().numpy(), wanted.indices)
        np.testing.assert_array_equal(once.indices().numpy(), np.stack(wanted.tocoo().coords))
        np.testing.assert_allclose(rows.values().numpy(), wanted.data, rtol=1e-12)


def test_layouts_agree_with_pytorch(torch, rng):
    rows, columns, values = [0, 2, 2, 0], [1, 0, 0, 1], numbers(rng, 4, 2)
    ours, theirs = (
        jt.sparse_coo_tensor([rows, columns], values),
        torch.sparse_coo_tensor([rows, columns], values, check_invariants=True),
    )

    for a, b in ((ours, theirs), (ours.coalesce(), theirs.coalesce()), (ours.transpose(0, 1), theirs.transpose(0, 1))):
        assert a.shape == tuple(b.shape) and a.size(0) == b.size(0) and a.is_coalesced() == b.is_coalesced()
        assert (a.nnz, a.sparse_dim(), a.dense_dim(), a.ndim) == (b._nnz(), b.sparse_dim(), b.dense_dim(), b.ndim)
        np.testing.assert_array_equal(a._indices().numpy(), b._indices().numpy())
        np.testing.assert_allclose(a._values().numpy(), b._values().numpy())


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_last_axes_may_be_dense(torch, rng, axes):
    x = numbers(rng, 3, 4, 2) * (rng.random((3, 1, 1)) < 0.7) * (rng.random((3, 4, 1)) < 0.5)
    ours, theirs = jt.array(x).to_sparse(axes), torch.tensor(x).to_sparse(axes)

    np.testing.assert_array_equal(ours.indices().numpy(), theirs.indices().numpy())
    np.testing.assert_array_equal(ours.values().numpy(), theirs.values().numpy())
    close(ours, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "complex64"])
def test_a_dtype_stays(dtype):
    x = jt.sparse_coo_tensor([[1, 1, 0]], [1, 1, 0], dtype=dtype)

    assert x.dtype == x.coalesce().dtype == x.to_dense().dtype == jt.array([1], dtype).dtype
    assert x.to_dense().tolist() == [0, True if dtype == "bool" else 2]


def test_gradients_go_through_every_layout_to_the_entries_and_the_dense_matrix(rng):
    values, dense = jt.array(numbers(rng, 4)), jt.array(numbers(rng, 3, 3) * (rng.random((3, 3)) < 0.5))
    x = jt.sparse_coo_tensor([[0, 1, 0, 2], [1, 1, 1, 0]], values, (3, 3))
    loss = (x.coalesce().to_dense() ** 2).sum() + (x.to_sparse_csr().values() ** 2).sum()

    np.testing.assert_allclose(jt.grad(loss, values).numpy(), 4 * x.to_dense().numpy()[[0, 1, 0, 2], [1, 1, 1, 0]])
    np.testing.assert_array_equal(
        jt.grad((dense.to_sparse_csr().to_dense() ** 2).sum(), dense).numpy(), 2 * dense.numpy()
    )


def test_a_position_outside_is_refused_at_once_or_before_a_kernel_reads_it():
    later = jt.array([0, 1]) * 3
    for bad in ([0, 3], [0, -1]):
        with pytest.raises(jt.RangeError, match=f"from 0 to 2; found the index {bad[1]}"):
            jt.sparse_coo_tensor([bad], [1.0, 2.0], (3,))
    x = jt.sparse_coo_tensor([later], [1.0, 2.0], (3,))
    for read in (x.to_dense, lambda: (x * jt.ones(3))._values(), lambda: x.coalesce().values(), lambda: repr(x)):
        with pytest.raises(jt.RangeError, match="from 0 to 2; found the index 3"):
            read().sync()
    with pytest.raises(jt.RangeError, match="found the index 3"):
        jt.sparse_coo_tensor([later], [1.0, 2.0], (3,), check_invariants=True)


ROWS = {
    "at its ends": ([0, 1, 4], [1, 0, 2]), "numbers at its": ([1, 1, 3], [1, 0, 2]),
    "other numbers": ([0, 1, 2], [1, 0, 2]), "never fall": ([0, 2, 1, 3], [0, 1, 2]),
    "row that ends": ([0, 9, 3], [1, 0, 2]), "columns of a row rise": ([0, 1, 3], [1, 2, 0]),
    "before it begins": ([0, -5, 3], [1, 0, 2]), "rise; found others": ([0, 1, 3], [1, 0, 0]),
    "found the index 3": ([0, 1, 3], [1, 0, 3]), "found the index -1": ([0, 1, 3], [1, -1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("words", ROWS)
def test_rows_that_do_not_follow_each_other_are_refused_before_a_product_reads_them(backend, words):
    crow, columns = (jt.array(part) * 1 for part in ROWS[words])
    with jt.flag_scope(backend=backend):
        x = jt.sparse_csr_tensor(crow, columns, [1.0, 2.0, 3.0], (len(crow) - 1, 3))

        for read in (lambda: x @ jt.ones(3), lambda: x @ jt.ones((3, 2)), x.to_dense, x.crow_indices):
            with pytest.raises(jt.JtError, match=words):
                read().sync()


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("found indices \\(1, 3\\) and values \\(2,\\)", lambda: jt.sparse_coo_tensor([[0, 1, 2]], [1.0, 2.0])),
        ("takes indices", lambda: jt.sparse_coo_tensor([[0, 1], [0]], [1.0, 2.0])),
        ("takes indices", lambda: jt.sparse_coo_tensor([], [1.0])),
        ("a size of \\(3, 3\\)", lambda: jt.sparse_coo_tensor([[0]], [1.0], (3, 3))),
        ("a size of \\(3, 4\\)", lambda: jt.sparse_coo_tensor([[0]], [[1.0, 2.0]], (3, 4))),
        ("lengths are not negative", lambda: jt.sparse_coo_tensor([[0]], [1.0], (-1,))),
        ("found float32", lambda: jt.sparse_coo_tensor([[0.5]], [1.0])),
        ("values have an entry", lambda: jt.sparse_coo_tensor([[0]], 1.0)),
        ("takes \\(rows", lambda: jt.sparse_csr_tensor([0, 1], [0], [1.0], (2, 2))),
        ("takes \\(rows", lambda: jt.sparse_csr_tensor([0, 1], [0], [[1.0]])),
        ("takes \\(rows", lambda: jt.sparse_csr_tensor([], [], [])),
        ("in order, each once", lambda: jt.sparse_coo_tensor([[1, 0]], [1, 2], None, None, True, True)),
        ("in order, each once", lambda: jt.sparse_coo_tensor([[1, 1]], [1, 2], None, None, True, True)),
        ("sparse_csr is for matrices", lambda: jt.sparse_coo_tensor([[0]], [1.0]).to_sparse_csr()),
        ("1 dense axes|1 dense axis", lambda: jt.sparse_coo_tensor([[0], [0]], [[1.0]]).to_sparse_csr()),
        ("needs an axis", lambda: jt.sparse.to_sparse(1.0)),
        ("exchanges sparse axes", lambda: jt.sparse_coo_tensor([[0], [0]], [[1.0]]).transpose(1, 2)),
        ("of a matrix", lambda: jt.sparse_coo_tensor([[0]], [1.0]).t()),
        ("draws a matrix", lambda: jt.sparse_coo_tensor([[0]], [1.0]).spy()),
        ("values\\(\\) tells each .* its 2 entries may share .* Try: x.coalesce\\(\\).values\\(\\)",
         lambda: jt.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).values()),
        ("indices\\(\\) tells each position once", lambda: jt.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).indices()),
        ("layout sparse_csr; found one in sparse_coo", lambda: jt.sparse_coo_tensor([[0], [0]], [1]).crow_indices()),
        ("layout sparse_csr; found one in sparse_coo", lambda: jt.sparse_coo_tensor([[0], [0]], [1]).col_indices()),
        ("layout sparse_coo; found one in sparse_csr", lambda: jt.sparse_csr_tensor([0, 1], [0], [1]).indices()),
        ("dense array; found sparse_coo", lambda: jt.sin(jt.sparse_coo_tensor([[0]], [1.0]))),
        ("offers no valeus. Try: x.values", lambda: jt.sparse_coo_tensor([[0]], [1.0]).valeus),
        ("64 bits", lambda: jt.sparse_coo_tensor([[0], [0]], [1.0], (1 << 40, 1 << 40)).coalesce()),
    ],
)  # fmt: skip
def test_what_is_no_sparse_tensor_and_what_it_has_not_are_refused_in_words(words, make):
    with pytest.raises(jt.JtError, match=words):
        make()


def test_a_tensor_as_large_as_a_planet_holds_what_is_stored():
    x = jt.sparse_coo_tensor([[5, 1 << 30, 5], [1 << 31, 0, 1 << 31]], [1.0, 2.0, 3.0], (1 << 31, (1 << 31) + 1))

    assert (x * 2).coalesce().values().tolist() == [8, 4] and x.t().t().sum().item() == 6


def test_a_matrix_is_drawn_small_or_smaller():
    x = jt.sparse_coo_tensor([[0, 1], [1, 2]], [7.0, 5.0], (2, 3))
    large = jt.sparse_coo_tensor([range(0, 1000, 10), range(0, 1000, 10)], np.ones(100), (1000, 1000)).spy().split("\n")

    assert x.spy() == "·●·\n··●"
    assert x._repr_html_() == f"<pre>{x!r}\n\n·●·\n··●</pre>"
    assert len(large) == 16 and {len(line) for line in large} == {64}
    assert [line.index("●") for line in large] == [4 * k for k in range(16)]
    assert jt.sparse_coo_tensor([[], []], [], (0, 3)).spy() == ""


def test_a_sparse_tensor_can_be_copied_and_stored(rng):
    x, theirs = pair(rng, 3, 4, 6)

    for twin in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x.to_sparse_csr()))):  # noqa: S301 - our own
        close(twin, theirs)
