"""Adaptive softmax: a softmax over very many words, most of which are rare, and cheap.

    head            the frequent words, and one score for each cluster of rarer ones
    tail[0]         cutoffs[0] ... cutoffs[1] - 1      projected to in_features / div_value numbers before
    tail[1]         cutoffs[1] ... cutoffs[2] - 1      projected to in_features / div_value**2

    log P(word)     = head[word]                                of a frequent word
    log P(word)     = head[its cluster] + tail[word there]      of a rare one

Words are numbered by how frequent they are, the most frequent one first. A table of all words would take in_features
times as many weights as there are words; here the long tail is narrow.

Source: Grave et al. 2016, "Efficient softmax approximation for GPUs" (arXiv:1609.04309).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.linear import Linear, count
from jt_edu.nn.module import Module
from jt_edu.nn.sequential import ModuleList, Sequential
from jt_edu.ops.arguments import number, same_words, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.reduce import argmax, mean, sum
from jt_edu.ops.softmax import log_softmax
from jt_edu.variable.var import Var, as_var

NAME = "AdaptiveLogSoftmaxWithLoss"


class AdaptiveAnswer(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` returns: (n,) log-probabilities of the targets, and the mean of their surprise.

    Example:
        >>> AdaptiveAnswer(jt.array([-1.0, -3.0]), jt.array(2.0)).loss.item()
        2.0
    """

    output: Var
    loss: Var


class AdaptiveLogSoftmaxWithLoss(Module):
    """Scores, softmax and surprise of n_classes words at once; rare words stand in clusters that are computed narrowly.

        output[i] = log P(target[i])        loss = -mean(output)

    PyTorch computes a cluster for those rows only whose target is in it. Here every cluster is computed for every row,
    so that shapes do not depend on numbers, and one graph serves all batches; what is saved is what the narrow
    projections save, in weights as in products.

    Args:
        in_features: length of a row of x.
        n_classes: how many words; the most frequent one is number 0.
        cutoffs: where the clusters begin, in order, each from 1 to n_classes - 1; words before the first are frequent.
        div_value: by how much each cluster is narrower than the one before: cluster i, counted from 1, is projected to
            floor(in_features / div_value**i) numbers.
        head_bias: whether the head adds something to its scores.

    Raises:
        ArgumentError: cutoffs are not in order, or a cluster would be projected to no number at all.

    Source: Grave et al. 2016, "Efficient softmax approximation for GPUs" (arXiv:1609.04309).

    Example:
        >>> layer = AdaptiveLogSoftmaxWithLoss(8, 100, [10, 40], div_value=2.0)
        >>> output, loss = layer(jt.ones(3, 8), jt.array([0, 20, 99]))
        >>> output.shape, loss.shape, layer.log_prob(jt.ones(3, 8)).shape, layer.predict(jt.ones(3, 8)).shape
        ((3,), (), (3, 100), (3,))
    """

    @takes_placement
    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Any, div_value: float = 4.0, head_bias: bool = False
    ) -> None:
        self.in_features = count(self, "in_features", in_features)
        self.n_classes = whole(NAME, "n_classes", n_classes, 2)
        self.cutoffs = [*_in_order(cutoffs, self.n_classes), self.n_classes]
        self.div_value = float(number(NAME, "div_value", div_value, 0, above=True, finite=True))
        self.head_bias = yes_or_no(NAME, "head_bias", head_bias)
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head = Linear(self.in_features, self.shortlist_size + self.n_clusters, self.head_bias)
        self.tail = ModuleList([self._cluster(i) for i in range(self.n_clusters)])

    def _cluster(self, i: int) -> Sequential:
        width = int(self.in_features // self.div_value ** (i + 1))
        if not width:
            way = f"fewer cutoffs, or a div_value nearer to 1 than {self.div_value:g}"
            found = f"{self.in_features} // {self.div_value:g}**{i + 1}, which is 0"
            raise ArgumentError(f"{NAME} projects each cluster to a number or more", found, way)
        words = self.cutoffs[i + 1] - self.cutoffs[i]
        return Sequential(Linear(self.in_features, width, bias=False), Linear(width, words, bias=False))

    @same_words
    def execute(self, x: Any, target: Any) -> AdaptiveAnswer:
        """(n, in_features) and (n,) word numbers -> (n,) log-probabilities, and the loss; or one row, and one word.

        Raises:
            RangeError: a target is none of the words; it is found when the answer is computed.
        """
        rows, words = self._checked(x, target)
        column, inside = words, []
        for i, cluster in enumerate(self.tail):
            first = self.cutoffs[i]
            column = column.where_not(words >= first, self.shortlist_size + i)  # clusters behind it have the last word
            inside.append(_at(log_softmax(cluster(rows), 1), words - first))
        head = log_softmax(self.head(rows), 1)  # (n, shortlist + clusters)
        output = reduce(operator.add, inside, _at(head, column))
        return AdaptiveAnswer(output.reshape(as_var(target).shape), -mean(output))

    def _checked(self, x: Any, target: Any) -> tuple[Var, Var]:
        """(n, in_features) and (n,); a single row is a batch of one."""
        rows, words = as_var(x), as_var(target)
        if words.dtype.kind not in "iu":
            raise DtypeError(f"{NAME} takes targets that are word numbers", f"dtype {words.dtype}", "target.int64()")
        if words.ndim > 1 or rows.ndim != words.ndim + 1 or rows.shape[:-1] != words.shape:
            asked = f"{NAME} takes x (n, {self.in_features}) and targets (n,), or one row and one target"
            raise ShapeError(asked, f"shapes {rows.shape} and {words.shape}")
        flat = checked(NAME, words.reshape(-1).cast(int64), 0, self.n_classes)
        return rows.reshape(-1, rows.shape[-1]) if words.ndim == 0 else rows, flat

    @same_words
    def log_prob(self, x: Any) -> Var:
        """(n, in_features) -> (n, n_classes), the logarithm of the probability of every word."""
        rows = as_var(x)
        if rows.ndim != 2:
            raise ShapeError(f"log_prob takes x (n, {self.in_features})", f"shape {rows.shape}", "x.unsqueeze(0)")
        head, frequent = log_softmax(self.head(rows), 1), self.shortlist_size
        rare = [
            log_softmax(cluster(rows), 1) + head[:, frequent + i].unsqueeze(1) for i, cluster in enumerate(self.tail)
        ]
        return concat([head[:, :frequent], *rare], 1)

    @same_words
    def predict(self, x: Any) -> Var:
        """(n, in_features) -> (n,), the most likely word of each row."""
        return argmax(self.log_prob(x), 1)


def _in_order(cutoffs: Any, n_classes: int) -> list[int]:
    """Where the clusters begin."""
    if not isinstance(cutoffs, Iterable) or isinstance(cutoffs, str):
        raise ArgumentError(f"{NAME} takes cutoffs as a list of whole numbers", short(cutoffs), "cutoffs=[10, 100]")
    found = [whole(NAME, "cutoffs", c, 1, n_classes - 1) for c in cutoffs]
    if not found or any(a >= b for a, b in itertools.pairwise(found)):
        asked = f"{NAME} takes cutoffs in order, each once, and at least one"
        raise ArgumentError(asked, f"cutoffs={found}", f"cutoffs={sorted(set(found)) or [1]}")
    return found


def _at(scores: Var, columns: Var) -> Var:
    """scores[i, columns[i]], and 0 for a column that is not there: compared with the counter, not looked up."""
    return sum(scores.keep_where(index(scores.shape, 1) == columns.unsqueeze(1)), 1)
