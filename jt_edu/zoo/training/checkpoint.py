"""Checkpoint: what has to be kept of a training, so that it goes on as if nothing had happened?

    state_dict, state_dict_ema     the network, and averages of its weights where they are kept
    optimizer, schedule, scaler    their own states
    random                         the generators of jt_edu, Python and NumPy; the order of examples and what is drawn
                                   for each follow from the seed, the epoch and their numbers, and need no state
    place                          epoch, updates made in it, sums of their losses; rows of the epochs before, the best
    config                         the settings

A checkpoint is a file of `jt.save`: it takes the place of the one before when it is complete, and runs no code when it
is read. `jt.zoo.create_model(name, checkpoint_path=...)` reads it as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jt_edu.nn.serialization as files
from jt_edu.base.errors import ArgumentError

PARTS = ("config", "place", "state_dict", "optimizer", "schedule", "random")
LAST, BEST = "last.npz", "best.npz"


def read(path: Any) -> dict[str, Any]:
    """A checkpoint, as the run wrote it.

    Raises:
        ArgumentError: there is no such file, it is damaged, or it is something else.

    Example:
        >>> read("runs/none/last.npz")
        Traceback (most recent call last):
        ArgumentError: a training goes on from a checkpoint; found no file 'runs/none/last.npz'...
    """
    asked, where = "a training goes on from a checkpoint", Path(path)
    if not where.is_file():
        beside = sorted(map(str, where.parent.glob("*.npz"))) or sorted(map(str, where.glob("*.npz")))
        raise ArgumentError(asked, f"no file {str(path)!r}", " or ".join(beside))
    found = files.load(where)
    missing = [part for part in PARTS if not isinstance(found, dict) or part not in found]
    if missing:
        raise ArgumentError(asked, f"{str(path)!r} without {', '.join(missing)}", "--initial-checkpoint, for weights")
    state: dict[str, Any] = found
    return state
