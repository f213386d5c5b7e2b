"""Emit tensor: a product prints itself as a kernel whose warps multiply tiles on tensor cores.

    left[buffer, row, word]       a tile of x in shared memory      for first in range(0, n, 16):
    right[buffer, word, column]   one of y                              fill left and right; a barrier
    s0[p, q, e]                   four sums of each of the              for step in range(0, 16, 8):
                                  matrices of 16 x 8 of a warp              s0 = cuda.mma_tf32(a, b, s0)
                                                                    what becomes of s0

There are two buffers: a warp that is quick fills one, while others still multiply what is in the other.

A word is one number of TF32, or two halves that are neighbors along the sum (tensor_core.py, which has the layout of
fragments too). A tile lies in shared memory in that order in which it is read from global memory, with so many words
between its lines that the lanes of a warp, who want 8 lines at 4 places, find each word in a bank of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container

from jt_edu.backends.convolve.options import options
from jt_edu.base import dtypes
from jt_edu.base.dtypes import DType
from jt_edu.codegen.loop_ir import Value
from jt_edu.cuda.contraction import Contraction
from jt_edu.cuda.emit_tiles import SIDE, TilePrinter
from jt_edu.cuda.tensor_core import COLUMNS, PARTS, ROWS, WORDS
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.scalar_ops import cast_to

ACROSS = 4  # warps of a block side by side; 2 stand below each other
UNIT = 32  # rows and columns of a block whose warps have one matrix each
LINE = 16  # words of a tile along the sum
FULL = 64  # blocks, from which on larger tiles leave no part of a GPU idle
PRECISION = {"high": "tf32", "medium": "bfloat16"}
SHORT = {"float16": "half", "bfloat16": "bfloat"}
NAMES = "left", "right"


def numbers_of(c: Contraction, able: Container[str]) -> str:
    """What tensor cores multiply in a product: "float16", "bfloat16" or "tf32"; empty if they have no part in it.

    Args:
        c: the product.
        able: what those of the GPU can multiply.
    """
    if c.update.node.dtype is not dtypes.float32:
        return ""
    left, right = half_of(c.left), half_of(c.right)
    if left is not None and left is right:
        found = str(left)
    elif convolution(c.update.node) is not None:
        found = "tf32" if options().allow_tf32 else ""
    else:
        found = PRECISION.get(options().matmul_precision, "")
    return found if found in able else ""


def half_of(value: Value) -> DType | None:
    """The halves that a value is one of, though it is computed with as float32; None if it is none."""
    if value.kind == "fill" and getattr(value.node.op, "fill", None) == 0:
        return half_of(value.operands[0])
    if value.kind not in ("compute", "load") or value.node.data is not None or not value.node.inputs:
        return None
    inner = value.node.inputs[0].dtype
    return inner if inner.is_half and value.node.op is cast_to(dtypes.float32, inner) else None


class TensorPrinter(TilePrinter):
    """Prints products for tensor cores; see `emit_tiles.py` for those without."""

    def _tensor_tiles(self, c: Contraction, numbers: str) -> str:
        """The body of a kernel for a product; how many blocks of how many threads do it."""
        each = self._each(c)
        tile, deep = UNIT * each, LINE * (1 if numbers == "tf32" else 2)
        along = {name: self._steps(value, c.summed[-1]) for name, (value, _) in zip(NAMES, c.sides, strict=True)}
        for name in NAMES:
            shape = (tile, LINE + 4) if along[name] else (LINE, tile + 8)
            words = "float32" if numbers == "tf32" else "uint32"
            self._write(1, f'{name} = cuda.shared.array((2, {shape[0]}, {shape[1]}), "{words}")', c.update.node)
        start = self._begin(c, tile)
        self._write(1, "group, place = thread % 32 // 4, thread % 4")
        self._write(1, f"down = thread // {32 * ACROSS} * {ROWS * each} + group")
        self._write(1, f"across = thread // 32 % {ACROSS} * {COLUMNS * each}")
        self._sums(c, [("p", each), ("q", each), ("e", PARTS["c"])])
        self._write(1, f"for first in range(0, {self._count(c.summed)}, {deep}):")
        self._write(2, f"buffer = first // {deep} % 2")
        for name, begin, (value, axes) in zip(NAMES, ("row", "column"), c.sides, strict=True):
            self._fill_tile(c, name, begin, value, axes, tile, along[name], numbers)
        self._write(2, "cuda.syncthreads()")
        self._multiply(c, each, along, numbers)
        self._end(c, [f"down + {ROWS} * p + e // 2 * 8", f"across + {COLUMNS} * q + 2 * place + e % 2"])
        return start

    def _each(self, c: Contraction) -> int:
        """How many matrices a warp has below each other, and side by side."""
        down, across, batch = (math.prod(self.nest.extents[a] for a in axes) for axes in (c.rows, c.columns, c.batch))

        def fills(each: int) -> bool:
            tile = UNIT * each
            return min(down, across) >= tile and -(-down // tile) * -(-across // tile) * batch >= FULL

        return next((each for each in (4, 2) if fills(each)), 1)

    def _fill_tile(
        self, c: Contraction, name: str, begin: str, value: Value, axes: tuple[int, ...], tile: int, along: bool,
        numbers: str,
    ) -> None:  # fmt: skip
        """Read a tile, word by word; threads side by side read what lies side by side."""
        word, wide = (f"e % {LINE}", f"e // {LINE}") if along else (f"e // {tile}", f"e % {tile}")
        cell, wide = _cell(name, wide, word, along), f"{begin} + {wide}"
        self._write(2, f"for e in range(thread, {LINE * tile}, {SIDE * SIDE}):", value.node)
        if numbers == "tf32":
            self._read_number(c, f"first + {word}", wide, value, axes, 3)
            self._write(3, f"{cell} = cuda.tf32(number)", value.node)
            return
        inner, short = value, SHORT[numbers]
        if value.kind == "compute" and half_of(value) is not None:
            (inner,) = value.operands
        self._write(3, "word = 0")
        self._write(3, "for half in range(2):")
        deep = f"first + {word} * 2 + half"
        self._read_number(c, deep, wide, inner, axes, 4, "0", f"float_to_{short}({{}})")
        text = self.rows[-1]
        self.rows[-1] = re.sub(rf"float_to_{short}\({short}_to_float\((\w+\[[^()]*\])\)\)$", r"\1", text)
        self._write(4, "word = word | int64(number) << 16 * half", value.node)
        self._write(3, f"{cell} = word", value.node)

    def _multiply(self, c: Contraction, each: int, along: dict[str, bool], numbers: str) -> None:
        """Each warp multiplies its rows and columns of the tiles."""
        left, right = (f"{_cell(name, '{0}', '{1}', along[name])}" for name in NAMES)
        self._write(2, f"for step in range(0, {LINE}, {WORDS}):")
        self._write(3, "word = step + place")
        self._write(3, f"for p in range({each}):")
        self._write(4, f"i = down + {ROWS} * p")
        parts = [left.format(i, word) for word in ("word", "word + 4") for i in ("i", "i + 8")]
        self._write(4, f"a = {', '.join(parts)}", c.left.node)
        self._write(4, f"for q in range({each}):")
        self._write(5, f"j = across + {COLUMNS} * q + group")
        self._write(5, f"b = {', '.join(right.format('j', word) for word in ('word', 'word + 4'))}", c.right.node)
        sums = ", ".join(f"{self.sum}[p, q, {e}]" for e in range(PARTS["c"]))
        self._write(5, f"{sums} = cuda.mma_{numbers}(a, b, ({sums}))", c.update.node)


def _cell(name: str, wide: str, word: str, along: bool) -> str:
    """A word of a tile: along the sum where that is how it is read, or else the other way round."""
    return f"{name}[buffer, {wide}, {word}]" if along else f"{name}[buffer, {word}, {wide}]"
