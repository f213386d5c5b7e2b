"""Kernels of a GPU: what a function under `jit` is, and how far the interpreter goes."""

from typing import Any

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda import compiler, device
from tests.arguments.rows import shows
from tests.floors.cuda.fake_driver import FakeLibrary

cuda = jt.cuda


@cuda.jit
def filled(out):
    row = cuda.shared.array(0, "float32")
    for k in range(4):
        row[k] = out[k]
    out[0] = len(row)


def found(**given) -> tuple[int, list[str]]:
    out = np.zeros(4)
    run = cuda.simulate(filled, 1, 1, out, **{"shared": 16, **given})
    return int(out[0]), [f.kind for f in run.findings]


@cuda.jit
def shuffled(out):
    out[0] = cuda.shfl_xor_sync(0xFFFFFFFF, out[0], 1)


def line(**given) -> str:
    return cuda.source(shuffled, np.zeros(4), **given).splitlines()[-2].strip()


def words_of_a_product(precision: str = "highest") -> list[str]:
    x = jt.ones(20, 20).sync()
    jt.set_float32_matmul_precision(precision)
    try:
        with jt.flag_scope(backend="cudasim"):
            (kernel,) = jt.explain(x @ x).kernels
    finally:
        jt.set_float32_matmul_precision("highest")
    return [word for word in ("cuda.mma_tf32", "cuda.mma_bfloat16") if word in kernel.source]


def with_two_gpus(name: str, *given: Any, **more: Any) -> Any:
    library = FakeLibrary(("Fake A", "Fake B"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        cards = device.Cards(library)
        patch.setattr(device, "cards", lambda: cards)
        patch.setattr(compiler, "compiled", library.compile)
        found = getattr(cuda, name)(*given, **more)
    return found.cc if name == "compile" else found


ROWS = [
    *shows(cuda.compile, "cc", (8, 0), lambda **k: with_two_gpus("compile", filled, np.zeros(1), **k), (8, 0)),
    *shows(cuda.get_device_name, "device", 1, lambda **k: with_two_gpus("get_device_name", **k), "Fake B"),
    *shows(cuda.get_device_capability, "device", 1, lambda **k: with_two_gpus("get_device_capability", **k), (9, 1)),
    *shows(
        cuda.get_device_properties, "device", 1, lambda **k: with_two_gpus("get_device_properties", **k).name, "Fake B"
    ),
    *shows(cuda.device_array, "dtype", "int32", lambda **k: str(cuda.device_array(2, **k).dtype), "int32"),
    *shows(cuda.jit, "function", filled.function, lambda **k: repr(cuda.jit(**k)), "<kernel filled>"),
    *shows(cuda.jit, "device", True, lambda **k: repr(cuda.jit(filled.function, **k)), "<device function filled>"),
    *shows(cuda.occupancy, "shared", 48 << 10, lambda **k: cuda.occupancy(32, 128, cc=(9, 0), **k).blocks, 4),
    *shows(cuda.occupancy, "cc", (7, 5), lambda **k: cuda.occupancy(32, 128, **{"cc": (9, 0), **k}).most, 32),
    *shows(cuda.source, "language", "hip", line, "out[0] = __shfl_xor(out[0], 1, 32);"),
    *shows(cuda.simulate, "shared", 32, found, (8, [])),
    *shows(jt.set_float32_matmul_precision, "precision", "high", words_of_a_product, ["cuda.mma_tf32"]),
    *shows(cuda.simulate, "steps", 3, found, (0, ["never ends"])),
]
