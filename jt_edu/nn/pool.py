"""Pooling as layers: windows of signals, images and volumes, each reduced to one number.

The formulas stand in `ops/pool.py`, `ops/adaptive.py` and `ops/unpool.py`. A layer takes batches, `(n, c, *plane)`, and
single images, `(c, *plane)`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu.build import short
from jt_edu.errors import ArgumentError
from jt_edu.nn.module import Module
from jt_edu.ops.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from jt_edu.ops.arguments import choice
from jt_edu.ops.pool import REDUCE_BY, lp_pool1d, lp_pool2d, lp_pool3d, pool
from jt_edu.ops.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from jt_edu.ops.windows import each_way
from jt_edu.var import Var


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
        _check(self.dims, kernel_size, self.stride, padding, self.dilation)
        self.op, self.return_indices = choice("Pool", "op", op, REDUCE_BY), bool(return_indices)
        self.ceil_mode, self.count_include_pad = bool(ceil_mode), bool(count_include_pad)
        if self.return_indices and op in ("mean", "add"):
            raise ArgumentError("only a maximum or a minimum stands somewhere", f"return_indices=True with op={op!r}")

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, h', w')."""
        return pool(
            x, self.dims, self.kernel_size, self.stride, self.padding, self.op, self.ceil_mode, self.count_include_pad,
            self.dilation, None, self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes, and what differs from the usual."""
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, op={self.op!r}"
        text += "" if self.dilation == 1 else f", dilation={self.dilation}"
        text += ", ceil_mode=True" if self.ceil_mode else ""
        return text + ("" if self.count_include_pad else ", count_include_pad=False")


def _check(dims: int, kernel: Any, stride: Any, padding: Any = 0, dilation: Any = 1) -> None:
    for name, value, least in (
        ("kernel_size", kernel, 1), ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1),
    ):  # fmt: skip
        each_way(name, value, dims, least)


class MaxPool2d(Pool):
    """The largest number of each window of an image (n, c, h, w) or (c, h, w).

    Args:
        kernel_size, stride, padding, dilation, return_indices, ceil_mode: as in `Pool`.

    Example:
        >>> MaxPool2d(2)(jt.arange(16).reshape(1, 1, 4, 4)).tolist()
        [[[[5, 7], [13, 15]]]]
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, dilation, return_indices, ceil_mode)

    def extra_repr(self) -> str:
        """Its sizes."""
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return text + f", dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(MaxPool2d):
    """The largest number of each window of a signal (n, c, l) or (c, l).

    Example:
        >>> MaxPool1d(3, 2)(jt.array([[3, 1, 4, 1, 5]])).numpy()
        array([[4, 5]])
    """

    dims = 1


class MaxPool3d(MaxPool2d):
    """The largest number of each window of a volume (n, c, d, h, w) or (c, d, h, w).

    Example:
        >>> MaxPool3d((1, 2, 2))(jt.ones(1, 1, 3, 4, 4)).shape
        (1, 1, 3, 2, 2)
    """

    dims = 3


class AvgPool2d(Pool):
    """The mean of each window of an image (n, c, h, w) or (c, h, w).

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: as in `Pool`.
        divisor_override: the number to divide by, in place of the number of elements.

    Example:
        >>> AvgPool2d(2)(jt.arange(4).reshape(1, 1, 2, 2)).item()
        1.5
    """

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
            1, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(AvgPool2d):
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
        self.kernel_size, self.stride = (
            each_way("kernel_size", kernel_size, 1, 1),
            each_way("stride", self.stride, 1, 1),
        )
        self.padding = each_way("padding", padding, 1, 0)


class AvgPool3d(AvgPool2d):
    """The mean of each window of a volume (n, c, d, h, w) or (c, d, h, w).

    Example:
        >>> AvgPool3d(2)(jt.ones(1, 1, 2, 4, 4)).shape
        (1, 1, 1, 2, 2)
    """

    dims = 3


