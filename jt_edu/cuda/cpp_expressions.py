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
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.cpp_arithmetic import (
    ATOM,
    BINARY,
    BOTH,
    COMPARED,
    EITHER,
    UNARY,
    Arithmetic,
    Spelled,
    joined,
    number,
)
from jt_edu.cuda.cpp_words import (
    BOOL,
    DOUBLE,
    HELPERS,
    HIP_HELPERS,
    LONG,
    MATH,
    NAMES,
    UNSIGNED,
    DType,
    together,
)
from jt_edu.cuda.kernel_names import KernelName
from jt_edu.cuda.translator import MODULES

TAKEN = frozenset((  # names that a kernel of Python may have, and a text of C++ not
    "auto", "bool", "case", "catch", "char", "const", "default", "delete", "do", "double", "enum", "extern", "float",
    "goto", "inline", "int", "long", "namespace", "new", "operator", "private", "public", "register", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "typedef", "union", "unsigned", "using",
    "virtual", "void", "volatile", *HELPERS, *HIP_HELPERS, *MATH.values(),
))  # fmt: skip


def spelled(name: str) -> str:
    """A name, or another one where C++ has a meaning of its own for it."""
    return name + "_" if name in TAKEN else name


class Array(NamedTuple):
    """An array of a kernel: what is known of it before it runs."""

    name: str
    dtype: DType
    lengths: tuple[int | str, ...]  # as numbers; as names, where a launch says them
    inner: bool = False  # shared or local, with its lengths in its type


