"""Writing to a Var that nobody holds is answered with a warning; writing to one that somebody holds is not."""

import operator
import warnings

import numpy as np
import pytest

import jt_edu as jt


def test_brackets_twice_change_nothing_and_warn():
    x = jt.zeros((2, 2))

    with pytest.warns(UserWarning, match=r"x\[i, j\] = value, not x\[i\]\[j\]") as told:
        x[0][1] = 5
    with pytest.warns(UserWarning, match="lost"):
        x.reshape(4)[1] = 5
    with pytest.warns(UserWarning, match="lost"):
        x.t()[1] += 5

    assert told[0].filename == __file__
    assert not x.numpy().any()


VIEWS = {
    "reshape": lambda x: x.reshape(-1), "view": lambda x: x.view(4), "brackets": lambda x: x[:],
    "dots": lambda x: x[...],
    "narrow": lambda x: x.narrow(0, 0, 4), "flatten": lambda x: x.flatten(), "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(4), "broadcast_to": lambda x: jt.broadcast_to(x, (4,)), "ravel": jt.ravel,
    "broadcast": lambda x: jt.broadcast(x, (4,)), "expand_as": lambda x: x.expand_as(x),
    "broadcast_to, a method": lambda x: x.broadcast_to((4,)), "atleast_1d": jt.atleast_1d,
    "broadcast_tensors": lambda x: jt.broadcast_tensors(x, x)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_written_into_a_view_of_the_same_shape_does_not_reach_its_source(name):
    x = jt.array([1.0, 2.0, 3.0, 4.0])
    y = VIEWS[name](x)

    y[0] = 9
    y += 1
    y.stop_grad()

    assert (x.tolist(), y.tolist(), x.requires_grad) == ([1, 2, 3, 4], [10, 3, 4, 5], True)


class Holder:
    """An object with a Var."""

    def __init__(self):
        self.x = jt.zeros(2)


def test_who_holds_the_var_is_not_warned():
    holder, listed, named = Holder(), [jt.zeros(2)], {"x": jt.zeros(2)}
    layer = jt.nn.Linear(2, 2)

    def inside(x):
        x[0] = 1
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = jt.zeros((2, 2))
        x[0] = 1
        x[0, 1] += 4
        row = x[1]
        row[0] = 1
        holder.x[0] = 1
        listed[0][0] = 1
        named["x"][0] = 1
        for v in listed:
            v[1] = 1
        (y := jt.zeros(2))[0] = 1
        done = inside(jt.zeros(2))
        with jt.no_grad():
            layer.weight[0] = 0
            layer.parameters()[1][0] = 0

    for v in (holder.x, named["x"], y, done):
        np.testing.assert_array_equal(v.numpy(), [1, 0])


def test_who_calls_the_method_is_not_warned():
    x = jt.zeros(2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (lambda: x.__setitem__(0, 1.0))()
        operator.setitem(x, 1, 2.0)

    assert x.tolist() == [1.0, 2.0]
