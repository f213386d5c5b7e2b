"""Meta-operators: the three things that every operator is made of.

    Elementwise     compute at each index                out[i, j] = f(x[i, j], y[i, j])
    Reindex         read from another index              out[i, j] = x[where(i, j)]
    ReindexReduce   accumulate into another index        out[where(i, j)] += x[i, j]

Each states its shape, its loop body and its gradient. The two reindexes are each other's gradient, so views, sums,
broadcasts, matmul, convolution and mean pooling need no gradient rule of their own.

Around them stand the leaves (`SOURCE`, `CONSTANT`, `Counter`) and two honest ways out: `Code`, a kernel that was
written by hand, and `HostCall`, work of the learner's own NumPy or of other ranks. Gradient rules are written with
plain arithmetic on whatever they are given, so nothing here knows Vars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar

from jt_edu.base.dtypes import DType
from jt_edu.base.errors import ArgumentError
from jt_edu.base.hints import of_an_index
from jt_edu.ir.index_expr import Index, Where, as_index, bounds, counters
from jt_edu.ir.node import Shape

Rule = Callable[..., Any]  # (out, dout, *inputs) -> gradient of one input, in Var arithmetic
Rules = tuple[Rule | None, ...]


class Op:
    """What every operator has: a name, a kind, and the gradient of each input."""

    kind: ClassVar[str]
    name: str
    gradients: Rules = ()  # one rule per input; None where there is no gradient


@dataclass(frozen=True, eq=False)
class Elementwise(Op):
    """Compute at each index: `body` is Python with {0}, {1} for the inputs; all inputs have the shape of the output."""

    kind: ClassVar[str] = "elementwise"
    name: str
    body: str
    rule: str = "same"  # how dtypes meet: a row of RULES in scalar_ops.py
    gradients: Rules = ()
    weight: int = 1  # cost in multiplications, for the fusion rule that weighs work against bytes
    bodies: dict[str, str] = field(default_factory=dict)  # other bodies for some kinds of dtype
    exact: bool = False  # compares: numbers are stored that are compared with a sum, or with the largest, of them

    def __call__(self, first: Any, *others: Any) -> Any:
        """The operator at work on Vars, for gradient rules: `SIN(x)`."""
        return first.apply(self, *others)


@dataclass(frozen=True, eq=False)
class Leaf(Op):
    """A value that no operator makes: an array, a number, or a loop counter."""

    kind: ClassVar[str] = "source"
    name: str


@dataclass(frozen=True, eq=False)
class Counter(Op):
    """The loop counter itself: out[i, j] = i when `axis` is 0."""

    kind: ClassVar[str] = "index"
    axis: int
    name: str = "index"


SOURCE = Leaf("array")
CONSTANT = Leaf("number")
COUNTERS = tuple(Counter(k) for k in range(32))


@dataclass(frozen=True, eq=False)
class Reindex(Op):
    """Read from another index: out[i, j] = x[where(i, j)], or `fill` where that is outside x or not `valid`.

    `guards` lists the axes of x on which the index may leave the array, found by interval arithmetic: (axis, below,
    above). With `fill` None the caller vouches that it never does.
    """

    kind: ClassVar[str] = "reindex"
    name: str
    shape: Shape  # of the output
    where: tuple[Index, ...]  # one per axis of x, in the counters of the output
    fill: float | str | None = None  # a number, or how one is written
    valid: Index | None = None
    guards: tuple[tuple[int, bool, bool], ...] = ()
    flat: bool = False  # a reshape: the same elements in the same order
    within: tuple[int, int, int] | None = None  # the numbers read are from low to below high, or a third one

    @property
    def picks(self) -> bool:
        """Whether the index only picks counters, so that one can look through without arithmetic."""
        plain = all(w.op == "counter" or w == as_index(0) for w in self.where)
        return plain and not (self.flat and 0 in self.shape)  # reshapes of nothing name the empty loop on each axis

    @property
    def gradients(self) -> Rules:  # type: ignore[override]
        """The rule of x; index arrays have none."""
        return (self._gradient,)

    def _gradient(self, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
        """Add every gradient to the element that was read."""
        return dout.reshape(x.shape) if self.flat else dout.scatter_to(self, x.shape, arrays)


@dataclass(frozen=True, eq=False)
class ReindexReduce(Op):
    """Accumulate into another index: out[where(i, j)] = reduce(out[...], x[i, j]); what falls outside is dropped."""

    kind: ClassVar[str] = "reindex_reduce"
    name: str
    reducer: str  # a key of REDUCERS
    shape: Shape  # of the output
    where: tuple[Index, ...]  # one per axis of the output, in the counters of x
    valid: Index | None = None
    guards: tuple[tuple[int, bool, bool], ...] = ()
    whole: bool = True  # every cell of the output is reached

    @property
    def gradients(self) -> Rules:  # type: ignore[override]
        """The rule of x, which the reducer knows; index arrays have none."""
        return (partial(REDUCERS[self.reducer].gradient, self),)

    @property
    def kept(self) -> tuple[int, ...] | None:
        """Which axes of x survive, in output order, where the map only drops axes; None for a real scatter."""
        if self.guards or self.valid is not None or not self.whole:
            return None
        axes = [w.args[0] for w in self.where if w.op == "counter"]
        plain = all(w.op == "counter" or w == as_index(0) for w in self.where)
        return tuple(axes) if plain and len(set(axes)) == len(axes) else None


@dataclass(frozen=True)
class Reducer:
    """How values are put together: the value to begin with, the step, and the gradient."""

    start: Callable[[DType], float | int | bool]
    step: str
    gradient: Rule  # its first argument is the ReindexReduce
    bodies: dict[str, str] = field(default_factory=dict)


def _add_gradient(op: ReindexReduce, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
    """Read the gradient where the value went."""
    return dout.gather_by(op, x.shape, arrays)


def _extremum_gradient(op: ReindexReduce, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
    """Inputs that tie share the gradient evenly, as in PyTorch's amax; so do those that are nan, where one is."""
    mine = x.is_what(op, arrays)
    share = dout / mine.cast(x.dtype).reduce_as(op, arrays)
    return share.gather_by(op, x.shape, arrays).keep_where(mine)


