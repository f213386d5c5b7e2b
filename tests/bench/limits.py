"""Limits: what does the machine do at best, with nothing of ours in the way?

    copying(bytes)      moves as many bytes as the row has to read and write, as a plain copy
    product(n)          a matrix product of NumPy's BLAS into memory that is there already
    products(shapes)    several of them, one after the other

A share of a limit says how much is left to gain, whatever the peer does.
"""

from collections.abc import Callable, Sequence

import numpy as np

LINE = 64  # bytes: a copy that begins at cache lines is the fastest


def copying(size: int) -> Callable[[], None]:
    """A copy that reads size / 2 bytes and writes size / 2 bytes."""
    source, target = (_aligned(max(size // 2, 4)) for _ in range(2))
    return lambda: np.copyto(target, source)


def product(n: int) -> Callable[[], None]:
    """(n, n) @ (n, n) in float32."""
    return products([(n, n, n)])


def products(shapes: Sequence[tuple[int, int, int]]) -> Callable[[], None]:
    """(m, k) @ (k, n) in float32 for each (m, k, n)."""
    rng = np.random.default_rng(0)
    sides = [
        (rng.random((m, k), np.float32), rng.random((k, n), np.float32), np.empty((m, n), np.float32))
        for m, k, n in shapes
    ]

    def run() -> None:
        for a, b, out in sides:
            np.dot(a, b, out)

    return run


def _aligned(size: int) -> np.ndarray:
    """Memory for float32 that was touched, and begins at a cache line."""
    room = np.ones(size + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size // 4 * 4].view(np.float32)
