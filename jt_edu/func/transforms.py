"""Transforms: functions made of functions, which can be put into each other.

    grad(f)      x -> the gradient of f at x           vjp(f, x)      f(x), and v -> v J         J: the Jacobian
    jacrev(f)    x -> J, row by row, backwards         jvp(f, x, t)   f(x), and J t
    jacfwd(f)    x -> J, column by column, forwards    hessian(f)     x -> jacfwd(jacrev(f))

Each runs f on fresh Vars, so that a gradient inside another one knows with respect to what it is. The way back follows
the rules of variable/autograd.py, the way forward those of tangent_graph.py. `vmap` computes many rows or columns of a
Jacobian at once. All of this builds graph, so the answers can be transformed again.

Source: Bradbury et al. 2018, "JAX: composable transformations of Python+NumPy programs".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from jt_edu.base.context import enable_grad
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.func.structures import each, only_vars
from jt_edu.func.tangent_graph import tangents
from jt_edu.func.vmap import vmap
from jt_edu.ir.builders import short
from jt_edu.ir.meta_ops import CONSTANT
from jt_edu.ir.scalar_ops import REAL
from jt_edu.ops.arguments import whole, yes_or_no
from jt_edu.ops.create import eye
from jt_edu.ops.custom_kernel import as_array
from jt_edu.ops.transpose import moveaxis
from jt_edu.variable.gradient_cache import derivative
from jt_edu.variable.pytree import is_structure, replaced, vars_in
from jt_edu.variable.var import Var

Function = Callable[..., Any]


def grad(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """The function that returns the gradient of `func`, which returns one real number.

        grad(f)(x) = df / dx

    Args:
        argnums: with respect to which argument; for a tuple of several, the answer is a tuple. Arguments may be
            structures of Vars.
        has_aux: `func` returns (number, auxiliary), such as a loss and the predictions; the answer is (gradient,
            auxiliary).

    Raises:
        ShapeError: `func` returns several numbers.
        DtypeError: an argument holds whole numbers.

    Example:
        >>> cube = lambda x: x**3
        >>> grad(cube)(2.0).item(), grad(grad(cube))(2.0).item()
        (12.0, 12.0)
    """
    both = _grad_and_value("grad", func, argnums, has_aux)

    @wraps(func)
    def call(*args: Any, **named: Any) -> Any:
        found, value = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return call


def grad_and_value(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """The function that returns (gradient, value) of `func`; with `has_aux` (gradient, (value, auxiliary)).

    Example:
        >>> [v.item() for v in grad_and_value(lambda x: x**3)(2.0)]
        [12.0, 8.0]
    """
    return _grad_and_value("grad_and_value", func, argnums, has_aux)


def _grad_and_value(name: str, func: Function, argnums: Any, has_aux: bool) -> Function:
    yes_or_no(name, "has_aux", has_aux)

    @wraps(func)
    def call(*args: Any, **named: Any) -> Any:
        with enable_grad():
            at, args = _fresh_at(name, argnums, args)
            value, aux = _answer(name, func, args, named, has_aux)
            if not isinstance(value, Var) or value.shape:
                asked, way = f"{name} takes a function that returns one number", ".sum(), or jt.func.jacrev"
                raise ShapeError(asked, short(value), way)
            found = slopes(value, vars_in(at))
        return replaced(at, found), (value, aux) if has_aux else value

    return call


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(func(*primals), pull): `pull(v)` is v times the Jacobian, a tuple with a part for each of the primals.

    Args:
        primals: where to differentiate; structures of Vars.
        has_aux: `func` returns (answer, auxiliary), and the auxiliary comes third.

    Example:
        >>> y, pull = vjp(lambda x: x * x, jt.array([1.0, 2.0]))
        >>> pull(jt.array([1.0, 10.0]))[0].tolist()
        [2.0, 40.0]
    """
    yes_or_no("vjp", "has_aux", has_aux)
    with enable_grad():
        at, args = _fresh_at("vjp", tuple(range(len(primals))), primals)
        answer, aux = _answer("vjp", func, args, {}, has_aux)
        outputs = only_vars("vjp", answer)

    def pull(cotangents: Any) -> Any:
        with enable_grad():
            return replaced(at, pulled(outputs, like("vjp", cotangents, outputs), vars_in(at)))

    return (answer, pull, aux) if has_aux else (answer, pull)


