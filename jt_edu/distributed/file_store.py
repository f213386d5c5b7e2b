"""FileStore: a store in a file that all ranks can see.

    [key, value] [key, value] [key, deleted] ...       a log, to which everyone appends under a lock

A store remembers how far it has read, so each look costs what was added since. Whoever is killed in the middle of a
record leaves half of one behind: the next writer cuts it off.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.distributed.store import STORE_TIMEOUT, TableStore, too_late

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEAD = struct.Struct("<IQ")  # length of the key, and of the value
DELETED = (1 << 64) - 1
PAUSE = 0.01  # seconds between two looks: files do not ring


class FileStore(TableStore):
    """A store in a file.

    Args:
        file_name: where; made if it is not there. Nobody else should use it, and no run before this one.
        world_size: how many will use it; the last one that closes its store takes the file away. -1: nobody does.
        timeout: how long `get` and `wait` are patient.

    Raises:
        ArgumentError: the file cannot be opened.

    Example:
        >>> import tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     here, there = FileStore(os.path.join(folder, "store")), FileStore(os.path.join(folder, "store"))
        ...     here.set("key", "value")
        ...     there.get("key"), there.add("n", 1), here.add("n", 1)
        (b'value', 1, 2)
    """

    def __init__(self, file_name: Any, world_size: int = -1, timeout: Any = STORE_TIMEOUT) -> None:
        super().__init__(timeout)
        if fcntl is None:
            raise RankError("a FileStore locks its file", "a system that has no such locks", "a TCPStore")
        if not isinstance(world_size, int) or (world_size < 1 and world_size != -1):
            raise ArgumentError("a FileStore is used by a number of ranks from 1, or -1", repr(world_size))
        self.path, self.world_size = Path(file_name), world_size
        self._read_to, self._open = 0, True
        try:
            self.path.touch()
        except OSError as error:
            raise ArgumentError("a FileStore makes its file", f"{self.path}: {error.strerror}") from None

    def _do(self, what: Callable[..., Any], key: str, *args: Any) -> Any:
        """One change, seen by all from now on."""
        with self._held() as file:
            found = what(key, *args)
            value = self._table.values.get(key)
            name = key.encode()
            file.write(HEAD.pack(len(name), DELETED if value is None else len(value)) + name + (value or b""))
            file.flush()
            self._read_to = file.tell()
        return found

    def _wait(self, keys: list[str], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while missing := self._missing(keys):
            if time.monotonic() > deadline:
                raise too_late(missing, seconds)
            time.sleep(PAUSE)

    @contextlib.contextmanager
    def _held(self) -> Iterator[BinaryIO]:
        """The file, which is ours alone for the moment, at its end; the table knows all that is in it."""
        try:
            file = self.path.open("r+b")
        except OSError as error:
            asked = "a FileStore has its file as long as ranks use it"
            raise RankError(asked, f"{self.path}: {error.strerror}") from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._catch_up(file)
            yield file

    def _catch_up(self, file: BinaryIO) -> None:
        """Read what was added; half a record at the end is cut off."""
        file.seek(self._read_to)
        while len(head := file.read(HEAD.size)) == HEAD.size:
            key_size, size = HEAD.unpack(head)
            wanted = key_size + (0 if size == DELETED else size)
            if wanted > os.fstat(file.fileno()).st_size - file.tell():
                break
            body = file.read(wanted)
            key = body[:key_size].decode(errors="replace")
            if size == DELETED:
                self._table.delete(key)
            else:
                self._table.set(key, body[key_size:])
            self._read_to = file.tell()
        file.seek(self._read_to)
        file.truncate()

    def close(self) -> None:
        """This rank is done; the last of `world_size` ranks takes the file away."""
        if self._open and self.world_size > 0 and self.path.exists():
            gone = self._add("jt_edu/closed", 1)
            if gone >= self.world_size:
                self.path.unlink(missing_ok=True)
        self._open = False

    def __repr__(self) -> str:
        return f"FileStore({str(self.path)!r})"
