"""Progress bar: one line that says how far a loop is, and how it goes.

    for name in jt.progress(names):
        ...

    12/40  #######.................  0:03, 0:07 left

    bar = jt.progress(loader, epoch=2, epochs=10)
    for x, y in bar:
        ...
        bar.show(loss=loss, accuracy=accuracy)

    epoch 2/10  batch 31/45  ################........  loss 0.3120  accuracy 0.912  0:03, 0:01 left, ...

In a notebook and in a terminal the line is written again and again; in a file there is one line per loop. `tqdm` draws
bars too, and goes over a loader of ours; it knows no epochs and no means, which a training wants.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TextIO

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short

UPDATES = 5  # per second, at most
WIDE = 24  # marks of the bar


class progress:  # noqa: N801 - it is used like a function
    """Go over `batches`, or anything else, and tell how far it is: means of what `show` was given, time, time left.

    Args:
        batches: what is iterated over; without a length, the time left is not known.
        epoch, epochs: the number of this epoch, from 1, and of all of them, if they are to be shown; with both, the
            line tells the time left of all epochs too.
        out: where to write: a terminal, a notebook or a file; by default `sys.stderr`, in a notebook `sys.stdout`.
        clock: tells the time, in seconds.

    Example:
        >>> bar = progress([1, 2], epoch=1, epochs=3, out=sys.stdout, clock=lambda: 0.0)
        >>> for batch in bar:
        ...     bar.show(loss=batch)
        epoch 1/3  batch 2/2  loss 1.5000  0:00
    """

    def __init__(
        self, batches: Iterable[Any], epoch: int | None = None, epochs: int | None = None, out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        if not isinstance(batches, Iterable):
            raise ArgumentError(
                "progress takes anything that a for loop can go over", short(batches), "range(n), a list or a loader"
            )
        self.batches, self.epoch, self.epochs, self.clock = batches, epoch, epochs, clock
        self.out = screen() if out is None else out
        self.total = _length(batches)
        self.done = 0
        self._sums: dict[str, tuple[float, int]] = {}
        self._begin = self._last = self.clock()
        self._width = 0

    def __iter__(self) -> Iterator[Any]:
        self.done, self._sums = 0, {}
        self._begin = self._last = self.clock()
        try:
            for batch in self.batches:
                yield batch
                self.done += 1
                self._update()
        finally:
            self._close()

    def show(self, **values: Any) -> None:
        """Numbers of this batch (or Vars of one element); the line shows their means over the epoch."""
        for name, value in values.items():
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + float(value), count + 1)

    @property
    def means(self) -> dict[str, float]:
        """The mean of each number over the batches of this epoch, so far."""
        return {name: total / count for name, (total, count) in self._sums.items()}

    @property
    def text(self) -> str:
        """The line as it would be written now."""
        parts = []
        if self.epoch is not None:
            parts.append(f"epoch {self.epoch}" + (f"/{self.epochs}" if self.epochs is not None else ""))
        count = f"{self.done}" + (f"/{self.total}" if self.total is not None else "")
        parts.append(f"batch {count}" if self._is_training else count)
        if self.total and self.done < self.total:
            parts.append(marks(self.done, self.total))
        parts += [f"{name} {mean:.{3 if name.startswith('acc') else 4}f}" for name, mean in self.means.items()]
        elapsed = self.clock() - self._begin
        return "  ".join([*parts, minutes(elapsed) + self._left(elapsed)])

    @property
    def _is_training(self) -> bool:
        return self.epoch is not None or bool(self._sums)

    def _left(self, elapsed: float) -> str:
        """The time left of this epoch and of all of them, as far as their numbers are known."""
        if not self.total or not self.done:
            return ""
        of_this = elapsed / self.done * max(0, self.total - self.done)
        text = f", {minutes(of_this)} left" if of_this else ""
        if self.epoch is None or self.epochs is None or self.epoch >= self.epochs:
            return text
        of_all = of_this + elapsed / self.done * self.total * (self.epochs - self.epoch)
        return text + (f", {minutes(of_all)} left of all epochs" if of_all else "")

    def _update(self) -> None:
        now = self.clock()
        if now - self._last >= 1 / UPDATES and rewrites(self.out):
            self._last = now
            self._write("\r", "")

    def _close(self) -> None:
        """The line stays, and what is written next begins below it."""
        self._write("\r" if rewrites(self.out) else "", "\n")

    def _write(self, before: str, after: str) -> None:
        if self.out is None:  # a program without a console
            return
        text = self.text
        self.out.write(before + (text.ljust(self._width) if before else text) + after)
        self.out.flush()
        self._width = len(text)


def screen() -> TextIO | None:
    """Where a line is shown that is written again and again, or None: in a notebook stderr is red, as errors are.

    Example:
        >>> screen() in (sys.stdout, sys.stderr)
        True
    """
    return sys.stdout if type(sys.stdout).__module__.startswith("ipykernel") else sys.stderr


def marks(done: int, total: int) -> str:
    """A bar of WIDE marks.

    Example:
        >>> marks(6, 24)
        '######..................'
    """
    full = WIDE * done // total
    return "#" * full + "." * (WIDE - full)


def rewrites(out: TextIO | None) -> bool:
    """Whether a carriage return leads back to the beginning of the line: in terminals and notebooks."""
    return out is not None and (type(out).__module__.startswith("ipykernel") or out.isatty())


def _length(batches: Iterable[Any]) -> int | None:
    """How many batches there are; a loader of a stream has a `len()` that does not know."""
    try:
        return len(batches) if isinstance(batches, Sized) else None
    except TypeError:
        return None


def minutes(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    Example:
        >>> minutes(75.2), minutes(3675)
        ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
