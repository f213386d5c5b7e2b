"""Losses from probability: how surprised is a distribution by what happened?

If a model gives probability q to what happened, the surprise is -log(q). Averaged over how likely things are in truth,
p, it is the cross entropy -sum(p * log(q)); less the entropy of p itself, it is the divergence `kl_div`.
For counts (Poisson) and for measurements (Gauss) the same -log(q) is written out, with the constants left out unless
`full` asks for them.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import plain
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.nn.loss import Loss, alike
from jt_edu.ops.arguments import choice, number, same_words, whole, yes_or_no
from jt_edu.ops.dtype_rules import checked, widened
from jt_edu.ops.reduce import sum
from jt_edu.ops.softmax import cross_entropy_loss, nll_loss, reduce_loss
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["CrossEntropyLoss", "GaussianNLLLoss", "KLDivLoss", "NLLLoss", "PoissonNLLLoss", "gaussian_nll_loss",
           "kl_div", "poisson_nll_loss"]  # fmt: skip


@castable
@same_words
def kl_div(output: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Var:
    """Kullback-Leibler divergence: the extra surprise of predicting a distribution with these log-probabilities.

        target * (log(target) - output)

    Args:
        output: log-probabilities.
        target: probabilities of the same shape; with log_target=True, their logarithms.
        reduction: "batchmean" divides the sum by the length of the first axis, as the definition says; "mean" divides
            by the number of elements; "sum" and "none" as everywhere.

    Raises:
        ShapeError: the shapes differ, or there is no first axis for "batchmean".

    Source: Kullback and Leibler 1951, "On information and sufficiency".

    Example:
        >>> kl_div(jt.array([[-1.0, -1.0]]), jt.array([[1.0, 0.0]]), "batchmean").item()
        1.0
    """
    logs, y = alike("kl_div", output, target)
    in_logs = yes_or_no("kl_div", "log_target", log_target)
    loss = y.apply(f.EXP) * (y - logs) if in_logs else _times_its_log(y) - y * logs
    if choice("kl_div", "reduction", reduction, KLDivLoss.reductions) != "batchmean":
        return reduce_loss(loss, reduction)
    if not loss.ndim:
        raise ShapeError("batchmean divides by the length of the first axis", f"shape {loss.shape}", "reduction='sum'")
    return sum(loss) / float(loss.shape[0])


def _times_its_log(y: Var) -> Var:
    """y * log(y), which is 0 at 0."""
    return y * y.where_not(y == 0, 1).apply(f.LOG)


@castable
@same_words
def poisson_nll_loss(
    output: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Var:
    """-log(probability) of a count under a Poisson distribution of rate exp(output), without the term log(target!).

        exp(output) - target * output                     log_input=True
        output - target * log(output + eps)               log_input=False: the output is the rate itself

    Args:
        output: logarithms of rates, or rates.
        target: counts, the same shape.
        full: add Stirling's approximation of log(target!) where target is above 1.
        eps: keeps the logarithm of a rate of 0 finite.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> poisson_nll_loss(jt.array([0.0]), jt.array([3.0])).item()
        1.0
    """
    x, y = alike("poisson_nll_loss", output, target)
    number("poisson_nll_loss", "eps", eps, 0)
    in_logs = yes_or_no("poisson_nll_loss", "log_input", log_input)
    loss = x.apply(f.EXP) - y * x if in_logs else x - y * (x + eps).apply(f.LOG)
    return reduce_loss(loss + _stirling(y) if yes_or_no("poisson_nll_loss", "full", full) else loss, reduction)


def _stirling(y: Var) -> Var:
    """log(y!), nearly: y * log(y) - y + log(2 * pi * y) / 2 above 1; 0 up to there."""
    small = y <= 1
    safe = y.where_not(small, 1)
    return (safe * safe.apply(f.LOG) - safe + (safe * (2 * math.pi)).apply(f.LOG) * 0.5).where_not(small, 0)


@same_words
def gaussian_nll_loss(
    output: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Var:
    """-log(density) of the target under a normal distribution with mean `output` and variance `var`.

        (log(var) + (output - target)**2 / var) / 2

    Args:
        output, target: two Vars of the same shape.
        var: a number, a Var of that shape, one that fits it by broadcasting, or one without the last axis.
        full: add the constant log(2 * pi) / 2.
        eps: no variance counts as smaller than this; the gradient there is that of a variance of eps.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: the shapes differ, or the variance fits none.
        ArgumentError: eps is not positive, or a variance is negative; that of a Var is found when the loss is computed.

    Source: Nix and Weigend 1994, "Estimating the mean and variance of the target probability distribution".

    Example:
        >>> gaussian_nll_loss(jt.array([1.0]), jt.array([3.0]), jt.array([1.0])).item()
        2.0
    """
    x, y = alike("gaussian_nll_loss", output, target)
    least = number("gaussian_nll_loss", "eps", eps, 0, above=True)
    bare = isinstance(plain(var), (int, float))
    v = as_var(number("gaussian_nll_loss", "var", var, 0), x.dtype) if bare else _variance(x, as_var(var, x.dtype))
    v = v.where_not(v < least, v - v.detach() + least)  # the value of least, the gradient of v
    loss = (v.apply(f.LOG) + (x - y) * (x - y) / v) * 0.5
    if yes_or_no("gaussian_nll_loss", "full", full):
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _variance(x: Var, v: Var) -> Var:
    """A variance for each element of x."""
    if v.dtype.kind != "f":
        raise DtypeError("a variance is a real float", f"dtype {v.dtype}", "var.float()")
    wide = v.unsqueeze(-1) if v.shape != x.shape and v.shape == x.shape[:-1] else v
    pairs = zip(reversed(wide.shape), reversed(x.shape), strict=False)
    if wide.ndim > x.ndim or any(n not in (1, m) for n, m in pairs):
        raise ShapeError("gaussian_nll_loss needs a variance for each output", f"{v.shape} for {x.shape}")
    endless: Any = math.inf
    return checked("gaussian_nll_loss", widened(wide), 0, endless, endless).cast(v.dtype)


def _ignored(name: str, ignore_index: Any) -> int:
    """A class number that counts nothing; for None, Jittor's word, one that no target has."""
    return -100 if ignore_index is None else whole(name, "ignore_index", ignore_index)


