"""Unpooling as layers: the way back from a maximum to where it stood. The formulas stand in `ops/unpool.py`."""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.sliding_window import each_way
from jt_edu.ops.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from jt_edu.variable.var import Var


class _MaxUnpool(Module):
    """The way back from max pooling, in as many directions as a subclass says."""

    dims: ClassVar[int]

    @in_its_name
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        who = type(self).__name__
        self.kernel_size = each_way(who, "kernel_size", kernel_size, self.dims, 1)
        self.stride = self.kernel_size if stride is None else each_way(who, "stride", stride, self.dims, 1)
        self.padding = each_way(who, "padding", padding, self.dims, 0)

    def execute(self, x: Any, indices: Any, output_size: Any = None) -> Var:
        """The maxima and where they stood -> a plane of the usual size, or of output_size."""
        function = (max_unpool1d, max_unpool2d, max_unpool3d)[self.dims - 1]
        return function(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool2d(_MaxUnpool):
    """The way back from `MaxPool2d(..., return_indices=True)`: the maxima where they stood, 0 elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling.

    Example:
        >>> y, i = jt.nn.MaxPool2d(2, return_indices=True)(jt.array([[[1, 2], [3, 4]]]))
        >>> MaxUnpool2d(2)(y, i).tolist()
        [[[0, 0], [0, 4]]]
    """

    dims = 2


class MaxUnpool1d(_MaxUnpool):
    """The way back from `MaxPool1d(..., return_indices=True)`.

    Example:
        >>> MaxUnpool1d(2)(jt.array([[7]]), jt.array([[1]])).numpy()
        array([[0, 7]])
    """

    dims = 1


class MaxUnpool3d(_MaxUnpool):
    """The way back from `MaxPool3d(..., return_indices=True)`.

    Example:
        >>> MaxUnpool3d(2)(jt.ones(1, 1, 1, 1), jt.zeros(1, 1, 1, 1).int64()).shape
        (1, 2, 2, 2)
    """

    dims = 3
