"""Conv race: how do all algorithms that can compute one convolution compare?

    jt.backends.conv.race(x, w, padding=1)

Every candidate computes the same convolution, on the same arrays and as many threads as kernels use now. What it takes,
which memory it uses, and how far its answer is from that of generated loops in float64, stand beside each other. The
table of the tuner is not touched.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import inf
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import conv as conv  # noqa: PLC0414  handed on to the door, with what is hung on it here
from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.autotuner import time_candidates
from jt_edu.backends.convolve.selection import candidates
from jt_edu.backends.convolve.standalone import Alone, shapes_of
from jt_edu.backends.convolve.tuner_report import size_text, sizes_text, time_text
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.draw.bars import Bar, bars_svg
from jt_edu.ir.conv_pattern import KINDS, convolution
from jt_edu.ir.meta_ops import ReindexReduce
from jt_edu.ir.node import needed
from jt_edu.ops.conv import conv1d, conv2d, conv3d
from jt_edu.ops.gradient import grad
from jt_edu.variable.var import Var, as_var

WAYS = {3: conv1d, 4: conv2d, 5: conv3d}  # by the rank of the image


@dataclass(frozen=True)
class Runner:
    """One candidate of a race."""

    name: str
    seconds: float  # the least of several runs
    bytes: int  # that it used besides the three arrays
    error: float  # largest difference from the answer in float64, over the largest number of that answer
    estimate: float  # seconds that its cost model expected


@dataclass(frozen=True, repr=False)
class Race:
    """The candidates, the fastest first. A notebook shows bars, `print` a table."""

    sizes: Sizes
    threads: int
    runners: tuple[Runner, ...]

    @property
    def winner(self) -> Runner:
        """The fastest."""
        return self.runners[0]

    @property
    def chosen_by_estimate(self) -> Runner:
        """Who would have been chosen without looking at a clock."""
        return min(self.runners, key=lambda r: r.estimate)

    @property
    def summary(self) -> str:
        """In a sentence."""
        best, guess = self.winner, self.chosen_by_estimate
        other = "it as well" if guess is best else f"{guess.name}, which took {time_text(guess.seconds)}"
        return (
            f"{best.name} computes {sizes_text(self.sizes)} in {time_text(best.seconds)}, "
            f"{self.sizes.flops / best.seconds / 1e9:.3g} GFLOP/s; {len(self.runners)} algorithms raced. "
            f"The estimates alone would have chosen {other}."
        )

    @property
    def svg(self) -> str:
        """The picture: a file, or a part of a page."""
        bars = [Bar(r.name, r.seconds, _words(r), first=r is self.winner) for r in self.runners]
        return bars_svg(bars, sizes_text(self.sizes), self.summary)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'{self.svg}<p style="margin:4px 0">{escape(self.summary, quote=False)}</p>'

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self._rows()])

    def _rows(self) -> Iterator[str]:
        longest = self.runners[-1].seconds
        for r in self.runners:
            bar = "#" * max(1, round(24 * r.seconds / longest))
            yield f"  {'>' if r is self.winner else ' '} {r.name:<14} {bar:<24} {_words(r)}"


def _words(r: Runner) -> str:
    return f"{time_text(r.seconds)}, {size_text(r.bytes)}, error {r.error:.0e}"


def race(
    x: Any, w: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, kind: str = "forward"
) -> Race:
    """Let all algorithms that can compute a convolution do so, and compare them. Takes seconds for a large one.

    Args:
        x: the image, (n, c, ..., h, w), float32 or float64, with one to three directions: a Var or an array.
        w: the weights, (o, c / groups, ..., kh, kw), of the same dtype.
        stride, padding, dilation, groups: as for `jt.conv2d`.
        kind: what is asked for: "forward", or a gradient: "by_image", "by_weights".

    Raises:
        ShapeError: `x` has other than three to five axes, or does not fit `w`.
        DtypeError: other numbers than float32 or float64: the algorithms do without.
        ArgumentError: an unknown kind.

    Example:
        >>> with jt.flag_scope(backend="python"):
        ...     found = jt.backends.conv.race(jt.ones(1, 1, 3, 3), jt.ones(1, 1, 2, 2))
        >>> found.winner.seconds <= min(r.seconds for r in found.runners)
        True
        >>> max(r.error for r in found.runners) < 1e-5
        True
    """
    x, w = _racing(x, w, kind)
    given = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    sizes, left, right, answer = _question(x, w, kind, given)
    backend = backends.get(current().flags.backend)
    entry = time_candidates(candidates(sizes), sizes, backend, hopeless=inf)
    by_name = {a.name: a for a in candidates(sizes)}
    runners = []
    for t in entry.timings:
        out = np.full(answer.shape, np.nan, sizes.dtype)  # what is not written is not right by chance
        Alone(by_name[t.name], sizes, backend)(left, right, out)
        error = float(np.abs(out - answer).max()) / (float(np.abs(answer).max()) or 1.0)
        runners.append(Runner(t.name, t.seconds, t.bytes, error, by_name[t.name].seconds(sizes)))
    return Race(sizes, entry.threads, tuple(runners))


def _racing(image: Any, weights: Any, kind: str) -> tuple[Var, Var]:
    """Both as Vars, if there can be a race for them."""
    if kind not in KINDS.values():
        raise ArgumentError("a race is for one kind of convolution", repr(kind), " or ".join(map(repr, KINDS.values())))
    x, w = as_var(image), as_var(weights)
    if {str(x.dtype), str(w.dtype)} not in ({"float32"}, {"float64"}):
        raise DtypeError(
            "a race is between algorithms for float32 and for float64", f"x of {x.dtype} and w of {w.dtype}",
            "x.float(), w.float()",
        )  # fmt: skip
    if len(x.shape) not in WAYS:
        raise ShapeError(f"a race needs an image of three to five axes, such as {(1, 3, 32, 32)}", f"shape {x.shape}")
    return x, w


def _question(x: Var, w: Var, kind: str, given: dict[str, Any]) -> tuple[Sizes, Any, Any, Any]:
    """The sizes, both factors as algorithms take them, and the answer in float64."""
    way = WAYS[len(x.shape)]
    wide, weights = (Var(v.numpy().astype("float64")) for v in (x, w))
    places = way(wide, weights, None, **given)
    pattern = np.random.default_rng(0).standard_normal(places.shape)
    nodes = needed([way(Var(x.numpy()), Var(w.numpy()), None, **given).node])
    sums = (convolution(n) for n in nodes if isinstance(n.op, ReindexReduce))
    found = next((c for c in sums if c is not None), None)  # it is not the last node, where groups become channels
    if found is None:
        raise ShapeError("a race is between algorithms for convolutions", f"x {x.shape} and w {w.shape}")
    sizes = dataclasses.replace(found.sizes, kind=kind)
    asked = {"forward": places}
    if kind != "forward":
        by_image, by_weights = grad((places * Var(pattern)).sum(), [wide, weights])
        asked = {"by_image": by_image, "by_weights": by_weights}
    with conv.flags(enabled=False):
        answer = asked[kind].numpy()
    arrays = {"forward": (x.numpy(), w.numpy()), "by_image": (pattern, w.numpy()), "by_weights": (x.numpy(), pattern)}
    *shapes, out = shapes_of(sizes)
    left, right = (np.ascontiguousarray(a, sizes.dtype).reshape(s) for a, s in zip(arrays[kind], shapes, strict=True))
    return sizes, left, right, answer.reshape(out)


conv.race = race
