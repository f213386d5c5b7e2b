"""Backward: gradients that add up in `.grad`, as in PyTorch.

    loss.backward()      the leaves behind the loss are found, their gradients computed together with it, and added

Nearly every graph that comes by is one that came by before, so gradients are replayed (step_cache.py): the loss of the
third step costs its kernels and a walk over its graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import GradientError
from jt_edu.capture.step_cache import Replays
from jt_edu.ir.meta_ops import SOURCE
from jt_edu.ir.node import Node, age, folded, history
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.gradient import seed_of
from jt_edu.runtime.execute import run
from jt_edu.variable import autograd
from jt_edu.variable.gradient_cache import derivative
from jt_edu.variable.memory_format import FORMATS
from jt_edu.variable.var import Var, method

LOSSES = 128  # structures that a rank remembers: those of all its losses


@method
def backward(loss: Var, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
    """Add d loss / d leaf to `.grad` of every leaf that the learner holds, as PyTorch does.

    Args:
        gradient: of the shape of a loss that is not one number; d sum(loss * gradient) / d leaf is added then.
        retain_graph: PyTorch's word: here a graph is there as long as a Var of it is held, whatever this says.
        create_graph: `.grad` takes part in gradients itself, so that it can be differentiated again.

    Raises:
        GradientError: no Var that takes part is behind the loss, or its shape and that of `gradient` differ.

    Example:
        >>> x = array([3.0]); (x * x).sum().backward(); x.grad.numpy()
        array([6.], dtype=float32)
    """
    yes_or_no("backward", "retain_graph", False if retain_graph is None else retain_graph)
    yes_or_no("backward", "create_graph", False if create_graph is None else create_graph)
    held = leaves(loss)
    if not held or loss.node in current().rank_state.get("let_go", ()):
        raise _nobody(loss).at(loss.node.line)
    current().rank_state["graded"] = loss.node.id  # optimizers do not add the same gradients once more
    seed = None if gradient is None else seed_of("backward", loss, gradient)
    if create_graph or not _replayed(loss, held, seed):
        for k, new in _sums(held, derivative(loss, held, seed, True)):
            held[k].grad = new if create_graph else new.detach()
        wanted = (loss, *(leaf.grad for leaf in held))
        run([v.node for v in wanted if v is not None])  # in one go, so that values are shared


def _sums(held: Sequence[Var], parts: Sequence[Var | None]) -> list[tuple[int, Var]]:
    """The number of each leaf that has a gradient, and what is to stand in its `.grad`."""
    pairs = enumerate(zip(held, parts, strict=True))
    return [(k, part if v.grad is None else v.grad + part) for k, (v, part) in pairs if part is not None]


def _replayed(loss: Var, held: Sequence[Var], seed: Var | None) -> bool:
    """Whether gradients of a graph of this structure could be computed as they were before."""
    context = current()
    if context.traces or context.capture is not None or not context.flags.lazy_execution or FORMATS:
        return False
    before = [v.grad for v in held]
    roots = [loss, *([] if seed is None else [seed]), *[g for g in before if g is not None]]
    also = seed is None, tuple([g is None for g in before]), context.no_grad
    known: Replays = context.rank_state.setdefault("backward", Replays(LOSSES))
    found = known.run(roots, held, also, partial(_recipe, loss, held, seed))
    if found is None:
        return False
    for k, array in found[0]:
        held[k].grad = Var._of(Node(SOURCE, (), held[k].shape, held[k].dtype, array))
    return True


def _recipe(loss: Var, held: Sequence[Var], seed: Var | None) -> tuple[list[tuple[int, Var]], None]:
    return _sums(held, autograd.gradients(loss, held, seed, True)), None


def _nobody(loss: Var) -> GradientError:
    """What to say of a loss that no Var which is held can have a gradient of."""
    asked = "backward() fills .grad of the Vars that the loss was computed from"
    for node in history(loss.node, folded):
        owner = None if node.owner is None else node.owner()
        if owner is not None and node.tracked and age(owner.node) > age(loss.node):
            name = node.name or f"the Var of shape {node.shape}"
            return GradientError(asked, f"{name}, changed in place after the loss", "backward() before the change")
    if loss.node in current().rank_state.get("let_go", ()):
        found = "a loss of which an optimizer's step or backward has let go of what it was computed from"
        return GradientError(asked, found, "step(loss, retain_graph=True)")
    way = "a loss that was not detached, not made under no_grad, and not answered by a compiled step"
    return GradientError(asked, f"none that takes part, behind a loss of shape {loss.shape}", way)


def leaves(loss: Var) -> list[Var]:
    """The Vars that are held, take part, and have no such Var behind them: parameters, and inputs that may change.

    Example:
        >>> w = array([1.0])
        >>> [v is w for v in leaves(w * 2 + 1)]
        [True]
    """
    reached: set[Node] = set()
    found = []
    for node in history(loss.node, folded):
        owner = None if node.owner is None else node.owner()
        later = any(i in reached for i in folded(node))
        if owner is not None and owner.node is node and node is not loss.node and not later:
            found.append(owner)
            reached.add(node)
        elif later:
            reached.add(node)
    return found or ([loss] if loss.requires_grad and not any(i.tracked for i in folded(loss.node)) else [])
