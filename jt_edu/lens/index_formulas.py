"""Index formulas: where a reindex reads and a sum writes, as a learner would write it down.

    permute        dx[j, i] = dout[i, j]                 broadcast    dx[j] = sum over i of dout[i, j]
    x[1:3]         dx[i + 1, j] += dout[i, j]            sum          dx[i, j] = dout[i]
    matmul         dx = dout @ y.T,  dy = x.T @ dout     einsum       dx[i, k] = sum over j of dout[i, j] * y[k, j]

    conv2d         dx: dout[n, o, i, j] times y[o] is added to the window of x that place (i, j) sees

Everything is read off the index maps of the operators, and nothing off their names: a sum of products whose maps only
pick counters is a contraction, and the gradient of each factor is the sum of dout times the other over all counters
that this factor does not have. Of a convolution, whose maps would be long, words say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.index_expr import Index, render
from jt_edu.ir.meta_ops import Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY

LETTERS = "ijklmnpqrstuvw"  # no o, which looks like a zero
ROLES = ("image", "weights", "places")  # the arrays of a convolution
LONGEST = 40  # letters of an index that is written out
SOMEWHERE = "where(i) is the place in {} that element i of {} belongs to"
Picks = tuple[int | None, ...]  # for each axis the counter that it is; None: it is at 0
Speller = Callable[[int], str]


@dataclass(frozen=True)
class Contraction:
    """A sum of products: out[...] = sum of x[...] * y[...]; each array has one counter for each of its axes."""

    product: Node
    factors: tuple[Node, Node]  # the broadcasts that the product reads
    picks: tuple[Picks, Picks]
    out: Picks
    real: bool

    def rule(self, side: int) -> str:
        """The gradient of one of the two factors."""
        mine, other = self.picks[side], self.picks[1 - side]
        name, factor = ("x", "y") if side == 0 else ("y", "x")
        if not self.real:
            factor += ".conj()"
        matrices = self._matrices(side, factor)
        if matrices:
            return f"d{name} = {matrices}"
        spell = _speller([*self.out, *self.picks[0], *self.picks[1]])
        over = _over([spell(k) for k in dict.fromkeys([*self.out, *other]) if k is not None and k not in mine])
        return f"{_at(f'd{name}', mine, spell)} = {over}{_at('dout', self.out, spell)} * {_at(factor, other, spell)}"

    def _matrices(self, side: int, factor: str) -> str:
        """As a product of matrices, if the forward pass is one: (..., i, k) @ (..., k, j)."""
        (x, y), out = self.picks, self.out
        whole = len(x) == len(y) == len(out) >= 2 and None not in (*x, *y, *out)
        if not whole or not x[:-2] == y[:-2] == out[:-2] or (x[-2], x[-1], y[-1]) != (out[-2], y[-2], out[-1]):
            return ""
        turned = f"{factor}.T" if len(out) == 2 else f"{factor}.transpose(-1, -2)"
        return f"dout @ {turned}" if side == 0 else f"{turned} @ dout"


@dataclass(frozen=True)
class Sliding:
    """A convolution, or what is one of its gradients: image, weights and places, of which two are multiplied."""

    product: Node
    factors: tuple[Node, Node]  # the views that the product reads
    roles: tuple[str, str]  # of the factors: "image", "weights" or "places"
    ways: int  # directions in which windows move

    def rule(self, side: int) -> str:
        """The gradient of one of the two factors, in words."""
        mine, other = self.roles[side], self.roles[1 - side]
        name, factor = ("x", "y") if side == 0 else ("y", "x")
        asked = next(role for role in ROLES if role not in self.roles)
        called = {mine: name, other: factor, asked: "dout"}
        at = ", ".join("ijk"[: self.ways])
        window = f"the window of {called['image']} that place ({at}) sees"
        if mine == "image":
            return f"d{name}: {called['places']}[n, o, {at}] times {called['weights']}[o] is added to {window}"
        if mine == "weights":
            return f"d{name}[o]: the sum over n, {at} of {called['places']}[n, o, {at}] times {window}"
        return f"d{name}[n, o, {at}]: the sum of {called['weights']}[o] times {window}"


def sliding(node: Node) -> Sliding | None:
    """The convolution that a node is, or None."""
    found = convolution(node) if node.data is None else None
    if found is None:
        return None
    product = node.inputs[0]
    x, y = product.inputs
    asked = {"forward": "places", "by_image": "image", "by_weights": "weights"}[found.sizes.kind]
    first, second = (role for role in ("image", "places", "weights") if role != asked)
    behind = x
    while behind is not found.sides[0] and behind.data is None and behind.inputs:
        behind = behind.inputs[0]
    roles = (first, second) if behind is found.sides[0] else (second, first)
    return Sliding(product, (x, y), roles, len(node.shape) - 2)


def contraction(node: Node) -> Contraction | Sliding | None:
    """The contraction that a node is, or None."""
    op = node.op
    if node.data is not None or not isinstance(op, ReindexReduce) or op.reducer != "add":
        return None
    product = node.inputs[0]
    factors = product.inputs
    if product.data is not None or product.op is not MULTIPLY:
        return None
    if op.kept is None or not all(map(_is_broadcast, factors)):
        return sliding(node)
    left, right = (_picks(f.op.where) for f in factors if isinstance(f.op, Reindex))
    return Contraction(product, (factors[0], factors[1]), (left, right), _picks(op.where), node.dtype.kind != "c")


def _is_broadcast(node: Node) -> bool:
    """Whether a node is a view that repeats another, all of it, and shows each element at least once."""
    op = node.op
    return (
        node.data is None and isinstance(op, Reindex) and len(node.inputs) == 1 and _repeats(op, node.inputs[0].shape)
    )


def _repeats(op: Reindex, shape: Shape) -> bool:
    picked = [k for k in _picks(op.where) if k is not None]
    full = all(n == (1 if k is None else op.shape[k]) for k, n in zip(_picks(op.where), shape, strict=True))
    return op.picks and full and len(set(picked)) == len(picked) and not op.guards and op.valid is None


def _picks(where: Sequence[Index]) -> Picks:
    return tuple(w.args[0] if w.op == "counter" else None for w in where)


def read_rule(op: Reindex, shape: Shape) -> str:
    """The gradient of out[i] = x[where(i)], for an x of this shape."""
    if op.flat:
        return "dx = dout.reshape(x.shape)"
    counters: Picks = tuple(range(len(op.shape)))
    spell, where = _speller(counters), _written(op.where, _speller(counters))
    if op.where and not where:
        return f"dx[where(i)] += dout[i]; {SOMEWHERE.format('x', 'the result')}"
    there, here = f"dx[{where}]" if where else "dx", _at("dout", counters, spell)
    if not _repeats(op, shape):
        dropped = "; what lies outside x is dropped" if op.guards or op.valid is not None else ""
        return f"{there} += {here}{dropped}"
    if _picks(op.where) == counters[::-1] and len(shape) == 2:
        return "dx = dout.T"
    summed = [spell(k) for k in counters if k is not None and k not in _picks(op.where)]
    return f"{there} = {_over(summed)}{here}"


def sum_rule(op: ReindexReduce, rank: int) -> str:
    """The gradient of out[where(i)] += x[i]."""
    counters: Picks = tuple(range(rank))
    spell = _speller(counters)
    where = _written(op.where, spell)
    if not where and op.where:
        return f"dx[i] = dout[where(i)]; {SOMEWHERE.format('the result', 'x')}"
    return f"{_at('dx', counters, spell)} = {f'dout[{where}]' if op.where else 'dout'}"


def _speller(order: Sequence[int | None]) -> Speller:
    """A letter for each counter, in the order in which they come up."""
    known = {
        k: LETTERS[n] if n < len(LETTERS) else f"i{n}"
        for n, k in enumerate(dict.fromkeys(k for k in order if k is not None))
    }
    return lambda k: known.get(k, f"i{k}")


def _at(name: str, picks: Picks, spell: Speller) -> str:
    """`name` at these counters."""
    return f"{name}[{', '.join('0' if k is None else spell(k) for k in picks)}]" if picks else name


def _over(summed: Sequence[str]) -> str:
    return f"sum over {', '.join(summed)} of " if summed else ""


def _written(where: Sequence[Index], spell: Speller) -> str:
    """An index as text; nothing if it is too long to be read."""
    text = ", ".join(render(w, spell, lambda s: str(s.args[0]), lambda e: _element(e, spell)) for w in where)
    return text if len(text) <= LONGEST else ""


def _element(index: Index, spell: Speller) -> str:
    """An element of an index array."""
    if index.op != "load":
        return _element(index.args[0], spell) if isinstance(index.args[0], Index) else "..."
    return f"index[{_written(index.args[1], spell)}]"
