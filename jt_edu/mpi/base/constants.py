"""Constants: the names of message passing, reductions, and what a receive tells about its message.

    SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE (the last one), NO_OP (the first
    one), and Op.Create(function) for one's own

They mean what they mean in mpi4py. Nothing here knows how a message travels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError, UnknownNameError

ANY_SOURCE = -2  # the numbers of MPICH; under another MPI they are translated
PROC_NULL = -1
ANY_TAG = -1
UNDEFINED = -32766
COMM_TYPE_SHARED = 1
ORDER_C, ORDER_F = 56, 57
IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)
BSEND_OVERHEAD = 96  # bytes that a message takes beside its own, in a buffer for Bsend
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)
TAG_LIMIT = (1 << 29) - 1  # the largest tag that every MPI takes
SMALL = 1 << 14  # bytes of an object that travels in one message; of a longer one, a stub comes first
STUB_BYTES = 17


class _Word:
    """A name that stands for itself: IN_PLACE, where a rank's part already lies where the result goes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name


IN_PLACE: Any = _Word("IN_PLACE")
BOTTOM: Any = _Word("BOTTOM")  # the beginning of all memory: with it, displacements are addresses


class Null:
    """What stands for "none": the communicator of a rank that is in no group, the request that was waited for.

    It is false, equals whatever was freed that it could stand for, and whatever is asked of it is refused.

    Example:
        >>> bool(COMM_NULL)
        False
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return self is other or getattr(other, "freed_to", None) is self

    __hash__ = None  # type: ignore[assignment] # as mpi4py has it: what it equals changes

    def __getattr__(self, asked: str) -> Any:
        if asked.startswith("__"):
            raise AttributeError(asked)
        raise UnknownNameError(f"{self._name}.{asked} is asked for", f"{self._name}, which stands for none of them")

    def __reduce__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name


COMM_NULL: Any = Null("COMM_NULL")
GROUP_NULL: Any = Null("GROUP_NULL")
DATATYPE_NULL: Any = Null("DATATYPE_NULL")


@dataclass(slots=True)
class Status:
    """What a receive or a probe found: who sent it, under which tag, how much of it there is.

    Example:
        >>> Status(source=1, tag=7, bytes=24).Get_source()
        1
    """

    source: int = ANY_SOURCE
    tag: int = ANY_TAG
    bytes: int = 0
    cancelled: bool = False
    error: int = 0

    def __post_init__(self) -> None:
        like: Any = self.source  # or a status, of which this is a copy, as mpi4py makes one
        if isinstance(like, Status):
            self.take(like)

    @property
    def count(self) -> int:
        """Its length in bytes."""
        return self.bytes

    @count.setter
    def count(self, count: int) -> None:
        """Say its length in bytes."""
        self.bytes = count

    def Get_source(self) -> int:
        """The rank that sent it."""
        return self.source

    def Get_tag(self) -> int:
        """The tag that it was sent with."""
        return self.tag

    def Get_error(self) -> int:
        """0: a receive that fails raises its error."""
        return self.error

    def Get_count(self, datatype: Any = None) -> int:
        """How many elements of a datatype came, UNDEFINED if that is no whole number; without a datatype, its bytes.

        Example:
            >>> Status(bytes=24).Get_count(np.float64), Status(bytes=24).Get_count()
            (3, 24)
        """
        size = _size_of(datatype)
        if not self.bytes:
            return 0
        return self.bytes // size if size and self.bytes % size == 0 else UNDEFINED

    def Get_elements(self, datatype: Any) -> int:
        """How many numbers came; of a layout, each of its elements counts."""
        return self.Get_count(datatype if datatype is None else dtype_of(datatype))

    def Set_elements(self, datatype: Any, count: int) -> None:
        """Say how many of a datatype came: for a request of one's own."""
        self.bytes = count * _size_of(datatype)

    def Set_source(self, source: int) -> None:
        """Say who sent it."""
        self.source = source

    def Set_tag(self, tag: int) -> None:
        """Say which tag it was sent with."""
        self.tag = tag

    def Set_error(self, error: int) -> None:
        """Say what went wrong."""
        self.error = error

    def Set_cancelled(self, flag: bool) -> None:
        """Say whether the request was cancelled."""
        self.cancelled = bool(flag)

    def Is_cancelled(self) -> bool:
        """Whether the request was cancelled before a message came."""
        return self.cancelled

    def take(self, other: Status) -> None:
        """Become what `other` is."""
        self.source, self.tag, self.bytes, self.cancelled = other.source, other.tag, other.bytes, other.cancelled
        self.error = other.error


