"""Conv: how does a learner steer which algorithm computes a convolution? As `torch.backends.cudnn` does.

    jt.backends.conv.benchmark = True                       time the candidates, once for each size
    with jt.backends.conv.flags(deterministic=True): ...    settings for some lines
    jt.backends.conv.table()                                what was timed, and who won

    setting            default
    enabled            True     False: no algorithms; convolutions become generated loops, as any other sum
    benchmark          False    True: the first plan for a size times the candidates, and the table remembers
    deterministic      False    True: the same program gives the same bits, on any number of threads
    strict             False    True: with `deterministic`, an error where nobody can promise that
    local              False    True: the error of a sum goes with what its own window sees
    workspace_limit    None     bytes that an algorithm may use besides its arrays
    allow_tf32         False    True: on a GPU, float32 is multiplied as TF32 by tensor cores

What `local` is for. Winograd and Fourier compute many sums from common parts, and round to some millionths of the
largest sum around. Where numbers are so uneven that this would be felt (a pixel of 1e6 among others of 1; infinity,
nan), they find it out, and write those sums out. With `local` they are not used at all, and 3 x 3 convolutions take
longer.

What `deterministic` means. Which algorithm is used is then decided by sizes alone, and `benchmark` has no say: two runs
of a tuner may find another winner, and algorithms differ in their last digits. (cuDNN leaves that to the learner: with
both set, it may choose another deterministic algorithm in each process.) And sums that are split otherwise for another
number of threads, as in products of matrices by BLAS, run on one thread. A function of the learner's that calls NumPy
can do anything: with `strict` it is an error, without it runs as it is.

What `allow_tf32` costs. Numbers are rounded to 10 bits behind the first one before they are multiplied, sums stay
float32: answers differ by about a thousandth. On a CPU, and on a GPU before 8.0, it changes nothing. PyTorch has it on.

On a GPU the candidates of `benchmark` are tiles of several sizes, for products of matrices as well, and NVIDIA's
libraries where `jt.flags.cublas` or `jt.flags.cudnn` asks for them; `deterministic` and `workspace_limit` hold for
cuDNN. Lines of the table name the GPU.

The settings belong to the rank that sets them: as in PyTorch, all its threads share them. With `benchmark`, a plan is
made after measuring, so `jt.explain` measures too.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from jt_edu.backends.convolve import autotuner
from jt_edu.backends.convolve.options import DEFAULT, OF_CONV, forget_plans, options, set_options
from jt_edu.backends.convolve.selection import algorithms
from jt_edu.backends.convolve.tuner_report import Table
from jt_edu.base.errors import ArgumentError, UnknownNameError
from jt_edu.base.scoped import scoped

__all__ = ["clear", "flags", "race", "table", "version"]

race: Callable[..., Any]  # set by jt_edu/introspect/conv_race.py, which knows Vars and pictures


def version() -> str:
    """Names the algorithms and the machine; what was measured under another version does not count.

    Example:
        >>> jt.backends.conv.version()
        '... algorithms, version ...'
    """
    return f"{len(algorithms())} algorithms, version {autotuner.stamp()}"


def table() -> Table:
    """Everything that was measured under this version, by this process and others: printable, and a list of entries.

    Example:
        >>> found = jt.backends.conv.table()
        >>> len(found.entries) >= 0, found.timed >= 0
        (True, True)
    """
    return Table(
        tuple(autotuner.mine.all()),
        autotuner.mine.timed,
        autotuner.mine.samples,
        str(autotuner.mine.store.folder or ""),
    )


def clear() -> None:
    """Forget what was measured, on disk too; plans that were made from it are not used again.

    Example:
        >>> jt.backends.conv.clear()
    """
    autotuner.mine.clear()
    forget_plans()


class _UnknownSettingError(ArgumentError, UnknownNameError):
    """A setting that is not there: an argument of `flags`, and an attribute of this module."""


@scoped
def flags(**wanted: Any) -> Iterator[None]:
    """Settings for the lines inside; afterwards they are as before, whatever happens. Also a decorator.

    Raises:
        ArgumentError: an unknown setting, or a value of the wrong type.

    Example:
        >>> with jt.backends.conv.flags(deterministic=True):
        ...     jt.backends.conv.deterministic
        True
        >>> jt.backends.conv.deterministic
        False
    """
    before = options()
    set_options(before._replace(**{name: _checked(name, value) for name, value in wanted.items()}))
    try:
        yield
    finally:
        set_options(before)


def _checked(name: str, value: Any) -> Any:
    """The value, if the setting is one and can have it."""
    if name not in OF_CONV:
        near = difflib.get_close_matches(name, OF_CONV, 1)
        error = _UnknownSettingError(
            f"jt.backends.conv.{name} is not a setting",
            f"the settings {', '.join(OF_CONV)}",
            f"jt.backends.conv.{(near or OF_CONV)[0]}",
        )
        error.name = name  # Python, which would guess as well, does not guess a second time
        raise error
    if name == "workspace_limit":
        if value is None:
            return None
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 0:
            raise ArgumentError(f"jt.backends.conv.{name} is a number of bytes, or None", repr(value), "64 * 2**20")
        return int(value)
    if not isinstance(value, (bool, int, np.bool_)) or value not in (0, 1):
        raise ArgumentError(f"jt.backends.conv.{name} is True or False", repr(value), repr(not getattr(DEFAULT, name)))
    return bool(value)


class _Settings(ModuleType):
    """The class of this module: its settings are those of the rank that asks."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        _checked(name, getattr(DEFAULT, name, None))  # raises what hasattr() understands, and lists the settings
        return getattr(options(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or (name in __all__ and name not in vars(self)):
            super().__setattr__(name, value)
        else:
            set_options(options()._replace(**{name: _checked(name, value)}))

    def __delattr__(self, name: str) -> None:
        if name in OF_CONV:
            raise ArgumentError(f"jt.backends.conv.{name} has a value, always", "del", repr(getattr(DEFAULT, name)))
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted([*__all__, *OF_CONV])

    def __repr__(self) -> str:
        return "jt.backends.conv: " + ", ".join(f"{k}={getattr(options(), k)}" for k in OF_CONV)


sys.modules[__name__].__class__ = _Settings
