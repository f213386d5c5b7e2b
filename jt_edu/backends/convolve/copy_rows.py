"""Copy rows: how does a kernel move rows of numbers as fast as memory allows?

    place_rows    rows of an array, with zeros before and behind, to rows of another one
    scatter       a row, written or added to numbers that lie `step` apart

numba does not find vectors in loops whose step is a number it does not know. So both are functions written in LLVM's
instructions (llvm.py), and in Python a few lines of NumPy. Nothing here knows convolutions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.llvm import INT, Array, Writer, calling, cgutils, nothing, written

SEVERAL = (4, 2, 1)  # vectors of a row that are written together


@written(nothing, calling("rows", lambda *given: _Rows(*given).write()))
def place_rows(
    source: Array, s: int, s_row: int, step: int, target: Array, t: int, t_row: int,
    rows: int, before: int, inside: int, after: int,
) -> None:  # fmt: skip
    """Write rows of `before` zeros, `inside` numbers of the source that lie `step` apart, and `after` zeros.

    Rows begin `s_row` and `t_row` numbers apart, and may touch each other. Behind the last of them some more may be
    written, less than a vector.
    """
    size, goal = source.itemsize, target.reshape(-1)
    seen = as_strided(source, (2, rows, inside), (s * size, s_row * size, step * size))[1]  # counted from its first one
    for r in range(rows):
        row = goal[t + r * t_row :][: before + inside + after]
        row[...] = 0
        row[before : before + inside] = seen[r]


@written(nothing, calling("scatter", lambda *given: _Scatter(*given).write()))
def scatter(source: Array, s: int, target: Array, t: int, step: int, count: int, fresh: bool) -> None:
    """Write a row of numbers `step` apart, or add it to what is there; nothing beyond it is touched."""
    goal = target.reshape(-1)[t : t + (count - 1) * step + 1 : step]
    row = source.reshape(-1)[s : s + count]
    goal[...] = row if fresh else goal + row


class _Rows(Writer):
    """Writes the function behind `place_rows`.

    At steps 1, 2 and 4 a row is written vector by vector. Each is loaded as if the numbers went on in both directions,
    from `origin` on, where the row of the target would begin; a mask leaves out what is none of them, so that zeros
    come by themselves. Of vectors of 4, with before = 2, inside = 3, after = 1 and step = 1:

        place from the origin     0   1   2   3     4   5   6   7
        source                    ?   ?   a   b     c   ?   ?   ?      numbers lie between first = 2 and last = 4
        target                    0   0   a   b     c   0              6 of them; the second vector begins at 2

    At step 2 a vector of the target is every other number of two vectors of the source, at step 4 of four. With
    before = 1, inside = 2, after = 1:

        place from the origin     0   1   2   3     4   5   6   7
        source                    ?   ?   a   x     b   ?   ?   ?      first = 2, last = 4
        target                    0       a         b       0

    The same piece of all rows is written before the next piece, so that masks are made once.
    """

    def __init__(self, module: Any, name: str, number: Any) -> None:
        super().__init__(module, name, number, "aiiiaiiiiii")
        self.source, self.s, self.s_row, self.step, self.target, self.t, self.t_row = self.arguments[:7]
        self.rows, self.before, self.inside, self.after = self.arguments[7:]

    def write(self) -> None:
        """A loop for each step that has vectors, and one for all others."""
        b = self.builder
        first = b.mul(self.before, self.step)
        last = b.add(first, b.mul(b.sub(self.inside, INT(1)), self.step))
        origin = b.sub(self.s, first)
        others = b.append_basic_block("others")
        switch = b.switch(self.step, others)
        for step in (1, 2, 4):
            begin = b.append_basic_block(f"step{step}")
            switch.add_case(INT(step), begin)
            b.position_at_end(begin)
            self.by_vectors(step, origin, first, last)
            b.ret_void()
        b.position_at_end(others)
        self.by_numbers(origin)
        b.ret_void()

    def by_vectors(self, step: int, origin: Any, first: Any, last: Any) -> None:
        """Vector by vector, and for each of them row by row; at step 1 several together, while there are three or more.

        Rows may lie pages apart, so those a multiple of 4 KiB apart keep each other out of the cache: what is near is
        read at once. What follows it in its row is asked for, because a panel often goes on there.
        """
        b, lanes = self.builder, self.lanes
        end = b.add(b.add(self.before, self.inside), self.after)
        done = b.alloca(INT)
        b.store(INT(0), done)
        for several in SEVERAL if step == 1 else (1,):
            left = b.sub(end, b.load(done))
            rounds = b.sdiv(b.add(left, INT((several - several // 2) * lanes - 1)), INT(several * lanes))
            with cgutils.for_range(b, rounds):
                begin = b.load(done)
                self.pieces(step, [b.add(begin, INT(k * lanes)) for k in range(several)], end, (origin, first, last))
                b.store(b.add(begin, INT(several * lanes)), done)

    def pieces(self, step: int, begins: list[Any], end: Any, ways: tuple[Any, Any, Any]) -> None:
        """The vectors that begin there, of all rows; those that would end too late begin earlier."""
        b, lanes, (origin, first, last) = self.builder, self.lanes, ways
        latest = b.sub(end, INT(lanes))
        listed = []
        for begin in begins:
            late = b.and_(b.icmp_signed(">", begin, latest), b.icmp_signed(">", latest, INT(0)))
            i = b.select(late, latest, begin)  # rows may touch each other
            places = [b.add(b.mul(i, INT(step)), INT(k * lanes)) for k in range(step)]
            listed.append((i, places, [self.between(first, last, place) for place in places]))
        with cgutils.for_range(b, self.rows) as loop:
            row = b.add(origin, b.mul(self.s_row, loop.index))
            goal = b.add(self.t, b.mul(self.t_row, loop.index))
            for i, places, masks in listed:
                froms = [b.gep(self.source, [b.add(row, place)]) for place in places]
                parts = [llvm.load_some(b, *given) for given in zip(froms, [self.vector] * step, masks, strict=True)]
                while len(parts) > 1:  # every other number of two vectors makes one
                    pairs = zip(parts[::2], parts[1::2], strict=True)
                    parts = [llvm.picked(b, x, y, range(0, 2 * lanes, 2)) for x, y in pairs]
                llvm.store(b, parts[0], b.gep(self.target, [b.add(goal, i)]))
                if len(begins) == SEVERAL[0]:
                    llvm.ask_for(b, b.gep(froms[0], [INT(len(begins) * lanes)]))

    def between(self, first: Any, last: Any, place: Any) -> Any:
        """A mask for the vector that begins at `place`: the lanes that lie in [first, last]."""
        b, kind = self.builder, ir.VectorType(INT, self.lanes)
        places = b.add(llvm.spread(b, place, kind), ir.Constant(kind, list(range(self.lanes))))
        low = b.icmp_signed(">=", places, llvm.spread(b, first, kind))
        return b.and_(low, b.icmp_signed("<=", places, llvm.spread(b, last, kind)))

    def by_numbers(self, origin: Any) -> None:
        """Row by row: zeros, number by number, zeros."""
        b = self.builder
        with cgutils.for_range(b, self.rows) as loop:
            begin, goal = b.add(origin, b.mul(self.s_row, loop.index)), b.add(self.t, b.mul(self.t_row, loop.index))
            end = b.add(self.before, self.inside)
            self.zeros(goal, self.before)
            with cgutils.for_range_slice(b, self.before, end, INT(1)) as (i, _):
                number = b.load(b.gep(self.source, [b.add(begin, b.mul(i, self.step))]))
                b.store(number, b.gep(self.target, [b.add(goal, i)]))
            self.zeros(b.add(goal, end), self.after)

    def zeros(self, place: Any, count: Any) -> None:
        """Zeros, in whole vectors."""
        b = self.builder
        with cgutils.for_range_slice(b, INT(0), count, INT(self.lanes)) as (i, _):
            llvm.store(b, ir.Constant(self.vector, None), b.gep(self.target, [b.add(place, i)]))


class _Scatter(Writer):
    """Writes the function behind `scatter`: vectors while the step is 1, then, or else, number by number."""

    def __init__(self, module: Any, name: str, number: Any) -> None:
        super().__init__(module, name, number, "aiaiiii")

    def write(self) -> None:
        """All of it."""
        b = self.builder
        source, s, target, t, step, count, fresh = self.arguments
        add = b.icmp_signed("==", fresh, INT(0))
        done = b.alloca(INT)
        b.store(INT(0), done)
        with b.if_then(b.icmp_signed("==", step, INT(1))):
            rounds = b.sdiv(count, INT(self.lanes))
            with cgutils.for_range(b, rounds) as loop:
                i = b.mul(loop.index, INT(self.lanes))
                goal = b.gep(target, [b.add(t, i)])
                old = llvm.load(b, goal, self.vector)
                new = llvm.load(b, b.gep(source, [b.add(s, i)]), self.vector)
                llvm.store(b, b.select(add, b.fadd(old, new), new), goal)
            b.store(b.mul(rounds, INT(self.lanes)), done)
        with cgutils.for_range_slice(b, b.load(done), count, INT(1)) as (i, _):
            goal = b.gep(target, [b.add(t, b.mul(i, step))])
            old, new = b.load(goal), b.load(b.gep(source, [b.add(s, i)]))
            b.store(b.select(add, b.fadd(old, new), new), goal)
        b.ret_void()
