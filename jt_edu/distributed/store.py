"""Store: a table of keys and bytes that all ranks read and write, and where they can wait for a key.

    rank 0  store.set("address/0", "10.0.0.1:4711")         HashStore      in this process
    rank 1  store.get("address/0")   waits until it is there  FileStore      in a file that all can see
    all     store.add("joined", 1)   counts, never loses one  TCPStore       in a process that all can reach
                                                              PrefixStore    a part of another store

Values are bytes and stay bytes: nothing that comes out of a store is ever run. A wait always ends, and names the keys
that did not come. Nothing here knows ranks or groups.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.options import as_timeout
from jt_edu.distributed.unimplemented import left_out
from jt_edu.mpi.base.errors import RankTimeoutError
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator.threads import ThreadComm

STORE_TIMEOUT = timedelta(minutes=5)


class Table:
    """What a store holds, at most so many keys, and what can be done to it, by one at a time."""

    def __init__(self, most: int = 1 << 31) -> None:
        self.values: dict[str, bytes] = {}
        self.most = most

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The keys that are not there."""
        return [k for k in keys if k not in self.values]

    def set(self, key: str, value: bytes) -> list[bytes]:
        """From now on; there is nothing to answer."""
        if key not in self.values and len(self.values) >= self.most:
            raise ArgumentError(f"this table has at most {self.most} keys", f"another one, {key[:40]!r}", "delete_key")
        self.values[key] = value
        return []

    def add(self, key: str, amount: int) -> int:
        """Count on: a key that is not there counts from 0.

        Raises:
            ArgumentError: what is there is no number.
        """
        held = self.values.get(key, b"0")
        if not held.lstrip(b"-").isdigit() or len(held) > 40:
            raise ArgumentError(f"add counts on from the number in {key!r}", repr(held[:40]), "a key of its own")
        total = int(held) + amount
        self.set(key, str(total).encode())
        return total

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Set a key if it holds what is expected (b"": or is not there); returns what it holds then."""
        held = self.values.get(key)
        if held == expected or (held is None and not expected):
            self.set(key, desired)
            return desired
        return expected if held is None else held

    def delete(self, key: str) -> bool:
        """Whether there was one to delete."""
        return self.values.pop(key, None) is not None


class Store:
    """A table of keys and bytes that ranks share. Your own kind defines `num_keys` and the methods with an underscore.

    Args:
        timeout: how long `get` and `wait` are patient, a timedelta or seconds.

    Example:
        >>> HashStore(timeout=3).timeout
        datetime.timedelta(seconds=3)
    """

    def __init__(self, timeout: Any = STORE_TIMEOUT) -> None:
        self.timeout = as_timeout(timeout, type(self).__name__)

    # what a kind of store defines

    def _set(self, key: str, value: bytes) -> None:
        raise left_out(self, "_set", "a store")

    def _get(self, key: str, seconds: float) -> bytes:
        """Waits for it."""
        raise left_out(self, "_get", "a store")

    def _add(self, key: str, amount: int) -> int:
        raise left_out(self, "_add", "a store")

    def _wait(self, keys: list[str], seconds: float) -> None:
        raise left_out(self, "_wait", "a store")

    def _compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        raise left_out(self, "_compare_set", "a store")

    def _delete(self, key: str) -> bool:
        raise left_out(self, "_delete", "a store")

    def _missing(self, keys: list[str]) -> list[str]:
        raise left_out(self, "_missing", "a store")

    def num_keys(self) -> int:
        """How many keys there are."""
        raise left_out(self, "num_keys", "a store")

    # what a program asks

    def set_timeout(self, timeout: Any) -> None:
        """How long `get` and `wait` are patient from now on."""
        self.timeout = as_timeout(timeout, "set_timeout")

    def set(self, key: str, value: Any) -> None:
        """The value of a key, bytes or text, from now on."""
        self._set(as_key(key, "set"), as_value(value, "set"))

    def get(self, key: str) -> bytes:
        """The value of a key, once it is there.

        Raises:
            RankTimeoutError: it did not come in time.
        """
        return self._get(as_key(key, "get"), self.timeout.total_seconds())

    def add(self, key: str, amount: int) -> int:
        """Count on by `amount`, and answer the sum: no two callers get the same one."""
        if not isinstance(amount, int) or isinstance(amount, bool) or abs(amount) >= 1 << 63:
            raise ArgumentError("add counts on by a whole number of 64 bits", repr(amount))
        return self._add(as_key(key, "add"), amount)

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Until all of the keys are there.

        Raises:
            RankTimeoutError: some did not come in time; the message names them.
        """
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise ArgumentError("wait takes a list of keys", repr(keys), f"[{keys!r}]")
        patience = self.timeout if timeout is None else as_timeout(timeout, "wait")
        self._wait([as_key(k, "wait") for k in keys], patience.total_seconds())

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of the keys are there now."""
        return not self._missing([as_key(k, "check") for k in keys])

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a key if it holds what is expected ("": or is not there); returns what it holds then.

        One that is not there, though something was expected, stays away, and the answer is what was expected.
        """
        expected, desired = as_value(expected_value, "compare_set"), as_value(desired_value, "compare_set")
        return self._compare_set(as_key(key, "compare_set"), expected, desired)

    def delete_key(self, key: str) -> bool:
        """Whether there was one to delete."""
        return self._delete(as_key(key, "delete_key"))

    def close(self) -> None:
        """This store is not used any more."""


