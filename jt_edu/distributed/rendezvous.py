"""Rendezvous: where do processes find each other, and who is which rank?

    env://                                        RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say it
    tcp://host:port?rank=0&world_size=4           rank 0 listens there; rank and size here, or as arguments
    file:///path/to/file?rank=0&world_size=4      a file that all can see, and that no run before has used

The answer is a store that all of them share. Nothing here knows what they will say to each other.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.file_store import FileStore
from jt_edu.distributed.store import Store
from jt_edu.distributed.tcp_store import TCPStore

VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def rendezvous(method: str, rank: int, world_size: int, timeout: timedelta) -> tuple[Store, int, int]:
    """(store, rank, world size) as a method says them; -1: the method knows.

    Raises:
        ArgumentError: a number is missing; the message names it.
        RankTimeoutError: the others did not come in time.

    Example:
        >>> store, rank, size = rendezvous("tcp://127.0.0.1:0?rank=0&world_size=1", -1, -1, timedelta(seconds=5))
        >>> rank, size, store.close()
        (0, 1, None)
    """
    if not isinstance(method, str) or "://" not in method:
        raise ArgumentError("init_method is env://, tcp://host:port or file:///path", repr(method))
    parts = urlsplit(method)
    told = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme == "env":
        return _by_environment(rank, world_size, timeout)
    rank, size = _ranks(told.get("rank", rank), told.get("world_size", world_size), method)
    if parts.scheme == "tcp":
        if not parts.hostname or parts.port is None:
            raise ArgumentError("tcp:// names a host and a port", repr(method), "tcp://127.0.0.1:29500")
        return TCPStore(parts.hostname, parts.port, size, rank == 0, timeout), rank, size
    if parts.scheme == "file":
        if not parts.path:
            raise ArgumentError("file:// names a file", repr(method), "file:///shared/meeting")
        return FileStore(parts.path, size, timeout), rank, size
    raise ArgumentError("init_method is env://, tcp://host:port or file:///path", repr(method))


def _by_environment(rank: int, world_size: int, timeout: timedelta) -> tuple[Store, int, int]:
    told = dict(os.environ)
    if rank != -1:
        told["RANK"] = str(rank)
    if world_size != -1:
        told["WORLD_SIZE"] = str(world_size)
    missing = [name for name in VARIABLES if not told.get(name)]
    if missing:
        raise ArgumentError(
            f"env:// reads {', '.join(VARIABLES)}", f"no {' and no '.join(missing)} in the environment",
            "python -m jt_edu.distributed.launch, or backend='solo' for a world of one",
        )  # fmt: skip
    number, size = _ranks(told["RANK"], told["WORLD_SIZE"], "env://")
    port = _number(told["MASTER_PORT"], "MASTER_PORT")
    return TCPStore(told["MASTER_ADDR"], port, size, number == 0, timeout), number, size


def _ranks(rank: Any, world_size: Any, method: str) -> tuple[int, int]:
    number, size = _number(rank, "rank"), _number(world_size, "world_size")
    if size < 1 or not 0 <= number < size:
        asked = f"{method} needs a world_size from 1 and a rank from 0 to world_size - 1"
        raise ArgumentError(asked, f"rank {number} of {size}", "rank=0, world_size=1")
    return number, size


def _number(given: Any, name: str) -> int:
    try:
        return int(given)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is a whole number", repr(given)) from None
