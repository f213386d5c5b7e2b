"""Lazy layers: how many numbers come in is told by the first input.

    net = Sequential(LazyConv2d(8, 3), ReLU(), Flatten(), LazyLinear(10))
    net(images)              each becomes a layer of the class behind "Lazy": Conv2d(1, 8, 3), Linear(5408, 10)
    net.parameters()         before that there are none: who asks for them is told to call the network first

One class does all of it: it keeps what it was made with, looks at one axis of what it is first given, and becomes the
layer. Hooks, and the mode, stay.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from jt_edu.base.errors import ShapeError
from jt_edu.nn.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from jt_edu.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from jt_edu.nn.linear import Linear
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import must_fit
from jt_edu.variable.var import as_var

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
           "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
           "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear"]  # fmt: skip


class Lazy(Module):
    """A layer that is not there yet; a subclass says which, and which axis of the input tells its first argument.

    Example:
        >>> layer = jt.nn.LazyLinear(3)
        >>> layer
        LazyLinear(out_features=3)
        >>> layer(jt.ones(5, 2)).shape, layer
        ((5, 3), Linear(in_features=2, out_features=3, bias=True))
    """

    becomes: Any
    axis: int
    usual: Mapping[str, Any] = {}  # settings that PyTorch's lazy layer has, and its other one has not
    _waits = True

    def __init__(self, *args: Any, **named: Any) -> None:
        takes = list(inspect.signature(self.becomes).parameters.values())[1:]
        must_fit(type(self).__name__, inspect.Signature(takes), *args, **named)
        self._given = {**self.usual, **inspect.Signature(takes).bind(*args, **named).arguments}

    def __call__(self, x: Any, *args: Any, **named: Any) -> Any:
        """Become the layer that fits x, and do what that does."""
        shape = as_var(x).shape
        if not -len(shape) <= self.axis < len(shape):
            asked = f"{type(self).__name__} learns its {self._first()} from axis {self.axis} of its first input"
            raise ShapeError(asked, f"shape {shape}")
        training = self.is_train
        trial = self.becomes(shape[self.axis], **self._given)  # raises before anything has changed
        del self._given
        self.__class__ = self.becomes
        for name, value in vars(trial).items():
            setattr(self, name, value)
        self.is_train = training
        return self(x, *args, **named)

    def _first(self) -> str:
        return next(iter(inspect.signature(self.becomes).parameters))

    def extra_repr(self) -> str:
        """What it was made with."""
        return ", ".join(f"{name}={value!r}" for name, value in self._given.items())


def _lazy(becomes: Any, axis: int, example: str, **usual: Any) -> Any:
    """The lazy twin of a layer."""
    name = f"Lazy{becomes.__name__}"
    first = next(iter(inspect.signature(becomes).parameters))
    told = "".join(f", {word}={value}" for word, value in usual.items())
    doc = f"""{becomes.__name__} that learns its `{first}` from axis {axis} of its first input; else alike{told}.

    Example:
        >>> layer = {example}
        >>> type(layer).__name__
        '{becomes.__name__}'
    """
    return type(
        name, (Lazy,), {"becomes": becomes, "axis": axis, "usual": usual, "__doc__": doc, "__module__": __name__}
    )


def _made(call: str, *shape: int) -> str:
    return f"jt.nn.Lazy{call}; _ = layer(jt.ones{shape})"


LEARNS = {"affine": True, "track_running_stats": True}
LazyLinear = _lazy(Linear, -1, _made("Linear(3)", 5, 2))
LazyConv1d = _lazy(Conv1d, -2, _made("Conv1d(4, 3)", 1, 2, 5))
LazyConv2d = _lazy(Conv2d, -3, _made("Conv2d(4, 3)", 1, 2, 5, 5))
LazyConv3d = _lazy(Conv3d, -4, _made("Conv3d(4, 1)", 1, 2, 3, 3, 3))
LazyConvTranspose1d = _lazy(ConvTranspose1d, -2, _made("ConvTranspose1d(4, 3)", 1, 2, 5))
LazyConvTranspose2d = _lazy(ConvTranspose2d, -3, _made("ConvTranspose2d(4, 3)", 1, 2, 5, 5))
LazyConvTranspose3d = _lazy(ConvTranspose3d, -4, _made("ConvTranspose3d(4, 1)", 1, 2, 3, 3, 3))
LazyBatchNorm1d = _lazy(BatchNorm1d, 1, _made("BatchNorm1d()", 3, 2))
LazyBatchNorm2d = _lazy(BatchNorm2d, 1, _made("BatchNorm2d()", 1, 2, 3, 3))
LazyBatchNorm3d = _lazy(BatchNorm3d, 1, _made("BatchNorm3d()", 1, 2, 3, 3, 3))
LazyInstanceNorm1d = _lazy(InstanceNorm1d, -2, _made("InstanceNorm1d()", 1, 2, 5), **LEARNS)
LazyInstanceNorm2d = _lazy(InstanceNorm2d, -3, _made("InstanceNorm2d()", 1, 2, 5, 5), **LEARNS)
LazyInstanceNorm3d = _lazy(InstanceNorm3d, -4, _made("InstanceNorm3d()", 1, 2, 3, 3, 3), **LEARNS)
