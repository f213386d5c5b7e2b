"""Index expr: which element of an array does an operator look at?

An `Index` is arithmetic on loop counters, kept as a value: `lambda i, j: (j, i + 1)` is called with counters and
returns two of them. Looking through two views at once is putting the answer of one into the other (`at`), so no
text is ever pasted together, and `i0 * 2` after `i0 + 1` is `(i0 + 1) * 2`.

    counter(k)      the k-th loop counter              size(n)    a length: an argument of the kernel, not of its text
    load(k, where)  an element of the k-th index array           everything else is +, -, *, //, %, <, <=, ==, and, or

Nothing here knows arrays, nodes or kernels.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Union

from jt_edu.base.errors import ArgumentError

Where = Union["Index", int]
Operator = Callable[["Index", Where], "Index"]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
    "and": lambda a, b: (a != 0) & (b != 0), "or": lambda a, b: (a != 0) | (b != 0),  # of arrays, too
}  # fmt: skip


def _of_two(op: str) -> tuple[Operator, Operator]:
    """What `i + 1` does, and `1 + i`."""
    return lambda a, b: binary(op, a, b), lambda a, b: binary(op, b, a)


class Index:
    """Arithmetic on loop counters, as an immutable value that can be compared and hashed."""

    __slots__ = ("_hash", "args", "op")

    def __init__(self, op: str, *args: Any) -> None:
        self.op, self.args = op, args
        self._hash = hash((op, args))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Index) and self._hash == other._hash and self.op == other.op
        return self is other or (same and self.args == other.args)  # type: ignore[attr-defined]

    __add__, __radd__ = _of_two("+")
    __sub__, __rsub__ = _of_two("-")
    __mul__, __rmul__ = _of_two("*")
    __floordiv__, __rfloordiv__ = _of_two("//")
    __mod__, __rmod__ = _of_two("%")
    __lt__, __le__ = (_of_two(op)[0] for op in ("<", "<="))
    __gt__, __ge__ = (_of_two(op)[1] for op in ("<", "<="))

    def __neg__(self) -> Index:
        return binary("-", 0, self)

    def __bool__(self) -> bool:
        asked = "an index expression has no truth value: it is not computed yet"
        raise ArgumentError(asked, f"`{self}`", "both(a, b) for a condition on two axes")

    def __repr__(self) -> str:
        return render(self, lambda k: f"i{k}", lambda s: str(s.args[0]), _element_name)

    def at(self, here: Sequence[Index]) -> Index:
        """The same expression, with counter k replaced by `here[k]`."""
        if self.op == "counter":
            k: int = self.args[0]
            return here[k]
        if self.op in ("int", "size"):
            return self
        if self.op == "load":
            return Index("load", self.args[0], tuple(w.at(here) for w in self.args[1]))
        return binary(self.op, self.args[0].at(here), self.args[1].at(here))


@cache
def counter(k: int) -> Index:
    """The k-th loop counter."""
    return Index("counter", k)


@cache
def counters(n: int) -> tuple[Index, ...]:
    """The first n loop counters."""
    return tuple(counter(k) for k in range(n))


def size(n: int) -> Index:
    """The number n as an argument of the kernel, so that another n needs no new kernel."""
    return Index("size", n)


def load(k: int, where: Where | Sequence[Where]) -> Index:
    """An element of the k-th index array of a reindex; of an array with one axis `load(0, i)` will do."""
    return Index("load", k, tuple(as_index(w) for w in (where if isinstance(where, Sequence) else (where,))))


def both(a: Where, b: Where) -> Index:
    """True where both conditions hold."""
    return binary("and", a, b)


def as_index(value: Where) -> Index:
    """An Index from an Index or a whole number."""
    if isinstance(value, Index):
        return value
    try:
        return Index("int", operator.index(value))
    except TypeError:
        raise ArgumentError("an index is made of counters and whole numbers", repr(value)) from None


def binary(op: str, a: Where, b: Where) -> Index:
    """`a op b`, computed at once where both are plain numbers, and without adding 0 or multiplying by 1."""
    a, b = as_index(a), as_index(b)
    if a.op == b.op == "int":
        if op in ("//", "%") and b.args[0] == 0:
            raise ArgumentError(f"an index cannot be divided by zero: {a} {op} 0")
        return as_index(int(OPERATORS[op](a.args[0], b.args[0])))
    if b.op == "int" and (op, b.args[0]) in (("+", 0), ("-", 0), ("*", 1), ("//", 1)):
        return a
    if a.op == "int" and (op, a.args[0]) in (("+", 0), ("*", 1)):
        return b
    if b.op == "int" and op == "and":
        return a if b.args[0] else b
    return Index(op, a, b)


def parts_of(*indices: Index) -> Iterator[Index]:
    """The expressions, and all that they are made of, down to counters and numbers."""
    waiting = [*indices]
    for index in waiting:  # grows meanwhile
        yield index
        waiting += [a for a in (index.args[1] if index.op == "load" else index.args) if isinstance(a, Index)]


def counters_of(*indices: Index) -> set[int]:
    """Which counters the expressions read."""
    return {part.args[0] for part in parts_of(*indices) if part.op == "counter"}


def looks_up(index: Index) -> bool:
    """Whether an index expression reads an index array."""
    return any(part.op == "load" for part in parts_of(index))


def divides(index: Index) -> bool:
    """Whether there is a division in it."""
    return any(part.op in ("//", "%") for part in parts_of(index))


def bounds(index: Index, extents: Sequence[int]) -> tuple[float, float]:
    """Smallest and largest value, by interval arithmetic; counter k runs from 0 to extents[k] - 1."""
    if index.op == "counter":
        return 0, max(extents[index.args[0]] - 1, 0)
    if index.op in ("int", "size"):
        return index.args[0], index.args[0]
    if index.op == "load":
        return float("-inf"), float("inf")
    (a, b), (c, d) = bounds(index.args[0], extents), bounds(index.args[1], extents)
    if index.op == "+":
        return a + c, b + d
    if index.op == "-":
        return a - d, b - c
    if index.op in ("*", "//") and (index.op == "*" or c > 0 or d < 0) and float("inf") not in (b, d, -a, -c):
        ends = [OPERATORS[index.op](x, y) for x in (a, b) for y in (c, d)]
        return min(ends), max(ends)
    if index.op == "%" and c > 0:
        return (a, b) if a >= 0 and b < c else (0, d - 1)
    return (0, 1) if index.op in ("<", "<=", "==", "!=", "and", "or") else (float("-inf"), float("inf"))


PRECEDENCE = {"or": 1, "and": 2, "<": 3, "<=": 3, "==": 3, "!=": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}


def _element_name(index: Index) -> str:
    """How an element of an index array is written where nobody gave the array a name."""
    if index.op == "wrapped":
        return repr(index.args[0])
    array = index.args[0] if isinstance(index.args[0], int) else ""
    return f"@e{array}({', '.join(map(repr, index.args[1]))})"


def render(
    index: Index, name: Callable[[int], str], length: Callable[[Index], str], element: Callable[[Index], str],
    outside: int = 0,
) -> str:  # fmt: skip
    """The expression as Python text: `name` spells a counter, `length` a size, `element` a load."""
    if index.op == "counter":
        return name(index.args[0])
    if index.op == "int":
        return str(index.args[0])
    if index.op == "size":
        return length(index)
    if index.op in ("load", "wrapped", "value"):
        return element(index)
    level = PRECEDENCE[index.op]
    left = render(index.args[0], name, length, element, level)
    right = render(index.args[1], name, length, element, level if index.op in ("and", "or", "+") else level + 1)
    text = f"{left} {index.op} {right}"
    return f"({text})" if level < outside or (level == outside == 3) else text


C_WORDS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (r"@e(\d+)\(", r"e\1("), (r"(?<!/)/(?!/)", "//"))


def parse(text: str, shape: Sequence[int]) -> Index:
    """An Index from Jittor's spelling: `"i0*2+i1"`, `"xshape1-1-i0"`, `"@e0(i1)"`, `"i0<0 || i1>=xshape1"`.

    `/` divides whole numbers and rounds down. Where the dividend is negative Jittor's C rounds towards zero instead.

    Example:
        >>> parse("i0*2 + xshape1 - 1", (4, 5))
        i0 * 2 + 5 - 1
    """
    python = text
    for pattern, replacement in C_WORDS:
        python = re.sub(pattern, replacement, python)
    try:
        return _parsed(ast.parse(python.strip(), mode="eval").body, shape)
    except (SyntaxError, RecursionError, MemoryError):  # the last two: too many brackets, or operators
        raise ArgumentError("an index expression is arithmetic on i0, i1, ...", f"`{text:.60}`", "'i0*2+i1'") from None


AST_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Lt: "<", ast.LtE: "<=",
    ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
}  # fmt: skip


def _parsed(tree: ast.expr, shape: Sequence[int]) -> Index:
    match tree:
        case ast.Constant(value=int(number)):
            return as_index(number)
        case ast.Name(id=name) if found := re.fullmatch(r"i(\d+)", name):
            return counter(int(found[1]))
        case ast.Name(id=name) if (found := re.fullmatch(r"xshape(\d+)", name)) and int(found[1]) < len(shape):
            return size(shape[int(found[1])])
        case ast.BinOp(left=a, op=op, right=b) if type(op) in AST_OPERATORS:
            return binary(AST_OPERATORS[type(op)], _parsed(a, shape), _parsed(b, shape))
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -_parsed(a, shape)
        case ast.UnaryOp(op=ast.Not(), operand=a):
            return binary("==", _parsed(a, shape), 0)
        case ast.Compare(left=a, ops=[ast.Gt() | ast.GtE() as op], comparators=[b]):
            return binary("<" if isinstance(op, ast.Gt) else "<=", _parsed(b, shape), _parsed(a, shape))
        case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in AST_OPERATORS:
            return binary(AST_OPERATORS[type(op)], _parsed(a, shape), _parsed(b, shape))
        case ast.BoolOp(op=op, values=[first, *rest]):
            answer = _parsed(first, shape)
            for part in rest:
                answer = binary(AST_OPERATORS[type(op)], answer, _parsed(part, shape))
            return answer
        case ast.Call(func=ast.Name(id=name), args=where) if found := re.fullmatch(r"e(\d+)", name):
            return load(int(found[1]), [_parsed(w, shape) for w in where])
    raise ArgumentError("an index expression is arithmetic on i0, i1, ... and xshape0, ...", f"`{ast.unparse(tree)}`")
