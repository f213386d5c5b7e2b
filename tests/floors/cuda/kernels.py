"""Thirty right kernels, and for each a bug: an edit of its text, and what the interpreter has to say of it.

A case is (name, text, launch, bug). The launch says blocks, threads and arguments, and what the arguments hold
afterwards. The bug says which part is replaced by what, the kind of finding, a part of the line that is blamed, and
threads that have to be named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu import cuda
from jt_edu.base.source_text import remember
from jt_edu.cuda.launch import Kernel


@dataclass(frozen=True)
class Case:
    """A right kernel and a bug in it."""

    name: str
    text: str
    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    result: Any  # of the last argument, or of what it is changed to
    old: str
    new: str
    kind: str
    line: str
    threads: tuple[tuple[int, int], ...]
    shared: int = 0


def made(text: str, name: str) -> Any:
    """The last function of a text, which can be read again."""
    filename = remember(text, f"<kernel {name}>")
    space: dict[str, Any] = {"cuda": cuda, "np": np}
    exec(compile(text, filename, "exec"), space)  # noqa: S102 - the texts below
    return [value for value in space.values() if isinstance(value, Kernel)][-1]


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(shape)) % 13 + 1).astype(np.float32).reshape(shape)


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


X, Y, M = f32(100), f32(100)[::-1].copy(), f32(20, 24)
BLOCK = [(0, t) for t in range(32)]

CASES = [
    Case(
        "map with a guard",
        """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2
""",
        4, 32, (X, zeros(100)), X * 2,
        "if i < x.size", "if i <= x.size", "out of bounds", "out[i] = x[i] * 2", ((3, 4),),
    ),
    Case(
        "map without a guard, in two parts",
        """
