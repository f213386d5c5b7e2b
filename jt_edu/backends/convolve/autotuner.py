"""Autotuner: which algorithm is the fastest on this machine, when one looks?

    round 1     naive ################   panels ####   winograd4 ###        every candidate once, after a run to warm up
    round 2                              panels ###    winograd4 ###        without those that took over 9 times as long
      ...       from round 3 on over 3 times; until 15 rounds are done, or the budget is spent; the least time counts

All take turns, so that a machine that is busy for a moment is no candidate's disadvantage. Compiling is not timed. On
one thread the clock is that thread's own time; on several it is the time on the wall.

What was measured is an `Entry`: kept in memory, and on disk beside the kernels, one file for each, so that several
processes can add theirs. It counts for these sizes, this number of threads, this backend, this machine, and these texts
of the algorithms: the key of the file and the name of its folder say so.

Nothing here knows settings, or which algorithms there are.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from jt_edu.backends import Backend
from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.standalone import Alone, any_arrays, workspace
from jt_edu.backends.kernel_cache import Store
from jt_edu.backends.thread_pool import threads

ROUNDS = 15
BUDGET = 1.0  # seconds for all candidates of one size, except for the first round
SLOW = 3.0  # times the best so far: dropped
FAIR = 3  # rounds, until which only those are dropped that are SLOW squared: one sample may be somebody else's fault
HOPELESS = 20.0  # times the least estimate: not run at all, unless the estimate is a TRIFLE
TRIFLE = 1e-3  # seconds
SAMPLE = 2e-4  # seconds: a kernel that is faster than that runs several times between two looks at the clock
FORMAT = 1
MOST = 2**62  # no number in the table is larger
MISREAD = (ValueError, KeyError, TypeError, RecursionError)  # of a file that `as_json` did not write

Clock = Callable[[], float]


class Timing(NamedTuple):
    """What is known of one candidate."""

    name: str
    seconds: float  # the least that was measured; the estimate where nothing was
    runs: int  # samples; 0: its estimate alone ruled it out, 1 to 3: dropped after so many rounds
    bytes: int  # that it used besides the three arrays


@dataclass(frozen=True)
class Entry:
    """A line of the table: candidates for convolutions of one size, the fastest first."""

    sizes: Sizes
    threads: int
    backend: str
    timings: tuple[Timing, ...]

    @property
    def winner(self) -> str:
        """The name of the fastest."""
        return self.timings[0].name

    def as_json(self) -> bytes:
        """What stands in its file."""
        told = {"format": FORMAT, "sizes": asdict(self.sizes), "threads": self.threads, "backend": self.backend}
        return json.dumps({**told, "timings": self.timings}).encode()


def read_entry(content: bytes) -> Entry:
    """What `as_json` wrote; one of the MISREAD errors if it did not."""
    told = json.loads(content)
    if told["format"] != FORMAT:
        raise ValueError(f"the table has format {FORMAT}; found {told['format']!r}")
    timings = tuple(Timing(_word(n), _seconds(s), _count(r), _count(b)) for n, s, r, b in told["timings"])
    if not timings:
        raise ValueError("an entry has the time of one candidate at least; found none")
    return Entry(_sizes(dict(told["sizes"])), _count(told["threads"]), _word(told["backend"]), timings)


def _sizes(told: dict[str, Any]) -> Sizes:
    """Sizes of a convolution that could be one, or a MISREAD error."""
    read: dict[str, Any] = {name: _word(told.pop(name)) for name in ("kind", "dtype")}
    read |= {name: _count(told.pop(name), least=1) for name in ("n", "c", "o", "groups")}
    for name, (z, y, x) in told.items():
        read[name] = tuple(_count(value, least=-MOST if name == "padding" else 1) for value in (z, y, x))
    return Sizes(**read)


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise ValueError(f"a name in the table can be printed; found {value!r}")
    return value


def _count(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= MOST:  # nor a bool
        raise ValueError(f"a number in the table is whole, from {least} on; found {value!r}")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= MOST:  # infinity and nan are no times
        raise ValueError(f"a time in the table is in seconds; found {value!r}")
    return float(value)


def measured(
    runs: Mapping[str, Callable[[], object]], clock: Clock, budget: float = BUDGET
) -> dict[str, tuple[float, int]]:
    """The least time of each run, and how many samples were taken; slow ones drop out early.

    Example:
        >>> now, took = [0.0], {"slow": 10.0, "fast": 1.0}
        >>> def run(name):
        ...     now[0] += took[name]
        >>> measured({n: lambda n=n: run(n) for n in took}, lambda: now[0], budget=10.0)
        {'slow': (10.0, 1), 'fast': (1.0, 11)}
    """
    for run in runs.values():
        run()  # its memory is touched for the first time, and its code read
    least, count = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, 0)
    calls: dict[str, int] = {}
    alive, begin = list(runs), clock()
    for number in range(ROUNDS):
        for name in alive:
            least[name] = min(least[name], _sample(runs[name], clock, calls, name))
            count[name] += 1
        best = min(least.values())
        limit = SLOW * best if number + 1 >= FAIR else SLOW * SLOW * best
        alive = [name for name in alive if least[name] <= limit]
        if number == 0:
            begin = clock()
        elif clock() - begin >= budget:
            break
    return {name: (least[name], count[name]) for name in runs}


def _sample(run: Callable[[], object], clock: Clock, calls: dict[str, int], name: str) -> float:
    """Seconds of one call, as the mean of as many as the clock can see."""
    if name not in calls:
        begin = clock()
        run()
        calls[name] = max(1, min(100, round(SAMPLE / max(clock() - begin, 1e-7))))
        if calls[name] == 1:
            return clock() - begin
    begin = clock()
    for _ in range(calls[name]):
        run()
    return (clock() - begin) / calls[name]


def time_candidates(
    candidates: Sequence[Algorithm], sizes: Sizes, backend: Backend, hopeless: float = HOPELESS
) -> Entry:
    """Time candidates for one size; nothing is remembered."""
    left, right, out = any_arrays(sizes)
    estimates = {a.name: a.seconds(sizes) for a in candidates}
    most = max(TRIFLE, hopeless * min(estimates.values()))
    worth = [a for a in candidates if estimates[a.name] <= most]
    runs = {a.name: partial(Alone(a, sizes, backend), left, right, out) for a in worth}
    found = measured(runs, time.thread_time if threads() == 1 else time.perf_counter)
    timings = []
    for a in candidates:
        seconds, count = found.get(a.name, (estimates[a.name], 0))
        timings.append(Timing(a.name, seconds, count, workspace(a, sizes, threads())))
    timings.sort(key=lambda t: (t.runs == 0, t.seconds))
    return Entry(sizes, threads(), backend.name, tuple(timings))


@dataclass
class Tuner:
    """The table, and what it cost this process to fill it."""

    entries: dict[str, Entry] = field(default_factory=dict)
    timed: int = 0  # candidates
    samples: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    stamp: str = ""  # of the algorithms' texts and the machine; empty: found when it is first needed

    @property
    def store(self) -> Store:
        """The files of the table."""
        return _store(self.stamp or stamp())

    def entry(self, candidates: Sequence[Algorithm], sizes: Sizes, backend: Backend) -> Entry:
        """What was measured before, here or in another process; or measure now."""
        measure = partial(time_candidates, candidates, sizes, backend)
        return self.entry_of({a.name for a in candidates}, sizes, threads(), backend.name, measure)

    def entry_of(self, names: set[str], sizes: Sizes, count: int, backend: str, measure: Callable[[], Entry]) -> Entry:
        """The same for candidates of these names, which somebody else can measure; `count` threads, 0 on a GPU."""
        key = key_of(sizes, count, backend)
        known = self.entries.get(key)
        if known is not None and names <= {t.name for t in known.timings}:
            return known
        with self.lock:  # two that measure at once would disturb each other
            known = self.known(sizes, count, backend)
            if known is None or not names <= {t.name for t in known.timings}:
                known = self.entries[key] = measure()
                self.timed += sum(t.runs > 0 for t in known.timings)
                self.samples += sum(t.runs for t in known.timings)
                self.store.save(key, known.as_json())
            return known

    def known(self, sizes: Sizes, count: int, backend: str) -> Entry | None:
        """The line for this size, if there is one in memory or on disk."""
        key = key_of(sizes, count, backend)
        if key not in self.entries:
            found = self._load(key)
            if found is not None:
                self.entries[key] = found
        return self.entries.get(key)

    def all(self) -> list[Entry]:
        """Every line there is, also those that other processes have written."""
        for key in self._keys():
            if key not in self.entries and (found := self._load(key)) is not None:
                self.entries[key] = found
        return sorted(self.entries.values(), key=lambda e: (e.backend, e.threads, repr(e.sizes)))

    def clear(self) -> None:
        """Forget every line, on disk too."""
        with self.lock:
            self.entries.clear()
            for key in self._keys():
                for file in (self.store.folder or Path()).glob(f"k_{key}.bin"):
                    with suppress(OSError):
                        file.unlink()

    def _keys(self) -> list[str]:
        folder = self.store.folder
        return [] if folder is None else [path.stem.removeprefix("k_") for path in folder.glob("k_*.bin")]

    def _load(self, key: str) -> Entry | None:
        """The line in the file of that key; None where there is none, or that of something else."""
        content = self.store.load(key)
        with suppress(*MISREAD):
            found = None if content is None else read_entry(content)
            if found is not None and key_of(found.sizes, found.threads, found.backend) == key:
                return found
        return None


mine = Tuner()  # of this process


def key_of(sizes: Sizes, count: int, backend: str) -> str:
    """Names a line: everything that a time depends on, except for the machine and the algorithms."""
    told = [[getattr(sizes, f.name) for f in fields(sizes)], count, backend]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


@cache
def stamp() -> str:
    """Names the machine and the texts of all algorithms: with other ones, other times would be measured."""
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), *sorted((here / "kernels").glob("*.py"))]
    texts = [(f.name, f.read_bytes()) for f in files if f.name not in ("selection.py", "options.py", "autotuner.py")]
    compiler = resolve_name("jt_edu.backends.numba_cpu:_stamp")()  # here, because loading numba takes a while
    return hashlib.sha256(repr([compiler, texts]).encode()).hexdigest()[:12]


@cache
def _store(name: str) -> Store:
    return Store(f"tuner-{name}")
