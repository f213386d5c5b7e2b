"""Selection: which algorithm computes a convolution, and why that one?

    benchmark off    each algorithm estimates its time from the sizes; the least estimate wins
    benchmark on     the tuner times all of them, once for each size and number of threads; the least time wins
    deterministic    the estimates again, whatever `benchmark` says: no clock has a part in it

Whatever needs more memory than `workspace_limit` is not a candidate. A `Choice` remembers the others and what they
cost, so that an explanation can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import resolve_name

from jt_edu import backends
from jt_edu.backends import thread_pool
from jt_edu.backends.convolve import Algorithm, Sizes, autotuner
from jt_edu.backends.convolve.autotuner import Timing
from jt_edu.backends.convolve.options import Options, options
from jt_edu.backends.convolve.standalone import workspace
from jt_edu.backends.convolve.tuner_report import size_text, time_text
from jt_edu.backends.thread_pool import threads
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, BackendError

# files of this folder
FAMILIES = (  # files with ALGORITHMS
    "im2col_gemm", "indirect_gemm", "pointwise", "winograd", "depthwise", "depthwise_simd", "fft", "direct",
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The algorithm to use, and what is known of all that could have been."""

    sizes: Sizes
    algorithm: Algorithm
    how: str  # "estimated" or "measured"
    timings: tuple[Timing, ...]  # of every candidate within the limit, the fastest first
    too_large: tuple[tuple[str, int], ...] = ()  # others, and the bytes that they need

    @property
    def reason(self) -> str:
        """In a line: why this one, and what the others cost."""
        mine = next(t for t in self.timings if t.name == self.algorithm.name)
        others = [f"{t.name} {_cost(t, self.how)}" for t in self.timings if t.name != mine.name]
        others += [f"{name} needs {size_text(b)}, more than the limit" for name, b in self.too_large]
        told = f"{self.how} {time_text(mine.seconds)}; " + (", ".join(others) or "no other algorithm fits")
        if not self.algorithm.spreads:
            return told
        error = self.algorithm.error * (1.0 if self.sizes.dtype == "float32" else 2.0**-29)
        return f"{told}; rounds to {error:.0e} of the largest sum, and writes out uneven tiles"


def algorithms() -> tuple[Algorithm, ...]:
    """All there are."""
    return _algorithms()


@lru_cache(maxsize=1)
def _algorithms() -> tuple[Algorithm, ...]:
    found: list[Algorithm] = []
    for family in FAMILIES:  # here, because they load numba, which takes a while
        found += resolve_name(f"jt_edu.backends.convolve.{family}:ALGORITHMS")
    return tuple(found)


def candidates(sizes: Sizes) -> list[Algorithm]:
    """Every algorithm that can compute it, the one that is thought to be fastest first."""
    local = options().local
    found = [a for a in algorithms() if a.kind == sizes.kind and a.suits(sizes) and not (local and a.spreads)]
    if not found:
        raise BackendError(f"no algorithm computes {sizes}", "none that suits", "jt.backends.conv.enabled = False")
    return sorted(found, key=lambda a: a.seconds(sizes))


def choose(sizes: Sizes) -> Algorithm:
    """The algorithm to use, under the settings of this rank."""
    return choice_of(sizes).algorithm


def choice_of(sizes: Sizes) -> Choice:
    """The same, with the reason.

    Raises:
        ArgumentError: no candidate keeps to `workspace_limit`.
    """
    wanted = options()
    found, large = _within_limit(candidates(sizes), sizes, wanted)
    if wanted.benchmark and not wanted.deterministic:
        entry = autotuner.mine.entry(found, sizes, backends.get(current().flags.backend))
        names = {a.name: a for a in found}
        timings = tuple(t for t in entry.timings if t.name in names)
        return Choice(sizes, names[timings[0].name], "measured", timings, large)
    estimates = tuple(Timing(a.name, a.seconds(sizes), 0, workspace(a, sizes, threads())) for a in found)
    return Choice(sizes, found[0], "estimated", estimates, large)


def _within_limit(
    found: Sequence[Algorithm], sizes: Sizes, wanted: Options
) -> tuple[list[Algorithm], tuple[tuple[str, int], ...]]:
    """The candidates that keep to the limit; names and bytes of the others.

    Each thread has its own scratch. Where the choice must not depend on the number of threads, as many are counted as
    the machine has cores.
    """
    limit = wanted.workspace_limit
    if limit is None:
        return list(found), ()
    count = max(threads(), thread_pool._cores()) if wanted.deterministic else threads()
    needs = {a.name: workspace(a, sizes, count) for a in found}
    fit = [a for a in found if needs[a.name] <= limit]
    if not fit:
        least = min(needs, key=lambda name: needs[name])
        raise ArgumentError(
            f"jt.backends.conv.workspace_limit is {limit} bytes",
            f"{least}, which asks for the least, and needs {needs[least]}",
            f"a limit of {needs[least]}, or None",
        )
    return fit, tuple((name, b) for name, b in needs.items() if b > limit)


def _cost(timing: Timing, how: str) -> str:
    if how == "measured" and not timing.runs:
        return f"estimated {time_text(timing.seconds)}, not tried"
    return time_text(timing.seconds)
