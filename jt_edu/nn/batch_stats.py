"""Batch stats: by which mean and variance is a channel normalised?

Numbers (n, c, ...) become (x - mean) / sqrt(var + eps) * weight + bias, channel by channel.

    batch_norm       mean and variance over the batch, or running ones
    instance_norm    over each image, or running ones

The layers that own weights and running statistics stand in `batch_norm.py`.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.node import Shape
from jt_edu.ir.scalar_ops import RSQRT
from jt_edu.ops.arguments import number, same_words, yes_or_no
from jt_edu.ops.deferred_outputs import ride_along
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.per_channel import per_channel
from jt_edu.ops.reduce import mean
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var


@same_words
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
    v = check_channels("batch_norm", as_var(x))
    small, share = number("batch_norm", "eps", eps, 0), number("batch_norm", "momentum", momentum, 0, 1)
    running = _statistics("batch_norm", running_mean, running_var, yes_or_no("batch_norm", "training", training))
    if not training:
        return normalized(v, running[0], running[1], weight, bias, small)
    n = check_several("batch_norm", v, v.shape[0] * math.prod(v.shape[2:]), "larger batches, or training=False")
    out, middle, variance = by_itself(v, (0, *range(2, v.ndim)), weight, bias, small)
    if running:
        move(running, middle, unbiased(variance, n), share)
    return out


@same_words
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
    v = check_channels("instance_norm", as_var(x))
    small, share = number("instance_norm", "eps", eps, 0), number("instance_norm", "momentum", momentum, 0, 1)
    own = yes_or_no("instance_norm", "use_input_stats", use_input_stats)
    running = _statistics("instance_norm", running_mean, running_var, own)
    if not own:
        return normalized(v, running[0], running[1], weight, bias, small)
    n = check_several("instance_norm", v, math.prod(v.shape[2:]), "larger images")
    out, middle, variance = by_itself(v, tuple(range(2, v.ndim)), weight, bias, small)
    if running:
        move(running, mean(middle, 0), unbiased(mean(variance, 0), n), share)
    return out


@template
def normalized(x: Var, middle: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Var:
    """(x - mean) / sqrt(var + eps) * weight + bias, channel by channel of (n, c, ...).

    Example:
        >>> normalized(jt.array([[3.0]]), jt.array([1.0]), jt.array([4.0]), None, jt.array([1.0]), 0.0).numpy()
        array([[2.]], dtype=float32)
    """
    away = widened(x) - per_channel(widened(as_var(middle)), x.shape)
    return _scaled(away, (widened(as_var(variance)) + eps).apply(RSQRT), weight, bias, x)


@template
def by_itself(x: Var, axes: tuple[int, ...], weight: Any, bias: Any, eps: float) -> tuple[Var, Var, Var]:
    """The same with x's own mean and variance over `axes`; and these. Halves are squared and added up as float32.

    Example:
        >>> out, middle, variance = by_itself(jt.array([[1.0], [3.0]]), (0,), None, None, 0.0)
        >>> out.numpy().ravel(), middle.item(), variance.item()
        (array([-1.,  1.], dtype=float32), 2.0, 1.0)
    """
    wide = widened(x)
    middle, variance = _mean_and_variance(wide, axes)
    return _scaled(wide - middle, (variance + eps).apply(RSQRT), weight, bias, x), middle, variance


@template
def mean_and_variance(x: Var, axes: tuple[int, ...]) -> tuple[Var, Var]:
    """Mean and variance sum / n over `axes`, one of each for each channel. Halves are added up as float32.

    Example:
        >>> middle, variance = mean_and_variance(jt.array([[1.0], [3.0]]), (0,))
        >>> middle.tolist(), variance.tolist()
        ([2.0], [1.0])
    """
    middle, variance = _mean_and_variance(widened(x), axes)
    return middle.reshape(-1), variance.reshape(-1)


def _mean_and_variance(x: Var, axes: tuple[int, ...]) -> tuple[Var, Var]:
    """Mean and variance over `axes`, which stay as axes of length 1.

    Over images of a batch, float32 numbers are looked at once: sum and sum of squares in float64, whose 53 bits hold
    the square of a float32 number exactly. So a convolution that makes them can add them up as it writes them. What is
    lost: a mean of m standard deviations costs the variance m^2 of its 1e16 (docs/decisions/051).
    """
    if x.dtype != "float32" or x.ndim < 3 or axes[0] != 0:
        middle = mean(x, axes, True)
        away: Var = x - middle
        return middle, mean(away * away, axes, True)
    wide = x.cast("float64")
    middle = mean(wide, axes, True)
    variance = mean(wide * wide, axes, True) - middle * middle
    return middle.cast("float32"), variance.clamp(0).cast("float32")


def move(running: Any, middle: Var, variance: Var, share: Any) -> None:
    """running = (1 - share) * running + share * that of the batch, for mean and variance.

    Example:
        >>> running = (jt.zeros(1), jt.ones(1))
        >>> move(running, jt.array([4.0]), jt.array([1.0]), 0.5)
        >>> running[0].item()
        2.0
    """
    with no_grad():
        for old, new in zip(running, (middle, variance), strict=True):
            old.update(_moved(old, new, share))
    ride_along(running)


@template
def _moved(old: Var, new: Var, share: Any) -> Var:
    wide = widened(old)  # a tenth of a variance may be a half where the variance itself is not
    moved: Var = wide * (1 - share) + new.reshape(-1).cast(wide.dtype) * share
    return moved.cast(old.dtype)


def check_float(name: str, x: Var) -> None:
    """Normalising is division, so it is for floats.

    Example:
        >>> check_float("layer norm", jt.ones(2))
    """
    if x.dtype.kind != "f":
        raise DtypeError(f"{name} works on real floats", f"dtype {x.dtype}", "x.float()")


def check_channels(name: str, x: Var, c: int | None = None) -> Var:
    """Floats (n, c, ...).

    Example:
        >>> check_channels("BatchNorm(3)", jt.ones(2, 3), 3).shape
        (2, 3)
    """
    if x.ndim < 2 or c not in (None, x.shape[1]):
        raise ShapeError(f"{name} takes (n, {'c' if c is None else c}, ...)", f"shape {x.shape}")
    check_float(name, x)
    return x


def check_several(name: str, x: Var, n: int, attempt: str) -> int:
    """How many numbers a variance is made of, at least two.

    Example:
        >>> check_several("batch norm", jt.ones(2, 3), 2, "larger batches")
        2
    """
    if n < 2:
        raise ShapeError(f"{name} needs several numbers for each channel", f"shape {x.shape}, {n} per channel", attempt)
    return n


@template
def unbiased(variance: Var, n: Any) -> Var:
    """sum / (n - 1), from sum / n.

    Example:
        >>> unbiased(jt.array([1.0]), 2).item()
        2.0
    """
    return variance * (n / max(n - 1, 1)) if isinstance(n, int) else variance * (n / (n - 1).clamp(1))


def _statistics(name: str, running_mean: Any, running_var: Any, moved: bool) -> tuple[Any, ...]:
    """Running statistics: both, or () for none. Those that are moved are Vars, which can be given new numbers."""
    given = [s for s in (running_mean, running_var) if s is not None]
    if len(given) == 1 or not (given or moved):
        raise ArgumentError(f"{name} takes both running_mean and running_var, or neither", f"{len(given)} of the two")
    if moved and not all(isinstance(s, Var) for s in given):
        found = ", ".join(type(s).__name__ for s in given)
        raise ArgumentError(f"{name} updates the running statistics, so they must be Vars", found, "jt.array(...)")
    return tuple(given)


def _scaled(away: Var, rate: Var, weight: Any, bias: Any, x: Var) -> Var:
    """away * (rate * weight) + bias, small ones first: then the gradients of both need one sum over numbers like x.

    `rate` is (c,), or (1, c, 1, ...), or has a number for each channel of each example, (n, c, 1, ...).
    """
    if weight is not None:
        rate = rate * _beside(weight, x, rate.shape)
    out: Var = away * (per_channel(rate, x.shape) if rate.ndim == 1 else rate)
    out = out if bias is None else out + _beside(bias, x, x.shape)
    return out.cast(x.dtype) if x.dtype.is_half else out


def _beside(numbers: Any, x: Var, shape: Shape) -> Var:
    """(c,), checked, to stand beside something of `shape`: (c,) as well, or (n, c, ...)."""
    v = as_var(numbers)
    if v.shape != x.shape[1:2]:
        raise ShapeError("there is one number for each channel", f"shape {v.shape} for {x.shape}")
    return v if len(shape) == 1 else per_channel(v, shape)
