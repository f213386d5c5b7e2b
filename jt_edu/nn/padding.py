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
from collections.abc import Iterator
from typing import Any, ClassVar

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import number
from jt_edu.ops.pad import pad
from jt_edu.variable.var import Var, as_var

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]  # fmt: skip


class _Pad(Module):
    """(n, c, *plane) or (c, *plane), with more room in the plane.

    Args:
        padding: one number, or a pair (before, after) for each direction, from the last axis on.
    """

    dims: ClassVar[int]
    mode: ClassVar[str]

    @in_its_name
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


def _three(name: str, mode: str, filled: str, shown: str) -> Iterator[type[_Pad]]:
    """The layers of one mode for signals, images and volumes; `shown` is 1 2 3 with one place more on either side."""
    examples = (f"1)(jt.array([[1.0, 2.0, 3.0]])).tolist()\n        {shown}",
                "(1, 0, 2, -1))(jt.ones(1, 1, 4, 3)).shape\n        (1, 1, 5, 4)",
                "1)(jt.ones(1, 1, 2, 3, 4)).shape\n        (1, 1, 4, 5, 6)")  # fmt: skip
    for dims, (what, example) in enumerate(zip(("a signal", "an image", "a volume"), examples, strict=True), 1):
        text = f"""Room around {what}, {filled}.

    Args:
        padding: one number, or {2 * dims} of them: (before, after) for each direction, from the last axis on.

    Example:
        >>> {name}{dims}d({example}
    """
        space = {"dims": dims, "mode": mode, "__doc__": text, "__module__": __name__}
        yield type(f"{name}{dims}d", (_Pad,), space)


ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _three(
    "ReflectionPad", "reflect", "mirrored at the border, which is not said twice", "[[2.0, 1.0, 2.0, 3.0, 2.0]]"
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _three(
    "ReplicationPad", "replicate", "filled with the nearest number", "[[1.0, 1.0, 2.0, 3.0, 3.0]]"
)
CircularPad1d, CircularPad2d, CircularPad3d = _three(
    "CircularPad", "circular", "filled from the other end", "[[3.0, 1.0, 2.0, 3.0, 1.0]]"
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = _three("ZeroPad", "constant", "filled with zeros", "[[0.0, 1.0, 2.0, 3.0, 0.0]]")


class _Constant(_Pad):
    """Room that is filled with a number."""

    mode = "constant"

    @in_its_name
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
