"""Builders: nodes from values and from other nodes, with shapes and dtypes checked where the learner wrote them.

    source      an array, a list or a number becomes a leaf
    elementwise inputs are broadcast to one shape: NumPy's rule, in `broadcast_shape`
    cast        another dtype

Everything here makes Nodes; `variable/var.py` wraps them for the learner.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.base.allocator import no_room, pool
from jt_edu.base.context import current
from jt_edu.base.dtypes import DTYPES, PYTHON, DType, as_dtype, bfloat16, float32, plain, promote, promote_number
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.base.hints import NOTHING, aligned
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.expression import reshaped
from jt_edu.ir.index_expr import Index, as_index, counter, counters
from jt_edu.ir.meta_ops import CONSTANT, COUNTERS, SOURCE, Elementwise, Reindex, reindex
from jt_edu.ir.node import Node, Shape

NUMBERS = (bool, int, float, complex)
PYTHON_KIND: dict[str, Callable[[Any], Any]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def check_shape(shape: Any) -> Shape:
    """A shape as a tuple of whole numbers, none negative."""
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        lengths = tuple(operator.index(n) for n in parts)
    except TypeError:
        raise ShapeError("a shape is made of whole numbers", repr(shape), "(2, 3)") from None
    if any(n < 0 for n in lengths):
        raise ShapeError("lengths are not negative", f"shape {lengths}", "0 or more")
    if len(lengths) > len(COUNTERS):
        raise ShapeError(f"a Var has at most {len(COUNTERS)} axes", f"{len(lengths)}")
    return lengths


def source(data: Any, dtype: Any = None) -> Node:
    """A leaf with a copy of `data`. Floats in lists become float32; NumPy arrays keep their dtype."""
    try:
        array, wanted = _array_of(data, None if dtype is None else as_dtype(dtype))
    except MemoryError:
        shape = getattr(data, "shape", None) or (len(data),)
        raise no_room("a copy of what is given", shape, getattr(data, "nbytes", 8 * len(data))) from None
    node = Node(SOURCE, (), array.shape, wanted, array)
    node.tracked = wanted.is_float and not current().no_grad
    return node


def shared_source(array: np.ndarray[Any, Any]) -> Node:
    """A leaf that shares the memory of a NumPy array."""
    if not isinstance(array, np.ndarray):
        raise DtypeError("from_numpy shares the memory of a NumPy array", type(array).__name__, "jt.array(...)")
    wanted = _known(array.dtype)
    if not lies_as_kernels_read(array):
        raise ArgumentError(
            "from_numpy shares memory in row-major order, with numbers aligned and in the byte order of the machine",
            f"{array.dtype.str}, strides {array.strides} for shape {array.shape}", "jt.array(a), which copies",
        )  # fmt: skip
    node = Node(SOURCE, (), array.shape, wanted, array)
    node.tracked = wanted.is_float and not current().no_grad
    return node


def lies_as_kernels_read(array: np.ndarray[Any, Any]) -> bool:
    """Whether kernels can read it in place: they trust the order of its elements and of the bytes of each."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def _known(dtype: np.dtype[Any]) -> DType:
    if dtype.name not in DTYPES:
        raise DtypeError("a Var holds one of " + ", ".join(DTYPES), f"a NumPy array of {dtype}", "a.astype('float32')")
    return DTYPES[dtype.name]


