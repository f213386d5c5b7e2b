"""Device: which GPUs are there, and which one does a thread of Python mean?

CUDA_VISIBLE_DEVICES says which GPUs there are for this process, and in which order. The driver reads it once, when
somebody first asks for a GPU: a change after that changes nothing, and is told. Each thread has a device of its own,
at first 0. A process without a GPU has none, and kernels run in the interpreter; so do those of a process that was
forked from one that has a GPU, for the driver does not go along.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from ctypes import addressof, create_string_buffer
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, BackendError, JtError
from jt_edu.cuda.device_memory import DeviceMemory
from jt_edu.cuda.driver import NEEDED, UPDATE, Driver, Launch, libcuda
from jt_edu.cuda.staging import Staging

VISIBLE = "CUDA_VISIBLE_DEVICES"
FIRST = (7, 5)  # the oldest compute capability that the compiler knows
CUBINS = "JT_EDU_CUBINS"  # a folder of kernels that were compiled elsewhere: compiler.py
NO_COMPILER = (
    "kernels for a GPU are compiled by numba-cuda", "no numba-cuda",
    "pip install 'jt-edu[cuda]' 'numpy<2.5' (pip alone takes a newer numpy, with which numba-cuda does not start)",
)  # fmt: skip


@dataclass(eq=False)
class Device:
    """One GPU that is in use: what the process has of it, the line in which its work waits, memory, and copies."""

    number: int
    driver: Driver
    context: int
    stream: int
    capability: tuple[int, int]
    memory: DeviceMemory = field(init=False)
    staging: Staging = field(init=False)

    def __post_init__(self) -> None:
        self.memory, self.staging = DeviceMemory(self.driver, self.stream), Staging(self.driver, self.stream)

    def __repr__(self) -> str:
        return f"<GPU {self.number}>"

    def load(self, cubin: bytes, entry: str) -> int:
        """A function of machine code, on the GPU; what is kept goes back, if there is no room for it."""
        return self.memory.with_room(lambda: self.driver.load(cubin, entry))

    def start(self, kernel: Any, sizes: Sequence[int], shared: int, row: bytes, doing: Callable[[], str]) -> None:
        """Put a kernel in line that is loaded (on_card.py), with its arguments in a row of bytes."""
        room = create_string_buffer(row, len(row))
        self.driver.launch(Launch(kernel.function, sizes, shared, addressof(room), len(row)), self.stream, doing)

    def clock(self) -> Callable[[], float]:
        """Its own time in seconds: whoever reads it waits until all that was launched before has ended."""
        begin, now = self.driver.event(timed=True), self.driver.event(timed=True)
        self.driver.record(begin, self.stream)

        def clock() -> float:
            self.driver.record(now, self.stream)
            self.driver.wait(now)
            return self.driver.elapsed(begin, now)

        return clock


class Cards:
    """All GPUs that the driver shows. Each is opened when it is first needed.

    Args:
        library: libcuda, what stands in its place, or None.
    """

    latest: Cards | None = None  # whose driver was started

    def __init__(self, library: Any) -> None:
        self.visible = os.environ.get(VISIBLE)
        self.count = 0
        self.missing: JtError | None = None  # why there are none
        self._opened: dict[int, Device] = {}
        self._lock = threading.Lock()
        try:
            if library is None:
                raise BackendError(NEEDED, "no driver of NVIDIA", "a machine that has one")
            self.driver = Driver(library)
            Cards.latest = self
            self.count = self.driver.count()
            if not self.count:
                raise BackendError(NEEDED, "none", f"without {VISIBLE}")
        except JtError as error:
            hides = library is not None and self.visible is not None
            found = error.found + (f"; {VISIBLE} is {self.visible!r}" if hides else "")
            self.missing = type(error)(error.asked, found, error.attempt)

    @functools.cached_property
    def unfit(self) -> JtError | None:
        """Why nothing can be compiled that they would run; None, if it can."""
        try:
            self._examine()
        except JtError as error:
            return error
        return None

    def _examine(self) -> None:
        if not _has_compiler():
            raise BackendError(*NO_COMPILER)
        needed, found = _toolkit(), self.driver.version()
        if found // 1000 < needed:
            asked = f"the driver of the GPU is made for CUDA {needed}.0 or later, as numba-cuda is"
            raise BackendError(asked, f"a driver for CUDA {found // 1000}.{found % 1000 // 10}", UPDATE)
        for number in range(self.count):
            capability = self.driver.capability(number)
            if capability < FIRST:
                said = f"{self.driver.name(number)}, which has {capability[0]}.{capability[1]}"
                way = f"{VISIBLE} without number {number}; the interpreter needs no GPU"
                raise BackendError(f"a GPU has the compute capability {FIRST[0]}.{FIRST[1]} or a later one", said, way)

    def open(self, number: int) -> Device:
        """The GPU of that number, which calls of this thread mean from here on."""
        with self._lock:
            if number in self._opened:
                device = self._opened[number]
                self.driver.enter(device.context)
            else:
                context = self.driver.context(number)
                self.driver.enter(context)
                capability, stream = self.driver.capability(number), self.driver.stream()
                device = self._opened[number] = Device(number, self.driver, context, stream, capability)
        return device


@functools.cache
def cards() -> Cards:
    """All GPUs; the driver is started by whoever asks first."""
    with _starting:  # two threads that ask first get the same ones
        return _started()


_starting, _started = threading.Lock(), functools.cache(lambda: Cards(libcuda()))


def _forked() -> None:
    """In a process that was forked: the driver answers nothing there."""
    if Cards.latest is not None:
        way = 'multiprocessing.get_context("spawn"); the CPU goes on, with jt.flags.use_cuda = 0'
        Cards.latest.missing = BackendError(
            "a GPU is used by the process that opened it", "a process forked from it", way
        )


if hasattr(os, "register_at_fork"):  # where there is no fork, nothing can be forked
    os.register_at_fork(after_in_child=_forked)


class _Mine(threading.local):
    """What a thread of Python means."""

    number = 0
    device: Any = None
    stand_in: Any = None


_mine = _Mine()


def here() -> Device:
    """The GPU of this thread.

    Raises:
        BackendError: there is none.
        KernelError: it is lost.
    """
    if _mine.stand_in is not None:
        return _mine.stand_in  # type: ignore[no-any-return]
    found = cards()
    if found.missing is not None:
        raise copy(found.missing)  # to each a new one: it gathers lines of operators, and tracebacks
    found.driver.well()
    if _mine.device is None or _mine.device.driver is not found.driver or _mine.device.number != _mine.number:
        _mine.device = found.open(_mine.number)
    device: Device = _mine.device
    return device


@contextmanager
def standing_in(device: Device) -> Iterator[None]:
    """Inside, this thread is given another GPU than its own: one that only writes down what it is asked for."""
    _mine.stand_in = device
    try:
        yield
    finally:
        _mine.stand_in = None


def is_available() -> bool:
    """Whether kernels run on a GPU: there is one, it is well, and so is there a compiler for it.

    Example:
        >>> jt.cuda.is_available()
        False
    """
    found = cards()
    return found.missing is None and not found.driver.lost and found.unfit is None


@functools.cache
def _has_compiler() -> bool:
    return find_spec("numba_cuda") is not None or bool(os.environ.get(CUBINS))


@functools.cache
def _toolkit() -> int:
    """The CUDA whose tools make machine code here: 13 for 13.5. A driver of 13.0 takes what they make."""
    from importlib import metadata  # noqa: PLC0415 - it takes longer than all else, and a GPU is rare

    try:
        return int(metadata.version("cuda-bindings").partition(".")[0])
    except metadata.PackageNotFoundError:
        return 0


def device_count() -> int:
    """How many GPUs there are for this process.

    Example:
        >>> jt.cuda.device_count()
        0
    """
    _told_of_changes()
    return cards().count


def set_device(device: Any) -> None:
    """Choose the GPU on which this thread makes arrays and launches kernels.

    Args:
        device: its number or name; 0 is the first that CUDA_VISIBLE_DEVICES shows.

    Raises:
        ArgumentError: there is none of that number.
        BackendError: there is no GPU at all, or nothing that compiles for it.

    Example:
        >>> jt.cuda.set_device(0)
        Traceback (most recent call last):
        BackendError: this needs a GPU; found no driver of NVIDIA. Try: a machine that has one.
    """
    _told_of_changes()
    before, _mine.number = _mine.number, number_of(device)
    try:
        ready()
    except JtError:
        _mine.number = before
        raise


def ready() -> Device:
    """The GPU of this thread, for which kernels can be compiled.

    Raises:
        BackendError: there is no GPU, or nothing that compiles for it, or its driver is too old.
    """
    found = here()
    if (unfit := cards().unfit) is not None:
        raise copy(unfit)
    return found


def number_of(device: Any) -> int:
    """The number of a GPU that there is, from its number or its name; "cuda" means this thread's."""
    found = cards()
    if found.missing is not None:
        raise copy(found.missing)
    if device == "cuda":
        return _mine.number
    name, _, number = str(device).partition(":")
    if isinstance(device, str) and name == "cuda" and number.isdecimal():
        device = int(number)
    if not isinstance(device, int | np.integer) or isinstance(device, bool) or not 0 <= device < found.count:
        asked = f"a device is a number from 0 to {found.count - 1}, as {VISIBLE} shows them"
        raise ArgumentError(asked, repr(device), "jt.cuda.set_device(0)")
    return int(device)