class NLLLoss(Loss):
    """-log_probabilities[target], averaged; see `jt.nn.nll_loss`.

    Args:
        weight: (classes,), how much each class counts; the mean divides by the sum of the weights used.
        ignore_index: targets of this value count nothing.
        reduction: "mean", "sum" or "none".

    Example:
        >>> NLLLoss()(jt.array([[-1.0, -2.0]]), jt.array([1])).item()
        2.0
    """

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep("weight", weight)
        self.ignore_index = _ignored("NLLLoss", ignore_index)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Log-probabilities (n, classes, ...) and class numbers (n, ...) -> one number."""
        return nll_loss(output, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(Loss):
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
        self._keep("weight", weight)
        self.ignore_index = _ignored("CrossEntropyLoss", ignore_index)
        self.label_smoothing = float(number("CrossEntropyLoss", "label_smoothing", label_smoothing, 0, 1))

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Scores (n, classes, ...), and class numbers (n, ...) or probabilities like the scores -> one number."""
        return cross_entropy_loss(output, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class KLDivLoss(Loss):
    """Divergence of log-probabilities from a distribution; see `kl_div`.

    Example:
        >>> KLDivLoss("batchmean")(jt.array([[-1.0, -1.0]]), jt.array([[1.0, 0.0]])).item()
        1.0
    """

    reductions = ("mean", "sum", "none", "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = yes_or_no("KLDivLoss", "log_target", log_target)

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return kl_div(output, target, self.reduction, self.log_target)


class PoissonNLLLoss(Loss):
    """-log(probability) of counts; see `poisson_nll_loss`.

    Example:
        >>> PoissonNLLLoss()(jt.array([0.0]), jt.array([3.0])).item()
        1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        name = "PoissonNLLLoss"
        self.log_input, self.full = yes_or_no(name, "log_input", log_input), yes_or_no(name, "full", full)
        self.eps = float(number(name, "eps", eps, 0))

    @same_words
    def execute(self, output: Any, target: Any) -> Var:
        """Two Vars of the same shape -> one number."""
        return poisson_nll_loss(output, target, self.log_input, self.full, self.eps, self.reduction)


class GaussianNLLLoss(Loss):
    """-log(density) of measurements; see `gaussian_nll_loss`.

    Example:
        >>> GaussianNLLLoss()(jt.array([1.0]), jt.array([3.0]), jt.array([1.0])).item()
        2.0
    """

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = yes_or_no("GaussianNLLLoss", "full", full)
        self.eps = float(number("GaussianNLLLoss", "eps", eps, 0, above=True))

    @same_words
    def execute(self, output: Any, target: Any, var: Any) -> Var:
        """Means, measurements and variances -> one number."""
        return gaussian_nll_loss(output, target, var, self.full, self.eps, self.reduction)
