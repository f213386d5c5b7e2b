"""Model summary: which layers does a network have, and what do they hold and do?

    print(jt.summary(net, (1, 64)))

    layer        output    parameters     bytes   operations
    Sequential   (1, 10)        1,210   4.84 kB       2.41 k
      0 Linear   (1, 16)        1,040   4.16 kB       2.06 k
      1 ReLU     (1, 16)            0       0 B           16
      2 Linear   (1, 10)          170     680 B          330

A layer's row counts what is inside it too. The network is called once, as in `net.eval()`, and nothing runs: shapes
are known without numbers, and operations are counted in the graph.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.base.plural import plural
from jt_edu.introspect.explain import in_words
from jt_edu.ir.builders import check_shape, short
from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node, needed
from jt_edu.nn.module import Module, in_mode
from jt_edu.nn.module_scope import way_of
from jt_edu.variable.pytree import vars_in
from jt_edu.variable.var import Var, as_var

TRY = "jt.summary(net, (1, 64))"
WORDS = ("layer", "output")  # columns of words, which begin at the left; numbers end at the right


@dataclass(frozen=True)
class Layer:
    """One module of a network: what it returned, and what it and all modules inside it hold and do."""

    path: str  # "body.2"; "" is the network itself
    kind: str  # its class
    shapes: tuple[tuple[int, ...], ...]  # of what its first call returned
    calls: int
    parameters: int
    bytes: int  # of parameters and buffers
    operations: int  # on elements, in all calls

    @property
    def cells(self) -> dict[str, str]:
        """The row as text, by column; the name without its indent."""
        answer = ", ".join(map(str, self.shapes)) + (f" x {self.calls}" if self.calls > 1 else "")
        return {
            "layer": f"{self.path.rpartition('.')[2]} {self.kind}".strip(),
            "output": answer,
            "parameters": f"{self.parameters:,}",
            "bytes": in_words(self.bytes, "B"),
            "operations": in_words(self.operations, "").strip(),
        }

    @property
    def depth(self) -> int:
        """How many modules it stands in."""
        return self.path.count(".") + bool(self.path)


class Summary:
    """One row for each layer. Printing it gives text; a notebook shows a table."""

    def __init__(self, rows: Sequence[Layer], trained: int, inputs: Sequence[Var]) -> None:
        self.rows, self.trained = tuple(rows), trained
        self.inputs = tuple(x.shape for x in inputs)

    @property
    def note(self) -> str:
        """The totals, in a sentence."""
        net = self.rows[0]
        size = in_words(net.bytes, "B")
        held = f"{plural(net.parameters, 'parameter')}, {self.trained:,} of them trained; {size} with buffers."
        if not self.inputs:
            return f"{held} With a shape, as in jt.summary(net, (1, 64)), outputs and operations are told too."
        return f"{held} {in_words(net.operations, 'operations')} for {' and '.join(map(str, self.inputs))}."

    @property
    def columns(self) -> tuple[str, ...]:
        """What is told: of a network that was not called, only what it holds."""
        return tuple(name for name in self.rows[0].cells if self.inputs or name not in ("output", "operations"))

    def __repr__(self) -> str:
        table = {name: [name, *(row.cells[name] for row in self.rows)] for name in self.columns}
        table["layer"][1:] = ["  " * row.depth + row.cells["layer"] for row in self.rows]
        widths = {name: max(map(len, cells)) for name, cells in table.items()}
        even = [
            [cell.ljust(widths[name]) if name in WORDS else cell.rjust(widths[name]) for cell in cells]
            for name, cells in table.items()
        ]
        return "\n".join([*map("   ".join, zip(*even, strict=True)), "", self.note])

    def _repr_html_(self) -> str:
        head = "".join(f"<th{_style(name)}>{name}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(self._html_cells(row))}</tr>" for row in self.rows)
        note = html.escape(self.note, quote=False)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{note}</p>"

    def _html_cells(self, row: Layer) -> Iterator[str]:
        for name in self.columns:
            indent = 1.5 * row.depth * (name == "layer")
            yield f"<td{_style(name, indent)}>{html.escape(row.cells[name], quote=False)}</td>"


def _style(column: str, indent: float = 0.0) -> str:
    """Words begin at the left; numbers end at the right, as in a notebook's tables they do by themselves."""
    return f' style="text-align:left;padding-left:{0.5 + indent}em"' if column in WORDS else ""


