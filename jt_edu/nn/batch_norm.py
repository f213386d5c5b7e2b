"""Batch norm: give each channel mean 0 and variance 1, then let the network choose its own mean and spread.

    y = (x - mean) / sqrt(var + eps) * weight + bias

Batch norm takes mean and variance over the batch, and remembers their running averages for the time when there is no
batch. Instance norm takes them over each image, and remembers only if it is told to. Norms that never remember stand in
`layer_norm.py`.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ShapeError
from jt_edu.nn.batch_stats import (
    by_itself,
    check_channels,
    check_several,
    mean_and_variance,
    move,
    normalized,
    unbiased,
)
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import number, yes_or_no
from jt_edu.ops.create import ones, sync, zeros
from jt_edu.ops.deferred_outputs import ride_along
from jt_edu.ops.reduce import mean
from jt_edu.variable.parallel_context import team
from jt_edu.variable.var import Var, as_var

__all__ = ["BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm", "InstanceNorm1d", "InstanceNorm2d",
           "InstanceNorm3d"]  # fmt: skip
PATIENCE = 8  # forward passes without a training step, after which running statistics are computed all the same


class _Remembers(Module):
    """A norm by channels: weight and bias, and running statistics if wanted."""

    running_mean: Var | None
    running_var: Var | None
    num_batches_tracked: Var | None
    _version = 2  # since batches are counted
    may_miss = ("num_batches_tracked",)  # Jittor does not count batches

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool, is_train: bool, remember: bool
    ) -> None:
        name = type(self).__name__
        self.num_features, self.eps = count(self, "num_features", num_features), float(number(name, "eps", eps, 0))
        self.momentum = None if momentum is None else float(number(name, "momentum", momentum, 0, 1))
        self.affine, self.is_train = yes_or_no(name, "affine", affine), yes_or_no(name, "is_train", is_train)
        self.track_running_stats = yes_or_no(name, "track_running_stats", remember)
        self.weight = ones(num_features) if affine else None
        self.bias = zeros(num_features) if affine else None
        self.register_buffer("running_mean", zeros(num_features) if remember else None)
        self.register_buffer("running_var", ones(num_features) if remember else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype="int64") if remember else None)
        self._waiting = 0

    def _running(self) -> tuple[Var, Var] | None:
        """The running mean and variance, if there are both."""
        if self.running_mean is None or self.running_var is None:
            return None
        return self.running_mean, self.running_var

    def _remember(self, middle: Var, variance: Var, share: Any) -> None:
        """Move the running statistics towards the batch; the numbers come with the next optimiser step."""
        running = self._running()
        if running is not None:
            move(running, middle, variance, share)

    def _wait(self) -> None:
        """Compute what the forward passes before have promised, if there were many without a training step."""
        if current().capture is not None:  # what is older is computed before the captured step, and nothing within it
            return
        remembered = (self.running_mean, self.running_var, self.num_batches_tracked)
        promised = [v for v in remembered if v is not None and v.node.pending]
        self._waiting = self._waiting + 1 if promised else 0
        if self._waiting > PATIENCE:
            sync(promised)
            self._waiting = 0

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
        track_running_stats: whether there are running statistics; without them every batch is normalised by itself.
        is_train: whether it begins in training mode. It has to be named: Jittor has it in fifth place, where PyTorch
            has track_running_stats.
        sync: among several ranks, whether the batch is that of all ranks together, while training.

    `BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d` are the same for so many axes behind the channels, and no others.

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

    ranks: tuple[int, ...] = ()  # how many axes there may be; () for any

    @takes_placement
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, *, is_train: bool = True, sync: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, is_train, track_running_stats)
        self.sync = yes_or_no(type(self).__name__, "sync", sync)

    def execute(self, x: Any) -> Var:
        """The same shape, channel by channel."""
        v, running = self._checked(as_var(x)), self._running()
        if running is not None and not self.is_train:
            return normalized(v, *running, self.weight, self.bias, self.eps)
        out, middle, variance, n = self._of_the_batch(v)
        if self.is_train and self.num_batches_tracked is not None:
            self._wait()
            self.num_batches_tracked.update(self.num_batches_tracked + 1)
            self._remember(middle, unbiased(variance, n), self._share())
            ride_along((self.num_batches_tracked,))
        return out

    def _of_the_batch(self, v: Var) -> tuple[Var, Var, Var, Any]:
        """Numbers that are normalised by their batch; its mean and variance, and how many numbers a channel has."""
        n, axes = v.size // self.num_features, (0, *range(2, v.ndim))
        crew = team() if self.is_train and self.sync else None
        if crew is not None:
            middle, variance = mean_and_variance(v, axes)
            total, middle, variance = crew.moments(n, middle, variance)
            return normalized(v, middle, variance, self.weight, self.bias, self.eps), middle, variance, total
        if self.is_train:
            check_several("batch norm", v, n, "larger batches, or module.eval()")
        return *by_itself(v, axes, self.weight, self.bias, self.eps), n

    def _checked(self, x: Var) -> Var:
        name = type(self).__name__
        if self.ranks and x.ndim not in self.ranks:
            raise ShapeError(f"{name} takes Vars of {' or '.join(map(str, self.ranks))} axes", f"shape {x.shape}")
        return check_channels(f"{name}({self.num_features})", x, self.num_features)

    def _share(self) -> Any:
        """How much the newest batch counts."""
        if self.momentum is not None or self.num_batches_tracked is None or self.running_mean is None:
            return self.momentum
        return 1 / self.num_batches_tracked.cast(self.running_mean.dtype)


class BatchNorm1d(BatchNorm):
    """`BatchNorm` of features or signals: (n, c) or (n, c, l).

    Example:
        >>> BatchNorm1d(3)(jt.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """`BatchNorm` of images: (n, c, h, w).

    Example:
        >>> BatchNorm2d(3)(jt.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """`BatchNorm` of volumes: (n, c, d, h, w).

    Example:
        >>> BatchNorm3d(3)(jt.ones(2, 3, 2, 2, 2)).shape
        (2, 3, 2, 2, 2)
    """

    ranks = (5,)


class _InstanceNorm(_Remembers):
    """Each channel of each example is normalised by itself."""

    axes = 1  # that an image has

    @takes_placement
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, True, track_running_stats)

    def execute(self, x: Any) -> Var:
        """The same shape, image by image."""
        v = as_var(x)
        if v.ndim == self.axes + 1:
            return type(self).execute(self, v.unsqueeze(0)).squeeze(0)
        if v.ndim != self.axes + 2:
            raise ShapeError(f"{type(self).__name__} takes n, c and {self.axes} more axes", f"shape {v.shape}")
        check_channels(f"{type(self).__name__}({self.num_features})", v, self.num_features)
        running = self._running()
        if running is not None and not self.is_train:
            return normalized(v, *running, self.weight, self.bias, self.eps)
        n = check_several("instance norm", v, math.prod(v.shape[2:]), "larger images")
        out, middle, variance = by_itself(v, tuple(range(2, v.ndim)), self.weight, self.bias, self.eps)
        if self.is_train and running is not None:
            self._wait()
            self._remember(mean(middle, 0), unbiased(mean(variance, 0), n), self.momentum or 0.0)
        return out


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each signal gets mean 0 and variance 1: (n, c, l) or (c, l) -> the same shape.

    Args:
        num_features: c.
        eps: added to the variance, so that nothing is divided by 0.
        momentum: share of the newest batch in the running statistics, if there are any.
        affine: whether weight and bias are learned.
        track_running_stats: whether means and variances are remembered, and used outside training.

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
