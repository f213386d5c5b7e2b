"""03.1: which operators of an expression share a kernel?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.fusion.cases import fate, ones
from jt_exercises.verdict import NotDoneError, RefusedError, short


@exercise(
    "03.1",
    "the kernels of an expression",
    hints=(
        "Only one operator here needs whole arrays.",
        "A sum can share a kernel with what comes after it, which then gets a loop of its own.",
    ),
    why="""An operator that needs whole arrays cuts a chain of operators into several kernels. All the others can share
    a kernel with their neighbours.""",
)
def kernels(answer: Any) -> str:
    """Compare guessed kernel numbers, by name of operator, with the plan; which number is which is free."""
    points, weights = ones(2000, 200), ones(200, 50)
    e = jt.explain(((points / points.abs().sum()).exp() @ weights).max(1))
    nodes = {n.op.name: n for n in e.order if any(n.id in k.nodes for k in e.kernels)}
    home = {name: next(k for k, run in enumerate(e.kernels) if n.id in run.nodes) for name, n in nodes.items()}
    _complete(answer, list(nodes))
    for a, b in itertools.pairwise(nodes):
        together = home[a] == home[b]
        if (answer[a] == answer[b]) != together:
            said, is_so = ("apart", "share a kernel") if together else ("together", "do not share one")
            raise RefusedError(f"you have `{a}` and `{b}` {said}, but they {is_so}: {fate(e, nodes[a], nodes[b])[1]}")
    for a, b in itertools.combinations(nodes, 2):
        if (answer[a] == answer[b]) != (home[a] == home[b]):
            raise RefusedError(f"`{a}` and `{b}` are in two kernels; something between them needs a whole array")
    return f"{len(e.kernels)} kernels"


def _complete(answer: Any, names: list[str]) -> None:
    """Each operator has a number, and nothing else has."""
    if answer is None or (isinstance(answer, Mapping) and all(number is None for number in answer.values())):
        raise NotDoneError("no operator has a number yet")
    if not isinstance(answer, Mapping):
        raise RefusedError(f"`kernel_of` is a dict with a number for each operator, not {short(answer)}")
    if unknown := [name for name in answer if name not in names]:
        raise RefusedError(f"there is no operator `{unknown[0]}` here; there are {', '.join(names)}")
    for name in names:
        if not isinstance(number := answer.get(name), int):
            raise RefusedError(f"give `{name}` the whole number of its kernel, not {short(number)}")
