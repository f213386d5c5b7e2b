"""Array API: the names by which SciPy and other libraries ask for what every array library has.

    xp = x.__array_namespace__()        jt itself: every name of the standard is a name of jt
    xp.__array_namespace_info__()       what it can do: devices, dtypes, capabilities
    xp.asarray(a), xp.from_dlpack(a)    an array of another library as a Var; they share memory where they can
    xp.cumulative_sum, xp.unique_all    the standard's words for `cumsum` and `unique`

Here stand only the names that jt did not have. Where the standard and PyTorch mean two things by one word, decision 087
says which one jt means.
Source: Python array API standard, version 2024.12.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from jt_edu import backends
from jt_edu.base.dtypes import DTYPES, DType, complex64, float32, int64
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.ir.meta_ops import COUNTERS
from jt_edu.ops.arguments import same_words, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import full
from jt_edu.ops.cumulative import cumprod, cumsum
from jt_edu.ops.dtype_functions import isdtype
from jt_edu.ops.row_view import one_axis
from jt_edu.ops.sets import unique
from jt_edu.ops.var_methods import to
from jt_edu.runtime.devices import CPU, default_device, is_there
from jt_edu.variable.torch_keywords import place
from jt_edu.variable.var import Var, array, as_var, method

__all__ = ["asarray", "cumulative_prod", "cumulative_sum", "from_dlpack", "unique_all", "unique_counts",
           "unique_inverse", "unique_values"]  # fmt: skip
__array_api_version__ = "2024.12"
VERSIONS = (None, "2021.12", "2022.12", "2023.12", __array_api_version__)
NOT_IN_THE_STANDARD = ("float16", "bfloat16")


def asarray(obj: Any, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Var:
    """`obj` as a Var: a Var is returned as it is, a NumPy array shares its memory where that can be.

    Args:
        obj: a number, lists of numbers, an array, or a Var.
        dtype: of the Var; without it, that of `obj`.
        device: where it lies, "cpu" or another that there is.
        copy: True copies always; False never, and raises where a copy is needed.

    Raises:
        ArgumentError: another device, or a copy is needed and not allowed.

    Example:
        >>> a = np.zeros(2); x = asarray(a); a[0] = 1; x.tolist(), asarray(x) is x
        ([1.0, 0.0], True)
    """
    return array(obj, dtype, copy=copy, device=device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Var:
    """The array of another library that speaks DLPack (PyTorch, CuPy, JAX, NumPy) as a Var, sharing its memory.

    What the other library writes into it later is seen here, as in `from_numpy`; nothing is written here.

    Args:
        x: the array, in main memory.
        device: where it lies, "cpu" or another that there is.
        copy: True copies; False shares or raises; None shares where the array lies as kernels read it.

    Raises:
        ArgumentError: not an array that NumPy can read by DLPack, another device, or a copy is needed and not allowed.

    Example:
        >>> a = np.arange(3); x = from_dlpack(a); a[0] = 7; x.tolist()
        [7, 1, 2]

    Source: DLPack, version 1.0.
    """
    if isinstance(x, Var):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError("from_dlpack takes an array that speaks DLPack", short(x), "jt.asarray")
    try:
        numbers = np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:  # on another device, of a dtype that NumPy lacks, part of a gradient
        raise ArgumentError("from_dlpack reads plain numbers in main memory", str(error).rstrip(".")) from None
    return asarray(numbers, device=device, copy=copy)


def _array_namespace(x: Any, /, *, api_version: str | None = None) -> ModuleType:  # noqa: ARG001 - the same for all
    """The namespace of x, as the standard calls it: jt. This file is a part of jt, so it cannot import it by name.

    Example:
        >>> ones(2).__array_namespace__() is jt
        True
    """
    if api_version not in VERSIONS:
        raise ArgumentError(f"jt follows the array API standard of {VERSIONS[-1]}", f"api_version={api_version!r}")
    return sys.modules["jt_edu"]


method(_array_namespace, "__array_namespace__")


@method
def to_device(x: Any, device: Any, *, stream: Any = None) -> Var:
    """x on a device, as `x.to(device)`: itself, if it lies there. There are no streams.

    Example:
        >>> x = ones(2); x.to_device("cpu") is x
        True
    """
    name = place("to_device", device)
    if stream is not None:
        raise ArgumentError("devices here have no streams", f"stream={short(stream)}", "stream=None")
    return to(x, device=name)


def _cumulative(name: str, scan: Callable[..., Var], start: int, x: Any, axis: Any, dtype: Any, initial: Any) -> Var:
    v = as_var(x)
    at = one_axis(name, axis, v.ndim)
    found = scan(v, at, dtype)
    if not yes_or_no(name, "include_initial", initial):
        return found
    return concat([full((*v.shape[:at], 1, *v.shape[at + 1 :]), start, found.dtype), found], at)


@same_words
def cumulative_sum(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Var:
    """Running sum, as `cumsum`; if you ask for it, the empty sum, 0, stands before the first number.

    Args:
        x: one axis or more.
        axis: it may be left out where there is but one.
        dtype: of the result; by default that of x, and 64 bits for whole numbers.
        include_initial: begin with 0; the axis is longer by one.

    Example:
        >>> cumulative_sum(array([1, 2, 3]), include_initial=True).tolist()
        [0, 1, 3, 6]
    """
    return _cumulative("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


@same_words
def cumulative_prod(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Var:
    """Running product; the arguments are those of `cumulative_sum`, and the empty product is 1.

    Example:
        >>> cumulative_prod(array([1, 2, 3]), include_initial=True).tolist()
        [1, 1, 2, 6]
    """
    return _cumulative("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


class UniqueAll(NamedTuple):
    """The different numbers of x, where each is first, which of them each number is, and how often each is there."""

    values: Var
    indices: Var
    inverse_indices: Var
    counts: Var


class UniqueCounts(NamedTuple):
    """The different numbers of x, and how often each is there."""

    values: Var
    counts: Var


class UniqueInverse(NamedTuple):
    """The different numbers of x, and which of them each number of x is."""

    values: Var
    inverse_indices: Var


def unique_all(x: Any) -> UniqueAll:
    """`unique` with all its answers, each under its name; no nan equals another nan.

    Example:
        >>> [v.tolist() for v in unique_all(array([3, 1, 3]))]
        [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    return UniqueAll(*unique(x, True, True, return_index=True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCounts:
    """The different numbers of x, in order, and how often each is there; no nan equals another nan.

    Example:
        >>> unique_counts(array([3, 1, 3])).counts.tolist()
        [1, 2]
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverse:
    """The different numbers of x, in order, and which of them each number of x is; no nan equals another nan.

    Example:
        >>> found = unique_inverse(array([3, 1, 3])); found.values[found.inverse_indices].tolist()
        [3, 1, 3]
    """
    return UniqueInverse(*unique(x, True, equal_nan=False))


def unique_values(x: Any) -> Var:
    """The different numbers of x, in order; no nan equals another nan.

    Example:
        >>> unique_values(array([3, 1, 3])).tolist()
        [1, 3]
    """
    found: Var = unique(x, equal_nan=False)
    return found


class NamespaceInfo:
    """What `jt` can do, in the standard's words. Dtypes do not depend on a device."""

    def capabilities(self) -> dict[str, Any]:
        """x[mask], and shapes that depend on numbers, work; a Var has at most so many axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": len(COUNTERS)}

    def default_device(self) -> str:
        """Where `jt.flags` has all computed: main memory, unless they name a backend with arrays of its own."""
        return default_device()

    def devices(self) -> list[str]:
        """Main memory, and what else there is."""
        return [CPU, *(name for name in backends.names() if name != CPU and is_there(name))]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of Python's numbers, and of positions."""
        place("default_dtypes", device)
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of the standard by their names, or those of a kind (see `isdtype`)."""
        place("dtypes", device)
        named = {name: dtype for name, dtype in DTYPES.items() if name not in NOT_IN_THE_STANDARD}
        return named if kind is None else {name: dtype for name, dtype in named.items() if isdtype(dtype, kind)}


__array_namespace_info__ = NamespaceInfo
