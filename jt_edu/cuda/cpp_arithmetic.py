"""Arithmetic in C++: how do two numbers meet, and what has to be said so that C++ does what the kernel says?

    a * b, float and float       a * b
    a * k, float and int64       (double)a * k         in C++ the float would stay one
    a + b, int32 and int32       (long long)a + b      in C++ the sum would have 32 bits
    a // b, a % b                a / b, a % b          where neither is negative; else floor_div(a, b), floor_mod(a, b)
    2 ** 40 - 1                  1099511627775         numbers of the text are computed at once

Two types go with a text: the one that it has in numba, and the one that C++ gives it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jt_edu.cuda.cpp_words import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NAMES,
    UNSIGNED,
    UNSIGNED_LONG,
    DType,
    in_cpp,
    literal,
    one_type,
    together,
)

ATOM, UNARY, TIMES, PLUS, SHIFT, LESS, EQUAL, AND, XOR, OR, BOTH, EITHER, CHOICE = range(
    13, 0, -1
)  # what holds together
BINARY: dict[type[ast.AST], tuple[str, int, Callable[..., Any]]] = {
    ast.Add: ("+", PLUS, operator.add), ast.Sub: ("-", PLUS, operator.sub), ast.Mult: ("*", TIMES, operator.mul),
    ast.Div: ("/", TIMES, operator.truediv), ast.FloorDiv: ("/", TIMES, operator.floordiv),
    ast.Mod: ("%", TIMES, operator.mod), ast.LShift: ("<<", SHIFT, operator.lshift),
    ast.RShift: (">>", SHIFT, operator.rshift), ast.BitAnd: ("&", AND, operator.and_),
    ast.BitXor: ("^", XOR, operator.xor), ast.BitOr: ("|", OR, operator.or_),
}  # fmt: skip
COMPARED: dict[type[ast.AST], tuple[str, int]] = {
    ast.Lt: ("<", LESS), ast.LtE: ("<=", LESS), ast.Gt: (">", LESS), ast.GtE: (">=", LESS),
    ast.Eq: ("==", EQUAL), ast.NotEq: ("!=", EQUAL),
}  # fmt: skip


class Spelled(NamedTuple):
    """An expression in C++."""

    text: str
    type: DType  # in numba
    made: DType  # in C++
    order: int = ATOM  # how strongly it holds together
    natural: bool = False  # known not to be negative
    number: Any = None  # of a number that stands in the text

    def within(self, order: int) -> str:
        """The text as a part of another one, in brackets where it needs them."""
        return f"({self.text})" if self.order < order else self.text


class Arithmetic:
    """Spells operators. What C++ lacks is a helper, which is written above the kernel."""

    def helper(self, name: str) -> str:
        """The name of a helper, which from now on is there."""
        raise NotImplementedError

    def cast(self, x: Any, dtype: DType) -> Spelled:
        """The same number as another type."""
        if x.number is not None:
            return number(dtype.type(x.number).item(), dtype, typed=True)
        if dtype == BOOL and x.type != BOOL:
            return self.compare(ast.NotEq, x, number(0, LONG))
        if x.made == dtype:
            return Spelled(x.text, dtype, dtype, x.order, x.natural)
        natural = x.natural or dtype.kind in "bu"
        return Spelled(f"({NAMES[dtype]}){x.within(UNARY)}", dtype, dtype, UNARY, natural)

    def meet(self, a: Spelled, b: Spelled) -> tuple[Spelled, Spelled, DType]:
        """Two numbers, and the dtype in which they meet: one in the text takes that of the other."""
        dtype = together(a.type, b.type)
        for x, other in ((a, b), (b, a)):
            weak = x.number is not None and other.number is None
            if weak and (other.type.kind == "f" or (other.type == UNSIGNED_LONG and x.type == LONG and x.natural)):
                dtype = other.type
        floats = [x.number is not None and x.type.kind == dtype.kind == "f" for x in (a, b)]
        a, b = (number(x.number, dtype) if respell else x for x, respell in zip((a, b), floats, strict=True))
        return a, b, dtype

    def same(self, a: Spelled, b: Spelled, exact: bool = True) -> tuple[Spelled, Spelled, DType]:
        """Two numbers that C++ brings to the dtype in which they meet, one of them cast where it would not."""
        a, b, dtype = self.meet(a, b)
        made = in_cpp(a.made, b.made)
        harmless = not exact and made.kind in "iu" and (made == INT or (a.natural and b.natural))
        if made == dtype or (harmless and dtype in (LONG, UNSIGNED_LONG)):
            return a, b, dtype
        if a.number is None:
            return self.cast(a, dtype), b, dtype
        return a, self.cast(b, dtype), dtype

    def product(self, factors: Sequence[Spelled]) -> Spelled:
        """All of them multiplied; 1 of none."""
        found = factors[0] if factors else number(1, LONG)
        for factor in factors[1:]:
            found = self.binary(ast.Mult, found, factor)
        return found

    def binary(self, op: type[ast.AST], a: Spelled, b: Spelled) -> Spelled:
        """Two numbers with an operator between them."""
        sign, order, compute = BINARY[op]
        if a.number is not None and b.number is not None and not (sign in "/%" and not b.number):
            return number(compute(a.number, b.number), one_type(a.type, b.type) or LONG)
        if op in (ast.LShift, ast.RShift):
            a = self.cast(a, LONG) if a.made.itemsize < LONG.itemsize else a
            return Spelled(f"{a.within(TIMES)} {sign} {b.within(TIMES)}", LONG, LONG, order, a.natural)
        if op is ast.Div and "f" not in a.type.kind + b.type.kind:
            a = self.cast(a, DOUBLE)
        whole = op in (ast.FloorDiv, ast.Mod) and "f" not in a.type.kind + b.type.kind
        natural = a.natural and b.natural
        a, b, dtype = self.same(a, b, exact=not whole)
        if op in (ast.FloorDiv, ast.Mod) and not (whole and natural):
            name = ("float_" if not whole else "floor_") + ("div" if op is ast.FloorDiv else "mod")
            a, b = self.cast(a, dtype), self.cast(b, dtype)
            return Spelled(f"{self.helper(name)}({a.text}, {b.text})", dtype, dtype, ATOM, False)
        made = in_cpp(a.made, b.made)
        left, right = (TIMES, TIMES) if order < SHIFT else (order, order + (op is not ast.Add or dtype.kind == "f"))
        text = f"{a.within(left)} {sign} {b.within(right)}"
        if a.type == b.type == BOOL and order < SHIFT:
            dtype = made = BOOL
        return Spelled(text, dtype, made, order, natural and op is not ast.Sub)

    def compare(self, op: type[ast.AST], a: Spelled, b: Spelled) -> Spelled:
        """One comparison."""
        a, b, _ = self.same(a, b, exact=False)
        sign, order = COMPARED[op]
        return Spelled(f"{a.within(order + 1)} {sign} {b.within(order + 1)}", BOOL, BOOL, order, True)

    def choice(self, condition: Spelled, a: Spelled, b: Spelled) -> Spelled:
        """condition ? a : b."""
        natural = a.natural and b.natural
        if a.type == b.type == BOOL:
            dtype, made = BOOL, BOOL
        else:
            a, b, dtype = self.same(a, b, exact=False)
            made = in_cpp(a.made, b.made)
        first = condition.within(ATOM if OR <= condition.order <= AND else EITHER)
        text = f"{first} ? {a.within(CHOICE + 1)} : {b.within(CHOICE)}"
        return Spelled(text, dtype, made, CHOICE, natural)

    def math(self, name: str, given: Sequence[Spelled]) -> Spelled:
        """A function of floats: of floats it makes a float, of anything else a double."""
        kinds = {x.type for x in given if x.number is None or x.type == FLOAT}
        dtype = FLOAT if kinds == {FLOAT} else DOUBLE
        parts = [x if x.type == dtype and x.number is None else self.cast(x, dtype) for x in given]
        return Spelled(f"{name}{'f' * (dtype == FLOAT)}({', '.join(x.text for x in parts)})", dtype, dtype)


def joined(sign: str, order: int, parts: Sequence[Spelled]) -> Spelled:
    """Conditions with && or || between them; brackets around && in ||, as compilers like it."""
    texts = (p.within(ATOM if {p.order, order} == {BOTH, EITHER} else order) for p in parts)
    return Spelled(f" {sign} ".join(texts), BOOL, BOOL, order, True)


def number(value: Any, dtype: DType, typed: bool = False) -> Spelled:
    """A number in the text; `typed`: it has said of which dtype it is, and keeps that."""
    text, made = literal(value, dtype), dtype
    if dtype.kind in "iu":
        made = next(t for t in (INT, UNSIGNED, LONG, UNSIGNED_LONG) if np.iinfo(t).min <= value <= np.iinfo(t).max)
    if typed and dtype != made:
        long = {LONG: "LL", UNSIGNED_LONG: "ULL"}.get(dtype)
        text, made = f"{text}{long}" if long else f"({NAMES[dtype]}){text}", dtype
    order = UNARY if text[0] in "-(" else ATOM
    return Spelled(text, dtype, made, order, bool(value >= 0), None if typed else value)
