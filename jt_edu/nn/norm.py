"""Batch norm: give each channel mean 0 and variance 1, then let the network choose its own mean and spread.

    y = (x - mean) / sqrt(var + eps) * weight + bias

Batch norm takes mean and variance over the batch, and remembers their running averages for the time when there is no
batch. Instance norm takes them over each image, and remembers only if it is told to. Norms that never remember stand in
`layer_norm.py`.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.functions import RSQRT
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.create import ones, sync, zeros
from jt_edu.ops.reduce import mean
from jt_edu.settings import current, no_grad
from jt_edu.var import Var, as_var

PATIENCE = 8  # forward passes without a training step, after which running statistics are computed all the same


class _Remembers(Module):
    """A norm by channels: weight and bias, and running statistics if wanted."""

    running_mean: Var | None
    running_var: Var | None
    num_batches_tracked: Var | None
    may_miss = ("num_batches_tracked",)  # Jittor does not count batches

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool, is_train: bool, remember: bool
    ) -> None:
        self.num_features, self.eps = count("num_features", num_features), positive("eps", eps)
        if momentum is not None and not 0 <= momentum <= 1:
            raise ArgumentError("momentum is a share from 0 to 1, or None for the mean of all batches", repr(momentum))
        self.momentum = None if momentum is None else float(momentum)
        self.affine, self.is_train, self.track_running_stats = bool(affine), bool(is_train), bool(remember)
        self.weight = ones(num_features) if affine else None
        self.bias = zeros(num_features) if affine else None
        self.register_buffer("running_mean", zeros(num_features) if remember else None)
        self.register_buffer("running_var", ones(num_features) if remember else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype="int64") if remember else None)
        self._waiting = 0

    def _remember(self, middle: Var, variance: Var, share: Any) -> None:
        """Move the running statistics towards the batch; the numbers come with the next optimiser step."""
        if self.running_mean is None or self.running_var is None:
            return
        running = (self.running_mean, self.running_var)
        self._waiting = self._waiting + 1 if running[0].node.pending else 0
        if self._waiting > PATIENCE:
            sync(running)
            self._waiting = 0
        with no_grad():
            for old, new in zip(running, (middle, variance), strict=True):
                old.update(old * (1 - share) + new.reshape(-1).cast(old.dtype) * share)
        ride_along(running)

    def extra_repr(self) -> str:
        """Its size and settings."""
        settings = f"eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{self.num_features}, {settings}, track_running_stats={self.track_running_stats}"


class BatchNorm(_Remembers):
    """Each channel is normalised over the batch: (n, c), (n, c, l), (n, c, h, w) or more axes -> the same shape.

        while training:  mean, var of the batch;    running = (1 - momentum) * running + momentum * that of the batch
        otherwise:       running mean and variance

    The batch is divided by its variance sum / n; what is remembered is sum / (n - 1), as in PyTorch. Running statistics
    are computed together with the next optimiser step, so that reading them costs no pass of their own.

    Args:
        num_features: c.
        eps: added to the variance, so that nothing is divided by 0.
        momentum: share of the newest batch in the running statistics; None makes them the mean of all batches.
        affine: whether weight and bias are learned.
        is_train: whether it begins in training mode.
        track_running_stats: whether there are running statistics; without them every batch is normalised by itself.

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

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        is_train: bool = True, *, track_running_stats: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, is_train, track_running_stats)

    def execute(self, x: Any) -> Var:
        """The same shape, channel by channel."""
        v = _channels("BatchNorm", as_var(x), self.num_features)
        if self.running_mean is not None and self.running_var is not None and not self.is_train:
            out = normalized(v, _box(self.running_mean, v), _box(self.running_var, v), self.eps)
        else:
            out = self._of_the_batch(v)
        return scaled(out, self.weight, self.bias)

    def _of_the_batch(self, x: Var) -> Var:
        n = x.shape[0] * math.prod(x.shape[2:])
        if n < 2 and self.is_train:
            raise ShapeError(
                "batch norm needs several numbers for each channel while training", f"shape {x.shape}, {n} per channel",
                "larger batches, or module.eval()",
            )  # fmt: skip
        out, middle, variance = _itself(x, (0, *range(2, x.ndim)), self.eps)
        if self.is_train and self.num_batches_tracked is not None:
            self.num_batches_tracked.update(self.num_batches_tracked + 1)
            self._remember(middle, variance * (n / (n - 1)), self._share())
            ride_along((self.num_batches_tracked,))
        return out

    def _share(self) -> Any:
        """How much the newest batch counts."""
        if self.momentum is not None or self.num_batches_tracked is None or self.running_mean is None:
            return self.momentum
        return 1 / self.num_batches_tracked.cast(self.running_mean.dtype)


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm


