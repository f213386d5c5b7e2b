"""17.1: settings laid over defaults."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.experiments.probes import laid_over, refused
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, part, short

Settings = dict[str, Any]
NOWHERE = {  # an override of a path that is no setting, and what is said of it
    "TRAIN.EPOCS": (3, "a typing error would pass unseen"),
    "TRIAN.EPOCHS": (3, "a typing error would pass unseen"),
    "SEED.FIRST": (3, "it leads on through `SEED`, which is a number"),
    "TRAIN": (3, "it is a dict of settings, and all of them would be lost"),
    "DATA": ({}, "it is a dict of settings, and all of them would be lost"),
}
ODD = {  # an override of another type, and what is said of it
    "TRAIN.EPOCHS": (2.5, "half an epoch would be accepted"),
    "TRAIN.BASE_LR": ("0.1", "a text would be accepted as a number: nobody has read it yet"),
    "SEED": (True, "True is no int here, although `isinstance(True, int)` is True: compare `type(value)`"),
    "COMPILE": (1, "1 is no bool"),
    "TRAIN.MIN_LR": (False, "False is no number, although `isinstance(False, int)` is True: compare `type(value)`"),
}


@exercise(
    "17.1",
    "settings over settings",
    points=3,
    hints=(
        """`*around, name = path.split(".")`: walk from the top through the dicts of `around`, and set `name` in the
        last one. `copy.deepcopy(defaults)` is a copy that shares no dict and no list with the defaults.""",
        """Before you set anything, ask: is each step a dict that has the next name, and is what stands at the end no
        dict? If not, `raise KeyError(path)`.""",
        """`if type(old) is float and type(value) is int: value = float(value)`, and then
        `if type(value) is not type(old): raise TypeError(path)`.""",
    ),
    why="""A setting that is misspelled and silently left alone is an experiment that was never made. That is why
    `merge_from_file`, `merge_from_list` and the command line refuse what they do not know.""",
)
def merged(answer: Callable[..., Any]) -> str:
    """Compare settings with the right ones; then look at what is refused, and at what became of the defaults."""
    with part("settings"):
        for overrides in _overrides():
            _compare(answer, overrides)
    with part("paths that lead nowhere"):
        for path, (value, why) in NOWHERE.items():
            _refuses(answer, path, value, "KeyError", why)
    with part("other types"):
        for path, (value, why) in ODD.items():
            _refuses(answer, path, value, "TypeError", why)
    return f"settings of {len(_overrides())} experiments; and it refuses {len(NOWHERE)} paths and {len(ODD)} values"


def _defaults() -> Settings:
    draw = random(1)
    return {
        "SEED": int(draw.integers(9)), "COMPILE": False, "DATA": {"BATCH_SIZE": 64},
        "TRAIN": {
            "EPOCHS": 10, "BASE_LR": 0.125 * int(draw.integers(1, 5)), "MIN_LR": 0.0,
            "OPTIMIZER": {"NAME": "adamw", "BETAS": [0.9, 0.999]},
        },
    }  # fmt: skip


def _overrides() -> list[Settings]:
    """Of each experiment: deep, shallow, both, none, and an int where a float stands."""
    epochs = int(random(2).integers(20, 90))
    return [
        {"TRAIN.OPTIMIZER.NAME": "sgd", "SEED": 17, "TRAIN.EPOCHS": epochs, "COMPILE": True},
        {"TRAIN.BASE_LR": 1, "TRAIN.OPTIMIZER.BETAS": [0.5, 0.75]},
        {},
    ]


def _right(overrides: Mapping[str, Any]) -> Settings:
    settings = _defaults()
    for path, value in overrides.items():
        *around, name = path.split(".")
        node = settings
        for step in around:
            node = node[step]
        node[name] = float(value) if isinstance(node[name], float) else value
    return settings


def _compare(answer: Any, overrides: Settings) -> None:
    told = f"overrides {overrides}"
    found, after, spoiled = ask(answer, _defaults(), overrides, case=told, name="merged", through=laid_over)
    right = _right(overrides)
    if found is None:
        raise NotDoneError("it returns None: is a `return` missing?")
    if not isinstance(found, dict):
        raise RefusedError(f"it returns a dict of all settings, not {short(found)}")
    if after != _defaults():
        raise RefusedError(f"{told}: the defaults are other ones afterwards. The next experiment would begin with them")
    if _leaves(found) != _leaves(right):
        raise RefusedError(f"{told}: {_apart(found, right)}")
    if spoiled != after:
        words = "the new settings share a dict or a list with the defaults: who changes one changes the other"
        raise RefusedError(f"{told}: {words}. `copy.deepcopy` copies what is inside, too")


def _apart(found: Settings, right: Settings) -> str:
    """Where two trees of settings differ first."""
    mine, all_of_it = _leaves(found), _leaves(right)
    for path in [*all_of_it, *mine]:
        if path not in mine:
            return f"{path} is missing"
        if path not in all_of_it:
            return f"{path} is new; a path is a way through dicts, with a step for each name between the dots"
        if mine[path] != all_of_it[path]:
            kinds = f", {mine[path][0]} and not {all_of_it[path][0]}" * (mine[path][0] != all_of_it[path][0])
            return f"{path} is {mine[path][1]!r}{kinds}, and should be {all_of_it[path][1]!r}"
    return "they differ"


def _leaves(tree: Any, above: str = "") -> dict[str, tuple[str, Any]]:
    """path -> kind and value."""
    found: dict[str, tuple[str, Any]] = {}
    for name, value in tree.items():
        path = f"{above}{name}"
        found |= _leaves(value, f"{path}.") if isinstance(value, dict) and value else {path: (_kind(value), value)}
    return found


def _kind(value: Any) -> str:
    return type(value).__name__


def _refuses(answer: Any, path: str, value: Any, wanted: str, why: str) -> None:
    case = f"overrides {{{path!r}: {value!r}}}"
    settings = copy.deepcopy(_defaults())
    kind, words, _ = ask(answer, settings, {path: value}, case=case, name="merged", through=refused)
    if not kind:
        raise RefusedError(f"{case} is not refused: {why}")
    if kind != wanted:
        raise RefusedError(f"{case} is refused with {kind}: {words}. A {wanted} is asked for")
    if path not in words:
        raise RefusedError(f"{case} is refused with {kind}: {words}. Say the whole path, so that one can find it")
