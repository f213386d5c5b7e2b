"""Trial: how fast is a learner's product of matrices when it is compiled, and what if it crashes?

    the notebook                                   a process of its own
    race(fast, size=512, goal=10)  --function-->   compile it; once with its indices checked; then unchecked, beside ijk
                                   <--Race------

Compiled code does not look at its indices: it writes behind an array, and the process ends. Nor can a loop that goes on
for ever be interrupted in it. So it runs where it takes nothing with it, and for so many seconds only. What went wrong
there is raised here, as the error that a check shows.

Nothing here knows what a goal is worth.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO, Any

import numba
import numpy as np
from numba import cloudpickle

from jt_exercises.matmul.orders import ijk
from jt_exercises.timing import ratio
from jt_exercises.verdict import NotDoneError, RefusedError

try:
    import resource
except ImportError:  # Windows has none: there the clock on the wall alone ends a run
    resource = None  # type: ignore[assignment]

GLANCE, CLEAR = 3, 1.5  # rounds after which a gain is clear that is 1.5 times away from the goal
SECONDS = 20.0  # of CPU time that a run may take, where ijk takes one; and for all rounds twenty times as many
PATIENCE = 6  # times as long on the wall: others compute, too
MEMORY = 4 << 30  # bytes that the process may ask for
SERVE = "from jt_exercises.matmul.trial import serve; serve()"
SIGNATURE = "void(f4[:, ::1], f4[:, ::1], f4[:, ::1])"


@dataclass(frozen=True)
class Race:
    """How a function did beside ijk."""

    gain: float  # times as fast
    again: float  # the same function against itself, where the gain is close to the goal: far from 1, nobody can tell


def race(function: Callable[..., Any], size: int, goal: float, seconds: float | None = None) -> Race:
    """Race function(a, b, c) with ijk on matrices of that size, in a process of its own.

    Raises:
        RefusedError: it does not compile, its result is no a @ b, it crashes, or it takes too long.
        NotDoneError: there is no process to run it in.
    """
    try:
        job = cloudpickle.dumps((function, size, goal, seconds or SECONDS))
    except Exception as error:
        raise RefusedError(f"it holds something that no other process can be given: {error}") from error
    paths = os.pathsep.join(path or "." for path in sys.path)
    done = subprocess.run(  # noqa: S603 - this Python, and the function that the learner asks us to run
        [sys.executable, "-P", "-c", SERVE], input=job, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    rows: list[dict[str, Any]] = [json.loads(row) for row in done.stdout.splitlines()]
    if not rows:
        why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NotDoneError(f"the process that should race it did not begin (status {done.returncode}): {why}")
    last = rows[-1]
    if "race" in last:
        return Race(**last["race"])
    raise RefusedError(last.get("refused") or _ending(last["stage"], done.returncode, size))


def _ending(stage: str, status: int, size: int) -> str:
    """What to say of a process that ended without an answer."""
    if status in (-int(getattr(signal, "SIGXCPU", 0)) or None, 1) and stage == "running it":
        return (
            f"compiled, on {size} by {size}, it does not come to an end: does the condition of each `while` become "
            f"false there too?"
        )
    crashed = f"compiled, on {size} by {size}, it crashed while {stage} (status {status})"
    return f"{crashed}: does it write outside an array?"


# in the process of its own


def serve() -> None:
    """Answer the job on standard input: a row for each stage, and in the last one a race, or why there is none."""
    out = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - what the function prints is no answer
        os.dup2(nowhere.fileno(), 1)
    function, size, goal, seconds = cloudpickle.loads(sys.stdin.buffer.read())
    _tell(out, stage="beginning")
    os.dup2(1, 2)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(ValueError, OSError):  # less is allowed already
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        _tell(out, race=asdict(_raced(function, size, goal, seconds, out)))
    except RefusedError as refused:
        _tell(out, refused=str(refused))
    except IndexError:
        _tell(out, refused=(
            f"compiled, on {size} by {size}, an index is outside its array. Nothing checks indices there: it would "
            f"write other memory, or crash. Which buffer, or step, fits 16 by 16 alone?"
        ))  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever a compiled function raises
        _tell(out, refused=f"compiled, on {size} by {size}, it stopped with {type(error).__name__}: {error}")


def _raced(function: Callable[..., Any], size: int, goal: float, seconds: float, out: IO[str]) -> Race:
    a, b = (np.random.default_rng(k).normal(size=(size, size)).astype(np.float32) for k in range(2))
    for checked in (True, False):
        _tell(out, stage="compiling it")
        _end_after(seconds * 20)
        mine = _compiled(function, boundscheck=checked)
        _tell(out, stage="running it")
        _end_after(seconds)
        c = np.zeros_like(a)
        mine(a, b, c)
        wrong = abs(c - a @ b).max()
        if not wrong < 1e-2:
            raise RefusedError(f"compiled, on {size} by {size}, it is wrong by {wrong:.2g}: does it reach every tile?")
    _tell(out, stage="timing it")
    _end_after(seconds * 20)
    plain = _compiled(ijk)
    gain = ratio(lambda: plain(a, b, c), lambda: mine(a, b, c), rounds=GLANCE)
    if not goal / CLEAR < gain < goal * CLEAR:  # nobody has to wait for more rounds
        return Race(gain, 1.0)
    gain = ratio(lambda: plain(a, b, c), lambda: mine(a, b, c))
    return Race(gain, 1.0 if gain >= goal else ratio(lambda: mine(a, b, c), lambda: mine(a, b, c)))


def _compiled(function: Callable[..., Any], boundscheck: bool = False) -> Callable[..., Any]:
    try:
        return numba.njit(SIGNATURE, fastmath=True, boundscheck=boundscheck)(function)
    except numba.core.errors.NumbaError as error:
        said = [line for line in str(error).splitlines() if line.strip()]
        raise RefusedError("numba cannot compile it: " + " ".join(said[:3])[:400]) from error


def _end_after(seconds: float) -> None:
    """Let the process end when it has computed for so many more seconds; compiled code listens to nothing else."""
    if resource is not None:
        most = math.ceil(time.process_time() + seconds)
        with suppress(ValueError, OSError):  # less is allowed already
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    faulthandler.dump_traceback_later(PATIENCE * seconds, exit=True)


def _tell(out: IO[str], **row: Any) -> None:
    out.write(json.dumps(row) + "\n")
    out.flush()
