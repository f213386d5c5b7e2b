"""Sandbox: how far away from everything else does a submission run?

                            files of others         network   other processes
    bubblewrap              hidden                  none      unseen             where `bwrap` is installed
    nested namespaces       hidden                  none      unseen             Linux, where a user may have namespaces
    namespaces              as open as to you       none      unseen             where nothing may be mounted
    limits                  as open as to you       open      can be signalled   anywhere else

The first that works here is taken, and every result says which it was. On each of them an answer has so much time and
memory, judges nothing, and reaches the grader only as plain values. `hidden` holds for the checks, for what other
learners handed in, and for the results; with bubblewrap for all but Python and its packages. On the other two, an
answer may read these, and change what the next child reads: use them among people who trust each other.

The superuser's children are nobody's, where nobody may read Python; the grader says so where they cannot be.

The four ways are those of bubblewrap(1) and unshare(1).
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import jt_edu
from jt_exercises.exercise import HOME
from jt_exercises.process import LAST, LostError, Piped, end_with_parent, receive, send
from jt_exercises.wire import WireError, pack

HIDDEN = {"exercise.py", "solution.py", "wrong.toml", "__pycache__"}  # of the folder of an exercise
ROOM = 512 << 20  # bytes of all files of a submission
BEGIN = 90.0  # seconds to start Python
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives",
          "/etc/localtime", "/sys/devices/system/cpu")  # fmt: skip


@dataclass(frozen=True)
class Places:
    """Folders of a batch: what a child may read, what was compiled for it before, where it may write."""

    top: Path
    unseen: tuple[Path, ...] = (HOME,)  # folders
    number: str = "0"  # of the submission
    warming: bool = False  # it is one of ours: what it compiles is kept
    owner: int | None = None  # the user that children are; None: who started us

    @property
    def view(self) -> Path:
        """The packages of the course, without checks and solutions."""
        return self.top / "view"

    @property
    def warm(self) -> Path:
        """Kernels that the course's own solutions needed."""
        return self.top / "warm"

    @property
    def work(self) -> Path:
        """An empty folder of a submission; in the better sandboxes only that submission sees what it writes there."""
        return self.top / f"work-{self.number}"

    def fill(self) -> None:
        """Put there what every child reads."""
        for package in (HOME, Path(jt_edu.__file__).parent):
            shutil.copytree(package, self.view / package.name, ignore=_left_out if package == HOME else None)
        self.warm.mkdir()
        self.top.chmod(0o755)

    def environment(self) -> dict[str, str]:
        """All variables that a child has: none of ours."""
        work = str(self.work)
        return {
            "PATH": "/usr/bin:/bin", "HOME": work, "TMPDIR": work, "LANG": "C.UTF-8", "MPLBACKEND": "agg",
            "PYTHONPATH": str(self.view), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1",
            "JT_EDU_CACHE": str(self.warm) if self.warming else f"{work}/kernels",
            "JT_EDU_WARM": "" if self.warming else str(self.warm),
        }  # fmt: skip


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What judges, or tells a solution."""
    return {*names} & ({"author", "grade"} if Path(folder) == HOME else HIDDEN)


class Step(NamedTuple):
    """A rung of the ladder: what stands before a command, and what is out of a submission's reach."""

    name: str
    before: Callable[[Places], list[str]]
    files: bool = False
    network: bool = False
    processes: bool = False


def _bubblewrap(places: Places) -> list[str]:
    found = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    found += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    found += ["--size", str(ROOM), "--tmpfs", "/tmp"]  # noqa: S108 - its own
    for path in (*SYSTEM, sys.base_prefix, sys.prefix, str(places.view)):
        found += ["--ro-bind-try", path, path]
    found += ["--bind" if places.warming else "--ro-bind", str(places.warm), str(places.warm)]
    for path in places.unseen:
        found += ["--tmpfs", str(path)] if path.is_relative_to(sys.prefix) else []
    found += ["--size", str(ROOM), "--tmpfs", str(places.work), "--chdir", str(places.work)]
    return [*found, "--remount-ro", "/", "--"]


UNSHARE = ["unshare", "--map-root-user", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
NOBODY = 65534  # the user, as Linux numbers it
INNER = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]


