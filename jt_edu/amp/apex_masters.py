"""Apex masters: where do small steps go, if the weights are halves?

    0.5 + 0.0001 = 0.5 in float16        0.5001 in float32

    model       p     float16, what the loss is computed from         gradients: p.grad, times the loss scale
    optimizer   m     float32, a copy of p that the rule moves        m.grad = p.grad / scale;   then p = float16(m)

A parameter that is no half is its own master. Masters are saved with the states of the optimizer, so that going on from
a file loses no bit.

Source: Micikevicius et al. 2018, "Mixed precision training", section 3.1 (arXiv:1710.03740).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.ir.node import Node
from jt_edu.ops.create import sync
from jt_edu.optim.base import Optimizer
from jt_edu.optim.param_groups import params_of
from jt_edu.variable.var import Var

SAVED = "master"  # the name of a master among the states of its parameter


class Masters:
    """Gives an optimizer float32 copies in place of its halves, and remembers whose copies they are.

    `model` is an optimizer without a rule, which collects the gradients of the model's own parameters.

    Args:
        optimizer: whose halves are copied.
        wanted: False: it keeps its halves, is the `model` itself, and there are no pairs.

    Example:
        >>> w = jt.array([0.5], "float16")
        >>> sgd = jt.optim.SGD([w], lr=0.1)
        >>> masters = Masters(sgd)
        >>> sgd.param_groups[0]["params"][0].update(0.75 * jt.ones(1)); masters.publish()
        jt.Var([0.75], dtype=float32)
        >>> w
        jt.Var([0.75], dtype=float16)
    """

    def __init__(self, optimizer: Optimizer, wanted: bool = True) -> None:
        self.optimizer, self.model = optimizer, optimizer
        self.published: list[Node] = []
        if wanted:
            self.model = Optimizer([{"params": [*group["params"]]} for group in optimizer.param_groups])
            self._replace(0)

    def _replace(self, first: int) -> None:
        """Put masters into the groups from this one on; what the optimizer keeps becomes float32, too."""
        for group in self.optimizer.param_groups[first:]:
            group["params"][:] = [_master(p) if p.dtype.is_half else p for p in group["params"]]
        recast(self.optimizer)
        self.published = [p.node for p, _ in self.pairs()]

    def both(self) -> list[tuple[Var, Var]]:
        """(a parameter of the model, what the optimizer moves for it), for all of them."""
        return list(zip(params_of(self.model.param_groups), params_of(self.optimizer.param_groups), strict=True))

    def pairs(self) -> list[tuple[Var, Var]]:
        """The same for those that have a master."""
        return [(p, m) for p, m in self.both() if p is not m]

    def add_group(self) -> None:
        """The optimizer was given one more group of parameters."""
        self.model.add_param_group({"params": [*self.optimizer.param_groups[-1]["params"]]})
        self._replace(-1)

    def begin(self, wide: Mapping[Var, Var]) -> None:
        """Start from what the weights were before they became halves."""
        for p, m in self.pairs():
            m.update(wide.get(p, m))

    def follow(self) -> None:
        """Weights of the model that were changed by hand, or read from a file, become those of the masters."""
        with no_grad():
            for (p, m), node in zip(self.pairs(), self.published, strict=True):
                if p.node is not node:
                    m.update(p.cast("float32").where_not(p == m.cast(p.dtype), m))

    def publish(self) -> None:
        """The masters' numbers become the model's, rounded."""
        pairs = self.pairs()
        with no_grad():
            new = [m.cast(p.dtype) for p, m in pairs]
        sync(new)
        for (p, _), value in zip(pairs, new, strict=True):
            p.update(value)
        self.published = [p.node for p, _ in pairs]

    def save(self, saved: dict[str, Any]) -> dict[str, Any]:
        """A state dict of the optimizer, with the masters beside its states."""
        for number, (p, m) in enumerate(self.both()):
            if p is not m:
                saved["state"][number][SAVED] = m.detach()
        return saved

    def load(self) -> None:
        """Take the masters out of the states that the optimizer has read, if they were saved, and publish them."""
        for (p, m), state in zip(self.both(), self.optimizer.state, strict=True):
            if p is not m and SAVED in state:
                m.update(state.pop(SAVED))
        self.publish()


def _master(p: Var) -> Var:
    m = Var(p.numpy(), "float32")
    m.name, m.requires_grad = p.name, p.requires_grad
    return m


def recast(optimizer: Optimizer) -> None:
    """What an optimizer keeps of a parameter, such as a momentum, gets its dtype."""
    for p, state in zip(params_of(optimizer.param_groups), optimizer.state, strict=True):
        for name, value in state.items():
            if isinstance(value, Var) and value.dtype.is_float and value.dtype is not p.dtype:
                state[name] = Var(value.numpy(), p.dtype).stop_grad()
