"""Emit tensor: a product prints itself as a kernel whose warps multiply tiles on tensor cores.

    left[buffer, row, word]       a tile of x in shared memory      for first in range(0, n + 8, 8):
    right[buffer, word, column]   one of y                              read next_left and next_right
    s0[p, q, e]                   four sums of each of the              if first > 0:
                                  matrices of 16 x 8 of a warp              s0 = cuda.mma_tf32(left, right, s0)
                                                                        write what was read; a barrier
                                                                    what becomes of s0

What is multiplied was read one turn before: while tensor cores work, numbers of the next tile are on their way into
registers. Then they go into the other one of two buffers, from which nobody reads any more since the last barrier.

A word is one number of TF32, or two halves that are neighbors along the sum (tensor_core.py, which has the layout of
fragments too). A tile lies in shared memory in that order in which it is read from global memory, with so many words
between its lines that the lanes of a warp, who want 8 lines at 4 places, find each word in a bank of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from jt_edu.backends.convolve.options import options
from jt_edu.base import dtypes
from jt_edu.base.dtypes import DType
from jt_edu.codegen.loop_ir import Value
from jt_edu.cuda.contraction import Contraction
from jt_edu.cuda.emit_tiles import SIDE, TilePrinter
from jt_edu.cuda.tensor_core import COLUMNS, PARTS, ROWS, WORDS
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import cast_to

ACROSS = 4  # warps of a block side by side; 2 stand below each other
UNIT = 32  # rows and columns of a block whose warps have one matrix each
THREADS = SIDE * SIDE  # of a block
FULL = 64  # blocks, from which on larger tiles leave no part of a GPU idle
PRECISION = {"high": "tf32", "medium": "bfloat16"}
SHORT = {"float16": "half", "bfloat16": "bfloat"}
SIDES = ("left", "row"), ("right", "column")


def numbers_of(c: Contraction, able: Container[str], node: Node) -> str:
    """What tensor cores multiply in a product: "float16", "bfloat16" or "tf32"; empty if they have no part in it.

    Args:
        c: the product.
        able: what those of the GPU can multiply.
        node: what it is in the graph, which says whether it is a convolution.
    """
    if c.update.node.dtype is not dtypes.float32:
        return ""
    left, right, wishes, found = half_of(c.left), half_of(c.right), options(), ""
    if left is not None and left is right:
        found = str(left)
    elif wishes.allow_tf32 or wishes.matmul_precision in PRECISION:
        slides = convolution(node) is not None
        found = ("tf32" if wishes.allow_tf32 else "") if slides else PRECISION.get(wishes.matmul_precision, "")
    return found if found in able else ""


def half_of(value: Value) -> DType | None:
    """The halves that a value is one of, though it is computed with as float32; None if it is none."""
    if value.kind == "fill" and getattr(value.node.op, "fill", None) == 0:
        return half_of(value.operands[0])
    if value.kind not in ("compute", "load") or value.node.data is not None or not value.node.inputs:
        return None
    inner = value.node.inputs[0].dtype
    return inner if inner.is_half and value.node.op is cast_to(dtypes.float32, inner) else None


class Side(NamedTuple):
    """A factor, and the tile of it."""

    name: str
    begin: str  # of the tile, along the side that only this factor has
    value: Value
    axes: tuple[int, ...]
    along: bool  # whether what is read lies side by side along the sum

    def places(self, tile: int) -> tuple[str, str]:
        """Which word of which line the word with the number `e` is."""
        return (f"e % {WORDS}", f"e // {WORDS}") if self.along else (f"e // {tile}", f"e % {tile}")

    def cell(self, buffer: str, wide: str, word: str) -> str:
        """A word of a tile, in the order in which it is read."""
        return f"{self.name}[{buffer}, {wide}, {word}]" if self.along else f"{self.name}[{buffer}, {word}, {wide}]"


class TensorPrinter(TilePrinter):
    """Prints products for tensor cores; see `emit_tiles.py` for those without."""

    def _tensor_tiles(self, c: Contraction, numbers: str) -> str:
        """The body of a kernel for a product; how many blocks of how many threads do it."""
        each, pair = self._each(c), 1 if numbers == "tf32" else 2  # numbers of a word
        tile, deep = UNIT * each, WORDS * pair
        sides = [
            Side(name, begin, value, axes, self._steps(value, c.summed[-1]))
            for (name, begin), (value, axes) in zip(SIDES, c.sides, strict=True)
        ]
        for side in sides:
            shape = f"{tile}, {WORDS + 4}" if side.along else f"{WORDS}, {tile + 8}"
            kind = "float32" if pair == 1 else "uint32"
            self._write(1, f'{side.name} = cuda.shared.array((2, {shape}), "{kind}")', c.update.node)
        start = self._begin(c, tile)
        self._write(1, "group, place = thread % 32 // 4, thread % 4")
        self._write(1, f"down = thread // {32 * ACROSS} * {ROWS * each} + group")
        self._write(1, f"across = thread // 32 % {ACROSS} * {COLUMNS * each}")
        for side in sides:
            shape, kind = (f"{each}", "float32") if pair == 1 else (f"({each}, 2)", "uint16")
            self._write(1, f'next_{side.name} = cuda.local.array({shape}, "{kind}")')
        self._sums(c, [("p", each), ("q", each), ("e", PARTS["c"])])
        self._write(1, f"for first in range(0, {self._count(c.summed)} + {deep}, {deep}):")
        self._write(2, f"buffer = first // {deep} % 2")
        for side in sides:
            self._read(c, side, tile, numbers)
        self._write(2, "if first > 0:")
        self._multiply(c, each, sides, numbers)
        for side in sides:
            self._put(side, tile, numbers)
        self._write(2, "cuda.syncthreads()")
        self._end(c, [f"down + {ROWS} * p + e // 2 * 8", f"across + {COLUMNS} * q + 2 * place + e % 2"])
        return start

    def _each(self, c: Contraction) -> int:
        """How many matrices a warp has below each other, and side by side."""
        down, across, batch = (math.prod(self.nest.extents[a] for a in axes) for axes in (c.rows, c.columns, c.batch))

        def fills(each: int) -> bool:
            tile = UNIT * each
            return min(down, across) >= tile and -(-down // tile) * -(-across // tile) * batch >= FULL

        return c.asked or next((each for each in (4, 2) if fills(each)), 1)

    def _turns(self, side: Side, tile: int) -> None:
        """Open a loop over words of a tile; threads side by side have those that lie side by side."""
        self._write(2, f"for turn in range({tile * WORDS // THREADS}):", side.value.node)
        self._write(3, f"e = thread + {THREADS} * turn")

    def _read(self, c: Contraction, side: Side, tile: int, numbers: str) -> None:
        """Read the numbers of the next tile."""
        word, wide = side.places(tile)
        self._turns(side, tile)
        if numbers == "tf32":
            self._read_number(c, f"first + {word}", f"{side.begin} + {wide}", side.value, side.axes, 3)
            self._write(3, f"next_{side.name}[turn] = number", side.value.node)
            return
        value, short = side.value, SHORT[numbers]
        if value.kind == "compute" and half_of(value) is not None:
            (value,) = value.operands
        deep = f"first + {word} * 2 + half"
        self._write(3, "for half in range(2):")
        self._read_number(c, deep, f"{side.begin} + {wide}", value, side.axes, 4, "0", f"float_to_{short}({{}})")
        bits = rf"float_to_{short}\({short}_to_float\((\w+\[[^()]*\])\)\)$"
        self.rows[-1] = re.sub(bits, r"\1", self.rows[-1])  # what lies there as bits goes there as bits
        self._write(4, f"next_{side.name}[turn, half] = number", value.node)

    def _put(self, side: Side, tile: int, numbers: str) -> None:
        """Write what was read into shared memory."""
        word, wide = side.places(tile)
        self._turns(side, tile)
        number = f"next_{side.name}[turn{{}}]"
        pair = f"{number.format(', 0')} | {number.format(', 1')} << 16"
        text = f"cuda.tf32({number.format('')})" if numbers == "tf32" else pair
        self._write(3, f"{side.cell('buffer', wide, word)} = {text}", side.value.node)

    def _multiply(self, c: Contraction, each: int, sides: Sequence[Side], numbers: str) -> None:
        """Each warp multiplies its rows and columns of the tiles."""
        left, right = sides
        self._write(3, f"for p in range({each}):")
        self._write(4, f"i = down + {ROWS} * p")
        words = [left.cell("1 - buffer", i, word) for word in ("place", "place + 4") for i in ("i", "i + 8")]
        self._write(4, f"a = {', '.join(words)}", c.left.node)
        self._write(4, f"for q in range({each}):")
        self._write(5, f"j = across + {COLUMNS} * q + group")
        words = [right.cell("1 - buffer", "j", word) for word in ("place", "place + 4")]
        self._write(5, f"b = {', '.join(words)}", c.right.node)
        sums = ", ".join(f"{self.sum}[p, q, {e}]" for e in range(PARTS["c"]))
        self._write(5, f"{sums} = cuda.mma_{numbers}(a, b, ({sums}))", c.update.node)
