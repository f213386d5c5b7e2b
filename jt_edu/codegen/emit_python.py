"""Emit Python: a nest of loops prints itself as Python.

    def kernel(lo, hi, n1, a0, a1, out0):
        for i0 in range(lo, hi):
            s0 = float64(0)
            for i1 in range(n1):
                t0 = a0[at(i0), i1] * a1[i1]
                s0 = s0 + t0
            out0[at(i0)] = float32(s0)

One statement per operator. Lengths are parameters, so another shape needs no other kernel. `at` says that a counter is
never negative, which numba cannot see for itself when a loop does not begin at 0.

What comes out is a `Source`: this text, and what its parameters are. A backend needs nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from jt_edu.base.dtypes import DType
from jt_edu.codegen.loop_ir import BLOCK, SUMMED, Access, Ahead, Block, Loop, Nest, Store, Update, Value
from jt_edu.codegen.prefetch import LARGE, SIDE, streamed
from jt_edu.ir.index_expr import Index, render
from jt_edu.ir.meta_ops import Elementwise, ReindexReduce
from jt_edu.ir.node import Node, Shape

LETTERS = ("n", "k", "c", "a", "out", "acc", "row")  # parameters: lengths, sizes, numbers, arrays, and rooms for sums
NAMES = re.compile(r"(?<![\w.])(?:[a-z_]\w*(?=\()|inf\b|nan\b)")  # what a body needs: functions, and two constants


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: an array (`rank` >= 0) or a number (`rank` is None)."""

    name: str
    dtype: str  # as NumPy spells it: "float32", "int64", "uint16" (the storage of float16 and bfloat16)
    rank: int | None = None


@dataclass(frozen=True)
class Source:
    """Python text that defines `kernel(lo, hi, ...)`, and the types of its parameters.

    `lo` and `hi` (int64) bound the outermost loop, so that threads can share the work. Arrays are C-contiguous. Where
    they are `apart`, no memory that is written is that of another parameter too: what was read may stay in registers.
    """

    text: str
    parameters: tuple[Parameter, ...]  # without lo and hi
    entry: str = field(default="kernel")
    apart: bool = False

    @cached_property
    def key(self) -> str:
        """Two kernels with the same key are the same program."""
        spelled = self.text + repr([(p.name, p.dtype, p.rank) for p in self.parameters] + [self.entry, self.apart])
        return hashlib.sha256(spelled.encode()).hexdigest()[:24]


@dataclass(frozen=True, eq=False)
class Argument:
    """What the executor passes for a parameter: a length, a number of the graph, or an array seen under a shape."""

    kind: str  # "length", "number", "in", "out", "scratch"
    node: Node | None = None
    length: int = 0
    shape: Shape = ()
    dtype: str = ""  # of scratch


@dataclass(frozen=True)
class Text:
    """A kernel as text, with what to pass for each parameter, and which line computes which node."""

    source: Source
    arguments: tuple[Argument, ...]
    lines: tuple[tuple[int, Node], ...]


