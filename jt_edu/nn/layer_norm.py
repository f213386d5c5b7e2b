"""Norms without memory: the numbers of each example are divided by what they themselves are like.

layer norm   all features of an example              group norm   some channels of an example
rms norm     the same, the mean stays where it is    local response norm   neighbouring channels of a pixel
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import check_shape, short
from jt_edu.ir.scalar_ops import RSQRT
from jt_edu.nn.batch_stats import check_channels, check_float
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import axis_of, number, same_words, whole, yes_or_no
from jt_edu.ops.compare import maximum
from jt_edu.ops.create import ones, zeros
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.reduce import mean, norm
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm", "group_norm", "layer_norm", "local_response_norm",
           "normalize", "rms_norm"]  # fmt: skip


class LayerNorm(Module):
    """The last axes of each example are normalised: (..., *normalized_shape) -> the same shape.

    Args:
        normalized_shape: lengths of those axes; a number for the last one alone.
        eps: added to the variance, so that nothing is divided by 0.
        elementwise_affine: whether weight and bias are learned.
        bias: whether there is a bias beside the weight.

    Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).

    Example:
        >>> LayerNorm(2)(jt.array([[1.0, 3.0]])).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
    """

    @takes_placement
    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        self.normalized_shape = _last_axes("layer norm", normalized_shape)
        self.eps = float(number("LayerNorm", "eps", eps, 0))
        self.elementwise_affine = yes_or_no("LayerNorm", "elementwise_affine", elementwise_affine)
        self.weight = ones(self.normalized_shape) if elementwise_affine else None
        wanted = yes_or_no("LayerNorm", "bias", bias) and self.elementwise_affine
        self.bias = zeros(self.normalized_shape) if wanted else None

    def execute(self, x: Any) -> Var:
        """The same shape, example by example."""
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Its size and settings."""
        text = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return text + (", bias=False" if self.elementwise_affine and self.bias is None else "")


@castable
@template
@same_words
def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, dim: int = -1
) -> Var:
    """(x - mean) / sqrt(var + eps) * weight + bias over some axes, whose lengths are `normalized_shape`.

    They end with the axis `dim`: by default they are the last ones, with dim=1 the channels of maps (n, c, h, w).

    Example:
        >>> layer_norm(jt.array([[1.0, 3.0]]), (2,)).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
        >>> layer_norm(jt.array([[[1.0, 5.0], [3.0, 7.0]]]), (2,), dim=1).numpy().round(2)
        array([[[-1., -1.],
                [ 1.,  1.]]], dtype=float32)
    """
    v, axes = _ends_in("layer norm", x, normalized_shape, dim)
    wide = widened(v)
    away: Var = wide - mean(wide, axes, True)
    out: Var = away * (mean(away * away, axes, True) + number("layer_norm", "eps", eps, 0)).apply(RSQRT)
    return _weighted(out, weight, bias, v, axes)


class RMSNorm(Module):
    """The last axes of each example are divided by the root of their mean square: (..., *normalized_shape) -> the same.

    Args:
        normalized_shape: lengths of those axes; a number for the last one alone.
        eps: added to the mean square; None takes the distance from 1 to the next number of x's dtype, and for halves
            that of float32, in which they are squared.
        elementwise_affine: whether a weight is learned.

    Source: Zhang and Sennrich 2019 (arXiv:1910.07467).

    Example:
        >>> RMSNorm(2)(jt.array([[3.0, 3.0]])).numpy()
        array([[1., 1.]], dtype=float32)
    """

    @takes_placement
    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True) -> None:
        self.normalized_shape = _last_axes("rms norm", normalized_shape)
        self.eps = None if eps is None else float(number("RMSNorm", "eps", eps, 0))
        self.elementwise_affine = yes_or_no("RMSNorm", "elementwise_affine", elementwise_affine)
        self.weight = ones(self.normalized_shape) if elementwise_affine else None

    def execute(self, x: Any) -> Var:
        """The same shape, example by example."""
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Its size and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


