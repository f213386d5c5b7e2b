"""A library that has the names of cuBLAS, and computes on the memory of a fake GPU, columns first as that does."""

# ruff: noqa: N802 - the library's own names

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = {0: "float32", 1: "float64", 2: "float16", 14: "bfloat16", 4: "complex64", 5: "complex128"}
COMPUTES = {68: ("float32", "float16", "bfloat16", "complex64"), 70: ("float64", "complex128")}


class FakeOfNvidia:
    """Stands in the place of a library of NVIDIA's, whose functions begin with a word of their own.

    Args:
        driver: the fake driver, in whose lines work is put.
        fails: for the name of a function the number that it answers with.
    """

    begin = ""
    seconds = 0.0  # by the clock of the driver, for each thing that it computes

    def __init__(self, driver: Any, **fails: int) -> None:
        self.driver, self.fails, self.calls = driver, fails, list[str]()
        self.streams: dict[int, Any] = {}  # handle -> stream

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith(type(self).begin):
            return found

        def counted(*given: Any) -> int:
            self.calls.append(name)
            return self.fails.get(name) or found(*given) or 0

        return counted

    def create(self, handle: Any) -> None:
        handle._obj.value = 77 + len(self.streams)
        self.streams[handle._obj.value] = ctypes.c_void_p(0)

    def set_stream(self, handle: Any, stream: Any) -> None:
        self.streams[handle.value] = stream

    def later(self, handle: Any, run: Callable[[], None]) -> int:
        """Put work in line."""

        def timed() -> None:
            self.driver.now += self.seconds
            run()

        return int(self.driver._later(self.streams[handle.value], timed))


class FakeCublas(FakeOfNvidia):
    """Stands in the place of libcublas."""

    begin = "cublas"

    def cublasCreate_v2(self, handle: Any) -> None:
        self.create(handle)

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> None:
        self.set_stream(handle, stream)

    def cublasGemmStridedBatchedEx(self, handle: Any, *given: Any) -> int:
        """C = alpha * op(A) op(B) + beta * C for each of a batch, A being m by k then."""
        words = [word.value if hasattr(word, "value") else word for word in given]
        turn_a, turn_b, m, n, k, alpha, a, a_type, a_step, a_next, b, b_type, b_step, b_next = words[:14]
        beta, c, c_type, c_step, c_next, batch, compute, algorithm = words[14:]
        if DTYPES[a_type] not in COMPUTES[compute] or a_type != b_type or algorithm != -1:
            return 15
        if list(alpha) != [1, 0] or list(beta) != [0, 0]:
            return 7

        def run() -> None:
            for number in range(batch):
                left = self._matrix(a, a_type, a_step, a_next * number, (k, m) if turn_a else (m, k))
                right = self._matrix(b, b_type, b_step, b_next * number, (n, k) if turn_b else (k, n))
                out = self._matrix(c, c_type, c_step, c_next * number, (m, n))
                product = _numbers(left.T if turn_a else left, a_type) @ _numbers(right.T if turn_b else right, b_type)
                out[...] = product.astype(out.dtype)

        return self.later(handle, run)

    def _matrix(self, pointer: int, kind: int, step: int, begin: int, shape: tuple[int, int]) -> Any:
        """A view of the GPU's memory, whose columns are one after the other, `step` numbers apart."""
        dtype = np.dtype("uint16" if DTYPES[kind] == "bfloat16" else DTYPES[kind])
        rows, columns = shape
        assert rows <= step
        length = ((columns - 1) * step + rows) * dtype.itemsize
        found = self.driver.at(pointer + begin * dtype.itemsize, length)
        assert found is not None, "a matrix lies in one array of the GPU"
        strides = (dtype.itemsize, step * dtype.itemsize)
        return np.lib.stride_tricks.as_strided(found.view(dtype), shape, strides)


def _numbers(x: Any, kind: int) -> Any:
    if DTYPES[kind] == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float32) if DTYPES[kind] == "float16" else x
