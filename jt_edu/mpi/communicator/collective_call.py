"""Collective call: how a rank comes to a collective, whatever kind of rank it is.

    _meet      checks what is called and says it       allreduce(op=SUM)
    _come      meets the others                        simulator/collective_call.py, mpi4py_backend/communicator.py
    _by        runs an algorithm over its wire         the same code for both

What a rank brings and wants stands in collective_args.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from jt_edu.mpi import algorithms
from jt_edu.mpi.algorithms.transport import Speaker, Wire
from jt_edu.mpi.base.buffers import Buffer, Packet, pack_object
from jt_edu.mpi.base.constants import SUM, as_op
from jt_edu.mpi.base.pickling import NOTHING
from jt_edu.mpi.communicator.collective_args import Ask, Fill, Visit, Way
from jt_edu.mpi.communicator.messages import check_peer
from jt_edu.mpi.communicator.point_to_point import PointToPoint
from jt_edu.mpi.communicator.request import Request

ROOTED = ("bcast", "gather", "scatter", "reduce")
REDUCING = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")


class Meets(PointToPoint):
    """A rank that can meet the others of its group."""

    _met = 0  # how many collectives this rank has begun here

    def _meet(
        self, name: str, part: Any, *, root: int = 0, op: Any = SUM, algorithm: str = "native",
        finish: Callable[[Any], Any] | None = None, background: bool = False, agree: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Take part in one collective; returns what this rank gets, or a request for it."""
        kind = plain(name)
        said: dict[str, Any] = {"root": root} if kind in ROOTED else {}
        if kind in ROOTED:
            check_peer(root, self.size, name, "root")
        if kind in REDUCING:
            op = as_op(op, name)
            said["op"] = op.name
        algorithm = algorithms.named(kind, algorithm)
        said |= {**(agree or {}), "algorithm": None if algorithm == "native" else algorithm}
        run = None if algorithm == "native" else algorithms.find(kind, algorithm, uneven=name.endswith("v"))
        called = f"I{name.lower()}" if background else "barrier" if kind == "barrier" else name
        ask = Ask(called, tuple(said.items()))
        if finish is None and kind != "barrier":
            part = packed(kind, part)
        self._due_first()  # which may meet the others, too
        sequence, self._met = self._met, self._met + 1
        details = {"sequence": sequence, "peer": root if kind in ROOTED else -1, "bytes": size_of(part)}
        with self._called(name, str(ask), algorithm=algorithm, **details) as call:
            request = Request(self, str(ask), (), call.line, at_once=background)
            visit = Visit(replace(ask, line=call.line), part, request, call, finish)
            return self._come(visit, Way(kind, sequence, run, root, op, background))

    def _numbers(
        self, name: str, part: Any, room: Buffer | None, algorithm: str, background: bool, *, root: int = 0,
        op: Any = SUM, mine: Buffer, count: int | None = None,
    ) -> Any:  # fmt: skip
        """A collective on buffers: `room` is filled with what this rank gets; all ranks agree in `count`."""
        agree = {"count": count, "dtype": str(mine.dtype)}
        if plain(name) in REDUCING:
            as_op(op, name).check(mine.dtype)
        if background or algorithm != "native":
            part = kept(part)
        finish = Fill(room, mine, name)
        request = self._meet(
            name, part, root=root, op=op, algorithm=algorithm, finish=finish, background=background, agree=agree
        )
        settle = None if room is None else room.settle
        if settle is not None and not background:
            settle()
        return request.then(settle) if background else request

    def _by(self, visit: Visit, way: Way, inside: Speaker) -> Any:
        """Run the algorithm over the wire `inside`."""
        assert way.run is not None, "only what goes by an algorithm comes here"
        given = ([] if way.kind == "barrier" else [opened(visit.part)]) + ([way.root] if way.kind in ROOTED else [])
        fill = visit.finish if isinstance(visit.finish, Fill) else None
        wire = Wire(inside, objects=fill is None, room=fill.room if fill else None)
        result = way.run(wire, *given, *([way.op] if way.kind in REDUCING else []))
        return opened(pack_object(result, way.kind)) if visit.finish is None else visit.finish(result)

    @abstractmethod
    def _come(self, visit: Visit, way: Way) -> Any:
        """Come to the meeting; returns what this rank gets, or a request for it."""


def plain(name: str) -> str:
    """The collective behind a name: "allgather" for Allgatherv."""
    low = name.lower()
    return low.removesuffix("_block") if low.startswith("reduce_scatter") else low.removesuffix("v")


def packed(kind: str, part: Any) -> Any:
    """An object, or one for each rank, as it travels: what its rank does with it afterwards changes nothing."""
    each = kind in ("scatter", "alltoall") and part is not None
    return [pack_object(p, kind) for p in part] if each else pack_object(part, kind)


def opened(part: Any) -> Any:
    """What was packed, as fresh objects; None is nothing."""
    if isinstance(part, list):
        return [opened(p) for p in part]
    return part.open() if isinstance(part, Packet) else part


def kept(part: Any) -> Any:
    """A copy of an array, or of each in a list."""
    if isinstance(part, np.ndarray):
        return part.copy()
    return [p.copy() for p in part] if isinstance(part, list) else part


def size_of(part: Any) -> int:
    """Bytes that a rank brings."""
    if isinstance(part, Packet):
        return part.bytes if part.payload != NOTHING else 0
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, list) and part and isinstance(part[0], (np.ndarray, Packet)):
        return sum(map(size_of, part))
    return 0 if part is None else pack_object(part, "a collective").bytes
