"""Expressions of C++: how does an expression of a kernel read there, and what is its type?

    a0[i0, i1] * c0        a0[i0 * a0_n1 + i1] * c0       float, if both are
    j // n1                j / n1                         where neither is negative; else floor_div(j, n1)
    -(-n0 // 16)           (n0 + 15) / 16
    cuda.grid(1)           (long long)blockIdx.x * blockDim.x + threadIdx.x

Two types go with a text: the one that it has in numba, and the one that C++ gives it. Where they would lead to another
result there is a cast.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.cpp_words import BOOL, DOUBLE, FLOAT, HELPERS, HIP_HELPERS, INT, LONG, NAMES, UNSIGNED
from jt_edu.cuda.cpp_words import UNSIGNED_LONG, DType, in_cpp
from jt_edu.cuda.cpp_words import literal, one_type, together
from jt_edu.cuda.kernel_names import KernelName
from jt_edu.cuda.translator import MODULES

ATOM, UNARY, TIMES, PLUS, SHIFT, LESS, EQUAL, AND, XOR, OR, BOTH, EITHER, CHOICE = 16, 15, 13, 12, 11, 9, 8, 7, 6, 5, 4, 3, 2
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
TAKEN = frozenset((  # names that a kernel of Python may have, and a text of C++ not
    "auto", "bool", "case", "catch", "char", "const", "default", "delete", "do", "double", "enum", "extern", "float",
    "goto", "inline", "int", "long", "namespace", "new", "operator", "private", "public", "register", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "typedef", "union", "unsigned", "using",
    "virtual", "void", "volatile", *HELPERS, *HIP_HELPERS,
))  # fmt: skip


def spelled(name: str) -> str:
    """A name, or another one where C++ has a meaning of its own for it."""
    return name + "_" if name in TAKEN else name


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


class Array(NamedTuple):
    """An array of a kernel: what is known of it before it runs."""

    name: str
    dtype: DType
    lengths: tuple[int | str, ...]  # as numbers; as names, where a launch says them
    inner: bool = False  # shared or local, with its lengths in its type


class Expressions:
    """Spells expressions of one function, whose names have the types that are known so far."""

    space: Mapping[str, Any]  # what names stand for outside
    lines: Sequence[str]
    first: int

    def __init__(self) -> None:
        self.types: dict[str, DType] = {}
        self.naturals: dict[str, bool] = {}
        self.arrays: dict[str, Array] = {}
        self.own: set[str] = set()
        self.lengths: set[str] = set()  # those that the text reads
        self.written: set[str] = set()

    def wrong(self, node: Any, asked: str, way: str) -> KernelError:
        """The error for something that has no spelling: it names the line."""
        number = node.lineno - self.first + 1
        return KernelError(asked, f"line {number} of the kernel: {self.lines[number - 1].strip()}", way)

    def spell(self, node: ast.expr) -> Spelled:
        """An expression that is one number."""
        spell = getattr(self, f"spell_{type(node).__name__}", None)
        if spell is None:
            kind = type(node).__name__
            raise self.wrong(node, f"a text of C++ has no {kind} here", "arithmetic, comparisons, a[i, j] and calls")
        found: Spelled = spell(node)
        return found

    # ---------------------------------------------------------------------------------------------- names and numbers

    def value(self, node: ast.expr) -> Any:
        """What a name, or a chain of names, stands for outside of the function; None, if for nothing."""
        if isinstance(node, ast.Name) and node.id not in self.own:
            return self.space.get(node.id, getattr(builtins, node.id, None))
        return getattr(self.value(node.value), node.attr, None) if isinstance(node, ast.Attribute) else None

    def word(self, node: ast.expr) -> str:
        """The part behind `cuda.`, such as threadIdx.x; empty for anything else."""
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            if isinstance(base, ModuleType) and base.__name__ in MODULES:
                return node.attr
            inner = self.word(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        found = self.value(node)
        return found.name if isinstance(found, KernelName) else ""

    def constant(self, value: Any) -> Spelled | None:
        """A number that is known now; Python's own takes the dtype of what it meets."""
        if isinstance(value, (np.generic, bool)):
            dtype = np.dtype(type(value))
            return self.cast(self.constant(value.item()), dtype) if isinstance(value, np.generic) else _number(value, BOOL)
        if isinstance(value, (int, float)):
            return _number(value, LONG if isinstance(value, int) else DOUBLE)
        return None

    def spell_Constant(self, node: ast.Constant) -> Spelled:
        """A number in the text."""
        found = self.constant(node.value)
        if found is None:
            raise self.wrong(node, "a kernel in C++ computes with numbers", "a number")
        return found

    def spell_Name(self, node: ast.Name) -> Spelled:
        """A variable, or a number from outside."""
        name = node.id
        if name in self.types:
            return Spelled(spelled(name), self.types[name], self.types[name], ATOM, self.naturals[name])
        if name in self.arrays:
            raise self.wrong(node, f"an element of {name} is a number", f"{name}[i]")
        found = None if name in self.own else self.constant(self.value(node))
        if found is None:
            raise self.wrong(node, f"{name} is a number here", "an argument, or a number from outside")
        return found

    def spell_Attribute(self, node: ast.Attribute) -> Spelled:
        """`x.size`, `cuda.threadIdx.x`, or a number in a module."""
        word, array = self.word(node), self.arrays.get(getattr(node.value, "id", ""))
        if word:
            return self.spell_word(node, word)
        if array is not None and node.attr in ("size", "ndim"):
            sizes = [self.length(array, axis) for axis in range(len(array.lengths))]
            return self.product(sizes) if node.attr == "size" else _number(len(sizes), LONG)
        found = self.constant(self.value(node))
        if found is None:
            raise self.wrong(node, f"{ast.unparse(node)} is a number here", "x.shape[0], x.size, or a number")
        return found

    def spell_word(self, node: ast.expr, word: str) -> Spelled:
        """A number that a thread has."""
        head, _, axis = word.partition(".")
        if head in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis in ("x", "y", "z"):
            return Spelled(word, LONG, UNSIGNED, ATOM, True)
        if word == "laneid":
            return Spelled(self.helper("laneid") + "()", LONG, UNSIGNED, ATOM, True)
        if word == "warpsize":
            return _number(32, LONG)
        raise self.wrong(node, f"cuda.{word} is a number here", "cuda.threadIdx.x, blockIdx, blockDim or gridDim")

    def helper(self, name: str) -> str:
        """A function that C++ lacks; it will be written above the kernel."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------- arrays

    def length(self, array: Array, axis: int) -> Spelled:
        """How long an axis is: a number, or a parameter that now has to be there."""
        length = array.lengths[axis]
        if isinstance(length, int):
            return _number(length, LONG)
        self.lengths.add(length)
        return Spelled(length, LONG, LONG, ATOM, True)

    def product(self, factors: Sequence[Spelled]) -> Spelled:
        """All of them multiplied; 1 of none."""
        found = factors[0] if factors else _number(1, LONG)
        for factor in factors[1:]:
            found = self.binary(ast.Mult, found, factor)
        return found

    def cell(self, node: ast.Subscript) -> tuple[Array, str]:
        """An element: its array, and how it is written."""
        name = getattr(node.value, "id", "")
        if name not in self.arrays:
            raise self.wrong(node, "what has [] is an array of the kernel, by its name", "x[i, j]")
        array, index = self.arrays[name], node.slice
        places = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(places) != len(array.lengths):
            asked = f"{name} has {len(array.lengths)} axes, and an element a number for each"
            raise self.wrong(node, asked, f"{name}[{', '.join('ijklmn'[: len(array.lengths)]) or '()'}]")
        where = [self.spell(place) for place in places]
        if any(w.type.kind not in "iu" for w in where):
            raise self.wrong(node, f"an index of {name} is a whole number", "i // 2 for a half")
        if array.inner:
            return array, spelled(name) + "".join(f"[{w.text}]" for w in where)
        flat = where[0] if where else _number(0, LONG)
        for axis, place in enumerate(where[1:], 1):
            flat = self.binary(ast.Add, self.binary(ast.Mult, flat, self.length(array, axis)), place)
        return array, f"{spelled(name)}[{flat.text}]"

    def spell_Subscript(self, node: ast.Subscript) -> Spelled:
        """`a[i, j]`, `x.shape[0]` or `cuda.grid(2)[0]`."""
        count = self.several_count(node.value)
        if not count:
            array, text = self.cell(node)
            return Spelled(text, array.dtype, array.dtype, ATOM, array.dtype.kind in "bu")
        at = self.spell(node.slice).number
        if not isinstance(at, int) or not -count <= at < count:
            raise self.wrong(node, f"one of {count} numbers, by a number in the text", "x.shape[0]")
        return self.one_of(node.value, at % count)

    def several_count(self, node: ast.expr) -> int:
        """How many numbers stand together in `a, b`, `x.shape` and `cuda.grid(2)`; 0 for anything else."""
        match node:
            case ast.Tuple(parts) | ast.List(parts):
                return len(parts)
            case ast.Attribute(ast.Name(name), "shape") if name in self.arrays:
                return len(self.arrays[name].lengths)
            case ast.Call(function, [axes], []) if self.word(function) in ("grid", "gridsize"):
                number = self.spell(axes).number
                return number if number in (1, 2, 3) else 0
        return 0

    def one_of(self, node: Any, at: int) -> Spelled:
        """One of them."""
        if isinstance(node, ast.Call):
            return self.in_grid(self.word(node.func), "xyz"[at])
        return self.length(self.arrays[node.value.id], at) if isinstance(node, ast.Attribute) else self.spell(node.elts[at])

    def several(self, node: ast.expr) -> list[Spelled]:
        """All of them; none where there are none."""
        return [self.one_of(node, at) for at in range(self.several_count(node))]

    def in_grid(self, word: str, axis: str) -> Spelled:
        """The number of a thread in the grid, or how many there are, along an axis."""
        which = "blockIdx" if word == "grid" else "gridDim"
        parts = (Spelled(f"{name}.{axis}", LONG, UNSIGNED, ATOM, True) for name in (which, "blockDim", "threadIdx"))
        block, size, thread = parts
        first = self.binary(ast.Mult, block, size)
        return self.binary(ast.Add, first, thread) if word == "grid" else first

    # --------------------------------------------------------------------------------------------------- arithmetic

    def cast(self, x: Any, dtype: DType) -> Spelled:
        """The same number as another type."""
        if x.number is not None:
            return _number(dtype.type(x.number).item(), dtype, typed=True)
        if dtype == BOOL and x.type != BOOL:
            return self.compare(ast.NotEq, x, _number(0, LONG))
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
        a, b = (_number(x.number, dtype) if x.number is not None and x.type.kind == dtype.kind == "f" else x for x in (a, b))
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

    def spell_BinOp(self, node: ast.BinOp) -> Spelled:
        """Arithmetic."""
        a, b = self.spell(node.left), self.spell(node.right)
        if isinstance(node.op, ast.Pow):
            if b.number in (2, 3) and a.order == ATOM and a.type.kind in "if":
                return self.product([a] * b.number)
            if "f" not in a.type.kind + b.type.kind:
                raise self.wrong(node, "a power is one of floats, or the second or third", "x * x")
            return self.math("pow", [a, b])
        if type(node.op) not in BINARY:
            raise self.wrong(node, "arithmetic of numbers has a spelling, that of matrices none", "loops")
        if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)) and "f" in (
            a.type.kind + b.type.kind
        ):
            raise self.wrong(node, "bits are those of whole numbers", "int(x)")
        return self.binary(type(node.op), a, b)

    def binary(self, op: type[ast.AST], a: Spelled, b: Spelled) -> Spelled:
        """Two numbers with an operator between them."""
        sign, order, compute = BINARY[op]
        if a.number is not None and b.number is not None and not (sign in "/%" and not b.number):
            return _number(compute(a.number, b.number), one_type(a.type, b.type) or LONG)
        if op in (ast.LShift, ast.RShift):
            a = self.cast(a, LONG) if a.made.itemsize < LONG.itemsize and a.number is None else a
            text = f"{a.text}LL" if a.number is not None else a.within(TIMES)
            return Spelled(f"{text} {sign} {b.within(TIMES)}", LONG, LONG, order, a.natural)
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
        return Spelled(text, dtype, made, order, natural and op is not ast.Sub)

    def spell_UnaryOp(self, node: ast.UnaryOp) -> Spelled:
        """-x, +x, ~x and not x."""
        if isinstance(node.op, ast.Not):
            return Spelled(f"!{self.condition(node.operand).within(UNARY)}", BOOL, BOOL, UNARY, True)
        whole = self.rounded_up(node)
        x = whole or self.spell(node.operand)
        if whole or isinstance(node.op, ast.UAdd):
            return x
        if x.number is not None and isinstance(node.op, ast.USub):
            return _number(-x.number, x.type if x.type != BOOL else LONG)
        x = x if x.type.kind == "f" else self.cast(x, together(x.type, BOOL) if x.number is None else LONG)
        sign = "-" if isinstance(node.op, ast.USub) else "~"
        text = f"({x.text})" if x.text.startswith(sign) else x.within(UNARY)
        return Spelled(f"{sign}{text}", x.type, x.made, UNARY)

    def rounded_up(self, node: ast.UnaryOp) -> Spelled | None:
        """`-(-n // 16)`, which is n / 16 rounded up."""
        match node:
            case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), n), ast.FloorDiv(), by)):
                n, by = self.spell(n), self.spell(by)
                if n.natural and by.natural and by.number and n.type.kind in "iu":
                    return self.binary(ast.FloorDiv, self.binary(ast.Add, n, _number(by.number - 1, LONG)), by)
        return None

    def spell_Compare(self, node: ast.Compare) -> Spelled:
        """a < b; a < b < c is two of them."""
        sides = [self.spell(side) for side in (node.left, *node.comparators)]
        if any(type(op) not in COMPARED for op in node.ops):
            raise self.wrong(node, "a comparison is one of numbers", "<, <=, >, >=, == or !=")
        parts = [self.compare(type(op), a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False)]
        return parts[0] if len(parts) == 1 else _joined("&&", BOTH, parts)

    def compare(self, op: type[ast.AST], a: Spelled, b: Spelled) -> Spelled:
        """One comparison."""
        a, b, _ = self.same(a, b, exact=False)
        sign, order = COMPARED[op]
        return Spelled(f"{a.within(order + 1)} {sign} {b.within(order + 1)}", BOOL, BOOL, order, True)

    def spell_BoolOp(self, node: ast.BoolOp) -> Spelled:
        """`and`, `or`: of conditions, for of numbers Python makes a number."""
        if any(self.spell(value).type != BOOL for value in node.values):
            raise self.wrong(node, "`and` and `or` are between conditions", "x != 0")
        return self.condition(node)

    def condition(self, node: ast.expr) -> Spelled:
        """What an `if` asks: numbers count as `!= 0`."""
        if isinstance(node, ast.BoolOp):
            sign, order = ("&&", BOTH) if isinstance(node.op, ast.And) else ("||", EITHER)
            return _joined(sign, order, [self.condition(value) for value in node.values])
        return self.spell(node)

    def spell_IfExp(self, node: ast.IfExp) -> Spelled:
        """One number or another."""
        return self.choice(self.condition(node.test), self.spell(node.body), self.spell(node.orelse))

    def choice(self, condition: Spelled, a: Spelled, b: Spelled) -> Spelled:
        """condition ? a : b."""
        natural = a.natural and b.natural
        if a.type == b.type == BOOL:
            dtype, made = BOOL, BOOL
        else:
            a, b, dtype = self.same(a, b, exact=False)
            made = in_cpp(a.made, b.made)
        text = f"{condition.within(CHOICE + 1)} ? {a.within(CHOICE + 1)} : {b.within(CHOICE)}"
        return Spelled(text, dtype, made, CHOICE, natural)

    def math(self, name: str, given: Sequence[Spelled]) -> Spelled:
        """A function of floats: of floats it makes a float, of anything else a double."""
        kinds = {x.type for x in given if x.number is None or x.type == FLOAT}
        dtype = FLOAT if kinds == {FLOAT} else DOUBLE
        parts = [x if x.type == dtype and x.number is None else self.cast(x, dtype) for x in given]
        return Spelled(f"{name}{'f' * (dtype == FLOAT)}({', '.join(x.text for x in parts)})", dtype, dtype)


def _joined(sign: str, order: int, parts: Sequence[Spelled]) -> Spelled:
    """Conditions with && or || between them; brackets around && in ||, as compilers like it."""
    return Spelled(f" {sign} ".join(p.within(max(order, BOTH + (p.order == BOTH))) if p.order != order else p.text
                                    for p in parts), BOOL, BOOL, order, True)


def _number(value: Any, dtype: DType, typed: bool = False) -> Spelled:
    """A number in the text; `typed`: it has said of which dtype it is, and keeps that."""
    text = literal(value, dtype)
    made = dtype if dtype.kind in "fb" else INT if -(2**31) <= value < 2**31 else UNSIGNED if 0 <= value < 2**32 else LONG
    order = UNARY if text.startswith("-") else ATOM
    if typed and dtype.kind in "iu" and dtype != INT:
        return Spelled(f"({NAMES[dtype]}){text}", dtype, dtype, UNARY, value >= 0)
    return Spelled(text, dtype, made, order, bool(value >= 0), None if typed else value)


__all__ = ["Array", "Expressions", "Spelled", "math", "spelled"]
