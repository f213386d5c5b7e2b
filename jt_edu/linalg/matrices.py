"""Matrices: what every function of linear algebra asks of its input, and how its kernels are made.

    (..., n, m)  ->  (batch, n, m)    a kernel goes through a batch; its pieces of work are whole matrices

The text of such a kernel is filled in once for each dtype:

    {dtype}   the dtype            {eps}     the distance from 1 to the next number
    {real}    its real dtype       {limit}   the largest e for which 2^e * (the smallest normal number) is below 1

Where the answer has several parts (values and vectors, a factor and its row exchanges), they lie side by side in one
array, and are cut apart outside. A kernel that finds that there is no answer raises LinAlgError: the learner's line is
added on the way.

A system A X = B is one array [A | B], so that one gradient rule answers for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np

from jt_edu.base.dtypes import DType, float32, promote, real_of
from jt_edu.base.errors import ShapeError
from jt_edu.ir.builders import broadcast_shape
from jt_edu.ir.meta_ops import Rule
from jt_edu.ir.node import OFTEN, Shape
from jt_edu.ops.concat import concat
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.dtype_rules import as_floats, widened
from jt_edu.ops.transpose import matrix_transpose
from jt_edu.variable.var import Var, as_var

Function = TypeVar("Function", bound=Callable[..., Any])
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
    return as_floats(v)


def batch_of(x: Var) -> tuple[Var, Shape]:
    """A batch on one axis, (batch, n, m), and the lengths that were put together: `reshape(*lead, ...)` undoes it."""
    lead = x.shape[:-2]
    return x.reshape((math.prod(lead), *x.shape[-2:])), lead


def adjoint_of(x: Var) -> Var:
    """The conjugate transpose, which gradients of products are made of."""
    return matrix_transpose(x).conj()


def beside(name: str, a: Var, b: Var) -> tuple[Var, Shape]:
    """[A | B] as a batch on one axis, (batch, n, n + r), of batches that broadcast; and their common lengths."""
    dtype, lead = promote(a.dtype, b.dtype), broadcast_shape(name, a.shape[:-2], b.shape[:-2])
    return batch_of(concat([v.cast(dtype).stretched((*lead, *v.shape[-2:])) for v in (a, b)], -1))


def by_dtype(name: str, text: str, gradient: Sequence[Rule | None] = ()) -> Callable[..., Var]:
    """The kernel for the dtype of its first input; the other arguments are those of `custom_kernel.kernel`."""

    @cache
    def made(dtype: DType) -> Callable[..., Var]:
        real = real_of(dtype)
        about = np.finfo(real.storage)
        limit = -math.frexp(about.tiny)[1]
        words = {"dtype": f"np.{dtype}", "real": f"np.{real}", "eps": str(about.eps), "limit": str(limit)}
        filled = text
        for word, meaning in words.items():
            filled = filled.replace("{" + word + "}", meaning)
        return kernel(name, filled, gradient, weight=100, kind=Rows)

    def op(x: Var, *others: Var, **named: Any) -> Var:
        return made(float32 if x.dtype.is_half else x.dtype)(x, *others, **named)

    return op


def of_batch(op: Callable[..., Var], given: Var | tuple[Var, ...], *shape: int) -> Var:
    """What a kernel answers for each matrix of one batch or several: an array of `shape`, in the dtype of the first."""
    x, *others = given if isinstance(given, tuple) else (given,)
    return op(x, *others, shape=(len(x), *shape), dtype=x.dtype, span=len(x))


def kept(x: Var) -> Var:
    """What several answers are cut from: it stays as long as they do, and is computed once."""
    x.node.runs = OFTEN
    return x


def halves(function: Function) -> Function:
    """Let a function compute halves as float32, and answer in halves, where all its float inputs are of one half dtype.

    Example:
        >>> halves(lambda x: x.sum() + x.numel())(ones(3, dtype="float16")).dtype
        jt.float16
    """

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        args = tuple(as_var(v) if isinstance(v, np.ndarray) else v for v in args)
        found = {v.dtype for v in (*args, *named.values()) if isinstance(v, Var) and v.dtype.kind in "fc"}
        if not any(dtype.is_half for dtype in found):
            return function(*args, **named)
        half = found.pop() if len(found) == 1 else float32  # two dtypes are promoted: float32 or more
        wide = {word: widened(v) if isinstance(v, Var) else v for word, v in named.items()}
        answer = function(*(widened(v) if isinstance(v, Var) else v for v in args), **wide)
        if isinstance(answer, Var):
            return answer.cast(half) if answer.dtype == float32 else answer
        return type(answer)(*(p.cast(half) if p.dtype == float32 else p for p in answer))

    return call  # type: ignore[return-value]
