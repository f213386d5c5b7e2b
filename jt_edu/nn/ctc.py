"""CTC: does a sequence say these words, whatever the moments at which it says them?

A network that listens answers, at each moment, a distribution over letters and a blank. Many ways to read it spell the
same word: letters may be held, and blanks may stand between them.

    a a - b b      - a - - b      a - b - -      all say "ab"

CTC adds up the probabilities of all those ways. Let the places be the letters with blanks around them, `- a - b -`;
alpha[t, s] is the logarithm of the probability of all ways that stand at place s at moment t. A way stays where it is,
moves on by one, or skips a blank between two letters that differ:

    alpha[t, s] = log(e**alpha[t-1, s] + e**alpha[t-1, s-1] + e**alpha[t-1, s-2]) + log_probs[t, letter of s]

The sum stops at the last letter or at the blank behind it. `ctc_forward_backward.py` adds up the ways, and its gradient
is, by the chain rule, the probability of standing at each place at each moment.

Source: Graves et al. 2006, "Connectionist temporal classification".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.index_expr import load
from jt_edu.nn.ctc_forward_backward import NEVER, standing
from jt_edu.nn.loss import Loss
from jt_edu.ops.arguments import choice, whole, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import checked, widened
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.reduce import sum
from jt_edu.ops.softmax import REDUCTIONS, reduce_loss
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var


@castable
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Var:  # fmt: skip
    """-log(probability that a sequence spells its target), over all ways to spell it.

    Args:
        log_probs: (t, n, classes), or (t, classes) for one sequence: logarithms, as `log_softmax` answers them.
        targets: (n, s) class numbers, whatever stands behind the length of each; or all of them behind each other, in
            one axis; (s,) for one sequence. No class is the blank.
        input_lengths, target_lengths: (n,) how many moments and letters of each count; a number for one sequence.
        blank: the class that says nothing.
        reduction: "mean" divides each loss by the length of its target, then averages; "sum" or "none".
        zero_infinity: a target too long for its sequence costs 0, not infinity, and has gradient 0.

    Raises:
        ShapeError: shapes or lengths do not fit each other.
        ArgumentError: blank is none of the classes.

    Source: Graves et al. 2006, "Connectionist temporal classification".

    Example:
        >>> even = jt.log_softmax(jt.zeros(2, 1, 2), 2)  # two moments; blank and "a" are equally likely
        >>> ctc_loss(even, jt.array([[1]]), [2], [1]).numpy().round(3)  # -log(3 / 4): all but "no letter"
        np.float32(0.288)
    """
    choice("ctc_loss", "reduction", reduction, REDUCTIONS)
    scores, letters, moments, counts = _arguments(log_probs, targets, input_lengths, target_lengths)
    blank = whole("ctc_loss", "blank", blank, 0, scores.shape[2] - 1)
    total = _surprise(widened(scores), letters, moments, counts, blank)
    impossible, free = total > -NEVER / 2, yes_or_no("ctc_loss", "zero_infinity", zero_infinity)
    total = total.where_not(impossible, 0) if free else total * total.ones_like().where_not(impossible, math.inf)
    each = total / clamp(counts, 1).cast(total.dtype) if reduction == "mean" else total
    single = as_var(log_probs).ndim == 2
    return reduce_loss(each.reshape(()) if single else each, reduction).cast(scores.dtype)


@template
def _surprise(scores: Var, letters: Var, moments: Var, counts: Var, blank: int) -> Var:
    """The loss of each sequence, about 1e30 where there is no way at all."""
    t, n, classes = scores.shape
    places = _places(letters, counts, blank, classes)  # (n, 2s + 1)
    width = places.shape[1]
    said = scores.reindex((t, n, width), lambda i, j, k: (i, j, load(0, (j, k))), extras=[places])
    before = places.reindex((n, width), lambda j, k: (j, k - 2), fill=blank)
    hops = said.zeros_like()[0].where_not((places == blank) | (places == before), NEVER)
    alpha = standing(said, hops, moments, counts)
    last = counts.unsqueeze(1) * 2 - index((n, 2), 1)  # the blank behind the last letter, and this letter
    final = [clamp(moments - 1, 0), clamp(last, 0)]
    ends = alpha.reindex((n, 2), lambda j, k: (load(0, (j,)), j, load(1, (j, k))), extras=final)
    ends = ends.where_not(last < 0, NEVER).apply(f.MAXIMUM, as_var(NEVER, alpha.dtype))
    top = ends.max(1, keepdim=True).detach()
    total = -(sum((ends - top).apply(f.EXP), 1).apply(f.LOG) + top.squeeze(1))
    return total.where_not(moments == 0, (counts > 0).cast(total.dtype) * -NEVER)  # no moment spells no letter


def _places(letters: Var, counts: Var, blank: int, classes: int) -> Var:
    """Letters with blanks around them: - a - b -; behind the length of each, only blanks."""
    n, s = letters.shape
    real = letters.where_not(index((n, s), 1) >= counts.unsqueeze(1), blank)
    spread = checked("ctc_loss targets", real, 0, classes, blank).reindex(
        (n, 2 * s + 1), lambda j, k: (j, k // 2), fill=blank
    )
    return spread.where_not(index(spread.shape, 1) % 2 == 0, blank)


def _arguments(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> tuple[Var, Var, Var, Var]:
    """log_probs (t, n, classes), targets (n, s), and both lengths (n,)."""
    scores, letters = as_var(log_probs), as_var(targets)
    if scores.dtype.kind != "f" or letters.dtype.kind not in "iu":
        found = f"dtypes {scores.dtype} and {letters.dtype}"
        raise DtypeError("ctc_loss takes log-probabilities, and class numbers", found, "targets.int64()")
    if scores.ndim == 2:
        scores, letters = scores.unsqueeze(1), letters.reshape(1, -1)
    if scores.ndim != 3 or letters.ndim not in (1, 2) or not scores.shape[0]:
        found = f"shapes {scores.shape} and {letters.shape}"
        raise ShapeError("ctc_loss takes log_probs (t, n, classes) and targets (n, s)", found)
    n = scores.shape[1]
    moments, counts = _lengths("input", input_lengths, n), _lengths("target", target_lengths, n)
    if letters.ndim == 1:
        letters = _spread(letters, counts)
    if letters.shape[0] != n:
        raise ShapeError(f"ctc_loss takes a target for each of {n} sequences", f"targets of shape {letters.shape}")
    moments = checked("ctc_loss input_lengths", moments, 0, scores.shape[0] + 1)
    counts = checked("ctc_loss target_lengths", counts, 0, letters.shape[1] + 1)
    return scores, letters.cast(int64), moments, counts


def _spread(letters: Var, counts: Var) -> Var:
    """Targets behind each other, (all letters,), one below the other: (n, s). The lengths are needed at once."""
    lengths = counts.numpy()
    if lengths.min(initial=0) < 0 or lengths.sum() != letters.size:
        asked = "targets in one axis are as many letters as target_lengths add up to"
        raise ShapeError(asked, f"{letters.size} letters, lengths {lengths.tolist()}")
    starts = np.cumsum(lengths) - lengths
    places = starts[:, None] + np.arange(lengths.max(initial=0))
    return letters[as_var(np.minimum(places, max(letters.size - 1, 0)))]


def _lengths(name: str, lengths: Any, n: int) -> Var:
    found = as_var(lengths)
    if found.dtype.kind not in "iu" or found.size != n or found.ndim > 1:
        asked = f"ctc_loss takes {n} {name}_lengths, whole numbers"
        raise ShapeError(asked, f"shape {found.shape} of dtype {found.dtype}", f"one for each of {n} sequences")
    return found.reshape(n).cast(int64)


class CTCLoss(Loss):
    """-log(probability that a sequence spells its target); see `ctc_loss`.

    Args:
        blank: the class that says nothing.
        reduction: "mean", "sum" or "none".
        zero_infinity: a target too long for its sequence costs 0, not infinity.

    Example:
        >>> even = jt.log_softmax(jt.zeros(2, 1, 2), 2)
        >>> CTCLoss()(even, jt.array([[1]]), [2], [1]).numpy().round(3)
        np.float32(0.288)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank = whole("CTCLoss", "blank", blank, 0)
        self.zero_infinity = yes_or_no("CTCLoss", "zero_infinity", zero_infinity)

    def execute(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Var:
        """Log-probabilities (t, n, classes), targets and the lengths of both -> one number."""
        return ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
