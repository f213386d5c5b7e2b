"""Multiply: the products of matrices that BLAS is slow at, because one side is thin.

BLAS copies both matrices into an order that suits it, before it multiplies. That pays if each number is then used many
times. A linear layer on a batch of four uses each of its weights four times: reading them is all that costs.

    dots     out = a @ b.T      few rows            kernels/dots.py       a linear layer
    rows     out = a @ b        few rows            kernels/rows.py       its gradient by the input
    outer    out = a.T @ b      few to sum over     kernels/outer.py      its gradient by the weights

`relay.py` says which sizes are thin. Each kernel is a file that is run as it stands, and is what a learner reads. The
threads share the columns of the answer (of `outer`, the rows); each number is summed in the same order however they do.

The largest error of a number, against float64 with normal random numbers, divided by the root of the number of terms:
2e-6 in float32, 4e-15 in float64.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["PARTS", "text_of"]

_KERNELS = Path(__file__).parent / "kernels"
PARTS = {"dots": 32, "rows": 64, "outer": 6}  # columns, or rows, in a unit of work: PART in the kernels


@lru_cache(maxsize=len(PARTS))
def text_of(name: str) -> str:
    """The text of a kernel."""
    return (_KERNELS / f"{name}.py").read_text(encoding="utf-8")
