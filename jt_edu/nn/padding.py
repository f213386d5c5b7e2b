"""Padding as layers: room around a signal, an image or a volume, filled in one of five ways.

                x = a b c d          two places on either side
ZeroPad         0 0 | a b c d | 0 0
ConstantPad     v v | a b c d | v v
ReflectionPad   c b | a b c d | c b
ReplicationPad  a a | a b c d | d d
CircularPad     c d | a b c d | a b

The Reindex behind each stands in `ops/pad.py`. A negative number of places crops.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

from jt_edu.build import short
from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import number
from jt_edu.ops.pad import pad
from jt_edu.var import Var, as_var


class _Pad(Module):
    """(n, c, *plane) or (c, *plane), with more room in the plane.

    Args:
        padding: one number, or a pair (before, after) for each direction, from the last axis on.
    """

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        parts = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.dims)
        try:
            self.padding = tuple(operator.index(p) for p in parts)
        except TypeError:
            self.padding = ()
        if len(self.padding) != 2 * self.dims:
            raise ArgumentError(
                f"{type(self).__name__} takes a whole number, or {2 * self.dims} of them", f"padding={short(padding)}"
            )

    def execute(self, x: Any) -> Var:
        """(n, c, *plane) -> (n, c, *larger plane)."""
        image = as_var(x)
        if image.ndim not in (self.dims + 1, self.dims + 2):
            plane = ("l", "h, w", "d, h, w")[self.dims - 1]
            raise ShapeError(f"{type(self).__name__} takes (n, c, {plane}) or (c, {plane})", f"shape {image.shape}")
        return pad(image, self.padding, self.mode)

    def extra_repr(self) -> str:
        """Its widths."""
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """Room around a signal, mirrored at the border, which is not said twice.

    Args:
        padding: one number, or 2 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReflectionPad1d(1)(jt.array([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 1.0, 2.0, 3.0, 2.0]]
    """

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Room around an image, mirrored at the border, which is not said twice.

    Args:
        padding: one number, or 4 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReflectionPad2d((1, 0, 2, -1))(jt.ones(1, 1, 4, 3)).shape
        (1, 1, 5, 4)
    """

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Room around a volume, mirrored at the border, which is not said twice.

    Args:
        padding: one number, or 6 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReflectionPad3d(1)(jt.ones(1, 1, 2, 3, 4)).shape
        (1, 1, 4, 5, 6)
    """

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Room around a signal, filled with the nearest number.

    Args:
        padding: one number, or 2 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReplicationPad1d(1)(jt.array([[1.0, 2.0, 3.0]])).tolist()
        [[1.0, 1.0, 2.0, 3.0, 3.0]]
    """

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Room around an image, filled with the nearest number.

    Args:
        padding: one number, or 4 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReplicationPad2d((1, 0, 2, -1))(jt.ones(1, 1, 4, 3)).shape
        (1, 1, 5, 4)
    """

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Room around a volume, filled with the nearest number.

    Args:
        padding: one number, or 6 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ReplicationPad3d(1)(jt.ones(1, 1, 2, 3, 4)).shape
        (1, 1, 4, 5, 6)
    """

    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Room around a signal, filled from the other end.

    Args:
        padding: one number, or 2 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> CircularPad1d(1)(jt.array([[1.0, 2.0, 3.0]])).tolist()
        [[3.0, 1.0, 2.0, 3.0, 1.0]]
    """

    dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Room around an image, filled from the other end.

    Args:
        padding: one number, or 4 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> CircularPad2d((1, 0, 2, -1))(jt.ones(1, 1, 4, 3)).shape
        (1, 1, 5, 4)
    """

    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Room around a volume, filled from the other end.

    Args:
        padding: one number, or 6 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> CircularPad3d(1)(jt.ones(1, 1, 2, 3, 4)).shape
        (1, 1, 4, 5, 6)
    """

    dims, mode = 3, "circular"


class ZeroPad1d(_Pad):
    """Room around a signal, filled with zeros.

    Args:
        padding: one number, or 2 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ZeroPad1d(1)(jt.array([[1.0, 2.0, 3.0]])).tolist()
        [[0.0, 1.0, 2.0, 3.0, 0.0]]
    """

    dims, mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Room around an image, filled with zeros.

    Args:
        padding: one number, or 4 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ZeroPad2d((1, 0, 2, -1))(jt.ones(1, 1, 4, 3)).shape
        (1, 1, 5, 4)
    """

    dims, mode = 2, "constant"


class ZeroPad3d(_Pad):
    """Room around a volume, filled with zeros.

    Args:
        padding: one number, or 6 of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> ZeroPad3d(1)(jt.ones(1, 1, 2, 3, 4)).shape
        (1, 1, 4, 5, 6)
    """

    dims, mode = 3, "constant"


class _Constant(_Pad):
    """Room that is filled with a number."""

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = number(type(self).__name__, "value", value)

    def execute(self, x: Any) -> Var:
        """(n, c, *plane) -> (n, c, *larger plane); of any rank that has such a plane."""
        image = as_var(x)
        if image.ndim < self.dims:
            raise ShapeError(f"{type(self).__name__} takes at least {self.dims} axes", f"shape {image.shape}")
        return pad(image, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """Its widths and its number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_Constant):
    """Room around a signal, filled with a number.

    Args:
        padding: one number, or a pair of them: (before, after).
        value: what the room is filled with.

    Example:
        >>> ConstantPad1d((0, 2), 7.0)(jt.array([[1.0, 2.0]])).tolist()
        [[1.0, 2.0, 7.0, 7.0]]
    """

    dims = 1


class ConstantPad2d(_Constant):
    """Room around an image, filled with a number.

    Example:
        >>> ConstantPad2d(1, 7)(jt.array([[[1]]])).tolist()
        [[[7, 7, 7], [7, 1, 7], [7, 7, 7]]]
    """

    dims = 2


class ConstantPad3d(_Constant):
    """Room around a volume, filled with a number.

    Example:
        >>> ConstantPad3d((1, 0, 0, 0, 0, 0), 7)(jt.array([[[[1]]]])).tolist()
        [[[[7, 1]]]]
    """

    dims = 3
