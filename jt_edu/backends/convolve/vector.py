"""Vector: how does a kernel say that one instruction shall work on many numbers?

A register of the machine holds LANES numbers of float32, or half as many of float64. Loops over single numbers become
vector code only where the compiler finds out how; a kernel that says `load` and `fma` is vector code on every machine
and with every version of the compiler.

    a      | . . . | 3 | 1 | 4 | 1 | . . .        load(a, i)  takes LANES neighbours, wherever they begin
                     *   *   *   *
    w      | 2 |   | 2 | 2 | 2 | 2 |              spread(w, k)  is number k of w in every lane
                     +   +   +   +
    sums           | 0 | 1 | 0 | 1 |              fma(x, y, sums) = x * y + sums

Arrays of any shape are counted along their memory. What is loaded must lie inside the array, all of it; of the last
columns of a row `load_some` and `store_some` touch only as many as there are.

In Python a vector is a NumPy array of LANES numbers. Nothing here knows convolutions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import core
from numba import extending as numba_extending

from jt_edu.backends.convolve.tile import LANES, inlined, lanes, written

types: Any = core.types
cgutils: Any = core.cgutils
extending: Any = numba_extending
Array = Any  # a NumPy array while Python runs, numba's idea of one while it compiles
INT, INT64 = ir.IntType(32), ir.IntType(64)


class Vector(types.Type):  # type: ignore[misc]
    """Numba's type of a vector: that of its numbers, and how many there are."""

    def __init__(self, number: Any) -> None:
        self.number, self.count = number, _count(number.bitwidth)
        super().__init__(name=f"vector({number}, {self.count})")


@extending.register_model(Vector)
class _Register(extending.models.PrimitiveModel):  # type: ignore[misc]
    """A vector is one value of LLVM's."""

    def __init__(self, manager: Any, kind: Any) -> None:
        number = ir.FloatType() if kind.number.bitwidth == 32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(number, kind.count))


def _count(bits: int) -> int:
    return LANES * 32 // bits


def _of_array(array: Any, *others: Any) -> Any:
    return Vector(array.dtype) if isinstance(array, types.Array) else None


def _nothing(*args: Any) -> Any:
    return types.void


def _same(x: Any, *others: Any) -> Any:
    return x if isinstance(x, Vector) and all(o == x for o in others) else None


def _flat(array: Array, begin: int, count: int) -> Array:
    return array.reshape(-1)[begin : begin + count]


def _lanes(array: Array) -> int:
    return _count(array.itemsize * 8)


