"""Gradients for the learner: `jt.grad`, `jt.vjp`, and `Function` for custom gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from jt_edu.base.context import current, enable_grad, no_grad
from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.ir.builders import same
from jt_edu.ir.meta_ops import CONSTANT, SOURCE
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.deferred_outputs import ride_along
from jt_edu.variable import autograd
from jt_edu.variable.gradient_cache import derivative
from jt_edu.variable.gradient_errors import why_no_path
from jt_edu.variable.memory_format import follow
from jt_edu.variable.var import Var, as_var, method

__all__ = ["Function", "grad", "set_grad_enabled", "vjp", "why_no_grad"]


def grad(
    loss: Any = None, targets: Any = None, allow_unused: bool = False, retain_graph: bool | None = None,
    create_graph: bool | None = None, grad_outputs: Any = None, *, outputs: Any = None, inputs: Any = None,
) -> Any:  # fmt: skip
    """d loss / d target as new Vars, which can be differentiated again. Nothing runs.

    Args:
        loss: one real number (shape () or of one element).
        targets: a Var, or a list of them; the answer is alike.
        allow_unused: answer None for a target the loss does not depend on, instead of raising.
        retain_graph: PyTorch's word: here a graph is there as long as a Var of it is held, whatever this says.
        create_graph: False cuts the gradients off, so that they cannot be differentiated again; else they can be.
        grad_outputs: of the shape of a loss of any shape, which is multiplied by it and added up, as by `vjp`.
        outputs, inputs: PyTorch's words for loss and targets.

    Raises:
        GradientError: loss has several elements, or is no float, or the path to a target is cut (it says where).

    Example:
        >>> x = array([1.0, 2.0])
        >>> grad((x * x).sum(), x).numpy()
        array([2., 4.], dtype=float32)
    """
    loss, targets = outputs if loss is None else loss, inputs if targets is None else targets
    asked = _asked("grad", loss, targets)
    for name, flag in (("retain_graph", retain_graph), ("create_graph", create_graph)):
        yes_or_no("grad", name, False if flag is None else flag)
    listed = isinstance(grad_outputs, (list, tuple)) and len(grad_outputs) == 1 and isinstance(grad_outputs[0], Var)
    seed = None if grad_outputs is None else seed_of("grad", loss, grad_outputs[0] if listed else grad_outputs)
    found = derivative(loss, asked, seed, yes_or_no("grad", "allow_unused", allow_unused))
    if create_graph is False:
        found = [None if g is None else g.detach() for g in found]
    return found[0] if isinstance(targets, Var) else found


def _asked(name: str, loss: Any, targets: Any) -> list[Var]:
    """The Vars that gradients are asked for, as a list."""
    asked = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    if not isinstance(loss, Var) or not all(isinstance(t, Var) for t in asked):
        kinds = f"{type(loss).__name__}, {[type(t).__name__ for t in asked]}"
        way = f"jt.func.{name}" if callable(loss) and name in ("grad", "vjp") else "jt.grad(loss, [w, b])"
        raise ArgumentError(f"jt.{name} takes a Var, and a Var or a list of them", kinds, way)
    return asked


def vjp(y: Var, targets: Sequence[Var], v: Any) -> list[Var]:
    """Gradients of sum(y * v): the product of v with the Jacobian of y, for a y of any shape.

    Example:
        >>> x = array([1.0, 2.0])
        >>> vjp(x * x, [x], array([1.0, 10.0]))[0].numpy()
        array([ 2., 40.], dtype=float32)
    """
    asked = _asked("vjp", y, targets)
    found = derivative(y, asked, seed_of("vjp", y, v), True)
    return [t.zeros_like() if g is None else g for g, t in zip(found, asked, strict=True)]


def seed_of(name: str, y: Var, v: Any) -> Var:
    """What gradients of a y of any shape start from, of the same shape."""
    seed = as_var(v, y.dtype)
    if seed.dtype.kind == "c" != y.dtype.kind:
        raise GradientError(f"{name} starts from a gradient of a real Var", f"dtype {seed.dtype}", "its real part")
    seed = seed.cast(y.dtype)
    if seed.shape != y.shape:
        raise GradientError(f"{name} starts from a gradient of the shape of its Var", f"{seed.shape} for {y.shape}")
    return seed


@method
def detach(x: Var) -> Var:
    """The same numbers, cut off from the gradient; what is pending is computed along with the next optimizer step.

    Example:
        >>> x = array([1.0, 2.0])
        >>> grad((x * x.detach()).sum(), x).numpy()
        array([1., 2.], dtype=float32)
    """
    node, capture = x.node, current().capture
    if node.data is not None and (capture is None or node.op is CONSTANT):
        twin = Node(node.op if node.op is CONSTANT else SOURCE, (), node.shape, node.dtype, node.data)
    else:
        twin = same("detach", node)
    twin.tracked = False
    out = Var._of(follow(twin, node))
    if twin.pending and node.tracked and capture is None:  # a captured step returns what it returns
        ride_along((out,))
    return out


@method
def requires_grad_(x: Var, wanted: bool = True) -> Var:
    """Set `x.requires_grad`, and answer x.

    Example:
        >>> array([1.0]).requires_grad_(False).requires_grad
        False
    """
    x.requires_grad = wanted
    return x


def why_no_grad(target: Var, loss: Var) -> str:
    """Why the loss has no gradient with respect to `target`, in one sentence; or that it has one.

    Example:
        >>> x, y = array([1.0]), array([2.0])
        >>> why_no_grad(x, (y * 2).sum())
        'the loss was not computed from the Var of shape (1,), or only by way of detach, numpy or a compiled step'
    """
    asked = _asked("why_no_grad", loss, target)
    if math.prod(target.shape) == 1 < math.prod(loss.shape):
        found = f"a loss of shape {loss.shape}, and a target of shape {target.shape}"
        raise GradientError("why_no_grad takes the target, then the loss", found, "jt.why_no_grad(x, loss)")
    if derivative(loss, asked, None, True)[0] is not None:
        return "there is a gradient: the loss depends on it"
    return why_no_path(target.node, loss.node)


def set_grad_enabled(mode: bool) -> GradMode:
    """Switch gradients on or off for Vars made from now on; in a `with` statement, until its end.

    Example:
        >>> with set_grad_enabled(False):
        ...     y = ones(2) * 2
        >>> y.requires_grad, is_grad_enabled()
        (False, True)
    """
    return GradMode(yes_or_no("set_grad_enabled", "mode", mode))


class GradMode:
    """What `set_grad_enabled` returns: it puts back what was before at the end of a `with`, or decorates a function.

    Example:
        >>> @set_grad_enabled(False)
        ... def double(x):
        ...     return x * 2
        >>> double(ones(2)).requires_grad, is_grad_enabled()
        (False, True)
    """

    def __init__(self, mode: bool) -> None:
        self._mode, self._before = mode, current().no_grad
        current().no_grad = not mode

    def __enter__(self) -> None:
        current().no_grad = not self._mode

    def __exit__(self, *error: object) -> None:
        current().no_grad = self._before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, which runs in this mode."""
        self.__exit__()
        decorated: Callable[..., Any] = (enable_grad if self._mode else no_grad)(function)
        return decorated


