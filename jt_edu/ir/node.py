r"""Node: what is to be computed, and from what.

A `Node` says which operator makes a value from which other values. It is made when the learner writes the operator, and
holds no number until somebody asks for one: then `data` is filled in. Nodes never change their meaning, so a graph has
no circles and can be shared by everything that reads it.

      a    b            Source, Source
       \  /
        mul     c       Elementwise
          \   /
           add          Elementwise
            |
           sum          ReindexReduce

Nothing here knows how a node is computed.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from jt_edu.base.context import Context, Moment, current
from jt_edu.base.dtypes import DType
from jt_edu.base.trace import Built
from jt_edu.base.tracebacks import HOME

if TYPE_CHECKING:
    from jt_edu.ir.meta_ops import Op

Shape = tuple[int, ...]
Line = tuple[CodeType, int]  # the learner's code, and the instruction in it
Origin = tuple[Line | None, Any, int | None]  # line, module, twin
OURS: set[str] = set()  # files of jt_edu that have built nodes
OFTEN = 2  # after so many runs that computed a value and did not keep it, the next one does
age = attrgetter("id")  # nodes are numbered as they are made


class Node:
    """One value of the graph: the operator that makes it, its inputs, its shape and dtype, and, once run, its data."""

    __slots__ = ("__weakref__", "behind", "data", "dtype", "holders", "id", "look", "name", "op", "owner", "runs",
                 "scope", "shape", "tape", "tracked", "twin", "where")  # fmt: skip

    op: Op
    behind: Any  # its inputs, or, until somebody looks at them, who makes them (variable/subgraph_cache.py)
    shape: Shape
    dtype: DType
    data: Any  # NumPy array, Python number (op is a constant), or None while pending
    id: int  # grows with time, so that inputs always have smaller ids
    holders: int  # how many Vars of the learner point here
    tracked: bool  # takes part in gradients
    runs: int  # that computed it and did not keep it, while nothing behind it was held
    look: int  # once nodes have this id, its history is looked through for what nobody holds any more
    where: Line | None
    twin: int | None  # the id of the node whose gradient this is a part of; None: it is part of no gradient
    scope: Any  # the module that built it: an object with a `path` and its `classes`, or None
    name: str
    owner: Any  # weak reference to the Var that hooks and `.grad` belong to, or None
    tape: Any  # a Function's own gradient, which replaces the operator's, or None

    def __init__(self, op: Op, inputs: tuple[Node, ...], shape: Shape, dtype: DType, data: Any = None) -> None:
        context = current()
        moment = context.threads.now
        self.op, self.behind, self.shape, self.dtype, self.data = op, inputs, shape, dtype, data
        self.id, self.holders = next(context.ids), 0
        self.name, self.owner, self.tape, self.look = "", None, None, 0
        self.tracked, self.runs = False, 0
        if dtype.is_float and not moment.no_grad:
            whole, stopped = False, False
            for i in inputs:
                if i.tracked:
                    self.tracked = True
                    break
                if not i.dtype.is_float:
                    whole = True
                elif not isinstance(i.data, (float, complex)):  # a bare number says nothing
                    stopped = True
            else:
                self.tracked = whole and not stopped  # what is made of whole numbers alone: gradients begin there
        twin = moment.twin
        if twin is None:  # as in origin(), which is a call more for every node
            self.where = callers_line(2)  # whoever makes a node is one of us
            self.scope, self.twin = moment.scope, None
        else:
            self.where, self.scope, self.twin = twin.where, twin.scope, twin.id
        if context.traces:
            announce(context, self)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it is made from."""
        found = self.behind
        return found if type(found) is tuple else found.unfold(self)

    @property
    def gradient(self) -> bool:
        """Built by jt.grad."""
        return self.twin is not None

    @property
    def pending(self) -> bool:
        """Not computed yet."""
        return self.data is None

    @property
    def line(self) -> str:
        """The learner's line that made this node, such as `train.py:12: y = a * b`."""
        return describe_line(self.where)

    def __repr__(self) -> str:
        inputs = ", ".join(f"#{i.id}" for i in self.inputs)
        return f"#{self.id} {self.op.name}({inputs}) {self.shape} {self.dtype}"


def origin(now: Moment | Context, known: int = 1) -> Origin:
    """The line, the module and the twin of a node built now: a gradient has those of what it is a gradient of."""
    twin = now.twin
    if twin is None:
        return callers_line(known + 1), now.scope, None
    return twin.where, twin.scope, twin.id


def made(
    context: Any, origin: Origin, op: Op, inputs: Any, shape: Shape, dtype: DType, data: Any,
    tracked: bool,
) -> Node:  # fmt: skip
    """A node of which everything is known already: what `Node(...)` would find out by looking.

    The context is asked for a number, and which traces to tell.
    """
    node = object.__new__(Node)
    node.op, node.behind, node.shape, node.dtype = op, inputs, shape, dtype
    node.data, node.tracked, node.runs = data, tracked, 0
    node.id, node.holders = next(context.ids), 0
    node.name, node.owner, node.tape, node.look = "", None, None, 0
    node.where, node.scope, node.twin = origin
    if context.traces:
        announce(context, node)
    return node