class _Place:
    """Where in an array a vector lies, as LLVM sees it."""

    def __init__(self, context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> None:
        kind, value = array
        self.builder, self.bytes = builder, kind.dtype.bitwidth // 8
        self.vector = context.get_value_type(Vector(kind.dtype))
        self.number = builder.gep(context.make_array(kind)(context, builder, value).data, [index])
        self.all = builder.bitcast(self.number, self.vector.as_pointer())

    def some(self, context: Any, count: Any, kind: Any) -> Any:
        """A bit for each lane: whether it is one of the first `count`."""
        lanes = ir.VectorType(INT, self.vector.count)
        wanted = spread_value(self.builder, context.cast(self.builder, count, kind, types.int32), lanes)
        return self.builder.icmp_signed("<", ir.Constant(lanes, list(range(lanes.count))), wanted)

    def masked(self, name: str, returns: Any, *args: Any) -> Any:
        """A load or a store of some lanes."""
        vector = self.vector
        suffix = f"v{vector.count}{vector.element.intrinsic_name}"
        kind = ir.FunctionType(returns, [a.type for a in args])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.{name}.{suffix}.p0")
        return self.builder.call(function, args)


def spread_value(builder: Any, number: Any, vector: Any) -> Any:
    """One LLVM value in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, number, INT(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(INT, vector.count), None))


def _place(context: Any, builder: Any, signature: Any, args: Any) -> _Place:
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return _Place(context, builder, (signature.args[0], args[0]), index)


def load_at(context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> Any:
    """Write the instruction that loads a vector; the array is its type and its value."""
    place = _Place(context, builder, array, index)
    value = builder.load(place.all)
    value.align = place.bytes
    return value


def spread_at(context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> Any:
    """Write the instructions that spread one number of an array that nobody writes to."""
    place = _Place(context, builder, array, index)
    number = builder.load(place.number)
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return spread_value(builder, number, place.vector)


def fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Write x * y + z."""
    name = f"llvm.fmuladd.v{x.type.count}{x.type.element.intrinsic_name}"
    kind = ir.FunctionType(x.type, [x.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x, y, z])


def _lower_load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return load_at(context, builder, (signature.args[0], args[0]), index)


@written(_of_array, _lower_load)
def load(array: Array, begin: int) -> Array:
    """LANES neighbours."""
    return _flat(array, begin, _lanes(array)).copy()


def _lower_load_some(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place = _place(context, builder, signature, args)
    mask = place.some(context, args[2], signature.args[2])
    zeros = ir.Constant(place.vector, None)
    return place.masked("load", place.vector, place.all, INT(place.bytes), mask, zeros)


@written(_of_array, _lower_load_some)
def load_some(array: Array, begin: int, count: int) -> Array:
    """The first `count` of LANES neighbours; 0 in the other lanes."""
    vector = np.zeros(_lanes(array), array.dtype)
    vector[:count] = _flat(array, begin, min(count, len(vector)))
    return vector


def _lower_store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place = _place(context, builder, signature, args)
    builder.store(args[2], place.all).align = place.bytes
    return context.get_dummy_value()


@written(_nothing, _lower_store)
def store(array: Array, begin: int, vector: Array) -> None:
    """Write all lanes to neighbours."""
    _flat(array, begin, len(vector))[...] = vector


def _lower_store_some(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place = _place(context, builder, signature, args)
    mask = place.some(context, args[3], signature.args[3])
    place.masked("store", ir.VoidType(), args[2], place.all, INT(place.bytes), mask)
    return context.get_dummy_value()


@written(_nothing, _lower_store_some)
def store_some(array: Array, begin: int, vector: Array, count: int) -> None:
    """Write the first `count` lanes."""
    _flat(array, begin, min(count, len(vector)))[...] = vector[:count]


def _lower_spread(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return spread_at(context, builder, (signature.args[0], args[0]), index)


@written(_of_array, _lower_spread)
def spread(array: Array, index: int) -> Array:
    """One number in every lane, of an array that this kernel only reads: it may be read once for many uses."""
    return np.full(_lanes(array), array.reshape(-1)[index])


def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return ir.Constant(context.get_value_type(signature.return_type), None)


@written(_of_array, _lower_zeros)
def zeros(array: Array) -> Array:
    """A vector of zeros, of the array's dtype."""
    return np.zeros(_lanes(array), array.dtype)


def _lower_fma(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return fused(builder, *args)


@written(_same, _lower_fma)
def fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, in one instruction where the machine has it."""
    return x * y + z


def _lower_add_where(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    total, more, places, low, high = args
    kinds, vector = signature.args, total.type
    ends = [context.cast(builder, x, kind, kinds[2].number) for x, kind in ((low, kinds[3]), (high, kinds[4]))]
    first, last = (spread_value(builder, x, vector) for x in ends)
    inside = builder.and_(
        builder.fcmp_ordered(">=", places, first),
        builder.fcmp_ordered("<", places, last),
    )
    return builder.fadd(total, builder.select(inside, more, ir.Constant(vector, None)))


@written(lambda total, more, places, low, high: _same(total, more, places), _lower_add_where)
def add_where(total: Array, more: Array, places: Array, low: int, high: int) -> Array:
    """total + more in the lanes where low <= places < high; total in the others."""
    return total + np.where((low <= places) & (places < high), more, more.dtype.type(0))


def _lower_sum(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    vector = args[0]
    while vector.type.count > 1:  # halves onto each other
        half = vector.type.count // 2
        parts = [
            builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(INT, half), list(range(k, k + half))))
            for k in (0, half)
        ]
        vector = builder.fadd(*parts)
    return builder.extract_element(vector, INT(0))


@written(lambda vector: vector.number if isinstance(vector, Vector) else None, _lower_sum)
def sum_of(vector: Array) -> Any:
    """The sum over all lanes."""
    while len(vector) > 1:
        vector = vector[: len(vector) // 2] + vector[len(vector) // 2 :]
    return vector[0]


def _shuffled(order: Any) -> Any:
    """Lower a function that picks lanes out of two vectors: `order` says which, counting through both."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = args[0].type.count
        return builder.shuffle_vector(*args, ir.Constant(ir.VectorType(INT, count), list(order(count))))

    return lower


@written(_same, _shuffled(lambda count: range(0, 2 * count, 2)))
def even(x: Array, y: Array) -> Array:
    """Every other number of x followed by y, from the first."""
    return np.concatenate([x, y])[0::2]


@written(_same, _shuffled(lambda count: range(1, 2 * count, 2)))
def odd(x: Array, y: Array) -> Array:
    """Every other number of x followed by y, from the second."""
    return np.concatenate([x, y])[1::2]


@written(_same, _shuffled(lambda count: [k // 2 + (k % 2) * count for k in range(count)]))
def woven_low(x: Array, y: Array) -> Array:
    """x0 y0 x1 y1 ..., the first half of it."""
    return np.stack([x, y], 1).reshape(-1)[: len(x)]


@written(_same, _shuffled(lambda count: [k // 2 + (k % 2) * count for k in range(count, 2 * count)]))
def woven_high(x: Array, y: Array) -> Array:
    """x0 y0 x1 y1 ..., the second half of it."""
    return np.stack([x, y], 1).reshape(-1)[len(x) :]


@inlined
def copy_row(array: Array, begin: int, count: int, space: Array, to: int) -> None:
    """Copy a row; zeros follow it, up to a whole vector."""
    lane = lanes(array)
    for x in range(0, count - lane + 1, lane):
        store(space, to + x, load(array, begin + x))
    rest = count % lane
    if rest > 0:
        store(space, to + count - rest, load_some(array, begin + count - rest, rest))


@inlined
def split_row(array: Array, begin: int, count: int, space: Array, first: int, second: int) -> None:
    """Copy the even columns of a row and the odd ones, each followed by zeros."""
    lane = lanes(array)
    for x in range(0, count - 2 * lane + 1, 2 * lane):
        left, right = load(array, begin + x), load(array, begin + x + lane)
        store(space, first + x // 2, even(left, right))
        store(space, second + x // 2, odd(left, right))
    rest = count % (2 * lane)
    if rest > 0:
        x = count - rest
        left = load_some(array, begin + x, rest)
        right = load_some(array, begin + min(x + lane, count), max(0, rest - lane))
        store(space, first + x // 2, even(left, right))
        store(space, second + x // 2, odd(left, right))


@inlined
def clear(array: Array, begin: int, end: int) -> None:
    """Write zeros, in whole vectors: up to LANES - 1 of them behind the end."""
    for i in range(begin, end, lanes(array)):
        store(array, i, zeros(array))
