"""Trace: what each stage did, in the order in which it happened.

    with jt.trace() as t:            t.built       nodes, with the learner's line that made each
        y.numpy()                    t.decisions   which edge was fused or cut, by which rule
                                     t.kernels     what was compiled and run: source, ms, bytes, flops
                                     t.casts       which function computed in which dtype inside an autocast region
                                     t.copies      which arrays went from one device to another (runtime/devices.py)
                                     t.notes       what such a run does otherwise when nobody watches
                                     t.memory      what was allocated and freed, and how much was alive
    with jt.trace(values=True) as t: t.values      what each node was, in a few numbers and cells

What happened is told here; what would happen, by `explain`. This file imports nothing of ours, so that every floor can
announce what it does.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from jt_edu.base.plural import plural

VERSION = 1


@dataclass(frozen=True)
class Built:
    """A node was added to the graph."""

    id: int
    op: str
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    where: str
    kind: str = ""  # "elementwise", "reindex", "reindex_reduce", "source", "index", "code" or "hostcall"
    module: str = ""  # the module that built it, such as "ResNet/layer1/0/conv1"
    twin: int | None = None  # the node whose gradient it is a part of


@dataclass(frozen=True)
class Decision:
    """The edge from `source` to `target` was fused (both in one kernel) or cut (the value is stored between them)."""

    source: int
    target: int
    fused: bool
    rule: str
    reason: str


@dataclass(frozen=True)
class Line:
    """One line of a kernel, the node it computes, and the learner's line that made that node."""

    number: int
    node: int
    op: str
    where: str


@dataclass(frozen=True)
class KernelRun:
    """A kernel ran: its source, which nodes it computed, what it cost."""

    name: str
    source: str
    lines: tuple[Line, ...]
    nodes: tuple[int, ...]
    stored: tuple[int, ...]
    backend: str
    compiled: bool  # now; False when it came from memory or disk
    compile_seconds: float
    milliseconds: float
    bytes: int  # read and written, each array once
    flops: int
    calls: tuple[str, ...] = ()  # what it calls beside arithmetic: "BLAS", "NumPy", "the other ranks"
    path: str = ""
    kind: str = "loops"  # "loops", "product", "convolution", "code" or "host"
    reads: tuple[int, ...] = ()
    edited: bool = False  # the source is a learner's, instead of what was generated
    key: str = ""  # names the source that was generated, and so the kernel on every page
    algorithm: str = ""  # of a convolution, or a matrix product
    reason: str = ""  # why that one, and what the others cost

    @property
    def annotated(self) -> str:
        """The source with the op and the learner's line behind each line that computes something."""
        return annotate(self.source, self.lines)


def plain(number: float) -> float | str:
    """A number as JSON can hold it: "nan" and "inf" are texts there."""
    return number if math.isfinite(number) else str(number)


def annotate(source: str, lines: tuple[Line, ...]) -> str:
    """A kernel's source, with comments that say what its lines compute."""
    notes = {line.number: f"  # {line.op}" + (f": {line.where}" if line.where else "") for line in lines}
    rows = source.splitlines()
    width = min(max((len(rows[n - 1]) for n in notes), default=0), 72)
    return "\n".join(r.ljust(width) + notes[n] if n in notes else r for n, r in enumerate(rows, start=1)) + "\n"


@dataclass(frozen=True)
class Memory:
    """`bytes` were allocated for a node, or freed; `alive` is what this run held then."""

    action: str  # "allocate" or "free"
    node: int
    bytes: int
    alive: int
    kernel: int = 0  # the number of the kernel that needed it, or read it last


@dataclass(frozen=True)
class Value:
    """What a node was: statistics of its finite elements, how many were not, and some cells of it in row order."""

    node: int
    shape: tuple[int, ...]
    dtype: str
    min: float  # nan where no element is finite
    mean: float
    max: float
    nan: int
    inf: int
    zero: int
    rows: int
    columns: int
    exact: bool  # the cells are all elements
    cells: bytes = field(repr=False)  # float32, little-endian

    @property
    def count(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)


@dataclass
class Trace:
    """The records of everything that happened while it was open."""

    built: list[Built] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    kernels: list[KernelRun] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    predicted_peak: int = 0  # bytes, the largest of the runs in this trace
    values: list[Value] = field(default_factory=list)
    wants_values: bool = False
    casts: list[Any] = field(default_factory=list)
    copies: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def peak(self) -> int:
        """Most bytes that any run in this trace held at once, as counted while it ran."""
        return max((m.alive for m in self.memory), default=0)

    @property
    def compiled(self) -> int:
        """How many kernels had to be compiled."""
        return sum(k.compiled for k in self.kernels)

    def as_dict(self) -> dict[str, Any]:
        """Everything as one JSON document: plain numbers, texts and lists. Cells of values lie in `blocks`."""
        told = {"format": "jt_edu.base.trace", "version": VERSION, **asdict(self), "peak": self.peak}
        at = 0
        for value in told["values"]:
            count = len(value.pop("cells")) // 4
            value.update({name: plain(value[name]) for name in ("min", "mean", "max")}, block=[at, count])
            at += count
        return told

    @property
    def blocks(self) -> bytes:
        """The cells of all values, one behind the other, as float32."""
        return b"".join(value.cells for value in self.values)

    def to_json(self) -> str:
        """The document of `as_dict` as text."""
        return json.dumps(self.as_dict())

    def __repr__(self) -> str:
        rows = [f"{'nodes':>6}{'ms':>10}{'kB':>10}{'compiled':>10}  kernel"]
        for k in self.kernels:
            state = f"{k.compile_seconds * 1e3:.0f} ms" if k.compiled else "no"
            rows.append(f"{len(k.nodes):>6}{k.milliseconds:>10.3f}{k.bytes / 1e3:>10.1f}{state:>10}  {k.name}")
        rows += sorted({f"autocast: {c.function} in {c.to}, by the list {c.rule!r}" for c in self.casts})
        total = f"{plural(len(self.kernels), 'kernel')}, {sum(k.milliseconds for k in self.kernels):.3f} ms"
        told = [*map(str, self.copies), *dict.fromkeys(self.notes)]
        return "\n".join([*rows, *told, f"{total}, peak {self.peak / 1e3:.1f} kB"])