class Printer:
    """Prints one nest; names are given in order of appearance, so that equal nests give equal text."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.rows: list[str] = []
        self.lines: list[tuple[int, Node]] = []
        self.parameters: dict[str, dict[object, tuple[Parameter, Argument]]] = {letter: {} for letter in LETTERS}
        self.axes: dict[int, str] = {}
        self.names: dict[Value | Access | Store, str] = {}
        self.counts: dict[str, int] = {}
        self.shifted: set[int] = set()  # loops that do not begin at 0
        self.sides: dict[int, str] = {}  # loops along a side of a square, and from where to where they go

    def print(self) -> Text:
        """Header, imports of what the body calls, and the body."""
        self._block(self.nest.top, 1)
        listed = [entry for letter in LETTERS for entry in self.parameters[letter].values()]
        parameters, arguments = tuple([p for p, _ in listed]), tuple([a for _, a in listed])
        body = "\n".join(self.rows)
        used = sorted(set(NAMES.findall(body)) - {"range"})
        top = [f"from jt_edu.backends.mathlib import {', '.join(used)}", "", ""] if used else []
        signature = ", ".join(["lo", "hi", *[p.name for p in parameters]])
        text = "\n".join([*top, f"def kernel({signature}):", body or "    pass", ""])
        seen = Counter([a.node for a in arguments if a.kind in ("in", "out", "scratch")])
        apart = all(seen[a.node] == 1 for a in arguments if a.kind in ("out", "scratch"))
        lines = tuple([(number + len(top) + 1, node) for number, node in self.lines])
        return Text(Source(text, parameters, apart=apart), arguments, lines)

    def _write(self, depth: int, text: str, node: Node | None = None) -> None:
        self.rows.append("    " * depth + text)
        if node is not None:
            self.lines.append((len(self.rows), node))

    def _new(self, letter: str) -> str:
        number = self.counts.get(letter, 0)
        self.counts[letter] = number + 1
        return f"{letter}{number}"

    # statements

    def _block(self, block: Block, depth: int) -> None:
        for item in block.items:
            match item:
                case Loop():
                    self._loop(item, depth)
                case Update():
                    self._update(item, depth)
                case Store():
                    stored = _to_storage(self._use(item.value), item.node, item.access)
                    self._write(depth, f"{self.names.get(item) or self._cell(item.access)} = {stored}", item.node)
                case Value():
                    self._value(item, depth)
                case Ahead():
                    row, array = self._index(item.access.where[0]), self._cell(item.access).partition("[")[0]
                    self._write(depth, f"ahead({array}, {row} + 1)", item.node)

    def _loop(self, loop: Loop, depth: int) -> None:
        name = self.axes.setdefault(loop.axis, f"i{len(self.axes)}")
        items, extent, first, last = loop.body.items, self.nest.extents[loop.axis], "lo", "hi"
        if loop.axis != self.nest.span:
            first, last = "0", self._parameter(("n", loop.axis), "n", "int64", Argument("length", length=extent))
        sums = [i for i in items if isinstance(i, Update) and i.plain < extent and i.access.role == "register"]
        stores = streamed(self.nest, loop) if self.nest.work * 8 > LARGE and not self.sides else []
        if loop.head:
            self._loop_in_pieces(loop, first, last, depth)
        elif loop.across:
            self._loop_in_squares(loop, loop.across, (first, last), depth)
        elif sums or stores:
            self._loop_in_blocks(loop, sums, stores, last, depth)
        else:
            whole = "lo, hi" if first == "lo" else last
            self._write(depth, f"for {name} in range({self.sides.get(loop.axis, whole)}):")
            self._block(loop.body, depth + 1)

    def _loop_in_pieces(self, loop: Loop, first: str, last: str, depth: int) -> None:
        """Find out how far the conditions stay as they are, and go that far."""
        counter, begin, end = self.axes[loop.axis], self._new("b"), self._new("e")
        node = next(item.node for item in loop.head if isinstance(item, Value))
        self._write(depth, f"{begin} = {first}", node)
        self._write(depth, f"while {begin} < {last}:")
        self.axes[loop.axis] = begin
        for item in loop.head:
            if isinstance(item, Value):
                self._value(item, depth + 1)
            else:
                self._write(depth + 1, f"{end} = until({begin}, {self._index(item)}, {last})", node)
                last = end
        self.axes[loop.axis] = counter
        self._write(depth + 1, f"for {counter} in range({begin}, {end}):")
        self.shifted.add(loop.axis)
        self._block(loop.body, depth + 2)
        self.shifted.discard(loop.axis)
        self._write(depth + 1, f"{begin} = {end}", node)

    def _loop_in_squares(self, loop: Loop, inner: Loop, ends: tuple[str, str], depth: int) -> None:
        """Two loops from square to square; in a whole one two loops of fixed length, and the same in what is left."""
        (first, last), extent = ends, self.nest.extents[inner.axis]
        length = self._parameter(("n", inner.axis), "n", "int64", Argument("length", length=extent))
        down, right, counts = self._new("b"), self._new("b"), self.counts
        self._write(depth, f"for {down} in range({first}, {last}, {SIDE}):")
        self._write(depth + 1, f"for {right} in range(0, {length}, {SIDE}):")
        whole = f"if {down} + {SIDE} <= {last} and {right} + {SIDE} <= {length}:"
        for head, end in ((whole, "{0} + {2}"), ("else:", "minimum({0} + {2}, {1})")):
            self.counts = counts.copy()  # the same names in both
            sides = ((loop, down, last), (inner, right, length))
            self.sides = {side.axis: f"{at}, {end.format(at, stop, SIDE)}" for side, at, stop in sides}
            self._write(depth + 2, head)
            self._loop(Loop(loop.axis, loop.body), depth + 3)
        self.sides = {}

    def _loop_in_blocks(self, loop: Loop, sums: list[Update], stores: list[Store], last: str, depth: int) -> None:
        """Sum a block in the narrow dtype of its values, then add it up; collect what is stored, then send it off."""
        counter, begin, size = self.axes[loop.axis], self._new("b"), BLOCK if stores else SUMMED
        end, wide = f"minimum({begin} + {size}, {last})", {update: self.names[update.access] for update in sums}
        arrays = {store: self._cell(store.access).partition("[")[0] for store in stores}
        rows = {store: self._new("w") for store in stores}
        for store, row in rows.items():
            self._write(depth, f"{row} = block({arrays[store]})", store.node)
            self.names[store] = f"{row}[at({counter} - {begin})]"
        self._write(depth, f"for {begin} in range({'lo' if last == 'hi' else '0'}, {last}, {size}):")
        for update in sums:
            self.names[update.access] = self._new("p")
            self._write(depth + 1, f"{self.names[update.access]} = float32(0)", update.node)
        self._write(depth + 1, f"for {counter} in range({begin}, {end}):")
        self.shifted.add(loop.axis)
        self._block(loop.body, depth + 2)
        self.shifted.discard(loop.axis)
        for store, row in rows.items():
            part = ", ".join([*(self._position(w) for w in store.access.where[:-1]), f"{begin}:{end}"])
            self._write(depth + 1, f"stream({row}, {arrays[store]}[{part}])", store.node)
        for update, name in wide.items():
            self._write(depth + 1, f"{name} = {name} + {self.names[update.access]}", update.node)
            self.names[update.access] = name

    def _update(self, update: Update, depth: int) -> None:
        cell = self._cell(update.access)
        step = update.reducer.bodies.get(update.dtype.kind, update.reducer.step).format(cell, self._use(update.value))
        if update.guard is not None:
            self._write(depth, f"if {self._use(update.guard)}:")
            depth += 1
        self._write(depth, f"{cell} = {typed(step, update.dtype)}", update.node)

    def _value(self, value: Value, depth: int) -> None:
        if value.kind in ("number", "sum"):
            return
        if value.kind in ("load", "row") and value.uses <= 1 and value.deepest == value.depth:
            return  # written where it is used
        text = self._spell(value)
        if text.isidentifier():
            self.names[value] = text
            return
        self.names[value] = self._new({"guard": "g", "load": "x", "row": "x", "counter": "j"}.get(value.kind, "t"))
        self._write(depth, f"{self.names[value]} = {text}", value.node)

    # expressions

    def _use(self, value: Value) -> str:
        return self.names[value] if value in self.names else self._spell(value)

    def _spell(self, value: Value) -> str:
        dtype = value.node.dtype
        match value.kind:
            case "number":
                return self._parameter(value, "c", dtype.compute, Argument("number", value.node))
            case "load" | "row" | "sum":
                return self._load(value, None)
            case "counter" | "guard":
                assert value.index is not None, "counters and guards are index expressions"
                text = " and ".join([*(self._use(o) for o in value.operands), self._index(value.index)])
                return text if value.guard is None else f"({text} if {self._use(value.guard)} else 0)"
            case "start" | "final":
                assert value.register is not None, "a first and a final value have an accumulator"
                update, wide = value.register, value.register.dtype
                if value.kind == "start":
                    return literal(update.reducer.start(wide), wide)
                name = self.names[update.access]
                return name if wide == dtype else f"{dtype.compute}({name})"
            case "fill":
                return self._fill(value)
        op = value.node.op
        assert isinstance(op, Elementwise), "only elementwise operators are computed in place"
        inputs = value.operands[0].node.dtype.kind if value.operands else dtype.kind
        body = op.bodies.get(inputs, op.body).format(*(self._use(o) for o in value.operands))
        return typed(body, dtype)

    def _load(self, value: Value, otherwise: str | None) -> str:
        assert value.access is not None, "loads have an access"
        dtype, cell = value.node.dtype, self._cell(value.access)
        if value.access.role == "scratch":
            return cell if value.kind == "row" or value.access.dtype == dtype else f"{dtype.compute}({cell})"
        if dtype.is_half:
            cell = f"{_short(dtype)}_to_float({cell})"
        if value.guard is None:
            return cell
        return f"({cell} if {self._use(value.guard)} else {otherwise or literal(0, dtype)})"

    def _fill(self, value: Value) -> str:
        fill = literal(getattr(value.node.op, "fill", 0), value.node.dtype)
        (inner,) = value.operands
        assert value.guard is not None, "a fill has a condition"
        if inner.kind == "load" and inner.guard is value.guard and inner not in self.names:
            return self._load(inner, fill)
        return f"select({self._use(value.guard)}, {self._use(inner)}, {fill})"

    def _cell(self, access: Access) -> str:
        if access.role == "register":
            self.names[access] = self.names.get(access) or self._new("s")
            return self.names[access]
        if access.role == "scratch":
            return self._scratch(access)
        letter = "a" if access.role == "in" else "out"
        dtype = access.node.dtype.kernel
        array = self._parameter(
            (access.role, access.node, access.shape), letter, dtype,
            Argument(access.role, access.node, 0, access.shape), len(access.shape),
        )  # fmt: skip
        return f"{array}[{', '.join(self._position(w) for w in access.where) or '()'}]"

    def _scratch(self, access: Access) -> str:
        assert access.dtype is not None, "scratch has a dtype of its own"
        dtype = access.dtype.kernel
        letter = "acc" if isinstance(access.node.op, ReindexReduce) else "row"
        argument = Argument("scratch", access.node, 0, access.shape, dtype)
        array = self._parameter(("scratch", access.node, access.shape), letter, dtype, argument, len(access.shape))
        span = [w for w in access.where if w.op == "counter" and w.args[0] == self.nest.span]
        if span:
            return f"{array}[at({self._index(span[0])} - lo)]"
        return f"{array}[{', '.join(self._position(w) for w in access.where) or '()'}]"

    def _position(self, index: Index) -> str:
        """An index inside brackets: `at(...)` unless it is the counter of a loop that begins at 0."""
        text = self._index(index)
        plain = index.op == "counter" and index.args[0] not in {self.nest.span, *self.shifted, *self.sides}
        return text if index.op == "int" or plain else f"at({text})"

    def _index(self, index: Index) -> str:
        """An index expression; index arrays inside it become parameters."""
        if index.op == "value":
            return self._use(index.args[0])
        if index.op == "wrapped":
            return f"wrap({self._index(index.args[0])}, {self._index(index.args[1])})"
        if index.op == "load":
            node, where = index.args
            return self._cell(Access("in", node, where, node.shape))
        return render(index, self.axes.__getitem__, self._length, self._index)

    def _length(self, index: Index) -> str:
        return self._parameter(("k", id(index)), "k", "int64", Argument("length", length=index.args[0]))

    def _parameter(self, key: object, letter: str, dtype: str, argument: Argument, rank: int | None = None) -> str:
        known = self.parameters[letter]
        if key not in known:
            spelled = dtype if rank is None else dtype.rstrip("_")
            known[key] = (Parameter(f"{letter}{len(known)}", spelled, rank), argument)
        return known[key][0].name


def _short(dtype: DType) -> str:
    return "half" if dtype == "float16" else "bfloat"


def _to_storage(text: str, node: Node, access: Access) -> str:
    """Half floats are stored as bits; a kernel's own sums and rows hold them as float32."""
    half = node.dtype.is_half and access.role == "out"
    return f"float_to_{_short(node.dtype)}({text})" if half else text


def typed(body: str, dtype: DType) -> str:
    """NumPy keeps small integers small; Python and numba would widen them."""
    if dtype.kind in "iu" or (dtype.kind == "b" and re.search(r"\b(and|or|not)\b", body)):
        return body if body.startswith(f"{dtype.compute}(") and body.count("(") == 1 else f"{dtype.compute}({body})"
    return body


def literal(value: float | str, dtype: DType) -> str:
    """A number that is written down."""
    return f"{dtype.compute}({value})"
