"""Status board: what every rank of a job does right now, where the others can read it.

    rank 0   [count, length, {"said": "recv(source=1)", "line": "lesson.py:3", "waits": {...}}, looks]
    rank 1   [count, length, {...}, looks]

One file that all ranks of one machine have in their memory, with a slot for each, which only that rank writes. So what
a rank does can still be read when it hangs in MPI, or is gone. The count grows with every change: if no count grows any
more, nothing moves. The looks grow as long as the process has its turns: it lives, and the machine lets it.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SLOT = 4096  # bytes for each rank
HEAD = struct.Struct("<QI")  # how often it changed, how long it is
LOOKS = struct.Struct("<Q")  # at the end of a slot: how often the rank looked at the board
MOST = 700  # bytes of a learner's line, and of a call: four of them, and the rest, go into a slot
NAME = 150  # bytes of how a rank ended, and of a group's name
RANKS = 64  # that are named


@dataclass
class State:
    """What one rank does."""

    pid: int = 0
    said: str = ""  # its last call
    line: str = ""
    waits: dict[str, Any] | None = None  # words, line, peers and place of what it waits for
    ended: str = ""  # "", "well", or how it failed

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        if not self.pid:
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def last_call(self) -> str:
        """As a sentence goes on: ", after barrier() at line 3"."""
        return f", after {self.said} at {self.line}" if self.said else ", without a call"


@dataclass
class Board:
    """The slots of all ranks, and the one of them that is ours.

    Args:
        path: the file; it is made if it is not there.
        size: how many ranks.
        rank: whose slot is ours; -1 for somebody who only reads.
        debug: whether ranks compare what they call, and look for standstill.
        passing: whether nobody reads it after the job, so that its folder can go.
    """

    path: Path
    size: int
    rank: int = -1
    debug: bool = False
    passing: bool = False
    state: State = field(default_factory=State)

    def __post_init__(self) -> None:
        flags = os.O_RDWR | os.O_CREAT
        handle = os.open(self.path, flags, 0o600)
        try:
            os.ftruncate(handle, self.size * SLOT)
            self._memory = mmap.mmap(handle, self.size * SLOT)
        finally:
            os.close(handle)
        self._count, self._looks, self._lock = 0, 0, threading.Lock()
        if self.rank >= 0:
            self.state.pid = os.getpid()
            self._write()

    # what this rank says

    def called(self, said: str, line: str) -> None:
        """This rank calls its communicator."""
        self.state.said, self.state.line = shortened(said), shortened(line)
        self._write()

    def waits(self, words: str, line: str, peers: Sequence[int], place: Any, **facts: Any) -> None:
        """This rank waits, for one of those ranks; `place` names a collective: (communicator, number).

        `facts` are the kind and the tag of what it waits for, and whether it was begun at once; see `Wait`.
        """
        place = None if place is None else [shortened(place[0], NAME), *place[1:]]
        told = {"words": shortened(words), "line": shortened(line), "peers": list(peers)[:RANKS], "place": place}
        self.state.waits = told | facts
        self._write()

    def goes_on(self) -> None:
        """What this rank waited for is there."""
        self.state.waits = None
        self._write()

    def ends(self, how: str) -> None:
        """This rank comes to its end: "well", or how it failed."""
        self.state.ended = shortened(how, NAME)
        self._write()

    def ends_well(self) -> None:
        """This rank comes to its end, and has not failed."""
        if not self.state.ended:
            self.ends("well")

    def _write(self) -> None:
        with self._lock:
            self._count += 1
            text = _in_json(vars(self.state))
            assert len(text) <= SLOT - HEAD.size - LOOKS.size, "whatever is long was cut"
            begin = self.rank * SLOT
            self._memory[begin : begin + HEAD.size + len(text)] = HEAD.pack(self._count, len(text)) + text

    def looks(self) -> None:
        """This rank has its turns: it looks at the board once more."""
        self._looks += 1
        LOOKS.pack_into(self._memory, (self.rank + 1) * SLOT - LOOKS.size, self._looks)

    # what all say

    def counts(self) -> tuple[int, ...]:
        """How often each slot has changed."""
        return tuple(HEAD.unpack_from(self._memory, rank * SLOT)[0] for rank in range(self.size))

    def looked(self) -> tuple[int, ...]:
        """How often each rank has looked at the board."""
        return tuple(LOOKS.unpack_from(self._memory, end * SLOT - LOOKS.size)[0] for end in range(1, self.size + 1))

    def states(self) -> list[State]:
        """What each rank does; an empty state for one that has not begun, or writes at this moment."""
        return [self._read(rank) for rank in range(self.size)]

    def _read(self, rank: int) -> State:
        begin = rank * SLOT
        _, length = HEAD.unpack_from(self._memory, begin)
        try:
            return State(**json.loads(self._memory[begin + HEAD.size : begin + HEAD.size + length]))
        except ValueError:
            return State()

    def is_first(self) -> bool:
        """Whether no other rank has asked this before."""
        try:
            self.path.with_name("first").touch(exist_ok=False)
        except OSError:
            return False
        return True

    def leave(self) -> None:
        """This rank comes to its end; the last one removes the folder, for until then somebody may have to explain."""
        self.ends_well()
        if all(state.ended or not state.is_alive for state in self.states()):
            self.discard()

    def discard(self) -> None:
        """Remove the folder, if nobody reads it after the job; ranks that still have the file in their memory go on."""
        if self.passing:
            shutil.rmtree(self.path.parent, ignore_errors=True)

    def close(self) -> None:
        """Let go of the file."""
        self._memory.close()


def shortened(text: str, most: int = MOST) -> str:
    """As much of a text as takes so many bytes on the board.

    Example:
        >>> shortened("four words of text", 10), len(shortened("雪" * 100, 10))
        ('four words', 3)
    """
    text = text[:most]
    while (size := len(_in_json(text)) - len('""')) > most:
        text = text[: len(text) * most // size]
    return text


def _in_json(thing: Any) -> bytes:
    return json.dumps(thing, ensure_ascii=False).encode(errors="replace")
