"""Cache dir: which folder can be trusted with machine code?

    JT_EDU_CACHE, or the platform's cache  /jt_edu/<stamp>      kept
    a temporary folder                     /<stamp>             until the process ends
    none                                                        memory has to do

Machine code is run without a question, so the folder must be ours, and writable by nobody else. Where that is not so,
or it cannot be written, the next one in the list serves, and one line in the log says why.

Nothing here knows what the files mean, except for their names.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

LIMIT = 512 * 2**20  # bytes: when the cache is larger, the oldest stamps go
DAY = 24 * 3600.0  # seconds
log = logging.getLogger("jt_edu.backends")


def find(stamp: str) -> Path | None:
    """The folder for the files of one stamp, made if need be; None if there is none to be had."""
    try:
        top = _own(root())
        folder = _own(top / stamp)
        _prune(top, folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        say_once(f"kernels are kept in a temporary folder, for this process only: {error}")
    else:
        return folder
    try:
        return _own(_temporary() / stamp)
    except OSError as error:
        say_once(f"kernels are kept in memory only: {error}")
        return None


def root() -> Path:
    """The folder that the user or the platform names; it need not exist."""
    if asked := os.environ.get("JT_EDU_CACHE"):
        return Path(asked).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "jt_edu"
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "jt_edu"


def _own(folder: Path) -> Path:
    """Make the folder if need be; OSError unless it is ours alone and can be written."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(folder.stat()):
        raise PermissionError(f"{folder} belongs to somebody else, or others may write to it")
    tempfile.TemporaryFile(dir=folder).close()  # a read-only file system shows only when written
    return folder


def is_ours(status: os.stat_result) -> bool:
    """Whether a folder or a file belongs to this user, and nobody else may write to it."""
    if sys.platform == "win32":
        return True  # %LOCALAPPDATA% is private to the user
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


@functools.cache
def _temporary() -> Path:
    folder, maker = Path(tempfile.mkdtemp(prefix="jt_edu-")), os.getpid()

    @atexit.register
    def clean() -> None:
        if os.getpid() == maker:  # and not a child that was forked
            shutil.rmtree(folder, ignore_errors=True)

    return folder


@functools.cache
def say_once(text: str) -> None:
    """Log a warning that would otherwise be repeated for each kernel."""
    log.warning(text)


def _prune(root: Path, current: Path) -> None:
    """Once a day: drop the oldest stamps until the cache is below its limit. Touches no files but ours."""
    mark = root / "pruned"
    if mark.exists() and time.time() - mark.stat().st_mtime < DAY:
        return
    mark.touch()
    files = {d: [*d.glob("k_*.py"), *d.glob("k_*.bin"), *d.glob("k_*.tmp")] for d in root.iterdir() if d.is_dir()}
    with suppress(OSError):  # another process may be pruning too
        sizes = {d: sum(f.stat().st_size for f in inside) for d, inside in files.items()}
        excess = sum(sizes.values()) - LIMIT
        for folder in sorted(files, key=lambda d: d.stat().st_mtime):
            if excess > 0 and folder != current:
                excess -= sizes[folder]
                for file in files[folder]:
                    file.unlink()
                with suppress(OSError):  # there is something else in it
                    folder.rmdir()
