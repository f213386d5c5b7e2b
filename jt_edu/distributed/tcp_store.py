"""TCPStore: a store in one process, which the others reach over TCP.

    rank 0  TCPStore(host, port, 3, is_master=True)      runs the server (in a thread), and is a client of it too
    others  TCPStore(host, port, 3)                      clients

A client asks one question at a time; the server may take its time with the answer (store_server.py).
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.store import STORE_TIMEOUT, Store, too_late
from jt_edu.distributed.store_server import (
    ADD,
    COMPARE,
    COUNT,
    DELETE,
    GET,
    JOIN,
    LATE,
    LENGTH,
    MISSING,
    MOST,
    SET,
    TOGETHER,
    WAIT,
    WRONG,
    Server,
    packed,
    unpacked,
)  # fmt: skip
from jt_edu.mpi.base.errors import LostRankError, RankTimeoutError
from jt_edu.ops.arguments import whole

MARGIN = 30.0  # seconds after which a server that owes an answer is given up; one that has ended is missed at once
RETRY = 0.05  # seconds between two tries to reach a server that is not there yet


class TCPStore(Store):
    """A store that lives in the process of the master, and is reached over TCP.

    Args:
        host_name, port: of the master; port 0 lets the master choose one, which is its `port` then.
        world_size: how many stores there will be; None: nobody knows.
        is_master: whether the table is here.
        timeout: how long to wait for the master, for the others, and for keys.
        wait_for_workers: go on only when all `world_size` have come.

    Raises:
        RankTimeoutError: the master, or a worker, did not come in time.

    Example:
        >>> master = TCPStore("127.0.0.1", 0, is_master=True)
        >>> worker = TCPStore("127.0.0.1", master.port)
        >>> worker.set("key", "value")
        >>> master.get("key"), worker.num_keys()
        (b'value', 1)
        >>> worker.close(), master.close()
        (None, None)
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: Any = STORE_TIMEOUT, wait_for_workers: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(timeout)
        port = whole("TCPStore", "port", port, 0, 65535)
        self.host = host_name
        self.world_size = None if world_size is None else whole("TCPStore", "world_size", world_size, 1)
        self._turn = threading.Lock()
        self._server = Server(host_name, port) if is_master else None
        self.port = self._server.port if self._server else port
        seconds = self.timeout.total_seconds()
        try:
            self._socket = connected(host_name, self.port, seconds)
            self._ask(JOIN)
            if world_size is not None and wait_for_workers:
                self._meet(world_size, seconds)
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """Of this machine, on the way that leads to the master."""
        return str(self._socket.getsockname()[0])

    def _meet(self, size: int, seconds: float) -> None:
        kind, parts = self._ask(TOGETHER, _in_ms(seconds), str(size).encode(), patience=seconds)
        if kind == LATE:
            here = parts[0].decode()
            raise RankTimeoutError(f"{size} ranks come to the store", f"{here} within {seconds:g} s", "start them all")

    def _set(self, key: str, value: bytes) -> None:
        self._ask(SET, key.encode(), value)

    def _add(self, key: str, amount: int) -> int:
        return int(self._ask(ADD, key.encode(), str(amount).encode())[1][0])

    def _compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        return self._ask(COMPARE, key.encode(), expected, desired)[1][0]

    def _delete(self, key: str) -> bool:
        return self._ask(DELETE, key.encode())[1][0] == b"1"

    def _missing(self, keys: list[str]) -> list[str]:
        return [k.decode() for k in self._ask(MISSING, *(k.encode() for k in keys))[1]]

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._ask(COUNT)[1][0])

    def _get(self, key: str, seconds: float) -> bytes:
        return self._waited(GET, [key], seconds)[0]

    def _wait(self, keys: list[str], seconds: float) -> None:
        self._waited(WAIT, keys, seconds)

    def _waited(self, what: int, keys: list[str], seconds: float) -> list[bytes]:
        kind, parts = self._ask(what, _in_ms(seconds), *(k.encode() for k in keys), patience=seconds)
        if kind == LATE:
            raise too_late([p.decode() for p in parts], seconds)
        return parts

    def _ask(self, what: int, *parts: bytes, patience: float = 0.0) -> tuple[int, list[bytes]]:
        """One question, one answer."""
        frame = packed(what, *parts)
        if len(frame) > MOST:
            raise ArgumentError(f"a TCPStore takes at most {MOST:,} bytes at once", f"{len(frame):,}")
        with self._turn:
            try:
                self._socket.settimeout(patience + MARGIN)
                self._socket.sendall(frame)
                (size,) = LENGTH.unpack(exactly(self._socket, LENGTH.size))
                kind, answer = unpacked(exactly(self._socket, size))
            except BaseException as error:
                self._socket.close()  # an answer that comes late must not be taken for that to the next question
                if not isinstance(error, OSError):
                    raise
                found = f"{type(error).__name__}: {error}"
                raise LostRankError(f"the store at {self.host}:{self.port} answers", found) from None
        if kind == WRONG:
            raise ArgumentError("a store does what it is asked", answer[0].decode())
        return kind, answer

    def close(self) -> None:
        """Leave; with the master, the table goes too."""
        if hasattr(self, "_socket"):
            self._socket.close()
        if self._server is not None:
            self._server.close()

    def __repr__(self) -> str:
        return f"TCPStore({self.host!r}, {self.port})"


def connected(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to somebody who may not be there yet.

    Raises:
        RankTimeoutError: nobody was there in time.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = socket.create_connection((host, port), max(deadline - time.monotonic(), RETRY))
        except OSError as error:
            if time.monotonic() + RETRY > deadline:
                asked, tried = f"somebody listens at {host}:{port}", "start rank 0, and look at address and port"
                raise RankTimeoutError(asked, f"{error} for {seconds:g} s", tried) from None
            time.sleep(RETRY)
        else:
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return found


def exactly(connection: socket.socket, size: int) -> bytes:
    """The next `size` bytes.

    Raises:
        ConnectionError: it was closed before.
    """
    got = bytearray()
    while len(got) < size:
        piece = connection.recv(min(size - len(got), 1 << 20))
        if not piece:
            raise ConnectionError("it closed the connection")
        got += piece
    return bytes(got)


def _in_ms(seconds: float) -> bytes:
    return str(max(1, round(seconds * 1000))).encode()
