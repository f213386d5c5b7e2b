"""LLVM number: what do two numbers of a kernel give, and of which type is it?

    float32 + float64 -> float64      int64 + float32 -> float64      uint8 + uint8 -> uint64      as numba has it

What numba would say in another way, or not at all, is `Foreign`. Nothing here knows arrays or statements.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.typing import signature
from numba.cpython import numbers as whole_numbers

from jt_edu.backends.mathlib.simd_math import Lane

FLOATING = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
WHOLE = {"Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor"}
DIVIDES = {"FloorDiv": whole_numbers.int_floordiv_impl, "Mod": whole_numbers.int_rem_impl}
SIGNS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
FLAGGED = ("add", "sub", "mul")  # of signed numbers: they stay in their range


class Foreign(Exception):  # noqa: N818  not an error: numba knows more
    """Something that kernels of ours do not say."""


def converted(number: Any, kind: Any) -> Any:
    """A number in another type, as numba converts it."""
    if number.type == kind:
        return number
    if kind == types.boolean:
        return number != 0
    if not (is_plain(number.type) and is_plain(kind)) or (isinstance(number.type, types.Float) and _unsigned(kind)):
        raise Foreign(f"{number.type} to {kind}")
    return number.to(kind)


def arithmetic(target: Any, sign: str, left: Any, right: Any) -> Any:
    """The sum, or whatever Python's tree calls the sign."""
    kind, b = _common(left.type, right.type), left.builder
    x, y = converted(left, kind).value, converted(right, kind).value
    if isinstance(kind, types.Float):
        return Lane(b, kind, getattr(b, FLOATING[sign])(x, y))
    if sign in DIVIDES and kind == types.int64:
        return Lane(b, kind, DIVIDES[sign](target, b, signature(kind, kind, kind), (x, y)))
    if kind == types.boolean and not sign.startswith("Bit"):
        raise Foreign("arithmetic of truth values")
    flags = {"flags": ["nsw"]} if WHOLE[sign] in FLAGGED and kind.signed else {}
    return Lane(b, kind, getattr(b, WHOLE[sign])(x, y, **flags))


def compare(sign: str, left: Any, right: Any) -> Any:
    """Whether it holds."""
    kind, b = _common(left.type, right.type), left.builder
    x, y = converted(left, kind).value, converted(right, kind).value
    if isinstance(kind, types.Float):
        write = b.fcmp_unordered if sign == "NotEq" else b.fcmp_ordered
    else:
        write = b.icmp_signed if getattr(kind, "signed", False) else b.icmp_unsigned
    return Lane(b, types.boolean, write(SIGNS[sign], x, y))


def extreme(sign: str, x: Any, y: Any) -> Any:
    """Python's min (<) and max (>) of two whole numbers."""
    if x.type != types.int64 or y.type != types.int64:
        raise Foreign("of whole numbers only")
    return Lane(x.builder, x.type, x.builder.select(x.builder.icmp_signed(sign, x.value, y.value), x.value, y.value))


def is_plain(kind: Any) -> bool:
    """Whether it is a number that one register holds."""
    return kind == types.boolean or isinstance(kind, types.Integer) or kind in (types.float32, types.float64)


def _unsigned(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and not kind.signed


def _common(a: Any, b: Any) -> Any:
    """The type of a sum, as numba has it."""
    if a == b and (isinstance(a, types.Float) or a in (types.int64, types.uint64, types.boolean)):
        return a
    whole = [kind for kind in (a, b) if isinstance(kind, types.Integer)]
    if types.boolean in (a, b) or not is_plain(a) or not is_plain(b):
        raise Foreign(f"{a} and {b}")
    if len(whole) < 2:  # a float with a float of the other width, or with a whole number
        return types.float64
    if all(kind.signed for kind in whole) or not any(kind.bitwidth == 64 and not kind.signed for kind in whole):
        return types.uint64 if not any(kind.signed for kind in whole) else types.int64
    if not any(kind.signed for kind in whole):
        return types.uint64
    raise Foreign(f"{a} and {b}")
