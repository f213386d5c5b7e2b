"""Matmul: which products of matrices is BLAS slow at? Those with a side that is thin, or small.

BLAS copies both matrices into an order that suits it, before it multiplies. That pays if each number is then used many
times. A linear layer on a batch of four uses each of its weights four times: reading them is all that costs.

    dots     out = a @ b.T      few rows            kernels/dots.py       a linear layer
    rows     out = a @ b        few rows            kernels/rows.py       its gradient by the input
    outer    out = a.T @ b      few to sum over     kernels/outer.py      its gradient by the weights;
                                or a small answer                         of a layer that is used at many moments
    near     out = a @ b        many rows, small b  kernels/near.py       a gradient by the input of many moments

Read `ir/matmul_pattern.py` first: it says what a product is, and which sizes are thin. `runtime/matmul_step.py` makes a
step of a plan of one. Each kernel is a file that is run as it stands, and is what a learner reads; `tile` and `dots`,
which they are made of, stand with the convolutions. The threads share the columns of the answer (of `outer` and `near`,
the rows); each number is summed in the same order however they do.

Every other product is BLAS: dot.py says how a kernel calls it.

The largest error of a number, against float64 with normal random numbers, divided by the root of the number of terms:
2e-6 in float32, 5e-15 in float64.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["PARTS", "text_of"]

_KERNELS = Path(__file__).parent / "kernels"
PARTS = {"dots": 32, "rows": 64, "outer": 6, "near": 24}  # columns, or rows, in a unit of work: PART in the kernels


@lru_cache(maxsize=len(PARTS))
def text_of(name: str) -> str:
    """The text of a kernel."""
    return (_KERNELS / f"{name}.py").read_text(encoding="utf-8")
