"""Operators: what one writes with Vars. Each operator builds one node.

    x * y, x < y, -x                          a row of the table in ir/scalar_ops.py
    x.reindex(shape, where)                   out[i, j] = x[where(i, j)]
    x.reindex_reduce("add", shape, where)     out[where(i, j)] += x[i, j]

`x += y` moves the handle x to the sum (`become`); the old value stays what it was, for whoever still reads it. The two
reindexes are each other's gradient: `gather_by` reads where a sum wrote, `scatter_to` sums where a view read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from jt_edu.base.dtypes import DType, contracted, int64
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import cast, check_shape, filled, inverse, source
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.index_check import check_fill, check_lookup
from jt_edu.ir.index_expr import Index, as_index, parse
from jt_edu.ir.matmul_pattern import matrix_product
from jt_edu.ir.meta_ops import COUNTERS, Elementwise, Reindex, ReindexReduce, answers, reindex, reindex_reduce
from jt_edu.ir.node import Node, Shape

if TYPE_CHECKING:
    from jt_edu.variable.var import Var


Operator = Callable[[Any, Any], "Var"]


def _of_two(op: Elementwise) -> tuple[Operator, Operator, Operator]:
    """What `x * y` does; `2 * x`, where only the right side is a Var; and `x *= y`."""

    def left(self: Any, other: Any) -> Any:
        try:
            return self.apply(op, other)
        except DtypeError:
            if getattr(other, "__array_ufunc__", self) is None:  # NumPy's word for "ask me": a sparse tensor
                return NotImplemented
            raise

    def right(self: Any, other: Any) -> Var:
        return self.beside(other).apply(op, self)  # type: ignore[no-any-return]

    def in_place(self: Any, other: Any) -> Var:
        return self.become(self.apply(op, other))  # type: ignore[no-any-return]

    return left, right, in_place


class Arithmetic:
    """Operators and reindexes, for learners and for gradients; `apply`, `become` and `beside` are the Var's own."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the Var brings along
        _node: Node

        @classmethod
        def _of(cls, node: Node) -> Var: ...
        @property
        def node(self) -> Node:
            """The node behind the handle."""

        def apply(self, op: Elementwise, *others: Any) -> Var:
            """`op` at each index."""

        def become(self, other: Var) -> Var:
            """Point this handle to another value."""

        def beside(self, value: Any) -> Var:
            """A number or an array as a Var that stands beside this one."""

        def __pow__(self, other: Any) -> Var: ...

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self._node.shape

    @property
    def dtype(self) -> DType:
        """Kind of number."""
        return self._node.dtype

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self._node.shape)

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self._node.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.size

    __add__, __radd__, __iadd__ = _of_two(f.ADD)
    __sub__, __rsub__, __isub__ = _of_two(f.SUBTRACT)
    __mul__, __rmul__, __imul__ = _of_two(f.MULTIPLY)
    __truediv__, __rtruediv__, __itruediv__ = _of_two(f.DIVIDE)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _of_two(f.FLOOR_DIVIDE)
    __mod__, __rmod__, __imod__ = _of_two(f.REMAINDER)
    __and__, __rand__, __iand__ = _of_two(f.BITWISE_AND)
    __or__, __ror__, __ior__ = _of_two(f.BITWISE_OR)
    __xor__, __rxor__, __ixor__ = _of_two(f.BITWISE_XOR)
    __lshift__, __rlshift__, __ilshift__ = _of_two(f.LEFT_SHIFT)
    __rshift__, __rrshift__, __irshift__ = _of_two(f.RIGHT_SHIFT)
    __lt__, __le__, __gt__, __ge__ = (_of_two(op)[0] for op in (f.LESS, f.LESS_EQUAL, f.GREATER, f.GREATER_EQUAL))

    def __eq__(self, other: object) -> Var:  # type: ignore[override]  # None is no number: Python says what is None
        return NotImplemented if other is None else self.apply(f.EQUAL, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        return NotImplemented if other is None else self.apply(f.NOT_EQUAL, other)

    def __neg__(self) -> Var:
        return self.apply(f.NEGATIVE)

    def __abs__(self) -> Var:
        return self.apply(f.ABSOLUTE)

    def __invert__(self) -> Var:
        return self.apply(f.INVERT)

    def __ipow__(self, other: Any) -> Self:
        return self.become(self**other)  # type: ignore[return-value]

    def __divmod__(self, other: Any) -> tuple[Var, Var]:
        return self // other, self % other

    def __round__(self, digits: int = 0) -> Var:
        scale = 10.0**digits
        return self.apply(f.ROUND) if digits == 0 else (self * scale).apply(f.ROUND) / scale

    def __pos__(self) -> Self:
        return self

    __hash__ = object.__hash__

    def reindex(
        self, shape: Sequence[int], where: Any = None, fill: float = 0, extras: Sequence[Any] = (), valid: Any = None
    ) -> Var:
        """Read from another index: out[i, j, ...] = x[where(i, j, ...)], and `fill` outside x.

        Args:
            shape: of the result.
            where: a function of as many counters as the result has axes, answering one index per axis of x; or a list
                of Jittor's index strings. `extras` are index arrays, read by `jt.load(k, where)` or "@ek(i0)".
            fill: the value where the index is outside x, or `valid` (a condition on the counters) is false.

        With nothing but a list of Vars, these hold the indices, one for each axis of x: `x.reindex_var`.

        Example:
            >>> Var([[1, 2], [3, 4]]).reindex((2, 2), lambda i, j: (j, i)).numpy()
            array([[1, 3],
                   [2, 4]])
        """
        if where is None:
            return self.reindex_var(shape, fill)  # type: ignore[attr-defined, no-any-return]  # jittor_operators.py
        size = check_shape(shape)
        index = self._indices("reindex", where, len(size))
        inside = None if valid is None else self._indices("reindex", valid, len(size))[0]
        arrays = [_index_array(e) for e in extras]
        check_lookup("reindex", self.shape, index, inside, size, arrays)
        op = reindex("reindex", self.shape, size, index, check_fill("reindex", fill, self.dtype), inside)
        return type(self)._of(Node(op, (self._node, *arrays), size, self.dtype))

    def reindex_reduce(
        self, reducer: str, shape: Sequence[int], where: Any, extras: Sequence[Any] = (), valid: Any = None
    ) -> Var:
        """Accumulate into another index: out[where(i, j, ...)] = reduce(out[...], x[i, j, ...]); outside is dropped.

        Args:
            reducer: "add", "multiply", "maximum", "minimum" or "last" (the last write wins).
            shape, where, extras, valid: as in `reindex`, with the roles of x and the result exchanged.

        Whole numbers that are added become int32 or 64 bits, as in every sum of products (`contracted`).

        Example:
            >>> Var([1, 2, 3]).reindex_reduce("add", (2,), lambda i: (i // 2,)).numpy()
            array([3, 3])
        """
        size = check_shape(shape)
        index = self._indices("reindex_reduce", where, self.ndim)
        inside = None if valid is None else self._indices("reindex_reduce", valid, self.ndim)[0]
        arrays = [_index_array(e) for e in extras]
        check_lookup("reindex_reduce", size, index, inside, self.shape, arrays)
        if self.dtype.kind == "c" and reducer in ("maximum", "minimum"):
            raise DtypeError(f"{reducer} needs numbers that have an order", f"dtype {self.dtype}", "x.abs()")
        op = reindex_reduce("reindex_reduce", reducer, self.shape, size, index, True, inside)
        node = cast(self._node, contracted(self.dtype)) if reducer == "add" else self._node
        return type(self)._of(Node(op, (node, *arrays), size, node.dtype))

    def _indices(self, name: str, where: Any, loops: int) -> tuple[Index, ...]:
        if callable(where):
            return answers(where, loops)
        if not isinstance(where, (str, Index, tuple, list)):
            raise ArgumentError(f"{name} takes a function of counters, or a list of index strings", repr(where))
        texts = list(where) if isinstance(where, (tuple, list)) else [where]
        return tuple(parse(t, self.shape) if isinstance(t, str) else as_index(t) for t in texts)

    # for gradient rules

    def zeros_like(self) -> Var:
        """Zeros of the same shape and dtype."""
        return type(self)._of(filled(self.shape, 0, self.dtype))

    def ones_like(self) -> Var:
        """Ones of the same shape and dtype."""
        return type(self)._of(filled(self.shape, 1, self.dtype))

    def position_numbers(self) -> Var:
        """Row-major numbers of the elements, as int64."""
        return type(self)._of(Node(COUNTERS[0], (), (self.size,), int64)).reshape(self.shape)

    def gather_by(self, op: ReindexReduce, shape: Shape, arrays: Sequence[Var] = ()) -> Var:
        """Read where `op` accumulates: the gradient of a sum is a read through the same index."""
        fill = 0 if op.guards or op.valid is not None else None
        back = reindex("gather", self.shape, shape, op.where, fill, op.valid)
        return type(self)._of(Node(back, (self._node, *(a.node for a in arrays)), shape, self.dtype))

    def is_what(self, op: ReindexReduce, arrays: Sequence[Var] = ()) -> Var:
        """Whether each number is what `op` makes of those that go where it goes: the largest, say, or a nan.

        That is asked of these very numbers. What was made of them before they were computed again may differ.
        """
        reach = f.AT_LEAST if op.reducer == "maximum" else f.AT_MOST
        return self.apply(reach, self.reduce_as(op, arrays, op.reducer).gather_by(op, self.shape, arrays))

    def scatter_to(self, op: Reindex, shape: Shape, arrays: Sequence[Var] = ()) -> Var:
        """Accumulate where `op` reads: the gradient of a read is a sum through the same index.

        Where no two reads meet (a transpose, a slice, padding), that sum is itself a read, through the inverse index.
        """
        turned = inverse(op, self.shape, shape) if not arrays else None
        if turned is not None:
            inner, pending = self._node.op, self._node.data is None
            if pending and isinstance(inner, ReindexReduce) and turned.picks and self.size == math.prod(shape):
                return self._turned(inner, turned, shape)
            return type(self)._of(Node(turned, (self._node,), shape, self.dtype))
        rest = ("add", self.shape, shape, op.where, bool(op.guards) or op.fill is not None, op.valid)
        back = reindex_reduce("scatter", *rest)
        if self._node.op is f.MULTIPLY:  # the gradient of a contraction is a contraction
            known = (("matmul", matrix_product), ("convolution", convolution))
            name = next((name for name, is_one in known if is_one(self._node, back) is not None), "scatter")
            back = reindex_reduce(name, *rest)
        return type(self)._of(Node(back, (self._node, *(a.node for a in arrays)), shape, self.dtype))

    def _turned(self, op: ReindexReduce, turned: Reindex, shape: Shape) -> Var:
        """A transposed sum is the sum into the transposed place: no copy, unless BLAS cannot write in that order."""
        back = {w.args[0]: axis for axis, w in enumerate(turned.where) if w.op == "counter"}
        where = tuple(op.where[back[k]] if k in back else as_index(0) for k in range(len(shape)))
        summed = self._node.inputs[0]
        placed = reindex_reduce(op.name, op.reducer, summed.shape, shape, where, bool(op.guards), op.valid)
        again = Node(placed, self._node.inputs, shape, self.dtype)
        if matrix_product(again) is None and matrix_product(self._node) is not None:
            return type(self)._of(Node(turned, (self._node,), shape, self.dtype))
        return type(self)._of(again)

    def reduce_as(self, op: ReindexReduce, arrays: Sequence[Var] = (), reducer: str = "") -> Var:
        """Accumulate this Var by the index of `op`, with its own or another reducer; extrema count by adding."""
        how = reducer or (op.reducer if op.reducer in ("multiply", "last") else "add")
        again = reindex_reduce("scatter", how, self.shape, op.shape, op.where, bool(op.guards), op.valid)
        return type(self)._of(Node(again, (self._node, *(a.node for a in arrays)), op.shape, self.dtype))


def _index_array(value: Any) -> Node:
    node = value.node if isinstance(value, Arithmetic) else source(value)
    return cast(node, int64) if node.dtype.kind in "iu" else node
