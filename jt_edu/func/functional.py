"""Functional: derivatives of functions at a place, as PyTorch's `torch.autograd.functional` has them.

    jacobian(f, x)    every d f[i] / d x[j]              hessian(f, x)     every d2 f / d x[i] d x[j]
    vjp(f, x, v)      f(x), and v times the Jacobian     jvp(f, x, v)      f(x), and the Jacobian times v
    vhp(f, x, v)      f(x), and v times the Hessian      hvp(f, x, v)      f(x), and the Hessian times v

`inputs` is a Var or a tuple of them, and so is what f returns; answers have the same structure. They are detached from
the graph unless `create_graph` is set. With `strict`, an output that does not depend on an input is an error; else its
derivative is zeros. To put one derivative into another, use the functions of transforms.py, which these are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.context import enable_grad
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from jt_edu.func.structures import only_vars
from jt_edu.func.transforms import by_columns, by_rows, fresh, handles, like, pulled, pushed, slopes
from jt_edu.func.vmap import vmap
from jt_edu.ir.builders import short
from jt_edu.ir.node import history
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.variable.var import Var

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
STRATEGIES = ("reverse-mode", "forward-mode")
Function = Callable[..., Any]


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of `func` at `inputs`: J[i..., j...] = d func(x)[i...] / d x[j...].

    Args:
        func: of as many Vars as there are inputs, to a Var or a tuple of them.
        inputs: a Var, or a tuple of them.
        create_graph: the answer can be differentiated again, also with respect to what `inputs` were made from.
        strict: an output that does not depend on an input is an error, and not a Jacobian of zeros.
        vectorize: all rows at once by `vmap`, which is faster; else one after the other.
        strategy: "reverse-mode", one gradient for each number of the answer; or "forward-mode", one tangent for each
            number of the inputs, which is less work where those are few.

    Returns:
        Of shape (*output, *input); for a tuple of inputs a tuple, for a tuple of outputs a tuple of what each has.

    Raises:
        GradientError: `strict`, and an output does not depend on an input.

    Example:
        >>> jacobian(lambda x: x * x, jt.array([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        >>> x, y = jacobian(lambda x, y: x * y, (jt.array(2.0), jt.array(3.0)), strategy="forward-mode")
        >>> x.item(), y.item()
        (3.0, 2.0)
    """
    forward = choice("jacobian", "strategy", strategy, STRATEGIES) == "forward-mode"
    over = vmap if yes_or_no("jacobian", "vectorize", vectorize) else _one_by_one
    call = _Call("jacobian", func, inputs, create_graph, strict)
    with enable_grad():
        if forward:
            columns = [by_columns(call.outputs, x, over) for x in call.inputs]
            rows = [tuple(row) for row in zip(*columns, strict=True)]
        else:
            rows = [tuple(by_rows(y, call.inputs, over)) for y in call.outputs]
    parts = [call.finished(row, inputs) for row in rows]
    return tuple(parts) if call.several else parts[0]


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of `func`, which returns one number: H[i..., j...] = d2 func(x) / d x[i...] d x[j...].

    The Jacobian of the gradient: the other arguments are those of `jacobian`, of which it is made.

    Args:
        outer_jacobian_strategy: how the gradient is differentiated: "reverse-mode" or "forward-mode".

    Returns:
        Of shape (*input, *input); for a tuple of inputs a tuple of tuples.

    Example:
        >>> hessian(lambda x: (x**3).sum(), jt.array([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    choice("hessian", "outer_jacobian_strategy", outer_jacobian_strategy, STRATEGIES)
    yes_or_no("hessian", "strict", strict)

    def gradient(*xs: Var) -> Any:
        found = _Call("hessian", func, xs, True, strict).gradient()
        return tuple(found) if isinstance(inputs, tuple) else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v J): v has the shapes of the outputs, and may be left out where that is one number.

    The arguments are those of `jacobian`.

    Raises:
        ShapeError: v has other shapes.
        GradientError: `strict`, and an output does not depend on an input.

    Example:
        >>> vjp(lambda x: x * x, jt.array([1.0, 2.0]), jt.array([1.0, 10.0]))[1].tolist()
        [2.0, 40.0]
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    with enable_grad():
        found = pulled(call.outputs, call.vector(v, call.outputs), call.inputs)
    return call.answered(), call.finished(found, inputs)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), J v): v has the shapes of the inputs, and may be left out where that is one number.

    The arguments and errors are those of `vjp`.

    Example:
        >>> jvp(lambda x: x * x, jt.array([1.0, 2.0]), jt.array([1.0, 10.0]))[1].tolist()
        [2.0, 40.0]
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    with enable_grad():
        found = pushed(call.outputs, call.inputs, call.vector(v, call.inputs))
    return call.answered(), call.finished(found, call.answer)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v H), backwards through the gradient; v has the shapes of the inputs.

    The arguments and errors are those of `vjp`; it is also a ShapeError if `func` returns several numbers.

    Example:
        >>> vhp(lambda x: (x**3).sum(), jt.array([1.0, 2.0]), jt.array([1.0, 10.0]))[1].tolist()
        [6.0, 120.0]
    """
    call = _Call("vhp", func, inputs, create_graph, strict)
    with enable_grad():
        found = pulled(call.gradient(), call.vector(v, call.inputs), call.inputs)
    return call.answered(), call.finished(found, inputs)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), H v), forwards through the gradient; `func` returns one number.

    H is symmetric, so the numbers are those of `vhp`. Which of the two takes less time depends on the function. The
    arguments and errors are those of `vhp`.

    Example:
        >>> hvp(lambda x: (x**3).sum(), jt.array([1.0, 2.0]), jt.array([1.0, 10.0]))[1].tolist()
        [6.0, 120.0]
    """
    call = _Call("hvp", func, inputs, create_graph, strict)
    with enable_grad():
        found = pushed(call.gradient(), call.inputs, call.vector(v, call.inputs))
    return call.answered(), call.finished(found, inputs)


