"""Positions: which elements are not 0, found in one pass, and kept in as little room as they need."""

import numpy as np
import pytest

import jt_edu as jt


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_mask_answers_with_what_it_covers_at_each_call(rng, backend, share):
    with jt.flag_scope(backend=backend):
        for _ in range(3):  # the second graph is a copy of the first; its numbers are its own
            x, mask = rng.random((4, 5)), rng.random((4, 5)) < share
            np.testing.assert_array_equal(jt.array(x)[jt.array(mask)].numpy(), x[mask])
            np.testing.assert_array_equal(jt.nonzero(jt.array(mask)).numpy(), np.argwhere(mask))


def test_the_gradient_of_a_mask_goes_to_what_it_covers():
    with jt.flag_scope(backend="python"):
        x = jt.array([1.0, 2.0, 3.0])
        (dx,) = jt.vjp((x * x)[jt.array([True, False, True])], [x], jt.array([1.0, 10.0]))
        again = jt.grad(dx.sum(), x)
    assert (dx.tolist(), again.tolist()) == ([2.0, 0.0, 60.0], [2.0, 0.0, 20.0])


def test_a_few_positions_do_not_keep_room_for_all():
    x = np.zeros(1_000)
    x[7] = 1
    found = jt.array(x).flatnonzero()

    assert found.tolist() == [7]
    assert found.node.data.base is None
