"""Table: what has the tuner measured, in a form that people read?

    forward 16x64x56x56 * 64x64x3x3, stride 1, padding 1, float32, 1 thread, numba
      > winograd4       1.21 ms    1.00x      2.1 MB
        panels          1.87 ms    1.55x      310 kB
        direct          9.4 ms     7.8x         0 B    dropped after one run

Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.tuner import Entry, Timing

TICK = 1e-9  # seconds: a coarse clock says 0


@dataclass(frozen=True, repr=False)
class Table:
    """All entries, and what this process spent on measuring: so many candidates, so many samples."""

    entries: tuple[Entry, ...]
    timed: int
    samples: int

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        if not self.entries:
            return "nothing was measured yet: jt.backends.conv.benchmark = True measures"
        return "\n".join(row for entry in self.entries for row in rows_of(entry))


def rows_of(entry: Entry) -> Iterator[str]:
    """One entry: what is computed, and a row for each candidate, the winner marked."""
    least = max(entry.timings[0].seconds, TICK)
    threads = f"{entry.threads} thread{'s' if entry.threads > 1 else ''}"
    yield f"{in_words(entry.sizes)}, {threads}, {entry.backend}"
    for k, t in enumerate(entry.timings):
        mark = ">" if k == 0 else " "
        times = max(t.seconds, TICK) / least
        row = f"  {mark} {t.name:<16}{time_text(t.seconds):>9}{times:>7.2f}x{size_text(t.bytes):>10}"
        yield row + (f"    {_note(t)}" if _note(t) else "")


def _note(timing: Timing) -> str:
    return {0: "an estimate: not tried", 1: "dropped after one run"}.get(timing.runs, "")


def in_words(sizes: Sizes) -> str:
    """A convolution in a line, without the axes that are 1 long.

    Example:
        >>> in_words(Sizes("forward", 2, 3, 8, 1, (1, 9, 9), (1, 3, 3), (1, 7, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1)))
        'forward 2x3x9x9 * 8x3x3x3, float32'
    """
    first = next((k for k in range(2) if (sizes.image[k], sizes.kernel[k], sizes.places[k]) != (1, 1, 1)), 2)
    image = "x".join(map(str, (sizes.n, sizes.c, *sizes.image[first:])))
    weights = "x".join(map(str, (sizes.o, sizes.c // sizes.groups, *sizes.kernel[first:])))
    parts = [f"{sizes.kind} {image} * {weights}"]
    for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1)):
        steps = getattr(sizes, name)[first:]
        if set(steps) != {usual}:
            parts.append(f"{name} {'x'.join(map(str, steps if len(set(steps)) > 1 else steps[:1]))}")
    if sizes.groups > 1:
        parts.append(f"{sizes.groups} groups")
    return ", ".join([*parts, sizes.dtype])


def time_text(seconds: float) -> str:
    """1.5 s, 2.25 ms, 30 µs.

    Example:
        >>> time_text(0.00225), time_text(3e-5)
        ('2.25 ms', '30 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size_text(count: int) -> str:
    """12 B, 1.5 kB, 3.2 MB.

    Example:
        >>> size_text(12), size_text(1_500_000)
        ('12 B', '1.5 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
