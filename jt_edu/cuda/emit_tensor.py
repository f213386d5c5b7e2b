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
from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from jt_edu.backends.convolve.options import options
from jt_edu.base import dtypes
from jt_edu.base.dtypes import DType
from jt_edu.codegen.loop_ir import Nest, Value
from jt_edu.cuda.contraction import FULL, Contraction
from jt_edu.cuda.emit_tiles import Side, TilePrinter
from jt_edu.cuda.tensor_core import COLUMNS, PARTS, ROWS, WORDS
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import cast_to

ACROSS = 4  # warps of a block side by side; 2 stand below each other
UNIT = 32  # rows and columns of a block whose warps have one matrix each
PRECISION = {"high": "tf32", "medium": "bfloat16"}
SHORT = {"float16": "half", "bfloat16": "bfloat"}


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


def matrices_of(c: Contraction, nest: Nest) -> int:
    """How many matrices a warp has below each other, and side by side: 1, 2 or 4."""
    down, across, batch = (math.prod(nest.extents[a] for a in axes) for axes in (c.rows, c.columns, c.batch))

    def fills(each: int) -> bool:
        tile = UNIT * each
        return min(down, across) >= tile and -(-down // tile) * -(-across // tile) * batch * c.tile.parts >= FULL

    return c.asked or next((each for each in (4, 2) if fills(each)), 1)


class TensorPrinter(TilePrinter):
    """Prints products for tensor cores; see `emit_tiles.py` for those without."""

    numbers = ""  # what is multiplied, while such a product is printed

    def _tensor_tiles(self, c: Contraction, numbers: str) -> str:
        """The body of a kernel for a product; how many blocks of how many threads do it."""
        if not c.rows_last:  # 8 lanes store what lies side by side, if that is rows
            c = replace(c, rows=c.columns, columns=c.rows, left=c.right, right=c.left, rows_last=True)
        self.numbers, each, pair = numbers, matrices_of(c, self.nest), 1 if numbers == "tf32" else 2
        head = self._whole_numbers(c)
        sides = self._sides(c, UNIT * each, UNIT * each, WORDS, pair)
        for side in sides:
            shape = f"{side.long}, {WORDS + 4}" if side.along else f"{WORDS}, {side.long + 8}"
            kind = "float32" if pair == 1 else "uint32"
            self._write(1, f'{side.name} = cuda.shared.array((2, {shape}), "{kind}")', c.update.node)
            shape, kind = (f"{side.turns}", kind) if pair == 1 else (f"({side.turns}, 2)", "uint16")
            self._write(1, f'next_{side.name} = cuda.local.array({shape}, "{kind}")')
        start = self._begin(c, sides)
        self._write(1, "group, place = thread % 32 // 4, thread % 4")
        self._write(1, f"down = thread // {32 * ACROSS} * {ROWS * each} + group")
        self._write(1, f"across = thread // 32 % {ACROSS} * {COLUMNS * each}")
        self._sums(c, [("p", each), ("q", each), ("e", PARTS["c"])])
        self._along(c, sides, WORDS * pair, lambda c: self._multiply_together(c, each, sides))
        self._end(c, [f"down + {ROWS} * p + e // 2 * 8", f"across + {COLUMNS} * q + 2 * place + e % 2"])
        self._counted(head)
        self.numbers = ""
        return start

    def _wanted(self, c: Contraction, side: Side) -> tuple[Value, str, Callable[[str], str]]:
        if self.numbers not in SHORT:
            return super()._wanted(c, side)
        value, short = side.value, SHORT[self.numbers]
        if value.kind == "compute" and half_of(value) is not None:
            (value,) = value.operands
        bits = re.compile(rf"float_to_{short}\({short}_to_float\((\w+\[((?!_to_float).)*\])\)\)$")
        # what lies there as bits goes there as bits
        return value, "0", lambda text: bits.sub(r"\1", f"float_to_{short}({text})")

    def _put(self, side: Side) -> str:
        if not self.numbers:
            return super()._put(side)
        word, wide = side.places()
        number = f"next_{side.name}[turn{{}}]"
        pair = f"{number.format(', 0')} | {number.format(', 1')} << 16"
        text = f"cuda.tf32({number.format('')})" if self.numbers == "tf32" else pair
        return f"{_cell_of(side, 'buffer', wide, word)} = {text}"

    def _multiply_together(self, c: Contraction, each: int, sides: Sequence[Side]) -> None:
        """Each warp multiplies its rows and columns of the tiles."""
        left, right = sides
        self._write(3, f"for p in range({each}):")
        self._write(4, f"i = down + {ROWS} * p")
        words = [_cell_of(left, "1 - buffer", i, word) for word in ("place", "place + 4") for i in ("i", "i + 8")]
        self._write(4, f"a = {', '.join(words)}", c.left.node)
        self._write(4, f"for q in range({each}):")
        self._write(5, f"j = across + {COLUMNS} * q + group")
        words = [_cell_of(right, "1 - buffer", "j", word) for word in ("place", "place + 4")]
        self._write(5, f"b = {', '.join(words)}", c.right.node)
        sums = ", ".join(f"{self.sum}[p, q, {e}]" for e in range(PARTS["c"]))
        self._write(5, f"{sums} = cuda.mma_{self.numbers}(a, b, ({sums}))", c.update.node)


def _cell_of(side: Side, buffer: str, wide: str, word: str) -> str:
    """A word of a tile, in the order in which it is read."""
    return f"{side.name}[{buffer}, {wide}, {word}]" if side.along else f"{side.name}[{buffer}, {word}, {wide}]"
