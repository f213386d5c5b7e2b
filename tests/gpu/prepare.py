"""Prepare: what a run needs is compiled before it, by all processors.

    ahead(cc, ...)        the networks, the table of speed and the products, before this machine's GPU is asked
    run(folder, cc)       those and the parity table, for a GPU that is elsewhere, where numba-cuda need not be

Texts are printed for arrays of zeros (texts.py); a row whose text depends on numbers may want another one later.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jt_edu as jt
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import compiler
from jt_edu.cuda.arguments import kind_of
from jt_edu.cuda.device import CUBINS
from tests.bench.rows import in_short
from tests.floors.cuda.kernels import CASES
from tests.gpu import checks, speed, work
from tests.gpu.pool import Job, answers
from tests.gpu.texts import COLLECTOR, collected, launches

Capability = tuple[int, int]
DAY = 86_400.0


def ahead(cc: Capability, left: Callable[[], float], processes: int) -> None:
    """Compile what comes later; what is refused, or does not fit into the time, is told there."""
    with suppress(BrokenProcessPool):
        for _ in jt.progress(answers(_jobs(cc, needed(cc)), left, processes)):
            pass


def run(folder: Path, cc: Capability, processes: int, *, quick: bool = False) -> int:
    """Fill a folder with machine code, and say how to use it; 1 if something was refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ[CUBINS] = str(folder.absolute())
    compiler._store.cache_clear()
    jobs = _jobs(cc, needed(cc, quick=quick, rows=checks.in_turn(checks.FEW if quick else 1)))
    refused: list[str] = []
    try:
        refused += filter(None, jt.progress(answers(jobs, lambda: DAY, processes)))
    except BrokenProcessPool:
        refused.append("A process that compiles has ended, and what waited was not compiled.")
    kept = [path.stat().st_size for path in folder.rglob("k_*.bin")]
    print(*refused, sep="\n", end="\n" * bool(refused))
    print(f"{len(kept)} kernels for sm_{cc[0]}{cc[1]}, {sum(kept) / 1e6:.0f} MB. There:")
    print(f"{CUBINS}={folder} python -m tests.gpu")
    return int(bool(refused))


def needed(cc: Capability, *, quick: bool = False, rows: Sequence[int] = ()) -> list[Source]:
    """The texts of a run, for a GPU of this compute capability."""
    with collected(cc) as texts:
        for look in _works(quick, rows):
            with suppress(Exception):  # zeros are not what it would find; whatever is wrong shows later
                look()
    return [*texts.values()]


def _works(quick: bool, rows: Sequence[int]) -> Iterator[Callable[[], Any]]:
    yield lambda: (jt.array([1.0]) + 1).sync()
    for name, sizes in checks.SIZES.items():
        yield partial(checks.losses, name, COLLECTOR, *sizes, compiled=True)
    yield partial(checks.products, *[checks.SMALL] * quick, backend=COLLECTOR)
    for row in speed.TABLE:
        size = row.tiny if quick else row.size
        if size is not None and row.build is not speed.copied:
            yield partial(_twice, row, size)
    every = [row for _, row in work.rows()]
    for number in rows:
        yield partial(work.numbers, every[number], *work.case_of(every[number]))


def _twice(row: speed.Row, size: tuple[Any, ...]) -> None:
    case = row.build(None, *size)
    for _ in range(2):
        case.ours()


def _jobs(cc: Capability, sources: Sequence[Source]) -> list[Job]:
    return [(_hand_written, number, cc) for number in range(len(CASES))] + [(_printed, s, cc) for s in sources]


def _hand_written(number: int, cc: Capability) -> str:
    case = CASES[number]
    return _compiled(lambda: [(checks.kernel_of(case), tuple(map(kind_of, case.arguments)))], cc)


def _printed(source: Source, cc: Capability) -> str:
    return _compiled(lambda: launches(source), cc)


def _compiled(kernels: Callable[[], Sequence[Any]], cc: Capability) -> str:
    """Compile, and so keep on disk; why it was refused, or nothing."""
    try:
        for kernel, kinds in kernels():
            compiler.compiled(kernel, kinds, cc)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a text is told
        return in_short(error)
    return ""