@castable
@same_words
def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Var:
    """x / sqrt(mean(x * x) + eps) * weight over the last axes, whose lengths are `normalized_shape`.

    Example:
        >>> rms_norm(jt.array([[3.0, -3.0]]), (2,)).numpy()
        array([[ 1., -1.]], dtype=float32)
    """
    v, axes = _ends_in("rms norm", x, normalized_shape)
    wide = widened(v)
    small = float(np.finfo(wide.dtype.storage).eps) if eps is None else number("rms_norm", "eps", eps, 0)
    out: Var = wide * (mean(wide * wide, axes, True) + small).apply(RSQRT)
    return _weighted(out, weight, None, v, axes)


class GroupNorm(Module):
    """Channels in groups; each group of each example is normalised: (n, c, ...) -> the same shape.

    Args:
        num_groups: how many groups; 1 makes it a layer norm, c an instance norm.
        num_channels: c, a multiple of num_groups.
        eps: added to the variance, so that nothing is divided by 0.
        affine: whether a weight and a bias for each channel are learned.

    Source: Wu and He 2018 (arXiv:1803.08494).

    Example:
        >>> GroupNorm(1, 2)(jt.array([[1.0, 3.0]])).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
    """

    @takes_placement
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        self.num_groups = count(self, "num_groups", num_groups)
        self.num_channels = count(self, "num_channels", num_channels)
        if num_channels % num_groups:
            raise ArgumentError("groups must divide the channels", f"{num_groups} groups for {num_channels} channels")
        self.eps, self.affine = float(number("GroupNorm", "eps", eps, 0)), yes_or_no("GroupNorm", "affine", affine)
        self.weight = ones(num_channels) if affine else None
        self.bias = zeros(num_channels) if affine else None

    def execute(self, x: Any) -> Var:
        """The same shape, group by group."""
        v = as_var(x)
        if v.ndim < 2 or v.shape[1] != self.num_channels:
            raise ShapeError(f"GroupNorm takes (n, {self.num_channels}, ...)", f"shape {v.shape}")
        return group_norm(v, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Its size and settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


@castable
@template
@same_words
def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Var:
    """(x - mean) / sqrt(var + eps) * weight + bias for each group of channels of each example.

    Args:
        x: (n, c, ...).
        num_groups: a divisor of c.
        weight, bias: (c,), or None.
        eps: added to the variance.

    Example:
        >>> group_norm(jt.array([[1.0, 3.0, 7.0, 7.0]]), 2).numpy().round(2)
        array([[-1.,  1.,  0.,  0.]], dtype=float32)
    """
    v = check_channels("group_norm", as_var(x))
    if v.shape[1] % whole("group_norm", "num_groups", num_groups, 1):
        raise ShapeError("group norm takes (n, c, ...) with groups that divide c", f"{num_groups} groups for {v.shape}")
    n, c = v.shape[:2]
    parts = widened(v).reshape(n, num_groups, c // num_groups, *v.shape[2:])
    box = (*parts.shape[1:3], *(1,) * (v.ndim - 2))  # a number for each channel, beside the parts
    own = [None if given is None else _of_channels(given, c).reshape(box) for given in (weight, bias)]
    out: Var = layer_norm(parts, parts.shape[2:], None, None, eps)
    out = out if own[0] is None else out * own[0]
    out = (out if own[1] is None else out + own[1]).reshape(v.shape)
    return out.cast(v.dtype) if v.dtype.is_half else out


def _of_channels(given: Any, channels: int) -> Var:
    v = as_var(given)
    if v.shape != (channels,):
        raise ShapeError("there is one number for each channel", f"shape {v.shape} for {channels} channels")
    return v


class LocalResponseNorm(Module):
    """Each number is divided by how large its neighbours in the nearest channels are: (n, c, ...) -> the same shape.

    Arguments as in `local_response_norm`.

    Source: Krizhevsky, Sutskever and Hinton 2012, "ImageNet classification with deep convolutional neural networks".

    Example:
        >>> LocalResponseNorm(3, alpha=3.0, beta=1.0)(jt.ones(1, 3, 1)).numpy().round(2)
        array([[[0.33],
                [0.25],
                [0.33]]], dtype=float32)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, name = count(self, "size", size), "LocalResponseNorm"
        self.alpha, self.beta = float(number(name, "alpha", alpha)), float(number(name, "beta", beta))
        self.k = float(number(name, "k", k))

    def execute(self, x: Any) -> Var:
        """The same shape."""
        return local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Its settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


@castable
@same_words
def local_response_norm(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Var:
    """x / (k + alpha * mean of x * x over `size` neighbouring channels) ** beta.

    Args:
        x: (n, c, ...), at least 3 axes.
        size: how many channels are neighbours; half of them before, half behind. Outside there is 0.
        alpha, beta, k: as in the formula.

    Example:
        >>> local_response_norm(jt.ones(1, 1, 1), 2, alpha=2.0, beta=1.0).item()
        0.5
    """
    v = as_var(x)
    if v.ndim < 3:
        raise ShapeError("local response norm takes (n, c, ...) of at least 3 axes", f"shape {v.shape}")
    check_float("local response norm", v)
    n, c, *rest = v.shape
    before = whole("local_response_norm", "size", size, 1) // 2
    wide = widened(v)
    near = (wide * wide).reindex((n, c, size, *rest), lambda i, j, tap, *at: (i, j + tap - before, *at))
    return (wide / (near.mean(2) * alpha + k) ** beta).cast(v.dtype)


@castable
@same_words
def normalize(x: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Var:
    """x / max(|x|, eps), with the norm taken along an axis: vectors of length 1.

    Args:
        x: any shape.
        p: by which norm lengths are measured.
        dim: along which axis, or axes.
        eps: nothing is divided by less.

    Example:
        >>> normalize(jt.array([[3.0, 4.0]])).numpy().round(2)
        array([[0.6, 0.8]], dtype=float32)
    """
    v = as_var(x)
    check_float("normalize", v)
    wide = widened(v)
    out: Var = wide / maximum(norm(wide, p, dim, True), number("normalize", "eps", eps, 0))
    return out.cast(v.dtype)


def _weighted(out: Var, weight: Any, bias: Any, x: Var, axes: tuple[int, ...]) -> Var:
    """out * weight + bias, which have the lengths of the axes that were normalised; as halves where x holds halves."""
    lengths = tuple(x.shape[k] for k in axes)
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and as_var(part).shape != lengths:
            raise ShapeError(f"the {name} of a norm over {lengths} has that shape", f"shape {as_var(part).shape}")
    behind = (1,) * (x.ndim - 1 - axes[-1])
    weight, bias = (as_var(p).reshape(lengths + behind) if behind and p is not None else p for p in (weight, bias))
    out = out if weight is None else out * as_var(weight)
    out = out if bias is None else out + as_var(bias)
    return out.cast(x.dtype) if x.dtype.is_half else out


def _last_axes(name: str, lengths: Any) -> tuple[int, ...]:
    shape = check_shape(lengths)
    if not shape or 0 in shape:
        raise ArgumentError(f"{name} takes the lengths of the axes it works on", short(lengths))
    return shape


def _ends_in(name: str, x: Any, lengths: Any, last: int = -1) -> tuple[Var, tuple[int, ...]]:
    """x, and the axes that `lengths` are the lengths of: the last ones, or those that end with axis `last`."""
    v, shape = as_var(x), _last_axes(name, lengths)
    end = v.ndim if last == -1 else axis_of(name, last, v.ndim) + 1
    axes = tuple(range(end - len(shape), end))
    if len(shape) > end or tuple(v.shape[k] for k in axes) != shape:
        where = "Vars that end in these axes" if last == -1 else f"Vars in which these axes end with axis {last}"
        raise ShapeError(f"{name} over {shape} takes {where}", f"shape {v.shape}")
    check_float(name, v)
    return v, axes
