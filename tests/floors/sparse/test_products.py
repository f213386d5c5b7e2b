"""Products with sparse matrices: the same numbers and gradients as dense ones, in memory for the entries alone."""

import numpy as np
import pytest
import scipy.sparse

import jt_edu as jt
from tests.floors.sparse.patterns import SHAPES, close, numbers, pair

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
    pytest.mark.usefixtures("python_backend"),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("n", "m", "nnz"), SHAPES)
def test_products_are_those_of_scipy(rng, backend, n, m, nnz):
    with jt.flag_scope(backend=backend):
        x, theirs = pair(rng, n, m, nnz)
        right, vector, left = numbers(rng, m, 2), numbers(rng, m), numbers(rng, 3, n)
        y, other = pair(rng, m, 4, nnz if m else 0)

        for mine in (x, x.coalesce(), x.to_sparse_csr()):
            close(mine @ right, theirs @ right)
            close(mine @ jt.array(vector), (theirs @ vector).reshape(n))
            close(left @ mine, left @ theirs)
            close(jt.array(left[0]) @ mine, (left[0] @ theirs).reshape(m))
            close(mine @ y, theirs @ other)
            close(mine @ y.to_sparse_csr(), theirs @ other)
            close(mine @ numbers(rng, m, 0), np.zeros((n, 0)))


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_share_the_rows(rng, threads):
    before = jt.get_num_threads()
    x = scipy.sparse.random_array((3000, 500), density=0.02, format="csr", rng=rng)
    y = numbers(rng, 500, 33)
    try:
        jt.set_num_threads(threads)
        with jt.flag_scope(backend="numba"):
            close(jt.sparse_csr_tensor(x.indptr, x.indices, x.data, x.shape) @ y, x @ y)
    finally:
        jt.set_num_threads(before)


@pytest.mark.parametrize("layout", ["coalesce", "to_sparse_csr"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "float32", "complex64"])
def test_dtypes_meet_as_in_a_dense_product(dtype, layout):
    dense = np.array([[0, 100, 1], [50, 0, 0]]).astype(dtype)
    x, y = getattr(jt.array(dense).to_sparse(), layout)(), jt.array(np.array([[1, 0], [3, 2], [1, 1]]).astype(dtype))

    found, wanted = x @ y, jt.array(dense) @ y

    assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


