"""Arguments: is what a simulation is given of the kind that it takes? Each wrong one is refused by its name.

policy        a word of POLICIES, or a recorded schedule: numbers of tasks
seed          a whole number
network       a Network, or None          faults      Faults, or None
timeout       seconds above 0, or None    computing   a word of METERS, or None
synchronous   True or False               choice      a function, or None; see model_checker.py
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.simulator.cpu_meter import check as check_meter
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.scheduler import POLICIES
from jt_edu.mpi.trace.network import Network

NAMES = ("policy", "seed", "network", "faults", "synchronous", "timeout", "choice", "computing")


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse options of a simulation that it does not know, or that are of a wrong kind.

    Raises:
        ArgumentError: there is one.

    Example:
        >>> check_options({"polcy": "random"})
        Traceback (most recent call last):
        ArgumentError: ...
    """
    for name in given:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1) or NAMES
            raise ArgumentError(f"a simulation takes {', '.join(NAMES)}", f"{name}=", ", ".join(near))
    _check_policy(given.get("policy", POLICIES[0]))
    if not _is_whole(seed := given.get("seed", 0)):
        raise ArgumentError("the seed of a simulation is a whole number", repr(seed), "seed=0")
    for name, kind in (("network", Network), ("faults", Faults)):
        found = given.get(name)
        if found is not None and not isinstance(found, kind):
            raise ArgumentError(f"the {name} of a simulation is a {kind.__name__}, or None", repr(found))
    if not isinstance(synchronous := given.get("synchronous", False), bool):
        raise ArgumentError("synchronous is True or False", repr(synchronous))
    timeout = given.get("timeout")
    seconds = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and 0 < timeout < float("inf")
    if timeout is not None and not seconds:
        raise ArgumentError("a timeout is a number of seconds above 0, or None", repr(timeout))
    check_meter(given.get("computing"))


def _check_policy(policy: Any) -> None:
    if isinstance(policy, str) and policy in POLICIES:
        return
    is_list = isinstance(policy, (Sequence, np.ndarray)) and not isinstance(policy, str)
    if not is_list or not all(_is_whole(number) and number >= 0 for number in policy):
        words = ", ".join(POLICIES)
        raise ArgumentError(f"ranks take turns by a policy: {words}, or a recorded schedule", repr(policy))


def _is_whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)
