"""Softmax and cross entropy: from scores to probabilities, and how surprised they are by the truth.

Over the last axis each is one kernel: for each row, a loop for the maximum, one for the sum, one for the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.dtypes import float_of
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ops.arguments import axes_of, axis_of, choice, number, same_words, whole, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import as_floats, check_order, checked, widened
from jt_edu.ops.reduce import count_of, max, mean, reduce_op, reduced, sum
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["cross_entropy", "cross_entropy_loss", "log_softmax", "logsumexp", "nll_loss", "softmax", "softmin"]
REDUCTIONS = ("mean", "sum", "none")  # the three ways to make one number of many
ABOVE = Elementwise(  # x - y, and the third input, 0, where both are the same infinity: such numbers share the gradient
    "above",
    "select({0} == {1}, {2}, {0} - {1})",
    "number",
    (lambda o, d, x, y, zero: d, lambda o, d, x, y, zero: -d),
    2,
)


@var_function(castable, template)
def logsumexp(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """log(sum(exp(x))), shifted by the largest (real part) so that nothing overflows; of nothing it is -inf.

    Example:
        >>> logsumexp(array([1000.0, 1000.0])).numpy().round(3)
        np.float32(1000.693)
    """
    keep, v = yes_or_no("logsumexp", "keepdim", keepdim), as_var(x)
    floats = v.cast(float_of(v.dtype))
    if count_of(v, dim, "logsumexp") == 0:
        return reduced(floats, "sum", "add", dim, keep).apply(f.LOG)
    wide, axes = widened(floats), axes_of("logsumexp", dim, v.ndim)
    top = max(wide.apply(f.REAL) if wide.dtype.kind == "c" else wide, dim, True).detach()
    total = reduced(wide.apply(ABOVE, top, 0).apply(f.EXP), "sum", "add", dim, True).apply(f.LOG) + top
    total = total.cast(floats.dtype)
    return total if keep else total.reshape(reduce_op("sum", "add", v.shape, axes, keep).shape)


@var_function(castable, template)
def softmax(x: Any, dim: int = -1, dtype: Any = None) -> Var:
    """exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.

    Args:
        dim: the axis.
        dtype: what x is cast to before; by default floats keep theirs, and whole numbers become float64.

    Example:
        >>> softmax(array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    shifted, axes = _shifted(x, dim, "softmax", dtype)
    weights = widened(shifted).apply(f.EXP)
    answer = weights * (1.0 / reduced(weights, "sum", "add", axes, True))  # one division a row
    return answer.cast(shifted.dtype)


def _shifted(x: Any, dim: int, name: str, dtype: Any) -> tuple[Var, tuple[int, ...]]:
    """x minus its largest number along the axis: exp of it does not overflow, and the answer is the same."""
    v = as_var(x)
    floats = as_floats(v) if dtype is None else v.cast(dtype)
    check_order(name, floats)
    if not floats.dtype.is_float:
        raise DtypeError(f"{name} returns floats", f"dtype {floats.dtype}", "dtype='float32'")
    axes = (axis_of(name, dim, v.ndim, lone=True),)[: v.ndim]
    return (floats - max(floats, axes, True).detach() if v.size else floats), axes


@var_function(castable)
def softmin(x: Any, dim: int = -1, dtype: Any = None) -> Var:
    """softmax(-x): the smallest number gets the largest share; the arguments are those of `softmax`.

    Example:
        >>> softmin(array([0.0, 1000.0])).numpy()
        array([1., 0.], dtype=float32)
    """
    return softmax(-as_floats(x), dim, dtype)


@var_function(castable, template)
def log_softmax(x: Any, dim: int = -1, dtype: Any = None) -> Var:
    """log(softmax(x)), without the loss of digits that taking the logarithm afterwards would cost.

    Example:
        >>> log_softmax(array([0.0])).numpy()
        array([0.], dtype=float32)
    """
    shifted, axes = _shifted(x, dim, "log_softmax", dtype)
    wide = widened(shifted)
    return (wide - reduced(wide.apply(f.EXP), "sum", "add", axes, True).apply(f.LOG)).cast(shifted.dtype)


@castable
@template
@same_words
def nll_loss(
    log_probabilities: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Var:
    """Negative log likelihood: -log_probabilities[target], weighted by class, averaged without ignored targets.

    Args:
        log_probabilities: (n, classes) or (n, classes, ...); (classes,) is a stack of one.
        target: (n) or (n, ...), class numbers; () for a single one.
        weight: (classes,); the mean divides by the sum of the weights used.
        ignore_index: targets of this value count nothing.
        reduction: "mean", "sum" or "none".

    Example:
        >>> nll_loss(array([[-1.0, -2.0]]), array([1])).item()
        2.0
    """
    scores, t = as_var(log_probabilities), as_var(target)
    ignore_index = whole("a loss", "ignore_index", ignore_index)
    _check(scores, t, reduction)
    if scores.ndim == 1:
        alone = nll_loss(scores.unsqueeze(0), t.unsqueeze(0), weight, ignore_index, reduction)
        return alone.reshape(()) if reduction == "none" else alone
    mine = is_class(t, scores.shape, ignore_index)
    picked = sum(scores.zeros_like().where_not(mine, scores), 1)
    counts = t != ignore_index
    share, loss = counts.cast(scores.dtype), -picked
    if weight is not None:
        share = share * sum(scores.zeros_like().where_not(mine, _by_class(weight, scores)), 1)
        loss = loss * share
    chosen = loss.zeros_like().where_not(counts, loss)  # not multiplied: its gradient is 0 where 0 / 0 is the mean
    return reduce_loss(chosen, reduction, lambda: sum(widened(share)))


def reduce_loss(loss: Var, reduction: str, count: Callable[[], Any] | None = None) -> Var:
    """The mean or the sum of losses, or the losses unchanged; the mean may divide by another `count` than theirs.

    Halves are added up as float32: 65,520 ones are infinite.
    """
    how = choice("a loss", "reduction", reduction, REDUCTIONS)
    if how == "none":
        return loss
    if how == "mean" and count is None:
        return mean(loss)
    total = sum(widened(loss))
    return (total / count() if how == "mean" and count else total).cast(loss.dtype)


def is_class(target: Var, shape: tuple[int, ...], ignore_index: int) -> Var:
    """For scores of `shape`, whether each belongs to the target's class: compared with the counter, not looked up.

    Class numbers outside the scores raise when the kernel runs, unless they are `ignore_index`.
    """
    return index(shape, 1) == checked("a loss", target, 0, shape[1], ignore_index).unsqueeze(1)


def _check(scores: Var, target: Var, reduction: str) -> None:
    choice("a loss", "reduction", reduction, REDUCTIONS)
    if target.dtype.kind not in "iu":
        swapped = scores.dtype.kind in "iu" and scores.ndim < target.ndim
        way = "the scores first, and then the targets" if swapped else "target.int64()"
        raise DtypeError("targets are class numbers", f"dtype {target.dtype}", way)
    if scores.ndim < 1 or target.shape != scores.shape[:1] * (scores.ndim > 1) + scores.shape[2:]:
        raise ShapeError(
            "a loss takes scores (n, classes, ...) and targets (n, ...)", f"shapes {scores.shape} and {target.shape}"
        )


def _by_class(weight: Any, scores: Var) -> Var:
    """Weights of the classes, beside scores (n, classes, ...)."""
    weights = as_var(weight)
    if weights.shape != scores.shape[1:2]:
        raise ShapeError("a loss takes one weight for each class", f"{weights.shape} for scores {scores.shape}")
    return weights.cast(scores.dtype).reshape((1, -1) + (1,) * (scores.ndim - 2))


@castable
@template
@same_words
def cross_entropy_loss(
    output: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Var:  # fmt: skip
    """-log(softmax(output)[target]), averaged: how surprised the scores are by the true classes.

        -sum over classes of target * log(softmax(output))      where the target is a distribution

    Args:
        output: (n, classes) or (n, classes, ...), scores; (classes,) is a stack of one.
        target: class numbers as in `nll_loss`; or floats of the shape of the scores, a probability for each class.
        weight, ignore_index, reduction: as in `nll_loss`; with probabilities nothing is ignored, and the mean divides
            by n (and the axes behind the classes), whatever the weights.
        label_smoothing: give this share of each target evenly to all classes.

    Example:
        >>> cross_entropy_loss(array([[0.0, 0.0]]), array([1])).item() == 0.6931471824645996
        True
        >>> cross_entropy_loss(array([[0.0, 0.0]]), array([[0.5, 0.5]])).item() == 0.6931471824645996
        True
    """
    scores, t = as_var(output), as_var(target)
    label_smoothing = number("cross_entropy_loss", "label_smoothing", label_smoothing, 0, 1)
    likely = t.dtype.kind == "f" and t.shape == scores.shape and scores.ndim > 0
    if not likely:
        _check(scores, t, reduction)
    if scores.ndim == 1:
        more = (weight, ignore_index, reduction, label_smoothing)
        alone = cross_entropy_loss(scores.unsqueeze(0), t.unsqueeze(0), *more)
        return alone.reshape(()) if reduction == "none" else alone
    logs = log_softmax(scores, 1)
    if likely:
        return _against(logs, t * (1 - label_smoothing) + label_smoothing / (scores.shape[1] or 1), weight, reduction)
    loss = nll_loss(logs, t, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    return loss * (1 - label_smoothing) + _even(logs, t, weight, ignore_index, reduction) * label_smoothing


cross_entropy = cross_entropy_loss  # PyTorch's name


def _against(logs: Var, probabilities: Var, weight: Any, reduction: str) -> Var:
    """Cross entropy with a distribution for each place."""
    shares = probabilities if weight is None else probabilities * _by_class(weight, logs)
    loss = -sum(logs * shares, 1)
    return reduce_loss(loss, reduction)


def _even(logs: Var, t: Var, weight: Any, ignore_index: int, reduction: str) -> Var:
    """Cross entropy with all classes alike: what smoothed labels ask for."""
    total = (t != ignore_index).cast(logs.dtype)
    shares: Any = 1.0
    if weight is not None:
        shares = _by_class(weight, logs)
        mine = is_class(t, logs.shape, ignore_index)
        total = total * sum(logs.zeros_like().where_not(mine, shares), 1)
    even = (-sum(widened(logs * shares), 1).where_not(t == ignore_index, 0) / float(logs.shape[1])).cast(logs.dtype)
    return reduce_loss(even, reduction, lambda: sum(widened(total)))
