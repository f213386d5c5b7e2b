"""Expressions: where an element of a reshape lies, and what may be joined for it."""

import random

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.ir.expression import reshaped
from jt_edu.ir.index_expr import OPERATORS, counters


def value(index, place):
    """The number that an index expression is at a place."""
    if index.op == "counter":
        return place[index.args[0]]
    return index.args[0] if index.op in ("int", "size") else OPERATORS[index.op](*(value(a, place) for a in index.args))


def cut(size, dice):
    """A shape of that many elements, with some axes of length 1."""
    shape = []
    while size > 1 and dice.random() < 0.8:
        shape.append(dice.choice([k for k in range(1, size + 1) if size % k == 0]))
        size //= shape[-1]
    return (*shape, size, *[1] * dice.randrange(2))


@pytest.mark.parametrize("seed", range(20))
def test_a_reshape_is_the_same_element_in_row_major_order(seed):
    dice = random.Random(seed)
    for size in (1, 6, 12, 36, 60):
        view, shape = cut(size, dice), cut(size, dice)
        where = reshaped(counters(len(view)), view, shape)
        for flat in range(size):
            place = [int(k) for k in np.unravel_index(flat, view)]
            assert [value(w, place) for w in where] == [*np.unravel_index(flat, shape)], (view, shape)


def test_a_concat_its_shuffle_and_its_halves_are_one_kernel():
    a, b = (np.random.default_rng(k).random((2, 4, 3, 5), np.float32) for k in range(2))
    with jt.trace() as t:
        found = nn.channel_shuffle(jt.concat([jt.array(a), jt.array(b)], 1), 2).numpy()

    assert len(t.kernels) == 1
    np.testing.assert_array_equal(found, np.stack([a, b], 2).reshape(2, 8, 3, 5))
    assert "j1 = i1 % " in t.kernels[0].source.replace("j0", "j1")  # divided once for each channel


def test_a_reshape_that_divides_in_the_innermost_loop_is_stored_before():
    x = jt.array(np.arange(24, dtype="float32").reshape(4, 6))
    with jt.trace() as t:
        found = (x.T * 2).reshape(4, 6).T.numpy()

    assert len(t.kernels) == 2
    np.testing.assert_array_equal(found, (np.arange(24).reshape(4, 6).T * 2).reshape(4, 6).T)
