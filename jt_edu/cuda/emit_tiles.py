"""Emit tiles: a product prints itself as a kernel whose blocks of threads compute tiles of the output.

    left[buffer, k, quad, e]     a tile of x in shared memory       for first in range(0, n + 16, 16):
    right[buffer, k, quad, e]    one of y                               read next_left and next_right
    s0[p, q]                     the sums of a thread                   if first > 0:
                                                                            for k in range(0, 16, 2): ...
                                                                                s0 = s0 + x[e, p] * y[e, q]
                                                                        write what was read; a barrier
                                                                    what becomes of s0

What is multiplied was read one turn before: meanwhile numbers of the next tile are on their way into registers. Then
they go into the other one of two buffers, from which nobody reads any more since the last barrier.

A thread multiplies 8 by 8 numbers, each 8th along a side of the tile. Four of them are a quad and lie side by side: a
GPU reads four at once, and what 8 lanes store lies side by side, too. A line of a tile has one quad more than it needs,
so that a column of it lies in several banks.

Where there are few tiles and sums are long, several blocks share a tile: each does a part of the sum and stores it in
`part0[share, ...]`, and a kernel behind this one adds the parts in order.

Which element of an array is read depends on counters of many loops. To divide for them takes as long as 20 products, so
it is done before the loop; in it counters go on as those of an odometer do (`_advance`). Whole numbers have 32 bits
where all of them fit. What is read, and what becomes of a sum, are statements of the nest; only the loops around them
are others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jt_edu.codegen.emit_python import Argument, Printer
from jt_edu.codegen.loop_ir import Access, Block, Update, Value, accesses
from jt_edu.cuda.contraction import SIDE, Contraction, lies_along
from jt_edu.ir.index_expr import Index, as_index, binary, size

THREADS = SIDE * SIDE  # of a block
DOWN, ACROSS = "thread // 64 * 4 + thread % 32 // 8", "thread // 32 % 2 * 8 + thread % 8"  # a warp has 4 by 8 of them
SMALL = 2**31 - 8192  # numbers that can be counted in 32 bits, and a tile beyond the end
SIDES = ("left", "row", "u"), ("right", "column", "v")
LENGTHS = re.compile(r"\b[nk]\d+\b")
NONE = as_index(0)
COMPARED = ("<", "<=", "==", "!=")


class Side(NamedTuple):
    """A factor, and the tile of it."""

    name: str
    begin: str  # of the tile, along the side that only this factor has
    letter: str  # of its counters along the sum
    value: Value
    axes: tuple[int, ...]
    along: bool  # whether what is read lies side by side along the sum
    long: int  # numbers of the tile that only this factor has,
    deep: int  # and words along the sum,
    pair: int  # of so many numbers each

    @property
    def turns(self) -> int:
        """How many words of a tile a thread reads."""
        return self.long * self.deep // THREADS

    def places(self) -> tuple[str, str]:
        """Which word of which line a thread reads: side by side are those that lie so in memory."""
        if self.along:
            both = self.deep == SIDE < self.long  # lines of a warp: in one quad, if that has numbers of several
            line = "thread // 32 + thread // 16 % 2 * 8" if both else f"thread // {self.deep}"
            return f"thread % {self.deep}", f"{line} + {THREADS // self.deep} * turn"
        times = f" * {self.turns}" if self.turns > 1 else ""
        return f"thread // {self.long}{times} + turn", f"thread % {self.long}"

    def cell(self, buffer: str, k: str, wide: str) -> str:
        """A number of a tile: in a quad are those that a thread multiplies, of which neighbors have neighbors."""
        quad = f"{wide} // 4, {wide} % 4"
        if self.long > SIDE:
            quad = f"{wide} // 32 * 8 + {wide} % 8, {wide} // 8 % 4"
        return f"{self.name}[{buffer}, {k}, {quad}]"

    def moves(self, summed: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
        """Which counters go on, and how far: from turn to turn, and from tile to tile."""
        deep = self.deep * self.pair
        if self.along:
            return [(self.axes, THREADS // self.deep), (summed, deep)]
        return [(summed, 1), (summed, deep - self.turns * self.pair)]


class TilePrinter(Printer):
    """Prints products; see `emit_cuda.py` for all other nests."""

    sum = cell = ""  # the sums of a thread, and one of them
    loops: Sequence[tuple[str, int]] = ()  # over the sums of a thread: counter, and how many
    whole, word = False, ""  # while a product is printed, and what makes its whole numbers short
    outside: dict[int, str]  # names of counters around it
    apart: dict[Update, str]  # sums of which blocks do parts -> an array of those
    sizes: dict[object, Index]  # how far apart numbers of arrays are: kept, since each is a parameter of its own

    def _tiles(self, c: Contraction) -> str:
        """The body of a kernel for a product; how many blocks of how many threads do it."""
        tile, head, one = c.tile, self._whole_numbers(c), c.tile.down == c.tile.across == 1
        sides = self._sides(c, SIDE * tile.down, SIDE * tile.across, tile.deep)
        for side in sides:
            shape = f"(2, {tile.deep}, {side.long // 4 + 1}, 4)"
            self._write(1, f'{side.name} = cuda.shared.array({shape}, "{c.dtype}")', c.update.node)
            self._write(1, f'next_{side.name} = cuda.local.array({side.turns}, "{c.dtype}")')
        start = self._begin(c, sides)
        down, across = (ACROSS, DOWN) if c.rows_last else (DOWN, ACROSS)
        self._write(1, f"down, across = {down}, {across}")
        for name, count in (("x", tile.down), ("y", tile.across)) if not one else ():
            self._write(1, f'{name} = cuda.local.array((2, {count}), "{c.dtype}")')
        self._sums(c, [] if one else [("p", tile.down), ("q", tile.across)])
        self._along(c, sides, tile.deep, lambda c: self._multiply_one(c, sides) if one else self._multiply(c))
        parts = ("down", "p"), ("across", "q")
        place = "{0} // 8 * 32 + {0} % 8 + {1} // 4 * 64 + {1} % 4 * 8"
        self._end(c, [part if one else place.format(part, n) for part, n in parts])
        self._counted(head)
        return start

    def _whole_numbers(self, c: Contraction) -> int:
        """Choose how many bits whole numbers have; where there is room for a line that says so of lengths."""
        sizes = [math.prod(access.shape) for access in accesses(self.nest.top)]
        sizes += [math.prod(self.nest.extents[a] for a in axes) for axes in (c.rows, c.columns, c.summed)]
        self.word, self.whole, self.outside = "narrow" * (max(sizes) < SMALL), True, self.axes
        self.axes = self.axes | dict.fromkeys(c.ones, "0") | {axis: f"u{k}" for k, axis in enumerate(c.summed)}
        if self.word:
            self._write(1, "")
        return len(self.rows)

    def _counted(self, head: int) -> None:
        """Say it of all lengths that were needed."""
        found = {*LENGTHS.findall("\n".join(self.rows[head:]))}
        names = sorted(found, key=lambda name: (name[0] != "n", int(name[1:])))
        if self.word:
            self.rows[head - 1] = f"    {', '.join(names)} = {', '.join(map(self._bits, names))}"
        self.word, self.whole, self.axes = "", False, self.outside

    def _bits(self, text: str) -> str:
        return f"{self.word}({text})" if self.word else text

    def _sides(self, c: Contraction, high: int, wide: int, deep: int, pair: int = 1) -> list[Side]:
        """Both factors, with tiles of this size."""
        return [
            Side(*names, value, axes, lies_along(value, c.summed[-1]), long, deep, pair)
            for names, (value, axes), long in zip(SIDES, c.sides, (high, wide), strict=True)
        ]

    def _begin(self, c: Contraction, sides: Sequence[Side]) -> str:
        """Where the tile of a block stands; how many blocks of how many threads there are."""
        high, wide = (f"-(-{grouped(self._count(side.axes))} // {side.long})" for side in sides)
        self._write(1, f"thread, high, wide = cuda.threadIdx.x, {high}, {wide}")
        self._write(1, f"row = {self._bits(f'cuda.blockIdx.x % high * {sides[0].long}')}")
        self._write(1, f"column = {self._bits(f'cuda.blockIdx.x // high % wide * {sides[1].long}')}")
        times, number, part = f" * {self._count(c.batch)}" if c.batch else "", "", self.apart.get(c.update)
        if part:
            deep, long = sides[0].deep * sides[0].pair, grouped(self._count(c.summed))
            self._write(1, f"share = {self._bits(f'cuda.blockIdx.x // (high * wide{times})')}")
            self._write(1, f"long = {self._bits(f'-(-{long} // ({deep} * {part}.shape[0])) * {deep}')}")
            times, number = f"{times} * {part}.shape[0]", f" % {grouped(self._count(c.batch))}"
            if c.batch:
                self._write(1, f"batch = {self._bits(f'cuda.blockIdx.x // (high * wide){number}')}")
        self._decode(f"cuda.blockIdx.x // (high * wide){number}", c.batch, 1)
        return f"max(1, {high} * {wide}{times}), {THREADS}"

    def _sums(self, c: Contraction, loops: Sequence[tuple[str, int]]) -> None:
        """The sums of a thread: one, or those that some loops go over."""
        self.sum, self.loops, dtype = self._new("s"), loops, c.dtype
        self.cell = f"{self.sum}[{', '.join(name for name, _ in loops)}]" if loops else self.sum
        if loops:
            shape = ", ".join(str(count) for _, count in loops)
            self._write(1, f'{self.sum} = cuda.local.array(({shape}), "{dtype}")')
        self._write(self._over(loops, 1), f"{self.cell} = {dtype}(0)", c.update.node)

    def _over(self, loops: Sequence[tuple[str, int]], depth: int) -> int:
        """Open loops over the sums of a thread; how deep it is in there."""
        for k, (name, count) in enumerate(loops):
            self._write(depth + k, f"for {name} in range({count}):")
        return depth + len(loops)

    # ---------------------------------------------------------------------------------------------- along the sum

    def _along(
        self, c: Contraction, sides: Sequence[Side], deep: int, multiply: Callable[[Contraction], None]
    ) -> None:  # fmt: skip
        """The loop along the sum, `deep` numbers at a time."""
        for side in sides:
            self._start(c, side)
        long = "long" if c.update in self.apart else self._count(c.summed)
        self._write(1, f"for first in range(0, {long} + {deep}, {deep}):")
        self._write(2, f"buffer = first // {deep} % 2")
        for side in sides:
            self._read(c, side)
        self._write(2, "if first > 0:")
        multiply(c)
        for side in sides:
            self._write(2, f"for turn in range({side.turns}):", side.value.node)
            self._write(3, self._put(side), side.value.node)
        self._write(2, "cuda.syncthreads()")

    def _start(self, c: Contraction, side: Side) -> None:
        """The counters of the first number that a thread reads, and how far each of them goes at a time."""
        before, self.axes = self.axes, self._named(c, side)
        deep, long = (re.sub(r" \+ (\d+ \* )?turn", "", place) for place in side.places())  # of the first turn
        deep = deep if side.pair == 1 else f"{deep} * {side.pair}"
        deep = f"share * long + {deep}" if c.update in self.apart else deep
        for number, axes in ((deep, c.summed), (f"{side.begin} + {long}", side.axes)):
            if len(axes) > 1:
                self._write(1, f"j = {number}")
            self._decode("j" if len(axes) > 1 else number, axes, 1)
        for axes, step in side.moves(c.summed):
            for axis, digit in zip(axes, self._digits(f"{step}", axes), strict=True):
                if len(axes) > 1 and step > 1:
                    self._write(1, f"d{self.axes[axis]} = {digit}")
        self.axes = before | {axis: self.axes[axis] for axis in side.axes}

    def _named(self, c: Contraction, side: Side) -> dict[int, str]:
        """Names of counters, of which each side has its own along the sum."""
        return self.axes | {axis: f"{side.letter}{k}" for k, axis in enumerate(c.summed)}

    def _read(self, c: Contraction, side: Side) -> None:
        """Read the numbers of the next tile."""
        before, self.axes = self.axes, self._named(c, side)
        (moving, step), (summed, far) = side.moves(c.summed)
        direct = side.along and len(moving) == 1
        if side.along and not direct:
            self._copied(moving, 2)
        self._write(2, f"for turn in range({side.turns}):", side.value.node)
        if direct:  # so that no product with it is kept in a register
            self._write(3, f"{self.axes[moving[0]]} = {self._bits(f'{side.begin} + {side.places()[1]}')}")
        if side.pair == 1:
            self._read_number(c, side, 3, f"next_{side.name}[turn]")
        else:
            names = self.axes
            if side.along:
                self._copied(summed, 3)
            self._write(3, f"for half in range({side.pair}):")
            self._read_number(c, side, 4, f"next_{side.name}[turn, half]")
            self._advance(summed, 1, 4)
            self.axes = names
        if not direct and (side.along or side.pair == 1):
            self._advance(moving, step, 3)
        self._advance(summed, far, 2)
        self.axes = before

    def _copied(self, axes: Sequence[int], depth: int) -> None:
        """From here on counters are copies, which may go on by themselves."""
        names = [self.axes[axis] for axis in axes]
        self.axes = self.axes | {axis: f"at_{name}" for axis, name in zip(axes, names, strict=True)}
        self._write(depth, f"{', '.join(f'at_{name}' for name in names)} = {', '.join(names)}")

    def _advance(self, axes: Sequence[int], step: int, depth: int) -> None:
        """Counters go on: the last one first, and who has reached its end begins anew and moves the one before."""
        for k, axis in reversed([*enumerate(axes)]) if step else ():
            name, last = self.axes[axis], k == len(axes) - 1
            if step > 1 or last:
                far = f"{step}" if step == 1 or len(axes) == 1 else f"d{name.removeprefix('at_')}"
                self._write(depth, f"{name} = {self._bits(f'{name} + {far}')}")
            if k > 0:
                length, above = self._extent(axis), self.axes[axes[k - 1]]
                self._write(depth, f"if {name} >= {length}:")
                both = self._bits(f"{name} - {length}" if step > 1 else "0"), self._bits(f"{above} + 1")
                self._write(depth + 1, f"{name}, {above} = {', '.join(both)}")

    def _read_number(self, c: Contraction, side: Side, depth: int, into: str) -> None:
        """Read a number of a factor, which is 0 beyond its ends."""
        value, zero, spelled = self._wanted(c, side)
        self._write(depth, f"number = {zero}")
        self._write(depth, f"if {self._inside(c.summed)} and {self._inside(side.axes)}:")
        before, self.names = self.names, {}
        self._block(Block([*c.needed([value])]), depth + 1)
        self._write(depth + 1, f"number = {spelled(self._use(value))}", value.node)
        self.names = before
        self._write(depth, f"{into} = number", value.node)

    def _wanted(self, c: Contraction, side: Side) -> tuple[Value, str, Callable[[str], str]]:
        """What is read of a factor, its zero, and how it is written down."""
        return side.value, f"{c.dtype}(0)", str

    def _inside(self, axes: Sequence[int]) -> str:
        """Whether counters are those of an iteration that there is."""
        return f"{self.axes[axes[0]]} < {self._extent(axes[0])}"

    def _put(self, side: Side) -> str:
        """What writes a number that was read into shared memory."""
        k, wide = side.places()
        return f"{side.cell('buffer', k, f'({wide})')} = next_{side.name}[turn]"

    def _multiply_one(self, c: Contraction, sides: Sequence[Side]) -> None:
        self._write(3, f"for k in range({c.tile.deep}):")
        cells = [side.cell("1 - buffer", "k", n) for side, n in zip(sides, ("down", "across"), strict=True)]
        self._write(4, f"{self.cell} = {self.cell} + {' * '.join(cells)}", c.update.node)

    def _multiply(self, c: Contraction) -> None:
        """Each thread multiplies its quads of both tiles; two steps at a time, since a compiler repeats no more."""
        self._write(3, f"for k in range(0, {c.tile.deep}, 2):")
        self._write(4, "for e in range(2):")
        for (n, count), x, part, name in zip(self.loops, "xy", ("down", "across"), ("left", "right"), strict=True):
            self._write(5, f"for {n} in range({count}):")
            self._write(6, f"{x}[e, {n}] = {name}[1 - buffer, k + e, {part} + {n} // 4 * {SIDE}, {n} % 4]")
        depth = self._over([*self.loops, ("e", 2)], 4)
        self._write(depth, f"{self.cell} = {self.cell} + x[e, p] * y[e, q]", c.update.node)

    def _end(self, c: Contraction, places: Sequence[str]) -> None:
        """What becomes of each sum of a thread."""
        if part := self.apart.get(c.update):
            self._end_of_part(c, part, places)
            return
        of_row = [loop for loop in self.loops if re.search(rf"\b{loop[0]}\b", places[0])]
        depth = 1
        for begin, axes, place, loops in (
            ("row", c.rows, places[0], of_row),
            ("column", c.columns, places[1], [loop for loop in self.loops if loop not in of_row]),
        ):
            depth = self._over(loops, depth)
            if len(axes) > 1:
                self._write(depth, f"j = {begin} + {place}")
            self._decode("j" if len(axes) > 1 else f"{begin} + {place}", axes, depth)
        self._write(depth, f"if {self._inside(c.rows)} and {self._inside(c.columns)}:")
        self.names[c.update.access] = self.cell
        self._block(Block([*c.tail()]), depth + 1)

    def _end_of_part(self, c: Contraction, part: str, places: Sequence[str]) -> None:
        """Each sum is one of several parts: nothing is divided, since places are numbers of rows and columns."""
        depth = self._over(self.loops, 1)
        rows, columns = (grouped(self._count(axes)) for axes in (c.rows, c.columns))
        self._write(depth, f"i, j = {self._bits(f'row + {places[0]}')}, {self._bits(f'column + {places[1]}')}")
        self._write(depth, f"if i < {rows} and j < {columns}:")
        (outer, far), (inner, long) = (("j", columns), ("i", rows))[:: 1 if c.rows_last else -1]
        number = f"(batch * {far} + {outer}) * {long} + {inner}" if c.batch else f"{outer} * {long} + {inner}"
        self._write(depth + 1, f"{part}[share, {self._bits(number)}] = {self.cell}", c.update.node)

    # ------------------------------------------------------------------------------------------------- counters

    def _names(self, others: Sequence[str], groups: Sequence[Sequence[int]]) -> list[str]:
        """What the number of an iteration is called: as the loop, if it is that of one loop."""
        known = [[self.axes.setdefault(a, f"i{len(self.axes)}") for a in group] for group in groups]
        return [names[0] if len(names) == 1 else other for names, other in zip(known, others, strict=True)]

    def _decode(self, number: str, axes: Sequence[int], depth: int) -> None:
        """Loop counters from the number of an iteration of all of them."""
        for axis, digit in zip(axes, self._digits(number, axes), strict=True):
            name = self.axes.setdefault(axis, f"i{len(self.axes)}")
            if len(axes) > 1 or not number.isidentifier():
                self._write(depth, f"{name} = {digit}")

    def _digits(self, number: str, axes: Sequence[int]) -> list[str]:
        """A number as counters of loops, the last of which goes on first."""
        lengths, found = [self._extent(axis) for axis in axes], []
        for k, length in enumerate(lengths):
            inner = " * ".join(lengths[k + 1 :])
            after = f" // {grouped(inner)}" if inner else ""
            found.append(self._bits(number + after + (f" % {length}" if k else "")))
        return found

    def _count(self, axes: Sequence[int]) -> str:
        return " * ".join(self._extent(axis) for axis in axes) or "1"

    def _extent(self, axis: int) -> str:
        length = self.nest.extents[axis]
        return self._parameter(("n", self.nest, axis), "n", "int64", Argument("length", length=length))

    def _index(self, index: Index) -> str:
        """An index expression, whose parts are compared with as few bits as they have."""
        if not self.whole or index.op not in (*COMPARED, "and", "or"):
            return super()._index(index)
        first, second = index.args
        begins = index.op == "and" and (first.op, second.op, first.args[0]) == ("<=", "<", NONE)
        if begins and first.args[1] == second.args[0]:
            return f"within({', '.join(self._bits(self._index(part)) for part in second.args)})"
        parts = [self._index(part) for part in index.args]
        if index.op in COMPARED:
            parts = [part if part.isalnum() else self._bits(part) for part in parts]
        inside = index.op == "or"  # in brackets
        return f" {index.op} ".join(grouped(part) if inside or " or " in part else part for part in parts)

    def _cell(self, access: Access) -> str:
        """An element of an array; in a product its number, which is found in fewer steps than several are."""
        if not self.whole or access.role == "register" or len(access.shape) < 2:
            return super()._cell(access)
        number, inner = NONE, 1
        for k, (place, length) in reversed([*enumerate(zip(access.where, access.shape, strict=True))]):
            key = access.role, access.node, access.shape, k
            far = NONE + 1 if inner == 1 else self.sizes.setdefault(key, size(inner))
            number = binary("+", binary("*", place, far), number) if length != 1 else number
            inner *= length
        return super()._cell(Access(access.role, access.node, (number,), (math.prod(access.shape),)))


def grouped(text: str) -> str:
    """In brackets, if it is more than one word."""
    return f"({text})" if " " in text else text
