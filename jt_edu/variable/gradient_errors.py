"""Gradient errors: why is there no gradient, and what does the learner hear of it?

Of a loss that none can start from, of a Var that the loss does not reach, of the place where the path breaks. By
`jt.flags.lenient_grad` the first two are warnings, and answered as Jittor answers them.
"""

from __future__ import annotations

import sys
import warnings
from operator import attrgetter
from typing import TYPE_CHECKING

from jt_edu.base.context import current
from jt_edu.base.errors import GradientError
from jt_edu.base.tracebacks import HOME
from jt_edu.ir.node import Node, age, behind, history, inputs_first, reached

if TYPE_CHECKING:
    from jt_edu.variable.var import Var


def check_loss(loss: Var, seed: Var | None) -> None:
    """A gradient starts from one real number, unless there is a `seed` of the shape of the loss."""
    if not loss.node.dtype.is_float:
        raise GradientError(
            "only numbers that can change smoothly have gradients", f"a loss of dtype {loss.dtype}",
            "compute the loss from floats",
        ).at(loss.node.line)  # fmt: skip
    if seed is None and loss.size != 1:
        if not current().flags.lenient_grad:
            error = GradientError("a gradient starts from one number", f"a loss of shape {loss.shape}", "loss.sum()")
            raise error.at(loss.node.line)
        warn(f"a loss of shape {loss.shape} is summed, since jt.flags.lenient_grad is set: say loss.sum().")
    if seed is None and loss.node.dtype.kind == "c":
        raise GradientError("a gradient starts from a real number", f"a loss of dtype {loss.dtype}", "loss.abs()")


def missing(target: Var, loss: Var) -> Var:
    """The gradient where there is none: an error, or, as Jittor has it (`jt.flags.lenient_grad`), zeros."""
    why, way = why_no_path(target.node, loss.node), "jt.grad(..., allow_unused=True) to get None"
    if not current().flags.lenient_grad:
        raise GradientError(why, "", way).at(target.node.line)
    warn(f"{why}. Its gradient is 0, since jt.flags.lenient_grad is set.")
    return target.zeros_like()


def why_no_path(target: Node, loss: Node) -> str:
    """The reason, in one sentence, why the loss has no gradient with respect to `target`.

    The path is followed from the target to the loss, gradients or not; where it breaks is the first node that was
    computed from the target and takes no part in gradients.
    """
    name = target.name or f"the Var of shape {target.shape}"
    if not target.dtype.is_float:
        return f"{name} has dtype {target.dtype}; only floats have gradients"
    if not target.tracked:
        return f"{name} takes no part in gradients: it was stopped by stop_grad, detach or no_grad"
    if age(target) > age(loss):
        return f"{name} was made, or changed in place, after the loss was computed"
    if loss in current().rank_state.get("let_go", ()):
        return "an optimizer's step or backward has let go of what the loss was computed from"
    order = history(loss)
    if loss in (reach := reached(order, {target}, behind)):  # a way for gradients, on which one was None
        blocked = [n for n in order if n in reach and n is not target and (n.tape or not any(n.op.gradients))]
        where = f"{blocked[0].op.name} at {blocked[0].line}" if blocked else "an operator without a gradient"
        whose = "whose grad answered None" if blocked and blocked[0].tape else "which has no gradient"
        return f"the path from the loss to {name} breaks at {where}, {whose}"
    order = inputs_first([loss])
    reach = reached(order, {target}, attrgetter("inputs"))
    broken = [n for n in order if n in reach and not n.tracked]
    if loss not in reach or not broken:
        return f"the loss was not computed from {name}, or only by way of detach, numpy or a compiled step"
    node = broken[0]
    how = "stop_grad or no_grad" if node.dtype.is_float else "a cast to whole numbers, a comparison or an argmax"
    return f"the path from the loss to {name} breaks at {node.op.name} ({how}) at {node.line}"


def warn(text: str) -> None:
    """A warning that points at the learner's own line."""
    frame, level = sys._getframe(), 1
    while frame.f_code.co_filename.startswith(HOME) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