class _InstanceNorm(_Remembers):
    """Each channel of each example is normalised by itself."""

    axes = 1  # that an image has

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, True, track_running_stats)

    def execute(self, x: Any) -> Var:
        """The same shape, image by image."""
        v = as_var(x)
        if v.ndim == self.axes + 1:
            return self.execute(v.unsqueeze(0)).squeeze(0)
        if v.ndim != self.axes + 2:
            raise ShapeError(f"{type(self).__name__} takes n, c and {self.axes} more axes", f"shape {v.shape}")
        v = _channels(type(self).__name__, v, self.num_features)
        if self.running_mean is not None and self.running_var is not None and not self.is_train:
            out = normalized(v, _box(self.running_mean, v), _box(self.running_var, v), self.eps)
        else:
            out = self._of_the_images(v)
        return scaled(out, self.weight, self.bias)

    def _of_the_images(self, x: Var) -> Var:
        n = math.prod(x.shape[2:])
        if n < 2:
            raise ShapeError("instance norm needs several numbers per channel", f"shape {x.shape}", "larger images")
        out, middle, variance = _itself(x, tuple(range(2, x.ndim)), self.eps)
        if self.is_train and self.running_mean is not None:
            share = 0.0 if self.momentum is None else self.momentum
            self._remember(mean(middle, 0), mean(variance, 0) * (n / (n - 1)), share)
        return out


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each signal gets mean 0 and variance 1: (n, c, l) or (c, l) -> the same shape.

    Args:
        num_features: c.
        eps: added to the variance, so that nothing is divided by 0.
        momentum: share of the newest batch in the running statistics, if there are any.
        affine: whether weight and bias are learned.
        track_running_stats: whether means and variances are remembered, and used outside of training.

    Source: Ulyanov, Vedaldi and Lempitsky 2016 (arXiv:1607.08022).

    Example:
        >>> InstanceNorm1d(1)(jt.array([[[1.0, 3.0]]])).numpy().round(2)
        array([[[-1.,  1.]]], dtype=float32)
    """


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each image gets mean 0 and variance 1: (n, c, h, w) or (c, h, w) -> the same shape.

    Arguments as in `InstanceNorm1d`.

    Example:
        >>> InstanceNorm2d(3)(jt.ones(2, 3, 4, 4)).numpy().max()
        np.float32(0.0)
    """

    axes = 2


class InstanceNorm3d(_InstanceNorm):
    """Each channel of each volume gets mean 0 and variance 1: (n, c, d, h, w) or (c, d, h, w) -> the same shape.

    Arguments as in `InstanceNorm1d`.

    Example:
        >>> InstanceNorm3d(3)(jt.ones(2, 3, 2, 2, 2)).numpy().max()
        np.float32(0.0)
    """

    axes = 3


InstanceNorm = InstanceNorm2d


def batch_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Var:  # fmt: skip
    """Each channel of (n, c, ...) is normalised: by the batch while training, else by the running statistics.

    Args:
        x: (n, c, ...).
        running_mean, running_var: (c,); while training they are moved towards the batch, if they are given.
        weight, bias: (c,), or None.
        training: by what is normalised.
        momentum: share of the batch in the running statistics.
        eps: added to the variance.

    Example:
        >>> batch_norm(jt.array([[1.0], [3.0]]), training=True).numpy().round(2)
        array([[-1.],
               [ 1.]], dtype=float32)
    """
    v = as_var(x)
    layer = BatchNorm(v.shape[1] if v.ndim > 1 else 1, eps, momentum, False, bool(training))
    if not training and (running_mean is None or running_var is None):
        raise ArgumentError("batch norm without training uses running statistics", "none", "training=True")
    layer.running_mean, layer.running_var = running_mean, running_var
    return scaled(layer(v), weight, bias)