REMOUNT = """while read -r _ at kind _; do
  case "$kind" in proc|sysfs|devpts|cgroup*) ;; *) mount -o remount,bind,ro "$at" 2>/dev/null || : ;; esac
done </proc/self/mounts"""


def _nested(places: Places) -> list[str]:
    # mounted in the outer namespace, so that nobody in the inner one can take it away again
    work, warm = shlex.quote(str(places.work)), shlex.quote(str(places.warm))
    lines = ["set -e", REMOUNT, "mount --bind /proc/sys /proc/sys", "mount -o remount,bind,ro /proc/sys"]
    lines += [*(f"mount -t tmpfs -o size=4k tmpfs {shlex.quote(str(p))}" for p in places.unseen)]
    lines += [f"mount --bind {warm} {warm}", f"mount -o remount,bind,rw {warm}"] if places.warming else []
    lines += [f"mount -t tmpfs -o size={ROOM} tmpfs {work}", f"cd {work}", f'exec {" ".join(INNER)} -- "$@"']
    return [*UNSHARE, "--", "sh", "-c", "\n".join(lines), "sh"]


LADDER = (
    Step("bubblewrap", _bubblewrap, files=True, network=True, processes=True),
    Step("nested namespaces", _nested, files=True, network=True, processes=True),
    Step("namespaces", lambda _: [*UNSHARE, "--", *INNER, "--"], network=True, processes=True),
    Step("limits", lambda _: []),
)


def works(step: Step, places: Places) -> bool:
    """Whether an answer can be asked on a step here."""
    with suppress(LostError, OSError), Contained(step=step, places=places) as side:
        side.begin("answers = (3,)", 1)
        return side.answers() == [3]
    return False


def best(places: Places, ladder: Sequence[Step] = LADDER) -> tuple[Step, Places]:
    """The first step that works here, and the places with the user that children are."""
    owners = (NOBODY, None) if hasattr(os, "geteuid") and os.geteuid() == 0 else (None,)
    tried = [(step, replace(places, owner=owner)) for step in ladder for owner in owners]
    return next((pair for pair in tried if works(*pair)), tried[-1])


@dataclass
class Contained(Piped):
    """The process of a submission, in its sandbox; each exercise begins in a fork of it."""

    objects: Sequence[Any] = ()
    step: Step = LADDER[-1]
    places: Places = field(default_factory=lambda: Places(Path()))

    def __enter__(self) -> Self:
        self.places.work.mkdir(exist_ok=True)
        if self.places.owner is not None:
            os.chown(self.places.work, self.places.owner, -1)
            os.chown(self.places.warm, self.places.owner, -1)
        process = subprocess.Popen(  # noqa: S603 - this Python; what it runs was handed in
            [*self.step.before(self.places), sys.executable, "-P", "-m", "jt_exercises.child"], cwd=self.places.work,
            env=self.places.environment(), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            user=self.places.owner, extra_groups=None if self.places.owner is None else (),
            preexec_fn=end_with_parent,  # noqa: PLW1509 - a judge has one thread, and this takes no lock
        )  # fmt: skip
        with process.stdin as there, process.stdout as here:  # type: ignore[union-attr] - both are pipes
            self.pid, self.writes, self.reads = process.pid, os.dup(there.fileno()), os.dup(here.fileno())
        process.returncode = 0  # whoever waits for it is Piped
        os.set_blocking(self.writes, False)
        try:
            receive(self.reads, time.monotonic() + BEGIN)  # it is there; what it takes to start is nobody's fault
        except (EOFError, TimeoutError, WireError):
            self.lost = "no Python starts in this sandbox"
        return self

    def begin(self, program: str, answers: int, limit: float = math.inf) -> None:
        """Make the answers to an exercise; LostError or RaisedError where that does not end well."""
        self.calls, self.functions, self.objects, self.until = 0, [], [None] * answers, time.monotonic() + limit
        self.value(self.exchange(pack({"begin": program}, str)))

    def end(self) -> None:
        """The exercise is over, another may begin."""
        if not self.lost:
            with suppress(OSError, TimeoutError):
                send(self.writes, b"", time.monotonic() + LAST)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        shutil.rmtree(self.places.work, ignore_errors=True)
