"""Losses with a margin: is the right answer better than the wrong ones, and by enough?

Each is a hinge, max(0, margin - how much better): who is right by the margin costs nothing and is left in peace. The
soft ones bend the hinge into log(1 + exp(-...)), which never quite lets go.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.nn.loss import Loss, alike, weighted
from jt_edu.ops.activation import logsigmoid
from jt_edu.ops.arguments import choice, number, same_words
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.index import gather
from jt_edu.ops.reduce import any, mean, min, sum
from jt_edu.ops.softmax import is_class, reduce_loss
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss",
           "MultiMarginLoss", "SoftMarginLoss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
           "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss"]  # fmt: skip


@castable
@same_words
def hinge_embedding_loss(output: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Var:
    """The distance itself where target is 1, max(0, margin - distance) where it is -1.

    Args:
        output: distances.
        target: the same shape, each 1 or -1.
        margin: how far strangers should be apart.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> hinge_embedding_loss(jt.array([0.5, 0.25]), jt.array([1, -1]), reduction="none").numpy()
        array([0.5 , 0.75], dtype=float32)
    """
    x, y = alike("hinge_embedding_loss", output, target)
    apart = number("hinge_embedding_loss", "margin", margin)
    return reduce_loss(x.where_not(y == -1, 0) + clamp(apart - x, 0).where_not(y == 1, 0), reduction)


@castable
@same_words
def soft_margin_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """log(1 + exp(-target * output)): the score has the sign of the target, 1 or -1.

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> soft_margin_loss(jt.array([0.0]), jt.array([1])).numpy().round(3)
        np.float32(0.693)
    """
    x, y = alike("soft_margin_loss", output, target)
    return reduce_loss(-logsigmoid(y * x), reduction)


@castable
@same_words
def margin_ranking_loss(x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Var:
    """max(0, -target * (x1 - x2) + margin): x1 is larger where target is 1, x2 where it is -1.

    Raises:
        ShapeError: the three have different numbers of axes, or shapes that do not fit each other.
        DtypeError: x1 or x2 holds no real floats.

    Example:
        >>> margin_ranking_loss(jt.array([1.0]), jt.array([3.0]), jt.array([1])).item()
        2.0
    """
    a, b, y = as_var(x1), as_var(x2), as_var(target)
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        raise DtypeError("margin_ranking_loss compares real floats", f"dtypes {a.dtype} and {b.dtype}", "x.float()")
    if not a.ndim == b.ndim == y.ndim:
        found = f"shapes {a.shape}, {b.shape} and {y.shape}"
        raise ShapeError("margin_ranking_loss takes three Vars of equally many axes", found)
    apart = number("margin_ranking_loss", "margin", margin)
    return reduce_loss(clamp((b - a) * y.cast(a.dtype) + apart, 0), reduction)


@castable
@same_words
def multi_margin_loss(
    output: Any, target: Any, p: float = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Var:
    """sum over wrong classes of max(0, margin - output[target] + output[wrong])**p, divided by the number of classes.

    Args:
        output: (n, classes) or (classes,), scores.
        target: (n,) or (), class numbers.
        p: 1 or 2.
        margin: by how much the right one is better.
        weight: (classes,), how much each class counts as a target.
        reduction: "mean", "sum" or "none".

    Raises:
        ArgumentError: p is neither 1 nor 2.
        ShapeError: there is not one class for each row of scores.

    Source: Crammer and Singer 2001, "On the algorithmic implementation of multiclass kernel-based vector machines".

    Example:
        >>> multi_margin_loss(jt.array([[0.0, 2.0]]), jt.array([0])).item()
        1.5
    """
    x, y = _scores("multi_margin_loss", output, target, per_class=False)
    power, apart = _power("multi_margin_loss", p), number("multi_margin_loss", "margin", margin)
    mine = is_class(y, x.shape, 0)
    hinge = clamp(x - sum(x.keep_where(mine), 1, keepdim=True) + apart, 0)
    loss = hinge if power == 1 else hinge * hinge
    if weight is not None:
        weights = as_var(weight).cast(x.dtype)
        if weights.shape != x.shape[1:]:
            raise ShapeError("multi_margin_loss takes one weight for each class", f"{weights.shape} for {x.shape}")
        loss = loss * sum(weights.stretched(x.shape).keep_where(mine), 1, keepdim=True)
    each = sum(loss.where_not(mine, 0), 1) / float(x.shape[1])
    return reduce_loss(each.reshape(as_var(target).shape), reduction)


def _power(name: str, p: Any) -> float:
    """1 or 2."""
    return float(choice(name, "p", float(number(name, "p", p)), (1.0, 2.0)))


def _scores(name: str, output: Any, target: Any, per_class: bool) -> tuple[Var, Var]:
    """Scores (n, classes) and whole numbers, (n,) or (n, classes); a single row becomes a stack of one."""
    x, y = as_var(output), as_var(target)
    if x.dtype.kind != "f" or y.dtype.kind not in "iu":
        found = f"dtypes {x.dtype} and {y.dtype}"
        raise DtypeError(f"{name} takes real scores, and class numbers", found, "target.int64()")
    if x.ndim not in (1, 2) or y.shape != (x.shape if per_class else x.shape[:-1]) or not x.shape[-1]:
        wanted = "targets like them" if per_class else "targets (n,)"
        raise ShapeError(f"{name} takes scores (n, classes) and {wanted}", f"shapes {x.shape} and {y.shape}")
    return (x, y.cast(int64)) if x.ndim == 2 else (x.unsqueeze(0), y.cast(int64).unsqueeze(0))


@castable
@same_words
def multilabel_margin_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """sum over right and wrong classes of max(0, 1 - output[right] + output[wrong]), divided by the number of classes.

    Args:
        output: (n, classes) or (classes,), scores.
        target: the same shape: the numbers of the right classes, then -1; what follows the first -1 counts nothing.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> multilabel_margin_loss(jt.array([[0.5, 0.0]]), jt.array([[0, -1]])).item()
        0.25
    """
    x, y = _scores("multilabel_margin_loss", output, target, per_class=True)
    classes = x.shape[1]
    y = checked("multilabel_margin_loss", y, -1, classes)  # looked at before a kernel runs
    place = index(y.shape, 1)
    named = place < min(place.where_not(y >= 0, classes), 1, keepdim=True)  # (n, names): before the first -1
    names = y.keep_where(named)
    numbers = index((*y.shape, classes), 2)
    right = any((numbers == names.unsqueeze(2)).apply(f.LOGICAL_AND, named.unsqueeze(2)), 1)  # (n, classes)
    hinge = clamp(1 - gather(x, 1, names).unsqueeze(2) + x.unsqueeze(1), 0)  # (n, names, classes)
    counts = named.unsqueeze(2).apply(f.LOGICAL_AND, right.apply(f.LOGICAL_NOT).unsqueeze(1))
    each = sum(hinge.keep_where(counts), (1, 2)) / float(classes)
    return reduce_loss(each.reshape(as_var(target).shape[:-1]), reduction)


@castable
@same_words
def multilabel_soft_margin_loss(output: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Var:
    """Binary cross entropy of each class, averaged over the last axis: several classes may be right.

        -mean(target * log(sigmoid(output)) + (1 - target) * log(sigmoid(-output)))

    Args:
        output: (..., classes), scores.
        target: the same shape, from 0 to 1.
        weight: how much each class counts; broadcast to that shape.
        reduction: "mean", "sum" or "none", over all but the classes.

    Raises:
        ShapeError: the shapes differ, or there is no axis of classes.

    Example:
        >>> multilabel_soft_margin_loss(jt.array([[0.0, 0.0]]), jt.array([[1, 0]])).numpy().round(3)
        np.float32(0.693)
    """
    x, y = alike("multilabel_soft_margin_loss", output, target)
    if not x.ndim:
        raise ShapeError("multilabel_soft_margin_loss is averaged over the classes", f"shape {x.shape}", "(n, classes)")
    loss = weighted(-(y * logsigmoid(x) + (1 - y) * logsigmoid(-x)), weight)
    return reduce_loss(mean(loss, -1), reduction)


class HingeEmbeddingLoss(Loss):
    """Small distances where target is 1, large ones where it is -1; see `hinge_embedding_loss`.

    Example:
        >>> HingeEmbeddingLoss(margin=2.0)(jt.array([0.5]), jt.array([-1])).item()
        1.5
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(number(type(self).__name__, "margin", margin))

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return hinge_embedding_loss(output, target, self.margin, self.reduction)


