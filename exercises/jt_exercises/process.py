"""Process: a learner's objects run beside us, so that none of them can hang, crash or bribe the one who judges.

    with Forked([backward], seconds=20) as side:     a copy of this process
        (answer,) = side.answers()                   a handle of the function
        answer(3, 4)                                 goes there, and comes back as plain values

A fork has the learner's objects as they are, notebook and all, and nothing has to be pickled. It has so many seconds
for each answer, so much memory, and is ended whatever it does. Where a system cannot fork, Here calls the objects in
this process; values still become plain ones on the way.
"""

from __future__ import annotations

import builtins
import ctypes
import faulthandler
import math
import os
import select
import signal
import struct
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from jt_exercises.wire import LONGEST, WireError, pack, unpack
from jt_exercises.worker import Worker, itself

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS = 20.0  # for one answer
LAST = 2.0  # seconds for a process that says nothing more to end
MEMORY = 4 << 30  # bytes of addresses that an answer may take besides what there is
LETTERS = 2000  # of an error that are shown
COPY = hasattr(os, "fork") and sys.platform != "darwin"  # macOS: its own libraries do not survive a fork


class JudgedError(Exception):
    """What a judge says of an answer."""


class LostError(Exception):
    """The process of an answer is gone; the message says why, in a learner's words."""


class RaisedError(Exception):
    """A learner's function raised an error."""

    def __init__(self, kind: str, words: str, line: int, text: str) -> None:
        super().__init__(words)
        self.kind, self.words, self.line, self.text = kind, words, line, text


