"""Socket mesh: a connection between every two processes, over which arrays travel.

    rank 0 ────── rank 1         header   [kind][plane][tag][dtype][bytes]
       │  ╲      ╱  │            then     the numbers, as they lie in memory
       │    ╲  ╱    │
       │    ╱  ╲    │            A thread for each connection takes what comes and puts it in the inbox,
    rank 2 ────── rank 3         so nobody who sends waits for somebody who does not yet receive.

Nothing that comes is run: a frame is numbers of a known type, or a text. Who connects has to know a secret, which is in
the store. A connection that ends without a goodbye means that its rank is gone; whoever waits for that rank is told.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jt_edu.base.errors import RankError
from jt_edu.distributed.store_server import listening
from jt_edu.distributed.tcp_store import connected, exactly
from jt_edu.mpi.base.errors import LostRankError, RankTimeoutError

Array = np.ndarray[Any, Any]
HEADER = struct.Struct("<BIq4sQ")  # kind, plane, tag, dtype, bytes
HELLO = struct.Struct("<8sI32s")  # magic, rank, secret
MAGIC = b"jt_edu 1"
NUMBERS, TEXT, GIVES_UP, GOODBYE = range(4)  # kinds of frames
DTYPES = {np.dtype(c).str: np.dtype(c) for c in "?bBhHiIqQefdFD"}
MOST = 1 << 36  # bytes of one message
FAREWELL = 20.0  # seconds in which the others have to say goodbye: a slow one may still want to be told something


@dataclass
class Frame:
    """What came from a rank."""

    source: int
    kind: int
    tag: int
    payload: Array


@dataclass
class Inbox:
    """What came and was not asked for yet, and what will never come; `changed` tells of both."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    frames: dict[int, deque[Frame]] = field(default_factory=dict)  # by plane
    gone: dict[int, str] = field(default_factory=dict)  # rank -> how it ended
    given_up: dict[int, str] = field(default_factory=dict)  # plane -> what another rank, or this one, says of it

    def put(self, plane: int, frame: Frame) -> None:
        """A frame came."""
        with self.changed:
            self.frames.setdefault(plane, deque()).append(frame)
            self.changed.notify_all()

    def lose(self, rank: int, how: str) -> None:
        """A rank ended."""
        with self.changed:
            self.gone.setdefault(rank, how)
            self.changed.notify_all()

    def give_up(self, plane: int, why: str) -> None:
        """Whatever is still to come on this plane is not waited for."""
        with self.changed:
            self.given_up.setdefault(plane, why)
            self.changed.notify_all()

    def find(self, plane: int, kind: int, sources: Sequence[int], tag: int) -> Frame | None:
        """The first frame that fits, which is taken out."""
        waiting = self.frames.get(plane, deque())
        for frame in waiting:
            if frame.kind == kind and frame.source in sources and frame.tag == tag:
                waiting.remove(frame)
                return frame
        return None

    def take(self, plane: int, kind: int, sources: Sequence[int], tag: int, deadline: float) -> Frame:
        """The next frame that fits from one of these ranks, once it is there.

        Raises:
            LostRankError: they are all gone. RankError: somebody gave up. RankTimeoutError: the time is up.
        """
        with self.changed:
            while (frame := self.find(plane, kind, sources, tag)) is None:
                if plane in self.given_up:
                    raise RankError("all ranks go on together", self.given_up[plane])
                # Before the time is looked at: that they are gone is the cause, that they are late is what it leads to.
                if all(rank in self.gone for rank in sources):
                    told = " and ".join(f"that rank {rank} {self.gone[rank]}" for rank in sources)
                    raise LostRankError("somebody is there to send it", told)
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise RankTimeoutError("a message comes in time", f"none from rank {_or(sources)}")
        return frame