class SoftMarginLoss(Loss):
    """Mean of log(1 + exp(-target * output)).

    Example:
        >>> SoftMarginLoss()(jt.array([0.0]), jt.array([1])).numpy().round(3)
        np.float32(0.693)
    """

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return soft_margin_loss(output, target, self.reduction)


class MarginRankingLoss(Loss):
    """Which of two numbers is larger, by a margin; see `margin_ranking_loss`.

    Example:
        >>> MarginRankingLoss(margin=0.5)(jt.array([1.0]), jt.array([3.0]), jt.array([1])).item()
        2.5
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(number(type(self).__name__, "margin", margin))

    @same_words
    def execute(self, x1: Any, x2: Any, target: Any) -> Var:
        """Two Vars of numbers, and which should be larger -> one number."""
        return margin_ranking_loss(x1, x2, target, self.margin, self.reduction)


class MultiMarginLoss(Loss):
    """The right class is better than each wrong one, by a margin; see `multi_margin_loss`.

    Example:
        >>> MultiMarginLoss(p=2)(jt.array([[0.0, 2.0]]), jt.array([0])).item()
        4.5
    """

    def __init__(self, p: float = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.p = _power("MultiMarginLoss", p)
        self.margin = float(number("MultiMarginLoss", "margin", margin))
        self._keep("weight", weight)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Scores (n, classes) and class numbers (n,) -> one number."""
        return multi_margin_loss(output, target, self.p, self.margin, self.weight, self.reduction)


class MultiLabelMarginLoss(Loss):
    """Each right class is better than each wrong one, by 1; see `multilabel_margin_loss`.

    Example:
        >>> MultiLabelMarginLoss()(jt.array([[0.5, 0.0]]), jt.array([[0, -1]])).item()
        0.25
    """

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Scores (n, classes), and lists of class numbers that end with -1 -> one number."""
        return multilabel_margin_loss(output, target, self.reduction)


class MultiLabelSoftMarginLoss(Loss):
    """Binary cross entropy of each class; see `multilabel_soft_margin_loss`.

    Example:
        >>> MultiLabelSoftMarginLoss()(jt.array([[0.0, 0.0]]), jt.array([[1, 0]])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return multilabel_soft_margin_loss(output, target, self.weight, self.reduction)
