"""Scratch: memory that a kernel works in, as long as it runs.

`np.empty` gives the same, and costs a learner who sorts for the first time three seconds: numba compiles the words of
its errors along with it, which speak of shapes, and so all that it takes to write numbers as text. Where there are two
lengths to compare, as in `row[:] = other`, it does so, too: kernels of ours copy in a loop.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import arrayobj

from jt_edu.backends.mathlib.simd_math import extending, types


def scratch(n: int, dtype: Any) -> Any:
    """An array of n numbers; the contents are arbitrary."""
    return np.empty(n, dtype)


def _typer(n: Any, dtype: Any) -> Any:
    whole = isinstance(n, types.Integer) and isinstance(dtype, types.NumberClass)
    return types.Array(dtype.dtype, 1, "C") if whole else None


extending.type_callable(scratch)(lambda context: _typer)


@extending.lower_builtin(scratch, types.Integer, types.NumberClass)
def _made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Numba's own array, which is freed when nobody holds it any more."""
    n = context.cast(builder, args[0], signature.args[0], types.intp)
    return arrayobj._empty_nd_impl(context, builder, signature.return_type, [n])._getvalue()
