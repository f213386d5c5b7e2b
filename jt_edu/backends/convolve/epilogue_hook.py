"""Epilogue hook: how does an algorithm call a tail that was compiled apart from it?

An algorithm takes seconds to compile, and what is joined to it (bias, norm, activation, residual) differs from network
to network. So both are compiled once, and meet when they run. The algorithm has one more parameter, `tail`, an array of
whole numbers: the address of the tail, then all that the tail reads, word by word.

    tail   | address | pointer, lengths | pointer, lengths | number | ...
                          an array           an array

`call_tail` in the algorithm jumps to the address. In the tail `float32_3(out, table, 4)` makes an array of three axes
of the words from place 4 on, and `number_float32(table, 9)` a number of the word at place 9. The sums themselves are
passed as a pointer, so that LLVM knows that the tail may change them. An address of 0 is no tail. Who writes the array
stands in `epilogue_args.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.np import arrayobj

from jt_edu.backends.convolve.llvm import extending, nothing, types, written

WORD, BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
SIGNATURE = types.void(types.voidptr, types.CPointer(types.int64), *[types.int64] * 4)


def _jump(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Load the address, and call what is there, if anything is."""
    table = context.make_array(signature.args[0])(context, builder, args[0]).data
    sums = context.make_array(signature.args[5])(context, builder, args[5]).data
    kind = ir.FunctionType(ir.VoidType(), [BYTES, WORD.as_pointer(), *[WORD] * 4])
    address = builder.load(table)
    with builder.if_then(builder.icmp_signed("!=", address, WORD(0))):
        places = [context.cast(builder, v, t, types.int64) for v, t in zip(args[1:5], signature.args[1:5], strict=True)]
        given = [builder.bitcast(sums, BYTES), builder.gep(table, [WORD(1)]), *places]
        builder.call(builder.inttoptr(address, kind.as_pointer()), given)
    return context.get_dummy_value()


@written(nothing, _jump)
def call_tail(tail: Any, n: int, o: int, begin: int, end: int, out: Any) -> None:
    """Have the tail work on the sums of channel `o` of image `n`, at the places from `begin` to `end`."""
    if callable(tail):
        tail(n, o, begin, end)


def __getattr__(name: str) -> Any:
    """`float32_3` and `number_float32`, for any dtype and number of axes."""
    kind, _, rest = name.rpartition("_")
    if kind == "number":
        return _number(rest)
    if kind and rest.isdecimal():
        return _array(kind, int(rest))
    raise AttributeError(name)


@cache
def _array(dtype: str, rank: int) -> Any:
    """The function of a tail that makes an array of words; a pointer of 0 means the sums themselves."""
    kind = types.Array(numba.from_dtype(np.dtype(dtype)), rank, "C")

    def array_at(typing: Any, out: Any, table: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            sums, words, first = args
            number = context.get_data_type(kind.dtype)
            word = [builder.load(builder.gep(words, [builder.add(first, WORD(k))])) for k in range(rank + 1)]
            sums_meant = builder.icmp_signed("==", word[0], WORD(0))
            data = builder.select(sums_meant, sums, builder.inttoptr(word[0], BYTES))
            size = context.get_abi_sizeof(number)
            strides = [WORD(size)]
            for length in reversed(word[2:]):
                strides.insert(0, builder.mul(strides[0], length))
            made = context.make_array(kind)(context, builder)
            arrayobj.populate_array(  # type: ignore[no-untyped-call]
                made, data=builder.bitcast(data, number.as_pointer()), shape=word[1:], strides=strides[:rank],
                itemsize=WORD(size), meminfo=None,
            )  # fmt: skip
            return made._getvalue()

        return kind(out, table, types.int64), write

    return extending.intrinsic(array_at)


@cache
def _number(dtype: str) -> Any:
    """The function of a tail that makes a number of a word."""
    kind = numba.from_dtype(np.dtype(dtype))

    def number_at(typing: Any, table: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words, place = args
            number = context.get_data_type(kind)
            return builder.load(builder.bitcast(builder.gep(words, [place]), number.as_pointer()))

        return kind(table, types.int64), write

    return extending.intrinsic(number_at)
