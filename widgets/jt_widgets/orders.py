"""Orders: what stands behind %%ranks and %%mpirun, word by word.

4    -n 4    policy=random    slow=2:3.0,3:2    delay=0-1:5000    synchronous    --view
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Record

FAULTS = ("slow", "drop", "delay", "lose")
SHARED = ("--view", "--go-on", "-n")
NUMBERS: dict[str, tuple[type, str]] = {"seed": (int, "a whole number"), "timeout": (float, "seconds")}
HOW = ("policy=", "seed=", "network=", "computing=", "timeout=", *(f"{name}=" for name in FAULTS), "synchronous")
WORDS = {"mpirun": ("--timeout=", *SHARED), "ranks": (*HOW, "--fresh", *SHARED), "mpi": (*HOW, "--fresh", *SHARED)}


@dataclass
class Order:
    """What a learner ordered."""

    size: int | None = None
    view: bool = False
    fresh: bool = False
    go_on: bool = False
    timeout: float = 60.0  # seconds
    given: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, Any] = field(default_factory=dict)

    def options(self, record: Record | None) -> dict[str, Any]:
        """Options of `Namespaces.run`; `record` is that of the last cell, for policy=replay."""
        options = dict(self.given)
        if options.get("policy") == "replay":
            if record is None or not record.schedule:
                raise ArgumentError("policy=replay lets ranks take turns as in the last cell", "no cell before")
            options["policy"] = record.schedule
        return options | ({"faults": Faults(**self.faults)} if self.faults else {})


def read_order(line: str, magic: str) -> Order:
    """Read the line of a magic.

    Raises:
        ArgumentError: a word has no meaning there.

    Example:
        >>> order = read_order("4 policy=random seed=3 slow=2:3.0", "ranks")
        >>> order.size, order.given, order.faults
        (4, {'policy': 'random', 'seed': 3}, {'slow': {2: 3.0}})
    """
    order, words = Order(), shlex.split(line.partition("#")[0])
    while words:
        word = words.pop(0)
        if word in ("-n", "-np", "--timeout") and words:
            word = f"{word}={words.pop(0)}"
        name, _, value = word.partition("=")
        if word.isdigit() or name in ("-n", "-np", "n"):
            order.size = _number(value or word, f"%%{magic} takes the number of ranks", int)
        elif not any(word == w or (w.endswith("=") and word.startswith(w)) for w in WORDS[magic]):
            raise ArgumentError(f"%%{magic} knows {', '.join(WORDS[magic])}", repr(word), _nearest(word, magic))
        else:
            _take(order, name, value, magic)
    return order


def _take(order: Order, name: str, value: str, magic: str) -> None:
    asked = f"%%{magic} {name}="
    if name in ("--view", "--fresh", "--go-on"):
        setattr(order, name[2:].replace("-", "_"), True)
    elif name == "--timeout":
        order.timeout = _number(value, f"{asked} takes seconds", float)
    elif name == "synchronous":
        order.given[name] = True
    elif name in NUMBERS:
        order.given[name] = _number(value, f"{asked} takes {NUMBERS[name][1]}", NUMBERS[name][0])
    elif name == "network":
        order.given[name] = Network(**_pairs(value, asked, str, float))
    elif name in FAULTS:
        order.faults[name] = _pairs(value, asked, _way if name in ("delay", "lose") else int, _plain)
    else:
        numbers = value.replace(",", "").isdigit()
        order.given[name] = [int(n) for n in value.split(",")] if numbers else value


def _pairs(text: str, asked: str, key: Callable[[str], Any], number: Callable[[str], Any]) -> dict[Any, Any]:
    """`2:3.0,3:2` -> {2: 3.0, 3: 2}."""
    try:
        return {key(k): number(v) for k, v in (pair.split(":") for pair in text.split(","))}
    except ValueError:
        raise ArgumentError(f"{asked} takes pairs such as 2:3, or 0-1:3 for a link of two ranks", repr(text)) from None


def _plain(text: str) -> float:
    return int(text) if text.isdigit() else float(text)


def _way(text: str) -> tuple[int, int]:
    source, dest = text.replace(">", "-").split("-")
    return int(source), int(dest)


def _number(text: str, asked: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ArgumentError(asked, repr(text)) from None


def _nearest(word: str, magic: str) -> str:
    near = difflib.get_close_matches(word.partition("=")[0], WORDS[magic], 1, 0.5)
    return near[0] if near else f"%%{magic}?"
