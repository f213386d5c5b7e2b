"""knn: the nearest points, in order, far from the origin too."""

import numpy as np
import pytest

import jt_edu as jt


def brute(q, p, k):
    apart = ((q[..., :, None, :].astype("f8") - p[..., None, :, :]) ** 2).sum(-1)
    return np.sort(apart, -1)[..., :k]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("n", "m", "axes", "k"), [(5, 7, 3, 4), (1, 1, 1, 1), (6, 20, 2, 20), (0, 3, 2, 2)])
def test_distances_are_those_of_all_pairs_in_order(backend, n, m, axes, k):
    rng = np.random.default_rng(n + m)
    q, p = rng.standard_normal((n, axes)).astype("f4"), rng.standard_normal((m, axes)).astype("f4")

    with jt.flag_scope(backend=backend):
        distances, indices = jt.knn(jt.array(q), jt.array(p), k)

        np.testing.assert_allclose(distances.numpy(), brute(q, p, k), rtol=1e-5, atol=1e-6)
        taken = p[indices.numpy()]
    np.testing.assert_allclose(((q[:, None] - taken) ** 2).sum(-1), brute(q, p, k), rtol=1e-5, atol=1e-6)


def test_a_batch_is_as_many_clouds():
    rng = np.random.default_rng(3)
    q, p = rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 9, 3))

    distances, indices = jt.knn(q, p, 3)

    assert indices.shape == (2, 4, 3)
    np.testing.assert_allclose(distances.numpy(), brute(q, p, 3), rtol=1e-12)


def test_of_equal_ones_the_first_comes_first_and_nan_last():
    p = jt.array([[1.0], [np.nan], [1.0], [0.0], [np.inf]])

    assert jt.knn(jt.array([[0.0]]), p, 5)[1].tolist() == [[3, 0, 2, 1, 4]]


def test_far_from_the_origin_no_digit_is_lost():
    p = 1e4 + np.arange(8.0)[:, None] / 64

    assert jt.knn(p.astype("f4"), p.astype("f4"), 2)[0].numpy()[:, 1].tolist() == [1 / 4096] * 8


def test_distances_have_gradients():
    q, p = jt.array([[0.0, 0.0]]), jt.array([[3.0, 4.0], [1.0, 0.0]])

    dq, dp = jt.grad(jt.knn(q, p, 1)[0].sum(), [q, p])

    assert dq.tolist() == [[-2, 0]] and dp.tolist() == [[0, 0], [2, 0]]


@pytest.mark.parametrize(
    ("q", "p", "k"),
    [((2, 3), (2, 2), 1), ((2,), (2,), 1), ((1, 2, 3), (2, 2, 3), 1), ((2, 3), (4, 3), 5), ((2, 3), (4, 3), 0)],
)
def test_what_makes_no_sense_is_refused(q, p, k):
    with pytest.raises((jt.ShapeError, jt.ArgumentError)):
        jt.knn(jt.ones(q), jt.ones(p), k)
