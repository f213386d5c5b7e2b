"""Normalisation: give numbers mean 0 and variance 1, then let the network choose its own mean and spread.

    y = (x - mean) / sqrt(var + eps) * weight + bias

Batch norm takes mean and variance over the batch, separately for each channel, and remembers their running averages
for the time when there is no batch. Layer norm takes them over the features of each example, and remembers nothing.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from jt_edu.build import check_shape
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.functions import RSQRT
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.create import ones, sync, zeros
from jt_edu.ops.reduce import mean
from jt_edu.settings import current, no_grad
from jt_edu.var import Var, as_var

PATIENCE = 8  # forward passes without a training step, after which running statistics are computed all the same


class BatchNorm(Module):
    """Each channel is normalised over the batch: (n, c), (n, c, l) or (n, c, h, w) -> the same shape.

        while training:  mean, var of the batch;    running = (1 - momentum) * running + momentum * that of the batch
        otherwise:       running mean and variance

    The batch is divided by its variance sum / n; what is remembered is sum / (n - 1), as in PyTorch. Running statistics
    are computed together with the next optimiser step, so that reading them costs no pass of their own.

    Args:
        num_features: c.
        eps: added to the variance, so that nothing is divided by 0.
        momentum: share of the newest batch in the running statistics.
        affine: whether weight and bias are learned.
        is_train: whether it begins in training mode.

    Raises:
        ShapeError: other channels than num_features, or a single number per channel while training.

    Source: Ioffe and Szegedy 2015 (arXiv:1502.03167).

    Example:
        >>> norm = BatchNorm(2)
        >>> norm(jt.array([[1.0, 5.0], [3.0, 9.0]])).numpy().round(2)
        array([[-1., -1.],
               [ 1.,  1.]], dtype=float32)
        >>> norm.running_mean.numpy()
        array([0.2, 0.7], dtype=float32)
    """

    running_mean: Var
    running_var: Var
    passed_over = ("num_batches_tracked",)  # PyTorch counts batches; nothing here depends on that

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, is_train: bool = True
    ) -> None:
        self.num_features, self.eps = count("num_features", num_features), _positive("eps", eps)
        if not 0 <= momentum <= 1:
            raise ArgumentError("momentum is a share from 0 to 1", repr(momentum))
        self.momentum, self.affine, self.is_train = float(momentum), bool(affine), bool(is_train)
        self.weight = ones(num_features) if affine else None
        self.bias = zeros(num_features) if affine else None
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))
        self._waiting = 0

    def execute(self, x: Any) -> Var:
        """The same shape, channel by channel."""
        v = as_var(x)
        if v.ndim < 2 or v.shape[1] != self.num_features:
            raise ShapeError(f"BatchNorm({self.num_features}) takes (n, {self.num_features}, ...)", f"shape {v.shape}")
        _check_float("batch norm", v)
        box = (1, -1) + (1,) * (v.ndim - 2)
        if self.is_train:
            out = self._of_the_batch(v, box)
        else:
            spread = (self.running_var.reshape(box) + self.eps).apply(RSQRT)
            out = (v - self.running_mean.reshape(box)) * spread
        if self.weight is None or self.bias is None:
            return out
        return out * self.weight.reshape(box) + self.bias.reshape(box)

    def _of_the_batch(self, x: Var, box: tuple[int, ...]) -> Var:
        n = x.shape[0] * math.prod(x.shape[2:])
        if n < 2:
            raise ShapeError(
                "batch norm needs several numbers for each channel while training", f"shape {x.shape}, {n} per channel",
                "larger batches, or module.eval()",
            )  # fmt: skip
        axes = (0, *range(2, x.ndim))
        middle = mean(x, axes, True)
        away: Var = x - middle
        variance = mean(away * away, axes, True)
        self._remember(middle, variance * (n / (n - 1)))
        out: Var = away * (variance + self.eps).apply(RSQRT)
        return out

    def _remember(self, *batch: Var) -> None:
        """Move the running statistics towards the batch; the numbers come with the next optimiser step."""
        running = (self.running_mean, self.running_var)
        self._waiting = self._waiting + 1 if running[0].node.pending else 0
        if self._waiting > PATIENCE:
            sync(running)
            self._waiting = 0
        with no_grad():
            for old, new in zip(running, batch, strict=True):
                old.update(old * (1 - self.momentum) + new.reshape(-1).cast(old.dtype) * self.momentum)
        ride_along(running)

    def extra_repr(self) -> str:
        """Its size and settings."""
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"


BatchNorm1d = BatchNorm2d = BatchNorm


def ride_along(variables: tuple[Var, ...]) -> None:
    """Let the next optimiser step compute these Vars too; until then they are only promised.

    Example:
        >>> ride_along((jt.ones(2),))
    """
    riders = current().rank_state.setdefault("riders", weakref.WeakValueDictionary())
    for var in variables:
        riders[id(var)] = var


class LayerNorm(Module):
    """The last axes of each example are normalised: (..., *normalized_shape) -> the same shape.

    Args:
        normalized_shape: lengths of those axes; a number for the last one alone.
        eps: added to the variance, so that nothing is divided by 0.
        elementwise_affine: whether weight and bias are learned.

    Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).

    Example:
        >>> LayerNorm(2)(jt.array([[1.0, 3.0]])).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
    """

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        self.normalized_shape, self.eps = check_shape(normalized_shape), _positive("eps", eps)
        if not self.normalized_shape or 0 in self.normalized_shape:
            raise ArgumentError("layer norm is told the lengths of the axes it works on", repr(normalized_shape))
        self.elementwise_affine = bool(elementwise_affine)
        self.weight = ones(self.normalized_shape) if elementwise_affine else None
        self.bias = zeros(self.normalized_shape) if elementwise_affine else None

    def execute(self, x: Any) -> Var:
        """The same shape, example by example."""
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Its size and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Var:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose lengths are `normalized_shape`.

    Example:
        >>> layer_norm(jt.array([[1.0, 3.0]]), (2,)).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
    """
    v, shape = as_var(x), check_shape(normalized_shape)
    if not shape or v.shape[-len(shape) :] != shape:
        raise ShapeError(f"layer norm over {shape} takes Vars that end in these axes", f"shape {v.shape}")
    _check_float("layer norm", v)
    axes = tuple(range(v.ndim - len(shape), v.ndim))
    away: Var = v - mean(v, axes, True)
    out: Var = away * (mean(away * away, axes, True) + eps).apply(RSQRT)
    out = out if weight is None else out * as_var(weight)
    return out if bias is None else out + as_var(bias)


def _check_float(name: str, x: Var) -> None:
    if x.dtype.kind != "f":
        raise DtypeError(f"{name} works on real floats", f"dtype {x.dtype}", "x.float()")


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ArgumentError(f"{name} is a number that is not negative", repr(value))
    return float(value)
