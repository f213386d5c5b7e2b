"""Goldens: five kernels that jt_edu generates, as CUDA and as HIP have them.

    python tests/floors/cuda/golden/make.py      writes the files beside this one again

Read what has changed (git diff) before it is kept. tests/floors/cuda/test_cpp.py compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3]))

import jt_edu as jt  # noqa: E402
from jt_edu import cuda  # noqa: E402


def x(*shape: int) -> jt.Var:
    """Numbers that are no constant."""
    return jt.array(np.ones(shape, np.float32))


def embedding_gradient() -> jt.Var:
    """Rows that are asked for more than once get the sum."""
    table, places = x(10, 4), jt.array(np.array([1, -2, 1, 3]))
    return jt.grad((table[places] ** 2).sum(), table)


KERNELS = {
    "multiply_add": lambda: x(4, 5) * x(4, 5) + x(5),
    "sum": lambda: x(7, 50).sum(),
    "softmax": lambda: jt.nn.softmax(x(4, 5), -1),
    "product_relu": lambda: jt.nn.relu(x(20, 18) @ x(18, 17) + x(17)),
    "embedding_gradient": embedding_gradient,
}
ENDINGS = {"cuda": "cu", "hip": "hip"}


def texts() -> Iterator[tuple[Path, str]]:
    """Each file, and what belongs into it."""
    for name, ask in KERNELS.items():
        with jt.flag_scope(backend="cudasim"), jt.trace() as t:
            ask().numpy()
            for language, ending in ENDINGS.items():
                yield HERE / f"{name}.{ending}", cuda.source(t.kernels[-1], language=language)


if __name__ == "__main__":
    for path, text in texts():
        path.write_text(text, encoding="utf-8")
