"""The backward pass through one call of a module, with somebody who is told of each gradient as soon as it is there.

    parameters ──┐                                       ┌── parameters
    inputs ──────┤   the graph of the call   ├── gate ── loss
                 └────────── walk: the last node first ◄─────────┘

To the rest of the graph a gate behind the outputs is one operator of parameters and inputs, with a gradient of its own.
That gradient is the usual one, node by node, from the last to the first. But the gradient of a parameter is complete as
soon as the first node that reads it has been visited. Then the listener is told, and may add to the graph what it
likes: a message, for one. Nodes run in the order in which they were made, if nothing else is in the way: so a message
that is made in the middle of the walk is sent in the middle of the backward pass.

                 walk over layer 3   message   walk over layer 2   message   walk over layer 1   message   answers
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from jt_edu.base.context import current
from jt_edu.ir.builders import same
from jt_edu.ir.node import Node, age, behind
from jt_edu.variable import autograd
from jt_edu.variable.autograd import Tape
from jt_edu.variable.halves_kept import cast_again
from jt_edu.variable.var import Var


class Listener(Protocol):
    """Who is told how a backward pass goes on."""

    def start(self, used: Sequence[bool]) -> None:
        """It begins; which of the parameters have a gradient."""

    def arrived(self, number: int, gradient: Var | None) -> None:
        """The gradient of a parameter is complete."""

    def finish(self) -> list[Var | None]:
        """All are; returns what is to be their gradients for everybody else."""


class Gate:
    """A gate behind the outputs of one call.

    Args:
        outs: the outputs.
        params: the parameters, in the order of their numbers.
        since: what is older than this node number was there before the call.
        listener: who is told of the gradients of parameters.
    """

    def __init__(self, outs: Sequence[Var], params: Sequence[Var], since: int, listener: Listener) -> None:
        self.since, self.listener = since, listener
        self.ends = [v.node for v in outs]
        self.params = [p.node for p in params]
        own = set(self.params)
        others = [n for n in sorted(self._reach(self.ends), key=age) if self._is_source(n) and n not in own]
        self.sources = [*dict.fromkeys(n for n in self.params if n.tracked), *others]
        self.wanted: set[int] = set()  # numbers of the outputs that a gradient came to

    def behind(self) -> list[Var]:
        """The outputs as everybody else sees them."""
        inner = [_gate(node) for node in self.ends]
        tape = Tape(self._backward, self.sources, inner)
        outer = [_gate(node) for node in inner]
        for number, (a, b) in enumerate(zip(inner, outer, strict=True)):
            a.tape, b.tape = tape, Tape(partial(self._asked, number), [a], [b])
        return [Var._of(node) for node in outer]

    def _asked(self, number: int, dout: Var) -> list[Var]:
        """A gradient came to one of the outputs: the loss depends on it."""
        self.wanted.add(number)
        return [dout]

    def _is_source(self, node: Node) -> bool:
        return node.id < self.since or not behind(node)

    def _reach(self, ends: Sequence[Node]) -> set[Node]:
        """What takes part in gradients between some outputs and what was there before."""
        seen = {n for n in ends if n.tracked}
        waiting = list(seen)
        while waiting:
            node = waiting.pop()
            if not self._is_source(node):
                fresh = [i for i in behind(node) if i.tracked and i not in seen]
                seen.update(fresh)
                waiting.extend(fresh)
        return seen

    def _backward(self, *douts: Var) -> list[Var | None]:
        """The gradients of all sources; the listener hears of those of parameters on the way."""
        grads: dict[Node, Var] = {}
        for number, dout in enumerate(douts):
            if number in self.wanted:
                end = self.ends[number]
                grads[end] = grads[end] + dout if end in grads else dout
        self.wanted.clear()
        answers = self._walk(grads, self._reach(list(grads)))
        of_params = dict(zip(self.params, answers, strict=True))
        return [of_params[n] if n in of_params else grads.get(n) for n in self.sources]

    def _walk(self, grads: dict[Node, Var], reach: set[Node]) -> list[Var | None]:
        order = [n for n in sorted(reach, key=age) if not self._is_source(n)]
        complete = self._complete_at(order, reach)
        self.listener.start([n in reach for n in self.params])
        context = current()
        outer = context.twin
        chosen: dict[Node, Var | None] = {}
        try:
            for node in reversed(order):
                if node in grads:
                    context.twin = node  # a gradient belongs to the line that it is the gradient of
                    autograd.hand_on(node, grads, chosen, reach, Var._of, lambda i: Var._of(cast_again(i)))
                self._tell(complete.pop(node, []), grads)
            self._tell([k for left in complete.values() for k in left], grads)
            return self.listener.finish()
        finally:
            context.twin = outer

    def _complete_at(self, order: Sequence[Node], reach: set[Node]) -> dict[Node | None, list[int]]:
        """The parameters whose gradients are complete after a node; after None: those that are outputs themselves."""
        first: dict[Node, Node] = {}
        for node in order:
            for i in behind(node):
                first.setdefault(i, node)
        found: dict[Node | None, list[int]] = {}
        for number, node in reversed(list(enumerate(self.params))):
            if node in reach:
                found.setdefault(first.get(node), []).append(number)
        return found

    def _tell(self, numbers: Sequence[int], grads: dict[Node, Var]) -> None:
        for number in numbers:
            self.listener.arrived(number, grads.get(self.params[number]))


def _gate(node: Node) -> Node:
    """The same numbers, as a node of their own."""
    gate = same("gate", node)
    gate.tracked = True
    return gate
