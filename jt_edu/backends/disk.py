"""Disk: where are the text and the machine code of a kernel kept?

    ~/.cache/jt_edu/<stamp>/k_<key>.py     the text: read it, or step through it
                            k_<key>.bin    what a backend compiled from it: a mark, a SHA-256, bytes

The stamp names everything besides the source that decides what compiling gives (versions, CPU, flags); the key names
the source. Machine code is run without a question, so the folder must be ours, and writable by nobody else. Whatever
is wrong on the disk, kernels still run: a damaged file is dropped and made again, and where no folder can be trusted
or written, a temporary one serves until the process ends, or else memory alone.

Nothing here knows numba, or how to compile.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import linecache
import logging
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from jt_edu.codegen.source import Source

LIMIT = 512 * 2**20  # bytes: when the cache is larger, the oldest stamps go
DAY = 24 * 3600.0  # seconds
_MARK = b"jt_edu kernel 1\n"
_log = logging.getLogger("jt_edu.backends")


class Store:
    """The files of one stamp."""

    def __init__(self, stamp: str) -> None:
        self.stamp = stamp
        self.folder = _folder(stamp)

    def write_text(self, source: Source) -> tuple[str, Path | None]:
        """Put a text where tracebacks and debuggers find it; the file name to compile it under, and the file."""
        if self.folder is not None:
            path, text = self.folder / f"k_{source.key}.py", source.text.encode()
            old = _read(path)
            if old not in (None, text):
                _log.warning("%s held another text: written again", path)
            if old == text or _write(path, text) or _read(path) == text:
                return str(path), path
        name = f"<jt_edu k_{source.key}.py>"
        linecache.cache[name] = (len(source.text), None, source.text.splitlines(keepends=True), name)
        return name, None

    def load(self, key: str) -> bytes | None:
        """What `save` was given, or None: nothing there, or not what was written."""
        if self.folder is None:
            return None
        path = self.folder / f"k_{key}.bin"
        found = _read(path)
        if found is None:
            return None
        content = found[len(_MARK) + 32 :]
        if found == self._seal(key, content):
            return content
        _log.warning("%s is damaged or not ours: compiling again", path)
        with suppress(OSError):
            path.unlink()
        return None

    def save(self, key: str, content: bytes) -> bool:
        """Keep what was compiled from the source of that key; False if it could not be written."""
        return self.folder is not None and _write(self.folder / f"k_{key}.bin", self._seal(key, content))

    def _seal(self, key: str, content: bytes) -> bytes:
        return _MARK + hashlib.sha256(f"{self.stamp} {key} ".encode() + content).digest() + content


def _folder(stamp: str) -> Path | None:
    try:
        root = _root()
        folder = _own(_own(root) / stamp)
        _prune(root, folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        _say_once(f"kernels are kept in a temporary folder, for this process only: {error}")
    else:
        return folder
    try:
        return _own(_temporary() / stamp)
    except OSError as error:
        _say_once(f"kernels are kept in memory only: {error}")
        return None


def _root() -> Path:
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
    if not _is_ours(folder.stat()):
        raise PermissionError(f"{folder} belongs to somebody else, or others may write to it")
    tempfile.TemporaryFile(dir=folder).close()  # a read-only file system shows only when written
    return folder


def _is_ours(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True  # %LOCALAPPDATA% is private to the user
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


@functools.cache
def _temporary() -> Path:
    folder, maker = Path(tempfile.mkdtemp(prefix="jt_edu-")), os.getpid()
    atexit.register(lambda: os.getpid() == maker and shutil.rmtree(folder, ignore_errors=True))
    return folder


@functools.cache
def _say_once(text: str) -> None:
    _log.warning(text)


def _read(path: Path) -> bytes | None:
    with suppress(OSError), path.open("rb") as file:
        if _is_ours(os.fstat(file.fileno())):
            return file.read()
    return None


def _write(path: Path, content: bytes) -> bool:
    """Write a file at one stroke: whoever reads it meanwhile sees all of the old or all of the new."""
    temporary = ""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="k_", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError as error:
        _say_once(f"kernels are not kept on disk: {error}")
        with suppress(OSError):
            Path(temporary).unlink()
        return False
    return True


def _prune(root: Path, current: Path) -> None:
    """Once a day: drop the oldest stamps until the cache is below its limit. Touches no files but ours."""
    mark = root / "pruned"
    if mark.exists() and time.time() - mark.stat().st_mtime < DAY:
        return
    mark.touch()
    files = {d: [*d.glob("k_*.py"), *d.glob("k_*.bin"), *d.glob("k_*.tmp")] for d in root.iterdir() if d.is_dir()}
    with suppress(OSError):  # another process may be pruning too
        sizes = {d: sum(f.stat().st_size for f in inside) for d, inside in files.items()}
        total = sum(sizes.values())
        for folder in sorted(files, key=lambda d: d.stat().st_mtime):
            if total > LIMIT and folder != current:
                total -= sizes[folder]
                for file in files[folder]:
                    file.unlink()
                folder.rmdir()