def _one_by_one(function: Function) -> Function:
    """What `vmap` does, by a loop."""

    def call(basis: Var) -> Any:
        if len(basis) == 0:  # what comes out is empty, but has a shape
            return vmap(function)(basis)
        return [stack(list(parts)) for parts in zip(*map(function, basis), strict=True)]

    return call


class _Call:
    """A function at its inputs, as Vars of their own; `strict` and `create_graph` are seen to."""

    def __init__(self, name: str, func: Function, inputs: Any, create_graph: bool, strict: bool) -> None:
        if not callable(func):
            raise ArgumentError(f"{name} takes a function", short(func), f"{name}(lambda x: ..., x)")
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        for x in given or (inputs,):
            if not isinstance(x, Var):
                raise ArgumentError(f"{name} takes a Var, or a tuple of them, as inputs", short(x), "jt.array(...)")
        self.name, self.strict = name, yes_or_no(name, "strict", strict)
        self.connected = yes_or_no(name, "create_graph", create_graph)
        with enable_grad():
            ends = given if self.connected else [x.detach() for x in given]  # no walk of the graph goes on behind them
            self.inputs: list[Var] = [fresh(name, x) for x in ends]
            self.answer = func(*handles(self.inputs))
        self.several = isinstance(self.answer, (tuple, list))
        self.outputs = only_vars(name, self.answer)
        self.check(self.outputs, "output")

    def check(self, outputs: Sequence[Var], what: str) -> None:
        """Raise, if it is to be strict, where an output does not depend on an input."""
        for i, y in enumerate(outputs if self.strict else ()):
            behind = history(y.node)
            for j, x in enumerate(self.inputs):
                if x.node not in behind:
                    asked = f"{self.name} with strict=True asks that each {what} depends on each input"
                    raise GradientError(asked, f"{what} {i}, which does not on input {j}", "strict=False, for zeros")

    def gradient(self) -> list[Var]:
        """The gradient of the one number that the function returns."""
        if len(self.outputs) != 1 or self.outputs[0].size != 1:
            shapes = f"shapes {[y.shape for y in self.outputs]}"
            raise ShapeError(f"{self.name} takes a function that returns one number", shapes, ".sum()")
        (y,) = self.outputs
        found = slopes(y, self.inputs)
        self.check(found, "gradient")
        return found

    def vector(self, v: Any, like_these: Sequence[Var]) -> list[Var]:
        """The vector that was given, or 1 for a single number."""
        if v is not None:
            return like(self.name, v, like_these)
        if len(like_these) != 1 or like_these[0].size != 1:
            found = f"none for shapes {[x.shape for x in like_these]}"
            raise ArgumentError(f"{self.name} needs v, unless it is for a single number", found, "v=jt.ones(...)")
        return [like_these[0].ones_like()]

    def answered(self) -> Any:
        """What the function returned."""
        return self.finished(self.outputs, self.answer)

    def finished(self, found: Sequence[Var], like_this: Any) -> Any:
        """A Var or a tuple, as `like_this` is one, detached unless it is to be differentiated again."""
        parts = tuple(f if self.connected else f.detach() for f in found)
        return parts if isinstance(like_this, (tuple, list)) else parts[0]