def callers_line(known: int = 1) -> Line:
    """The innermost place outside jt_edu that led here: the learner's line. The first `known` callers are ours."""
    try:
        back: FrameType | None = sys._getframe(1 + known)
    except ValueError:  # nobody else led here: a thread that runs one of our functions
        back = sys._getframe(1)
    while back is not None:
        frame = back
        file = frame.f_code.co_filename
        if file not in OURS:
            if not file.startswith(HOME):
                break
            OURS.add(file)  # remembered, because this is asked for every node
        back = frame.f_back
    return frame.f_code, frame.f_lasti


def announce(context: Context, node: Node) -> None:
    """Tell the open traces that a node was built."""
    inputs = tuple(i.id for i in node.inputs)
    module = node.scope.path if node.scope is not None else ""
    event = Built(
        node.id, node.op.name, inputs, node.shape, str(node.dtype), node.line, node.op.kind, module, node.twin
    )
    for t in context.traces:
        t.built.append(event)


def describe_line(where: Line | None) -> str:
    """A place in the learner's code as `file:line: text`; the second line of a notebook's In[3] as `cell 3:2: text`."""
    if where is None:
        return ""
    code, instruction = where
    number = next((line for at, to, line in code.co_lines() if at <= instruction < to and line), code.co_firstlineno)
    text = linecache.getline(code.co_filename, number).strip()
    return f"{_place(code.co_filename)}:{number}" + (f": {text}" if text else "")


def _place(file: str) -> str:
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    label = shell and shell.compile.format_code_name(file)  # "Cell", "In[3]", of a cell of this notebook
    return f"cell {label[1][3:-1]}" if label else "cell" if "ipykernel" in file else Path(file).name


def behind(node: Node) -> tuple[Node, ...]:
    """The nodes that a gradient flows to from `node`."""
    return node.inputs if node.tape is None else node.tape.sources


def folded(node: Node) -> Any:
    """Where a gradient flows to, in a graph that stays folded as it is: nobody holds a Var inside a copy."""
    return node.behind if node.tape is None else node.tape.sources


def history(node: Node, sources: Callable[[Node], Iterable[Node]] = behind) -> list[Node]:
    """Everything that a node was computed from and that takes part in gradients, inputs first."""
    seen: set[Node] = set()
    waiting = [node]
    while waiting:
        n = waiting.pop()
        if n.tracked and n not in seen:
            seen.add(n)
            waiting.extend(sources(n))
    return sorted(seen, key=age)


def reached(order: list[Node], targets: set[Node], sources: Callable[[Node], Sequence[Node]]) -> set[Node]:
    """What was computed from the targets, of nodes in order: where `sources` of each come before it."""
    reach: set[Node] = set()
    for node in order:
        if node in targets or any(i in reach for i in sources(node)):
            reach.add(node)
    return reach


def forget(node: Node) -> None:
    """Cut the history of a stored value; a parameter that was updated stays one."""
    node.behind = ()
    if node.tape is not None and node.tape.sources:
        node.tape = None


def look_back(node: Node, reader: Node) -> bool:
    """Whether a stored value has a history. What leads to nothing that the learner holds is cut, all the way back.

    This is not done again before the history can have doubled, or each step of a loop would walk through all of it:
    `reader`, which was built on it just now, is told when that is.
    """
    if reader.id >= node.look and folded(node):
        leading: set[Node] = set()
        for n in history(node, lambda n: () if reader.id < n.look else folded(n)):  # what was looked through is left
            if folded(n) and (reader.id < n.look or any(i in leading for i in folded(n))):
                leading.add(n)
            elif n.data is not None:
                forget(n)
            if n.holders:
                leading.add(n)
        node.look = reader.id + len(leading)
    reader.look = max(reader.look, node.look)
    return bool(folded(node))


def inputs_first(wanted: Iterable[Node], stop: Container[Node] = ()) -> list[Node]:
    """Every node that `wanted` was made from, each after its inputs; nothing behind the nodes in `stop`.

    Nodes are numbered as they are made, so ordering by number is a topological order. No recursion: a chain of 100,000
    operators is walked like any other.
    """
    seen: set[Node] = set()
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            if node not in stop:
                waiting.extend(node.inputs)
    return sorted(seen, key=age)


def needed(wanted: Sequence[Node]) -> list[Node]:
    """The pending nodes behind `wanted`, and the leaves that they read, each after its inputs."""
    seen = set(wanted)
    waiting = list(wanted)
    while waiting:
        for i in waiting.pop().inputs:
            if i not in seen:
                seen.add(i)
                if i.data is None:
                    waiting.append(i)
    return sorted(seen, key=age)
