"""Kernels of a GPU: what a function under `jit` is, and how far the interpreter goes."""

import numpy as np

import jt_edu as jt
from tests.arguments.rows import shows

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


ROWS = [
    *shows(cuda.device_array, "dtype", "int32", lambda **k: str(cuda.device_array(2, **k).dtype), "int32"),
    *shows(cuda.jit, "function", filled.function, lambda **k: repr(cuda.jit(**k)), "<kernel filled>"),
    *shows(cuda.jit, "device", True, lambda **k: repr(cuda.jit(filled.function, **k)), "<device function filled>"),
    *shows(cuda.source, "language", "hip", line, "out[0] = __shfl_xor(out[0], 1, 32);"),
    *shows(cuda.simulate, "shared", 32, found, (8, [])),
    *shows(cuda.simulate, "steps", 3, found, (0, ["never ends"])),
]