def jvp(func: Function, primals: Any, tangents: Any, *, has_aux: bool = False) -> tuple[Any, ...]:
    """(func(*primals), J t): how the answer changes while the primals move in the direction of the tangents.

    Args:
        primals: a tuple, with a structure of Vars for each argument.
        tangents: the same structure.
        has_aux: `func` returns (answer, auxiliary), and the auxiliary comes third.

    Example:
        >>> y, t = jvp(lambda x: x * x, (jt.array([1.0, 2.0]),), (jt.array([1.0, 10.0]),))
        >>> t.tolist()
        [2.0, 40.0]
    """
    for given in (primals, tangents):
        if not isinstance(given, (tuple, list)):
            raise ArgumentError("jvp takes a tuple of primals, and one of tangents", short(given), "jvp(f, (x,), (t,))")
    answer, push, *aux = _linearized("jvp", func, primals, has_aux)
    return (answer, push(*tangents), *aux)


def linearize(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(func(*primals), push): `push(*tangents)` is J t, for one direction after another; `func` is run once.

    Example:
        >>> y, push = linearize(lambda x: x * x, jt.array([1.0, 2.0]))
        >>> push(jt.array([1.0, 0.0])).tolist(), push(jt.array([0.0, 1.0])).tolist()
        ([2.0, 0.0], [0.0, 4.0])
    """
    return _linearized("linearize", func, primals, has_aux)


def _linearized(name: str, func: Function, primals: Sequence[Any], has_aux: bool) -> tuple[Any, ...]:
    yes_or_no(name, "has_aux", has_aux)
    with enable_grad():
        at, args = _fresh_at(name, tuple(range(len(primals))), primals)
        answer, aux = _answer(name, func, args, {}, has_aux)
        outputs, inputs = only_vars(name, answer), vars_in(at)

    def push(*directions: Any) -> Any:
        with enable_grad():
            return replaced(answer, pushed(outputs, inputs, like(name, directions, inputs)))

    return (answer, push, aux) if has_aux else (answer, push)


def jacrev(func: Function, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """The function that returns the Jacobian of `func`, row by row: the way for few outputs of many inputs.

        jacrev(f)(x)[i..., j...] = df[i...] / dx[j...]

    Args:
        argnums, has_aux: as in `grad`.
        chunk_size: how many rows are computed at a time; fewer take less memory.

    Returns:
        For each Var of the answer the structure of the arguments, with shapes (*answer, *argument).

    Example:
        >>> jacrev(lambda x: x * x)(jt.array([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    def rows(outputs: list[Var], inputs: list[Var]) -> list[list[Var]]:
        return [by_rows(y, inputs, partial(vmap, chunk_size=chunk_size)) for y in outputs]

    return _jacobian("jacrev", func, argnums, has_aux, rows)


def jacfwd(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """The function that returns the Jacobian of `func`, column by column: the way for many outputs of few inputs.

    Arguments and answer are those of `jacrev`.

    Example:
        >>> jacfwd(lambda x: x * x)(jt.array([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    def columns(outputs: list[Var], inputs: list[Var]) -> list[list[Var]]:
        return [list(row) for row in zip(*(by_columns(outputs, x) for x in inputs), strict=True)]

    return _jacobian("jacfwd", func, argnums, has_aux, columns)


def hessian(func: Function, argnums: Any = 0) -> Function:
    """The function that returns the second derivatives of `func`: forwards through its gradient.

    Example:
        >>> hessian(lambda x: (x**3).sum())(jt.array([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)


# what they are made of


def _jacobian(
    name: str, func: Function, argnums: Any, has_aux: bool, parts: Callable[..., list[list[Var]]]
) -> Function:
    """`parts` answers, for each output, the Jacobian by each input."""
    yes_or_no(name, "has_aux", has_aux)

    @wraps(func)
    def call(*args: Any, **named: Any) -> Any:
        with enable_grad():
            at, args = _fresh_at(name, argnums, args)
            answer, aux = _answer(name, func, args, named, has_aux)
            found = parts(only_vars(name, answer), vars_in(at))
        rows = iter([replaced(at, row) for row in found])
        whole = each(answer, lambda _: next(rows))
        return (whole, aux) if has_aux else whole

    return call


def by_rows(y: Var, inputs: Sequence[Var], over: Function = vmap) -> list[Var]:
    """The Jacobian of y by each input: a gradient for each number of y, by `over(gradient)(all of them)`."""
    rows = over(lambda u: tuple(pulled([y], [u], inputs)))(_basis(y))
    return [row.reshape(*y.shape, *x.shape) for row, x in zip(rows, inputs, strict=True)]


def by_columns(outputs: Sequence[Var], x: Var, over: Function = vmap) -> list[Var]:
    """The Jacobian of each output by x: a tangent for each number of x, by `over(tangent)(all of them)`."""
    columns = over(lambda t: tuple(pushed(outputs, [x], [t])))(_basis(x))
    return [moveaxis(c, 0, -1).reshape(*y.shape, *x.shape) for c, y in zip(columns, outputs, strict=True)]


def _basis(x: Var) -> Var:
    """All directions in which one number of x moves."""
    return eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)


def pulled(outputs: Sequence[Var], cotangents: Sequence[Var], inputs: Sequence[Var]) -> list[Var]:
    """v J for each input; where there are several outputs, the sum of theirs."""
    if len(outputs) == 1:
        return slopes(outputs[0], inputs, cotangents[0])
    parts = [(y * v.conj()).sum() for y, v in zip(outputs, cotangents, strict=True)]
    real = [p.apply(REAL) if p.dtype.kind == "c" else p for p in parts]
    return slopes(sum(real[1:], real[0]), inputs)


def slopes(y: Var, inputs: Sequence[Var], seed: Var | None = None) -> list[Var]:
    """The gradient of one number, or of anything with a seed, by each input; 0 where it does not depend on that."""
    found = derivative(y, inputs, seed, allow_unused=True)
    return [x.zeros_like() if g is None else g for g, x in zip(found, inputs, strict=True)]


def pushed(outputs: Sequence[Var], inputs: Sequence[Var], directions: Sequence[Var]) -> list[Var]:
    """J t for each output."""
    found = tangents(outputs, inputs, directions)
    return [y.zeros_like() if t is None else t for t, y in zip(found, outputs, strict=True)]


def fresh(name: str, value: Any) -> Any:
    """The same structure of Vars, each a node of its own, at which gradients begin whatever is true of the other."""

    def own(v: Var) -> Var:
        if not v.dtype.is_float:
            raise DtypeError(f"{name} differentiates by floats", f"dtype {v.dtype}", "x.float()")
        twin = Var(v) if v.node.op is not CONSTANT else as_array(v)
        twin.node.tracked = True
        return twin

    return each(value, own)


def handles(value: Any) -> Any:
    """The same Vars for a function that may change its arguments in place: ours stay what they are."""
    return each(value, lambda v: Var._of(v.node))


def _fresh_at(name: str, argnums: Any, args: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The arguments to differentiate by, fresh, as `argnums` asks for them; and all arguments, with those in place."""
    several = isinstance(argnums, (tuple, list))
    last = len(args) - 1
    if last < 0 and not (several and not argnums):
        raise ArgumentError(
            f"{name} differentiates by arguments that are given by place", "none", f"jt.func.{name}(f)(x)"
        )
    places = [whole(name, "argnums", k, -len(args), last) % len(args) for k in (argnums if several else [argnums])]
    own = {k: fresh(name, args[k]) for k in places}
    for k, mine in own.items():
        if not isinstance(mine, Var) and not is_structure(mine):  # a whole number of Python stays one
            raise DtypeError(f"{name} differentiates by floats", f"{short(args[k])} as argument {k}", "jt.array(2.0)")
    at = tuple(own[k] for k in places)
    return at if several else at[0], tuple(handles(own[k]) if k in own else a for k, a in enumerate(args))


def _answer(name: str, func: Function, args: Sequence[Any], named: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returns, and its auxiliary answer."""
    if not callable(func):
        raise ArgumentError(f"{name} takes a function", short(func), f"jt.func.{name}(func)")
    answer = func(*args, **named)
    if not has_aux:
        return answer, None
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ArgumentError("has_aux=True is for a function that returns (answer, auxiliary)", short(answer))
    return answer


def like(name: str, given: Any, wanted: Sequence[Var]) -> list[Var]:
    """The Vars of a structure, if they have the shapes of others."""
    found = vars_in(each(given, lambda v: v))
    shapes, others = [v.shape for v in found], [w.shape for w in wanted]
    if shapes != others:
        raise ShapeError(f"{name} takes a vector with the structure and the shapes {others}", f"{shapes}")
    if any(v.dtype.kind == "c" != w.dtype.kind for v, w in zip(found, wanted, strict=True)):
        raise DtypeError(f"{name} takes real vectors for real Vars", "a complex one", "v.real")
    return [v.cast(w.dtype) for v, w in zip(found, wanted, strict=True)]
