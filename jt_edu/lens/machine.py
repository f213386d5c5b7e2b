"""Machine: how fast is this computer at best, in the very words that kernels use?

    copy       out[i] = x[i]                  bytes per second, read and written both counted     all threads
    read       s += x[i, j]                   bytes per second                                    all threads
    chains     t = t * t - 0.5, in registers  float32 operations per second                 one thread, all threads
    product    a @ b                          the same, as our matrix product gets it             all threads

The arrays are far larger than the last cache, and every sample takes another piece of them, so what is read comes from
memory. Samples are short (about 1 ms) and many, and the fastest counts: on a machine that is shared it is the one that
nobody disturbed. Alone on its core a thread is timed by its own CPU clock; several together only by the wall clock, so
if even the fastest sample got less than three quarters of the cores, the record says `disturbed`, and is not kept.

The answer is kept for this process, and on disk for the next ones. Nothing here knows graphs or pictures.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Program
from jt_edu.backends.kernel_cache import Store
from jt_edu.backends.thread_pool import threads
from jt_edu.base.context import rank_context
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.ops.create import sync
from jt_edu.variable.var import array

VERSION = 1
BUDGET = 0.05  # seconds for each of the five measurements, beside compiling
PATIENCE = 3  # budgets that are spent while others need the cores
LEAST = 24  # samples, even if they take longer
PIECES = 8  # into which large arrays are cut
CHAINS, STEPS = 2, 12  # of the chains kernel: enough independent work for two multiply-add units
PRODUCT = 512  # rows and columns
ALONE = 0.75  # of the cores: with less, a sample was disturbed
CPUINFO, CACHES = Path("/proc/cpuinfo"), Path("/sys/devices/system/cpu/cpu0/cache")

COPY = """from jt_edu.backends.mathlib import at


def kernel(lo, hi, x, out):
    for i in range(lo, hi):
        out[at(i)] = x[at(i)]
"""
READ = """from jt_edu.backends.mathlib import at, float32


def kernel(lo, hi, x, out):
    for i in range(lo, hi):
        s = float32(0)
        for j in range(x.shape[1]):
            s = s + x[at(i), at(j)]
        out[at(i)] = s
