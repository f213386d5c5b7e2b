"""Array function: NumPy's own functions of Vars stay in the graph, where there is an operator of the same meaning.

    np.sin(x)  np.add(a, x)  a + x      a ufunc: the operator of its name
    np.sum(x, axis=0)  np.stack([x, y]) a function in SAME: the operator of its name, by the same arguments
    np.add(a, x, out=a)  a += x         memory of NumPy's is written: the numbers of x are
    np.linalg.norm(x)  np.histogram(x)  anything else: NumPy's answer for the numbers of x

Other libraries take a copy of the numbers by DLPack: `torch.tensor(x)`, `torch.from_dlpack(x)`, `np.from_dlpack(x)`.

Source: NumPy Enhancement Proposals 13 (`__array_ufunc__`) and 18 (`__array_function__`); DLPack, as the
Python array API standard has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.variable.var import Var

CPU = (1, 0)  # as DLPack names the memory of the machine
Function = Callable[..., Any]
Offered = Mapping[str, Any]  # what `jt` has, by its names
# Names that mean the same with us, arguments and dtypes included; sort, repeat, split, median and others do not.
SAME = """
    all allclose amax amin any array_equal array_split atleast_1d atleast_2d atleast_3d broadcast_to clip column_stack
    concat concatenate count_nonzero cross cumprod cumsum diag diagflat diagonal diff dstack einsum expand_dims flip
    fliplr flipud hstack imag isclose isin matrix_transpose max mean min moveaxis nan_to_num nancumprod nancumsum nanmax
    nanmean nanmin nanprod nanstd nansum nanvar ones_like prod ptp quantile ravel real reshape roll rot90 round squeeze
    stack std sum swapaxes take take_along_axis tensordot tile transpose tril triu var vdot vstack where zeros_like
""".split()  # noqa: SIM905 - to be read as text


def answer_numpy(offered: Offered) -> None:
    """Let Vars answer when NumPy's functions are called with them.

    Example:
        >>> x = Var([0.0, 1.0])
        >>> np.exp(x), np.sum(x)
        (jt.Var([1.       , 2.7182817], dtype=float32), jt.Var(1., dtype=float32))
        >>> jt.grad(np.sum(x * x), [x])[0].tolist()
        [0.0, 2.0]
    """

    def array_ufunc(_: Var, ufunc: np.ufunc, how: str, *inputs: Any, **options: Any) -> Any:
        ours = offered.get(ufunc.__name__)
        if "out" in options or how != "__call__" or ours is None:
            return getattr(ufunc, how)(*_numbers(inputs), **_numbers(options))
        if options:
            raise _only_numpys(ufunc, ours, f"{', '.join(options)}=")
        return ours(*inputs)

    def array_function(
        _: Var, function: Function, _kinds: Any, inputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        name = function.__name__
        if function.__module__ != "numpy" or name not in SAME or options.get("out") is not None:
            return function(*_numbers(inputs), **_numbers(options))
        ours = offered[name]
        try:
            return ours(*inputs, **options)
        except TypeError as error:
            if isinstance(error, JtError):
                raise
            raise _only_numpys(function, ours, str(error)) from None

    Var.__dlpack__ = _dlpack  # type: ignore[attr-defined]
    Var.__dlpack_device__ = lambda self: CPU  # type: ignore[attr-defined]
    Var.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Var.__array_function__ = array_function  # type: ignore[attr-defined]


def _dlpack(
    x: Var, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """The numbers for another library: a copy, since who takes it may write to it, unless none is allowed.

    Memory that is shared is marked as read-only, which DLPack can say from version 1.0 on. Before that NumPy hands out
    nothing that is read-only, so a Var is called writeable there, if its memory is.
    """
    numbers = x.numpy(copy=copy is not False)
    if copy is False and (max_version or (0,))[0] < 1:
        if not _may_be_written(numbers):
            asked = "DLPack says that memory is read-only from version 1.0 on"
            raise ArgumentError(asked, f"max_version={max_version}", "copy=True, or max_version=(1, 0)")
        numbers.flags.writeable = True
    return numbers.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)


def _may_be_written(numbers: np.ndarray[Any, Any]) -> bool:
    """Whether the array that owns the memory may be written to, whatever this view of it says."""
    owner: Any = numbers
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return bool(owner.flags.writeable)


def _only_numpys(asked: Function, ours: Function, found: str) -> ArgumentError:
    """The error for arguments that only NumPy's function takes: its answer would have left the graph."""
    return ArgumentError(
        f"np.{asked.__name__} of a Var stays in the graph, as jt.{ours.__name__}", found,
        f"the arguments of jt.{ours.__name__}; or x.numpy() instead of x, for an array outside the graph",
    )  # fmt: skip


def _numbers(given: Any) -> Any:
    """The same arguments with arrays instead of Vars."""
    if isinstance(given, Var):
        return given.numpy()
    if isinstance(given, dict):
        return {name: _numbers(value) for name, value in given.items()}
    return type(given)(map(_numbers, given)) if type(given) in (list, tuple) else given