def check_number(number: str | int) -> None:
    """Refuse the number of another GPU than this thread's."""
    asked = number_of(int(number))
    if asked != _mine.number:
        found = f"cuda:{asked} in a thread of cuda:{_mine.number}"
        raise ArgumentError("a thread computes on one GPU at a time", found, f'jt.cuda.set_device({asked}), and "cuda"')


def _told_of_changes() -> None:
    now = os.environ.get(VISIBLE)
    if now != cards().visible:
        told = f"{VISIBLE} is {now!r} now, but was {cards().visible!r} when the GPUs were counted, and that holds"
        warnings.warn(f"{told}: set it before Python starts, or above the first use of jt.cuda", stacklevel=3)


def current_device() -> int:
    """The number of the GPU that this thread means.

    Raises:
        BackendError: there is none.

    Example:
        >>> jt.cuda.current_device()
        Traceback (most recent call last):
        BackendError: this needs a GPU; found no driver of NVIDIA. Try: a machine that has one.
    """
    return number_of("cuda")


def get_device_name(device: Any = None) -> str:
    """What a GPU is called.

    Args:
        device: its number or name; that of this thread, if there is none.

    Raises:
        ArgumentError: there is none of that number.
        BackendError: there is no GPU at all.

    Example:
        >>> jt.cuda.get_device_name()
        Traceback (most recent call last):
        BackendError: this needs a GPU; found no driver of NVIDIA. Try: a machine that has one.
    """
    number = number_of("cuda" if device is None else device)
    return cards().driver.name(number)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, such as (9, 0): which instructions it knows.

    Args:
        device: its number or name; that of this thread, if there is none.

    Raises:
        ArgumentError: there is none of that number.
        BackendError: there is no GPU at all.

    Example:
        >>> jt.cuda.get_device_capability()
        Traceback (most recent call last):
        BackendError: this needs a GPU; found no driver of NVIDIA. Try: a machine that has one.
    """
    number = number_of("cuda" if device is None else device)
    return cards().driver.capability(number)


def synchronize() -> None:
    """Wait until all launches of this thread's GPU have ended; those of the interpreter have when they return.

    Raises:
        KernelError: one of them went wrong.

    Example:
        >>> jt.cuda.synchronize()
    """
    if cards().missing is None:
        device = here()
        device.driver.synchronize(device.stream)


def memory_stats() -> dict[str, int]:
    """What arrays take on this thread's GPU: bytes `used` now, at most (`peak`), and `kept` for the next ones; how
    often the driver was `asked` for bytes, and how often some were `reused`. Without a GPU that works it is empty.

    Example:
        >>> jt.cuda.memory_stats()
        {}
    """
    return here().memory.stats() if is_available() else {}
