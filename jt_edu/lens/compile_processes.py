"""Compile processes: how do all cores help with the kernels of a plan that are on no disk yet?

    this process     kernel 1, 2, 3, ...                     each is first looked for on the disk
    a helper              ... and from the last one on back        compiles, and puts it there

Nobody waits for anybody. The helper leaves out what it finds on the disk, so it ends soon after the two have met, and
both may compile one kernel where they meet. Should it be slow, or end early, this process compiles what is missing as
if there were no helper. A helper has to import numba first, so a few kernels are not worth one.

`jt.flags.compile_processes` is how many processes compile, 0 as many as JT_EDU_COMPILE_PROCESSES says or as there are
cores, and 4 at most. Ranks, threads beside the main one, and programs in which some other code started processes
compile alone unless it is set. Tests, which fill all cores, set the variable to 1.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jt_edu import backends
from jt_edu.base.context import current
from jt_edu.codegen.emit_python import Source
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.runtime.plan import Step

LEAST, MOST = 8, 4  # kernels that are worth a helper; processes
HOME = Path(__file__).resolve().parents[2]
Job = tuple[Source, Source | None]  # a kernel; or an algorithm, and the tail that is compiled apart

_helpers: list[subprocess.Popen[bytes]] = []


def help_with(steps: Iterable[Step]) -> int:
    """Have helpers compile the kernels of these steps from the last one on; how many there are.

    Nothing is to be done with them: what they make is found on the disk.
    """
    count, has = _processes(), getattr(backends.get(current().flags.backend), "has", None)
    if count < 2 or has is None:
        return 0
    jobs = [job for step in steps for job in _jobs(step) if not has(job[0])]
    if len(jobs) < LEAST:
        return 0
    _helpers[:] = [helper for helper in _helpers if helper.poll() is None]
    for number in range(count - 1 - len(_helpers)):
        with suppress(OSError):  # no more processes, or none here: this one does it all
            _start(jobs[::-1][number :: count - 1])
    return len(_helpers)


def _processes() -> int:
    asked = current().flags.compile_processes or int(os.environ.get("JT_EDU_COMPILE_PROCESSES") or 0)
    if asked:
        return min(asked, MOST)
    alone = launch.inside() or launch.OWNER in os.environ
    if alone or threading.current_thread() is not threading.main_thread() or not sys.executable:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST)


def _jobs(step: Step) -> list[Job]:
    if step.program is not None or step.kind == "host":
        return []
    own = None if step.written else step.own
    if own is None:
        return [(step.source, None)]
    around: list[Job] = [(source, None) for source in (own.prepare, own.gather) if source is not None]
    return [(own.open, own.tail) if own.open is not None else (step.source, None), *around]


def _start(jobs: Sequence[Job]) -> None:
    """A process of its own session: Ctrl-C in a terminal is not meant for it."""
    found = [str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryFile() as file:  # a pipe would be full before the helper begins to read
        pickle.dump(list(jobs), file)
        file.seek(0)
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", "jt_edu.lens.compile_processes"], stdin=file, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(found)},
            start_new_session=True,
        )  # fmt: skip
    _helpers.append(helper)


def work(jobs: Sequence[Job], backend: Any) -> int:
    """Compile what is not on the disk; how many these were."""
    missing = 0
    for source, tail in jobs:
        if not backend.has(source):
            missing += 1
            with suppress(Exception):  # whoever needs it will be told
                backend.compile_apart(source, tail) if tail is not None else backend.compile(source)
    return missing


if __name__ == "__main__":
    work(pickle.load(sys.stdin.buffer), backends.get("numba"))  # noqa: S301 - of the process that started this one