def summary(net: Module, *inputs: Any) -> Summary:
    """A table of the layers of a network: the shape of what each returns, parameters, bytes, operations.

    Nothing is computed. The network is called once, as after `net.eval()`, which gives lazy layers their parameters;
    everything else stays as it is.

    Args:
        net: a module.
        inputs: what it is called with: shapes with the batch in front, such as `(1, 3, 224, 224)`, for floats; or Vars
            and arrays, for indices and other dtypes. Without any only what the layers hold is told.

    Raises:
        ArgumentError: `net` is no module, or an input is neither a shape nor an array.
        ShapeError: the network takes no input of that shape.

    Example:
        >>> print(jt.summary(jt.nn.Sequential(jt.nn.Linear(64, 16), jt.nn.ReLU()), (1, 64)))
        layer        output    parameters     bytes   operations
        Sequential   (1, 16)        1,040   4.16 kB        ...
          0 Linear   (1, 16)        1,040   4.16 kB        ...
          1 ReLU     (1, 16)            0       0 B           16
        <BLANKLINE>
        1,040 parameters, 1,040 of them trained; 4.16 kB with buffers. ... operations for (1, 64).
    """
    if not isinstance(net, Module):
        raise ArgumentError("jt.summary takes a module, and the shapes of its inputs", short(net), TRY)
    given = [_input(one) for one in inputs]
    begin = next(current().ids)
    answers, found = _called(net, given) if given else ({}, None)
    drawn = {n for p in own(net).parameters() for n in needed([p.node])}  # how a lazy layer drew its weights
    work: dict[str, int] = {}
    for node in needed([v.node for v in vars_in(found)]):
        if node.data is None and node.id >= begin and node not in drawn and node.scope is not None:
            path = node.scope.path.partition("/")[2]
            work[path] = work.get(path, 0) + _operations(node)
    rows = [_layer(path, module, answers.get(id(module), []), work) for path, module in own(net).named_modules()]
    return Summary(rows, sum(p.size for p in own(net).parameters() if p.requires_grad), given)


def _input(one: Any) -> Var:
    if isinstance(one, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in one):
        return as_var(np.zeros(check_shape(one), np.float32))
    if isinstance(one, (int, np.integer)):
        raise ArgumentError("jt.summary takes the shape of an input as one tuple", short(one), TRY)
    return as_var(one)


def _called(net: Module, inputs: Sequence[Var]) -> tuple[dict[int, list[Any]], Any]:
    """What each module returns, by its id, call by call; and what the network does."""
    answers: dict[int, list[Any]] = {}
    with ExitStack() as end, in_mode(net, train=False):
        for module in own(net).modules():
            hook = own(module).register_forward_hook(lambda m, _, answer: answers.setdefault(id(m), []).append(answer))
            end.callback(hook.remove)
        return answers, net(*inputs)


def _operations(node: Node) -> int:
    """One for each element that is computed, or added up; to read from another place is none."""
    if node.op is CONSTANT or isinstance(node.op, Reindex):
        return 0
    return math.prod(node.inputs[0].shape if isinstance(node.op, ReindexReduce) else node.shape)


def _layer(path: str, module: Module, answers: Sequence[Any], work: dict[str, int]) -> Layer:
    place = way_of(path)
    inside = place + "/" if place else ""
    held = list({id(v): v for v in own(module).state_dict(keep_vars=True).values()}.values())
    shapes = tuple(v.shape for v in vars_in(answers[0])) if answers else ()
    operations = sum(count for p, count in work.items() if p == place or p.startswith(inside))
    parameters = sum(p.size for p in own(module).parameters())
    size = sum(v.size * v.dtype.size for v in held)
    return Layer(path, type(module).__name__, shapes, len(answers), parameters, size, operations)