"""


@dataclass(frozen=True)
class Machine:
    """What this machine does at best. Speeds are per second; an operation is one `+` or `*` of float32 numbers."""

    cpu: str
    threads: int  # that took part where it says "all threads"
    copy_bytes_per_second: float  # all threads; bytes read and bytes written both counted
    read_bytes_per_second: float  # all threads; bytes read
    one_thread_flops_per_second: float  # multiply-add chains in registers, one thread
    all_threads_flops_per_second: float  # the same, all threads
    product_flops_per_second: float  # matrix product of (512, 512) by (512, 512), all threads
    cache_bytes: int  # the last cache; 0 if the system does not tell
    array_bytes: int  # of each array that was copied and read
    disturbed: bool  # others needed the cores meanwhile: the speeds are lower bounds

    @property
    def bytes_per_second(self) -> float:
        """The roof over kernels that wait for memory: the faster of copying and reading."""
        return max(self.copy_bytes_per_second, self.read_bytes_per_second)

    @property
    def flops_per_second(self) -> float:
        """The roof over kernels that wait for arithmetic: the fastest that was seen."""
        return max(self.all_threads_flops_per_second, self.product_flops_per_second, self.one_thread_flops_per_second)

    def as_dict(self) -> dict[str, Any]:
        """The record for a document: its fields, and the two roofs as "bandwidth" and "flops"."""
        return asdict(self) | {"bandwidth": self.bytes_per_second, "flops": self.flops_per_second}


_known: dict[int, Machine] = {}
_lock = threading.Lock()


def machine(again: bool = False) -> Machine:
    """How fast this machine moves bytes and computes; measured once (about a second), then remembered, also on disk.

    Args:
        again: measure anew, whatever is remembered.

    Returns:
        A `Machine`, a frozen record.

    Example:
        >>> m = jt.machine()
        >>> m.flops_per_second >= m.one_thread_flops_per_second > 1e8, m.bytes_per_second > 1e8
        (True, True)
    """
    count = threads()
    with _lock:
        if again or count not in _known:
            _known[count] = (None if again else _load(count)) or _measure_and_keep(count)
        return _known[count]


def _load(count: int) -> Machine | None:
    """What an earlier process kept; a file that is not what was written is as good as none."""
    found = Store("machine").load(_key(count))
    try:
        return None if found is None else Machine(**json.loads(found))
    except (TypeError, ValueError):
        return None


def _measure_and_keep(count: int) -> Machine:
    measured = _measure(count)
    if not measured.disturbed:
        Store("machine").save(_key(count), json.dumps(asdict(measured)).encode())
    return measured


def _key(count: int) -> str:
    return hashlib.sha256(repr((VERSION, cpu_name(), count)).encode()).hexdigest()[:24]


def _measure(count: int) -> Machine:
    size = array_bytes()
    x, y = (np.ones(size // 4, np.float32) for _ in range(2))
    copied, read = _copying(x, y, count), _reading(x, count)
    del x, y
    (one, several), product = _chains(count), _product()
    return Machine(
        cpu=cpu_name(), threads=count,
        copy_bytes_per_second=copied.speed, read_bytes_per_second=read.speed,
        one_thread_flops_per_second=one.speed, all_threads_flops_per_second=several.speed,
        product_flops_per_second=product.speed,
        cache_bytes=cache_bytes(), array_bytes=size,
        disturbed=any(s.share < ALONE * count for s in (copied, read, several)),
    )  # fmt: skip


# what is measured


@dataclass(frozen=True)
class Sample:
    """The fastest of many calls: what was done per second, and how many cores worked on it."""

    speed: float
    share: float


def _copying(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], count: int) -> Sample:
    program = _program(COPY, 1)
    pieces = cycle(zip(_pieces(x), _pieces(y), strict=True))
    return fastest(lambda: _launch(program, next(pieces)), 2 * x.nbytes // PIECES, cores=count)


def _reading(x: np.ndarray[Any, Any], count: int) -> Sample:
    program = _program(READ, 2)
    out = np.empty(len(x) // PIECES >> 12, np.float32)
    pieces = cycle(_pieces(x))
    rows = (piece.reshape(-1, 1 << 12) for piece in pieces)
    return fastest(lambda: _launch(program, (next(rows), out)), x.nbytes // PIECES, cores=count)


def _chains(count: int) -> tuple[Sample, Sample]:
    """One thread, and all: each thread has as much to do."""
    program = _program(chains_text(), 2)
    x = np.full((1024, 1024), 0.25, np.float32)
    out = np.empty(len(x), np.float32)
    rows, each = len(x) // count, 2 * CHAINS * STEPS * x.shape[1]
    one = fastest(lambda: program.call(0, rows, x[:rows], out), rows * each, time.thread_time)
    return one, fastest(lambda: _launch(program, (x, out)), len(x) * each, cores=count)


def _product() -> Sample:
    """Through our own operator, in a context of its own: no open trace sees it."""
    with rank_context():
        a = array(np.full((PRODUCT, PRODUCT), 0.5, np.float32))
        return fastest(lambda: sync([a @ a]), 2 * PRODUCT**3)


def chains_text() -> str:
    """The kernel of the chains: t * t - 0.5 stays between -0.5 and 0.5, so no number overflows or vanishes."""
    steps = [f"            t{c} = t{c} * t{c} - half" for _ in range(STEPS) for c in range(CHAINS)]
    return "\n".join([
        "from jt_edu.backends.mathlib import at, float32", "", "",
        "def kernel(lo, hi, x, out):",
        "    half = float32(0.5)",
        "    for i in range(lo, hi):",
        "        s = float32(0)",
        "        for j in range(x.shape[1]):",
        *(f"            t{c} = x[at(i), at(j)] * float32({1 - c / 8})" for c in range(CHAINS)),
        *steps,
        f"            s = s + {' + '.join(f't{c}' for c in range(CHAINS))}",
        "        out[at(i)] = s", "",
    ])  # fmt: skip


def _program(text: str, rank: int) -> Program:
    source = Source(text, (Parameter("x", "float32", rank), Parameter("out", "float32", 1)), apart=True)
    return backends.get("numba").compile(source)


def _launch(program: Program, arguments: tuple[np.ndarray[Any, Any], ...]) -> None:
    backends.get("numba").launch(program, arguments, len(arguments[0]))


def _pieces(x: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    return iter(np.split(x, PIECES))


def fastest(
    call: Callable[[], object], work: float, clock: Callable[[], float] = time.perf_counter, cores: int = 1
) -> Sample:
    """`work` per second in the fastest of as many calls as the budget allows; more, while it had too few cores."""
    call()
    least, share, samples, begun = math.inf, 0.0, 0, time.perf_counter()
    while samples < LEAST or time.perf_counter() - begun < BUDGET * (PATIENCE if share < ALONE * cores else 1):
        begin, busy = clock(), time.process_time()
        call()
        took, busy = clock() - begin, time.process_time() - busy
        if took < least:
            least, share = took, busy / max(took, 1e-9)
        samples += 1
    return Sample(work / max(least, 1e-9), share)


# what the system tells


def array_bytes() -> int:
    """Four times the last cache, between 64 and 256 MiB, and at most 1/16 of the memory there is."""
    wanted = min(max(4 * (cache_bytes() or 32 << 20), 64 << 20), 256 << 20)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 8 << 30
    return min(wanted, max(memory // 16, 8 << 20)) & -(1 << 20)


def cache_bytes() -> int:
    """Size of the last cache; 0 if the system does not tell."""
    sizes = [_text(place / "size").strip() for place in CACHES.glob("index*")]
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return max((int(s[:-1]) * units[s[-1]] for s in sizes if s[:-1].isdecimal() and s[-1] in units), default=0)


def cpu_name() -> str:
    """The maker's name for the CPU, as far as the system tells."""
    found = re.search(r"^model name\s*: (.+)$", _text(CPUINFO), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine() or "unknown"


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
