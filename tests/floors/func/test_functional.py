"""jt.autograd.functional answers what torch.autograd.functional answers, flag by flag."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.autograd import functional as ours
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from tests.floors.func.table import some
from tests.floors.func.test_transforms import alike

X, Y = some(3), some(2) + 0.3


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # torch says it to itself
    pytest.mark.usefixtures("python_backend"),
]


def one(lib):
    return lambda x: lib.sin(x) * x.sum()


def two(lib):
    return lambda x, y: lib.exp(x)[:2] * y


def pair(lib):
    return lambda x, y: (x.sum() * y, (x**2)[1])


def number(lib):
    return lambda x: (lib.tanh(x) * x.flip(0) ** 2).sum()


def number_of_two(lib):
    return lambda x, y: (x**3).sum() * (y**2).sum()


def array_of_one(lib):
    return lambda x: (x**2).sum().reshape(1)


ALIKE = [  # what is asked, of which function, at how many inputs, with which vectors, and how
    *[("jacobian", f, n, None, how) for f, n in ((one, 1), (two, 2), (pair, 2), (number, 1), (array_of_one, 1))
      for how in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"create_graph": True})],
    *[("hessian", f, n, None, how) for f, n in ((number, 1), (number_of_two, 2), (array_of_one, 1))
      for how in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"})],
    ("vjp", one, 1, X, {}),
    ("vjp", number, 1, None, {}),
    ("vjp", two, 2, Y, {}),
    ("vjp", pair, 2, (Y, np.array(2.0)), {}),
    ("jvp", one, 1, X, {}),
    ("jvp", two, 2, (X, Y), {}),
    ("jvp", pair, 2, (X, Y), {}),
    *[(name, number, 1, X, {}) for name in ("vhp", "hvp")],
    *[(name, number_of_two, 2, (X, Y), {}) for name in ("vhp", "hvp")],
]  # fmt: skip


def given(to, values):
    if values is None:
        return None
    return tuple(to(v) for v in values) if isinstance(values, tuple) else to(values)


@pytest.mark.parametrize(("name", "function", "inputs", "vector", "how"), ALIKE)
def test_it_is_what_pytorch_answers(torch, name, function, inputs, vector, how):
    at = X if inputs == 1 else (X, Y)

    found = [
        getattr(module, name)(function(lib), given(to, at), *([] if vector is None else [given(to, vector)]), **how)
        for module, lib, to in ((ours, jt, jt.array), (torch.autograd.functional, torch, torch.tensor))
    ]

    alike(*found)


def test_a_vector_of_one_number_may_be_left_out():
    assert ours.jvp(lambda x: x * 3, jt.array(2.0))[1].item() == 3.0
    assert ours.hvp(lambda x: x**3, jt.array(2.0))[1].item() == 12.0
    assert ours.vhp(lambda x: x**3, jt.array([2.0]))[1].tolist() == [12.0]


def test_an_input_that_is_changed_in_place_is_differentiated_where_it_began():
    def change(x):
        x *= 3
        return x * x

    assert ours.jacobian(change, jt.array([2.0])).tolist() == [[36.0]]


def test_forwards_needs_no_vectorize(torch):
    found = ours.jacobian(one(jt), jt.array(X), strategy="forward-mode")

    alike(found, torch.autograd.functional.jacobian(one(torch), torch.tensor(X)))


@pytest.mark.parametrize("how", [{}, {"vectorize": True}])
def test_a_tuple_of_one_is_a_tuple(how):
    (found,) = ours.jacobian(one(jt), (jt.array(X),), **how)
    ((again,),) = ours.hessian(number(jt), (jt.array(X),), **how)

    assert found.shape == again.shape == (3, 3)


def calls(x, **how):
    v = jt.array(X)
    yield ours.jacobian(one(jt), x, **how)
    yield ours.hessian(number(jt), x, **how)
    for name in ("vjp", "jvp"):
        yield from getattr(ours, name)(one(jt), x, v, **how)
    for name in ("vhp", "hvp"):
        yield from getattr(ours, name)(number(jt), x, v, **how)


def test_answers_are_cut_off_unless_the_graph_is_asked_for():
    x = jt.array(X)

    for found in calls(x * 1):
        assert not found.requires_grad
    for found in calls(x * 1, create_graph=True):
        assert jt.grad((found**2).sum(), x).numpy().any()


@pytest.mark.parametrize("how", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_strict_is_an_error_where_else_there_are_zeros(how):
    x, y = jt.array(X), jt.array(Y)

    assert not ours.jacobian(lambda x, y: x * 2, (x, y), **how)[1].numpy().any()
    with pytest.raises(GradientError, match=r"jacobian with strict=True .*found output 1, which does not on input 0"):
        ours.jacobian(lambda x, y: (x * y.sum(), y * 2), (x, y), strict=True, **how)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "hessian"])
def test_strict_is_an_error_of_all_of_them(name):
    x, v = jt.array(X), [] if name == "hessian" else [jt.array(X) if name != "vjp" else jt.array(1.0, "float64")]
    constant, straight = (lambda x: jt.ones(3).sum()), (lambda x: (x * 2).sum())

    found = getattr(ours, name)(constant, x, *v)
    assert not (found if name == "hessian" else found[1]).numpy().any()
    with pytest.raises(GradientError, match=f"{name} with strict=True .*found output 0"):
        getattr(ours, name)(constant, x, *v, strict=True)
    if name in ("vhp", "hvp"):
        with pytest.raises(GradientError, match="found gradient 0, which does not on input 0"):
            getattr(ours, name)(straight, x, *v, strict=True)


def test_vectorize_goes_through_the_function_once_for_all_rows():
    def largest(vectorize):
        with jt.trace() as seen:
            ours.jacobian(lambda x: jt.cumsum(x, 0), jt.array(X), vectorize=vectorize).sync()
        return [n.shape[0] for n in seen.built if n.op == "cumsum"]

    assert largest(vectorize=True)[-1] == 3
    assert largest(vectorize=False) == [1] * 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: ours.jacobian(one(jt), [1.0]),
            ArgumentError,
            r"a Var, or a tuple of them, as inputs; found \[1.0\]",
        ),
        (lambda x: ours.jacobian(one(jt), ()), ArgumentError, r"found \(\)"),
        (lambda x: ours.jacobian(lambda x: 2.0, x), ArgumentError, "returns Vars, or structures of them; found 2.0"),
        (lambda x: ours.jacobian(one(jt), x, strategy="sideways"), ArgumentError, "strategy='sideways'"),
        (lambda x: ours.hessian(number(jt), x, outer_jacobian_strategy="up"), ArgumentError, "='up'"),
        (lambda x: ours.jacobian(one(jt), x, vectorize=3), ArgumentError, "vectorize=3"),
        (lambda x: ours.jacobian(one(jt), x, strict=3), ArgumentError, "strict=3"),
        (lambda x: ours.jacobian(one(jt), x, create_graph=3), ArgumentError, "create_graph=3"),
        (lambda x: ours.hessian(one(jt), x), ShapeError, r"hessian takes a function that returns one number; .*\(3,\)"),
        (lambda x: ours.hvp(one(jt), x, x), ShapeError, "hvp takes a function that returns one number"),
        (lambda x: ours.vjp(one(jt), x), ArgumentError, r"vjp needs v, .*found none for shapes \[\(3,\)\]"),
        (lambda x: ours.jvp(number(jt), x), ArgumentError, "jvp needs v"),
        (lambda x: ours.vhp(number(jt), x), ArgumentError, "vhp needs v"),
        (lambda x: ours.vjp(one(jt), x, x[:2]), ShapeError, r"the shapes \[\(3,\)\]; found \[\(2,\)\]"),
        (lambda x: ours.jvp(one(jt), x, (x, x)), ShapeError, "jvp takes a vector"),
    ],
)
def test_what_they_cannot_do_they_say(call, error, message):
    with pytest.raises(error, match=message):
        call(jt.array(X))


@pytest.mark.parametrize("how", [{}, {"vectorize": True}, {"strategy": "forward-mode"}])
def test_what_is_empty_has_an_empty_jacobian(how):
    assert ours.jacobian(lambda x: x[:0], jt.array(X), **how).shape == (0, 3)
    assert ours.jacobian(lambda x: x.sum(), jt.ones(0), **how).shape == (0,)


def test_who_gives_a_function_to_the_gradient_of_a_var_is_told_where_to_go():
    for name in ("grad", "vjp"):
        with pytest.raises(ArgumentError, match=f"jt.func.{name}"):
            getattr(jt, name)(one(jt), jt.array(X), 1.0)


def test_it_is_found_where_pytorch_has_it():
    assert jt.autograd.functional.jacobian is jt.jacobian
    assert jt.autograd.functional.hessian is jt.hessian
    assert jt.func.jvp is jt.jvp


def test_the_log_determinant_of_a_flow_is_that_of_its_jacobian():
    """An invertible 1x1 convolution, and a coupling that scales half of the channels by what the others say."""
    rng = np.random.default_rng(0)
    x, mix, scale = (jt.array(rng.normal(size=s)) for s in ((4, 3), (4, 4), (2, 2)))

    def flow(x):
        mixed = mix @ x  # (channels, time)
        growth = jt.tanh(scale @ mixed[:2])
        return jt.concat([mixed[:2], mixed[2:] * growth.exp()]), growth

    logdet = 3 * jt.linalg.slogdet(mix).logabsdet + flow(x)[1].sum()
    j = jt.jacobian(lambda x: flow(x)[0], x, vectorize=True).reshape(12, 12)

    np.testing.assert_allclose(jt.linalg.slogdet(j).logabsdet.item(), logdet.item(), rtol=1e-12)
