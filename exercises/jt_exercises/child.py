"""Child: the process of a submission. It makes the learner's objects, and answers for them; it knows no check.

    --> ready
    <-- {"begin": "def roof(i, b, p): ...; answers = (roof,)"}      a fork runs the program, and from then on it answers
    --> {"value": True}
    <-- {"call": 0, "arguments": (1.0, 2.0, 3.0)}                   as worker.py says
    --> {"value": ...}
    <-- nothing, of length 0                                        the fork ends, and the next exercise may begin

Questions come on standard input, answers go to standard output. A learner's own prints go nowhere.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import warnings
from contextlib import suppress
from typing import Any

from jt_edu.base.source_text import remember
from jt_exercises.process import COPY, end_with_parent, limit, receive, send, serve
from jt_exercises.wire import pack, unpack
from jt_exercises.worker import raised

FILES = 64 << 20  # bytes of one file
PROCESSES = 256  # threads are counted, too
OVER = 86  # the exit code of a fork that was told to end


def main() -> None:
    """Begin an exercise in a fork of its own, one after the other, until nobody asks any more."""
    reads, writes = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for file in range(3):
        os.dup2(nowhere, file)
    if warm := os.environ.pop("JT_EDU_WARM", ""):  # a copy: what one submission compiles, no other ever loads
        shutil.copytree(warm, os.environ["JT_EDU_CACHE"], dirs_exist_ok=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILES, FILES))
    resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows too large is an OSError, and no death
    limit()
    send(writes, b"ready")
    with suppress(EOFError):
        while True:
            if message := receive(reads):
                _fork(unpack(message, int)["begin"], reads, writes)


def _fork(text: str, reads: int, writes: int) -> None:
    """One exercise, until it is over; who ends in another way takes us along, so that the grader learns how."""
    pid = os.fork() if COPY else 0
    if not pid:
        try:
            end_with_parent()
            _run(text, reads, writes)
            os._exit(OVER)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != OVER:
        os._exit(code if code >= 0 else 128 - code)


def _run(text: str, reads: int, writes: int) -> None:
    """Run a program, and answer for what it made."""
    warnings.simplefilter("ignore")
    space: dict[str, Any] = {"__name__": "__main__"}
    theirs = list[dict[str, Any]]()

    def take(text: str, names: list[str]) -> None:
        """Run a learner's statements: they see the names of the course, and it sees their answers."""
        theirs.append({**space})
        exec(compile(text, remember(text, f"your answer {len(theirs)}"), "exec"), theirs[-1])  # noqa: S102 - that is what it is for
        space.update({name: theirs[-1][name] for name in names if name in theirs[-1]})

    space["take"] = take
    objects, reply = list[object](), {"value": True}
    try:
        exec(compile(text, remember(text, "the notebook"), "exec"), space)  # noqa: S102
        for own in theirs:
            own.update({name: value for name, value in space.items() if name not in own})  # what came later
        objects = [*space["answers"]]
    except BaseException as error:  # noqa: BLE001 - whatever an answer raises, SystemExit too
        reply = {"raised": raised(error)}
    send(writes, pack(reply, str))
    serve(objects, reads, writes)


if __name__ == "__main__":
    main()
