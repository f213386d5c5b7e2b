"""Built: was an answer built with the operators that are asked for, is it right, and if not, which mistake is it?

The graph of an answer arrives as data, and is built, fused and computed here: an answer's own word counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import same
from jt_exercises.graph_data import meant, told
from jt_exercises.verdict import RefusedError, ask

NEAR = 1e-6
READ, ADD, ALL = ("reindex",), ("reindex_reduce",), ("reindex", "multiply", "reindex_reduce")
Outcomes = Iterator[tuple[np.ndarray, str]]  # what is right; then what comes of known mistakes, and words for each
Unlike = Callable[[np.ndarray, np.ndarray], str]  # how wrong numbers differ from the right ones, in words


def built(function: Callable[..., Any], *arguments: Any) -> tuple[str, Any] | None:
    """What kind of thing a function returns, and its graph."""
    found = function(*arguments)
    if found is None:
        return None
    return ("Var", told(found)) if isinstance(found, jt.Var) else (type(found).__name__, None)


def _unlike(*_: np.ndarray) -> str:
    return "the shape is right, the numbers are not"


def expect(
    answer: Callable[..., Any],
    *arguments: Any,
    of: Sequence[str],
    outcomes: Outcomes,
    case: str,
    name: str = "",
    unlike: Unlike = _unlike,
) -> None:
    """Judge what a function builds.

    Args:
        answer: the function.
        arguments: Vars and numbers that it is called with.
        of: the operators that it may use; where there is one, it is to be used once.
        outcomes: the right numbers, then those of mistakes; only a wrong answer is compared with these.
        case: which case this is, in words.
        name: of the function.
        unlike: says of numbers of the right shape that no known mistake gives how they differ.

    Raises:
        RefusedError: it is built of something else, or not right.
    """
    kind, rows = ask(answer, *arguments, through=built, case=case, name=name)
    if kind != "Var":
        raise RefusedError(f"{case}: the answer is a Var that is built with {_listed(of)}, and not of type {kind}")
    ops = [row[1] for row in rows if row[0] != "array"]
    others = sorted({*ops} - {*of})
    if others or not ops:
        raise RefusedError(f"{case}: build it with {_listed(of)} alone; yours is built with {_listed(others)}")
    with jt.flag_scope(backend="python"):  # so few numbers that compiling their kernels would take longer
        y = meant(rows)
        count, numbers = len(jt.explain(y).kernels), y.numpy()
    if len(of) == 1 and len(ops) > 1:
        raise RefusedError(f"{case}: one {_listed(of)} is enough; yours takes {len(ops)}")
    if not all(any(_same(row[1], np.asarray(a)) for a in arguments) for row in rows if row[0] == "array"):
        raise RefusedError(f"{case}: it reads numbers that it was not given. Let the operators compute them")
    right, _ = next(outcomes)
    asked = f"{case}: its shape should be {right.shape}"
    words = unlike(numbers, right) if numbers.shape == right.shape and not _same(numbers, right) else ""
    same(numbers, right, case, outcomes, NEAR, words, asked)
    if count > 1:
        raise RefusedError(f"{case}: it takes {count} kernels; {_listed(of)} can share one")


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b)


def _listed(ops: Sequence[str]) -> str:
    """The operators, as a learner writes them."""
    *first, last = ["`*`" if op == "multiply" else f"`{op}`" for op in ops] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last
