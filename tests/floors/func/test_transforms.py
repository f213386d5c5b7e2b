"""Functions made of functions are those of torch.func, and J t is what differences say, for every kind of operator."""

from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import func as ours
from jt_edu.autograd import Function
from jt_edu.base.errors import ArgumentError, DtypeError, GradientError, ShapeError
from tests.floors.func.table import SMOOTH, some

X, Y, W = some(3), some(3) + 0.3, some(2, 3)


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # torch says it to itself
    pytest.mark.usefixtures("python_backend"),
]


def both(torch, make, *given):
    """What `make(module of transforms, library)(*given)` answers in both libraries, as equal structures of arrays."""
    alike(make(ours, jt)(*map(jt.array, given)), make(torch.func, torch)(*map(torch.tensor, given)))


def alike(found, wanted):
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        found, wanted = tuple(found.values()), tuple(wanted.values())
    if isinstance(wanted, (tuple, list)):
        assert isinstance(found, tuple)  # some of torch's are lists
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            alike(a, b)
        return
    assert found.shape == tuple(wanted.shape)
    assert str(found.dtype) == str(wanted.dtype).removeprefix("torch.")
    np.testing.assert_allclose(found.numpy(), wanted.detach().resolve_conj().numpy(), rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------------------------------------ forwards


@pytest.mark.parametrize("name", SMOOTH)
def test_forwards_is_what_differences_say_and_what_backwards_says(name):
    function, given = SMOOTH[name]
    places = [k for k, a in enumerate(given) if a.dtype.kind == "f"]
    directions = [np.cos(np.arange(given[k].size) + k).reshape(given[k].shape) for k in places]

    def moved(step):
        full = [jt.array(a) for a in given]
        for k, t in zip(places, directions, strict=True):
            full[k] = jt.array(given[k] + step * t)
        return full

    def of_floats(*xs):
        full = moved(0)
        for k, x in zip(places, xs, strict=True):
            full[k] = x
        return function(*full)

    primals = tuple(jt.array(given[k]) for k in places)
    y, tangent = ours.jvp(of_floats, primals, tuple(map(jt.array, directions)))
    v = jt.array(np.sin(np.arange(y.size)).reshape(y.shape))
    pulled = ours.vjp(of_floats, *primals)[1](v)

    step = 0.25 if name == "cast" else 1e-6
    slope = (function(*moved(step)).numpy() - function(*moved(-step)).numpy()) / (2 * step)
    np.testing.assert_allclose(tangent.numpy(), slope, rtol=1e-6, atol=1e-7)
    backwards = sum(float((p.numpy() * t).sum()) for p, t in zip(pulled, directions, strict=True))
    digits = 1e-6 if name == "cast" else 1e-9  # that of float32
    assert float((v * tangent).sum()) == pytest.approx(backwards, rel=digits, abs=1e-12)


COMPLEX = {
    "exp": lambda lib, z: lib.exp(z),
    "log": lambda lib, z: lib.log(z),
    "sqrt": lambda lib, z: lib.sqrt(z),
    "tanh": lambda lib, z: lib.tanh(z),
    "square": lambda lib, z: z * z,
    "quotient": lambda lib, z: z / (z * z + 3),
    "power": lambda lib, z: z**2.5,
    "abs": lambda lib, z: lib.abs(z),
    "angle": lambda lib, z: lib.angle(z),
    "sign": lambda lib, z: lib.sgn(z),
    "conj": lambda lib, z: z.conj() * z,
    "real": lambda lib, z: lib.real(z),
    "imag": lambda lib, z: lib.imag(z),
    "of a real part": lambda lib, z: z * lib.real(z),
    "sum": lambda lib, z: z.sum(0),
    "prod": lambda lib, z: lib.prod(z, 1),
    "cumsum": lambda lib, z: lib.cumsum(z, 1),
    "cumprod": lambda lib, z: lib.cumprod(z, 1),
    "matmul": lambda lib, z: z @ z.T,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_are_those_of_pytorch(torch, name):
    theirs, mine, other = torch.func, partial(COMPLEX[name], jt), partial(COMPLEX[name], torch)
    z, t = some(2, 3) + 1j * some(2, 3)[::-1] - 0.7, some(2, 3) - 1j * some(2, 3)
    moved = ours.jvp(mine, (jt.array(z),), (jt.array(t),))
    y, wanted = theirs.jvp(other, (torch.tensor(z),), (torch.tensor(t),))
    alike(moved, (y, wanted))
    v = np.arange(1.0, y.numel() + 1).reshape(y.shape) * (1 - 2j if y.is_complex() else 1)

    alike(ours.vjp(mine, jt.array(z))[1](jt.array(v)), theirs.vjp(other, torch.tensor(z))[1](torch.tensor(v)))


def test_several_complex_answers_are_pulled_at_once(torch):
    z, v = some(2, 3) - 1j * some(2, 3)[::-1], some(2, 3) + 2j * some(2, 3)

    mine = ours.vjp(lambda z: (z * z, z.conj()), jt.array(z))[1]((jt.array(v), jt.array(v * 1j)))
    other = torch.func.vjp(lambda z: (z * z, z.conj()), torch.tensor(z))[1]((torch.tensor(v), torch.tensor(v * 1j)))

    alike(mine, other)


def test_a_product_of_matrices_moves_by_two_such_products():
    with jt.flag_scope(backend="numba"), jt.trace() as seen:
        x, y, t, u = (jt.rand(40, 40) for _ in range(4))
        ours.jvp(jt.matmul, (x, y), (t, u))[1].sync()

    assert [k.kind for k in seen.kernels].count("product") == 2


# ------------------------------------------------------------------------------------------------ transforms


def f(lib):
    return lambda x: (lib.tanh(x) * x**3).sum()


def g(lib):
    return lambda x: lib.sin(x) * x.sum()


NESTED = {
    "grad": lambda t, lib: t.grad(f(lib)),
    "grad and value": lambda t, lib: t.grad_and_value(f(lib)),
    "grad of grad": lambda t, lib: t.grad(lambda x: (t.grad(f(lib))(x) ** 2).sum()),
    "vmap of grad": lambda t, lib: lambda x: t.vmap(t.grad(f(lib)))(lib.stack([x, x * 2])),
    "grad of vmap": lambda t, lib: t.grad(lambda x: t.vmap(f(lib))(lib.stack([x, x * 2])).prod()),
    "vmap of vmap": lambda t, lib: lambda x: t.vmap(t.vmap(lambda a: a**2))(lib.stack([x, x * 2])),
    "jacrev": lambda t, lib: t.jacrev(g(lib)),
    "jacfwd": lambda t, lib: t.jacfwd(g(lib)),
    "jacfwd of jacrev": lambda t, lib: t.jacfwd(t.jacrev(g(lib))),
    "jacrev of jacfwd": lambda t, lib: t.jacrev(t.jacfwd(g(lib))),
    "jacrev of jacrev": lambda t, lib: t.jacrev(t.jacrev(g(lib))),
    "jacfwd of jacfwd": lambda t, lib: t.jacfwd(t.jacfwd(g(lib))),
    "hessian": lambda t, lib: t.hessian(f(lib)),
    "vmap of hessian": lambda t, lib: lambda x: t.vmap(t.hessian(f(lib)))(lib.stack([x, x * 2])),
    "third derivative": lambda t, lib: t.jacfwd(t.hessian(f(lib))),
    "jvp": lambda t, lib: lambda x: t.jvp(g(lib), (x,), (x * 2,)),
    "jvp of grad": lambda t, lib: lambda x: t.jvp(t.grad(f(lib)), (x,), (x * 2,)),
    "grad of jvp": lambda t, lib: t.grad(lambda x: t.jvp(f(lib), (x,), (x * 2,))[1]),
    "jvp of jvp": lambda t, lib: lambda x: t.jvp(lambda y: t.jvp(g(lib), (y,), (x,))[1], (x,), (x * 2,)),
    "jvp of vmap": lambda t, lib: lambda x: t.jvp(t.vmap(lambda a: a**3), (x,), (x * 2,)),
    "vmap of jvp": lambda t, lib: lambda x: t.vmap(lambda a: t.jvp(g(lib), (a,), (a,))[1])(lib.stack([x, x * 2])),
    "vjp": lambda t, lib: lambda x: t.vjp(g(lib), x)[1](x),
    "maximum": lambda t, lib: t.hessian(lambda x: (lib.maximum(x, x.flip(0)) ** 3).sum()),
    "prod": lambda t, lib: t.hessian(lambda x: x.prod()),
    "cumsum": lambda t, lib: t.hessian(lambda x: (x.cumsum(0) ** 3).sum()),
    "softmax": lambda t, lib: t.hessian(lambda x: (x.softmax(0) ** 2).sum()),
    "largest": lambda t, lib: t.jacfwd(t.jacrev(lambda x: x.max() * x**2)),
}


@pytest.mark.parametrize("name", NESTED)
def test_transforms_and_transforms_of_transforms_are_those_of_pytorch(torch, name):
    both(torch, NESTED[name], X)


STRUCTURES = {
    "argnums": lambda t, lib: lambda x, y, w: t.grad(lambda x, y, w: (w @ (x * y)).sum(), argnums=1)(x, y, w),
    "from the end": lambda t, lib: lambda x, y, w: t.grad(lambda x, y, w: (w @ (x * y)).sum(), argnums=-1)(x, y, w),
    "several argnums": lambda t, lib: lambda x, y, w: t.jacrev(lambda x, y, w: w @ (x * y), argnums=(0, 2))(x, y, w),
    "forwards": lambda t, lib: lambda x, y, w: t.jacfwd(lambda x, y, w: w @ (x * y), argnums=(2, 0))(x, y, w),
    "hessian of two": lambda t, lib: lambda x, y, w: t.hessian(lambda x, y: (x * y**2).sum(), argnums=(0, 1))(x, y),
    "a dict": lambda t, lib: lambda x, y, w: t.grad(lambda p: (p["w"] @ p["x"]).sum())({"x": x, "w": w}),
    "a dict of pairs": lambda t, lib: lambda x, y, w: t.jacrev(lambda p: {"a": p["x"][0] * 2, "b": p["x"][1].sum()})(
        {"x": (x, y)}
    ),
    "forwards by a dict": lambda t, lib: lambda x, y, w: t.jacfwd(lambda p: (p["x"] * 2, p["w"] @ p["x"]))(
        {"x": x, "w": w}
    ),
    "what else": lambda t, lib: lambda x, y, w: t.grad(lambda x: ((x**2).sum(), {"kept": x * 3}), has_aux=True)(x),
    "value and what else": lambda t, lib: lambda x, y, w: t.grad_and_value(
        lambda x: ((x**2).sum(), x * 3), has_aux=True
    )(x),
    "rows and what else": lambda t, lib: lambda x, y, w: t.jacrev(lambda x: (x**2, x * 3), has_aux=True)(x),
    "columns and what else": lambda t, lib: lambda x, y, w: t.jacfwd(lambda x: (x**2, x * 3), has_aux=True)(x),
    "jvp and what else": lambda t, lib: lambda x, y, w: t.jvp(lambda x: (x**2, x * 3), (x,), (y,), has_aux=True),
    "jvp of structures": lambda t, lib: lambda x, y, w: t.jvp(
        lambda p, q: {"s": p["x"] * q}, ({"x": x}, y), ({"x": y}, x)
    ),
    "vjp of several": lambda t, lib: lambda x, y, w: t.vjp(lambda x, y: {"a": x * y, "b": (x + y).sum()}, x, y)[1](
        {"a": x, "b": y.sum()}
    ),
    "rows a few at a time": lambda t, lib: lambda x, y, w: t.jacrev(lambda w: w**2, chunk_size=4)(w),
    "no dependence": lambda t, lib: lambda x, y, w: t.jacrev(lambda x: (x * 2, y * 3))(x),
    "no dependence forwards": lambda t, lib: lambda x, y, w: t.jvp(lambda x: (x * 2, y * 3), (x,), (y,)),
    "a named argument": lambda t, lib: lambda x, y, w: t.grad(lambda x, scale: (x * scale).sum())(x, scale=y),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURES)
def test_arguments_and_answers_may_be_structures(torch, name):
    both(torch, STRUCTURES[name], X, Y, W)


def test_what_else_comes_third_of_vjp():
    value, pull, more = ours.vjp(lambda x: (x * 2, "told"), jt.array(X), has_aux=True)

    assert more == "told"
    np.testing.assert_array_equal(pull(value)[0].numpy(), X * 4)


def test_linearize_runs_its_function_once():
    ran = []

    _, push = ours.linearize(lambda x: ran.append(1) or x * x, jt.array(X))
    pushed = [push(jt.array(t)).numpy() for t in np.eye(3)]

    assert ran == [1]
    np.testing.assert_array_equal(pushed, np.diag(2 * X))


def test_rows_a_few_at_a_time_are_fewer_at_once():
    def largest(**how):
        with jt.flag_scope(backend="numba"), jt.trace() as seen:
            ours.jacrev(lambda x: jt.cumsum(x * x, 0), **how)(jt.rand(64)).sync()
        return max(n.shape[0] for n in seen.built if n.op == "cumsum")

    assert largest(chunk_size=8) < largest()


def test_what_is_built_after_a_tangent_belongs_to_no_other_line():
    x = jt.array(X)

    ours.jvp(g(jt), (x,), (x,))

    assert (x * 2).node.twin is None


def test_a_gradient_inside_another_knows_whose_it_is():
    assert ours.grad(lambda x: x * ours.grad(lambda y: x + y)(1.0))(1.0).item() == 1.0


def test_derivatives_lead_on_to_what_they_were_made_from():
    x = jt.array(X)

    for slope in (ours.grad(f(jt))(x * 2), ours.jvp(f(jt), (x * 2,), (jt.array(Y),))[1]):
        assert jt.grad(slope.sum(), x).numpy().any()


def test_they_work_where_gradients_are_switched_off():
    x = jt.array(X).stop_grad()

    def both():
        return ours.grad(f(jt))(x), ours.jvp(g(jt), (x,), (x,))[1], ours.vjp(g(jt), x)[1](x)[0]

    with jt.no_grad():
        found = both()

    for inside, outside in zip(found, both(), strict=True):
        assert outside.numpy().any()
        np.testing.assert_array_equal(inside.numpy(), outside.numpy())


def test_they_work_at_once_and_in_a_compiled_step():
    wanted = ours.hessian(f(jt))(jt.array(X)).numpy()
    with jt.flag_scope(lazy_execution=False):
        np.testing.assert_allclose(ours.hessian(f(jt))(jt.array(X)).numpy(), wanted)
    step = jt.compile(lambda x: ours.hessian(f(jt))(x))

    for _ in range(3):
        np.testing.assert_allclose(step(jt.array(X)).numpy(), wanted)


def test_an_argument_that_is_changed_in_place_is_differentiated_where_it_began():
    def change(x):
        x *= 3
        return (x * x).sum()

    x = jt.array(X)

    np.testing.assert_allclose(ours.grad(change)(x).numpy(), 18 * X)
    np.testing.assert_array_equal(x.numpy(), X)


class Cube(Function):
    def execute(self, x):
        self.x = x
        return x**3, x * 2

    def grad(self, dcube, dtwice):
        return dcube * self.x**2 * 3 + dtwice * 2


def test_a_function_leads_forwards_by_its_own_gradient():
    x, t = jt.array(X), jt.array(Y)

    (cube, twice), moved = ours.jvp(Cube.apply, (x,), (t,))
    (_, again), _ = ours.jvp(lambda x: ours.jvp(Cube.apply, (x,), (t,))[1], (x,), (t,)), None

    np.testing.assert_allclose(moved[0].numpy(), 3 * X**2 * Y)
    np.testing.assert_allclose(moved[1].numpy(), 2 * Y)
    np.testing.assert_allclose(again[0].numpy(), 6 * X * Y * Y)
    assert cube.shape == twice.shape == x.shape


def test_a_gradient_that_has_none_cannot_lead_forwards():
    def double(np, data):
        data["outputs"][0][...] = data["inputs"][0] * 2

    def back(np, data):
        data["outputs"][0][...] = data["dout"] * 2

    with pytest.raises(GradientError, match=r"a gradient of numpy_code that has a gradient itself(?s:.)*go backwards"):
        ours.jvp(lambda x: jt.numpy_code(x.shape, x.dtype, [x], double, [back]), (jt.array(X),), (jt.array(X),))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ours.grad(lambda x: x)(x), ShapeError, r"returns one number; found a Var of shape \(3,\)"),
        (lambda x: ours.grad(lambda x: 3.0)(x), ShapeError, "found 3.0"),
        (lambda x: ours.grad(3)(x), ArgumentError, "grad takes a function; found 3"),
        (lambda x: ours.grad_and_value(3)(x), ArgumentError, "grad_and_value takes a function; found 3"),
        (lambda x: ours.linearize(3, x), ArgumentError, "linearize takes a function; found 3"),
        (lambda x: ours.grad(f(jt))(2), DtypeError, "grad differentiates by floats; found 2 as argument 0"),
        (lambda x: ours.jacrev(f(jt))(), ArgumentError, "arguments that are given by place; found none"),
        (lambda x: ours.jvp(f(jt), (x,), x), ArgumentError, "one of tangents; found a Var"),
        (
            lambda x: ours.jvp(f(jt), (x,), 2.0),
            ArgumentError,
            r"one of tangents; found 2.0. Try: jvp\(f, \(x,\), \(t,\)\)",
        ),
        (lambda x: ours.grad(f(jt), 5)(x), ArgumentError, "argnums as a whole number from -1 to 0; found argnums=5"),
        (lambda x: ours.grad(f(jt))(x.int64()), DtypeError, "grad differentiates by floats; found dtype int64"),
        (lambda x: ours.grad(f(jt), has_aux=True)(x), ArgumentError, r"returns \(answer, auxiliary\)"),
        (lambda x: ours.grad(f(jt), has_aux="x")(x), ArgumentError, "has_aux"),
        (lambda x: ours.grad(lambda x: (x * 1j).sum())(x), GradientError, "complex"),
        (lambda x: ours.jacrev(lambda x: (x, 3))(x), ArgumentError, "returns Vars, or structures of them; found 3"),
        (lambda x: ours.vjp(f(jt), x)[1](x), ShapeError, r"the shapes \[\(\)\]; found \[\(3,\)\]"),
        (lambda x: ours.vjp(g(jt), x)[1](x * 1j), DtypeError, "real vectors"),
        (lambda x: ours.jvp(f(jt), x, x), ArgumentError, "a tuple of primals"),
        (lambda x: ours.jvp(f(jt), (x,), (x, x)), ShapeError, "jvp takes a vector"),
    ],
)
def test_what_they_cannot_do_they_say(call, error, message):
    with pytest.raises(error, match=message):
        call(jt.array(X))