class Mesh:
    """The connections of one process to all others.

    Args:
        store: where addresses and the secret are.
        rank, size: mine, and how many processes there are.
        host: an address of this machine that the others can reach.
        seconds: how long to wait for all of them.

    Raises:
        RankTimeoutError: ranks that did not come in time; the message names them.
    """

    def __init__(self, store: Any, rank: int, size: int, host: str, seconds: float) -> None:
        self.rank, self.size, self.inbox = rank, size, Inbox()
        self._peers: dict[int, Peer] = {}
        deadline = time.monotonic() + seconds
        door = listening(host, 0)
        try:
            store.compare_set("secret", "", secrets.token_bytes(32))
            secret = store.get("secret")
            store.set(f"address/{rank}", f"{host}|{door.getsockname()[1]}")
            for other in range(rank):
                self._call(store, other, secret, deadline, seconds)
            self._receive_calls(door, secret, deadline, seconds)
        except BaseException:
            self._cut()
            raise
        finally:
            door.close()
        for peer in self._peers.values():
            peer.start()

    def _call(self, store: Any, other: int, secret: bytes, deadline: float, seconds: float) -> None:
        """Connect to a rank below mine."""
        left = max(deadline - time.monotonic(), 0.01)
        try:
            store.wait([f"address/{other}"], left)
        except RankTimeoutError:
            raise _too_few([other], self.size, seconds) from None
        host, _, port = store.get(f"address/{other}").decode().rpartition("|")
        connection = connected(host, int(port), max(deadline - time.monotonic(), 0.01))
        connection.sendall(HELLO.pack(MAGIC, self.rank, secret))
        self._peers[other] = Peer(self.inbox, other, connection)

    def _receive_calls(self, door: socket.socket, secret: bytes, deadline: float, seconds: float) -> None:
        """Let the ranks above mine connect; a stranger is sent away, and one that says nothing keeps nobody waiting."""
        said: dict[socket.socket, bytes] = {}  # by those who have called, and not yet said all of their hello
        try:
            while missing := [r for r in range(self.rank + 1, self.size) if r not in self._peers]:
                ready, _, _ = select.select([door, *said], [], [], max(deadline - time.monotonic(), 0.01))
                if not ready:
                    raise _too_few(missing, self.size, seconds)
                for one in ready:
                    if one is door:
                        said[door.accept()[0]] = b""
                    elif (caller := _hello(one, said, secret)) in missing and caller not in self._peers:
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        self._peers[caller] = Peer(self.inbox, caller, one)
                    elif caller is not None:
                        one.close()
        finally:
            for stranger in said:
                stranger.close()

    def send(self, dest: int, kind: int, plane: int, tag: int, numbers: Array, deadline: float) -> None:
        """Send a frame; comes back when the system has taken it."""
        if dest == self.rank:
            self.inbox.put(plane, Frame(dest, kind, tag, numbers.copy()))
        else:
            self._peers[dest].send(kind, plane, tag, numbers, deadline)

    def give_up(self, plane: int, why: str, members: tuple[int, ...]) -> None:
        """Tell the members of a group that it has failed."""
        self.inbox.give_up(plane, why)
        soon = time.monotonic() + 0.5
        for rank in members:
            if rank != self.rank and rank not in self.inbox.gone:
                with contextlib.suppress(RankError):
                    self.send(rank, GIVES_UP, plane, 0, as_text(why), soon)

    def leave(self, last: Any) -> None:
        """Say goodbye, and wait until the others have; rank 0 calls `last` before it says so to anybody."""
        deadline = time.monotonic() + FAREWELL
        if self.rank == 0:
            self._wait_for_goodbyes(list(self._peers), deadline)
        last()
        for peer in self._peers.values():
            with contextlib.suppress(RankError):
                peer.send(GOODBYE, 0, 0, as_text(""), deadline)
        self._wait_for_goodbyes([] if self.rank == 0 else [0], deadline)
        self._cut()

    def _wait_for_goodbyes(self, ranks: list[int], deadline: float) -> None:
        inbox = self.inbox
        with inbox.changed:
            inbox.changed.wait_for(lambda: all(r in inbox.gone for r in ranks), max(deadline - time.monotonic(), 0.01))

    def _cut(self) -> None:
        for peer in self._peers.values():
            peer.close()


