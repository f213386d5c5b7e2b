"""Emit blocks: kernels whose blocks of 32 by 8 threads work on a square, so that memory is walked along twice.

    columns     32 columns, and 8 rows at a time               s0 = s0 + a[i, j]         a thread sums each 8th row
                                                               room[y, x] = s0           and the first of 8 all of those
                                                               part[blockIdx.y, j] = s0
    ends                                                       s0 = s0 + part[k, j]      a thread for each column

    turned      a tile of 32 by 32 in shared memory            tile[k, x] = a[j, i]      lanes have neighbors along i
                                                               out[i, j] = tile[x, k]    and here along j

Each row of a tile is one number longer than it has to be: so the numbers of a column lie in 32 different banks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jt_edu.codegen.emit_python import typed
from jt_edu.codegen.loop_ir import Access, Update, Value, everything
from jt_edu.cuda.emit_tiles import TilePrinter, grouped
from jt_edu.cuda.schedule import turns

if TYPE_CHECKING:
    from jt_edu.cuda.schedule import Launch

WIDE, HIGH = 32, 8  # threads of a block
ROWS, BLOCKS = 64, 1024  # of a part at least; at most, as long as there are few columns


class BlockPrinter(TilePrinter):
    """Prints sums of columns, and what is read along another axis than it is written."""

    number: str
    cells: dict[Access, str]  # elements of arrays that are in shared memory

    def _columns(self, launch: Launch) -> str:
        """The body of a kernel in which each block sums 32 columns of some rows; how many blocks of threads do it."""
        count = self._count(launch.axes)
        (self.number,) = self._names(("j",), (launch.axes,))
        self._write(1, "x, y = cuda.threadIdx.x, cuda.threadIdx.y")
        self._write(1, f"{self.number} = min(cuda.blockIdx.x * {WIDE} + x, {count} - 1)")
        self._decode(self.number, launch.axes, 1)
        self._block(launch.block, 1)
        for update, part in self.apart.items():
            name, room = self.names[update.access], self._new("room")
            self._write(1, f'{room} = cuda.shared.array(({HIGH}, {WIDE}), "{stored_as(update)}")', update.node)
            self._write(1, f"{room}[y, x] = {name}", update.node)
            self._write(1, "cuda.syncthreads()")
            self._write(1, f"if y == 0 and cuda.blockIdx.x * {WIDE} + x < {count}:")
            self._write(2, f"for k in range(1, {HIGH}):")
            self._write(3, f"{name} = {joined(update, name, f'{room}[k, x]')}", update.node)
            self._write(2, f"{part}[cuda.blockIdx.y, {self.number}] = {name}", update.node)
        return f"(-(-{grouped(count)} // {WIDE}), {self._parts(launch)}), ({WIDE}, {HIGH})"

    def _parts(self, launch: Launch) -> str:
        """How many parts the rows have of which blocks sum columns."""
        longest = max((self.nest.extents[a], self._extent(a)) for a in launch.shared)[1]
        count = self._count(launch.axes)
        return f"max(1, min(-(-{longest} // {ROWS}), {BLOCKS * WIDE} // max(1, {count})))"

    def _turned(self, launch: Launch) -> str:
        """The body of a kernel that reads along one axis and writes along another; how many blocks of threads do it."""
        inner, other = launch.turned
        rest = [axis for axis in launch.axes if axis not in launch.turned]
        i, j = (self.axes.setdefault(axis, f"i{len(self.axes)}") for axis in launch.turned)
        n, m = self._extent(inner), self._extent(other)
        loads = [v for v in everything(launch.block) if isinstance(v, Value) and turns(v, inner, other)]
        tiles = {value: self._new("tile") for value in loads}
        for value, tile in tiles.items():
            dtype = value.node.dtype.kernel.rstrip("_")
            self._write(1, f'{tile} = cuda.shared.array(({WIDE}, {WIDE + 1}), "{dtype}")', value.node)
        self._write(1, f"x, y, across, down = cuda.threadIdx.x, cuda.threadIdx.y, -(-{n} // {WIDE}), -(-{m} // {WIDE})")
        self._write(1, f"column = cuda.blockIdx.x % across * {WIDE}")
        self._write(1, f"row = cuda.blockIdx.x // across % down * {WIDE}")
        self._decode("cuda.blockIdx.x // (across * down)", rest, 1)
        self._write(1, f"{j} = row + x")
        self._square(f"{i} = column + k", f"{i} < {n} and {j} < {m}")
        for value, tile in tiles.items():
            assert value.access is not None, "loads have an access"
            self._write(3, f"{tile}[k, x] = {self._cell(value.access)}", value.node)
        self._write(1, "cuda.syncthreads()")
        self._write(1, f"{i} = column + x")
        self._square(f"{j} = row + k", f"{i} < {n} and {j} < {m}")
        self.cells = {value.access: f"{tile}[x, k]" for value, tile in tiles.items() if value.access is not None}
        self._block(launch.block, 3)
        self.cells = {}
        times = "".join(f" * {self._extent(axis)}" for axis in rest)
        return f"max(1, -(-{n} // {WIDE}) * -(-{m} // {WIDE}){times}), ({WIDE}, {HIGH})"

    def _square(self, at: str, inside: str) -> None:
        """Open a loop over each 8th line of a tile."""
        self._write(1, f"for k in range(y, {WIDE}, {HIGH}):")
        self._write(2, at)
        self._write(2, f"if {inside}:")

    def _cell(self, access: Access) -> str:
        return self.cells.get(access) or super()._cell(access)


def joined(update: Update, first: str, second: str) -> str:
    """What a sum is made of two parts of it."""
    return typed(update.reducer.bodies.get(update.dtype.kind, update.reducer.step).format(first, second), update.dtype)


def stored_as(update: Update) -> str:
    """The dtype of an array for parts of a sum."""
    return update.dtype.kernel.rstrip("_")
