"""Integer: which arithmetic means what NumPy says, and not what the machine does?

    maximum, minimum          hand nan on; one instruction, so that a reduction runs on 16 numbers at once
    fmax, fmin                do not hand it on
    floor_divide, remainder   round down, as Python's; an integer by zero gives 0, the lowest by -1 does not trap
    fmod                      rounds towards 0, as C's; gcd and bit_count know only integers
    shift_left, shift_right   a shift by the width or more leaves nothing (or only the sign)
    at, wrap                  how an array is indexed without, or with, counting from the end
    until                     how far a loop goes in one piece

Nothing here rounds, and nothing asks the C library, except the remainders of floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, kind_of, types, where


@kernel_function(int, alike("biu", lambda kind: types.uint64))
def at(i: Number) -> Number:
    """The index i, promised not to be negative: numba then does not look for indices that count from the end."""
    return i.to(types.uint64)


def _in_32_bits(i: int) -> int:
    if not -(2**31) <= i < 2**31:
        raise OverflowError(f"narrow takes an index of 32 bits, and got {i:,}")  # the interpreter adds the line
    return int(i)


@kernel_function(_in_32_bits, alike("biu", lambda kind: types.int32))
def narrow(i: Number) -> Number:
    """The index i, promised to fit into 32 bits: a GPU counts with those in half the time."""
    return i.to(types.int32)


@kernel_function(lambda i, n: 0 <= i < n, alike("i", lambda kind: types.boolean))
def within(i: Number, n: Number) -> Number:
    """Whether i is an index of n, in one comparison: of numbers without a sign, -1 is the largest."""
    unsigned = types.uint32 if i.type == types.int32 else types.uint64
    return i.to(unsigned) < n.to(unsigned)


@kernel_function(lambda i, n: i + n if i < 0 else i, lambda i, n: alike("i")(*(i, n)[: 1 + (n != types.int32)]))
def wrap(i: Number, n: Number) -> Number:
    """The index i of n, where negative ones count from the end; on a GPU n may be narrow."""
    return where(i < 0, i + n.to(i.type), i)


@kernel_function(lambda begin, end, last: end if begin < end < last else last, alike("i"))
def until(begin: Number, end: Number, last: Number) -> Number:
    """Where a piece ends that begins at `begin`: at `end`, if that is ahead, but at `last` at the latest."""
    return where((begin < end) & (end < last), end, last)


def _select_rule(condition: Number, x: Number, y: Number) -> Number:
    x, y = types.unliteral(x), types.unliteral(y)
    return x if types.unliteral(condition) == types.boolean and x == y else None


@kernel_function(lambda condition, x, y: x if condition else y, _select_rule)
def select(condition: Number, x: Number, y: Number) -> Number:
    """The value x where the condition holds, else y; nothing of the other one is seen, not even nan."""
    return where(condition, x, y)


@kernel_function(np.maximum, alike("biuf"))
def maximum(a: Number, b: Number) -> Number:
    """The larger of two; nan if one of them is."""
    return _extreme("llvm.maximum", a, b) if kind_of(a.type) == "f" else where(a > b, a, b)


@kernel_function(np.minimum, alike("biuf"))
def minimum(a: Number, b: Number) -> Number:
    """The smaller of two; nan if one of them is."""
    return _extreme("llvm.minimum", a, b) if kind_of(a.type) == "f" else where(a < b, a, b)


@kernel_function(np.fmax, alike("biuf"))
def fmax(a: Number, b: Number) -> Number:
    """The larger of two; the other one where one is nan."""
    return where((a < b) | a.is_nan(), b, a)


@kernel_function(np.fmin, alike("biuf"))
def fmin(a: Number, b: Number) -> Number:
    """The smaller of two; the other one where one is nan."""
    return where((a > b) | a.is_nan(), b, a)


def _extreme(name: str, a: Number, b: Number) -> Number:
    return instruction(name, a, b, flags=("nsz",))  # of 0.0 and -0.0 either will do; to choose takes twice the time


@kernel_function(np.true_divide, alike("fc"))
def divide(a: Number, b: Number) -> Number:
    """The quotient a / b, inf or nan where b is 0."""
    return a / b


@kernel_function(np.floor_divide, alike("iuf"))
def floor_divide(a: Number, b: Number) -> Number:
    """The quotient, rounded down."""
    if kind_of(a.type) == "f":
        rest = a % b
        below = (rest != 0) & ((rest < 0) ^ (b < 0))
        quotient = (a - rest) / b - where(below, a.const(1.0), 0.0)
        whole = instruction("llvm.floor", quotient)
        whole = where(quotient - whole > 0.5, whole + 1, whole)
        whole = where(quotient == 0, instruction("llvm.copysign", a.const(0.0), a / b), whole)
        return where(b == 0, a / b, whole)
    if not a.signed:
        return where(b == 0, 0, a / where(b == 0, 1, b))
    safe = where((b == 0) | (b == -1), 1, b)
    quotient = a / safe
    rest = a - quotient * safe
    down = quotient - where((rest != 0) & ((rest ^ b) < 0), a.const(1), 0)
    return where(b == 0, 0, where(b == -1, -a, down))


@kernel_function(np.remainder, alike("iuf"))
def remainder(a: Number, b: Number) -> Number:
    """What floor_divide leaves: it has the sign of b."""
    if kind_of(a.type) == "f":
        rest = a % b
        moved = where((rest < 0) ^ (b < 0), rest + b, rest)
        return where(b == 0, rest, where(rest == 0, instruction("llvm.copysign", a.const(0.0), b), moved))
    if not a.signed:
        return where(b == 0, 0, a % where(b == 0, 1, b))
    safe = where((b == 0) | (b == -1), 1, b)
    rest = a % safe
    return where((rest != 0) & ((rest ^ b) < 0), rest + b, rest)


@kernel_function(np.fmod, alike("iuf"))
def fmod(a: Number, b: Number) -> Number:
    """What is left of a after whole steps of b towards 0: it has the sign of a; an integer by zero gives 0."""
    if kind_of(a.type) == "f":
        return a % b
    none = (b == 0) | (b == -1) if a.signed else b == 0
    return where(none, 0, a % where(none, 1, b))


def _gcd(a: Any, b: Any) -> Any:
    while b != 0:
        a, b = b, a % b
    return -a if a < 0 else a


@kernel_function(np.gcd, alike("iu"), {"i": _gcd, "u": _gcd})
def gcd(a: Number, b: Number) -> Number:
    """The greatest common divisor, not negative; Euclid's algorithm."""
    return _gcd(a, b)


@kernel_function(np.bitwise_count, alike("biu", lambda kind: types.uint8))
def bit_count(a: Number) -> Number:
    """How many bits of |a| are 1."""
    if a.type == types.boolean:
        return a.to(types.uint8)
    return instruction("llvm.ctpop", where(a < 0, -a, a) if a.signed else a).to(types.uint8)


@kernel_function(np.left_shift, alike("iu"))
def shift_left(a: Number, b: Number) -> Number:
    """The integer a * 2 ** b, without the bits that fall off."""
    inside = (b >= 0) & (b < b.width)
    return where(inside, a << where(inside, b, 0), 0)


@kernel_function(np.right_shift, alike("iu"))
def shift_right(a: Number, b: Number) -> Number:
    """The integer a / 2 ** b, rounded down."""
    inside = (b >= 0) & (b < b.width)
    return a >> where(inside, b, b.width - 1) if a.signed else where(inside, a >> where(inside, b, 0), 0)