class Peer:
    """One connection: a thread that reads, and a lock for who writes."""

    def __init__(self, inbox: Inbox, rank: int, connection: socket.socket) -> None:
        self.inbox, self.rank, self.connection = inbox, rank, connection
        connection.setblocking(True)
        self._turn, self._whole = threading.Lock(), True  # between two frames
        self._thread = threading.Thread(target=self._read, name=f"jt_edu from rank {rank}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def send(self, kind: int, plane: int, tag: int, numbers: Array, deadline: float) -> None:
        """Send a frame.

        Raises:
            LostRankError: the rank is gone. RankTimeoutError: it did not take all of it until the deadline.
        """
        body = memoryview(np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).data)
        dtype = numbers.dtype.str.encode()
        with self._turn:
            try:
                self._write([memoryview(HEADER.pack(kind, plane, tag, dtype, len(body))), body], deadline)
                self._whole = True
            finally:
                if not self._whole:
                    self._give_up()

    def _give_up(self) -> None:
        """End a connection with a part of a frame in it: what followed would be taken for the rest of that frame."""
        self.inbox.lose(self.rank, "took only a part of a message, so that its connection was closed")
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _write(self, pieces: list[memoryview], deadline: float) -> None:
        while pieces:
            try:
                sent = self.connection.sendmsg(pieces, (), socket.MSG_DONTWAIT)
                pieces, self._whole = _rest(pieces, sent), False
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([], [self.connection], [], left)[1]:
                    raise RankTimeoutError(f"rank {self.rank} takes its messages", "that it took none") from None
            except (OSError, ValueError):
                how = self.inbox.gone.get(self.rank, "closed its connection")
                raise LostRankError(f"rank {self.rank} is still there", f"that it {how}") from None

    def _read(self) -> None:
        how = "ended without a goodbye"
        try:
            while True:
                kind, plane, tag, name, size = HEADER.unpack(exactly(self.connection, HEADER.size))
                dtype = DTYPES.get(name.rstrip(b"\0").decode(errors="replace"))
                if dtype is None or size > MOST or size % dtype.itemsize:
                    how = f"sent a frame that is none ({size} bytes of {name!r})"
                    break
                numbers = np.empty(size // dtype.itemsize, dtype)
                self._fill(numbers.view(np.uint8).data)
                if kind == GOODBYE:
                    how = "has left the group"
                    break
                if kind == GIVES_UP:
                    self.inbox.give_up(plane, text_of(numbers))
                else:
                    self.inbox.put(plane, Frame(self.rank, kind, tag, numbers))
        except (OSError, MemoryError):
            pass
        self.inbox.lose(self.rank, how)

    def _fill(self, room: memoryview) -> None:
        while room:
            got = self.connection.recv_into(room, 0, socket.MSG_WAITALL)
            if not got:
                raise ConnectionError("it closed the connection")
            room = room[got:]

    def close(self) -> None:
        """End the connection, and with it the thread."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()
        if self._thread.is_alive():
            self._thread.join(1.0)


def _rest(pieces: list[memoryview], sent: int) -> list[memoryview]:
    """What is left of some pieces after so many bytes of them."""
    left = []
    for piece in pieces:
        left += [piece[sent:]] if sent < len(piece) else []
        sent = max(0, sent - len(piece))
    return left


def _or(ranks: Sequence[int]) -> str:
    return " or ".join(str(r) for r in ranks)


def as_text(text: str) -> Array:
    """A text as numbers."""
    return np.frombuffer(text.encode(), np.uint8)


def text_of(numbers: Array) -> str:
    """And back."""
    return numbers.tobytes().decode(errors="replace")


def _hello(caller: socket.socket, said: dict[socket.socket, bytes], secret: bytes) -> int | None:
    """The rank that calls, -1 for a stranger, who are in `said` no longer; None as long as not all was said."""
    try:
        piece = caller.recv(HELLO.size - len(said[caller]), socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        piece = b""
    said[caller] += piece
    if piece and len(said[caller]) < HELLO.size:
        return None
    words = said.pop(caller)
    if not piece:
        return -1
    magic, rank, told = HELLO.unpack(words)
    return int(rank) if magic == MAGIC and hmac.compare_digest(told, secret) else -1


def _too_few(missing: list[int], size: int, seconds: float) -> RankTimeoutError:
    ranks = ", ".join(str(r) for r in missing)
    return RankTimeoutError(f"{size} ranks join", f"no rank {ranks} within {seconds:g} s", "start them all")
