"""Memory stats: how much memory is in use, and what for."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jt_edu.base.allocator import pool
from jt_edu.base.own import own
from jt_edu.ir.node import Node
from jt_edu.nn.module import Module
from jt_edu.optim.base import Optimizer
from jt_edu.variable.storage import Storage, stored
from jt_edu.variable.var import Var

KINDS = ("weights", "optimizer", "gradients", "saved", "other")  # the first that fits counts


@dataclass(frozen=True)
class MemoryStats:
    """Bytes by what they are for, and what the allocator has lent and kept; `memory_stats` says how it counts.

    Example:
        >>> stats = memory_stats()
        >>> stats.total == stats.weights + stats.optimizer + stats.gradients + stats.saved + stats.other
        True
    """

    weights: int
    optimizer: int
    gradients: int
    saved: int
    other: int
    in_use: int  # bytes of large buffers that something refers to
    kept: int  # bytes of large buffers that wait to be lent again
    reused: int  # how often a buffer was lent again
    made: int

    @property
    def total(self) -> int:
        """Bytes of all kinds."""
        return sum(getattr(self, kind) for kind in KINDS)

    def __repr__(self) -> str:
        rows = [f"{kind:<10}{getattr(self, kind):>16,}" for kind in (*KINDS, "total")]
        return "\n".join([*rows, f"{'in buffers':<10}{self.in_use:>16,}, and {self.kept:,} kept to be lent again"])


def memory_stats() -> MemoryStats:
    """How many bytes are in use, and what for.

    The counting rule: looked at are all arrays of Vars and of graphs that are alive in this process, after garbage was
    collected. Each memory is counted once, with the bytes of the longest array in it, and for the first kind that fits:

        weights      parameters of modules, and Vars that an optimizer moves
        optimizer    what optimizers keep from step to step
        gradients    in the `.grad` of a Var
        saved        what a graph reads that has not run yet, or that a gradient can still be taken through: in other
                     frameworks "saved for backward", or activations
        other        everything else: what your Vars hold

    What is pending has no memory, and a number of the graph (`jt.zeros(...)` before it is stored) needs none.

    Returns:
        MemoryStats. `in_use`, `kept`, `reused` and `made` are about the buffers of 64 kB and more alone, whoever has
        them: arrays of yours that `x.numpy()` gave you are among them.

    Example:
        >>> layer = jt.nn.Linear(1000, 500)
        >>> before = jt.memory_stats().weights
        >>> jt.sync(layer.parameters())
        >>> jt.memory_stats().weights - before
        2002000
    """
    gc.collect()
    known = _kinds([o for o in gc.get_objects() if issubclass(type(o), (Node, Var, Module, Optimizer))])
    places: dict[int, tuple[int, int]] = {}  # where a memory begins -> (kind, bytes)
    for node in stored():
        begin = Storage(node.data).data_ptr
        kind, size = places.get(begin, (KINDS.index("other"), 0))
        places[begin] = (min(kind, known.get(node, kind)), max(size, node.data.nbytes))
    sizes = {name: sum(size for k, size in places.values() if k == number) for number, name in enumerate(KINDS)}
    b = pool.buffers.stats()
    return MemoryStats(**sizes, in_use=b.in_use, kept=b.kept, reused=b.reused, made=b.made)


def _kinds(objects: list[Any]) -> dict[Node, int]:
    """The number of the first kind that fits, for each node that has one of the first four."""
    found: dict[Node, int] = {}
    for number, nodes in enumerate((_weights, _states, _gradients, _read)):
        for node in nodes(objects):
            found.setdefault(node, number)
    return found


def _weights(objects: list[Any]) -> Iterator[Node]:
    for one in objects:
        if isinstance(one, Module) and not type(one)._waits:
            yield from (p.node for p in own(one).parameters(recurse=False))
        elif isinstance(one, Optimizer):
            yield from (p.node for group in one.param_groups for p in group["params"])


def _states(objects: list[Any]) -> Iterator[Node]:
    states = (state for one in objects if isinstance(one, Optimizer) for state in one.state)
    return (value.node for state in states for value in state.values() if isinstance(value, Var))


def _gradients(objects: list[Any]) -> Iterator[Node]:
    return (one.grad.node for one in objects if isinstance(one, Var) and one.grad is not None)


def _read(objects: list[Any]) -> Iterator[Node]:
    return (i for one in objects if type(one) is Node for i in one.behind)  # a folded copy reads what it was made from
