"""Matrices: what every function of linear algebra asks of its input, and how its kernels are made.

    (..., n, m)  ->  (batch, n, m)    a kernel goes through a batch; its pieces of work are whole matrices

Such a kernel is text, one for each dtype, with `{dtype}` and `{real}` in place of NumPy's names. Where the answer has
several parts (values and vectors, a factor and its row swaps), they lie side by side in one array, and are cut apart
outside. A kernel that finds that there is no answer raises LinAlgError: the learner's line is added on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jt_edu.base.dtypes import DType, float32, float_of, real_of
from jt_edu.base.errors import ShapeError
from jt_edu.ir.meta_ops import Rule
from jt_edu.ir.node import Shape
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.variable.var import Var, as_var

RAISES = "from jt_edu.base.errors import LinAlgError\n"


def matrices(name: str, x: Any, square: bool = True) -> Var:
    """`x` as floats, if it is a matrix or a batch of them; whole numbers become float64, as in NumPy.

    Raises:
        ShapeError: fewer than two axes, or a matrix that is not square where it has to be.
    """
    v = as_var(x)
    if v.ndim < 2:
        raise ShapeError(f"{name} takes a matrix, or a batch of them: (..., n, m)", f"shape {v.shape}")
    if square and v.shape[-1] != v.shape[-2]:
        raise ShapeError(f"{name} takes square matrices", f"shape {v.shape}", "jt.linalg.pinv or lstsq")
    return v.cast(float_of(v.dtype))


def batch_of(x: Var) -> tuple[Var, Shape]:
    """A batch on one axis, (batch, n, m), and the lengths that were put together: `reshape(*lead, ...)` undoes it."""
    lead = x.shape[:-2]
    return x.reshape((math.prod(lead), *x.shape[-2:])), lead


def by_dtype(name: str, text: str, gradient: Sequence[Rule | None] = (), weight: int = 100) -> Callable[..., Var]:
    """The kernel for the dtype of its first input; the other arguments are those of `custom_kernel.kernel`."""

    @cache
    def made(dtype: DType) -> Callable[..., Var]:
        words = {"dtype": f"np.{dtype}", "real": f"np.{real_of(dtype)}"}
        filled = text
        for word, meaning in words.items():
            filled = filled.replace("{" + word + "}", meaning)
        return kernel(name, filled, gradient, weight, Rows)

    def op(x: Var, *others: Var, **named: Any) -> Var:
        return made(float32 if x.dtype.is_half else x.dtype)(x, *others, **named)

    return op
