"""Losses: one number that says how wrong the network is. Each is a function, and a module that calls it.

    loss.py                 how far is a number from the number it should be?
    likelihood_losses.py    how surprised is a distribution by what happened?
    margin_losses.py        is the right answer better than the wrong ones, and by enough?
    distance_losses.py      do two vectors point the same way, or lie side by side?
    adaptive_softmax.py     how surprised, where there are very many words and most are rare?
    ctc.py                  does a sequence say these words, whatever the moments at which it says them?

What they share stands here, `alike` and `weighted`, and in ops/softmax.py: `reduce_loss` makes one number of many.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.activation import logsigmoid
from jt_edu.ops.arguments import choice, number, same_words
from jt_edu.ops.dtype_rules import checked, widened
from jt_edu.ops.softmax import REDUCTIONS, reduce_loss
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["BCELoss", "BCEWithLogitsLoss", "HuberLoss", "L1Loss", "MSELoss", "SmoothL1Loss", "bce_loss",
           "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "l1_loss", "mse_loss",
           "smooth_l1_loss"]  # fmt: skip
FLOOR = math.exp(-100)  # logarithms are taken of no less than this
TINY = 1e-12  # and have the slope of this below it


@castable
@template
@same_words
def mse_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """(output - target)**2, averaged (reduction="mean"), added up ("sum"), or one by one ("none").

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> mse_loss(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        2.0
    """
    away = _difference("mse_loss", output, target)
    return reduce_loss(away * away, reduction)


@castable
@same_words
def l1_loss(output: Any, target: Any, reduction: str = "mean") -> Var:
    """|output - target|, averaged (reduction="mean"), added up ("sum"), or one by one ("none").

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> l1_loss(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        1.0
    """
    return reduce_loss(_difference("l1_loss", output, target).apply(f.ABSOLUTE), reduction)


@castable
@same_words
def smooth_l1_loss(output: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Var:
    """|d| - beta / 2 for d = output - target, but d**2 / (2 * beta) within beta of the target: no corner there.

    Args:
        output, target: two Vars of the same shape.
        reduction: "mean", "sum" or "none".
        beta: where the square begins; 0 makes it `l1_loss`.

    Raises:
        ShapeError: the shapes differ.
        ArgumentError: beta is negative.

    Source: Girshick 2015 (arXiv:1504.08083).

    Example:
        >>> smooth_l1_loss(jt.array([0.5, 3.0]), jt.array([0.0, 0.0]), "none").numpy()
        array([0.125, 2.5  ], dtype=float32)
    """
    corner = number("smooth_l1_loss", "beta", beta, 0)
    far = _difference("smooth_l1_loss", output, target).apply(f.ABSOLUTE)
    if corner == 0:
        return reduce_loss(far, reduction)
    near = far.where_not(far > corner, corner)  # cut off first: the square of what is far may overflow
    return reduce_loss((far - corner / 2).where_not(far < corner, near * near * (0.5 / corner)), reduction)


@castable
@same_words
def huber_loss(output: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Var:
    """d**2 / 2 for d = output - target, but delta * (|d| - delta / 2) further away, so that outliers pull no harder.

    Args:
        output, target: two Vars of the same shape.
        reduction: "mean", "sum" or "none".
        delta: where the straight line begins.

    Raises:
        ShapeError: the shapes differ.
        ArgumentError: delta is not positive.

    Source: Huber 1964, "Robust estimation of a location parameter".

    Example:
        >>> huber_loss(jt.array([1.0, 3.0]), jt.array([0.0, 0.0]), "none", delta=2).numpy()
        array([0.5, 4. ], dtype=float32)
    """
    corner = number("huber_loss", "delta", delta, 0, above=True)
    far = _difference("huber_loss", output, target).apply(f.ABSOLUTE)
    near = far.where_not(far > corner, corner)
    return reduce_loss(((far - corner / 2) * corner).where_not(far <= corner, near * near * 0.5), reduction)


@castable(name="binary_cross_entropy")
@same_words
def bce_loss(output: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Var:
    """Binary cross entropy of probabilities: -(target * log(output) + (1 - target) * log(1 - output)).

    Logarithms are cut at -100, so that a certain but wrong answer costs 100, not infinity; and their slope is at most
    1e12, so that it is told to go back, but not infinitely far.

    Args:
        output: probabilities, from 0 to 1; those of `sigmoid`, and not scores.
        target: the same shape, from 0 to 1.
        weight: how much each element counts; broadcast to that shape.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.
        ArgumentError: an output is below 0 or above 1; it is found when the loss is computed.

    Example:
        >>> bce_loss(jt.array([0.5, 0.0]), jt.array([1.0, 1.0]), reduction="none").numpy().round(3)
        array([  0.693, 100.   ], dtype=float32)
    """
    x, y = alike("bce_loss", output, target)
    p = checked("bce_loss", widened(x), 0, 1, 1)
    loss = -(y * _log(p) + (1 - y) * _log(1 - p))
    return reduce_loss(weighted(loss.cast(x.dtype), weight), reduction)


def _log(p: Var) -> Var:
    """log(p), no less than -100; below TINY with the slope that it has there, above with its own."""
    low = p <= FLOOR
    value = p.where_not(low, 1).apply(f.LOG).where_not(low, -100)
    return value.where_not(p < TINY, value.detach() + (p - p.detach()) * (1 / TINY))


@castable
@template
@same_words
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
    x, y = alike("binary_cross_entropy_with_logits", output, target)
    low = -logsigmoid(x)  # log(1 + exp(-x))
    rise = low if pos_weight is None else ((as_var(pos_weight, x.dtype) - 1) * y + 1) * low
    return reduce_loss(weighted((1 - y) * x + rise, weight), reduction)


binary_cross_entropy = bce_loss


def alike(name: str, output: Any, target: Any) -> tuple[Var, Var]:
    """Output and target as floats of the same shape."""
    x, y = as_var(output), as_var(target)
    if x.shape != y.shape:
        raise ShapeError(
            f"{name} compares outputs and targets of the same shape", f"{x.shape} and {y.shape}", "target.reshape(...)"
        )
    if x.dtype.kind != "f" or y.dtype.kind == "c":
        found = f"an output of dtype {x.dtype}, a target of dtype {y.dtype}"
        raise DtypeError(f"{name} compares real floats", found, "output.float()")
    return x, y.cast(x.dtype) if y.dtype.kind in "biu" else y


def _difference(name: str, output: Any, target: Any) -> Var:
    x, y = alike(name, output, target)
    return x - y


def weighted(loss: Var, weight: Any) -> Var:
    """Each element times its weight, which is broadcast."""
    if weight is None:
        return loss
    out = loss * as_var(weight, loss.dtype)
    if out.shape != loss.shape:
        raise ShapeError("weights are broadcast to the shape of the loss", f"{as_var(weight).shape} for {loss.shape}")
    return out


class Loss(Module):
    """What all losses share: how they are reduced."""

    reductions: tuple[str, ...] = REDUCTIONS
    weight: Var | None
    pos_weight: Var | None

    @in_its_name
    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = choice(type(self).__name__, "reduction", reduction, self.reductions)

    def extra_repr(self) -> str:
        """How it is reduced."""
        return f"reduction={self.reduction!r}"

    def _keep(self, name: str, value: Any) -> None:
        """Weights of a loss are saved, but not trained."""
        if value is None:
            setattr(self, name, None)
        elif isinstance(value, str):
            raise ArgumentError(f"{type(self).__name__} takes {name} as numbers", short(value), "reduction=...")
        else:
            self.register_buffer(name, as_var(value).detach())


class MSELoss(Loss):
    """Mean of (output - target)**2.

    Example:
        >>> MSELoss()(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        2.0
    """

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return mse_loss(output, target, self.reduction)


class L1Loss(Loss):
    """Mean of |output - target|.

    Example:
        >>> L1Loss()(jt.array([1.0, 2.0]), jt.array([1.0, 4.0])).item()
        1.0
    """

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return l1_loss(output, target, self.reduction)


class BCELoss(Loss):
    """Binary cross entropy of probabilities; see `bce_loss`.

    Example:
        >>> BCELoss()(jt.array([0.5]), jt.array([1.0])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return bce_loss(output, target, self.weight, self.reduction)


class BCEWithLogitsLoss(Loss):
    """Binary cross entropy of scores; see `binary_cross_entropy_with_logits`.

    Example:
        >>> BCEWithLogitsLoss()(jt.array([0.0]), jt.array([1.0])).numpy().round(3)
        np.float32(0.693)
    """

    def __init__(self, weight: Any = None, pos_weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)
        self._keep("pos_weight", pos_weight)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return binary_cross_entropy_with_logits(output, target, self.weight, self.pos_weight, self.reduction)


class SmoothL1Loss(Loss):
    """Mean of |output - target|, rounded within beta; see `smooth_l1_loss`.

    Example:
        >>> SmoothL1Loss(beta=2.0)(jt.array([1.0]), jt.array([0.0])).item()
        0.25
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = float(number("SmoothL1Loss", "beta", beta, 0))

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return smooth_l1_loss(output, target, self.reduction, self.beta)


class HuberLoss(Loss):
    """Mean of (output - target)**2 / 2, straight beyond delta; see `huber_loss`.

    Example:
        >>> HuberLoss(delta=1.0)(jt.array([3.0]), jt.array([0.0])).item()
        2.5
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = float(number("HuberLoss", "delta", delta, 0, above=True))

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return huber_loss(output, target, self.reduction, self.delta)
