"""Names of message passing: constants, reductions, and what a receive tells about its message.

    SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, and Op.Create(function) for one's own

They mean what they mean in mpi4py. Nothing here knows how a message travels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, DtypeError

ANY_SOURCE = -2  # as the library of the first MPI we met has them; real MPI translates them
PROC_NULL = -1
ANY_TAG = -1
UNDEFINED = -32766
TAG_LIMIT = (1 << 29) - 1  # the largest tag that every MPI takes


class _InPlace:
    """Says that a rank's part already lies where the result goes."""

    def __repr__(self) -> str:
        return "IN_PLACE"


IN_PLACE: Any = _InPlace()


@dataclass
class Status:
    """What a receive or a probe found: who sent it, under which tag, how much of it there is.

    Example:
        >>> Status(source=1, tag=7, count=3, bytes=24).Get_source()
        1
    """

    source: int = ANY_SOURCE
    tag: int = ANY_TAG
    count: int = 0  # elements of a buffer; 0 for an object
    bytes: int = 0
    cancelled: bool = False

    def Get_source(self) -> int:
        """The rank that sent it."""
        return self.source

    def Get_tag(self) -> int:
        """The tag that it was sent with."""
        return self.tag

    def Get_count(self, datatype: Any = None) -> int:
        """How many elements came; in bytes if no buffer came, or if the datatype BYTE is asked for."""
        return self.count if datatype is None and self.count else self.bytes

    def Is_cancelled(self) -> bool:
        """Whether the request was cancelled before a message came."""
        return self.cancelled

    def take(self, other: Status) -> None:
        """Become what `other` is."""
        self.source, self.tag, self.count, self.bytes = other.source, other.tag, other.count, other.bytes
        self.cancelled = other.cancelled


@dataclass(frozen=True, eq=False)
class Op:
    """A reduction: puts two contributions together, arrays or objects.

    Args:
        name: as messages call it.
        combine: (lower rank's, higher rank's) -> both together.
        commute: whether the order of ranks may be changed.
        kinds: NumPy kinds of dtype that it is defined on; "" for any.
    """

    name: str
    combine: Callable[[Any, Any], Any]
    commute: bool = True
    kinds: str = ""

    @staticmethod
    def Create(function: Callable[[Any, Any], Any], commute: bool = False) -> Op:
        """A reduction of one's own: function(a, b) answers what both are together.

        Raises:
            ArgumentError: it is no function.

        Example:
            >>> Op.Create(lambda a, b: a + " " + b)("to", "be")
            'to be'
        """
        if not callable(function):
            raise ArgumentError("Op.Create takes a function of two contributions", repr(function))
        return Op(getattr(function, "__name__", "user op"), function, bool(commute))

    def Is_commutative(self) -> bool:
        """Whether a + b equals b + a, as far as the reduction knows."""
        return self.commute

    def Free(self) -> None:
        """Nothing has to be freed here; the name is there so that programs written for mpi4py run."""

    def check(self, dtype: np.dtype[Any]) -> None:
        """Refuse dtypes on which the reduction has no meaning."""
        if self.kinds and dtype.kind not in self.kinds:
            raise DtypeError(f"{self.name} is no reduction of {dtype}", f"dtype {dtype}", "another op, or a cast")

    def __call__(self, a: Any, b: Any) -> Any:
        """Both together."""
        return self.combine(a, b)

    def __repr__(self) -> str:
        return self.name


def _by_place(better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """MAXLOC and MINLOC on pairs (value, place): ties go to the lower place."""

    def combine(a: Any, b: Any) -> Any:
        (x, i), (y, j) = a, b
        if x == y:
            return (x, min(i, j))
        return (x, i) if better(x, y) else (y, j)

    return combine


def _either(on_arrays: Callable[[Any, Any], Any], on_objects: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Arrays element by element, and in their own dtype; any other object as Python does."""

    def combine(a: Any, b: Any) -> Any:
        return on_arrays(a, b) if isinstance(a, np.ndarray) else on_objects(a, b)

    return combine


def _truth(of: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: of(a != 0, b != 0).astype(a.dtype)


SUM = Op("SUM", _either(np.add, lambda a, b: a + b), kinds="biufc")
PROD = Op("PROD", _either(np.multiply, lambda a, b: a * b), kinds="biufc")
MAX = Op("MAX", _either(np.maximum, max), kinds="biuf")
MIN = Op("MIN", _either(np.minimum, min), kinds="biuf")
LAND = Op("LAND", _either(_truth(np.logical_and), lambda a, b: bool(a) & bool(b)), kinds="biuf")
LOR = Op("LOR", _either(_truth(np.logical_or), lambda a, b: bool(a) | bool(b)), kinds="biuf")
LXOR = Op("LXOR", _either(_truth(np.logical_xor), lambda a, b: bool(a) ^ bool(b)), kinds="biuf")
BAND = Op("BAND", _either(np.bitwise_and, lambda a, b: a & b), kinds="biu")
BOR = Op("BOR", _either(np.bitwise_or, lambda a, b: a | b), kinds="biu")
BXOR = Op("BXOR", _either(np.bitwise_xor, lambda a, b: a ^ b), kinds="biu")
MAXLOC = Op("MAXLOC", _by_place(lambda x, y: x > y))
MINLOC = Op("MINLOC", _by_place(lambda x, y: x < y))

OPS = {op.name: op for op in (SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC)}


def as_op(op: Any, call: str) -> Op:
    """The reduction that was meant, by object or by name.

    Raises:
        ArgumentError: there is no such reduction.

    Example:
        >>> as_op("sum", "allreduce")
        SUM
    """
    found = OPS.get(op.upper()) if isinstance(op, str) else op
    if not isinstance(found, Op):
        raise ArgumentError(f"{call} reduces with one of {', '.join(OPS)}", repr(op), "SUM, or Op.Create(function)")
    return found
