"""Cublas: who multiplies matrices in the place of our kernels, where `jt.flags.cublas` asks for it?

NVIDIA's library, by ctypes: that of the package nvidia-cublas (pip), or one that the system has. It is off by default,
and a trace names it. It counts columns first, so a product of rows is given to it as the product of the transposed
factors, the other way round: out' = right' left'.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from ctypes import byref, c_double, c_float, c_int, c_longlong, c_void_p
from pathlib import Path
from typing import Any

from jt_edu.base.errors import BackendError
from jt_edu.cuda.device import Device

VERSIONS = (13, 12)
KINDS: dict[str, tuple[int, int]] = {  # the library's numbers of a dtype, and of what is computed in
    "float32": (0, 68), "float64": (1, 70), "float16": (2, 68), "bfloat16": (14, 68),
    "complex64": (4, 68), "complex128": (5, 70),
}  # fmt: skip
FACTORS = {68: ((c_float * 2)(1), (c_float * 2)()), 70: ((c_double * 2)(1), (c_double * 2)())}  # 1 and 0, also 1 + 0i
TRANSPOSED = {"n": 0, "t": 1}
DEFAULT = -1  # the library chooses an algorithm
_STATUS = {
    1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 13: "EXECUTION_FAILED",
    14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED",
}  # fmt: skip
_handles: dict[Device, int] = {}
_lock = threading.Lock()  # one thread at a time uses a handle


@functools.cache
def library() -> Any:
    """The library.

    Raises:
        BackendError: there is none.
    """
    return opened("cublas", VERSIONS, "jt.flags.cublas has NVIDIA's library multiply matrices", "nvidia-cublas")


def opened(name: str, versions: Sequence[int], asked: str, package: str) -> Any:
    """A library of NVIDIA's.

    Raises:
        BackendError: there is none; what was asked, and the package that has it.
    """
    for path in candidates(name, versions):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise BackendError(asked, f"no lib{name}", f"pip install {package}")


def candidates(name: str, versions: Sequence[int]) -> Iterator[str]:
    """Where it may be: in packages, newest first, then where the system looks."""
    windows = sys.platform == "win32"
    names = [f"{name}64_{v}.dll" if windows else f"lib{name}.so.{v}" for v in versions]
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
    for file in names:
        for folder in folders:
            yield from (str(path) for path in sorted(folder.rglob(file)))
    yield from names


def gemm(
    kind: str, left: Any, right: Any, out: Any, batch: int, rows: int, columns: int, summed: int, turned: str
) -> None:
    """out[b, i, j] = sum over k of left[b, i, k] * right[b, k, j], on arrays of a GPU.

    Args:
        kind: the dtype of the factors; halves are stored as their bits.
        left: (batch, rows, summed), or (batch, summed, rows); without its first axis, if batch is 1.
        right: (batch, summed, columns), or (batch, columns, summed).
        out: (batch, rows, columns).
        batch: how many products.
        rows: of each.
        columns: of each.
        summed: how many products of numbers are added up.
        turned: "n" or "t" for each factor: "t", where its last two axes are the other way round.

    Raises:
        BackendError: the library cannot do it.
    """
    device = left.entered()
    right.entered()
    out.entered()
    number, compute = KINDS[kind]
    one, zero = FACTORS[compute]
    sides = [part for x in (right, left) for part in (c_void_p(x.pointer), c_int(number), *_steps(x))]
    with _lock:
        _checked(
            library().cublasGemmStridedBatchedEx(
                c_void_p(_handle(device)), c_int(TRANSPOSED[turned[1]]), c_int(TRANSPOSED[turned[0]]),
                c_int(columns), c_int(rows), c_int(summed), one, *sides, zero,
                c_void_p(out.pointer), c_int(KINDS[out.dtype.name][0]), *_steps(out),
                c_int(batch), c_int(compute), c_int(DEFAULT),
            ),
            f"multiplying {rows} x {summed} by {summed} x {columns}",
        )  # fmt: skip
    out.base.written += 1


def _steps(x: Any) -> tuple[c_int, c_longlong]:
    """How far it is from row to row, and from matrix to matrix."""
    return c_int(x.shape[-1]), c_longlong(x.shape[-1] * x.shape[-2])


def _handle(device: Device) -> int:
    """What the library has of a GPU, whose work stands in our line."""
    if device not in _handles:
        made = c_void_p()
        _checked(library().cublasCreate_v2(byref(made)), "starting")
        _checked(library().cublasSetStream_v2(made, c_void_p(device.stream)), "starting")
        _handles[device] = made.value or 0
    return _handles[device]


def _checked(code: int, doing: str) -> None:
    if code:
        found = f"error {code} ({_STATUS.get(code, 'unknown')}) while {doing}"
        raise BackendError("cuBLAS does what it is asked", found, "jt.flags.cublas = False")
