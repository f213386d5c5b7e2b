"""Limits: what does the machine do at best, with nothing of ours in the way?

    copying(bytes)      moves as many bytes as the row has to read and write, as a plain copy
    copy_speed(bytes)   bytes per second of such a copy
    products(shapes)    matrix products of NumPy's BLAS into memory that is there already, one after the other
    peak()              float operations per second, of multiply-add chains in registers or of a product

A share of a limit says how much is left to gain, whatever the peer does.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

import jt_edu as jt
from tests.bench.measure import Clock, take_turns

ROUNDS = 25  # of a copy
LINE = 64  # bytes: a copy that begins at cache lines is the fastest


def copying(size: int) -> Callable[[], None]:
    """A copy that reads size / 2 bytes and writes size / 2 bytes."""
    source, target = (_aligned(max(size // 2, 4)) for _ in range(2))
    return lambda: np.copyto(target, source)


def copy_speed(size: int, clock: Clock = time.process_time) -> float:
    """Bytes per second of a copy that moves `size` bytes, those that are read and those that are written.

    It takes turns with a copy of other arrays, as a row does with its peer: alone it would find all it needs in caches.
    """
    return size / take_turns({"copy": copying(size), "other": copying(size)}, ROUNDS, clock)["copy"].best


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


def peak() -> float:
    """The most float32 operations per second that one thread was seen to do, measured now (a second or two)."""
    found = jt.machine(again=True)
    return max(found.one_thread_flops_per_second, found.product_flops_per_second if found.threads == 1 else 0.0)


def _aligned(size: int) -> np.ndarray:
    """Memory for float32 that was touched, and begins at a cache line."""
    room = np.ones(size + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size // 4 * 4].view(np.float32)
