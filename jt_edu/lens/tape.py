"""Tape: the steps of a gradient, forward and backward, each beside the other.

    forward              backward            A row for each forward step; time goes down the left and up the right.
    1  matmul      <->   9  scatter          A gradient step stands in the row of the operator that it is the
    2  relu        <->   7, 8                gradient of: its twin.
    3  loss        <->   5, 6

A step is an operator whose value would be stored if each had a kernel of its own. Views (broadcasts, slices,
transposes) and the products inside a matrix product are read through: they belong to the steps that read them.

`tape_of` works on a graph document alone. `record_tape` makes one from a loss: it builds the gradient of every value
behind the loss once, to learn which node is whose gradient, and keeps only those that were asked for.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.context import flag_scope
from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.base.plural import plural
from jt_edu.ir.meta_ops import CONSTANT, SOURCE
from jt_edu.ir.node import Node, behind, history, reached
from jt_edu.lens.document_schema import shortened
from jt_edu.lens.gradient_rules import rule_of_step, rules_of
from jt_edu.lens.isolated_run import check_size, found_words, initialize_parameters, way_out
from jt_edu.lens.liveness import lifetimes_of_page
from jt_edu.lens.recording import Recording, recording
from jt_edu.lens.tape_steps import Flows, tape_of
from jt_edu.runtime import execute
from jt_edu.variable import autograd
from jt_edu.variable.gradient_errors import why_no_path
from jt_edu.variable.var import Var

Row = dict[str, Any]
BESIDE = "A gradient stands beside the operator that it is taken through: with respect to what that operator reads."
BYTES = (
    "Bytes are counted twice. By step: each stores its value, and what nobody reads any more is freed. "
    "As it ran: by kernel, each of which has all that it stores in memory at once."
)
HISTORY_GONE = "a tape needs the history of a loss: what was given as an array has none, and a step forgets it"
SHOW_IT_EARLIER = "build the loss again from the model, or show it before the optimizer's step"
_one_at_a_time = threading.RLock()  # a graph is marked as not computed while its tape is made


def record_tape(loss: Var, wrt: Var | Sequence[Var] | None = None, run: bool | None = None) -> Recording:
    """Record the gradient of a loss step by step; the page of the answer has the key "tape".

    Nothing that the learner has changes: no `.grad` is filled, and what is pending stays so. What was computed already
    is recorded as it would be computed again. (Hooks on gradients are called, as by any gradient that is built.)

    Args:
        loss: one real number, shape ().
        wrt: the Vars to take gradients with respect to; None: all that have `requires_grad` and nothing behind them.
        run: whether to run it, as in `jt.recording`.

    Raises:
        GradientError: there is nothing to take a gradient with respect to, or no path to it.

    Example:
        >>> w = jt.array([1.0, 2.0])
        >>> tape = record_tape((w * w).sum()).page["tape"]
        >>> [step["op"] for step in tape["steps"] if step["phase"] == "backward"]
        ['multiply', 'multiply', 'add']
    """
    with _one_at_a_time:
        leaves = leaves_of(loss, wrt)
        return _recorded(loss, leaves, run)


def _recorded(loss: Var, leaves: Sequence[Var], run: bool | None) -> Recording:
    with forgotten(loss.node), flag_scope(lazy_execution=True):
        found = Found.build(loss, leaves)
        told = recording(loss, *found.gradients, run=run)
        graph = told.page["graph"]
        tape = tape_of(graph, loss.node.id, found.flows)
        names = {row["id"]: row["name"] for row in graph["nodes"]}
        tape["leaves"] = [
            {"node": leaf.node.id, "gradient": g.node.id, "name": shortened(leaf.name or names.get(leaf.node.id, ""))}
            for leaf, g in zip(leaves, found.gradients, strict=True)
        ]
        tape["kernel_alive"] = lifetimes_of_page(told.page)["alive"] if told.page["memory"] else []
        twins = {row["id"]: row["twin"] for row in graph["nodes"] if row["twin"] is not None}
        tape["rules"] = rules_of(found.forward, set(twins.values()))
        _tell_rules(tape["steps"], twins, {node.id: node for node in found.forward})
    return told.with_page(tape=tape, summary=_sentence(tape), about=[*told.page["about"], BESIDE, BYTES])


def _tell_rules(steps: Sequence[Row], twins: Mapping[int, int], forward: Mapping[int, Node]) -> None:
    """On each backward step that is one half of the gradient of a contraction: which half, as a rule."""
    for step in steps:
        if step["twin"] is not None:
            parts = {twins[i] for i in step["through"] if i in twins} | {step["twin"]}
            step["rule"] = rule_of_step(parts, step["twin"], forward)


def _sentence(tape: Row) -> str:
    leaves = tape["leaves"]
    names = ", ".join(leaf["name"] or f"#{leaf['node']}" for leaf in leaves[:4])
    more = f" and {len(leaves) - 4} more" if len(leaves) > 4 else ""
    back = len(tape["steps"]) - tape["rows"]
    return f"{plural(tape['rows'], 'step')} forward to the loss, {back} back to the gradients of {names}{more}."


@dataclass
class Found:
    """The gradients that were asked for, and how the gradient flows."""

    gradients: list[Var]
    flows: Flows
    forward: list[Node] = field(default_factory=list)

    @classmethod
    def build(cls, loss: Var, leaves: Sequence[Var]) -> Found:
        """Build the gradient of every value on the way from `leaves` to the loss; keep those of the leaves alone."""
        order = history(loss.node)
        reach = reached(order, {leaf.node for leaf in leaves}, behind)
        nodes = [n for n in order if n in reach]
        built = autograd.gradients(loss, [*leaves, *map(type(loss)._of, nodes)], allow_unused=True)
        for leaf, gradient in zip(leaves, built, strict=False):
            if gradient is None:
                raise GradientError(why_no_path(leaf.node, loss.node), "").at(leaf.node.line)
        gradients = [g for g in built[: len(leaves)] if g is not None]
        gradient_of = {n.id: g.node.id for n, g in zip(nodes, built[len(leaves) :], strict=True) if g is not None}
        return cls(gradients, Flows(gradient_of, _readers(order, reach)), order)


def leaves_of(loss: Var, wrt: Var | Sequence[Var] | None = None) -> list[Var]:
    """The Vars that gradients are taken with respect to: `wrt`, or all that take part and have nothing behind them.

    Example:
        >>> w = jt.array([1.0])
        >>> leaves_of((w * 2).sum())[0] is w
        True
    """
    if not isinstance(loss, Var):
        raise ArgumentError("a tape is recorded of a loss, which is a Var", found_words(loss), _way_to_a_loss(loss))
    check_size([loss.node])
    if loss.node.op is SOURCE:
        raise GradientError(HISTORY_GONE, "a loss that is already computed", SHOW_IT_EARLIER).at(loss.node.line)
    with _one_at_a_time:
        initialize_parameters([loss.node])
        ends = _ends(loss)
        execute.run([v.node for v in ends])  # how a leaf came about is not part of what is computed from it
    if wrt is None:
        return ends
    wanted = [wrt] if isinstance(wrt, Var) else list(wrt) if isinstance(wrt, Iterable) else []
    if not wanted or not all(isinstance(w, Var) for w in wanted):
        raise ArgumentError("gradients are taken with respect to Vars", repr(wrt), "one Var, or a list of them: [w, b]")
    return wanted


def _way_to_a_loss(given: Any) -> str:
    return "tape(loss), or tape(loss, [w, b])" if isinstance(given, list | tuple) else way_out(given)


def _ends(loss: Var) -> list[Var]:
    """What takes part in gradients and has nothing behind it that does."""
    order = history(loss.node)
    ends = [n for n in order if not any(i.tracked for i in behind(n)) and n.op is not CONSTANT]
    if not ends:
        raise GradientError(
            "a tape needs something to take a gradient with respect to",
            "nothing behind the loss has requires_grad",
            "w.requires_grad = True, before the loss is computed from w",
        ).at(loss.node.line)
    owners = [None if n.owner is None else n.owner() for n in ends]
    return [v if v is not None and v.node is n else type(loss)._of(n) for v, n in zip(owners, ends, strict=True)]


def _readers(order: Sequence[Node], reach: set[Node]) -> dict[int, list[int]]:
    """For each value: who hands a gradient to it, in the order in which that happens; some do so twice."""
    readers: dict[int, list[int]] = defaultdict(list)
    for node in reversed(order):
        if node not in reach:
            continue
        rules = node.op.gradients if node.tape is None else [True] * len(node.tape.sources)
        for source, rule in zip(behind(node), rules, strict=False):
            if source in reach and rule is not None:
                readers[source.id].append(node.id)
    return dict(readers)


@contextmanager
def forgotten(loss: Node) -> Iterator[None]:
    """Inside, what was computed on the way to the loss is forgotten, as far back as its history goes."""
    before = {n: (n.data, n.inputs) for n in history(loss) if n.data is not None and n.inputs}
    before |= {n: (n.data, n.inputs) for n in [loss] if n.data is not None and n.inputs}
    try:
        for node in before:
            node.data = None
        yield
    finally:
        for node, (data, inputs) in before.items():
            node.data, node.behind = data, inputs
