"""Fusion report: what has fusion done for a network, kernel by kernel?

    jt.fusion_report(y)            of an expression
    jt.fusion_report(net, x)       of what a module, or any function of Vars, computes

    24 kernels, 68 op by op; 48.9 MB are read and written, 52.5 MB op by op.
    Op by op is one kernel for each layer of jt.nn, and for each operator outside layers. The layers are
    made of operators: 173 in all, as jt.explain counts, which move 61.2 MB in a kernel each.
      0  Conv2d conv1 + BatchNorm2d bn1 + relu         350 kB    by panels
      1  MaxPool2d maxpool                             328 kB
           relu (kernel 0) is stored before it: repeated; window reads it 2.25 times, 12 multiplications each

(ResNet-18 without gradients, one image of 64 x 64. At 224 x 224 its parameters matter less: 72.6 MB, 117 MB op by op.)

"Op by op" is a framework as good as can be: a kernel reads each array from outside its layer once, and writes what
others need. Views cost nothing there, and a convolution or a product of matrices is one operator. Fusion can lose
against that: a `Linear` is two kernels here, as BLAS computes the product, and adds no bias.

Nothing runs, except, for a function, what was pending before it: fresh parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Decision
from jt_edu.introspect.explain import Explanation, homes, in_words, is_view, size
from jt_edu.ir.builders import short
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.matmul_pattern import matrix_product
from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node, needed
from jt_edu.runtime.execute import run
from jt_edu.variable.caller_frame import names_of_caller, nodes_of
from jt_edu.variable.var import Var

WIDE = 72  # letters of a row's names; longer ones go on in the next row
LAYERS = "jt_edu.nn."  # where the modules live that count as one kernel


@dataclass(frozen=True)
class FusedKernel:
    """One kernel: what was joined in it, and why it does not hold what came before, too."""

    joined: tuple[str, ...]  # layers and operators, in order
    name: str
    kind: str  # as `jt.explain` calls it
    algorithm: str  # of a convolution
    bytes: int  # read and written
    flops: int
    apart: tuple[str, ...]  # for each array from an earlier kernel, why it had to be one

    @property
    def label(self) -> str:
        """What was joined, in a line."""
        return " + ".join(self.joined) or self.name


@dataclass(frozen=True, repr=False)
class FusionReport:
    """Kernels and bytes, with fusion and op by op."""

    rows: tuple[FusedKernel, ...]
    op_by_op: int  # kernels: one for each layer, and each operator outside layers
    bytes_op_by_op: int
    operators: int  # that layers are made of, and those outside layers: what `jt.explain` counts
    bytes_of_operators: int  # with a kernel for each

    @property
    def kernels(self) -> int:
        """How many are launched."""
        return len(self.rows)

    @property
    def bytes(self) -> int:
        """What they read and write."""
        return sum(row.bytes for row in self.rows)

    @property
    def summary(self) -> str:
        """In a sentence."""
        kernels = f"{self.kernels} kernel{'s' if self.kernels != 1 else ''}"
        moved, before = in_words(self.bytes, "B"), in_words(self.bytes_op_by_op, "B")
        return f"{kernels}, {self.op_by_op} op by op; {moved} are read and written, {before} op by op."

    @property
    def note(self) -> str:
        """What "op by op" counts, and how that agrees with `jt.explain`."""
        moved = in_words(self.bytes_of_operators, "B")
        return (
            "Op by op is one kernel for each layer of jt.nn, and for each operator outside layers. The layers are\n"
            f"made of operators: {self.operators} in all, as jt.explain counts, which move {moved} in a kernel each."
        )

    def _repr_html_(self) -> str:
        cells = "".join(_html_row(k, row) for k, row in enumerate(self.rows))
        head = "".join(f"<th style='text-align:left'>{w}</th>" for w in ("", "joined", "moves", "by"))
        words = f"<p>{escape(self.summary, quote=False)}<br><small>{escape(self.note, quote=False)}</small></p>"
        return f"{words}<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>"

    def __repr__(self) -> str:
        wide = min(WIDE, max((len(row.label) for row in self.rows), default=0))
        return "\n".join(
            [self.summary, self.note, *(line for k, row in enumerate(self.rows) for line in _lines(k, row, wide))]
        )


def _lines(number: int, row: FusedKernel, wide: int) -> Iterator[str]:
    by = f"    by {row.algorithm}" if row.algorithm else ""
    first, *more = wrap(row.label, wide, break_long_words=False, break_on_hyphens=False)
    yield f"{number:>4}  {first:<{wide}}  {in_words(row.bytes, 'B'):>8}{by}"
    for names in more:
        yield f"        {names}"
    for why in row.apart:
        yield f"        {why}"


def _html_row(number: int, row: FusedKernel) -> str:
    apart = "".join(f"<br><small>{escape(why, quote=False)}</small>" for why in row.apart)
    what = f"<td style='text-align:left'>{escape(row.label, quote=False)}{apart}</td>"
    how = escape(row.algorithm, quote=False)
    return f"<tr><td>{number}</td>{what}<td>{in_words(row.bytes, 'B')}</td><td>{how}</td></tr>"


def fusion_report(first: Var | Callable[..., Any], *rest: Any) -> FusionReport:
    """What fusion has done for some Vars, or for what a function (such as a module) computes.

    A module that is being trained keeps its buffers: running statistics are those from before. What a function of
    one's own assigns stays assigned, and random numbers are drawn.

    Args:
        first: a Var, of any shape; or a function that is called with `rest`, and returns Vars.
        rest: further Vars; or the arguments of the function.

    Returns:
        A `FusionReport`: `kernels`, `op_by_op`, `operators`, the `bytes` of each, and a row for each kernel.

    Raises:
        ArgumentError: `first` is neither, or the function returns something that holds no Var.

    Example:
        >>> layer = jt.nn.Linear(4, 3)
        >>> report = jt.fusion_report(lambda x: jt.relu(layer(x)).sum(), jt.ones(2, 4))
        >>> report.op_by_op, report.kernels <= report.op_by_op
        (3, True)
    """
    if isinstance(first, Var):
        wanted = nodes_of("jt.fusion_report", (first, *rest))
    elif not callable(first):
        raise ArgumentError("jt.fusion_report takes Vars, or a function and its arguments", short(first), "y")
    else:
        begin = next(current().ids)
        answer = list(_vars(_call(first, rest)))
        if not answer:
            raise ArgumentError("jt.fusion_report(f, ...) looks at the Vars that f returns", "none", "return one")
        wanted = nodes_of("jt.fusion_report", answer)
        run([n for n in needed(wanted) if n.data is None and n.id < begin])
    return _report(Explanation(wanted, names_of_caller()))


def _call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a function returns; the buffers of a module are put back."""
    before = [(var, var.node) for var in getattr(function, "buffers", list)()]
    try:
        return function(*arguments)
    finally:
        for var, node in before:
            if var.node is not node:
                var.node = node


