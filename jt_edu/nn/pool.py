"""Pooling as a layer: windows of an image, each reduced to one number."""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.nn.module import Module
from jt_edu.ops.conv import pair
from jt_edu.ops.pool import pool2d
from jt_edu.var import Var


class Pool(Module):
    """Windows of an image, reduced by `op`: (n, c, h, w) -> (n, c, h', w').

        h' = (h + 2 * padding - kernel) // stride + 1

    Args:
        kernel_size, stride, padding: one number, or one per direction; stride is the kernel size by default.
        op: "maximum", "minimum", "mean" or "add".
        ceil_mode: let the last window stand partly outside, if it begins inside.
        count_include_pad: for "mean", whether padding counts as elements.

    Example:
        >>> Pool(2, op="mean")(jt.ones(1, 1, 4, 4)).shape
        (1, 1, 2, 2)
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, op: str = "maximum", ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        if op not in ("maximum", "minimum", "mean", "add"):
            raise ArgumentError("pooling reduces by 'maximum', 'minimum', 'mean' or 'add'", repr(op))
        self.kernel_size, self.padding = pair("kernel_size", kernel_size, 1), pair("padding", padding, 0)
        self.stride = self.kernel_size if stride is None else pair("stride", stride, 1)
        self.op, self.ceil_mode, self.count_include_pad = op, bool(ceil_mode), bool(count_include_pad)

    def execute(self, x: Any) -> Var:
        """(n, c, h, w) -> (n, c, h', w')."""
        return pool2d(x, self.kernel_size, self.stride, self.padding, self.op, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        """Its sizes, and what differs from the usual."""
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, op={self.op!r}"
        text += ", ceil_mode=True" if self.ceil_mode else ""
        return text + ("" if self.count_include_pad else ", count_include_pad=False")


class MaxPool2d(Pool):
    """The largest number of each window.

    Example:
        >>> MaxPool2d(2)(jt.ones(1, 1, 4, 4)).shape
        (1, 1, 2, 2)
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False) -> None:
        super().__init__(kernel_size, stride, padding, "maximum", ceil_mode)


class AvgPool2d(Pool):
    """The mean of each window.

    Example:
        >>> AvgPool2d(2)(jt.ones(1, 1, 4, 4)).numpy().max()
        np.float32(1.0)
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, "mean", ceil_mode, count_include_pad)
