"""Trial: what do the checks of the course say of an answer, though it may never end, or end the process?

    judged(program)   -->   a process of its own: an empty folder, so many seconds, so much memory
                      <--   Outcome(right=2, of=3, status="not right", words="dy/db: yours is 3.0, ...")

An answer that replaces a function of NumPy or of the checks is not graded. This catches who tries it the easy way; an
answer is Python in the same process, and no such thing can be made safe.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from jt_exercises import verdict

try:
    import resource
except ImportError:  # Windows has none: there the clock alone ends an answer
    resource = None  # type: ignore[assignment]

SECONDS = 60.0  # of one exercise; the slowest of the course takes 10
MEMORY = 16 << 30  # bytes of addresses; numba and BLAS reserve some they never use
SEALED = ("builtins", "math", "numpy", "jt_exercises")  # packages whose functions an answer must leave as they are
SERVE = "from jt_exercises.grade.trial import serve; serve()"


@dataclass(frozen=True)
class Outcome:
    """How an exercise went: `right` of `of` parts, and what was said of the first that was not."""

    right: int
    of: int
    status: str  # "right", "not right", "not done yet", or why it could not be judged
    words: str = ""


def judged(program: str, seconds: float = SECONDS, environment: dict[str, str] | None = None) -> Outcome:
    """Run a program in a process of its own, and say what its checks said."""
    token, paths = secrets.token_hex(8), os.pathsep.join(path or "." for path in sys.path)
    job = json.dumps({"program": program, "token": token})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(  # noqa: S603 - this Python; what it runs was handed in
            [sys.executable, "-P", "-c", SERVE], cwd=folder, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "agg", **(environment or {})},
        )  # fmt: skip
        try:
            told, _ = process.communicate(job, timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(0, 1, "stopped", f"it did not end within {seconds:g} s")
        finally:
            _end(process)
    rows = [row.removeprefix(token) for row in told.splitlines() if row.startswith(token)]
    if not rows:
        return Outcome(0, 1, "stopped", f"the process ended before an answer (status {process.returncode})")
    return Outcome(**json.loads(rows[-1]))


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and all that it has begun."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with process:  # closes its pipes, and waits
        pass


# in the process of its own


def serve() -> None:
    """Run the program on standard input, and answer on what was standard output with one row, behind the token."""
    job = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - what the answer prints is no verdict
        os.dup2(nowhere.fileno(), 1)
    if resource is not None:
        with suppress(ValueError, OSError):  # less is allowed already
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out.write(job["token"] + json.dumps(asdict(_run(job["program"]))) + "\n")
    out.flush()
    os._exit(0)  # threads of an answer do not keep us


def _run(program: str) -> Outcome:
    verdict.heard.clear()
    seal, stopped = _seal(), ""
    try:
        exec(compile(program, "the answer", "exec"), {"__name__": "__main__"})  # noqa: S102 - that is what it is for
    except BaseException as error:  # noqa: BLE001 - whatever an answer raises, SystemExit too
        stopped = f"stopped with {type(error).__name__}: {error}"
    if broken := _broken(seal):
        return Outcome(0, 1, "not judged", f"it replaced {broken}")
    return summed(list(verdict.heard), stopped)


def summed(heard: list[verdict.Verdict], stopped: str = "") -> Outcome:
    """The outcome of some verdicts; what was not reached counts as one part that is not right."""
    right, of = sum(v.earned for v in heard), sum(v.of for v in heard) + bool(stopped)
    if stopped:
        return Outcome(right, of, "not right", stopped)
    if not heard:
        return Outcome(0, 1, "not judged", "nothing was checked")
    first = next((v for v in heard if not v.passed), None)
    if first is None:
        return Outcome(right, of, "right")
    wrong = next((v for v in heard if v.passed is False), None)
    if wrong is None:
        return Outcome(right, of, "not done yet", "" if not right else first.name)
    return Outcome(right, of, "not right", f"{wrong.name}: {wrong.words}")


def _seal() -> dict[tuple[str, str], Any]:
    """The functions and classes that judge, and those they stand on."""
    found: dict[tuple[str, str], Any] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in SEALED and isinstance(module, ModuleType):
            found |= {(name, key): value for key, value in vars(module).items() if callable(value)}
    return found


def _broken(seal: dict[tuple[str, str], Any]) -> str:
    """The name of something that is no longer what it was, or nothing."""
    for (module, key), value in seal.items():
        if vars(sys.modules.get(module, verdict)).get(key, value) is not value:
            return f"{module}.{key}"
    return ""