def _size_of(datatype: Any) -> int:
    """Bytes of one of a datatype."""
    if datatype is None:
        return 1
    return int(datatype.Get_size()) if hasattr(datatype, "Get_size") else int(dtype_of(datatype).itemsize)


def dtype_of(datatype: Any) -> np.dtype[Any]:
    """NumPy's name for a datatype: one of MPI's, a letter, or NumPy's own.

    Raises:
        DtypeError: it is none of them.

    Example:
        >>> dtype_of("d")
        dtype('float64')
    """
    try:
        found: np.dtype[Any] = np.dtype(datatype.tocode() if hasattr(datatype, "tocode") else datatype)
    except (TypeError, ValueError):
        raise DtypeError("a datatype is one of MPI's or NumPy's", repr(datatype), "MPI.DOUBLE, or np.float64") from None
    return found


@dataclass(frozen=True, eq=False)
class Op:
    """A reduction: puts two contributions together, arrays or objects.

    Args:
        name: as messages call it.
        combine: (lower rank's, higher rank's) -> both together.
        commute: whether the order of ranks may be changed.
        kinds: NumPy kinds of dtype that it is defined on; "" for any.
    """

    name: str = "OP_NULL"
    combine: Callable[[Any, Any], Any] | None = None
    commute: bool = True
    kinds: str = ""

    @staticmethod
    def Create(function: Callable[[Any, Any], Any], commute: bool = False) -> Op:
        """A reduction of one's own: function(a, b) answers what both are together.

        Or, as mpi4py has it, function(a, b, datatype), which for buffers writes into b what both are together.

        Raises:
            ArgumentError: it is no function.

        Example:
            >>> Op.Create(lambda a, b: a + " " + b)("to", "be")
            'to be'
        """
        if not callable(function):
            raise ArgumentError("Op.Create takes a function of two contributions", repr(function))
        return Op(getattr(function, "__name__", "user op"), _one_s_own(function), bool(commute))

    def Is_commutative(self) -> bool:
        """Whether a + b equals b + a, as far as the reduction knows."""
        return self.commute

    @property
    def is_commutative(self) -> bool:
        """The same."""
        return self.commute

    @property
    def is_predefined(self) -> bool:
        """Whether it is one of MPI's own."""
        return OPS.get(self.name) is self

    def Free(self) -> None:
        """One's own is not used any more, and equals OP_NULL."""
        if not self.is_predefined:
            object.__setattr__(self, "combine", None)

    def check(self, dtype: np.dtype[Any]) -> None:
        """Refuse dtypes on which the reduction has no meaning."""
        if self.kinds and dtype.kind not in self.kinds:
            pairs = "pairs (value, place), of the dtype [('value', 'f8'), ('place', 'i4')]"
            attempt = pairs if self.kinds == "V" else "another op, or a cast"
            raise DtypeError(f"{self.name} is no reduction of {dtype}", f"dtype {dtype}", attempt)

    def __call__(self, a: Any, b: Any) -> Any:
        """Both together."""
        if self.combine is None:
            raise ArgumentError("a reduction puts two contributions together", "OP_NULL, which is none", "SUM")
        return self.combine(a, b)

    def __bool__(self) -> bool:
        return self.combine is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and (self is other or self.combine is other.combine is None)

    __hash__ = None  # type: ignore[assignment] # as mpi4py has it: what it equals changes

    def __reduce__(self) -> Any:
        own = Op, (self.name, self.combine, self.commute, self.kinds)
        return self.name if OPS.get(self.name, OP_NULL) is self else own

    def __repr__(self) -> str:
        return self.name