def instance_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Var:  # fmt: skip
    """Each channel of each example of (n, c, ...) is normalised by itself, or by the running statistics.

    Args:
        x: (n, c, ...).
        running_mean, running_var: (c,); moved towards the mean over the batch, if they are given.
        weight, bias: (c,), or None.
        use_input_stats: False normalises by the running statistics.
        momentum: share of the batch in the running statistics.
        eps: added to the variance.

    Example:
        >>> instance_norm(jt.array([[[1.0, 3.0]]])).numpy().round(2)
        array([[[-1.,  1.]]], dtype=float32)
    """
    v = as_var(x)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise ArgumentError("instance norm without statistics of its own uses running ones", "none")
    layer = _InstanceNorm(v.shape[1] if v.ndim > 1 else 1, eps, momentum)
    layer.axes, layer.is_train = v.ndim - 2, bool(use_input_stats)
    layer.running_mean, layer.running_var = running_mean, running_var
    return scaled(layer(v), weight, bias)


def normalized(x: Var, middle: Var, variance: Var, eps: float) -> Var:
    """(x - mean) / sqrt(var + eps).

    Example:
        >>> normalized(jt.array([3.0]), jt.array([1.0]), jt.array([4.0]), 0.0).numpy()
        array([1.], dtype=float32)
    """
    return (x - middle) * (variance + eps).apply(RSQRT)


def scaled(x: Var, weight: Any, bias: Any) -> Var:
    """x * weight + bias, channel by channel of (n, c, ...).

    Example:
        >>> scaled(jt.ones(1, 2), jt.array([2.0, 3.0]), None).numpy()
        array([[2., 3.]], dtype=float32)
    """
    out = x if weight is None else x * _box(as_var(weight), x)
    return out if bias is None else out + _box(as_var(bias), x)


def ride_along(variables: tuple[Var, ...]) -> None:
    """Let the next optimiser step compute these Vars too; until then they are only promised.

    Example:
        >>> ride_along((jt.ones(2),))
    """
    riders = current().rank_state.setdefault("riders", weakref.WeakValueDictionary())
    for var in variables:
        riders[id(var)] = var


def check_float(name: str, x: Var) -> None:
    """Normalising is division, so it is for floats.

    Example:
        >>> check_float("layer norm", jt.ones(2))
    """
    if x.dtype.kind != "f":
        raise DtypeError(f"{name} works on real floats", f"dtype {x.dtype}", "x.float()")


def positive(name: str, value: Any) -> float:
    """A number that is not negative.

    Example:
        >>> positive("eps", 1e-5)
        1e-05
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ArgumentError(f"{name} is a number that is not negative", repr(value))
    return float(value)


def _itself(x: Var, axes: tuple[int, ...], eps: float) -> tuple[Var, Var, Var]:
    """x, normalised by its own mean and variance over `axes`; and these."""
    middle = mean(x, axes, True)
    away: Var = x - middle
    variance = mean(away * away, axes, True)
    return away * (variance + eps).apply(RSQRT), middle, variance


def _channels(name: str, x: Var, c: int) -> Var:
    if x.ndim < 2 or x.shape[1] != c:
        raise ShapeError(f"{name}({c}) takes (n, {c}, ...)", f"shape {x.shape}")
    check_float("batch norm", x)
    return x


def _box(v: Var, x: Var) -> Var:
    """(c,) as (1, c, 1, ...), to stand beside x."""
    if v.shape != x.shape[1:2]:
        raise ShapeError("there is one number for each channel", f"shape {v.shape} for {x.shape}")
    return v.reshape((1, -1) + (1,) * (x.ndim - 2))
