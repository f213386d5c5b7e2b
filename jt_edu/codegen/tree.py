"""Tree: the loops of one kernel, before they become text.

    Block            a list of what happens, in order
      Loop           a counter, and the Block it repeats
      Value          a number in a register: a load, an operator, a finished sum
      Start, Update  set an accumulator, and accumulate a Value: into a register or into an array
      Store          write a Value into an array

`Access` says which element of which array is meant. Nothing here knows how Python is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jt_edu.dtypes import DType
from jt_edu.expression import Place
from jt_edu.graph import Node, Shape
from jt_edu.index import Index, as_index
from jt_edu.meta import Reducer


@dataclass(eq=False)
class Access:
    """An element of an array: `role` is "in", "out", or "scratch" (a kernel's own sums and rows, of `dtype`)."""

    role: str
    node: Node
    where: Place
    shape: Shape
    dtype: DType | None = None  # of scratch; other arrays have that of their node

    def __post_init__(self) -> None:
        """Axes of length 1 are always at 0 and need no index."""
        kept = [(w, n) for w, n in zip(self.where, self.shape, strict=True) if w != as_index(0) or n != 1]
        self.where, self.shape = tuple(w for w, _ in kept), tuple(n for _, n in kept)


@dataclass(eq=False)
class Value:
    """A number in a register."""

    kind: str  # load, number, counter, compute, fill, guard, row, final, sum
    node: Node
    depth: int
    operands: tuple[Value, ...] = ()
    access: Access | None = None
    index: Index | None = None  # of a counter or a guard
    guard: Value | None = None
    register: Update | None = None  # whose accumulator this is the final value of
    uses: int = 0
    deepest: int = 0  # of the blocks that use it

    def used_at(self, depth: int) -> None:
        """Note one more use."""
        self.uses += 1
        self.deepest = max(self.deepest, depth)


@dataclass(eq=False)
class Update:
    """accumulator = step(accumulator, value); the accumulator is a register where `access` is None."""

    node: Node
    reducer: Reducer
    dtype: DType  # of the accumulator
    value: Value | None = None
    access: Access | None = None
    guard: Value | None = None
    blocked: bool = False  # blocks are summed as what they are made of, then added up in `dtype`


@dataclass(eq=False)
class Start:
    """Set an accumulator to the value that its reducer begins with."""

    update: Update


@dataclass(eq=False)
class Store:
    """array[where] = value."""

    node: Node
    access: Access
    value: Value


@dataclass(eq=False)
class Loop:
    """Repeat `body` for each value of the counter `axis`; piece by piece, if `head` says where pieces end."""

    axis: int
    body: Block
    head: list[Value | Index] = field(default_factory=list)  # ends, and what is known at the begin of a piece


Item = Value | Update | Start | Store | Loop


@dataclass(eq=False)
class Block:
    """What happens, in order."""

    items: list[Item] = field(default_factory=list)


@dataclass(eq=False)
class Nest:
    """All loops of one kernel."""

    top: Block
    extents: dict[int, int]
    span: int | None  # the loop that may be split among threads
    kept: list[set[int]]  # for each anchor, the loops its output is indexed by
    work: float  # operations, weighted


def accesses(block: Block) -> list[Access]:
    """Every element that is read or written below `block`."""
    found = []
    for item in block.items:
        if isinstance(item, Loop):
            found += accesses(item.body)
        elif isinstance(item, Start):
            found += [item.update.access] if item.update.access else []
        elif item.access is not None:
            found.append(item.access)
    return found


def arithmetic(block: Block) -> list[Index]:
    """Every index expression below `block` that is not an access: counters used as numbers, and guards."""
    found = []
    for item in block.items:
        if isinstance(item, Loop):
            found += arithmetic(item.body)
        elif isinstance(item, Value) and item.index is not None:
            found.append(item.index)
    return found