def _array_of(data: Any, wanted: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    by_numpy = hasattr(data, "__array__")  # NumPy's arrays, and those of others
    array = np.asarray(data) if by_numpy else _nested(data, wanted)
    found = _known(array.dtype)
    if not by_numpy and found.kind in "fc":
        found = _widest_inside(data, PYTHON[complex] if found.kind == "c" else float32)
    wanted = wanted or found
    if wanted.whole and found.whole and wanted is not found and not by_numpy:
        for number in {array.min(), array.max()} if array.size else ():
            constant(int(number), wanted)  # which refuses what does not fit
    if wanted is bfloat16:
        return to_bfloat16(array), wanted
    with np.errstate(all="ignore"):
        cast_array = array.real if array.dtype.kind == "c" and wanted.kind != "c" else array
        copy = pool.empty(np.shape(cast_array), wanted.storage)
        copy[...] = cast_array
        return copy, wanted


def _nested(data: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    try:
        array = np.array(data)
        if wanted is DTYPES["uint64"] and array.dtype == np.float64 and not (array < 0).any():
            array = np.array(data, np.uint64)  # NumPy makes floats of 0 beside 2^64 - 1
    except ValueError:
        ragged = f"lists of different lengths, {short(data)}"
        raise ShapeError("a Var is a full box of numbers", ragged, "equal lengths") from None
    if array.dtype.kind not in "biufc":
        raise DtypeError(
            "a Var is made of numbers of at most 64 bits",
            "None" if data is None else f"{type(data).__name__} {short(data)}, to NumPy {array.dtype}",
            "bools, whole numbers, floats or complex numbers" if data is not None else NOTHING,
        )  # fmt: skip
    return array


def short(value: Any) -> str:
    """What a value looks like, in a few words. A Var is not asked for its numbers: to compute them may fail as well."""
    if isinstance(value, (list, tuple)) and any(hasattr(part, "_node") for part in _typed(value)):
        text = f"a {type(value).__name__} of {', '.join(map(short, value))}"
    else:
        text = f"a Var of shape {value.shape}" if hasattr(value, "_node") else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _widest_inside(data: Any, found: DType) -> DType:
    """A list of NumPy numbers or Vars keeps their precision; only plain Python floats are narrowed."""
    names = {str(part.dtype) for part in _typed(data)}
    wide = {"float64": "complex128" if found.kind == "c" else "float64", "complex128": "complex128"}
    return next((DTYPES[wide[n]] for n in sorted(names) if n in wide), found)


def _typed(value: Any, depth: int = len(COUNTERS)) -> Iterator[Any]:
    """The Vars and NumPy's numbers that stand in lists of lists; no deeper than axes go, for one may hold itself."""
    for part in value if isinstance(value, (list, tuple)) else [value]:
        if depth and isinstance(part, (list, tuple)):
            yield from _typed(part, depth - 1)
        elif hasattr(part, "dtype"):
            yield part


def to_bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The upper 16 bits of float32, rounded to nearest, ties to even; NaN stays NaN."""
    bits = np.array(array, np.float32, order="C", copy=True).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, np.uint16(0x7FC0), rounded).astype(np.uint16).reshape(np.shape(array))


class Knob(float):
    """A number that a compiled step reads anew at each replay: `read()` gives its value."""

    read: Callable[[], float]


def constant(number: Any, dtype: DType) -> Node:
    """A number of the graph: an argument of its kernel, so that another number needs no other kernel."""
    try:
        value = PYTHON_KIND[dtype.kind](number)
    except (OverflowError, TypeError, ValueError):  # infinity and nan are no whole numbers, and some of those no float
        way = "its real part" if isinstance(number, complex) else "a smaller number"
        raise DtypeError(f"a number that meets {dtype} must fit it", short(number), way) from None
    if dtype.whole and value not in dtype.whole:
        way, ends = "x.cast('int64')" if dtype.size < 8 else "x.double()", f"{dtype.whole[0]} to {dtype.whole[-1]}"
        raise DtypeError(f"a number that meets {dtype} must fit it, {ends}", str(number), way)
    return Node(CONSTANT, (), (), dtype, value)


def cast_number(number: Any, dtype: DType) -> Any:
    """A Python number of the kind that `dtype` has; complex numbers lose their imaginary part."""
    return PYTHON_KIND[dtype.kind](number.real if isinstance(number, complex) and dtype.kind != "c" else number)


def operand_of(value: Any, partner: DType, compared: bool = False) -> Node:
    """What stands on the other side of an operator: a number that gives way to its partner, or an array.

    Numbers may also be compared with one that they cannot be: it is as far away as infinity.
    """
    kind: type[object] = type(value)
    if kind not in NUMBERS and isinstance(value, np.generic):  # as weak as one of Python's; an array of one is not
        value, kind = plain(value), type(plain(value))
    if kind in NUMBERS:
        if compared and kind is int and partner.whole and value not in partner.whole:
            value, kind = math.inf if value > 0 else -math.inf, float
        return constant(value, promote_number(partner, kind))
    if kind is Knob:
        node = constant(value, promote_number(partner, float))
        capture = current().capture
        if capture is not None:
            capture.numbers.append((node, value.read))
        return node
    return given(value)


def given(value: Any) -> Node:
    """A leaf of what an operator is given that is no Var. A list of Vars is not one: gradients would end there."""
    if any(hasattr(part, "_node") and part.dtype.is_float for part in _typed(value)):
        way = "one of them, such as x[0], or jt.stack(x), which makes one of all"
        raise ArgumentError("an operator takes one Var", short(value), way)
    return source(value)


@lru_cache(maxsize=1 << 14)
def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The common shape: aligned at the last axis; lengths are equal, or one of them is 1.

    Example:
        >>> broadcast_shape("add", (3, 1), (4,))
        (3, 4)
    """
    rank = max(map(len, shapes))
    out = []
    for axis in range(rank):
        lengths = {s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0} - {1}
        if len(lengths) > 1:
            raise ShapeError(
                f"{name} needs shapes that fit: aligned at the last axis, lengths are equal or one of them is 1",
                f"shapes {' and '.join(map(str, shapes))}, which differ on axis {axis - rank}",
                aligned(shapes),
            )  # fmt: skip
        out.append(lengths.pop() if lengths else 1)
    return tuple(out)


@lru_cache(maxsize=1 << 14)
def broadcast_op(found: Shape, wanted: Shape) -> Reindex:
    """Read a smaller array as if it had the wanted shape."""
    shift = len(wanted) - len(found)
    fits = shift >= 0 and all(n in (1, wanted[k + shift]) for k, n in enumerate(found))
    if not fits:
        raise ShapeError("a Var is broadcast to a shape that its own fits", f"{found} for {wanted}", "axes of length 1")
    where = tuple(counter(k + shift) if n == wanted[k + shift] else as_index(0) for k, n in enumerate(found))
    return reindex("broadcast", found, wanted, where)


def broadcast(node: Node, shape: Shape) -> Node:
    """`node` read as if it had `shape`."""
    if node.shape == shape:
        return node
    return Node(broadcast_op(node.shape, shape), (node,), shape, node.dtype)


def elementwise(op: Elementwise, nodes: Sequence[Node], dtype: DType) -> Node:
    """The node of an elementwise operator, its inputs broadcast to one shape."""
    shape: Shape | None = None
    for n in nodes:
        if n.op is not CONSTANT:
            if shape is not None and n.shape != shape:
                break
            shape = n.shape
    else:
        if shape is not None:  # all alike, or numbers
            return Node(op, tuple(nodes), shape, dtype)
    shape = broadcast_shape(op.name, *(n.shape for n in nodes))
    return Node(op, tuple(n if n.op is CONSTANT else broadcast(n, shape) for n in nodes), shape, dtype)


def of_many(op: Elementwise, nodes: Sequence[Node]) -> Node:
    """An operator of three and more. Of cond ? x : y the two values are promoted, and the condition becomes bool."""
    if op.rule == "select":
        condition, x, y = nodes
        dtype = promote(x.dtype, y.dtype)
        return elementwise(op, [cast(condition, as_dtype("bool")), cast(x, dtype), cast(y, dtype)], dtype)
    common, dtype = f.meet(op, *[n.dtype for n in nodes])
    return elementwise(op, [cast(n, common) for n in nodes], dtype)


def cast(node: Node, wanted: DType) -> Node:
    """`node` as another dtype; a number is cast at once."""
    if node.dtype is wanted:
        return node
    if node.op is CONSTANT and wanted.kind not in "iu":
        number = Node(CONSTANT, (), (), wanted, cast_number(node.data, wanted))
        capture = current().capture
        if capture is not None:
            capture.casts[number] = node
        return number
    return Node(f.cast_to(wanted, node.dtype), (node,), node.shape, wanted)


def filled(shape: Shape, number: Any, dtype: DType) -> Node:
    """A node of `shape` that is the same number everywhere, and takes no memory until it is stored."""
    return broadcast(constant(number, dtype), shape)


@lru_cache(maxsize=1 << 14)
def flat_view(name: str, found: Shape, wanted: Shape) -> Reindex:
    """The same elements in the same order under another shape."""
    return reindex(name, found, wanted, reshaped(counters(len(wanted)), wanted, found), None, None, True)


def same(name: str, node: Node) -> Node:
    """A node of its own with the same numbers, made by a view of that name; a number has no memory to be viewed."""
    if node.op is CONSTANT:
        return Node(CONSTANT, (), (), node.dtype, node.data)
    return Node(flat_view(name, node.shape, node.shape), (node,), node.shape, node.dtype)


def inverse(op: Reindex, loops: Shape, shape: Shape) -> Reindex | None:
    """The Reindex that undoes `op`, where each counter moves along one axis of its own by steps of 1 or -1."""
    if op.valid is not None:
        return None
    back: dict[int, Index] = {}
    valid: Index | None = None
    for axis, where in enumerate(op.where):
        here = Index("counter", axis)
        moved = _undo(where, here)
        if moved is None:
            if where.op not in ("int", "size"):
                return None
            if shape[axis] != 1:
                test = Index("==", here, where)
                valid = test if valid is None else Index("and", valid, test)
        elif moved[0] in back:
            return None
        else:
            back[moved[0]] = moved[1]
    if set(back) != set(range(len(loops))):
        return None
    return reindex("inverse", loops, shape, tuple(back[k] for k in range(len(loops))), 0, valid)


def _undo(where: Index, here: Index) -> tuple[int, Index] | None:
    """(counter, expression) so that `where` equals `here` exactly when the counter equals the expression."""
    if where.op == "counter":
        return where.args[0], here
    if where.op in ("+", "-") and where.args[0].op == "counter" and where.args[1].op in ("int", "size"):
        offset = where.args[1]
        return where.args[0].args[0], here - offset if where.op == "+" else here + offset
    if where.op == "-" and where.args[1].op == "counter" and where.args[0].op in ("int", "size"):
        return where.args[1].args[0], where.args[0] - here
    return None
