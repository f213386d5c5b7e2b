"""Solutions, inverses, determinants and exponentials are those of NumPy and PyTorch, for batches of any shape."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg import small_systems
from tests.floors.linalg.factors import BATCHES, BLOCKS, CLOSE, close, definite, gives, some, steady

la = jt.linalg


@pytest.mark.parametrize(("backend", "dtype", "shape"), [*BATCHES, *BLOCKS])
def test_solutions_inverses_and_determinants_are_those_of_numpy(backend, dtype, shape):
    a, b = steady(shape, dtype), some((*shape[:-1], 3), dtype, 1)

    close(gives(backend, la.solve, a, b), np.linalg.solve(a, b))
    close(gives(backend, la.inv, a), np.linalg.inv(a))
    sign, size = gives(backend, la.slogdet, a)
    wanted = np.linalg.slogdet(a)
    close(sign, wanted.sign)
    close(size, wanted.logabsdet)
    if shape[-1] < 130:  # whose determinants float32 does not hold
        np.testing.assert_allclose(gives(backend, la.det, a).numpy(), np.linalg.det(a), rtol=CLOSE[dtype] * 10)


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        ((3, 3), (3,), True), ((2, 3, 3), (3,), True), ((2, 3, 3), (2, 3), True), ((2, 3, 3), (2, 3, 4), True),
        ((3, 3), (2, 3, 4), True), ((5, 1, 3, 3), (2, 3, 4), True), ((2, 3, 3), (2, 4, 3), False),
        ((3, 3), (4, 3), False),
    ],
)  # fmt: skip
def test_vectors_and_matrices_on_the_right_are_told_apart_as_in_pytorch(torch, a, b, left):
    x, y = steady(a), some(b, seed=1)

    wanted = torch.linalg.solve(torch.tensor(x), torch.tensor(y), left=left).numpy()

    close(gives("python", la.solve, x, y, left=left), wanted)
    close(gives("python", la.solve_ex, x, y, left=left).result, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_small_systems_are_solved_side_by_side_as_one_by_one(dtype):
    a, b = some((3, 50, 4, 4), dtype), some((3, 50, 4, 2), dtype, 1)
    assert small_systems.suits(jt.array(a.reshape(150, 4, 4)))

    x, inverse = gives("numba", la.solve, a, b), gives("numba", la.inv, a)

    near = 0.01 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(a, b), rtol=near, atol=near)
    np.testing.assert_allclose(inverse.numpy(), np.linalg.inv(a), rtol=near, atol=near)


def test_gradients_of_small_systems_side_by_side_are_those_one_by_one():
    a, b = some((130, 2, 2)), some((130, 2, 1), seed=1)

    def gradients(count):
        with jt.flag_scope(backend="python"):
            x, y = jt.array(a[:count]), jt.array(b[:count])
            found = jt.grad((la.solve(x, y) ** 2).sum() + (la.inv(x) ** 2).sum(), [x, y])
            return [g.numpy()[:100] for g in (*found, jt.grad((found[0] ** 2).sum(), x))]

    for beside, alone in zip(gradients(130), gradients(100), strict=True):
        np.testing.assert_allclose(beside, alone, rtol=1e-9)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("count", [1, 200])
def test_a_singular_matrix_in_a_batch_is_refused(backend, count):
    a = np.tile(np.eye(2), (count, 1, 1))
    a[-1] = [[1, 2], [2, 4]]

    for function, others in ((la.inv, ()), (la.solve, (np.ones((2, 1)),)), (la.tensorinv, ())):
        with pytest.raises(jt.LinAlgError, match="solve and inv need matrices that have an inverse; found a singular"):
            gives(
                backend,
                function,
                *((a if function is not la.tensorinv else a[-1]),),
                *others,
                **({"ind": 1} if function is la.tensorinv else {}),
            )
    for function, others in ((la.inv_ex, ()), (la.solve_ex, (np.ones((2, 1)),))):
        answer = gives(backend, function, a, *others)
        assert answer.info.tolist() == [0] * (count - 1) + [2]
        with pytest.raises(jt.LinAlgError):
            gives(backend, function, a, *others, check_errors=True)


def test_a_singular_matrix_has_determinant_0():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])

    assert gives("python", la.det, a).item() == 0
    assert [part.item() for part in gives("python", la.slogdet, a)] == [0, -math.inf]


@pytest.mark.parametrize(
    "a",
    [
        [[1, 2], [2, 4]],
        [[0, 1], [0, 0]],
        [[0, 0], [0, 0]],
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[0]],
        [[1, 2], [3, 4]],
        [[1e-30, 2e-30], [2e-30, 4e-30]],
    ],
    ids=str,
)
def test_the_gradient_of_a_determinant_is_the_matrix_of_cofactors_also_of_singular_matrices(a):
    x = np.array(a, float)
    n = len(x)
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(n)] for i in range(n)
    ]

    with jt.flag_scope(backend="python"):
        v = jt.array(x)
        dx = jt.grad(la.det(v), v)

    np.testing.assert_allclose(dx.numpy(), minors, atol=1e-12 * (abs(x).max() or 1) ** (n - 1))


def test_the_second_derivative_at_a_singular_matrix_is_refused_in_words():
    with jt.flag_scope(backend="python"):
        v = jt.array(np.ones((2, 2)))
        dx = jt.grad(la.det(v), v)
        with pytest.raises(jt.LinAlgError, match="singular"):
            jt.grad(dx.sum(), v).numpy()


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_the_logarithm_of_a_determinant_that_is_no_number_is_none(backend, dtype):
    sign, size = gives(backend, la.slogdet, np.array([[np.nan, 0], [0, 1]], dtype))

    assert np.isnan(size.item()) and np.isnan(sign.item())


def test_logdet_is_the_logarithm_and_nan_where_there_is_none():
    a = np.stack([np.eye(2) * 3, np.diag([1.0, -1.0])])

    np.testing.assert_allclose(gives("python", la.logdet, a).numpy(), [2 * np.log(3), np.nan])


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("backend", "dtype", "shape"), [*BATCHES, *BLOCKS[1::2]])
def test_the_exponential_of_a_matrix_is_that_of_pytorch(torch, backend, dtype, shape, size):
    a = some(shape, dtype) * size / max(shape[-1], 1)

    ours, theirs = gives(backend, la.matrix_exp, a).numpy(), torch.linalg.matrix_exp(torch.tensor(a)).numpy()

    near = CLOSE[dtype]
    np.testing.assert_allclose(ours, theirs, rtol=near, atol=near * abs(theirs).max(initial=1))
    assert ours.dtype == theirs.dtype


def test_a_quarter_turn_four_times_is_no_turn():
    turn = gives("python", la.matrix_exp, np.array([[0, -1], [1, 0]]) * np.pi / 2).numpy()

    np.testing.assert_allclose(np.linalg.matrix_power(turn, 4), np.eye(2), atol=1e-14)


def test_the_exponential_of_what_is_not_finite_is_nan():
    for wrong in (np.inf, np.nan):
        assert np.isnan(gives("python", la.matrix_exp, np.array([[wrong, 0], [0, 1]])).numpy()).any()


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3), (2, 5, 3), (2, 3, 5), (0, 5, 3)])
@pytest.mark.parametrize("vector", [False, True])
def test_least_squares_are_those_of_pytorch(torch, dtype, shape, vector):
    a, b = some(shape, dtype), some((*shape[:-1], 2), dtype, 1)
    theirs = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver="gelsd")

    ours = gives("python", la.lstsq, a, b[..., 0] if vector else b)

    wanted = theirs.solution.numpy()
    close(ours.solution, wanted[..., 0] if vector else wanted)
    close(ours.rank, theirs.rank.numpy())
    if shape[-2] > shape[-1]:
        close(ours.residuals, theirs.residuals.numpy()[..., 0] if vector else theirs.residuals.numpy())
    else:
        assert ours.residuals.shape == (0,)


@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (3, 5)])
def test_columns_that_depend_on_each_other_are_refused_by_qr_and_taken_by_singular_values(shape):
    a, b = some(shape), some((*shape[:-1], 2), seed=1)
    a[..., 2] = a[..., 0] + a[..., 1]
    a[..., 2, :] = a[..., 0, :] + a[..., 1, :]

    with pytest.raises(jt.LinAlgError, match=r"lstsq by QR needs columns .* that do not depend on each other"):
        gives("python", la.lstsq, a, b)
    x, _, rank, values = gives("python", la.lstsq, a, b, driver="gelsd")

    np.testing.assert_allclose(x.numpy(), np.linalg.pinv(a) @ b, atol=1e-9)
    assert (rank.numpy() == 2).all()
    close(values, np.linalg.svd(a, compute_uv=False))


def test_a_column_that_is_nearly_nothing_beside_the_others_depends_on_them():
    a = some((5, 3)) * [1e-20, 1, 1]

    with pytest.raises(jt.LinAlgError, match="do not depend on each other"):
        gives("python", la.lstsq, a, np.ones(5))


@pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss", "gelsy"])
def test_each_driver_of_least_squares_tells_what_it_tells_in_pytorch(torch, driver):
    a, b = some((2, 5, 3)), some((2, 5, 2), seed=1)

    ours = gives("python", la.lstsq, a, b, driver=driver)

    for part, wanted in zip(ours, torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver=driver), strict=True):
        close(part, wanted.numpy())


def test_small_singular_values_are_left_out_below_rcond():
    a = np.diag([1.0, 0.1])

    assert gives("python", la.lstsq, a, np.ones(2), rcond=0.5).solution.numpy().round(9).tolist() == [1, 0]
    with pytest.raises(jt.ArgumentError, match=r"rcond=0\.5"):
        la.lstsq(a, np.ones(2), rcond=0.5, driver="gels")


def test_tensors_stand_for_matrices():
    a, b = some((2, 3, 6)), some((2, 3), seed=1)

    close(gives("python", la.tensorsolve, a, b), np.linalg.tensorsolve(a, b))
    close(gives("python", la.tensorinv, a), np.linalg.tensorinv(a))
    turned = np.moveaxis(a, 2, 0).swapaxes(1, 2)
    close(gives("python", la.tensorsolve, turned, b.T, dims=(0,)), np.linalg.tensorsolve(turned, b.T, (0,)))


# ------------------------------------------------------------------------------------------------- dtypes and refusals


def one_of(answer):
    return answer[0] if isinstance(answer, tuple) else answer


ONE = ("cholesky", "cholesky_ex", "det", "inv", "inv_ex", "logdet", "lu", "lu_factor", "matrix_exp", "qr", "slogdet")


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize(
    ("given", "wanted"), [("int8", "float64"), ("int64", "float64"), ("float16", "float16"), ("bfloat16", "bfloat16")]
)
def test_whole_numbers_become_float64_and_halves_stay_halves(name, given, wanted):
    with jt.flag_scope(backend="python"):
        answer = one_of(getattr(la, name)(jt.array([[2, 1], [1, 3]], given)))

        assert answer.dtype == wanted
        np.testing.assert_allclose(
            answer.float64().numpy(),
            one_of(getattr(la, name)(jt.array([[2.0, 1.0], [1.0, 3.0]], "float64"))).numpy(),
            rtol=0.02,
        )


def test_halves_beside_float32_become_float32_in_any_order_and_by_any_word():
    half, single = jt.eye(2, dtype="float16"), jt.eye(2)
    with jt.flag_scope(backend="python"):
        assert [la.solve(*both).dtype for both in ((half, single), (single, half))] == ["float32"] * 2
        assert [la.solve(half, half).dtype, la.solve(A=half, B=half).dtype] == ["float16"] * 2


@pytest.mark.parametrize("name", ONE)
def test_views_and_lists_are_matrices_too(name):
    square = definite((2, 3, 3))
    with jt.flag_scope(backend="python"):
        turned = jt.array(square.transpose(2, 1, 0).copy()).permute(2, 1, 0)
        found, wanted = (one_of(getattr(la, name)(v)).numpy() for v in (turned, jt.array(square)))

        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert one_of(getattr(la, name)([[2.0, 0.0], [0.0, 2.0]])).dtype == "float32"


@pytest.mark.parametrize("name", [n for n in ONE if n not in ("lu", "lu_factor", "qr")])
def test_a_matrix_that_is_not_square_is_refused_with_its_shape(name):
    with pytest.raises(jt.ShapeError, match=rf"{name} takes square matrices; found shape \(2, 3\)"):
        getattr(la, name)(jt.ones((2, 3)))


@pytest.mark.parametrize("name", ONE)
def test_a_vector_is_no_matrix(name):
    with pytest.raises(jt.ShapeError, match=r"takes a matrix, or a batch of them: .*shape \(3,\)"):
        getattr(la, name)(jt.ones(3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: la.solve(jt.ones((3, 3)), jt.ones((2, 3, 4)).mT), r"\(3, 3\) and \(2, 4, 3\)"),
        (lambda: la.solve(jt.ones((3, 3)), jt.ones(3), left=False), r"\(3, 3\) and \(3,\)"),
        (lambda: la.solve(jt.ones((3, 3)), 1.0), r"\(3, 3\) and \(\)"),
        (lambda: la.solve(jt.ones((2, 3, 3)), jt.ones((4, 3, 1))), r"\(2,\)"),
        (lambda: la.solve_triangular(jt.ones((3, 3)), jt.ones((2, 2)), upper=True), r"\(3, 3\) and \(2, 2\)"),
        (lambda: la.lstsq(jt.ones((3, 2)), jt.ones(2)), r"\(3, 2\) and \(2,\)"),
        (lambda: la.lu_solve(jt.ones((3, 3)), jt.ones(3), jt.ones((2, 2))), r"\(3, 3\)"),
        (lambda: la.tensorinv(jt.ones((2, 3)), 1), r"\(2, 3\)"),
        (lambda: la.tensorsolve(jt.ones((2, 3)), jt.ones(2)), r"\(2, 3\)"),
        (lambda: la.qr(jt.ones((2, 2)), "full"), "mode='full'"),
        (lambda: la.lstsq(jt.ones((2, 2)), jt.ones(2), driver="fast"), "driver='fast'"),
    ],
)
def test_what_does_not_fit_is_told_with_its_shape_or_value(call, words):
    with pytest.raises((jt.ShapeError, jt.ArgumentError), match=words):
        call()


def test_matrices_answer_by_the_names_of_pytorch_and_jittor():
    with jt.flag_scope(backend="python"):
        x = jt.array([[2.0, 1.0], [1.0, 3.0]])

        assert x.det().item() == jt.det(x).item() == 5
        assert x.inverse().tolist() == jt.inverse(x).tolist() == jt.linalg.inv(x).tolist()
        assert jt.cholesky(x).tolist() == x.cholesky().tolist()
        assert x.slogdet().sign.item() == 1 and x.logdet().item() == pytest.approx(math.log(5))
        assert (jt.qr(x).Q.shape, jt.lu_factor(x).LU.shape, jt.lstsq(x, x).rank.item()) == ((2, 2), (2, 2), 2)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_complex_singular_matrices_are_told_by_info_as_real_ones_are(backend):
    with jt.flag_scope(backend=backend):
        singular = jt.array(np.array([[1, 2], [2, 4]], "complex128"))

        assert jt.linalg.inv_ex(singular).info.item() == 2
        assert jt.linalg.solve_ex(singular, singular).info.item() == 2
        assert jt.linalg.cond(singular, 1).item() == np.inf
        assert not np.isfinite(jt.linalg.solve_triangular(singular * 0, singular, upper=True).numpy()).any()