def _product_gradient(op: ReindexReduce, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
    """The product of all others: of those that are not 0, times the other zero if there is one.

    The zero stands there as what it is, so that the gradient of this gradient is right as well. The factors are stored,
    as sums of one number each: one of 1e-9 in the loop that multiplies them may be 0 when it is computed again.
    """
    x = x.reduce_as(reindex_reduce("factors", "add", x.shape, x.shape, counters(len(x.shape))))
    zero = x == 0
    count, only, rest = zero.cast("int64"), x.where_not(zero == 0, 0), x.where_not(zero, 1)
    others, other = (v.reduce_as(op, arrays, "add").gather_by(op, x.shape, arrays) - v for v in (count, only))
    product = rest.reduce_as(op, arrays).gather_by(op, x.shape, arrays) / rest
    factor = other.where_not(others == 0, 1).where_not(others > 1, 0)
    return dout.gather_by(op, x.shape, arrays) * (product * factor).conj()


def _last_gradient(op: ReindexReduce, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
    """Only the value that was written last has a gradient: number all values, and see whose number stayed."""
    number = x.position_numbers()
    won = number == number.reduce_as(op, arrays).gather_by(op, x.shape, arrays)
    return dout.gather_by(op, x.shape, arrays).where_not(won == 0, 0)


def lowest(d: DType) -> float | int | bool:
    """The smallest number that a dtype holds."""
    return d.whole[0] if d.whole else {"b": False, "f": float("-inf")}[d.kind]


def highest(d: DType) -> float | int | bool:
    """The largest number that a dtype holds."""
    return d.whole[-1] if d.whole else {"b": True, "f": float("inf")}[d.kind]


REDUCERS = {
    "add": Reducer(lambda d: 0, "{0} + {1}", _add_gradient, {"b": "{0} or {1}"}),
    "multiply": Reducer(lambda d: 1, "{0} * {1}", _product_gradient),
    "maximum": Reducer(lowest, "maximum({0}, {1})", _extremum_gradient, {"b": "{0} or {1}"}),
    "minimum": Reducer(highest, "minimum({0}, {1})", _extremum_gradient, {"b": "{0} and {1}"}),
    "last": Reducer(lambda d: 0, "{1}", _last_gradient),
}


@dataclass(frozen=True, eq=False)
class Code(Op):
    """A kernel written by hand: `text` defines kernel(lo, hi, *inputs, out), and is run as generated kernels are.

    `span` is what `hi` may be: parts of [0, span) are independent of each other, so that threads can share them.
    """

    kind: ClassVar[str] = "code"
    name: str
    text: str
    span: int
    weight: int  # cost of one element of the output, in multiplications
    gradients: Rules = ()
    threads: str = ""  # the same in kernels of a GPU, if somebody wrote them: kernel(lo, hi, *inputs, out) launches


@dataclass(frozen=True, eq=False)
class Slabs(Code):
    """Arrays of as many rows, behind each other: (rows, n0), (rows, n1), ... -> (rows, n0 + n1 + ...)."""


@dataclass(frozen=True, eq=False)
class HostCall(Op):
    """Work on whole arrays by NumPy (the learner's own), or by other ranks: never fused, and listed as such."""

    kind: ClassVar[str] = "hostcall"
    name: str
    run: Callable[..., Any]  # arrays in, array out
    gradients: Rules = ()
    by: str = "NumPy"  # who does it


@lru_cache(maxsize=1 << 16)
def reindex(
    name: str, source: Shape, shape: Shape, where: tuple[Index, ...], fill: float | str | None = None,
    valid: Index | None = None, flat: bool = False,
) -> Reindex:  # fmt: skip
    """A Reindex, one object per meaning, so that graphs of the same structure can be recognised."""
    return Reindex(name, shape, where, fill, valid, guards_of(where, source, shape) if fill is not None else (), flat)


@lru_cache(maxsize=1 << 16)
def reindex_reduce(
    name: str, reducer: str, source: Shape, shape: Shape, where: tuple[Index, ...], guarded: bool = False,
    valid: Index | None = None,
) -> ReindexReduce:  # fmt: skip
    """A ReindexReduce, one object per meaning."""
    if reducer not in REDUCERS:
        raise ArgumentError(f"{name} reduces with one of {', '.join(REDUCERS)}", repr(reducer))
    whole = all(w.op != "counter" or n == source[w.args[0]] for w, n in zip(where, shape, strict=True))
    whole = whole and all(n == 1 for w, n in zip(where, shape, strict=True) if w == as_index(0))
    return ReindexReduce(name, reducer, shape, where, valid, guards_of(where, shape, source) if guarded else (), whole)


def guards_of(where: Sequence[Index], shape: Shape, loops: Shape) -> tuple[tuple[int, bool, bool], ...]:
    """The axes of an array of `shape` that the index may leave: (axis, below, above)."""
    found = []
    for axis, (index, length) in enumerate(zip(where, shape, strict=True)):
        if index.op != "load":  # index arrays are checked before the kernel runs
            low, high = bounds(index, loops)
            if low < 0 or high >= length:
                found.append((axis, low < 0, high >= length))
    return tuple(found)


def answers(view: Callable[..., Where | Sequence[Where]], n: int) -> tuple[Index, ...]:
    """What `lambda i, j: (j, i)` answers when it is called with n counters."""
    try:
        answer = view(*counters(n))
    except TypeError as error:
        raise ArgumentError(*of_an_index(str(error), n)) from None
    parts = answer if isinstance(answer, (tuple, list)) else (answer,)
    return tuple(as_index(p) for p in parts)
