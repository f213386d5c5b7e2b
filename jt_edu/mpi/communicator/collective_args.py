"""Collective args: what a rank brings to a collective, and what it wants of it.

comm.Allreduce(x, total, op="max", algorithm="ring")

Ask      Allreduce(op=MAX, count=3, dtype=float64)     what it calls; all ranks have to agree in it
Way      allreduce, by ring.allreduce, with MAX         how it takes part
Fill     puts the result into `total`                   what is done with what it gets
Visit    its Ask, x, its Fill, its request and call     everything of it that others see
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Buffer
from jt_edu.mpi.base.errors import TruncationError
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.trace.records import Call


@dataclass(frozen=True)
class Ask:
    """A collective as one rank calls it; what all ranks have to agree in."""

    name: str  # "allreduce"
    agree: tuple[tuple[str, Any], ...]  # (("op", "SUM"), ("shape", (3,)), ("dtype", "float32"))
    line: str = ""

    def __str__(self) -> str:
        said = ", ".join(f"{k}={v}" for k, v in self.agree if v is not None)
        return f"{self.name}({said})"


@dataclass(frozen=True)
class Way:
    """How a rank takes part in one collective."""

    kind: str  # "allreduce"
    sequence: int  # of the collective in its communicator
    run: Callable[..., Any] | None  # the algorithm; None: native
    root: int
    op: Any
    background: bool


@dataclass(frozen=True)
class Fill:
    """Puts what a rank gets from a collective into its buffer, `room`; `mine` is the buffer that it brought."""

    room: Buffer | None
    mine: Buffer | None
    name: str

    def __call__(self, got: Any) -> None:
        """Take what this rank gets."""
        if self.room is not None and got is not None:
            put(self.room, got, self.name)


@dataclass(slots=True)
class Visit:
    """One rank in a collective: what it calls, what it brings, and what is done with what it gets."""

    ask: Ask
    part: Any
    request: Request
    call: Call
    finish: Callable[[Any], Any] | None = None  # a Fill for buffers; None for objects, which are unpacked

    @property
    def room(self) -> Array | None:
        """The buffer that it wants to be filled as a whole."""
        room = self.finish.room if isinstance(self.finish, Fill) else None
        return None if room is None else room.flat


def put(room: Buffer, got: Any, call: str) -> None:
    """Fill a buffer with an array, or its parts with arrays.

    Raises:
        TruncationError: they are longer than the room for them.
    """
    targets = [room.part(k) for k in range(len(got))] if isinstance(got, list) else [room.flat]
    for rank, (target, piece) in enumerate(zip(targets, got if isinstance(got, list) else [got], strict=True)):
        if piece.size > target.size:
            whose = f" for what rank {rank} sends" if isinstance(got, list) else ""
            raise TruncationError(
                f"{call} has room for {target.size} numbers{whose}",
                f"{piece.size} of them",
                "counts that fit on all ranks",
            )
        target[: piece.size] = piece
