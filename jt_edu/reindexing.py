"""Reindexing: reading a Var at another index, and accumulating it into another index.

    x.reindex(shape, where)                   out[i, j] = x[where(i, j)]
    x.reindex_reduce("add", shape, where)     out[where(i, j)] += x[i, j]

Each is the gradient of the other: `gather_by` reads where a sum wrote, `scatter_to` sums where a view read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from jt_edu.arithmetic import Arithmetic
from jt_edu.build import cast, check_shape, inverse, source
from jt_edu.dtypes import int64
from jt_edu.errors import ArgumentError, DtypeError
from jt_edu.graph import Node, Shape
from jt_edu.index import Index, as_index, parse
from jt_edu.lookup import check_fill, check_lookup
from jt_edu.meta import Reindex, ReindexReduce, answers, reindex, reindex_reduce
from jt_edu.relay import matrix_product

if TYPE_CHECKING:
    from jt_edu.var import Var


class Reindexing(Arithmetic):
    """The two reindexes of a Var, for learners and for gradients."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the Var brings along
        _node: Node

        @classmethod
        def _of(cls, node: Node) -> Var: ...
        @property
        def node(self) -> Node:
            """The node behind the handle."""

        @property
        def shape(self) -> Shape:
            """Lengths of the axes."""

        @property
        def ndim(self) -> int:
            """How many axes."""

        @property
        def size(self) -> int:
            """How many elements."""

    def reindex(
        self, shape: Sequence[int], where: Any, fill: float = 0, extras: Sequence[Any] = (), valid: Any = None
    ) -> Var:
        """Read from another index: out[i, j, ...] = x[where(i, j, ...)], and `fill` outside of x.

        Args:
            shape: of the result.
            where: a function of as many counters as the result has axes, answering one index per axis of x; or a list
                of Jittor's index strings. `extras` are index arrays, read by `jt.load(k, where)` or "@ek(i0)".
            fill: the value where the index is outside of x, or `valid` (a condition on the counters) is false.

        Example:
            >>> Var([[1, 2], [3, 4]]).reindex((2, 2), lambda i, j: (j, i)).numpy()
            array([[1, 3],
                   [2, 4]])
        """
        size = check_shape(shape)
        index = self._indices("reindex", where, len(size))
        inside = None if valid is None else self._indices("reindex", valid, len(size))[0]
        arrays = [_index_array(e) for e in extras]
        check_lookup("reindex", index, inside, size, arrays)
        op = reindex("reindex", self.shape, size, index, check_fill("reindex", fill, self.dtype), inside)
        return type(self)._of(Node(op, (self._node, *arrays), size, self.dtype))._inherit(self)

    def reindex_reduce(
        self, reducer: str, shape: Sequence[int], where: Any, extras: Sequence[Any] = (), valid: Any = None
    ) -> Var:
        """Accumulate into another index: out[where(i, j, ...)] = reduce(out[...], x[i, j, ...]); outside is dropped.

        Args:
            reducer: "add", "multiply", "maximum", "minimum" or "last" (the last write wins).
            shape, where, extras, valid: as in `reindex`, with the roles of x and the result exchanged.

        Example:
            >>> Var([1, 2, 3]).reindex_reduce("add", (2,), lambda i: (i // 2,)).numpy()
            array([3, 3])
        """
        size = check_shape(shape)
        index = self._indices("reindex_reduce", where, self.ndim)
        inside = None if valid is None else self._indices("reindex_reduce", valid, self.ndim)[0]
        arrays = [_index_array(e) for e in extras]
        check_lookup("reindex_reduce", index, inside, self.shape, arrays)
        if self.dtype.kind == "c" and reducer in ("maximum", "minimum"):
            raise DtypeError(f"{reducer} needs numbers that have an order", f"dtype {self.dtype}", "x.abs()")
        op = reindex_reduce("reindex_reduce", reducer, self.shape, size, index, True, inside)
        return type(self)._of(Node(op, (self._node, *arrays), size, self.dtype))._inherit(self)

    def _inherit(self, other: Reindexing) -> Self:
        """Index arrays take no part in gradients; only the values do."""
        self._node.tracked = self._node.tracked and other._node.tracked
        return self

    def _indices(self, name: str, where: Any, loops: int) -> tuple[Index, ...]:
        if callable(where):
            return answers(where, loops)
        if not isinstance(where, (str, Index, tuple, list)):
            raise ArgumentError(f"{name} takes a function of counters, or a list of index strings", repr(where))
        texts = list(where) if isinstance(where, (tuple, list)) else [where]
        return tuple(parse(t, self.shape) if isinstance(t, str) else as_index(t) for t in texts)

    # the two reindexes as each other's gradient

    def gather_by(self, op: ReindexReduce, shape: Shape, arrays: Sequence[Var] = ()) -> Var:
        """Read where `op` accumulates: the gradient of a sum is a read through the same index."""
        fill = 0 if op.guards or op.valid is not None else None
        back = reindex("gather", self.shape, shape, op.where, fill, op.valid)
        return type(self)._of(Node(back, (self._node, *(a.node for a in arrays)), shape, self.dtype))._inherit(self)

    def scatter_to(self, op: Reindex, shape: Shape, arrays: Sequence[Var] = ()) -> Var:
        """Accumulate where `op` reads: the gradient of a read is a sum through the same index.

        Where no two reads meet (a transpose, a slice, padding), that sum is itself a read, through the inverse index.
        """
        turned = inverse(op, self.shape, shape) if not arrays else None
        if turned is not None:
            inner = self._node.op
            if (
                self._node.data is None
                and isinstance(inner, ReindexReduce)
                and turned.picks
                and self.size == math.prod(shape)
            ):
                return self._turned(inner, turned, shape)
            return type(self)._of(Node(turned, (self._node,), shape, self.dtype))
        guarded = bool(op.guards) or op.fill is not None
        back = reindex_reduce("scatter", "add", self.shape, shape, op.where, guarded, op.valid)
        return type(self)._of(Node(back, (self._node, *(a.node for a in arrays)), shape, self.dtype))._inherit(self)

    def _turned(self, op: ReindexReduce, turned: Reindex, shape: Shape) -> Var:
        """A transposed sum is the sum into the transposed place: no copy, unless BLAS cannot write in that order."""
        back = {w.args[0]: axis for axis, w in enumerate(turned.where) if w.op == "counter"}
        where = tuple(op.where[back[k]] if k in back else as_index(0) for k in range(len(shape)))
        source = self._node.inputs[0]
        placed = reindex_reduce(op.name, op.reducer, source.shape, shape, where, bool(op.guards), op.valid)
        again = Node(placed, self._node.inputs, shape, self.dtype)
        if matrix_product(again) is None and matrix_product(self._node) is not None:
            return type(self)._of(Node(turned, (self._node,), shape, self.dtype))
        return type(self)._of(again)

    def reduce_as(self, op: ReindexReduce, arrays: Sequence[Var] = (), reducer: str = "") -> Var:
        """Accumulate this Var by the index of `op`, with its own or another reducer; extrema count by adding."""
        how = reducer or (op.reducer if op.reducer in ("multiply", "last") else "add")
        again = reindex_reduce("scatter", how, self.shape, op.shape, op.where, bool(op.guards), op.valid)
        return type(self)._of(Node(again, (self._node, *(a.node for a in arrays)), op.shape, self.dtype))._inherit(self)


def _index_array(value: Any) -> Node:
    node = value.node if isinstance(value, Reindexing) else source(value)
    return cast(node, int64) if node.dtype.kind in "iu" else node