@pytest.mark.parametrize("layout", ["coalesce", "to_sparse_csr"])
def test_halves_are_added_up_in_single_precision(layout):
    x = getattr(jt.sparse_coo_tensor([np.zeros(3000, int), range(3000)], np.ones(3000, "float16")), layout)()

    assert (x @ jt.ones((3000, 1), dtype="float16")).item() == x.sum(1).to_dense().item() == 3000


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_gradients_to_both_sides_are_those_of_a_dense_product_twice(rng, layout, dtype, shape):
    values, dense = (jt.array(numbers(rng, *s, dtype=dtype)) for s in ((5,), shape))
    x = jt.sparse_coo_tensor([[0, 1, 0, 3, 1], [1, 0, 1, 2, 2]], values, (4, 3))
    weights = numbers(rng, 4, *shape[1:])

    def loss(product):
        return ((abs(product) ** 2) * weights).sum()

    inputs = [values, dense]
    found = jt.grad(loss(getattr(x, layout)() @ dense), inputs)
    wanted = jt.grad(loss(x.to_dense() @ dense), inputs)
    again = [jt.grad(sum((abs(g) ** 2).sum() for g in first), inputs) for first in (found, wanted)]
    for a, b in zip([*found, *again[0]], [*wanted, *again[1]], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_the_gradient_is_what_a_small_step_does(rng, layout):
    values, dense, step = numbers(rng, 4), numbers(rng, 3, 2), 1e-6

    def loss(v, d):
        x = getattr(jt.sparse_coo_tensor([[0, 1, 0, 2], [1, 0, 1, 2]], v, (3, 3)), layout)()
        return ((x @ d).sin()).sum()

    v, d = jt.array(values), jt.array(dense)
    for found, given, way in zip(jt.grad(loss(v, d), [v, d]), (values, dense), (0, 1), strict=True):
        for k in np.ndindex(given.shape):
            nudge = np.zeros(given.shape)
            nudge[k] = step
            up, down = (loss(*[p + sign * nudge * (q == way) if q == way else p for q, p in enumerate((values, dense))])
                        for sign in (1, -1))  # fmt: skip
            assert found.numpy()[k] == pytest.approx((up.item() - down.item()) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_are_those_of_pytorch(torch, rng, dtype):
    values, dense, where = numbers(rng, 4, dtype=dtype), numbers(rng, 3, 2, dtype=dtype), [[0, 1, 0, 2], [1, 0, 1, 2]]
    v, d = jt.array(values), jt.array(dense)
    tv, td = (torch.tensor(a, requires_grad=True) for a in (values, dense))

    ours = (abs(jt.sparse_coo_tensor(where, v, (3, 3)) @ d) ** 2).sum()
    (
        torch.sparse.mm(torch.sparse_coo_tensor(where, tv, (3, 3), check_invariants=True).to_dense(), td).abs() ** 2
    ).sum().backward()

    for found, wanted in zip(jt.grad(ours, [v, d]), (tv.grad, td.grad), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-10)


def test_a_product_of_two_sparse_matrices_has_gradients(rng):
    values, other = jt.array(numbers(rng, 4)), jt.array(numbers(rng, 3))
    x = jt.sparse_coo_tensor([[0, 1, 0, 2], [1, 0, 1, 2]], values, (3, 3))
    y = jt.sparse_coo_tensor([[1, 1, 0], [0, 3, 2]], other, (3, 4))

    found = jt.grad(((x @ y).to_dense() ** 2).sum(), [values, other])
    wanted = jt.grad(((x.to_dense() @ y.to_dense()) ** 2).sum(), [values, other])

    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_the_named_products_are_those_of_pytorch(torch, rng):
    x, theirs = pair(rng, 3, 4, 7)
    a, b, c, start = numbers(rng, 3, 2), numbers(rng, 2, 4), numbers(rng, 4, 2), numbers(rng, 3, 2)
    tx = torch.tensor(theirs.toarray()).to_sparse_coo()

    close(jt.sparse.mm(x, c), torch.sparse.mm(tx, torch.tensor(c)))
    close(jt.sparse.spmm(x, c), theirs @ c)
    close(
        jt.sparse.addmm(start, x, c, beta=3.0, alpha=2.0),
        torch.sparse.addmm(torch.tensor(start), tx, torch.tensor(c), beta=3.0, alpha=2.0),
    )
    ours = jt.sparse.sampled_addmm(x.to_sparse_csr(), a, b, beta=3.0, alpha=2.0)
    wanted = torch.sparse.sampled_addmm(tx.to_sparse_csr(), torch.tensor(a), torch.tensor(b), beta=3.0, alpha=2.0)
    close(ours, wanted.to_dense())
    assert ours.layout == jt.sparse_csr
    close(jt.sparse.sampled_addmm(x, a, b), (a @ b + theirs.toarray()) * (theirs.toarray() != 0))


@pytest.mark.parametrize(
    ("words", "ask"),
    [
        ("found shape \\(3, 4\\) and shape \\(3, 4\\)", lambda x: x @ jt.ones((3, 4))),
        ("multiplied with \\(m,\\) or", lambda x: x @ jt.ones((4, 2, 2))), ("multiplied with", lambda x: x @ x),
        ("multiplied with", lambda x: x @ 2.0), ("multiplied with a sparse", lambda x: jt.ones((2, 4)) @ x),
        ("1 dense ax", lambda x: jt.sparse_coo_tensor([[0], [0]], [[1.0]]) @ jt.ones(1)),
        ("2 sparse axes|1 sparse ax", lambda x: x @ jt.sparse_coo_tensor([[3]], [1.0])),
        ("takes a sparse matrix", lambda x: jt.sparse.mm(jt.ones((2, 2)), jt.ones((2, 2)))),
        ("multiplied with a sparse matrix \\(n, m\\); found \\(4,\\) and shape \\(4,\\)",
         lambda x: jt.ones(4) @ jt.sparse_coo_tensor([[3]], [1.0])),
        ("jt.sparse.sampled_addmm takes a sparse tensor", lambda x: jt.sparse.sampled_addmm(*[jt.ones((3, 3))] * 3)),
        ("takes two matrices", lambda x: jt.sparse.mm(x, jt.ones(4))),
        ("takes \\(n, m\\), \\(n, k\\)", lambda x: jt.sparse.sampled_addmm(x, jt.ones((3, 2)), jt.ones((3, 4)))),
    ],
)  # fmt: skip
def test_what_cannot_be_multiplied_is_refused_in_words(words, ask):
    with pytest.raises(jt.JtError, match=words):
        ask(jt.sparse_coo_tensor([[0, 2], [1, 3]], [1.0, 2.0], (3, 4)))


def test_a_compiled_step_replays_a_product(rng):
    x, theirs = pair(rng, 3, 4, 7)
    rows = x.to_sparse_csr()

    @jt.compile
    def step(values, y):
        again = jt.sparse_coo_tensor(theirs.coords, values, (3, 4))
        return x @ y, rows @ y, again @ y, (x + again).sum(1).to_dense(), again * y.t()[0] @ y

    for _ in range(3):
        y, values = numbers(rng, 4, 2), numbers(rng, 7)
        again = scipy.sparse.coo_array((values, theirs.coords), (3, 4))
        wanted = theirs @ y, theirs @ y, again @ y, (theirs + again).sum(1), (again.toarray() * y[:, 0]) @ y
        for found, right in zip(step(jt.array(values), jt.array(y)), wanted, strict=True):
            close(found, right)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    ("words", "crow", "columns"),
    [
        ("rows of a sparse matrix follow", [0, 9, 2], [0, 1]), ("rows of a sparse matrix follow", [0, -1, 2], [0, 1]),
        ("rows of a sparse matrix follow", [0, 2, 1], [0, 1]), ("columns of a sparse matrix", [0, 1, 2], [0, 3]),
        ("rows of a sparse matrix follow", [-1, 1, 2], [0, 1]), ("columns of a sparse matrix", [0, 2, 2], [0, 3]),
        ("columns of a sparse matrix", [0, 0, 2], [-1, 0]), ("columns of a sparse matrix", [0, 1, 2], [1 << 40, 0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_a_kernel_reads_nothing_outside_whatever_a_bundle_says(backend, words, crow, columns, shape):
    x = jt.sparse.SparseVar((jt.array([0, 1]), jt.array(columns)), jt.ones(2), (2, 3), True, jt.array(crow))

    with jt.flag_scope(backend=backend), pytest.raises(jt.RangeError, match=words):
        (x @ jt.ones(shape)).sync()


# -------------------------------------------------------------------------------------- a large matrix, a little memory


@pytest.mark.parametrize("layout", ["coalesce", "to_sparse_csr"])
def test_a_matrix_of_ten_billion_places_is_multiplied_in_the_memory_of_the_answer(rng, layout):
    n, nnz, m = 100_000, 1_000_000, 8
    rows, columns, values = rng.integers(0, n, nnz), rng.integers(0, n, nnz), numbers(rng, nnz)
    dense = jt.array(numbers(rng, n, m))
    with jt.flag_scope(backend="numba"):
        x = getattr(jt.sparse_coo_tensor([rows, columns], values, (n, n)), layout)()
        [v.sync() for v in (*x.where, x.entries, x.crow) if v is not None]
        product = x @ dense
        gradients = jt.grad((product**2).sum(), [x.values(), dense])

        with jt.trace() as forward:
            product.sync()
        with jt.trace() as both:
            [g.sync() for g in gradients]

    one = n * m * 8
    assert forward.predicted_peak == forward.peak == one
    assert both.peak <= 3 * one + 8 * x.nnz
    wanted = scipy.sparse.coo_array((values, (rows, columns)), (n, n)).tocsr() @ dense.numpy()
    np.testing.assert_allclose(product.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_pytorchs_names_of_products_ask_a_sparse_side():
    x, y = jt.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)), jt.array([[1.0, 2.0], [3.0, 4.0]])

    assert jt.mm(x, y).tolist() == jt.matmul(x, y).tolist() == [[6.0, 8.0], [3.0, 6.0]]
    assert jt.mm(y, x).tolist() == jt.matmul(y, x).tolist() == [[6.0, 2.0], [12.0, 6.0]]
    with pytest.raises(jt.ShapeError, match=r"mm takes two matrices; found shapes \(2, 2\) and \(2,\)"):
        jt.mm(x, y[0])