def _one_s_own(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A function of two that answers, whatever form the learner's function has."""
    try:
        inspect.signature(function).bind(None, None, None)
    except (TypeError, ValueError):  # it does not take three, or is one of those that tell nothing
        return function

    def combine(a: Any, b: Any) -> Any:
        if not isinstance(b, np.ndarray):
            return function(a, b, None)
        room = b.copy()
        answer = function(a, room, room.dtype)
        return room if answer is None else answer

    return combine


def _by_place(better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """MAXLOC and MINLOC on pairs (value, place), or arrays of them: ties go to the lower place."""

    def combine(a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) and a.dtype.names:
            value, place = a.dtype.names
            takes_b = better(b[value], a[value]) | ((b[value] == a[value]) & (b[place] < a[place]))
            return np.where(takes_b, b, a)
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


def _or_nan(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """One of two objects; what is no number stays, whichever rank has it, as it does in arrays."""

    def combine(a: Any, b: Any) -> Any:
        return next((x for x in (a, b) if isinstance(x, (float, np.floating)) and np.isnan(x)), None) or choose(a, b)

    return combine


def _truth(of: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: of(a != 0, b != 0).astype(a.dtype)


SUM = Op("SUM", _either(np.add, lambda a, b: a + b), kinds="biufc")
PROD = Op("PROD", _either(np.multiply, lambda a, b: a * b), kinds="biufc")
MAX = Op("MAX", _either(np.maximum, _or_nan(max)), kinds="biuf")
MIN = Op("MIN", _either(np.minimum, _or_nan(min)), kinds="biuf")
LAND = Op("LAND", _either(_truth(np.logical_and), lambda a, b: bool(a) & bool(b)), kinds="biuf")
LOR = Op("LOR", _either(_truth(np.logical_or), lambda a, b: bool(a) | bool(b)), kinds="biuf")
LXOR = Op("LXOR", _either(_truth(np.logical_xor), lambda a, b: bool(a) ^ bool(b)), kinds="biuf")
BAND = Op("BAND", _either(np.bitwise_and, lambda a, b: a & b), kinds="biu")
BOR = Op("BOR", _either(np.bitwise_or, lambda a, b: a | b), kinds="biu")
BXOR = Op("BXOR", _either(np.bitwise_xor, lambda a, b: a ^ b), kinds="biu")
MAXLOC = Op("MAXLOC", _by_place(lambda x, y: x > y), kinds="V")
MINLOC = Op("MINLOC", _by_place(lambda x, y: x < y), kinds="V")

REPLACE = Op("REPLACE", lambda a, b: b, commute=False)
NO_OP = Op("NO_OP", lambda a, b: a, commute=False)
OP_NULL = Op()

OPS = {op.name: op for op in (SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE, NO_OP)}


def as_op(op: Any, call: str) -> Op:
    """The reduction that was meant: by object, by name, or (for objects) a function of two.

    Raises:
        ArgumentError: there is no such reduction.

    Example:
        >>> as_op("sum", "allreduce")
        SUM
    """
    found = OPS.get(op.upper()) if isinstance(op, str) else op
    if isinstance(found, Op) and found:
        return found if found.is_predefined else replace(found)  # which may be freed before it is used
    if callable(found) and not isinstance(found, Op) and call[:1].islower():
        return Op.Create(found)
    raise ArgumentError(f"{call} reduces with one of {', '.join(OPS)}", repr(op), "SUM, or Op.Create(function)")
