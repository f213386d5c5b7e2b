"""Gradcheck: is a gradient right? Change one element a little, compute the loss again, and see by how much it moved.

    dloss / dx[i]  is about  (loss(x[i] + h) - loss(x[i] - h)) / 2h        in float64, with h of some 1e-6 of x[i]

What lies between the leaf and the loss is computed again with float64 instead of every other float; everything else
(other leaves, masks that depend on nothing, random numbers) stays what it was. Where a function has a kink between the
two points (relu at 0) both differ and both are right: `kink` says that the two sides of the element disagree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.base.dtypes import as_dtype, bfloat16, complex128, float64, from_bfloat16
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.meta_ops import CONSTANT, SOURCE, Elementwise
from jt_edu.ir.node import Node, history, inputs_first, needed
from jt_edu.ir.scalar_ops import cast_to
from jt_edu.lens.isolated_run import computed
from jt_edu.variable import autograd
from jt_edu.variable.var import Var

STEP = 1e-6  # of an element, or of 1
KINK = 0.05  # by how much the slopes of two sides differ where there is one
ENOUGH = 32  # elements that are looked at
LOOSE = {"float64": 1e-5, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}  # of the largest gradient


@dataclass(frozen=True)
class Difference:
    """What finite differences say about one gradient; `at` is where it differs most."""

    checked: int
    elements: int
    error: float  # the largest difference
    scale: float  # the largest gradient among those looked at
    at: tuple[int, ...]
    gradient: float  # there
    difference: float  # there
    kink: bool  # there: going up and going down give different slopes
    agrees: bool
    seconds: float
    hooks: tuple[str, ...] = ()  # values on the way whose gradients a hook may change

    @property
    def words(self) -> str:
        """One sentence."""
        where = f"at {list(self.at)}" if self.at else "the number itself"
        part = f"all {self.elements:,}" if self.checked == self.elements else f"{self.checked:,} of {self.elements:,}"
        verdict = "agrees" if self.agrees else "does not agree"
        why = "; the function has a kink there" if self.kink and not self.agrees else ""
        if self.hooks and not self.agrees:
            why += f"; a hook on the gradient of {', '.join(self.hooks)} may change it"
        return (
            f"The gradient {verdict} with finite differences of {part} elements: largest difference {self.error:.3g}, "
            f"{where}: {self.gradient:.6g} here, {self.difference:.6g} by difference{why}."
        )


def difference(loss: Var, leaf: Var, gradient: Any = None, most: int = ENOUGH, seconds: float = 5.0) -> Difference:
    """Compare d loss / d leaf with central differences in float64.

    Args:
        loss: one real number.
        leaf: a Var with real numbers that the loss was computed from.
        gradient: what to compare, as numbers of the leaf's shape; None: `jt.grad(loss, leaf)`.
        most: how many elements to look at; of larger leaves some are drawn, always the same ones.
        seconds: when to stop looking at further ones.

    Example:
        >>> x = jt.array([1.0, 2.0, 3.0])
        >>> d = difference((x * x * x).sum(), x)
        >>> d.agrees, d.checked, round(d.scale)
        (True, 3, 27)
    """
    if not isinstance(loss, Var) or not isinstance(leaf, Var) or loss.size != 1 or leaf.dtype.kind != "f":
        found = f"{getattr(loss, 'shape', type(loss).__name__)}, {getattr(leaf, 'dtype', type(leaf).__name__)}"
        raise ArgumentError("finite differences need a loss of one number, and a leaf of floats", found)
    if gradient is None:
        (answer,) = autograd.gradients(loss, [leaf])
        assert answer is not None, "grad raises where there is none"
        gradient = _numbers(answer.node)
    begin = time.perf_counter()
    slopes = np.asarray(gradient, np.float64).reshape(-1)
    again = _Again(loss.node, leaf.node)
    rows = []
    for k in _elements(leaf.size, most):
        rows.append((k, float(slopes[k]), *again.sides(k)))
        if time.perf_counter() - begin > seconds:
            break
    return replace(_worst(rows, leaf, time.perf_counter() - begin), hooks=_hooked(loss.node))


def _hooked(loss: Node) -> tuple[str, ...]:
    """The values behind a loss whose owners have hooks on their gradients."""
    owners = [(n, n.owner()) for n in history(loss) if n.owner is not None]
    return tuple(n.name or f"#{n.id} {n.op.name}" for n, owner in owners if owner is not None and owner.hooks)


def _elements(size: int, most: int) -> Sequence[int]:
    """Which elements are looked at: all, or some that are spread over the array at random."""
    if size <= most:
        return range(size)
    drawn = np.random.default_rng(0).choice(size, most, replace=False)
    return [int(k) for k in np.sort(drawn)]


def _worst(rows: Sequence[tuple[int, float, float, float]], leaf: Var, seconds: float) -> Difference:
    if not rows:
        return Difference(0, leaf.size, 0.0, 0.0, (), 0.0, 0.0, False, True, seconds)
    errors = [abs(g - (up + down) / 2) for _, g, up, down in rows]
    worst = int(np.argmax([math.inf if math.isnan(e) else e for e in errors]))
    k, gradient, up, down = rows[worst]
    scale = max(*(abs(g) for _, g, _, _ in rows), *(abs(u + d) / 2 for _, _, u, d in rows))
    loose = LOOSE.get(str(leaf.dtype), 1e-3)
    at = tuple(int(i) for i in np.unravel_index(k, leaf.shape)) if leaf.shape else ()
    kink = abs(up - down) > KINK * max(abs(up), abs(down), STEP)
    agrees = errors[worst] <= loose * scale + 1e-7
    return Difference(
        len(rows), leaf.size, errors[worst], scale, at, gradient, (up + down) / 2, kink, agrees, seconds
    )  # fmt: skip


class _Again:
    """The loss as a function of one leaf, in float64."""

    def __init__(self, loss: Node, leaf: Node) -> None:
        self.leaf = Node(SOURCE, (), leaf.shape, float64, np.array(_numbers(leaf), np.float64).reshape(leaf.shape))
        twins: dict[Node, Node] = {leaf: self.leaf}
        order = inputs_first([loss], stop={leaf})
        for node in order:
            if node is not leaf and any(i in twins for i in node.inputs):
                twins[node] = _twin(node, [twins.get(i) or _still(i) for i in node.inputs])
        if loss not in twins:
            raise ArgumentError("finite differences need a loss that was computed from the leaf", f"a leaf {leaf!r}")
        self.loss = twins[loss]
        self.middle = self.value()

    def value(self) -> float:
        """The loss, now."""
        return float(np.asarray(_numbers(self.loss)).reshape(()))

    def sides(self, k: int) -> tuple[float, float]:
        """The slope towards larger values of element k, and towards smaller ones."""
        cells = self.leaf.data.reshape(-1)
        here = float(cells[k])
        h = STEP * max(1.0, abs(here))
        cells[k] = here + h
        up = self.value()
        cells[k] = here - h
        down = self.value()
        cells[k] = here
        return (up - self.middle) / h, (self.middle - down) / h


def _numbers(node: Node) -> Any:
    """The numbers of a node; it stays pending, if it is."""
    found = node.data
    if found is None:
        found = computed(needed([node]), [node])[node]
    found = found if node.op is CONSTANT else np.asarray(found)
    half = node.dtype == bfloat16 and node.op is not CONSTANT
    return from_bfloat16(found) if half else found


def _still(node: Node) -> Node:
    """What does not depend on the leaf: its numbers, as float64 if they are floats."""
    wide = _wide(node)
    if node.op is CONSTANT:
        return node if node.dtype is wide else Node(CONSTANT, (), (), wide, node.data)
    return Node(SOURCE, (), node.shape, wide, np.array(_numbers(node), wide.storage))


def _wide(node: Node) -> Any:
    return {"f": float64, "c": complex128}.get(node.dtype.kind, node.dtype)


def _twin(node: Node, inputs: list[Node]) -> Node:
    """The same operator on wider floats; a cast between floats no longer does anything."""
    wide = _wide(node)
    op = node.op
    if isinstance(op, Elementwise) and op.name.startswith("cast_"):
        if wide is inputs[0].dtype:
            return inputs[0]
        op = cast_to(as_dtype(wide), inputs[0].dtype)
    return Node(op, tuple(inputs), node.shape, wide)
