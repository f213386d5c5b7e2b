"""Pooling as layers: windows of signals, images and volumes, each reduced to one number.

The formulas stand in `ops/pool.py`. A layer takes batches, `(n, c, *plane)`, and
single images, `(c, *plane)`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.pool import REDUCE_BY, lp_pool1d, lp_pool2d, lp_pool3d, pool
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.var import Var

__all__ = ["AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d",
           "MaxPool3d", "Pool"]  # fmt: skip


class Pool(Module):
    """Windows of an image, reduced by `op`: (n, c, h, w) -> (n, c, h', w').

        h' = (h + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

    Args:
        kernel_size, stride, padding, dilation: one number, or one per direction; stride is the kernel size by default.
        return_indices: for "maximum" and "minimum", answer also where each number stands, as unpooling needs it.
        ceil_mode: let the last window stand partly outside, if it begins inside.
        count_include_pad: for "mean", whether padding counts as elements.
        op: "maximum", "minimum", "mean" or "add".

    Example:
        >>> Pool(2, op="mean")(jt.ones(1, 1, 4, 4)).shape
        (1, 1, 2, 2)
    """

    dims: ClassVar[int] = 2

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = None,
        return_indices: bool | None = None, ceil_mode: bool = False, count_include_pad: bool = True,
        op: str = "maximum",
    ) -> None:  # fmt: skip
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, 1 if dilation is None else dilation
        _check(self, kernel_size, self.stride, padding, self.dilation)
        name = type(self).__name__
        self.op = choice(name, "op", op, REDUCE_BY)
        shown = False if return_indices is None else return_indices
        self.return_indices = yes_or_no(name, "return_indices", shown)
        self.ceil_mode = yes_or_no(name, "ceil_mode", ceil_mode)
        self.count_include_pad = yes_or_no(name, "count_include_pad", count_include_pad)
        if self.return_indices and op in ("mean", "add"):
            raise ArgumentError("only a maximum or a minimum has a position", f"return_indices=True with op={op!r}")

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, h', w')."""
        return pool(
            x, self.dims, self.kernel_size, self.stride, self.padding, self.op, self.ceil_mode, self.count_include_pad,
            self.dilation, None, self.return_indices, type(self).__name__,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes, and what differs from the usual."""
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, op={self.op!r}"
        text += "" if self.dilation == 1 else f", dilation={self.dilation}"
        text += ", ceil_mode=True" if self.ceil_mode else ""
        return text + ("" if self.count_include_pad else ", count_include_pad=False")


def _check(layer: Pool | _LPPool, kernel: Any, stride: Any, padding: Any = 0, dilation: Any = 1) -> None:
    for name, value, least in (
        ("kernel_size", kernel, 1), ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1),
    ):  # fmt: skip
        each_way(type(layer).__name__, name, value, layer.dims, least)


class _MaxPool(Pool):
    """The largest number of each window, in as many directions as a subclass says."""

    @in_its_name
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, dilation, return_indices, ceil_mode)

    def extra_repr(self) -> str:
        """Its sizes."""
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return text + f", dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool2d(_MaxPool):
    """The largest number of each window of an image (n, c, h, w) or (c, h, w).

    Args:
        kernel_size, stride, padding, dilation, return_indices, ceil_mode: as in `Pool`.

    Example:
        >>> MaxPool2d(2)(jt.arange(16).reshape(1, 1, 4, 4)).tolist()
        [[[[5, 7], [13, 15]]]]
    """

    dims = 2


class MaxPool1d(_MaxPool):
    """The largest number of each window of a signal (n, c, l) or (c, l).

    Example:
        >>> MaxPool1d(3, 2)(jt.array([[3, 1, 4, 1, 5]])).numpy()
        array([[4, 5]])
    """

    dims = 1


class MaxPool3d(_MaxPool):
    """The largest number of each window of a volume (n, c, d, h, w) or (c, d, h, w).

    Example:
        >>> MaxPool3d((1, 2, 2))(jt.ones(1, 1, 3, 4, 4)).shape
        (1, 1, 3, 2, 2)
    """

    dims = 3


class _AvgPool(Pool):
    """The mean of each window, in as many directions as a subclass says."""

    @in_its_name
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, 1, False, ceil_mode, count_include_pad, "mean")
        self.divisor_override = divisor_override

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, h', w')."""
        return pool(
            x, self.dims, self.kernel_size, self.stride, self.padding, "mean", self.ceil_mode, self.count_include_pad,
            1, self.divisor_override, False, type(self).__name__,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of an image (n, c, h, w) or (c, h, w).

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: as in `Pool`.
        divisor_override: the number to divide by, instead of the number of elements.

    Example:
        >>> AvgPool2d(2)(jt.arange(4).reshape(1, 1, 2, 2)).item()
        1.5
    """

    dims = 2


class AvgPool1d(_AvgPool):
    """The mean of each window of a signal (n, c, l) or (c, l).

    Example:
        >>> AvgPool1d(2)(jt.array([[3.0, 1.0, 4.0, 2.0]])).numpy()
        array([[2., 3.]], dtype=float32)
    """

    dims = 1

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.kernel_size = each_way("AvgPool1d", "kernel_size", kernel_size, 1, 1)
        self.stride = each_way("AvgPool1d", "stride", self.stride, 1, 1)
        self.padding = each_way("AvgPool1d", "padding", padding, 1, 0)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume (n, c, d, h, w) or (c, d, h, w).

    Example:
        >>> AvgPool3d(2)(jt.ones(1, 1, 2, 4, 4)).shape
        (1, 1, 1, 2, 2)
    """

    dims = 3


class _LPPool(Module):
    """The p-norm of each window, in as many directions as a subclass says."""

    dims: ClassVar[int]

    @in_its_name
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        _check(self, kernel_size, kernel_size if stride is None else stride)
        self.norm_type, self.kernel_size, self.stride = norm_type, kernel_size, stride
        self.ceil_mode = yes_or_no(type(self).__name__, "ceil_mode", ceil_mode)

    def execute(self, x: Any) -> Var:
        """(n, c, h, w) -> (n, c, h', w')."""
        function = (lp_pool1d, lp_pool2d, lp_pool3d)[self.dims - 1]
        return function(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Its norm and sizes."""
        text = f"norm_type={self.norm_type}, kernel_size={self.kernel_size}"
        return text + f", stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool2d(_LPPool):
    """The p-norm of each window of an image: (sum x**p) ** (1/p), p = norm_type.

    Args:
        norm_type: p, above 0; with an odd one negative numbers count as negative.
        kernel_size, stride, ceil_mode: as in `Pool`.

    Example:
        >>> LPPool2d(2, 2)(jt.array([[[3.0, 0.0], [0.0, 4.0]]])).item()
        5.0
    """

    dims = 2


class LPPool1d(_LPPool):
    """The p-norm of each window of a signal.

    Example:
        >>> LPPool1d(2, 2)(jt.array([[3.0, 4.0, 0.0, 1.0]])).numpy()
        array([[5., 1.]], dtype=float32)
    """

    dims = 1


class LPPool3d(_LPPool):
    """The p-norm of each window of a volume.

    Example:
        >>> LPPool3d(2, (1, 2, 2))(jt.ones(1, 1, 2, 2)).item()
        2.0
    """

    dims = 3
