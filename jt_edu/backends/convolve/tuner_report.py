"""Tuner report: what has the tuner measured, in a form that people read?

    1 size, stored in <folder>
        algorithm       least time  slower workspace
    forward 16x64x56x56 * 64x64x3x3, padding 1, float32, 1 thread, numba
      > winograd4          1.21 ms   1.00x    2.1 MB
        panels             1.87 ms   1.55x    310 kB
        direct              9.4 ms   7.77x       0 B    dropped after one run

Small sizes come first: 32 x 28 x 28 before 128 x 28 x 28. A notebook shows one table, and opens a size by a click.
Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from html import escape

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.autotuner import Entry, Timing

TICK = 1e-9  # seconds: a coarse clock says 0
ROUNDED = 0.9995  # from here on three digits show the next unit's 1
HEAD = f"    {'algorithm':<16}{'least time':>10}{'slower':>8}{'workspace':>10}"


@dataclass(frozen=True, repr=False)
class Table:
    """All entries, and what this process spent on measuring: so many candidates, so many samples."""

    entries: tuple[Entry, ...]
    timed: int
    samples: int
    folder: str = ""  # where they are kept; "" where nothing can be kept

    @property
    def summary(self) -> str:
        """How many sizes there are, and where they are stored."""
        count = f"{len(self)} size{'s' if len(self) != 1 else ''}"
        return f"{count}, stored in {self.folder}" if self.folder else f"{count}, in the memory of this process"

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        if not self.entries:
            return "nothing was measured yet: jt.backends.conv.benchmark = True measures"
        return "\n".join([self.summary, HEAD, *(row for e in _ordered(self.entries) for row in rows_of(e))])

    def _repr_html_(self) -> str:
        if not self.entries:
            return f"<p>{escape(repr(self), quote=False)}</p>"
        return f"<p>{escape(self.summary, quote=False)}</p>" + "".join(_html_of(e) for e in _ordered(self.entries))


def _ordered(entries: Iterable[Entry]) -> list[Entry]:
    """By numbers, not by their digits."""
    return sorted(entries, key=lambda e: (e.backend, e.threads, astuple(e.sizes)))


def _cells(entry: Entry) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, time, how many times the least one, workspace and a note, of each candidate."""
    least = max(entry.timings[0].seconds, TICK)
    for t in entry.timings:
        yield t.name, time_text(t.seconds), f"{max(t.seconds, TICK) / least:.2f}x", size_text(t.bytes), _note(t)


def _html_of(entry: Entry) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("algorithm", "least time", "slower", "workspace", ""))
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(c, quote=False)}</td>' for c in cells)}</tr>" for cells in _cells(entry)
    )
    first = entry.timings[0]
    told = f"{_title(entry)}: {first.name}, {time_text(first.seconds)}"
    return f"<details><summary>{escape(told, quote=False)}</summary><table><tr>{head}</tr>{rows}</table></details>"


def rows_of(entry: Entry) -> Iterator[str]:
    """One entry: what is computed, and a row for each candidate, the winner marked."""
    yield _title(entry)
    for k, (name, seconds, times, size, note) in enumerate(_cells(entry)):
        mark = " " if k else ">"
        yield f"  {mark} {name:<16}{seconds:>10}{times:>8}{size:>10}" + (f"    {note}" if note else "")


def _title(entry: Entry) -> str:
    count = f"{entry.threads} thread{'s' if entry.threads > 1 else ''}, " * bool(entry.threads)  # 0: a GPU
    return f"{sizes_text(entry.sizes)}, {count}{entry.backend}"


def _note(timing: Timing) -> str:
    return {0: "an estimate: not tried", 1: "dropped after one run"}.get(timing.runs, "")


def sizes_text(sizes: Sizes) -> str:
    """A convolution in a line, without the axes that are 1 long.

    Example:
        >>> sizes_text(Sizes("forward", 2, 3, 8, 1, (1, 9, 9), (1, 3, 3), (1, 7, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1)))
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
        >>> time_text(0.00225), time_text(3e-5), time_text(0.00099999)
        ('2.25 ms', '30 µs', '1 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= ROUNDED * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size_text(count: int) -> str:
    """12 B, 1.5 kB, 3.2 MB.

    Example:
        >>> size_text(12), size_text(1_500_000), size_text(999_900)
        ('12 B', '1.5 MB', '1 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= ROUNDED * size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