def _vars(answer: Any) -> Iterator[Var]:
    if isinstance(answer, Var):
        yield answer
    elif isinstance(answer, (tuple, list, dict)):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from _vars(part)


def _report(e: Explanation) -> FusionReport:
    units = _Units(e.order, set(e.wanted))
    home = homes(e)
    apart: list[dict[int, str]] = [{} for _ in e.kernels]
    for d in e.edges:
        root = e.plan.aliases.get(d.source, d.source)
        reader = home.get(d.target)
        if not d.fused and reader is not None and home.get(root, reader) != reader:
            why = _why_apart(e, home, d, root, reader)
            maker = f" (kernel {home[root]})" if root in home else ""
            apart[reader][root] = f"{units.label(e.order[root])}{maker} is stored before it: {why}"
    inside = [units.inside(e.order[s] for s in sorted(step.slots)) for step in e.plan.steps]
    kernels = Counter(u for parts in inside for u in parts)
    rows = []
    for parts, k, reasons in zip(inside, e.kernels, apart, strict=True):
        names = tuple(units.names[u] + (_part(ops) if kernels[u] > 1 else "") for u, ops in parts.items())
        rows.append(
            FusedKernel(names, k.name, k.kind, k.algorithm, k.bytes, k.flops, tuple(dict.fromkeys(reasons.values())))
        )
    return FusionReport(tuple(rows), len(units.names), sum(units.bytes()), *e.unfused)


def _part(operators: Sequence[str]) -> str:
    """Which part of a layer a kernel computes, if others compute the rest."""
    words = list(dict.fromkeys(operators))
    return f" ({', '.join(words[:3])}{', ...' if len(words) > 3 else ''})"


