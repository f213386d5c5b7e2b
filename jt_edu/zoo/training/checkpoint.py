"""Checkpoint: what has to be kept of a training, so that it goes on as if nothing had happened?

    state_dict, state_dict_ema     the network, and averages of its weights where they are kept
    optimizer, schedule, scaler    their own states
    random                         the generators of jt_edu, Python and NumPy; the order of examples and what is drawn
                                   for each follow from the seed, the epoch and their numbers, and need no state
    place                          epoch, updates made in it, updates of a whole one, the sum of losses, seconds; epochs
                                   without a better one; rows of the epochs before; updates in the averages
    config                         the settings, as YAML

A checkpoint is a file of `jt.save`: it takes the place of the one before when it is complete, and runs no code when it
is read. `jt.zoo.create_model(name, checkpoint_path=...)` reads it as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jt_edu.nn.serialization as files
from jt_edu.base.errors import ArgumentError
from jt_edu.config import CfgNode

PARTS = ("config", "place", "state_dict", "optimizer", "schedule", "random")
LAST, BEST = "last.npz", "best.npz"


def existing(path: Any) -> Path:
    """A file, if it is there.

    Raises:
        ArgumentError: it is not; the message has others that are beside it.

    Example:
        >>> existing("runs/none/last.npz")
        Traceback (most recent call last):
        ArgumentError: a checkpoint is a file; found no file 'runs/none/last.npz'.
    """
    where = Path(path)
    if not where.is_file():
        beside = sorted(map(str, where.parent.glob("*.npz"))) or sorted(map(str, where.glob("*.npz")))
        raise ArgumentError("a checkpoint is a file", f"no file {str(path)!r}", " or ".join(beside))
    return where


def read(path: Any) -> dict[str, Any]:
    """A checkpoint, as a run wrote it.

    Raises:
        ArgumentError: there is no such file, it is damaged, or it is something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save({"w": jt.ones(2)}, folder + "/w.npz")
        ...     read(folder + "/w.npz")
        Traceback (most recent call last):
        ArgumentError: a training goes on from a checkpoint of its own; found ...w.npz' without config, place, ...
    """
    state = files.load(existing(path))
    missing = [part for part in PARTS if not isinstance(state, dict) or part not in state]
    if missing:
        asked, way = "a training goes on from a checkpoint of its own", "--initial-checkpoint, for weights alone"
        raise ArgumentError(asked, f"{str(path)!r} without {', '.join(missing)}", way)
    whole: dict[str, Any] = state
    return whole


def settings_of(state: Any) -> CfgNode:
    """The settings of the training that wrote a checkpoint, but for where it was; none, if it is of none.

    Example:
        >>> settings_of({"config": "SEED: 3", "state_dict": {}}), settings_of({"w": 1})
        (CfgNode({'SEED': 3}), CfgNode({}))
    """
    told = state.get("config") if isinstance(state, dict) else None
    settings = CfgNode.load_cfg(told) if isinstance(told, str) else CfgNode()
    settings.pop("OUTPUT", None)
    return settings
