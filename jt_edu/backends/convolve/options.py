"""Options: what may a learner switch about convolutions and products, and what do plans depend on?

They belong to a rank, like `jt.flags`, and are read where a plan is made. As another plan may come out, they are part
of what a plan is remembered by. As long as nobody touches them that is `None`, and costs nothing.

`jt.backends.conv` is how a learner reads and sets them, and `jt.backends.cuda` for products of matrices. Nothing here
knows algorithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.backends.thread_pool import threads
from jt_edu.base.context import Context, current

NAME = "conv"  # in the state of a rank


class Options(NamedTuple):
    """The settings of `jt.backends.conv`, with their defaults; and one of `jt.backends.cuda`."""

    enabled: bool = True  # False: convolutions are generated loops like any other sum
    benchmark: bool = False  # True: the candidates are timed, once for each size
    deterministic: bool = False  # True: nothing depends on a clock, or on the number of threads
    strict: bool = False  # True: with `deterministic`, an error where nobody can promise that
    local: bool = False  # True: only algorithms whose errors go with what each window sees
    workspace_limit: int | None = None  # bytes that an algorithm may use besides its arrays; None: any number
    allow_tf32: bool = False  # True: a GPU multiplies float32 as TF32
    matmul_precision: str = "highest"  # of products of matrices there: see jt_edu/backends/cuda.py


DEFAULT = Options()
OF_CONV = tuple(name for name in Options._fields if name != "matmul_precision")


class _Edition:
    """How often the table was cleared in this process: plans that were made from it are not used again."""

    number = 0


def options(context: Context | None = None) -> Options:
    """The settings of the rank that asks."""
    found: Options = (context or current()).rank_state.get(NAME, DEFAULT)
    return found


def set_options(wanted: Options) -> None:
    """Give the rank that asks other settings."""
    if wanted == DEFAULT:
        current().rank_state.pop(NAME, None)
    else:
        current().rank_state[NAME] = wanted


def plan_key(context: Context) -> Any:
    """What a plan depends on: None, or the settings, how many threads there are, and which table was asked."""
    found = context.rank_state.get(NAME)
    return found and (found, threads(), _Edition.number)


def forget_plans() -> None:
    """Have plans made anew that were made under settings other than the defaults."""
    _Edition.number += 1
