"""Bits: whole numbers as rows of bits, and as products of primes. Floats are refused, as by NumPy."""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu.ir import scalar_ops as f
from jt_edu.ops.arguments import beside, function
from jt_edu.variable.var import Var, method

__all__ = ["bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
           "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift", "right_shift"]  # fmt: skip
_function = partial(function, __name__)

bitwise_and = _function(f.BITWISE_AND, "Bits that are 1 in both.", "bitwise_and(array(6), 3).item()", "2")
bitwise_or = _function(f.BITWISE_OR, "Bits that are 1 in one of them.", "bitwise_or(array(6), 3).item()", "7")
bitwise_xor = _function(f.BITWISE_XOR, "Bits that differ.", "bitwise_xor(array(6), 3).item()", "5")
bitwise_not = _function(
    f.INVERT, "Bits turned round: -x - 1.", "bitwise_not(array(6)).item()", "-7", "invert", "bitwise_invert",
    name="bitwise_not",
)  # fmt: skip
left_shift = _function(
    f.LEFT_SHIFT, "x * 2**y, without the bits that fall off.", "left_shift(array(3), 2).item()", "12"
)
right_shift = _function(f.RIGHT_SHIFT, "x / 2**y, rounded down.", "right_shift(array(-5), 1).item()", "-3")
bitwise_count = _function(f.BIT_COUNT, "How many bits of |x| are 1.", "bitwise_count(array(7)).item()", "3")
gcd = _function(f.GCD, "Greatest common divisor, not negative.", "gcd(array(12), -18).item()", "6")

invert, bitwise_invert = bitwise_not, bitwise_not
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
method(left_shift, "bitwise_left_shift")
method(right_shift, "bitwise_right_shift")


@method
def lcm(x: Any, y: Any) -> Var:
    """Least common multiple, not negative: |x y| / gcd(x, y), and 0 where one of them is 0.

    Example:
        >>> lcm(array(4), -6).item()
        12
    """
    v = beside(x, y)
    shared = gcd(v, y)
    multiple: Var = v // shared * y  # 0 // 0 is 0
    return multiple if multiple.dtype.kind == "u" else multiple.apply(f.ABSOLUTE)
