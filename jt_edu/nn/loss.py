"""Losses: one number that says how wrong the network is. Each is a function, and a module that calls it."""

from __future__ import annotations

import math
from typing import Any

from jt_edu import functions as f
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.nn.module import Module
from jt_edu.ops.elementwise import softplus
from jt_edu.ops.reduce import mean, sum
from jt_edu.ops.softmax import cross_entropy_loss
from jt_edu.var import Var, as_var

FLOOR = math.exp(-100)  # logarithms are taken of no less than this


def mse_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """(output - target)**2, averaged (reduction="mean"), added up ("sum"), or one by one ("none").

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> mse_loss(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        2.0
    """
    away = _difference("mse_loss", output, target)
    return _reduced(away * away, reduction)


def l1_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """|output - target|, averaged (reduction="mean"), added up ("sum"), or one by one ("none").

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> l1_loss(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        1.0
    """
    return _reduced(_difference("l1_loss", output, target).apply(f.ABSOLUTE), reduction)


def bce_loss(output: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Var:
    """Binary cross entropy of probabilities: -(target * log(output) + (1 - target) * log(1 - output)).

    Logarithms are cut at -100, so that a certain but wrong answer costs 100, not infinity; there the gradient is 0.

    Args:
        output: probabilities, from 0 to 1.
        target: the same shape, from 0 to 1.
        weight: how much each element counts; broadcast to that shape.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> bce_loss(jt.array([0.5, 0.0]), jt.array([1.0, 1.0]), reduction="none").numpy().round(3)
        array([  0.693, 100.   ], dtype=float32)
    """
    p, y = _alike("bce_loss", output, target)
    loss = -(y * _log(p) + (1 - y) * _log(1 - p))
    return _reduced(_weighted(loss, weight), reduction)


def _log(p: Var) -> Var:
    """log(p), no less than -100; the place where it is cut is never divided by."""
    low = p <= FLOOR
    return p.where_not(low, 1).apply(f.LOG).where_not(low, -100)


def binary_cross_entropy_with_logits(
    output: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Var:
    """Binary cross entropy of scores: bce_loss(sigmoid(output), target), without loss of digits for large scores.

        (1 - target) * x + (1 + (pos_weight - 1) * target) * log(1 + exp(-x))

    Args:
        output: scores of any size.
        target: the same shape, from 0 to 1.
        weight: how much each element counts; broadcast to that shape.
        pos_weight: how much the positive ones count more; broadcast to that shape.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> binary_cross_entropy_with_logits(jt.array([0.0]), jt.array([1.0])).numpy().round(3)
        np.float32(0.693)
    """
    x, y = _alike("binary_cross_entropy_with_logits", output, target)
    rise = softplus(-x) if pos_weight is None else ((as_var(pos_weight, x.dtype) - 1) * y + 1) * softplus(-x)
    return _reduced(_weighted((1 - y) * x + rise, weight), reduction)


binary_cross_entropy = bce_loss


def _alike(name: str, output: Any, target: Any) -> tuple[Var, Var]:
    x, y = as_var(output), as_var(target)
    if x.shape != y.shape:
        raise ShapeError(
            f"{name} compares outputs and targets of one shape", f"{x.shape} and {y.shape}", "target.reshape(...)"
        )
    if x.dtype.kind != "f":
        raise DtypeError(f"{name} compares real floats", f"an output of dtype {x.dtype}", "output.float()")
    return x, y.cast(x.dtype) if y.dtype.kind in "biu" else y


def _difference(name: str, output: Any, target: Any) -> Var:
    x, y = _alike(name, output, target)
    return x - y


def _weighted(loss: Var, weight: Any) -> Var:
    if weight is None:
        return loss
    out = loss * as_var(weight, loss.dtype)
    if out.shape != loss.shape:
        raise ShapeError("weights are broadcast to the shape of the loss", f"{as_var(weight).shape} for {loss.shape}")
    return out


def _check_reduction(reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError("a loss is reduced by 'mean', 'sum' or 'none'", repr(reduction))
    return reduction


def _reduced(loss: Var, reduction: str) -> Var:
    how = _check_reduction(reduction)
    return loss if how == "none" else mean(loss) if how == "mean" else sum(loss)


class _Loss(Module):
    """What all losses share: how they are reduced."""

    weight: Var | None
    pos_weight: Var | None

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = _check_reduction(reduction)

    def extra_repr(self) -> str:
        """How it is reduced."""
        return f"reduction={self.reduction!r}"

    def _keep(self, name: str, value: Any) -> None:
        """Weights of a loss are saved, but not trained."""
        if value is None:
            setattr(self, name, None)
        else:
            self.register_buffer(name, as_var(value).detach())


class MSELoss(_Loss):
    """Mean of (output - target)**2.

    Example:
        >>> MSELoss()(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        2.0
    """

    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of one shape -> one number."""
        return mse_loss(output, target, self.reduction)


class L1Loss(_Loss):
    """Mean of |output - target|.

    Example:
        >>> L1Loss()(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        1.0
    """

    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of one shape -> one number."""
        return l1_loss(output, target, self.reduction)


class BCELoss(_Loss):
    """Binary cross entropy of probabilities; see `bce_loss`.

    Example:
        >>> BCELoss()(jt.array([0.5]), jt.array([1.0])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)

    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of one shape -> one number."""
        return bce_loss(output, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of scores; see `binary_cross_entropy_with_logits`.

    Example:
        >>> BCEWithLogitsLoss()(jt.array([0.0]), jt.array([1.0])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(self, weight: Any = None, pos_weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)
        self._keep("pos_weight", pos_weight)

    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of one shape -> one number."""
        return binary_cross_entropy_with_logits(output, target, self.weight, self.pos_weight, self.reduction)


class CrossEntropyLoss(_Loss):
    """-log(softmax(output)[target]), averaged: how surprised the scores are by the true classes.

    Args:
        weight: (classes,), how much each class counts; the mean divides by the sum of the weights used.
        ignore_index: targets of this value count nothing.
        reduction: "mean", "sum" or "none".
        label_smoothing: give this share of each target evenly to all classes.

    Example:
        >>> CrossEntropyLoss()(jt.array([[0.0, 0.0]]), jt.array([1])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError("label_smoothing is a share from 0 to 1", repr(label_smoothing))
        self._keep("weight", weight)
        self.ignore_index, self.label_smoothing = ignore_index, float(label_smoothing)

    def execute(self, output: Any, target: Any) -> Var:
        """Scores (n, classes, ...) and class numbers (n, ...) -> one number."""
        return cross_entropy_loss(output, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)
