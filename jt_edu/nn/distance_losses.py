"""Losses from distance: do two vectors point the same way, or lie side by side?

    cosine_similarity     a . b / (|a| * |b|)      from -1 to 1, whatever their lengths
    pairwise_distance     |a - b|                  in one of many norms

The embedding losses use them to pull together what belongs together, and to push the rest a margin apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.dtypes import promote
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.nn.loss import Loss
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import axis_of, number, same_words, whole, yes_or_no
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.reduce import norm, sum
from jt_edu.ops.softmax import reduce_loss
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["CosineEmbeddingLoss", "CosineSimilarity", "PairwiseDistance", "TripletMarginLoss",
           "TripletMarginWithDistanceLoss", "cosine_embedding_loss", "cosine_similarity", "pairwise_distance",
           "triplet_margin_loss", "triplet_margin_with_distance_loss"]  # fmt: skip
Distance = Callable[[Any, Any], Var]


@castable
@same_words
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Var:
    """sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps)) along an axis: 1 for the same direction, -1 for the opposite.

    Args:
        x1, x2: real floats whose shapes fit each other.
        dim: the axis of the vectors, after broadcasting.
        eps: no length counts as smaller than this.

    Raises:
        DtypeError: one of them holds no real floats.
        ShapeError: the shapes do not fit each other.

    Example:
        >>> cosine_similarity(jt.array([[1.0, 0.0]]), jt.array([[3.0, 0.0]])).numpy()
        array([1.], dtype=float32)
    """
    a, b = _floats("cosine_similarity", x1, x2)
    shape = broadcast_shape("cosine_similarity", a.shape, b.shape)
    axis = axis_of("cosine_similarity", dim, len(shape))
    least = number("cosine_similarity", "eps", eps)
    left, right = (_shortened(v.stretched(shape), axis, least) for v in (a, b))
    return sum(left * right, axis).cast(promote(a.dtype, b.dtype))


def _shortened(v: Var, axis: int, least: float) -> Var:
    """Vectors of length 1, but none is divided by less than `least`; no product overflows on the way."""
    wide = widened(v)
    return wide / clamp(norm(wide, 2, axis, True), least)


@same_words
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Var:
    """(sum |x1 - x2 + eps|**p)**(1/p) over the last axis.

    Args:
        x1, x2: (..., d), real floats whose shapes fit each other.
        p: which norm; as in `jt.norm`.
        eps: is added to each difference, so that equal vectors have a gradient.
        keepdim: keep the last axis, with length 1.

    Raises:
        DtypeError: one of them holds no real floats.
        ShapeError: the shapes do not fit each other, or there is no axis.

    Example:
        >>> pairwise_distance(jt.array([[0.0, 3.0]]), jt.array([[4.0, 0.0]]), eps=0.0).numpy()
        array([5.], dtype=float32)
    """
    a, b = _floats("pairwise_distance", x1, x2)
    away = a - b + number("pairwise_distance", "eps", eps)
    if not away.ndim:
        raise ShapeError("pairwise_distance is taken over the last axis", f"shapes {a.shape} and {b.shape}")
    return norm(away, p, -1, keepdim)


def _floats(name: str, *values: Any) -> list[Var]:
    found = [as_var(v) for v in values]
    if any(v.dtype.kind != "f" for v in found):
        raise DtypeError(
            f"{name} compares real floats", f"dtypes {', '.join(str(v.dtype) for v in found)}", "x.float()"
        )
    return found


@castable
@same_words
def cosine_embedding_loss(x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Var:
    """1 - cos for pairs that belong together (target 1), max(0, cos - margin) for those that do not (target -1).

    Args:
        x1, x2: (n, d) or (d,).
        target: (n,) or (), each 1 or -1; any other number costs nothing.
        margin: how similar strangers may be.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: there is not one target for each pair.

    Example:
        >>> cosine_embedding_loss(jt.array([[1.0, 0.0]]), jt.array([[0.0, 1.0]]), jt.array([1])).item()
        1.0
    """
    a, b = _floats("cosine_embedding_loss", x1, x2)
    y = as_var(target)
    if a.shape != b.shape or a.ndim not in (1, 2) or y.shape != a.shape[:-1]:
        found = f"shapes {a.shape}, {b.shape} and {y.shape}"
        raise ShapeError("cosine_embedding_loss takes vectors (n, d) twice and targets (n,)", found)
    cos = sum(_direction(a) * _direction(b), -1)
    apart = number("cosine_embedding_loss", "margin", margin)
    loss = (1 - cos).keep_where(y == 1) + clamp(cos - apart, 0).keep_where(y == -1)
    return reduce_loss(loss, reduction).cast(promote(a.dtype, b.dtype))


def _direction(v: Var) -> Var:
    """Vectors of length 1, or less where they are hardly longer than 0: as PyTorch does in this loss alone."""
    wide = widened(v)
    return wide * (sum(wide * wide, -1, True) + 1e-12).apply(f.RSQRT)


@castable
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean",
) -> Var:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin): the positive is nearer than the negative.

    Args:
        anchor, positive, negative: (n, d) or (d,).
        margin: how much nearer.
        p, eps: as in `pairwise_distance`.
        swap: let the negative keep its distance from the positive as well.
        reduction: "mean", "sum" or "none".

    Source: Balntas et al. 2016, "Learning local feature descriptors with triplets and shallow convolutional networks".

    Example:
        >>> triplet_margin_loss(jt.array([[0.0]]), jt.array([[3.0]]), jt.array([[2.0]]), eps=0.0).item()
        2.0
    """
    distance: Distance = lambda a, b: pairwise_distance(a, b, p, eps)  # noqa: E731 - a norm with its settings
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Distance | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Var:  # fmt: skip
    """`triplet_margin_loss` with your own distance: a function of two Vars (n, d) that returns (n,).

    Raises:
        ArgumentError: the margin is not positive.
        ShapeError: the three have different numbers of axes.

    Example:
        >>> city = lambda a, b: (a - b).abs().sum(-1)
        >>> x, y, z = jt.array([[0.0, 0.0]]), jt.array([[1.0, 1.0]]), jt.array([[2.0, 0.0]])
        >>> triplet_margin_with_distance_loss(x, y, z, distance_function=city).item()
        1.0
    """
    if not callable(distance_function) and distance_function is not None:
        raise ArgumentError("a distance is a function of two Vars", short(distance_function), "jt.pairwise_distance")
    apart = number("triplet_margin_loss", "margin", margin, 0, above=True)
    a, near, far = _floats("triplet_margin_loss", anchor, positive, negative)
    if not a.ndim == near.ndim == far.ndim:
        found = f"shapes {a.shape}, {near.shape} and {far.shape}"
        raise ShapeError("a triplet is three Vars of equally many axes", found)
    distance = pairwise_distance if distance_function is None else distance_function
    away = distance(a, far)
    if yes_or_no("triplet_margin_loss", "swap", swap):
        away = away.apply(f.MINIMUM, distance(near, far))
    return reduce_loss(clamp(distance(a, near) - away + apart, 0), reduction)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors; see `cosine_similarity`.

    Example:
        >>> CosineSimilarity(dim=0)(jt.array([1.0, 0.0]), jt.array([0.0, 2.0])).item()
        0.0
    """

    @same_words
    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.dim = whole("CosineSimilarity", "dim", dim)
        self.eps = float(number("CosineSimilarity", "eps", eps))

    def execute(self, x1: Any, x2: Any) -> Var:
        """Two Vars -> one cosine for each pair of vectors."""
        return cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The distance between vectors; see `pairwise_distance`.

    Example:
        >>> PairwiseDistance(p=1, eps=0)(jt.array([1.0, 0.0]), jt.array([0.0, 2.0])).item()
        3.0
    """

    @same_words
    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        name = "PairwiseDistance"
        self.p, self.eps = number(name, "p", p), float(number(name, "eps", eps))
        self.keepdim = yes_or_no(name, "keepdim", keepdim)

    def execute(self, x1: Any, x2: Any) -> Var:
        """Two Vars -> one distance for each pair of vectors."""
        return pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class CosineEmbeddingLoss(Loss):
    """Pull pairs together or push them apart, by their angle; see `cosine_embedding_loss`.

    Example:
        >>> CosineEmbeddingLoss()(jt.array([1.0, 0.0]), jt.array([0.0, 1.0]), jt.array(1)).item()
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(number("CosineEmbeddingLoss", "margin", margin))

    @same_words
    def execute(self, x1: Any, x2: Any, target: Any) -> Var:
        """Pairs of vectors, and whether they belong together -> one number."""
        return cosine_embedding_loss(x1, x2, target, self.margin, self.reduction)


class TripletMarginLoss(Loss):
    """The positive is nearer to the anchor than the negative, by a margin; see `triplet_margin_loss`.

    Example:
        >>> TripletMarginLoss(eps=0)(jt.array([[0.0]]), jt.array([[3.0]]), jt.array([[2.0]])).item()
        2.0
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        name = "TripletMarginLoss"
        self.margin = float(number(name, "margin", margin, 0, above=True))
        self.p, self.eps, self.swap = p, float(number(name, "eps", eps)), yes_or_no(name, "swap", swap)

    def execute(self, anchor: Any, positive: Any, negative: Any) -> Var:
        """Three Vars of vectors -> one number."""
        return triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with your own distance; see `triplet_margin_with_distance_loss`.

    Example:
        >>> city = lambda a, b: (a - b).abs().sum(-1)
        >>> loss = TripletMarginWithDistanceLoss(distance_function=city)
        >>> loss(jt.array([[0.0]]), jt.array([[3.0]]), jt.array([[2.0]])).item()
        2.0
    """

    def __init__(
        self, *, distance_function: Distance | None = None, margin: float = 1.0, swap: bool = False,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        name = "TripletMarginWithDistanceLoss"
        if not (distance_function is None or callable(distance_function)):
            raise ArgumentError(f"{name} takes distance_function as a function", short(distance_function))
        self.distance_function = pairwise_distance if distance_function is None else distance_function
        self.margin = float(number(name, "margin", margin, 0, above=True))
        self.swap = yes_or_no(name, "swap", swap)

    def execute(self, anchor: Any, positive: Any, negative: Any) -> Var:
        """Three Vars of vectors -> one number."""
        return triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
