"""Foreign: what would the weights of a network be called if other people had written it?

conv1.weight         stem.conv.weight
layer1.bn2.bias      stage1.norm2.beta
fc.weight            classifier.weight
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

PARTS = (  # in this order: a later row sees what an earlier one has written
    ("downsample.0", "skip.conv"), ("downsample.1.", "skip.norm."), ("layer", "stage"), ("fc.", "classifier."),
    ("bn", "norm"),
)  # fmt: skip
NORM = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
COUNTER = "num_batches_tracked"  # they do not keep it


def theirs(name: str) -> str:
    """Their name for one of ours.

    Example:
        >>> theirs("layer2.downsample.1.running_var"), theirs("bn1.weight")
        ('stage2.skip.norm.moving_variance', 'stem.norm.gamma')
    """
    if name.startswith(("conv1.", "bn1.")):
        name = "stem." + name.replace("conv1", "conv").replace("bn1", "bn")
    for ours, other in PARTS:
        name = name.replace(ours, other)
    front, _, last = name.rpartition(".")
    return f"{front}.{NORM[last]}" if "norm" in front else name


def foreign(state: Mapping[str, Any]) -> dict[str, Any]:
    """The same arrays under their names, as they would be found in a stranger's file: without our counters of batches,
    and with the number of an epoch that nobody asked for.

    Example:
        >>> list(foreign({"fc.weight": 1, "bn1.num_batches_tracked": 2}).items())
        [('classifier.weight', 1), ('epoch', array([12]))]
    """
    named = {theirs(name): value for name, value in state.items() if not name.endswith(COUNTER)}
    return {**named, "epoch": np.array([12])}
