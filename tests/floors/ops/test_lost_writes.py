"""Writing to a Var that nobody holds is answered with a warning; writing to one that somebody holds is not."""

import inspect
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


PARTS = {
    "slices": lambda c: c[:, ::2], "a row": lambda c: c[0], "backwards": lambda c: c[::-1],
    "a number": lambda c: c[1, 2],
    "an index array": lambda c: c[[1, 0]], "a mask": lambda c: c[c > 0], "transpose": lambda c: c.T,
    "permute": lambda c: c.permute(1, 0)[1:], "reshape": lambda c: c.reshape(-1), "view": lambda c: c.view(4, 2),
    "flatten": lambda c: c.flatten(), "squeeze": lambda c: c.squeeze(), "unsqueeze": lambda c: c.unsqueeze(0),
    "diagonal": lambda c: c.diagonal(), "narrow": lambda c: c.narrow(1, 0, 2), "select": lambda c: c.select(0, 1),
    "split": lambda c: c.split(1)[0], "chunk": lambda c: c.chunk(2, 1)[1], "expand": lambda c: c.expand(3, 2, 4),
    "real": lambda c: c.real, "parts of parts": lambda c: c.reshape(4, 2)[1:].T, "flip": lambda c: c.flip(0),
    "unfold": lambda c: c.unfold(0, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_an_answer_that_would_go_into_a_part_that_nobody_holds_is_refused(name):
    c = jt.array(np.arange(8.0, dtype="f4").reshape(2, 4) + 1)
    shape = PARTS[name](c).shape

    with pytest.raises(jt.ArgumentError, match=r"a part of a Var .* the result would be lost.*x\[i, j\] = "):
        jt.add(jt.ones(shape), 1, out=PARTS[name](c))

    assert c.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def taking_out():
    """Every function that takes `out=`, by name."""
    named = {n: getattr(jt, n) for n in jt.__all__}
    return [n for n, f in named.items() if inspect.isfunction(f) and "out" in inspect.signature(f).parameters]


@pytest.mark.parametrize("name", taking_out())
def test_every_function_that_takes_out_refuses_a_part_that_nobody_holds(name):
    function, c = getattr(jt, name), jt.array([[1.0, 2.0], [3.0, 4.0]])
    given = [jt.ones(2)] * (2 if "y" in inspect.signature(function).parameters else 1)
    try:
        function(*given)
    except jt.DtypeError:  # a function of whole numbers
        c, given = c.int(), [v.int() for v in given]

    for call in (function, getattr(given[0], name, None)):
        if inspect.isroutine(call):
            with pytest.raises(jt.JtError, match="would be lost"):
                call(*(given if call is function else given[1:]), out=c[0])


def test_an_answer_that_would_be_lost_is_noticed_at_each_turn_of_a_loop():
    c, a, noticed = jt.zeros((2, 2)), jt.ones(2), 0

    for k in range(100):
        try:
            jt.add(a, a, out=c[k % 2])
        except jt.ArgumentError:
            noticed += 1
        row = c[0]
        jt.add(a, a, out=row)

    assert noticed == 100


def test_a_part_that_somebody_holds_is_given_the_answer_and_so_is_a_var_made_for_it():
    c, whole = jt.zeros((2, 2)), [jt.zeros((2, 2))]
    row = c[0]

    jt.add(jt.ones(2), 1, out=row)
    made = jt.add(jt.ones(2), 1, out=jt.empty(2))
    of_nobody = jt.add(jt.ones(2), 1, out=jt.zeros((2, 2))[0])
    copied = jt.add(jt.ones(2), 1, out=c[0].clone())
    jt.multiply(whole[0] + 1, 3, out=whole[0])

    assert [v.tolist() for v in (row, made, of_nobody, copied)] == [[2, 2]] * 4
    assert (c.tolist(), whole[0].tolist()) == ([[0, 0], [0, 0]], [[3, 3], [3, 3]])


MADE = [lambda: jt.zeros((2, 2)), lambda: jt.ones(4).reshape(2, 2), lambda: jt.ones((2, 2)).T]


@pytest.mark.parametrize("make", MADE)
def test_an_answer_may_go_into_a_view_that_was_computed(make):
    out = make().sync()

    for _ in range(3):
        jt.add(out, 1, out=out).sync()
        jt.add(jt.ones((2, 2)), 1, out=make().sync())

    assert out.tolist() in ([[3.0, 3.0]] * 2, [[4.0, 4.0]] * 2)
