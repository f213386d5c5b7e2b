"""The server of a TCPStore: one thread that never waits for any one client.

    frame        [length of the rest: 4 bytes] [what is asked: 1 byte] [length: 4 bytes][part] [length][part] ...

What a client asks for that is not there yet is answered later, what it does not read is kept for it up to a limit, and
whoever breaks the rules is cut off. The server runs nothing that it is sent, and holds no secrets: put it where only
those can reach it who should.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.distributed.store import Table

LENGTH = struct.Struct("<I")
MOST = 1 << 26  # bytes of a frame, and of answers that a client has not read
MOST_KEYS = 1 << 20  # of the whole table
MARGIN = 30.0  # seconds for the thread to end: it may have to wait for its turn
SET, GET, ADD, WAIT, COMPARE, DELETE, MISSING, COUNT, JOIN, TOGETHER = range(10)  # what is asked
FINE, LATE, WRONG = range(3)  # what is answered
PATIENCE = 1e6  # seconds: longer waits are cut down to this, which the system can still count

Answer = Callable[[Table, list[bytes]], list[bytes]]

ANSWERS: dict[int, Answer] = {  # to what can be answered at once
    SET: lambda table, parts: table.set(parts[0].decode(), parts[1]),
    ADD: lambda table, parts: [b"%d" % table.add(parts[0].decode(), int(parts[1]))],
    COMPARE: lambda table, parts: [table.compare_set(parts[0].decode(), parts[1], parts[2])],
    DELETE: lambda table, parts: [b"%d" % table.delete(parts[0].decode())],
    MISSING: lambda table, parts: [k.encode() for k in table.missing([p.decode() for p in parts])],
    COUNT: lambda table, parts: [b"%d" % len(table.values)],
}


def packed(kind: int, *parts: bytes) -> bytes:
    r"""A frame.

    Example:
        >>> packed(SET, b"key", b"v")
        b'\r\x00\x00\x00\x00\x03\x00\x00\x00key\x01\x00\x00\x00v'
    """
    body = bytes([kind]) + b"".join(LENGTH.pack(len(p)) + p for p in parts)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> tuple[int, list[bytes]]:
    """(kind, parts) of what stands behind the length of a frame.

    Raises:
        ArgumentError: it is none.

    Example:
        >>> unpacked(packed(SET, b"key", b"v")[4:])
        (0, [b'key', b'v'])
    """
    parts, at = [], 1
    while at + LENGTH.size <= len(body):
        (size,) = LENGTH.unpack_from(body, at)
        parts.append(body[at + LENGTH.size : at + LENGTH.size + size])
        at += LENGTH.size + size
    if not body or at != len(body):
        raise ArgumentError("a frame is a kind and its parts", f"{body[:40]!r}")
    return body[0], parts


@dataclass
class Client:
    """One connection to the server."""

    connection: socket.socket
    came: bytearray = field(default_factory=bytearray)
    leaves: bytearray = field(default_factory=bytearray)
    joined: bool = False


@dataclass
class Waiter:
    """A question that cannot be answered yet."""

    client: Client
    what: int
    deadline: float
    keys: list[str]  # or how many ranks


class Server:
    """The table, and one thread that answers for it."""

    def __init__(self, host: str, port: int) -> None:
        self._door = listening(host, port)
        self._door.setblocking(False)
        self.port = int(self._door.getsockname()[1])
        self._table, self._clients, self._waiters, self._joined = (
            Table(MOST_KEYS),
            set[socket.socket](),
            list[Waiter](),
            0,
        )
        self._bell, self._rope = socket.socketpair()
        self._sockets = selectors.DefaultSelector()
        self._sockets.register(self._door, selectors.EVENT_READ)
        self._sockets.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="jt_edu store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and cut off everyone."""
        with contextlib.suppress(OSError):
            self._rope.send(b"!")
        self._thread.join(MARGIN)

    def _run(self) -> None:
        while True:
            soonest = min((w.deadline for w in self._waiters), default=None)
            pause = None if soonest is None else max(0.0, soonest - time.monotonic())
            for key, events in self._sockets.select(pause):
                if key.fileobj is self._bell:
                    self._end()
                    return
                if key.fileobj is self._door:
                    self._welcome()
                else:
                    self._serve(key.data, events)
            self._look_again()

    def _welcome(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._door.accept()
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients.add(connection)
            self._sockets.register(connection, selectors.EVENT_READ, Client(connection))

    def _serve(self, client: Client, events: int) -> None:
        """Read, answer and write; whatever this client does wrong hurts nobody else."""
        try:
            if events & selectors.EVENT_READ:
                self._read(client)
            self._write(client)
        except BlockingIOError:
            pass
        except Exception:  # noqa: BLE001 - a stranger may send anything
            self._cut_off(client)

    def _read(self, client: Client) -> None:
        piece = client.connection.recv(1 << 20)
        if not piece:
            raise ConnectionError("it left")
        client.came += piece
        while len(client.came) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(client.came)
            if size > MOST:
                raise ArgumentError(f"a frame has at most {MOST} bytes", f"{size}")
            if len(client.came) < LENGTH.size + size:
                return
            body = bytes(client.came[LENGTH.size : LENGTH.size + size])
            del client.came[: LENGTH.size + size]
            self._answer(client, *unpacked(body))

    def _write(self, client: Client) -> None:
        if client.leaves:
            with contextlib.suppress(BlockingIOError):
                del client.leaves[: client.connection.send(client.leaves)]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.leaves else 0)
        self._sockets.modify(client.connection, wanted, client)

    def _say(self, client: Client, kind: int, *parts: bytes) -> None:
        client.leaves += packed(kind, *parts)
        if len(client.leaves) > 2 * MOST:
            raise ArgumentError("a client reads its answers", f"{len(client.leaves)} bytes unread")

    def _answer(self, client: Client, what: int, parts: list[bytes]) -> None:
        if what in ANSWERS:
            try:
                self._say(client, FINE, *ANSWERS[what](self._table, parts))
            except ArgumentError as error:
                self._say(client, WRONG, str(error).encode())
        elif what == JOIN:
            self._joined += not client.joined
            client.joined = True
            self._say(client, FINE)
        elif what in (GET, WAIT, TOGETHER):
            deadline = time.monotonic() + min(int(parts[0]) / 1000, PATIENCE)
            keys = [p.decode() for p in parts[1:]]
            self._waiters.append(Waiter(client, what, deadline, keys))
        else:
            raise ArgumentError("a store is asked with the numbers 0 to 9", f"{what}")

    def _look_again(self) -> None:
        """Answer whoever can be answered by now, or has waited long enough."""
        waiting, self._waiters = self._waiters, []
        for waiter in waiting:
            client = waiter.client
            if client.connection.fileno() < 0:
                continue
            try:
                if not self._try(waiter):
                    self._waiters.append(waiter)
                    continue
                self._write(client)
            except Exception:  # noqa: BLE001 - as in _serve
                self._cut_off(client)

    def _try(self, waiter: Waiter) -> bool:
        """Whether it was answered."""
        late = time.monotonic() >= waiter.deadline
        if waiter.what == TOGETHER:
            there, held = self._joined >= int(waiter.keys[0]), [str(self._joined).encode()]
        else:
            missing = self._table.missing(waiter.keys)
            there, held = not missing, [k.encode() for k in missing]
        if there:
            values = self._table.values
            self._say(waiter.client, FINE, *([values[k] for k in waiter.keys] if waiter.what == GET else []))
        elif late:
            self._say(waiter.client, LATE, *held)
        return there or late

    def _cut_off(self, client: Client) -> None:
        self._clients.discard(client.connection)
        with contextlib.suppress(KeyError, ValueError):
            self._sockets.unregister(client.connection)
        client.connection.close()

    def _end(self) -> None:
        for connection in [*self._clients, self._door, self._bell, self._rope]:
            connection.close()
        self._sockets.close()


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at an address of this machine; at all of them if the name is one of a way in from outside.

    Raises:
        RankError: the port is taken.
    """
    for address in (host, ""):
        try:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return socket.create_server((address, port), family=family, backlog=1024)
        except OSError as error:
            reason = error
            if isinstance(error, socket.gaierror) or "Cannot assign" in str(error):
                continue
            break
    raise RankError(f"somebody listens at {host}:{port}", f"{reason}", "another port, or 0 for any that is free")