class Expressions(Arithmetic, ast.NodeVisitor):
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
        found: Spelled = self.visit(node)
        return found

    def generic_visit(self, node: ast.AST) -> Any:
        """Refuse what has no method here."""
        asked = f"cuda.source cannot write `{ast.unparse(node)}` in C++"
        raise self.wrong(node, asked, "arithmetic, comparisons, a[i, j] and calls")

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
        if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
            return number(value, BOOL if isinstance(value, bool) else LONG if isinstance(value, int) else DOUBLE)
        known = isinstance(value, np.generic) and value.dtype in NAMES
        return number(value.item(), value.dtype, typed=True) if known else None

    def visit_Constant(self, node: ast.Constant) -> Spelled:
        """A number in the text."""
        found = self.constant(node.value)
        if found is None:
            raise self.wrong(node, "a kernel in C++ computes with numbers", "a number")
        return found

    def visit_Name(self, node: ast.Name) -> Spelled:
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

    def visit_Attribute(self, node: ast.Attribute) -> Spelled:
        """`x.size`, `cuda.threadIdx.x`, or a number in a module."""
        word, array = self.word(node), self.arrays.get(getattr(node.value, "id", ""))
        if word:
            return self.word_of_thread(node, word)
        if array is not None and node.attr in ("size", "ndim"):
            sizes = [self.length(array, axis) for axis in range(len(array.lengths))]
            return self.product(sizes) if node.attr == "size" else number(len(sizes), LONG)
        found = self.constant(self.value(node))
        if found is None:
            raise self.wrong(node, f"{ast.unparse(node)} is a number here", "x.shape[0], x.size, or a number")
        return found

    def word_of_thread(self, node: ast.expr, word: str) -> Spelled:
        """A number that a thread has."""
        head, _, axis = word.partition(".")
        if head in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis in ("x", "y", "z"):
            return Spelled(word, LONG, UNSIGNED, ATOM, True)
        if word == "laneid":
            return Spelled(self.helper("laneid") + "()", LONG, UNSIGNED, ATOM, True)
        if word == "warpsize":
            return number(32, LONG)
        raise self.wrong(node, f"cuda.{word} is a number here", "cuda.threadIdx.x, blockIdx, blockDim or gridDim")

    # ------------------------------------------------------------------------------------------------------- arrays

    def length(self, array: Array, axis: int) -> Spelled:
        """How long an axis is: a number, or a parameter that now has to be there."""
        length = array.lengths[axis]
        if isinstance(length, int):
            return number(length, LONG)
        self.lengths.add(length)
        return Spelled(length, LONG, LONG, ATOM, True)

    def cell(self, node: ast.Subscript) -> tuple[Array, str]:
        """An element: its array, and how it is written."""
        name = getattr(node.value, "id", "")
        if name not in self.arrays:
            asked = f"before [ stands the name of an array of the kernel, and `{ast.unparse(node.value)}` is none"
            raise self.wrong(node, asked, f"an argument or a tile named {name}" if name else "x[i, j]")
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
        flat = where[0] if where else number(0, LONG)
        for axis, place in enumerate(where[1:], 1):
            flat = self.binary(ast.Add, self.binary(ast.Mult, flat, self.length(array, axis)), place)
        return array, f"{spelled(name)}[{flat.text}]"

    def visit_Subscript(self, node: ast.Subscript) -> Spelled:
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
        if isinstance(node, ast.Attribute):
            return self.length(self.arrays[ast.unparse(node.value)], at)
        return self.spell(node.elts[at])

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

    def visit_BinOp(self, node: ast.BinOp) -> Spelled:
        """Arithmetic."""
        a, b = self.spell(node.left), self.spell(node.right)
        if isinstance(node.op, ast.Pow):
            if a.number is not None and b.number is not None:
                return self.constant(a.number**b.number) or a
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

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Spelled:
        """-x, +x, ~x and not x."""
        if isinstance(node.op, ast.Not):
            return Spelled(f"!{self.condition(node.operand).within(UNARY)}", BOOL, BOOL, UNARY, True)
        whole = self.rounded_up(node)
        x = whole or self.spell(node.operand)
        if whole or isinstance(node.op, ast.UAdd):
            return x
        if x.number is not None and isinstance(node.op, ast.USub):
            return number(-x.number, x.type if x.type != BOOL else LONG)
        x = x if x.type.kind == "f" else self.cast(x, together(x.type, BOOL) if x.number is None else LONG)
        sign = "-" if isinstance(node.op, ast.USub) else "~"
        text = f"({x.text})" if x.text.startswith(sign) else x.within(UNARY)
        return Spelled(f"{sign}{text}", x.type, x.made, UNARY)

    def rounded_up(self, node: ast.UnaryOp) -> Spelled | None:
        """`-(-n // 16)`, which is n / 16 rounded up."""
        match node:
            case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), count), ast.FloorDiv(), size)):
                n, by = self.spell(count), self.spell(size)
                if n.natural and by.natural and by.number and n.type.kind in "iu":
                    return self.binary(ast.FloorDiv, self.binary(ast.Add, n, number(by.number - 1, LONG)), by)
        return None

    def visit_Compare(self, node: ast.Compare) -> Spelled:
        """a < b; a < b < c is two of them."""
        sides = [self.spell(side) for side in (node.left, *node.comparators)]
        if any(type(op) not in COMPARED for op in node.ops):
            raise self.wrong(node, "a comparison is one of numbers", "<, <=, >, >=, == or !=")
        parts = [self.compare(type(op), a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False)]
        return parts[0] if len(parts) == 1 else joined("&&", BOTH, parts)

    def visit_BoolOp(self, node: ast.BoolOp) -> Spelled:
        """`and`, `or`: of conditions, for of numbers Python makes a number."""
        if any(self.spell(value).type != BOOL for value in node.values):
            raise self.wrong(node, "`and` and `or` are between conditions", "x != 0")
        return self.condition(node)

    def condition(self, node: ast.expr) -> Spelled:
        """What an `if` asks: numbers count as `!= 0`."""
        if isinstance(node, ast.BoolOp):
            sign, order = ("&&", BOTH) if isinstance(node.op, ast.And) else ("||", EITHER)
            return joined(sign, order, [self.condition(value) for value in node.values])
        return self.spell(node)

    def visit_IfExp(self, node: ast.IfExp) -> Spelled:
        """One number or another."""
        return self.choice(self.condition(node.test), self.spell(node.body), self.spell(node.orelse))
