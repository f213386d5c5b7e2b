"""Softmax and cross entropy: from scores to probabilities, and how surprised they are by the truth.

Over the last axis each is one kernel: for each row, a loop for the maximum, one for the sum, one for the answer.
"""

from __future__ import annotations

from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import float64, int64
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.graph import Node
from jt_edu.meta import COUNTERS, in_range
from jt_edu.ops.reduce import finite, max, reduced, sum
from jt_edu.ops.view import axis_of
from jt_edu.var import Var, as_var, method


def _shifted(x: Any, dim: int, name: str) -> tuple[Var, int]:
    """x minus its largest number along the axis: exp of it does not overflow, and the answer is the same."""
    v = as_var(x)
    floats = v if v.dtype.is_float else v.cast(float64)
    axis = axis_of(name, dim, v.ndim)
    if v.shape[axis] == 0:
        return floats, axis
    return floats - finite(max(floats, (axis,), True).detach()), axis


@method
def softmax(x: Any, dim: int = -1) -> Var:
    """exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.

    Example:
        >>> softmax(array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    shifted, axis = _shifted(x, dim, "softmax")
    weights = shifted.apply(f.EXP)
    return weights * (1.0 / reduced(weights, "sum", "add", (axis,), True))  # one division a row


@method
def log_softmax(x: Any, dim: int = -1) -> Var:
    """log(softmax(x)), without the loss of digits that taking the logarithm afterwards would cost.

    Example:
        >>> log_softmax(array([0.0])).numpy()
        array([0.], dtype=float32)
    """
    shifted, axis = _shifted(x, dim, "log_softmax")
    return shifted - reduced(shifted.apply(f.EXP), "sum", "add", (axis,), True).apply(f.LOG)


def nll_loss(
    log_probabilities: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Var:
    """Negative log likelihood: -log_probabilities[target], weighted by class, averaged over what is not ignored.

    Args:
        log_probabilities: (n, classes) or (n, classes, ...).
        target: (n) or (n, ...), class numbers.
        weight: (classes,); the mean divides by the sum of the weights used.
        ignore_index: targets of this value count nothing.
        reduction: "mean", "sum" or "none".

    Example:
        >>> nll_loss(array([[-1.0, -2.0]]), array([1])).item()
        2.0
    """
    scores, t = as_var(log_probabilities), as_var(target)
    _check(scores, t, reduction)
    mine = is_class(t, scores.shape, ignore_index)
    picked = sum(scores.zeros_like().where_not(mine, scores), 1)
    if weight is None:
        share = (t != ignore_index).cast(scores.dtype)
    else:
        weights = as_var(weight).cast(scores.dtype).reshape((1, -1) + (1,) * (scores.ndim - 2))
        share = sum(scores.zeros_like().where_not(mine, weights), 1)
    loss = -picked * share
    if reduction == "none":
        return loss
    return sum(loss) if reduction == "sum" else sum(loss) / sum(share)


def is_class(target: Var, shape: tuple[int, ...], ignore_index: int) -> Var:
    """For scores of `shape`, whether each belongs to the target's class: compared with the counter, not looked up.

    Class numbers outside of the scores raise when the kernel runs, unless they are `ignore_index`.
    """
    op = in_range(target.shape, 0, shape[1], ignore_index)
    checked = Var._of(Node(op, (target.node,), target.shape, target.dtype))
    classes = Var._of(Node(COUNTERS[1], (), shape, int64))
    return classes == checked.unsqueeze(1)


def _check(scores: Var, target: Var, reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError("a loss is reduced by 'mean', 'sum' or 'none'", repr(reduction))
    if target.dtype.kind not in "iu":
        raise DtypeError("targets are class numbers", f"dtype {target.dtype}", "target.int64()")
    if scores.ndim < 2 or target.shape != scores.shape[:1] + scores.shape[2:]:
        raise ShapeError(
            "a loss takes scores (n, classes, ...) and targets (n, ...)", f"shapes {scores.shape} and {target.shape}"
        )


def cross_entropy_loss(
    output: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Var:  # fmt: skip
    """-log(softmax(output)[target]), averaged: how surprised the scores are by the true classes.

    Args:
        output: (n, classes) or (n, classes, ...), scores.
        target, weight, ignore_index, reduction: as in `nll_loss`.
        label_smoothing: give this share of each target evenly to all classes.

    Example:
        >>> cross_entropy_loss(array([[0.0, 0.0]]), array([1])).item() == 0.6931471824645996
        True
    """
    scores, t = as_var(output), as_var(target)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError("label_smoothing is a share from 0 to 1", repr(label_smoothing), "0.1")
    logs = log_softmax(scores, 1) if scores.ndim > 1 else scores
    loss = nll_loss(logs, t, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    used = (t != ignore_index).cast(logs.dtype)
    shares = used.unsqueeze(1).broadcast_to(logs.shape)
    total = used
    if weight is not None:
        weights = as_var(weight).cast(logs.dtype).reshape((1, -1) + (1,) * (logs.ndim - 2))
        shares = shares * weights
        total = sum(logs.zeros_like().where_not(is_class(t, logs.shape, ignore_index), weights), 1)
    even = sum(-logs * shares, 1) / float(logs.shape[1])
    even = even if reduction == "none" else sum(even) / (sum(total) if reduction == "mean" else 1.0)
    return loss * (1 - label_smoothing) + even * label_smoothing
