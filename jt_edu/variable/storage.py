"""Storage: the memory that a Var lies in, and who else lies there.

    x = jt.arange(6)                 x        0 1 2 3 4 5      made when x is stored
    y = x.reshape(2, 3)              y        the same memory: another shape of the same numbers in the same order
    z = x[1:4]                       z        memory of its own, once z is stored

A Var that is stored lies in row-major order from the beginning of its memory to the end. So a reshape (flatten,
squeeze, unsqueeze, unflatten) or a detach of a stored Var lies where that one lies; every other view (a slice, a
transpose, an expand) is an index while it is read inside a kernel, and a copy once it is stored. Nothing is ever
written through a Var: `x[0] = 7` gives x other memory, so who shares a memory cannot be seen in the numbers.

The one array that can change is the learner's own: what is written to `a` after `x = jt.from_numpy(a)` is read by
everything that runs later (docs/decisions/022).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.allocator import Allocator, PlainAllocator
from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.ir.node import Node, callers_line, describe_line
from jt_edu.runtime.devices import CPU, device_of
from jt_edu.variable.var import Var, method


class Storage:
    """The memory of one Var, which `Var.storage()` answers; as long as this object is there, so is the memory.

    nbytes      bytes of the Var's own numbers
    reserved    bytes of the whole block behind them: large blocks are multiples of 64 kB, to be lent again, and an
                array that was given to `from_numpy` may be a part of a longer one
    data_ptr    address of the first number

    Example:
        >>> x = jt.arange(6).sync()
        >>> x.storage().nbytes
        48
        >>> x.storage().shares(x.reshape(2, 3)), x.storage().shares(x[1:4])
        (True, False)
    """

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    @property
    def nbytes(self) -> int:
        """Bytes of the Var's own numbers."""
        return self._array.nbytes

    @property
    def reserved(self) -> int:
        """Bytes of the block that they lie in."""
        return _root(self._array).nbytes

    @property
    def data_ptr(self) -> int:
        """Address of the first number."""
        return int(self._array.ctypes.data)

    @property
    def writable(self) -> bool:
        """Whether the memory may be written to by its owner: False for a read-only array given to `from_numpy`."""
        return bool(self._array.flags.writeable)

    @property
    def refcount(self) -> int:
        """How many values, of Vars and of graphs, lie in this memory. NumPy arrays of yours keep it too, uncounted."""
        root = _root(self._array)
        return sum(_root(node.data) is root for node in stored())

    def shares(self, other: Any) -> bool:
        """Whether another Var (which is stored for that), Storage or NumPy array lies in the same memory, or a part."""
        if isinstance(other, Var):
            other = other.storage()
        array = other._array if isinstance(other, Storage) else other
        if not isinstance(array, np.ndarray):
            raise ArgumentError("a Storage is shared with a Var, a Storage or a NumPy array", type(other).__name__)
        return bool(np.may_share_memory(self._array, array))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and (self.data_ptr, self.nbytes) == (other.data_ptr, other.nbytes)

    def __hash__(self) -> int:
        return hash((self.data_ptr, self.nbytes))

    def __len__(self) -> int:
        return self.nbytes

    def __repr__(self) -> str:
        return f"jt.Storage({self.nbytes} bytes at {self.data_ptr:#x}, {self.reserved} reserved)"


def _root(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array whose memory it is."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def stored() -> Iterator[Node]:
    """Every node of this process that has an array, whoever holds it: Python's own list of objects knows."""
    return (o for o in gc.get_objects() if type(o) is Node and isinstance(o.data, np.ndarray))


@method
def storage(x: Var) -> Storage:
    """The memory that x lies in; x is computed for that. A number of the graph gets memory of its own.

    Example:
        >>> jt.ones(2, 3).storage().nbytes
        24
    """
    if device_of(x.sync().node) != CPU:
        raise ArgumentError("a Storage is memory of the CPU", f"x on {device_of(x.node)}", "x.cpu().storage()")
    return Storage(x.node.data if isinstance(x.node.data, np.ndarray) else np.asarray(x.node.data, x.dtype.storage))


@method
def data_ptr(x: Var) -> int:
    """Address of the first number of x; x is computed for that.

    Example:
        >>> x = jt.ones(2, 3).sync()
        >>> x.data_ptr() == x.storage().data_ptr == x.numpy().ctypes.data
        True
    """
    return storage(x).data_ptr


@dataclass(frozen=True)
class Allocation:
    """So many bytes were asked for on behalf of this line of the learner's."""

    bytes: int
    line: str


class TracingAllocator:
    """Notes down each array that is made: its bytes, and the line that wanted numbers. Another allocator does the work.

    Args:
        inner: who makes the room; fresh memory each time, if nobody is named.

    Example:
        >>> with jt.allocator(TracingAllocator()) as seen:
        ...     y = (jt.ones(1000) * 2 + 1).sync()
        >>> [a.bytes for a in seen.allocations]
        [4000]
    """

    def __init__(self, inner: Allocator | None = None) -> None:
        self.inner = PlainAllocator() if inner is None else inner
        self.allocations: list[Allocation] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array with arbitrary contents."""
        array = self.inner.empty(shape, dtype)
        self.allocations.append(Allocation(array.nbytes, describe_line(callers_line())))
        return array

    @property
    def bytes(self) -> int:
        """All bytes that were asked for."""
        return sum(a.bytes for a in self.allocations)

    def by_line(self) -> dict[str, int]:
        """Bytes for each line, most first."""
        lines = {a.line for a in self.allocations}
        total = {line: sum(a.bytes for a in self.allocations if a.line == line) for line in lines}
        return dict(sorted(total.items(), key=lambda entry: -entry[1]))

    def __repr__(self) -> str:
        rows = [f"{size:>14,} bytes  {line}" for line, size in self.by_line().items()]
        return "\n".join([f"{plural(len(self.allocations), 'array')}, {plural(self.bytes, 'byte')}", *rows])