@dataclass(repr=False)
class Handle:
    """An object of the other side: it can be called, and nothing else is known of it but its name."""

    side: Side
    number: int
    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *arguments: Any) -> Any:
        """What the object answers."""
        return self.side.call(self.number, arguments)

    def through(self, probe: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the course answers that is called there, with the object first."""
        return self.side.call(self.number, arguments, probe)


class Text(str):
    """A text of the other side: it is known here, and `through` hands it to a function of the course there."""

    through: Callable[..., Any]


@dataclass
class Side(ABC):
    """Where the objects are."""

    objects: Sequence[Any]
    functions: list[Callable[..., Any]] = field(default_factory=list)  # of ours, that the other side may call
    calls: int = 0
    took: float = 0.0  # seconds of all calls
    said: JudgedError | None = None  # from within a function of ours that an answer called

    def answers(self) -> list[Any]:
        """The objects: a handle of each function, and plain values of all others."""
        return [self._known(k, self.call(k, (), itself)) for k in range(len(self.objects))]

    def _known(self, number: int, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = Text(value)
        text.through = Handle(self, number, "text").through
        return text

    def call(self, number: int, arguments: Sequence[Any], through: Callable[..., Any] | None = None) -> Any:
        """One question, and its answer in plain values."""
        self.calls += through is not itself
        place = f"{through.__module__}:{through.__qualname__}" if through else ""
        asked = {"call": number, "arguments": tuple(arguments), "through": place}
        begin, self.said = time.perf_counter(), None
        try:
            return self.value(self.exchange(pack(asked, self._keep, trusted=True)))
        finally:
            self.took += (time.perf_counter() - begin) * (through is not itself)
            if self.said is not None:
                raise self.said

    def value(self, reply: bytes) -> Any:
        """What a reply says, or the error that it tells of; a function of ours that it asks for is called."""
        while True:
            match unpack(reply, self._find):
                case {"value": value}:
                    return value
                case {"raised": ("NotImplementedError", str(words), _, _)}:
                    raise NotImplementedError(plain(words))
                case {"raised": (str(kind), str(words), int(line), str(text))}:
                    raise RaisedError(plain(kind), plain(words), line, plain(text))
                case {"back": int(k), "arguments": tuple(arguments)} if 0 <= k < len(self.functions):
                    reply = self.exchange(self._own(k, arguments))
                case _:
                    raise WireError("no answer of ours")

    def _own(self, number: int, arguments: tuple[Any, ...]) -> bytes:
        """Call a function of ours. Its error goes to who called it; a judgement also counts when that one has ended."""
        try:
            return pack({"value": self.functions[number](*arguments)}, self._keep, trusted=True)
        except Exception as error:  # noqa: BLE001 - such as for an argument that makes no sense
            self.said = self.said or (error if isinstance(error, JudgedError) else None)
            return pack({"refused": (type(error).__name__, str(error))}, self._keep)

    def _keep(self, value: Any) -> tuple[str, int]:
        if isinstance(value, Handle):
            return "ours", value.number
        if not callable(value):
            raise TypeError(f"an argument is a number, a text, an array, a record or a function, not {value!r}")
        self.functions.append(value)
        return "theirs", len(self.functions) - 1

    def _find(self, told: Any) -> Handle:
        number, name = told
        return Handle(self, int(number), plain(str(name)))

    @abstractmethod
    def exchange(self, message: bytes) -> bytes:
        """Send a message there, and wait for the answer."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""


def plain(words: str) -> str:
    """Some letters that were sent to us, to be shown: no codes that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in words[:LETTERS])


@dataclass
class Here(Side):
    """In this process: for a debugger, and where nothing can be forked. There is no limit."""

    def __post_init__(self) -> None:
        self._worker = Worker(list(self.objects), self._back)

    def __exit__(self, *_: object) -> None:
        self._worker.kept.clear()

    def exchange(self, message: bytes) -> bytes:
        """Ask the worker."""
        return self._worker.answer(message)

    def _back(self, message: bytes) -> bytes:
        """A function of ours is called from within one of theirs."""
        asked = unpack(message, self._find)
        return self._own(asked["back"], asked["arguments"])


@dataclass
class Piped(Side):
    """In a process at the other end of two pipes."""

    seconds: float = SECONDS
    pid: int = 0
    reads: int = -1
    writes: int = -1
    until: float = math.inf  # no answer counts after that time of time.monotonic()
    lost: str = ""  # why no more answers come

    def exchange(self, message: bytes) -> bytes:
        """LostError where no answer comes in time, or no more will come; from then on it comes at once."""
        if not self.lost:
            end = min(time.monotonic() + self.seconds, self.until)
            try:
                send(self.writes, message, end)
                return receive(self.reads, end)
            except TimeoutError:
                self.lost = f"it did not end within {self.seconds:g} s. Is there a loop that never ends?"
            except WireError as error:
                self.lost = str(error)
            except (EOFError, BrokenPipeError):
                self.lost = self._how_it_ended()
            self._end()
        raise LostError(self.lost)

    def _how_it_ended(self) -> str:
        end = time.monotonic() + LAST
        while (found := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):  # it has closed its pipe, and is still there
            if time.monotonic() > end:
                return "it no longer answers"
            time.sleep(0.001)
        self.pid = 0
        number = os.waitstatus_to_exitcode(found[1])
        number = 128 - number if number > 128 else number  # how a shell, and a sandbox, tells of a signal
        if number >= 0:
            return "it made Python exit"
        name = signal.Signals(-number).name if -number in set(signal.Signals) else f"signal {-number}"
        return {"SIGKILL": "it was ended by the system: it took too much memory"}.get(
            name, f"it made Python crash with {name}: it read or wrote outside of its arrays"
        )

    def _end(self) -> None:
        """End the process, and what it has begun."""
        pid, self.pid = self.pid, 0
        if pid:
            for kill in (os.killpg, os.kill):  # it may have left its group
                with suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def __exit__(self, *_: object) -> None:
        for file in (self.reads, self.writes):
            with suppress(OSError):
                os.close(file)
        self._end()


class Forked(Piped):
    """In a copy of this process."""

    def __enter__(self) -> Self:
        (there, self.writes), (self.reads, here) = os.pipe(), os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            os.close(there)
            os.close(here)
            os.set_blocking(self.writes, False)
            with suppress(PermissionError, ProcessLookupError):  # whoever is first
                os.setpgid(self.pid, self.pid)
            return self
        try:
            os.setpgid(0, 0)
            os.close(self.reads)
            os.close(self.writes)
            end_with_parent()
            builtins.input = _nobody  # the notebook would wait for a line that nobody can write
            faulthandler.disable()  # a crash is told in a sentence, and not by our frames
            limit()
            serve(self.objects, there, here)
        finally:
            os._exit(0)


def _nobody(*_: object) -> str:
    raise EOFError("input() asks somebody, and a check has nobody to ask")


def serve(objects: Sequence[Any], reads: int, writes: int) -> None:
    """Answer until nobody asks any more."""

    def exchange(message: bytes) -> bytes:
        send(writes, message)
        return receive(reads)

    worker = Worker(list(objects), exchange)
    with suppress(EOFError, BrokenPipeError):
        while message := receive(reads):  # an empty one: there are no more questions
            answer = worker.answer(message)
            sys.stdout.flush()
            send(writes, answer)


def end_with_parent() -> None:
    """From now on this process ends when the one that began it does, however that ends."""
    with suppress(AttributeError, OSError):  # Linux has it
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def limit() -> None:
    """Take no more than so much memory from now on, and be the first to go where a machine has none left."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - of Linux
        file.write("1000")
    with suppress(ValueError, OSError, AttributeError):  # AttributeError: Windows has no such limits
        with open("/proc/self/statm") as file:  # noqa: PTH123
            has = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, has + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# messages on a pipe: a length, then so many bytes


def send(file: int, message: bytes, until: float | None = None) -> None:
    """Write a message; TimeoutError where nobody reads it until a time of time.monotonic()."""
    data = memoryview(struct.pack("<Q", len(message)) + message)
    while data:
        if until is not None and not select.select([], [file], [], max(0, until - time.monotonic()))[1]:
            raise TimeoutError
        with suppress(BlockingIOError):
            data = data[os.write(file, data) :]


def receive(file: int, until: float | None = None) -> bytes:
    """The next message; EOFError where nobody writes any more, TimeoutError at a time of time.monotonic()."""
    (size,) = struct.unpack("<Q", _read(file, 8, until))
    if size > LONGEST:
        raise WireError(f"an answer of more than {LONGEST >> 20} MB")
    return _read(file, size, until)


def _read(file: int, size: int, until: float | None) -> bytes:
    found = bytearray()
    while len(found) < size:
        if until is not None and not select.select([file], [], [], max(0, until - time.monotonic()))[0]:
            raise TimeoutError
        part = os.read(file, min(size - len(found), 1 << 20))
        if not part:
            raise EOFError
        found += part
    return bytes(found)