class Function:
    """An operator with your own gradient: `execute` computes, `grad` returns one gradient per input.

    What `grad` needs may be kept on `self`, for each call apart. Jittor's form; None stands for "no gradient". Inputs
    that are no Vars may be left out of the answer, or have None there. Outputs that are no Vars are handed on as they
    are (arrays become Vars); `grad` is given None for them, for whole numbers and for what was stopped, and zeros for
    an output that the loss does not use.

    Example:
        >>> class Twice(Function):
        ...     def execute(self, x):
        ...         return x * 2
        ...     def grad(self, dout):
        ...         return dout * 2
        >>> x = array([1.0]); grad(Twice.apply(x).sum(), x).numpy()
        array([2.], dtype=float32)
    """

    def execute(self, *args: Any) -> Any:
        """Compute the output (or outputs) from the inputs."""
        found = "no execute method" + ", but forward, PyTorch's name" * hasattr(self, "forward")
        way = "def execute(self, x) and def grad(self, dout), where self keeps what grad needs: there is no ctx"
        raise GradientError(f"{type(self).__name__} must say what it computes", found, way)

    def grad(self, *douts: Any) -> Any:
        """Gradients of the inputs, from those of the outputs."""
        raise GradientError(f"{type(self).__name__} must say what its gradient is", "no grad method")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Make one, and call it."""
        return cls()(*args)

    def __call__(self, *args: Any) -> Any:
        """Execute, and note on the outputs whom to ask for the gradient."""
        inputs = [a for a in args if isinstance(a, Var)]
        nodes = [v.node for v in inputs]
        with no_grad():
            answer = self.execute(*args)
        self._refuse_changes(inputs, nodes)
        several = isinstance(answer, (tuple, list))
        outputs = [as_var(a) if isinstance(a, np.ndarray) else a for a in (answer if several else (answer,))]
        if not current().no_grad and any(v.requires_grad for v in inputs):
            self._tape(args, [v.node for v in inputs], outputs)
        return tuple(outputs) if several else outputs[0]

    def _tape(self, args: Sequence[Any], sources: list[Node], outputs: list[Any]) -> None:
        """Put in the place of each output that takes part in gradients one that knows whom to ask for them."""
        places = [k for k, v in enumerate(outputs) if _takes_part(v)]
        for k in places:
            outputs[k] = Var._of(same("function", outputs[k].node))
        nodes = [outputs[k].node for k in places]
        tape = autograd.Tape(self._grad_of_this_call(args, places, len(outputs)), sources, nodes)
        for node in nodes:
            node.tape, node.tracked = tape, True

    def _refuse_changes(self, inputs: list[Var], nodes: list[Node]) -> None:
        """`execute` may not assign to its inputs: the graph behind them would not know. They are put back."""
        for number, (v, node) in enumerate(zip(inputs, nodes, strict=True)):
            if v.node is not node:
                v.node = node
                asked = f"{type(self).__name__}.execute leaves its inputs as they are"
                raise GradientError(asked, f"input {number} changed in place", "y = x + 1, which makes another Var")

    def _grad_of_this_call(self, args: Sequence[Any], places: Sequence[int], outputs: int) -> Callable[..., Any]:
        """`grad`, with what `execute` has just kept on self, though self may be called again before it is asked.

        It is given a gradient for each output in these `places`, and None for the others.
        """
        kept = {name: value for name, value in vars(self).items() if name != "_kept"}
        self._kept = kept
        shapes = [a.shape if isinstance(a, Var) else None for a in args]  # not the Vars: they would live as long

        @wraps(self.grad)
        def grad(*douts: Any) -> Any:
            if self._kept is not kept:
                vars(self).update(kept)
                self._kept = kept
            given = dict(zip(places, douts, strict=True))
            return self._checked(self.grad(*map(given.get, range(outputs))), shapes)

        return grad

    def _checked(self, answer: Any, shapes: list[Shape | None]) -> list[Var | None]:
        """What `grad` answered, as one gradient or None for each Var that execute was given."""
        name = f"{type(self).__name__}.grad"
        parts = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        wanted = [shape for shape in shapes if shape is not None]
        if len(parts) == len(shapes) > len(wanted):  # PyTorch's way: one for each input, None for what is no Var
            pairs = list(zip(shapes, parts, strict=True))
            if any(shape is None and part is not None for shape, part in pairs):
                raise GradientError(f"{name} returns None for an input that is not a Var", "a gradient for it")
            parts = [part for shape, part in pairs if shape is not None]
        if len(parts) != len(wanted):
            asked = f"{name} returns one gradient (or None) for each Var that execute was given"
            raise GradientError(asked, f"{len(parts)} for {len(wanted)}" + ", None" * (answer is None))
        for shape, part in zip(wanted, parts, strict=True):
            if part is not None and not isinstance(part, Var):
                raise GradientError(f"{name} returns Vars or None", type(part).__name__, "jt.array(...)")
            if part is not None and part.shape != shape:
                found = f"{part.shape} for an input of {shape}"
                raise GradientError(f"{name} returns gradients with the shapes of its inputs", found)
        return parts


def _takes_part(output: Any) -> bool:
    """Not what is no Var, a Var of whole numbers, or one that execute has stopped (LEAF, and yet not tracked)."""
    if not isinstance(output, Var) or not output.dtype.is_float:
        return False
    return output.node.tape is not autograd.LEAF or output.node.tracked