@cuda.jit
def kernel(x, y, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i < out.shape[0]:
        s = x[i] + y[i]
        out[i] = s
""",
        13, 8, (X, Y, zeros(100)), X + Y,
        "if i < out.shape[0]", "if i < cuda.gridsize(1)", "out of bounds", "s = x[i] + y[i]", ((12, 4), (12, 7)),
    ),
    Case(
        "map in two dimensions",
        """
@cuda.jit
def kernel(x, out):
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + 1
""",
        (3, 3), (8, 8), (M, zeros(20, 24)), M + 1,
        "i < x.shape[0] and j < x.shape[1]", "i < x.shape[1] and j < x.shape[0]", "out of bounds",
        "out[i, j]", ((6, 32),),
    ),
    Case(
        "grid stride",
        """
@cuda.jit
def kernel(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i] - 1
""",
        2, 32, (X, zeros(100)), X - 1,
        "cuda.gridsize(1)", "cuda.blockDim.x", "race", "out[i] = x[i] - 1", ((1, 0), (0, 0)),
    ),
    Case(
        "a loop by hand",
        """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    while i < x.size:
        out[i] = x[i] * x[i]
        i += cuda.gridsize(1)
""",
        2, 16, (X, zeros(100)), X * X,
        "i += cuda.gridsize(1)", "i + cuda.gridsize(1)", "never ends", "while i < x.size", ((0, 0),),
    ),
    Case(
        "neighbours",
        """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        left = x[i - 1] if i > 0 else x[i]
        out[i] = x[i] - left
""",
        4, 32, (X, zeros(100)), np.diff(X, prepend=X[:1]),
        "x[i - 1] if i > 0 else x[i]", "x[i - 1]", "out of bounds", "left = x[i - 1]", ((0, 0),),
    ),
    Case(
        "reverse through shared memory",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[31 - t]
""",
        1, 32, (X[:32], zeros(32)), X[31::-1],
        "    cuda.syncthreads()\n", "", "race", "tile[t] = x[t]", ((0, 15), (0, 16)),
    ),
    Case(
        "a sum of a block",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(64, "float32")
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
""",
        2, 64, (X, zeros(2)), [X[:64].sum(), X[64:].sum()],
        "        cuda.syncthreads()\n        half", "        half", "race",
        "tile[t] += tile[t + half]", ((0, 0), (0, 16)),
    ),
    Case(
        "a sum whose barrier all reach",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    half = 16
    while half > 0:
        cuda.syncthreads()
        if t < half:
            tile[t] += tile[t + half]
        half //= 2
    if t == 0:
        out[0] = tile[0]
""",
        1, 32, (X[:32], zeros(1)), [X[:32].sum()],
        "        cuda.syncthreads()\n        if t < half:\n", "        if t < half:\n            cuda.syncthreads()\n",
        "divergent barrier", "cuda.syncthreads()", ((0, 0), (0, 15)),
    ),
    Case(
        "a sum with an atomic",
        """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])
""",
        4, 32, (X, zeros(1)), [X.sum()],
        "cuda.atomic.add(out, 0, x[i])", "out[0] += x[i]", "race", "out[0] += x[i]", ((0, 0), (0, 1)),
    ),
    Case(
        "a histogram",
        """
@cuda.jit
def kernel(x, out):
    bins = cuda.shared.array(16, "int32")
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, int(x[cuda.grid(1)]), 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(out, t, bins[t])
""",
        3, 32, (X[:96], np.zeros(16, np.int32)), np.bincount(X[:96].astype(int), minlength=16),
        "    if t < 16:\n        bins[t] = 0\n", "", "unwritten", "cuda.atomic.add(bins", ((0, 0),),
    ),
    Case(
        "a histogram that is cleared first",
        """
@cuda.jit
def kernel(x, out):
    bins = cuda.shared.array(16, "int32")
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, int(x[t]), 1)
    cuda.syncthreads()
    if t < 16:
        out[t] = bins[t]
""",
        1, 64, (X[:64], np.zeros(16, np.int32)), np.bincount(X[:64].astype(int), minlength=16),
        "        bins[t] = 0\n    cuda.syncthreads()", "        bins[t] = 0", "race", "cuda.atomic.add(bins", ((0, 0),),
    ),
    Case(
        "rows upside down",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array((8, 8), "float32")
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    tile[i, j] = x[i, j]
    cuda.syncthreads()
    out[i, j] = tile[7 - i, j]
""",
        1, (8, 8), (f32(8, 8), zeros(8, 8)), f32(8, 8)[::-1],
        "    tile[i, j] = x", "    if i > 0:\n        tile[i, j] = x", "unwritten",
        "out[i, j] = tile", ((0, 56), (0, 63)),
    ),
    Case(
        "columns without a conflict of banks",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array((32, 33), "float32")
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    tile[i, j] = x[i, j]
    cuda.syncthreads()
    out[i, j] = tile[j, i]
""",
        1, (32, 32), (f32(32, 32), zeros(32, 32)), f32(32, 32).T,
        "(32, 33)", "(32, 32)", "bank conflict", "out[i, j] = tile[j, i]", ((0, 0), (0, 31)),
    ),
    Case(
        "a column beside a column",
        """
@cuda.jit
def kernel(x, out):
    row = cuda.shared.array(64, "float32")
    t = cuda.threadIdx.x
    row[t] = x[t]
    row[t + 32] = x[t + 32]
    cuda.syncthreads()
    out[t] = row[t] + row[t + 32]
""",
        1, 32, (X[:64], zeros(32)), X[:32] + X[32:64],
        "out[t] = row[t] + row[t + 32]", "out[t] = row[2 * t] + row[t + 32]", "bank conflict", "row[2 * t]", ((0, 31),),
    ),
    Case(
        "a product by tiles",
        """
@cuda.jit
def kernel(a, b, out):
    left = cuda.shared.array((4, 4), "float32")
    right = cuda.shared.array((4, 4), "float32")
    i, j, y, x = cuda.blockIdx.y * 4 + cuda.threadIdx.y, cuda.grid(2)[0], cuda.threadIdx.y, cuda.threadIdx.x
    total = np.float32(0)
    for k in range(0, a.shape[1], 4):
        left[y, x] = a[i, k + x]
        right[y, x] = b[k + y, j]
        cuda.syncthreads()
        for q in range(4):
            total += left[y, q] * right[q, x]
        cuda.syncthreads()
    out[i, j] = total
""",
        (2, 2), (4, 4), (f32(8, 12), f32(12, 8), zeros(8, 8)), f32(8, 12) @ f32(12, 8),
        "        cuda.syncthreads()\n    out", "    out", "race", "left[y, x] = a[i, k + x]", ((0, 0), (0, 1)),
    ),
    Case(
        "a product by tiles, whose edges are guarded",
        """
@cuda.jit
def kernel(a, b, out):
    left = cuda.shared.array((4, 4), "float32")
    right = cuda.shared.array((4, 4), "float32")
    j, i = cuda.grid(2)
    y, x = cuda.threadIdx.y, cuda.threadIdx.x
    total = np.float32(0)
    for k in range(0, a.shape[1], 4):
        left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0
        right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0
        cuda.syncthreads()
        for q in range(4):
            total += left[y, q] * right[q, x]
        cuda.syncthreads()
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = total
""",
        (2, 2), (4, 4), (f32(7, 10), f32(10, 6), zeros(7, 6)), f32(7, 10) @ f32(10, 6),
        "        cuda.syncthreads()\n        for", "        for", "race", "total += left[y, q]", ((0, 0), (0, 1)),
    ),
    Case(
        "a sum of a warp by shuffles",
        """
@cuda.jit
def kernel(x, out):
    v = x[cuda.grid(1)]
    by = 16
    while by > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, by)
        by //= 2
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = v
""",
        1, 96, (X[:96], zeros(3)), X[:96].reshape(3, 32).sum(1),
        "        v += cuda.shfl", "        if cuda.laneid < by:\n            v += cuda.shfl",
        "divergent barrier", "cuda.shfl_down_sync", ((0, 0), (0, 15)),
    ),
    Case(
        "a sum of a warp in shared memory",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncwarp()
    by = 16
    while by > 0:
        v = tile[t + by] if t < by else 0
        cuda.syncwarp()
        tile[t] += v
        cuda.syncwarp()
        by //= 2
    out[t] = tile[0]
""",
        1, 32, (X[:32], zeros(32)), np.full(32, X[:32].sum()),
        "        tile[t] += v\n        cuda.syncwarp()", "        tile[t] += v", "race",
        "v = tile[t + by]", ((0, 0), (0, 8)),
    ),
    Case(
        "who votes",
        """
@cuda.jit
def kernel(x, out):
    votes = cuda.ballot_sync(0xFFFFFFFF, x[cuda.threadIdx.x] > 5)
    if cuda.threadIdx.x == 0:
        out[0] = cuda.popc(votes)
""",
        1, 32, (X[:32], np.zeros(1, np.int64)), [(X[:32] > 5).sum()],
        "    if cuda.threadIdx.x == 0:\n        out[0]", "    if True:\n        out[0]", "race",
        "out[0] = cuda.popc", ((0, 0), (0, 1)),
    ),
    Case(
        "a prefix sum with two rows",
        """
@cuda.jit
def kernel(x, out):
    rows = cuda.shared.array((2, 32), "float32")
    t, now, by = cuda.threadIdx.x, 0, 1
    rows[0, t] = x[t]
    cuda.syncthreads()
    while by < 32:
        before = rows[now, t - by] if t >= by else 0
        rows[1 - now, t] = rows[now, t] + before
        cuda.syncthreads()
        now, by = 1 - now, by * 2
    out[t] = rows[now, t]
""",
        1, 32, (X[:32], zeros(32)), np.cumsum(X[:32]),
        "rows[1 - now, t] =", "rows[now, t] =", "race", "before = rows[now, t - by]", ((0, 0), (0, 1)),
    ),
    Case(
        "a prefix sum that looks back",
        """
@cuda.jit
def kernel(x, out):
    row = cuda.shared.array(32, "float32")
    t, by = cuda.threadIdx.x, 1
    row[t] = x[t]
    cuda.syncthreads()
    while by < 32:
        v = row[t - by] if t >= by else 0
        cuda.syncthreads()
        row[t] += v
        cuda.syncthreads()
        by *= 2
    out[t] = row[t]
""",
        1, 32, (X[:32], zeros(32)), np.cumsum(X[:32]),
        "v = row[t - by] if t >= by else 0", "v = row[t - by]", "out of bounds", "v = row[t - by]", ((0, 0),),
    ),
    Case(
        "a sum of all blocks by the last one",
        """
@cuda.jit
def kernel(x, parts, count, out):
    last = cuda.shared.array(1, "int32")
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        total = np.float32(0)
        for i in range(b * 8, b * 8 + 8):
            total += x[i]
        parts[b] = total
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t == 0:
        total = np.float32(0)
        for k in range(cuda.gridDim.x):
            total += parts[k]
        out[0] = total
""",
        6, 8, (X[:48], zeros(6), np.zeros(1, np.int32), zeros(1)), [X[:48].sum()],
        "        cuda.threadfence()\n", "", "race", "total += parts[k]", ((5, 0), (0, 0)),
    ),
    Case(
        "softmax of a row",
        """
import math


@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(32, "float32")
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    tile[t] = x[row, t]
    cuda.syncthreads()
    most = tile[0]
    for k in range(32):
        most = max(most, tile[k])
    cuda.syncthreads()
    tile[t] = math.exp(x[row, t] - most)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(32):
        total += tile[k]
    out[row, t] = tile[t] / total
""",
        3, 32, (f32(3, 32), zeros(3, 32)),
        np.exp(f32(3, 32) - f32(3, 32).max(1, keepdims=True))
        / np.exp(f32(3, 32) - f32(3, 32).max(1, keepdims=True)).sum(1, keepdims=True),
        "    cuda.syncthreads()\n    tile[t] = math", "    tile[t] = math", "race",
        "tile[t] = math.exp", ((0, 0), (0, 1)),
    ),
    Case(
        "a device function",
        """
@cuda.jit(device=True)
def clipped(v, most):
    return v if v < most else most


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = clipped(x[i], 5)
""",
        4, 32, (X, zeros(100)), np.minimum(X, 5),
        "out[i] = clipped(x[i], 5)", "out[i + 1] = clipped(x[i], 5)", "out of bounds", "out[i + 1]", ((3, 3),),
    ),
    Case(
        "a device function with a barrier",
        """
@cuda.jit(device=True)
def total_of(tile, t):
    half = 16
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    return tile[0]


@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = x[t] / total_of(tile, t)
""",
        1, 32, (X[:32], zeros(32)), X[:32] / X[:32].sum(),
        "    out[t] = x[t] / total_of(tile, t)", "    if t < 30:\n        out[t] = x[t] / total_of(tile, t)",
        "divergent barrier", "cuda.syncthreads()", ((0, 0), (0, 29)),
    ),
    Case(
        "shared memory as large as the launch says",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(0, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[(t + 1) % cuda.blockDim.x]
""",
        1, 24, (X[:24], zeros(24)), np.roll(X[:24], -1),
        "tile[(t + 1) % cuda.blockDim.x]", "tile[t + 1]", "out of bounds", "out[t] = tile[t + 1]", ((0, 23),),
        shared=96,
    ),
    Case(
        "an array of each thread",
        """
@cuda.jit
def kernel(x, out):
    mine = cuda.local.array(4, "float32")
    t = cuda.threadIdx.x
    for k in range(4):
        mine[k] = x[t * 4 + k]
    total = np.float32(0)
    for k in range(4):
        total += mine[k]
    out[t] = total
""",
        1, 8, (X[:32], zeros(8)), X[:32].reshape(8, 4).sum(1),
        "for k in range(4):\n        mine", "for k in range(3):\n        mine", "unwritten",
        "total += mine[k]", ((0, 0), (0, 7)),
    ),
    Case(
        "two writers of one number",
        """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size // 2:
        out[i] = x[2 * i] + x[2 * i + 1]
""",
        2, 32, (X, zeros(50)), X[::2] + X[1::2],
        "out[i] =", "out[i // 2] =", "race", "out[i // 2]", ((0, 0), (0, 1)),
    ),
    Case(
        "a stencil with a border",
        """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(34, "float32")
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t + 1] = x[i] if i < x.size else 0
    if t == 0:
        tile[0] = x[i - 1] if i > 0 else 0
    if t == 31:
        tile[33] = x[i + 1] if i + 1 < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[t] + tile[t + 1] + tile[t + 2]
""",
        4, 32, (X, zeros(100)), np.convolve(X, [1, 1, 1], "same"),
        "tile[33] =", "tile[32] =", "unwritten", "out[i] = tile[t]", ((0, 31),),
    ),
]  # fmt: skip
