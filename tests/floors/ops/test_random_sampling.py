"""Draws by order and by weights: frequencies are the probabilities, and a seed decides them."""

import numpy as np
import pytest

import jt_edu as jt

N = 4000


@pytest.fixture(autouse=True)
def _seeded():
    jt.set_global_seed(11)


def test_a_permutation_holds_every_number_once_and_is_another_one_next_time():
    first, second = jt.randperm(50), jt.randperm(50)

    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(50))
    assert first.tolist() != second.tolist()
    assert str(jt.randperm(3, "int32").dtype) == "int32"
    assert jt.randperm(0).shape == (0,)


def test_every_place_of_a_permutation_is_as_likely_for_each_number():
    counts = np.zeros((3, 3))
    for _ in range(600):
        counts[np.arange(3), jt.randperm(3).numpy()] += 1
    assert np.abs(counts / 600 - 1 / 3).max() < 0.08  # four standard deviations


def test_rows_of_a_matrix_are_put_in_another_order():
    x = np.arange(12).reshape(6, 2)

    y = jt.permutation(jt.array(x)).numpy()

    assert sorted(map(tuple, y)) == sorted(map(tuple, x))


@pytest.mark.parametrize("replacement", [True, False])
def test_outcomes_are_drawn_in_proportion_to_their_weights(replacement):
    weights = np.tile(np.float32([1, 0, 3, 6]), (N, 1))

    drawn = jt.multinomial(jt.array(weights), 1, replacement).numpy()

    share = np.bincount(drawn[:, 0], minlength=4) / N
    assert drawn.shape == (N, 1)
    assert np.abs(share - [0.1, 0, 0.3, 0.6]).max() < 0.035


def test_without_replacement_no_outcome_comes_twice():
    drawn = jt.multinomial(jt.ones((20, 5)), 5).numpy()
    assert (np.sort(drawn, 1) == np.arange(5)).all()


def test_waits_have_the_mean_and_the_shape_of_their_law():
    x = jt.exponential(4.0, (N,), "float64").numpy()

    assert abs(x.mean() - 0.25) < 0.02
    assert abs((x > 0.25).mean() - np.exp(-1)) < 0.04
    assert (x >= 0).all()


def test_draws_like_another_var_take_its_shape_and_dtype():
    x = jt.zeros((2, 3), "float64")

    assert (jt.rand_like(x).shape, str(jt.rand_like(x).dtype)) == ((2, 3), "float64")
    assert str(jt.randn_like(x, "float32").dtype) == "float32"
    assert str(jt.rand_like(jt.zeros((2,), "int64")).dtype) == "float32"
    whole = jt.randint_like(jt.zeros(500), 2, 5).numpy()
    assert set(whole) == {2, 3, 4}
    assert set(jt.randint_like(jt.zeros(500), 2).numpy()) == {0, 1}


def test_a_seed_decides_all_of_them():
    def draws():
        jt.set_global_seed(3)
        return [jt.randperm(9), jt.multinomial(jt.ones(9), 4), jt.exponential(1.0, (3,)), jt.randn_like(jt.ones(3))]

    assert [d.tolist() for d in draws()] == [d.tolist() for d in draws()]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: jt.multinomial(jt.array([1.0, 0.0]), 2), "2 of 1 outcomes"),
        (lambda: jt.multinomial(jt.array([1.0, -1.0]), 1), "-1"),
        (lambda: jt.multinomial(jt.array([0.0, 0.0]), 1), "above 0"),
        (lambda: jt.multinomial(jt.array([1.0]), 0), "0 by weights"),
        (lambda: jt.multinomial(jt.array([1]), 1), "int64"),
        (lambda: jt.exponential(0.0), "0.0"),
        (lambda: jt.randint_like(jt.ones(2), 3, 3), "low 3, high 3"),
        (lambda: jt.permutation(jt.array(1.0)), r"shape \(\)"),
        (lambda: jt.randperm(-1), "-1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, says):
    with pytest.raises(jt.JtError, match=says):
        call()
