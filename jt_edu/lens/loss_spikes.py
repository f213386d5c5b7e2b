"""Loss spikes: which loss of a training stands out so much that one wants to look into its step?

    is_spike(3.0, [1.0] * 20)              True
    is_spike(0.003, [0.001] * 20, 2.3)     False: far above its neighbours, and nothing beside what was learned

Nothing here knows where losses come from.
"""

from __future__ import annotations

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
    "Of losses that stay up only the first is one."
)


def is_spike(loss: float, before: Sequence[Any], first: Any = None) -> bool:
    """Whether a loss is a spike beside the losses before it: see `SPIKE`.

    Args:
        loss: of the step in question.
        before: the losses of the steps before it, the last one last; only numbers that are finite count.
        first: the loss that training began with, if it is known.

    Example:
        >>> is_spike(3.0, [1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.0]), is_spike(float("nan"), [])
        (True, True)
        >>> is_spike(0.003, [0.001] * 20), is_spike(0.003, [0.001] * 20, first=2.3)
        (True, False)
    """
    if not math.isfinite(loss):
        return True
    stays = _stands_out(before[-1], before[:-1], first) and loss <= (1 + LEAST) * before[-1] if before else False
    return _stands_out(loss, before, first) and not stays


def _stands_out(loss: Any, before: Sequence[Any], first: Any) -> bool:
    near = [x for x in before if isinstance(x, float) and math.isfinite(x)]
    if len(near) < ENOUGH or not isinstance(loss, float):
        return False
    middle = statistics.median(near)
    deviation = 1.4826 * statistics.median([abs(x - middle) for x in near])
    learned = first - middle if isinstance(first, float) and math.isfinite(first) else 0.0
    return loss > middle + max(FAR * deviation, LEAST * abs(middle), LEARNED * learned)
