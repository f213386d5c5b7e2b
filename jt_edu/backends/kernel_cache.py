"""Kernel cache: where are the text and the machine code of a kernel kept?

    <folder>/k_<key>.py     the text: read it, or step through it
             k_<key>.bin    what a backend compiled from it: a mark, a SHA-256, bytes

The key names the source, the stamp everything else that decides what compiling gives (versions, CPU, flags). Several
processes may read and write the same files at once. Whatever is wrong on the disk, kernels still run: a file that is
not what was written is dropped and made again, and what cannot be written stays in memory.

Nothing here knows numba, or how to compile.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from jt_edu.backends.cache_dir import find, is_ours, log, say_once
from jt_edu.base.source_text import remember
from jt_edu.codegen.emit_python import Source

_MARK = b"jt_edu kernel 1\n"


class Store:
    """The files of one stamp."""

    def __init__(self, stamp: str) -> None:
        self.stamp = stamp
        self.folder = find(stamp)

    def write_text(self, source: Source) -> tuple[str, Path | None]:
        """Put a text where tracebacks and debuggers find it; the file name to compile it under, and the file."""
        if self.folder is not None:
            path, text = self.folder / f"k_{source.key}.py", source.text.encode()
            old = _read(path)
            if old not in (None, text):
                log.warning("%s held another text: written again", path)
            if old == text or _write(path, text) or _read(path) == text:
                return str(path), path
        return remember(source.text, f"<jt_edu k_{source.key}.py>"), None

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
        log.warning("%s is damaged or not ours: compiling again", path)
        with suppress(OSError):
            path.unlink()
        return None

    def save(self, key: str, content: bytes) -> bool:
        """Keep what was compiled from the source of that key; False if it could not be written."""
        return self.folder is not None and _write(self.folder / f"k_{key}.bin", self._seal(key, content))

    def _seal(self, key: str, content: bytes) -> bytes:
        return _MARK + hashlib.sha256(f"{self.stamp} {key} ".encode() + content).digest() + content


# Wait for nobody: a pipe in the place of a file has no end, and perhaps no beginning.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _read(path: Path) -> bytes | None:
    with suppress(OSError), os.fdopen(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        if is_ours(status) and stat.S_ISREG(status.st_mode):
            return file.read()
    return None


def _write(path: Path, content: bytes) -> bool:
    """Write a file at one stroke: whoever reads it meanwhile sees all of the old or all of the new."""
    temporary = ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="k_", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError as error:
        say_once(f"kernels are not kept on disk: {error}")
        with suppress(OSError):
            Path(temporary).unlink()
        return False
    return True