class TableStore(Store):
    """A store that has its table at hand. A kind of it says how the table is held, changed and waited for."""

    def __init__(self, timeout: Any = STORE_TIMEOUT) -> None:
        super().__init__(timeout)
        self._table = Table()

    def _held(self) -> AbstractContextManager[Any]:
        """Inside, nobody else changes the table."""
        raise left_out(self, "_held", "a store with a table")

    def _do(self, what: Callable[..., Any], key: str, *args: Any) -> Any:
        """Change what stands at one key, for all to see: `what` is a method of the table."""
        raise left_out(self, "_do", "a store with a table")

    def _set(self, key: str, value: bytes) -> None:
        self._do(self._table.set, key, value)

    def _add(self, key: str, amount: int) -> int:
        return int(self._do(self._table.add, key, amount))

    def _compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        return bytes(self._do(self._table.compare_set, key, expected, desired))

    def _delete(self, key: str) -> bool:
        return bool(self._do(self._table.delete, key))

    def _missing(self, keys: list[str]) -> list[str]:
        with self._held():
            return self._table.missing(keys)

    def num_keys(self) -> int:
        """How many keys there are."""
        with self._held():
            return len(self._table.values)

    def _get(self, key: str, seconds: float) -> bytes:
        self._wait([key], seconds)
        return self._table.values[key]


class HashStore(TableStore):
    """A store in this process, for threads and for simulated ranks.

    Example:
        >>> store = HashStore()
        >>> store.set("name", "rank 0"), store.add("count", 2), store.get("name")
        (None, 2, b'rank 0')
        >>> store.wait(["never"], timeout=0.01)
        Traceback (most recent call last):
        RankTimeoutError: ...
    """

    def __init__(self, timeout: Any = STORE_TIMEOUT) -> None:
        super().__init__(timeout)
        self._changed = threading.Condition()
        self._asleep: list[Request] = []  # of simulated ranks

    def _held(self) -> AbstractContextManager[Any]:
        return self._changed

    def _do(self, what: Callable[..., Any], key: str, *args: Any) -> Any:
        """One change of the table; who waits has another look."""
        with self._changed:
            found = what(key, *args)
            self._changed.notify_all()
        asleep, self._asleep = self._asleep, []
        for request in asleep:
            request.complete()
        return found

    def _wait(self, keys: list[str], seconds: float) -> None:
        comm = current().rank_state.get("communicator")
        if comm is not None and comm.is_simulated and comm.size > 1:
            self._let_others_run(comm, keys, seconds)
            return
        with self._changed:
            if not self._changed.wait_for(lambda: not self._table.missing(keys), seconds):
                raise too_late(self._table.missing(keys), seconds)

    def _let_others_run(self, comm: ThreadComm, keys: list[str], seconds: float) -> None:
        """A simulated rank gives the baton away while it waits; its seconds are virtual."""
        deadline = comm.now + round(seconds * 1e9)
        others = tuple(m for m in comm.members if m != comm.task.rank)
        while missing := self._table.missing(keys):
            request = Request(comm, f"store.wait({missing})", others)
            self._asleep.append(request)
            with comm._waiting(request.words):
                comm.task.wait_for([request], deadline=deadline)

    def __repr__(self) -> str:
        return f"HashStore({self.num_keys()} keys)"


class PrefixStore(Store):
    """A part of another store: each key stands there behind the prefix and a "/".

    Example:
        >>> whole = HashStore()
        >>> PrefixStore("a", whole).set("key", "1")
        >>> whole.get("a/key"), PrefixStore("b", whole).check(["key"])
        (b'1', False)
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise ArgumentError(
                "a PrefixStore is a part of another store", repr(store), "PrefixStore('a', HashStore())"
            )
        super().__init__(store.timeout)
        self.prefix, self.underlying_store = as_key(prefix, "PrefixStore"), store

    def _at(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _set(self, key: str, value: bytes) -> None:
        self.underlying_store._set(self._at(key), value)

    def _get(self, key: str, seconds: float) -> bytes:
        return self.underlying_store._get(self._at(key), seconds)

    def _add(self, key: str, amount: int) -> int:
        return self.underlying_store._add(self._at(key), amount)

    def _wait(self, keys: list[str], seconds: float) -> None:
        self.underlying_store._wait([self._at(k) for k in keys], seconds)

    def _compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        return self.underlying_store._compare_set(self._at(key), expected, desired)

    def _delete(self, key: str) -> bool:
        return self.underlying_store._delete(self._at(key))

    def _missing(self, keys: list[str]) -> list[str]:
        return self.underlying_store._missing([self._at(k) for k in keys])

    def num_keys(self) -> int:
        """How many keys the whole store has, as in PyTorch."""
        return self.underlying_store.num_keys()

    def __repr__(self) -> str:
        return f"PrefixStore({self.prefix!r}, {self.underlying_store!r})"


def too_late(missing: Sequence[str], seconds: float) -> RankTimeoutError:
    """The error of a wait for keys."""
    return RankTimeoutError(
        f"somebody sets the keys {', '.join(missing)}", f"nobody did within {seconds:g} s",
        "look whether every rank has started, and spells the key the same way",
    )  # fmt: skip


def as_key(key: Any, call: str) -> str:
    """A key is text."""
    if not isinstance(key, str) or len(key) > 4096:
        raise ArgumentError(f"{call} takes a key, a text of at most 4096 letters", repr(key)[:100])
    return key


def as_value(value: Any, call: str) -> bytes:
    """A value is bytes, or text that becomes bytes."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"{call} takes a value of bytes or text", repr(value)[:100], "str(value), or pickle.dumps")
    return bytes(value)
