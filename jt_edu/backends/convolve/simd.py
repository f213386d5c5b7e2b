"""SIMD: how does a kernel say that one instruction shall work on many numbers?

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

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.llvm import Array, extending, inlined, lanes, lanes_of, nothing, types, written


class Vector(types.Type):  # type: ignore[misc]
    """Numba's type of a vector: that of its numbers, and how many there are."""

    def __init__(self, number: Any) -> None:
        self.number, self.count = number, lanes_of(number.bitwidth)
        super().__init__(name=f"vector({number}, {self.count})")


@extending.register_model(Vector)
class _Register(extending.models.PrimitiveModel):  # type: ignore[misc]
    """A vector is one value of LLVM's."""

    def __init__(self, manager: Any, kind: Any) -> None:
        number = ir.FloatType() if kind.number.bitwidth == 32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(number, kind.count))


def _of_array(array: Any, *others: Any) -> Any:
    return Vector(array.dtype) if isinstance(array, types.Array) else None


def _same(x: Any, *others: Any) -> Any:
    return x if isinstance(x, Vector) and all(o == x for o in others) else None


def _flat(array: Array, begin: int, count: int) -> Array:
    return array.reshape(-1)[begin : begin + count]


def _place(context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> tuple[Any, Any]:
    """Where a vector begins in an array, given as its type and its value, as LLVM sees it; and the vector's type."""
    kind, value = array
    begin = builder.gep(context.make_array(kind)(context, builder, value).data, [index])
    return begin, context.get_value_type(Vector(kind.dtype))


def load_at(context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> Any:
    """Write the instruction that loads a vector."""
    return llvm.load(builder, *_place(context, builder, array, index))


def spread_at(context: Any, builder: Any, array: tuple[Any, Any], index: Any) -> Any:
    """Write the instructions that spread one number of an array that nobody writes to."""
    place, vector = _place(context, builder, array, index)
    number = builder.load(place)
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return llvm.spread(builder, number, vector)


def _asked(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, Any]:
    """The place and the vector that the first two arguments of a function mean."""
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return _place(context, builder, (signature.args[0], args[0]), index)


def _mask(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The mask that the last argument means: how many lanes."""
    count = context.cast(builder, args[-1], signature.args[-1], types.int32)
    return llvm.first_lanes(builder, count, lanes_of(signature.args[0].dtype.bitwidth))


def _lower_load(*given: Any) -> Any:
    return llvm.load(given[1], *_asked(*given))


@written(_of_array, _lower_load)
def load(array: Array, begin: int) -> Array:
    """LANES neighbours."""
    return _flat(array, begin, lanes(array)).copy()


def _lower_load_some(*given: Any) -> Any:
    return llvm.load_some(given[1], *_asked(*given), _mask(*given))


@written(_of_array, _lower_load_some)
def load_some(array: Array, begin: int, count: int) -> Array:
    """The first `count` of LANES neighbours; 0 in the other lanes."""
    vector = np.zeros(lanes(array), array.dtype)
    vector[:count] = _flat(array, begin, min(count, len(vector)))
    return vector


def _lower_store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    llvm.store(builder, args[2], _asked(context, builder, signature, args)[0])
    return context.get_dummy_value()


@written(nothing, _lower_store)
def store(array: Array, begin: int, vector: Array) -> None:
    """Write all lanes to neighbours."""
    _flat(array, begin, len(vector))[...] = vector


def _lower_store_some(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    place, _ = _asked(context, builder, signature, args)
    llvm.store_some(builder, args[2], place, _mask(context, builder, signature, args))
    return context.get_dummy_value()


@written(nothing, _lower_store_some)
def store_some(array: Array, begin: int, vector: Array, count: int) -> None:
    """Write the first `count` lanes."""
    _flat(array, begin, min(count, len(vector)))[...] = vector[:count]


def _lower_spread(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return spread_at(context, builder, (signature.args[0], args[0]), index)


@written(_of_array, _lower_spread)
def spread(array: Array, index: int) -> Array:
    """One number in every lane, of an array that this kernel only reads: it may be read once for many uses."""
    return np.full(lanes(array), array.reshape(-1)[index])


def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return ir.Constant(context.get_value_type(signature.return_type), None)


@written(_of_array, _lower_zeros)
def zeros(array: Array) -> Array:
    """A vector of zeros, of the array's dtype."""
    return np.zeros(lanes(array), array.dtype)


def _lower_fma(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return llvm.fused(builder, *args)


@written(_same, _lower_fma)
def fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, in one instruction where the machine has it."""
    return x * y + z


def _lower_add_where(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    total, more, places, low, high = args
    kinds, vector = signature.args, total.type
    ends = [context.cast(builder, x, kind, kinds[2].number) for x, kind in ((low, kinds[3]), (high, kinds[4]))]
    first, last = (llvm.spread(builder, x, vector) for x in ends)
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
    return builder.extract_element(llvm.total(builder, args[0]), llvm.SHORT(0))


@written(lambda vector: vector.number if isinstance(vector, Vector) else None, _lower_sum)
def sum_of(vector: Array) -> Any:
    """The sum over all lanes."""
    while len(vector) > 1:
        vector = vector[: len(vector) // 2] + vector[len(vector) // 2 :]
    return vector[0]


def _sizes(builder: Any, vector: Any) -> Any:
    """The bits without the signs: of floats they are in order as whole numbers are, with nan above infinity."""
    width, count = 32 if vector.type.element == ir.FloatType() else 64, vector.type.count
    whole = ir.VectorType(ir.IntType(width), count)
    return builder.and_(builder.bitcast(vector, whole), ir.Constant(whole, [2 ** (width - 1) - 1] * count))


def _first(builder: Any, sign: str, x: Any, y: Any) -> Any:
    return builder.select(builder.icmp_signed(sign, x, y), x, y)


def _compared(sign: str) -> Any:
    """Lower a function that picks one of two sizes in each lane."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(_first(builder, sign, *(_sizes(builder, x) for x in args)), args[0].type)

    return lower


@written(_same, _compared(">"))
def larger(x: Array, y: Array) -> Array:
    """In each lane |x| or |y|, whichever is larger; nan if one of them is."""
    return np.maximum(abs(x), abs(y))


@written(_same, _compared("<"))
def smaller(x: Array, y: Array) -> Array:
    """In each lane |x| or |y|, whichever is smaller; nan counts as larger than all."""
    return np.fmin(abs(x), abs(y))


def _lower_largest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(builder, args[0])
    while sizes.type.count > 1:
        half = sizes.type.count // 2
        sizes = _first(builder, ">", *(llvm.picked(builder, sizes, sizes, range(k, k + half)) for k in (0, half)))
    return builder.bitcast(builder.extract_element(sizes, llvm.SHORT(0)), args[0].type.element)


@written(lambda vector: vector.number if isinstance(vector, Vector) else None, _lower_largest)
def largest_of(vector: Array) -> Any:
    """The largest |number| of all lanes; nan if one of them is."""
    return abs(vector).max()


def _shuffled(order: Any) -> Any:
    """Lower a function that picks lanes out of two vectors: `order` says which, counting through both."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, y = args
        return llvm.picked(builder, x, y, order(x.type.count))

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
def write_zeros(array: Array, begin: int, end: int) -> None:
    """Write zeros, in whole vectors: up to LANES - 1 of them behind the end."""
    for i in range(begin, end, lanes(array)):
        store(array, i, zeros(array))