def _why_apart(e: Explanation, home: dict[int, int], d: Decision, root: int, reader: int) -> str:
    """Why `reader` does not work on an array where that is made."""
    made = e.plan.steps[home[root]] if root in home else None
    reads = e.plan.steps[reader]
    if made is None or made.kind not in ("product", "convolution") or d.rule != "reduction":
        return f"{d.rule}; {d.reason}"
    if made.kind == "product":
        return "BLAS writes whole products; what is done to them has a kernel of its own"
    if root != made.outputs[0]:
        return "a sum over all images, which is known when the convolution has ended"
    if reads.kind == "convolution":
        return "the work on it is joined to another convolution, which runs later"
    readers = sum(root in {e.plan.aliases.get(s, s) for s in step.inputs} for step in e.plan.steps)
    if readers > 1:
        return f"{readers} kernels read it"
    only = "only elementwise work, and float64 sums of a channel, are done as the sums of a convolution are written"
    if made.own is not None and made.own.sizes.kind != "forward":
        return f"{only}, and only those of a forward one"
    if any(isinstance(e.order[s].op, ReindexReduce) for s in reads.slots):
        return f"{only}, and this is summed in the same loop"
    return f"{only}, and this needs more than the place and the channel of each"


class _Units:
    """The pending nodes as a framework without fusion would group them: a kernel for each layer or operator."""

    def __init__(self, order: Sequence[Node], wanted: set[int]) -> None:
        self.order = [n for n in order if n.data is None]
        self.wanted = wanted
        self.sides: dict[Node, tuple[Node, ...]] = {}  # a contraction -> the arrays that it reads
        inside = set[Node]()  # products and windows, which have no array in any framework
        for n in self.order:
            found = matrix_product(n) or convolution(n) if isinstance(n.op, ReindexReduce) else None
            if found is not None:
                self.sides[n] = found.sides
                inside |= set(_between(n, set(found.sides)))
        paths = {n.scope.path for n in self.order if n.scope is not None}
        parents = {path.rpartition("/")[0] for path in paths}
        self.of: dict[Node, int] = {}
        self.names: list[str] = []
        last = ""
        for n in self.order:
            if n in inside or is_view(n) or _is_reshape(n):
                continue
            layer = _layer(n, parents)
            if not layer or layer != last:
                self.names.append(layer or n.op.name)
            self.of[n], last = len(self.names) - 1, layer

    def label(self, node: Node) -> str:
        """The layer or operator that a node belongs to."""
        return self.names[self.of[node]] if node in self.of else node.op.name

    def inside(self, nodes: Iterable[Node]) -> dict[int, list[str]]:
        """The units of some nodes, and which of their operators these are."""
        found: dict[int, list[str]] = {}
        for n in nodes:
            if n in self.of:
                found.setdefault(self.of[n], []).append(n.op.name)
        return found

    def bytes(self) -> list[int]:
        """What each unit reads and writes: arrays from outside once, and what others need of it."""
        reads: list[dict[Node, int]] = [{} for _ in self.names]
        readers: Counter[Node] = Counter()
        for n, unit in self.of.items():
            for i in self.sides.get(n, n.inputs):
                root, least = _behind(i)
                if root.op is not CONSTANT and self.of.get(root) != unit:
                    reads[unit][root] = min(least, size(root))
                    readers[root] += 1
        writes = [0 for _ in self.names]
        for n, unit in self.of.items():
            if readers[n] or n.id in self.wanted:
                writes[unit] += size(n)
        return [sum(read.values()) + write for read, write in zip(reads, writes, strict=True)]


def _between(node: Node, sides: set[Node]) -> Iterator[Node]:
    """The product of a contraction, and the views between it and its operands."""
    waiting = list(node.inputs)
    while waiting:
        n = waiting.pop()
        if n not in sides and n.data is None and n.op is not CONSTANT:
            yield n
            waiting.extend(n.inputs)


def _is_reshape(node: Node) -> bool:
    return isinstance(node.op, Reindex) and node.op.flat and not node.op.within


def _layer(node: Node, parents: set[str]) -> str:
    """The layer of jt.nn that built a node, such as "Conv2d conv1"; "" if a module that holds others did, or none."""
    scope = node.scope
    if scope is None or scope.path in parents:
        return ""
    module = scope.module()
    if module is None or not type(module).__module__.startswith(LAYERS):
        return ""
    return f"{scope.classes[-1]} {scope.path.partition('/')[2]}".strip()


def _behind(node: Node) -> tuple[Node, int]:
    """The array behind views, and how many bytes of it are read at most."""
    least = size(node)
    while is_view(node) or (node.data is None and _is_reshape(node)):
        node = node.inputs[0]
        least = min(least, size(node))
    return node, least
