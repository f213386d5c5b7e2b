"""Code races: what does a wrong kernel do in silence?

Python runs the body of a `jt.code` once, iteration by iteration, on arrays that note who touches which element:

    element 3 of out     written by iteration 0 in line 2,  read by iteration 1 in line 4      a race
    element 5 of out     read in line 4, and nobody has written it                             arbitrary
    element 7 of out     never written                                                         arbitrary

Iterations of a `prange` run in any order and at the same time, so two of them may read an element together, but if one
of them writes it, the answer depends on who comes first. Here they run one after the other: the notes are always the
same, whatever threads would do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jt_edu.backends.learner_bodies import BODIES, set_size
from jt_edu.base.errors import KernelError, RangeError
from jt_edu.ops.code_text import Body

FILE = "<body of jt.code>"
Note = tuple[int | None, int]  # the iteration, if it is one of a prange, and the line


class Log:
    """Who touched what, so far."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.iteration: int | None = None
        self.writes: dict[tuple[str, int], Note] = {}
        self.reads: dict[tuple[str, int], Note] = {}

    def here(self) -> Note:
        """The iteration and the line of the body that run now."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename != FILE and frame.f_back:
            frame = frame.f_back
        return self.iteration, frame.f_lineno - 1

    def prange(self, *limits: int) -> Iterator[int]:
        """A range whose iterations are told apart."""
        if self.iteration is not None:  # within another one
            yield from range(*limits)
            return
        for self.iteration in range(*limits):
            yield self.iteration
        self.iteration = None

    def note(self, name: str, places: Any, writes: bool) -> None:
        """Elements of an array are read or written; refuse what another iteration would see."""
        now = self.here()
        for place in np.asarray(places).ravel().tolist():
            key = name, place
            for notes, verb in ((self.writes, "writes"), (self.reads, "reads") if writes else (self.writes, "writes")):
                then = notes.get(key)
                if then is not None and None not in (then[0], now[0]) and then[0] != now[0]:
                    raise self._race(name, place, then, verb, now, "writes" if writes else "reads")
            (self.writes if writes else self.reads)[key] = now

    def line(self, number: int) -> str:
        """A line of the body, with its number."""
        return f"line {number} `{BODIES[self.body.number][number - 1].strip()}`"

    def _race(self, name: str, place: int, then: Note, verb: str, now: Note, verb_now: str) -> KernelError:
        found = (
            f"a race for element {place} of {name}: iteration {then[0]} {verb} it in {self.line(then[1])}, "
            f"and iteration {now[0]} {verb_now} it in {self.line(now[1])}"
        )
        return KernelError(
            "iterations of prange do not touch what another one writes", found, "range, or other elements"
        )


class Watched:
    """An array, or a part of one, that notes what is done with it."""

    def __init__(self, log: Log, name: str, array: Any, places: Any, output: bool) -> None:
        self._log, self._name, self._array, self._places, self._output = log, name, array, places, output
        self.shape, self.strides, self.itemsize = array.shape, array.strides, array.itemsize
        self.size, self.ndim, self.dtype = array.size, array.ndim, array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def reshape(self, *shape: Any) -> Watched:
        """The same elements."""
        return Watched(self._log, self._name, self._array.reshape(*shape), self._places.reshape(*shape), self._output)

    def __getitem__(self, index: Any) -> Any:
        places = self._at(index)
        part = self._array[index]
        if np.ndim(part):
            return Watched(self._log, self._name, part, places, self._output)
        self._read(places)
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        places = self._at(index)
        self._log.note(self._name, places, writes=True)
        self._array[index] = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._read(self._places)
        return np.array(self._array, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) for x in inputs), **options)

    def _at(self, index: Any) -> Any:
        try:
            return self._places[index]
        except IndexError as error:
            line = self._log.line(self._log.here()[1])
            raise RangeError(f"{self._name} has shape {self.shape}", f"index {index} in {line} of the body") from error

    def _read(self, places: Any) -> None:
        for place in np.asarray(places).ravel().tolist() if self._output else ():
            if (self._name, place) not in self._log.writes:
                line = self._log.line(self._log.here()[1])
                found = f"element {place} of {self._name}, which nobody has written before, in {line}"
                raise KernelError("what is read of an output was written before", found, "to write it first")
        self._log.note(self._name, places, writes=False)


def watch(
    body: Body, header: str, arrays: Mapping[str, Any], outputs: Sequence[str], begun: bool, data: Any, bounded: int
) -> None:  # fmt: skip
    """Run a body in Python, and refuse races and elements that nobody writes.

    Args:
        body: of `translated(..., "watched")`.
        header: functions and imports for it.
        arrays: NumPy's, under their names.
        outputs: those that are written.
        begun: they have numbers to begin with.
        data: the numbers of `data`.
        bounded: how many outputs have an unknown length.
    """
    log = Log(body)
    space: dict[str, Any] = {"np": np, "prange": log.prange, "set_size": set_size}
    exec("import math\n" + header, space)  # noqa: S102 - the learner's own
    exec(compile(body.text, FILE, "exec"), space)  # noqa: S102
    seen = {
        name: Watched(log, name, a, np.arange(a.size).reshape(a.shape), name in outputs and not begun)
        for name, a in arrays.items()
    }
    sizes = [-1] * bounded
    space["body"](0, 1, *seen.values(), data, sizes)
    for name in outputs if not begun and not bounded else ():
        missing = [k for k in range(arrays[name].size) if (name, k) not in log.writes]
        if missing:
            found = f"{len(missing)} of {arrays[name].size} elements that are not, such as element {missing[0]}"
            raise KernelError(f"every element of {name} is written", found, "to write a number, if only 0")
