"""Commit: the frame of a step: the loss that it is for, and new numbers that take effect all together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any
from weakref import WeakSet

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.capture.recorded_step import leaf_like
from jt_edu.capture.recorder import after_replay
from jt_edu.optim.hyperparameters import Count, Group
from jt_edu.variable.parallel_context import team
from jt_edu.variable.var import Var

Closure = Callable[[], Var]
WHOLE: Any = object()  # stands for the loss of a step among what moves: it becomes the loss of the whole batch


def evaluated(closure: Closure, params: Sequence[Var]) -> tuple[Var, bool]:
    """The loss that a function computes, and whether it put new gradients into `.grad` itself."""
    before = [p.grad for p in params]
    loss = closure()
    if not isinstance(loss, Var):
        raise ArgumentError("the function given to step returns the loss, a Var", type(loss).__name__, "return loss")
    return loss, any(p.grad is not None and p.grad is not g for p, g in zip(params, before, strict=True))


def about(loss: Var | None) -> AbstractContextManager[None]:
    """Inside, this rank's part is its share of the batch that the loss is made of."""
    crew = team()
    return nullcontext() if crew is None or loss is None else crew.about(loss)


def added(params: Sequence[Var], gradients: Sequence[Var | None]) -> list[Var | None]:
    """Gradients of the loss, and what `.grad` holds already."""
    pairs = zip(params, gradients, strict=True)
    return [g if p.grad is None else p.grad if g is None else p.grad + g for p, g in pairs]


def aimed(moves: list[tuple[Var, Any]], loss: Var | None, retain_graph: bool = False) -> list[tuple[Var, Any]]:
    """What moves, with the loss of this step in its place; a loss that is kept for another step keeps its history."""
    kept = [(var, new) for var, new in moves if var is not WHOLE or not (loss is None or retain_graph)]
    return [(loss if var is WHOLE and loss is not None else var, new) for var, new in kept]


def take_effect(put: Callable[[Var, Any], Any], moves: Sequence[tuple[Var, Any]], counts: list[Count]) -> None:
    """Give all parameters and states their new values; an interrupt in the middle is let through at the end."""
    after = [(state, count()) for state, count in counts]

    def go() -> None:
        for var, new in moves:
            put(var, new)
        for state, numbers in after:
            state.update(numbers)

    capture = current().capture
    mine = [(state, capture.ahead[id(state)]) for state, _ in counts] if capture is not None else []
    if capture is not None:
        capture.undo += [partial(state.update, {name: state[name] for name in numbers}) for state, numbers in after]

    def count() -> Callable[[], None]:
        found = [(state, factor.counted) for state, factor in mine]

        def store() -> None:
            for state, numbers in found:
                state.update(numbers)

        return store

    after_replay(count)

    try:
        go()
    except BaseException:
        go()
        raise


def not_twice(loss: Any, groups: Sequence[Group]) -> None:
    """PyTorch's `loss.backward()` and Jittor's `step(loss)` for one loss would double its gradient."""
    known = isinstance(loss, Var) and loss.node.id == current().rank_state.get("graded")
    if known and any(p.grad is not None for group in groups for p in group["params"]):
        found = "loss.backward() before, whose gradients are in .grad"
        raise GradientError("step(loss) adds the gradients of the loss itself", found, "step(), or no backward()")


def forget_history(loss: Var | None, retain_graph: bool) -> None:
    """A list of losses would keep the graph of every step alive."""
    if loss is not None and not retain_graph and current().capture is None and loss.node.behind:
        loss.node = leaf_like(loss.node, loss.node.data)
        state = current().rank_state
        if "let_go" not in state:
            state["let_go"] = WeakSet()
        state["let_go"].add(loss.node)  # variable/gradient_errors.py says so to who asks for more
