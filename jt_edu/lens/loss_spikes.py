"""Loss spikes: which loss of a training stands out so much that one wants to look into its step?

    is_spike(3.0, [1.0] * 20)              True
    is_spike(0.003, [0.001] * 20, 2.3)     False: far above its neighbours, and nothing beside what was learned
    thinned(rows, 2000)                    fewer rows; what stands out stays

Nothing here knows where losses come from.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

NEAR, ENOUGH = 20, 8  # losses before a step that it is compared with, and how many are needed
FAR, LEAST = 6.0, 0.5  # robust deviations, and the part of the median, that a spike is above the median
LEARNED = 0.02  # the part of what the loss has come down since the first step, which it is above the median, too
SPIKE = (
    f"A spike is a loss that is no finite number, or more than {FAR:g} robust deviations (1.4826 times the median "
    f"distance from the median) and more than {LEAST:.0%} above the median of the {NEAR} losses before it, and "
    f"above it by more than {LEARNED:.0%} of what the loss has come down since the first step. "
    "Of losses that stay up, or stay no numbers, only the first is one."
)


def is_spike(loss: float, before: Sequence[Any], first: Any = None) -> bool:
    """Whether a loss is a spike beside the losses before it: see `SPIKE`.

    Args:
        loss: of the step in question.
        before: the losses of the steps before it, the last one last. The comparison is with those that are finite.
        first: the loss that training began with, if it is known.

    Example:
        >>> is_spike(3.0, [1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.0]), is_spike(float("nan"), [])
        (True, True)
        >>> is_spike(0.003, [0.001] * 20), is_spike(0.003, [0.001] * 20, first=2.3)
        (True, False)
    """
    last: Any = before[-1] if before else None
    if not _is_finite(loss):
        return last is None or _is_finite(last)
    stays = _stands_out(last, before[:-1], first) and loss <= last + LEAST * abs(last)
    return _stands_out(loss, before, first) and not stays


def _stands_out(loss: Any, before: Sequence[Any], first: Any) -> bool:
    near = list(filter(_is_finite, before))
    if len(near) < ENOUGH or not _is_finite(loss):
        return False
    middle = statistics.median(near)
    deviation = 1.4826 * statistics.median([abs(x - middle) for x in near])
    learned = first - middle if _is_finite(first) else 0.0
    return bool(loss > middle + max(FAR * deviation, LEAST * abs(middle), LEARNED * learned))


def _is_finite(loss: Any) -> bool:
    """Whether it is a number as others are; what is not travels as a text."""
    return isinstance(loss, (int, float)) and math.isfinite(loss)


def thinned(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most `most` / 2 rows: the first, last, smallest and largest of each of `most` / 8 equal stretches of steps.

    Example:
        >>> rows = [{"step": k, "loss": float(k == 37)} for k in range(100)]
        >>> [row["step"] for row in thinned(rows, 16)]
        [0, 37, 49, 50, 99]
    """
    start, width = rows[0]["step"], (rows[-1]["step"] - rows[0]["step"] + 1) / (most // 8)
    kept: list[dict[str, Any]] = []
    for _, stretch in itertools.groupby(rows, lambda row: int((row["step"] - start) / width)):
        some = list(stretch)
        losses = [height(row) for row in some]
        places = {0, losses.index(min(losses)), losses.index(max(losses)), len(some) - 1}
        kept += [some[k] for k in sorted(places)]
    return kept


def height(row: dict[str, Any]) -> float:
    """The loss of a row; what is no number stands above all.

    Example:
        >>> height({"loss": 0.5}), height({"loss": "nan"})
        (0.5, inf)
    """
    loss = float(row["loss"])
    return math.inf if math.isnan(loss) else loss