class LPPool2d(Module):
    """The p-norm of each window of an image: (sum x**p) ** (1/p), p = norm_type.

    Args:
        norm_type: p, above 0; with an odd one negative numbers count as negative.
        kernel_size, stride, ceil_mode: as in `Pool`.

    Example:
        >>> LPPool2d(2, 2)(jt.array([[[3.0, 0.0], [0.0, 4.0]]])).item()
        5.0
    """

    dims: ClassVar[int] = 2

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        _check(self.dims, kernel_size, kernel_size if stride is None else stride)
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, bool(ceil_mode)

    def execute(self, x: Any) -> Var:
        """(n, c, h, w) -> (n, c, h', w')."""
        function = (lp_pool1d, lp_pool2d, lp_pool3d)[self.dims - 1]
        return function(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Its norm and sizes."""
        text = f"norm_type={self.norm_type}, kernel_size={self.kernel_size}"
        return text + f", stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(LPPool2d):
    """The p-norm of each window of a signal.

    Example:
        >>> LPPool1d(2, 2)(jt.array([[3.0, 4.0, 0.0, 1.0]])).numpy()
        array([[5., 1.]], dtype=float32)
    """

    dims = 1


class LPPool3d(LPPool2d):
    """The p-norm of each window of a volume.

    Example:
        >>> LPPool3d(2, (1, 2, 2))(jt.ones(1, 1, 2, 2)).item()
        2.0
    """

    dims = 3


class MaxUnpool2d(Module):
    """The way back from `MaxPool2d(..., return_indices=True)`: the maxima where they stood, 0 elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling.

    Example:
        >>> y, i = MaxPool2d(2, return_indices=True)(jt.array([[[1, 2], [3, 4]]]))
        >>> MaxUnpool2d(2)(y, i).tolist()
        [[[0, 0], [0, 4]]]
    """

    dims: ClassVar[int] = 2

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        self.kernel_size = each_way("kernel_size", kernel_size, self.dims, 1)
        self.stride = self.kernel_size if stride is None else each_way("stride", stride, self.dims, 1)
        self.padding = each_way("padding", padding, self.dims, 0)

    def execute(self, x: Any, indices: Any, output_size: Any = None) -> Var:
        """The maxima and where they stood -> a plane of the usual size, or of output_size."""
        function = (max_unpool1d, max_unpool2d, max_unpool3d)[self.dims - 1]
        return function(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(MaxUnpool2d):
    """The way back from `MaxPool1d(..., return_indices=True)`.

    Example:
        >>> MaxUnpool1d(2)(jt.array([[7]]), jt.array([[1]])).numpy()
        array([[0, 7]])
    """

    dims = 1


class MaxUnpool3d(MaxUnpool2d):
    """The way back from `MaxPool3d(..., return_indices=True)`.

    Example:
        >>> MaxUnpool3d(2)(jt.ones(1, 1, 1, 1), jt.zeros(1, 1, 1, 1).int64()).shape
        (1, 2, 2, 2)
    """

    dims = 3


class AdaptiveAvgPool2d(Module):
    """Means of windows that cover an image of any size: as many windows as `output_size` says.

    Args:
        output_size: one number, or one per direction; None keeps the length of the image.

    Example:
        >>> AdaptiveAvgPool2d((1, None))(jt.ones(2, 3, 7, 5)).shape
        (2, 3, 1, 5)
    """

    dims: ClassVar[int] = 2

    def __init__(self, output_size: Any) -> None:
        parts = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * self.dims
        if len(parts) != self.dims:
            raise ArgumentError(f"output_size is one number, or {self.dims} of them", short(output_size))
        each_way("output_size", [1 if p is None else p for p in parts], self.dims, 1)
        self.output_size = output_size

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, *output_size)."""
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[self.dims - 1](x, self.output_size)

    def extra_repr(self) -> str:
        """Its output size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """Means of windows that cover a signal of any length.

    Example:
        >>> AdaptiveAvgPool1d(2)(jt.array([[0.0, 1.0, 2.0, 3.0, 4.0]])).numpy()
        array([[1., 3.]], dtype=float32)
    """

    dims = 1


class AdaptiveAvgPool3d(AdaptiveAvgPool2d):
    """Means of windows that cover a volume of any size.

    Example:
        >>> AdaptiveAvgPool3d(1)(jt.ones(2, 3, 4, 5, 6)).shape
        (2, 3, 1, 1, 1)
    """

    dims = 3


class AdaptiveMaxPool2d(AdaptiveAvgPool2d):
    """Largest numbers of windows that cover an image of any size: as many windows as `output_size` says.

    Args:
        output_size: one number, or one per direction; None keeps the length of the image.
        return_indices: answer also where each number stands in its plane.

    Example:
        >>> AdaptiveMaxPool2d(1)(jt.arange(6).reshape(1, 2, 3)).item()
        5
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = bool(return_indices)

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, *output_size), and positions if they were asked for."""
        function = (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)[self.dims - 1]
        return function(x, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(AdaptiveMaxPool2d):
    """Largest numbers of windows that cover a signal of any length.

    Example:
        >>> AdaptiveMaxPool1d(2)(jt.array([[0, 7, 2, 3, 4]])).numpy()
        array([[7, 4]])
    """

    dims = 1


class AdaptiveMaxPool3d(AdaptiveMaxPool2d):
    """Largest numbers of windows that cover a volume of any size.

    Example:
        >>> AdaptiveMaxPool3d(1)(jt.ones(2, 3, 4, 5, 6)).shape
        (2, 3, 1, 1, 1)
    """

    dims = 3
