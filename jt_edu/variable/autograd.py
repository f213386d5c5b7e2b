"""Autograd: the gradient of a graph is more graph.

    gradients(loss, [x])    walk back from the loss; each operator's rule turns the gradient of its output into
                            those of its inputs; where paths join, gradients add

The rules stand beside the operators (ir/scalar_ops.py, ir/meta_ops.py) and are ordinary arithmetic, so what comes out
is a graph like any other: it fuses, and it can be differentiated again. Nothing here computes a number.

A gradient that comes through `where` is 0 where the other value was taken, and so are those before it: the rule of a
root would make 0 * inf of it, which is nan. So it is known of such a gradient where it was *chosen*, a Var of bools,
and a nan that a rule makes elsewhere is 0: up to a sum, and through views and broadcasts. (Of what was broadcast, the
gradients are added up; where the sum is 0, nothing was chosen.)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jt_edu.base.context import current
from jt_edu.base.errors import GradientError
from jt_edu.ir.builders import constant, filled
from jt_edu.ir.meta_ops import Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, age, behind, history, reached
from jt_edu.ir.scalar_ops import PICKED
from jt_edu.variable.gradient_errors import check_loss, missing
from jt_edu.variable.halves_kept import cast_again

if TYPE_CHECKING:
    from jt_edu.ir.meta_ops import Op, Rule
    from jt_edu.variable.var import Var


class Tape:
    """The gradient that a `Function` brings along: `backward(*douts)` lists one gradient per source, or None.

    It is given the gradient of each output: zeros where the loss does not use it, None where it was stopped. An output
    holds its tape; if the tape held the output, too, both would stay in memory until Python looks for circles.
    """

    def __init__(self, backward: Callable[..., Any], sources: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.backward, self.sources = backward, tuple(sources)
        self.outputs = [weakref.ref(n) for n in outputs]
        self.zeros = [partial(filled, n.shape, 0, n.dtype) for n in outputs]
        self.stopped: set[int] = set()  # numbers of outputs

    def stop(self, output: Node) -> None:
        """No gradient goes through this output any more."""
        self.stopped |= {k for k, n in enumerate(self.outputs) if n() is output}


LEAF = Tape(lambda: (), (), ())  # on a node whose history is nobody's business: a parameter that was updated


def gradients(
    loss: Var, targets: Sequence[Var], seed: Var | None = None, allow_unused: bool = False
) -> list[Var | None]:
    """Nodes for d loss / d target, one per target; see `jt.grad` for the learner's door."""
    if loss.node.dtype.kind != "f" or (seed is None and loss.node.shape):
        check_loss(loss, seed)
    wrap = type(loss)._of
    order = history(loss.node)
    again = (lambda node: wrap(cast_again(node))) if any(n.dtype.is_half for n in order) else wrap
    reach = reached(order, {t.node for t in targets}, behind)
    grads: dict[Node, Var] = {}
    chosen: dict[Node, Any] = {}  # where a gradient may be other than 0, a Var of bools; None: anywhere
    moment = current().threads.now
    outer, moment.twin, moment.autocast = (moment.twin, moment.autocast), loss.node, None
    try:
        if loss.node in reach:
            grads[loss.node] = loss.ones_like() if seed is None else seed
        for node in reversed(order):
            if node in grads:
                moment.twin = node  # a gradient belongs to the line, and to the module, that it is the gradient of
                hand_on(node, grads, chosen, reach, wrap, again)
    finally:
        moment.twin, moment.autocast = outer
    for t in targets:
        if t.node not in grads and not allow_unused:
            grads[t.node] = missing(t, loss)
    return [grads.get(t.node) for t in targets]


def hand_on(
    node: Node, grads: dict[Node, Var], chosen: dict[Node, Any], reach: set[Node], wrap: Callable[[Node], Var],
    again: Callable[[Node], Var],
) -> None:  # fmt: skip
    """Let hooks see the gradient of `node`, which is complete, and hand it on to its inputs; `again` wraps those."""
    dout, where = _hooked(node, grads[node]), chosen.pop(node, None)
    if dout is not grads[node]:
        grads[node], where = dout, None
    parts: list[Any]
    if node.tape is not None:
        parts = [(i, part, None) for i, part in _tape_gradients(node, grads, wrap)]
    else:
        out, inputs = wrap(node), [again(i) for i in node.inputs]
        parts = [
            (i, *_by_rule(node.op, k, rule, where, out, dout, inputs))
            for k, (i, rule) in enumerate(zip(node.inputs, node.op.gradients, strict=False))
            if i in reach and rule is not None
        ]
    for i, part, here in parts:
        if i in reach and part is not None:
            added, both = part.cast(i.dtype), here
            if i in grads:
                before = chosen[i]
                added, both = grads[i] + added, None if here is None or before is None else before | here
            grads[i], chosen[i] = added, both


def _by_rule(
    op: Op, k: int, rule: Rule, where: Var | None, out: Var, dout: Var, inputs: list[Var]
) -> tuple[Var | None, Var | None]:
    """What a rule returns for input k, 0 where the value of `out` was not taken; and where it may be other than 0."""
    part: Var | None = rule(out, dout, *inputs)
    if getattr(op, "rule", "") == "select":
        here = ~inputs[0] if k == 2 else inputs[0]
        return part, here if where is None else where & here
    if where is None or part is None or not isinstance(op, Elementwise | Reindex):
        return part, None
    if isinstance(op, Reindex):  # where it reads something that was chosen
        return part, part != 0 if isinstance(part.node.op, ReindexReduce) else rule(out, where, *inputs)
    alone = part is dout or part.node.behind == (dout.node,)  # of 0, a rule that reads nothing else makes 0
    return (part if alone else where.apply(PICKED, part, type(out)._of(constant(0, part.node.dtype)))), where


def _tape_gradients(node: Node, grads: dict[Node, Var], wrap: Callable[[Node], Var]) -> list[tuple[Node, Var | None]]:
    """A Function is asked once, when the gradients of all its outputs are known."""
    tape: Tape = node.tape
    if not tape.sources:
        return []
    outputs = [output() for output in tape.outputs]
    if node is not min((n for n in outputs if n in grads), key=age):
        return []
    douts: list[Var | None] = []
    for k, (output, zeros) in enumerate(zip(outputs, tape.zeros, strict=True)):
        if output in grads:
            douts.append(grads[output])
        else:
            douts.append(None if k in tape.stopped else wrap(zeros()))
    return list(zip(tape.sources, tape.backward(*douts), strict=True))


def _hooked(node: Node, dout: Var) -> Var:
    owner = node.owner() if node.owner is not None else None
    for hook in owner._hooks if owner is not None else ():
        changed = hook(dout)
        if changed is not None:
            if not isinstance(changed, type(dout)) or changed.shape != dout.shape:
                found = (
                    f"{changed.shape} for {dout.shape}" if isinstance(changed, type(dout)) else type(changed).__name__
                )
                raise GradientError("a hook returns None or a Var of the gradient's shape", found)
            dout = changed.cast(dout.dtype)
    return dout
