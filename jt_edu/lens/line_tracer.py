"""Line tracer: what does plain Python do, line by line and cell by cell, while it runs?

    recorder = Recorder(most=2000)
    seen = recorder.watch(array, "a0", "in", 3, "float32")    the same memory, whose reads and writes are told
    recorder.run(kernel, 4, [seen])                            until it ends, or for as many steps
    recorder.moments                                           a line was done: what it touched, what changed

Functions that stand in the kernel's own text are told as well, from the line that calls them on; functions of other
files are one step with that line. Nothing here knows plans or graphs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from jt_edu.base.dtypes import from_bfloat16

TOLD = 64  # cells of a slice that one line writes; of larger ones none is told


@dataclass(frozen=True)
class Touch:
    """One element was read or written; `place` counts the array's elements in row-major order."""

    array: int
    place: int
    value: float | str
    write: bool


@dataclass(frozen=True)
class Moment:
    """A line was done: what it touched, and which variables have a new value."""

    line: int
    touches: tuple[Touch, ...]
    changes: tuple[tuple[str, float | str], ...]


@dataclass
class Watch:
    """An argument that is an array: what it was called, which node it belongs to, and what it held at first."""

    name: str
    role: str  # "in", "out" or "scratch"
    node: int
    dtype: str
    first: Any = field(repr=False)  # a copy

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns, as it is drawn: the last axis lies across."""
        columns = self.first.shape[-1] if self.first.ndim else 1
        return (self.first.size // columns if columns else 0, columns)


class _Watched(np.ndarray[Any, Any]):
    """An array that tells which of its elements are read and written; so do its slices, which share its memory."""

    recorder: Recorder | None = None
    number = 0
    begin = 0  # address

    def __array_finalize__(self, other: Any) -> None:
        self.recorder = getattr(other, "recorder", None)
        self.number, self.begin = getattr(other, "number", 0), getattr(other, "begin", 0)

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        if not isinstance(value, np.ndarray):
            self._tell(index, value, write=False)
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        cells = super().__getitem__(index)
        if not isinstance(cells, _Watched):
            self._tell(index, cells, write=True)
        elif cells.size <= TOLD and np.may_share_memory(self, cells):  # a slice; what a list of places picks is a copy
            for place, cell in np.ndenumerate(cells):
                cells._tell(place, cell, write=True)

    def _tell(self, index: Any, value: Any, *, write: bool) -> None:
        if self.recorder is None:
            return
        at = index if isinstance(index, tuple) else (index,)
        steps = zip(at, self.shape, self.strides, strict=True)
        offset = sum((int(i) + (n if i < 0 else 0)) * stride for i, n, stride in steps)
        place = (self.__array_interface__["data"][0] - self.begin + offset) // self.itemsize
        self.recorder.touch(self.number, place, value, write)


class _Enough(Exception):  # noqa: N818 - it is no error
    """As many steps as were asked for."""


@dataclass
class _Call:
    """A function that is running: the line that it does, what its variables were, and whether the line was told."""

    known: dict[str, Any]
    line: int = 0
    told: bool = False


class Recorder:
    """Watches the frames of a kernel's text, and its arrays."""

    def __init__(self, most: int) -> None:
        self.most, self.ended, self.error = most, False, ""
        self.arrays: list[Watch] = []
        self.moments: list[Moment] = []
        self._touches: list[Touch] = []
        self._calls: list[_Call] = []
        self._given: dict[str, Any] = {}
        self._line = 0
        self._file = ""

    def watch(self, array: Any, name: str, role: str, node: int, dtype: str) -> Any:
        """The same memory, watched. What is written under two names is one array."""
        seen = array.view(_Watched)
        seen.recorder, seen.begin = self, array.__array_interface__["data"][0]
        same = (k for k, w in enumerate(self.arrays) if role == "out" and (w.role, w.node) == (role, node))
        seen.number = next(same, len(self.arrays))
        if seen.number == len(self.arrays):
            self.arrays.append(Watch(name, role, node, dtype, _real(array, dtype).copy()))
        return seen

    def touch(self, number: int, place: int, value: Any, write: bool) -> None:
        """An element was read or written."""
        real = _real(np.asarray(value), self.arrays[number].dtype)
        self._touches.append(Touch(number, place, _number(real[()]), write))

    def run(self, kernel: Callable[..., None], span: int, arguments: list[Any]) -> None:
        """Until it ends, or for as many steps as were asked for."""
        self._file = kernel.__code__.co_filename
        self._given = dict(zip(kernel.__code__.co_varnames, (0, span, *arguments), strict=False))
        before = sys.gettrace()
        try:
            with np.errstate(all="ignore"):
                sys.settrace(self._enter)
                kernel(0, span, *arguments)
            self.ended = True
        except _Enough:
            pass
        except Exception as error:  # noqa: BLE001 - an edited kernel may do anything
            self.error = f"line {self._line}: {type(error).__name__}: {error}"
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        """The kernel begins, or a function of its text: first the line is told that calls it."""
        if frame.f_code.co_filename != self._file:
            return None
        if self._calls and frame.f_back is not None:
            self._note(frame.f_back.f_locals)
            self._calls[-1].told = True
        arrays = {name: v for name, v in frame.f_locals.items() if isinstance(v, np.ndarray)}
        self._calls.append(_Call(arrays if self._calls else dict(self._given)))
        return self._hear

    def _hear(self, frame: FrameType, event: str, _: Any) -> Any:
        if event in ("line", "return"):
            call = self._calls[-1]
            if call.line:
                self._note(frame.f_locals)
            self._line = call.line = frame.f_lineno
            call.told = False
        if event == "return":
            self._calls.pop()
        return self._hear

    def _note(self, now: dict[str, Any]) -> None:
        """The line that was done."""
        call = self._calls[-1]
        fresh = {name: v for name, v in now.items() if name not in call.known or not _same(call.known[name], v)}
        if call.told and not fresh and not self._touches:
            return
        call.known.update(fresh)
        changes = tuple((name, _number(value)) for name, value in fresh.items())
        self.moments.append(Moment(call.line, tuple(self._touches), changes))
        self._touches.clear()
        if len(self.moments) >= self.most:
            raise _Enough


def _same(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and type(a) is type(b) and a == b)


def _real(array: Any, dtype: str) -> Any:
    """Numbers as their dtype means them: halves lie in memory as whole numbers."""
    if array.dtype == np.uint16 and dtype == "float16":
        return np.ascontiguousarray(array).view(np.float16).reshape(array.shape)
    if array.dtype == np.uint16 and dtype == "bfloat16":
        return from_bfloat16(array)
    return np.asarray(array)


def _number(value: Any) -> float | str:
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        plain = value.item() if isinstance(value, np.generic) else value
        return int(plain) if isinstance(plain, bool) else plain
    if isinstance(value, complex | np.complexfloating):
        return f"{complex(value):.4g}"
    return f"array {value.shape}" if isinstance(value, np.ndarray) else str(value)[:40]
