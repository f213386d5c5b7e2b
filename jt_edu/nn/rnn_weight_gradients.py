"""RNN weight gradients: how is a gradient that is a sum over all moments of a sequence computed at once?

What is used at every moment gets a part of its gradient from each, and autograd adds them up one by one. Of a weight,
each part is a product of thin matrices; of an array that is cut into pieces, each part is 0 except for one of them:

    dweight = dpast[0].T @ x[0] + dpast[1].T @ x[1] + ...  = (dpast[0], dpast[1], ...).T @ (x[0], x[1], ...)
    dnow    = (dpast[0], 0, 0, ...) + (0, dpast[1], 0, ...) + ...  = (dpast[0], dpast[1], ...)

So a view stands in front of both that changes nothing, and whose gradient looks at the sum that it is handed: where it
is one of these two, it returns the right side. That is a graph as well, so there is a second gradient; the sum is
never run. What stands beside each other is the same for both, and put there once.

A weight (out, in) is multiplied as (in, out). A small one is best stored so where there are many moments
(`ir/matmul_pattern.py`): `turned` is told how many.

Nothing here knows what is done at a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from jt_edu.base.context import current
from jt_edu.ir.builders import inverse
from jt_edu.ir.index_expr import Index, counter, counters, size
from jt_edu.ir.matmul_pattern import Product, Turned, matrix_product
from jt_edu.ir.meta_ops import Code, Reindex, ReindexReduce, Rules, reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import ADD
from jt_edu.ops.concat import stack
from jt_edu.ops.concat_copy import slabs
from jt_edu.ops.view import view
from jt_edu.variable.var import Var

Views = tuple[Reindex, ...]
OFTEN = 8  # products that make it worth turning a small weight
Rule = Callable[[list[Node]], Var | None]  # the terms of a sum -> the sum at once, if the rule knows how


@dataclass(frozen=True, eq=False)
class Whole(Reindex):
    """The same array; `rule` has a look at its gradient, if that is a sum."""

    rule: Rule = lambda terms: None

    @property
    def gradients(self) -> Rules:  # type: ignore[override]
        """The gradient itself, maybe written in another way."""
        return (self._whole,)

    def _whole(self, out: Var, dout: Var, x: Var) -> Any:
        terms = _terms(dout.node)
        answer = self.rule(terms) if all(n.data is None for n in terms) else None  # what has run has no history
        return self._gradient(out, dout, x) if answer is None else answer


@dataclass(frozen=True, eq=False)
class _WholeTurned(Whole, Turned):
    """The same of a matrix whose axes are swapped."""


def spread(bias: Var) -> Var:
    """A bias (h,) that is added at every moment: the gradient is one sum over all moments.

    Example:
        >>> b = jt.array([1.0, 2.0])
        >>> u = spread(b)
        >>> jt.grad(((jt.zeros(3, 2) + u) * 2 + (jt.ones(3, 2) + u)).sum(), b).tolist()
        [9.0, 9.0]
    """
    return view(bias, _spread(bias.shape))


def turned(weight: Var, uses: int = OFTEN) -> Var:
    """A weight (out, in) as (in, out), for so many products; the gradient is one product of all moments.

    Example:
        >>> turned(jt.array([[2.0, 3.0]])).numpy()
        array([[2.],
               [3.]], dtype=float32)
    """
    return view(weight, _turned(weight.shape, uses >= OFTEN))


def moments(x: Var, count: int = 1) -> list[tuple[Var, ...]]:
    """x[0], x[1], ... of x (t, n, count * h), each as `gates`.

    Example:
        >>> [[part.tolist() for part in parts] for parts in moments(jt.array([[1.0, 2.0], [3.0, 4.0]]), 2)]
        [[[1.0], [2.0]], [[3.0], [4.0]]]
    """
    whole, views = _moments(x.shape, count)
    same = view(x, whole)
    return [tuple([view(same, v) for v in row]) for row in views]


def gates(x: Var, count: int) -> tuple[Var, ...]:
    """x (n, count * h) as `count` parts (n, h), whose gradients are put beside each other, and not added up.

    Example:
        >>> [part.numpy() for part in gates(jt.array([1.0, 2.0]), 2)]
        [array([1.], dtype=float32), array([2.], dtype=float32)]
    """
    if count == 1:
        return (x,)
    whole, views = _gates(x.shape, count)
    same = view(x, whole)
    return tuple([view(same, v) for v in views])


# ------------------------------------------------------------------------------------------------------------- views


@lru_cache(maxsize=1 << 10)
def _spread(shape: Shape) -> Whole:
    return Whole("same", shape, counters(len(shape)), flat=True, rule=_one_sum)


@lru_cache(maxsize=1 << 10)
def _turned(shape: Shape, often: bool) -> _WholeTurned:
    swapped = (counter(1), counter(0))
    return _WholeTurned("transpose", shape[::-1], swapped, often=often, rule=lambda terms: _one_product(terms, shape))


@lru_cache(maxsize=1 << 10)
def _moments(shape: Shape, count: int) -> tuple[Whole, list[Views]]:
    """The whole, and the parts of x[t] for each t."""
    part = (*shape[1:-1], shape[-1] // count)
    views = [
        tuple(reindex("moment", shape, part, (size(t), *where)) for where in _sides(shape[1:], count))
        for t in range(shape[0])
    ]

    def join(nodes: list[Node]) -> Var:
        rows = [nodes[k : k + count] for k in range(0, len(nodes), count)]
        return _stacked([_beside(row, shape[1:]).node for row in rows], shape[1:])

    return _cut(shape, [v for row in views for v in row], join), views


@lru_cache(maxsize=1 << 10)
def _gates(shape: Shape, count: int) -> tuple[Whole, Views]:
    """The whole, and its parts along the last axis."""
    part = (*shape[:-1], shape[-1] // count)
    views = tuple(reindex("gate", shape, part, where) for where in _sides(shape, count))
    return _cut(shape, views, lambda nodes: _beside(nodes, shape)), views


def _sides(shape: Shape, count: int) -> list[tuple[Index, ...]]:
    """Where each of `count` parts along the last axis is read."""
    *outer, last = counters(len(shape))
    starts = [k * (shape[-1] // count) for k in range(count)]
    return [(*outer, last + size(k) if k else last) for k in starts]


def _cut(shape: Shape, views: Sequence[Reindex], join: Callable[[list[Node]], Var]) -> Whole:
    """The whole of all these views: gradients of all of them are joined."""
    places = {inverse(v, v.shape, shape): k for k, v in enumerate(views)}  # what writes a part into zeros -> which part

    def joined(terms: list[Node]) -> Var | None:
        found = {places[n.op]: n.inputs[0] for n in terms if n.op in places}
        return join([found[k] for k in range(len(views))]) if len(terms) == len(found) == len(views) else None

    return Whole("same", shape, counters(len(shape)), flat=True, rule=joined)


# -------------------------------------------------------------------------------------------------------------- sums


def _terms(total: Node) -> list[Node]:
    """What was added up, the last first."""
    found, waiting = [], [total]
    while waiting:
        node = waiting.pop()
        if node.op is ADD and node.data is None:
            waiting.extend(node.inputs)
        else:
            found.append(node)
    return found


def _one_product(terms: list[Node], shape: Shape) -> Var | None:
    """The transpose of a sum of products of all moments, as one product whose sum is longer."""
    products = [matrix_product(n) for n in terms]
    first = products[0]
    if first is None or not all(p is not None and _alike(p, first) for p in products):
        return None
    rows, columns = first.rows, first.columns
    left = _stacked([p.left.node for p in products if p is not None], (first.summed, rows)).reshape(-1, rows)
    right = _stacked([p.right.node for p in products if p is not None], (first.summed, columns)).reshape(-1, columns)
    return (right.transpose(0, 1) @ left).reshape(shape)


def _one_sum(terms: list[Node]) -> Var | None:
    """The sum of sums over the rows of all moments, as one."""
    op, parts = terms[0].op, [n.inputs[0] for n in terms if isinstance(n.op, ReindexReduce) and n.data is None]
    if len(terms) == 1 or len(parts) < len(terms) or any(n.op is not op for n in terms):
        return None
    assert isinstance(op, ReindexReduce), "all of them are"
    if op.reducer != "add" or op.kept != (1,) or len(parts[0].shape) != 2:
        return None
    return _stacked(parts, parts[0].shape).sum((0, 1))


def _alike(p: Product, first: Product) -> bool:
    """Whether the product sums over the rows of both sides, as many as in the first product."""
    sizes = (p.rows, p.columns, p.summed) == (first.rows, first.columns, first.summed)
    return sizes and p.left.transposed and not p.left.batched and not p.right.transposed


def _stacked(nodes: Sequence[Node], shape: Shape) -> Var:
    """Arrays along a new axis, each under this shape."""
    if len(nodes) == 1:
        return Var._of(nodes[0]).reshape(1, *shape)

    def join(parts: list[Var]) -> Var:
        return stack([v if v.shape == shape else v.reshape(shape) for v in parts])

    return _once("stack", shape, nodes, join)


def _beside(nodes: Sequence[Node], shape: Shape) -> Var:
    """Arrays behind each other along the last axis."""
    if len(nodes) == 1:
        return Var._of(nodes[0])
    return _once("gates", shape, nodes, lambda parts: slabs(parts, len(shape) - 1, shape))


def _once(name: str, shape: Shape, nodes: Sequence[Node], join: Callable[[list[Var]], Var]) -> Var:
    """The joined arrays; the same arrays a second time are the same node."""
    context = current()
    known: Any = context.rank_state.setdefault("moments", WeakValueDictionary())
    key = (context.no_grad, name, shape, *map(_meaning, nodes))
    found = known.get(key)
    if found is None:
        found = known[key] = join([Var._of(n) for n in nodes]).node
    return Var._of(found)


def _meaning(node: Node) -> Any:
    """What two nodes have in common that put the same arrays together in the same way."""
    if node.data is None and (node.op is ADD or isinstance(node.op, (Reindex, Code))):
        return (node.op, *map(_meaning, node.inputs))
    return node.id
