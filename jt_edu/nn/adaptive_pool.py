"""Adaptive pooling as layers: as many windows as are asked for, however large the image is.

The formulas stand in `ops/adaptive.py`. A layer takes batches, `(n, c, *plane)`, and single images, `(c, *plane)`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.adaptive_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.sliding_window import each_way

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d"]  # fmt: skip


class _Adaptive(Module):
    """As many windows as `output_size` says, in as many directions as a subclass says."""

    dims: ClassVar[int]

    @in_its_name
    def __init__(self, output_size: Any) -> None:
        parts = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * self.dims
        if len(parts) != self.dims:
            raise ArgumentError(
                f"{type(self).__name__}'s output_size is one number, or {self.dims} of them", short(output_size)
            )
        each_way(type(self).__name__, "output_size", [1 if p is None else p for p in parts], self.dims, 1)
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Its output size."""
        return f"output_size={self.output_size}"


class _AdaptiveAvg(_Adaptive):
    """Means of windows."""

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, *output_size)."""
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[self.dims - 1](x, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvg):
    """Means of windows that cover an image of any size: as many windows as `output_size` says.

    Args:
        output_size: one number, or one per direction; None keeps the length of the image.

    Example:
        >>> AdaptiveAvgPool2d((1, None))(jt.ones(2, 3, 7, 5)).shape
        (2, 3, 1, 5)
    """

    dims = 2


class AdaptiveAvgPool1d(_AdaptiveAvg):
    """Means of windows that cover a signal of any length.

    Example:
        >>> AdaptiveAvgPool1d(2)(jt.array([[0.0, 1.0, 2.0, 3.0, 4.0]])).numpy()
        array([[1., 3.]], dtype=float32)
    """

    dims = 1


class AdaptiveAvgPool3d(_AdaptiveAvg):
    """Means of windows that cover a volume of any size.

    Example:
        >>> AdaptiveAvgPool3d(1)(jt.ones(2, 3, 4, 5, 6)).shape
        (2, 3, 1, 1, 1)
    """

    dims = 3


class _AdaptiveMax(_Adaptive):
    """Largest numbers of windows."""

    @in_its_name
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = yes_or_no(type(self).__name__, "return_indices", return_indices)

    def execute(self, x: Any) -> Any:
        """(n, c, h, w) -> (n, c, *output_size), and positions if they were asked for."""
        function = (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)[self.dims - 1]
        return function(x, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Largest numbers of windows that cover an image of any size: as many windows as `output_size` says.

    Args:
        output_size: one number, or one per direction; None keeps the length of the image.
        return_indices: answer also where each number stands in its plane.

    Example:
        >>> AdaptiveMaxPool2d(1)(jt.arange(6).reshape(1, 2, 3)).item()
        5
    """

    dims = 2


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Largest numbers of windows that cover a signal of any length.

    Example:
        >>> AdaptiveMaxPool1d(2)(jt.array([[0, 7, 2, 3, 4]])).numpy()
        array([[7, 4]])
    """

    dims = 1


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Largest numbers of windows that cover a volume of any size.

    Example:
        >>> AdaptiveMaxPool3d(1)(jt.ones(2, 3, 4, 5, 6)).shape
        (2, 3, 1, 1, 1)
    """

    dims = 3
