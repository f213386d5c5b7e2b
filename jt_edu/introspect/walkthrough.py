"""Walkthrough: the way of one expression through the framework, in six stops.

    jt.walk(y)     1 what did my line build?    2 what do these operators mean?    3 when does it run?
                   4 why so few loops?          5 which code runs?                 6 and the gradient?

Each stop shows the lines of jt_edu that did it, read from the files as they are, and what one holds afterwards. Nothing
runs.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.base.trace import Decision
from jt_edu.base.tracebacks import HOME
from jt_edu.codegen.emit_python import Printer
from jt_edu.fusion.fuse import Fuser
from jt_edu.introspect.explain import Explanation
from jt_edu.introspect.folded_html import fold, lines, page, source
from jt_edu.ir import scalar_ops
from jt_edu.ir.meta_ops import CONSTANT, REDUCERS, Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, behind, history
from jt_edu.runtime import execute
from jt_edu.runtime.conv_step import convolution_text
from jt_edu.variable import autograd
from jt_edu.variable.caller_frame import names_of_caller, nodes_of
from jt_edu.variable.var import Var

MOST = 8  # operators that stop 2 shows
KERNELS = 2  # sources that stop 5 shows
TARGETS = 3  # gradients that stop 6 takes
CONVOLVE = "jt_edu/backends/convolve/kernels/"  # where the algorithms for convolutions are


@dataclass(frozen=True)
class Stop:
    """One stop: a question, the answer in words, the lines of jt_edu behind it, and what one holds afterwards."""

    question: str
    words: str
    code: str
    holds: str

    def __str__(self) -> str:
        return f"{self.question}\n\n{self.words}\n\n{self.code.rstrip()}\n\nYou now hold: {self.holds}"

    def _repr_html_(self) -> str:
        return page(self.folded("", shown=True))

    def folded(self, number: str, shown: bool = False) -> str:
        """The question and what one holds afterwards, as a line of HTML that opens the rest."""
        return fold(number + self.question, self.holds, lines(self.words), source(self.code), shown=shown)


class Walk:
    """Six stops. Printing it, or ending a cell with it, shows them all; `stops[3]` is one of them."""

    def __init__(self, stops: Sequence[Stop]) -> None:
        self.stops = tuple(stops)

    @property
    def text(self) -> str:
        """All stops, as text."""
        return "\n\n".join(f"{number}. {stop}" for number, stop in enumerate(self.stops, start=1))

    def _repr_html_(self) -> str:
        return page(*(stop.folded(f"{number}. ") for number, stop in enumerate(self.stops, start=1)))

    def __repr__(self) -> str:
        return self.text


def walk(y: Var) -> Walk:
    """The six stops of the way from your line to its kernels and gradients, with the real lines of jt_edu.

    Args:
        y: a Var of any shape. The gradient is shown for `y.sum()` where y has several elements.

    Example:
        >>> a, b = jt.array([1.0, 2.0]), jt.array([3.0, 4.0])
        >>> tour = jt.walk((a * b).sum())
        >>> [stop.question for stop in tour.stops][2:4]
        ['When does it run?', 'Why so few loops?']
        >>> "def run(" in tour.stops[2].code
        True
    """
    names = names_of_caller()
    e = Explanation(nodes_of("jt.walk", [y]), names)
    built = [n for n in e.order if n.data is None]
    return Walk([_built(y, built), _meaning(built), _running(e), _fusing(e), _writing(e), _gradient(y, names)])


# the stops


def _built(y: Var, built: Sequence[Node]) -> Stop:
    made = Counter(n.line for n in built)
    rows = [f"    {line}\n        {plural(count, 'node')}: {_ops(built, line)}" for line, count in made.items()]
    return Stop(
        "What did my line build?",
        "Each operator made a node, which says which operator is meant, and of which inputs. No number was computed;\n"
        "only shapes and dtypes were checked, so that a mistake is reported where you made it.\n"
        + "\n".join(rows or ["    (computed already, and its history is not kept)"]),
        _join(_source(Var.__mul__), _source(Var.apply)),
        f"a Var of shape {y.shape} and dtype {y.dtype}"
        + (", without data." if y.node.pending else ", computed already."),
    )


def _meaning(built: Sequence[Node]) -> Stop:
    ops = list({n.op.name: n for n in built if n.op is not CONSTANT}.values())
    rows = [_meaning_of(n) for n in ops[:MOST]]
    if len(ops) > MOST:
        rows.append(f"    ... and {len(ops) - MOST} more operators")
    return Stop(
        "What do these operators mean?",
        "There are three kinds, the meta-operators: compute at each index (elementwise), read from another index\n"
        "(reindex), accumulate into another index (reindex reduce). Each states its loop body and its gradient.",
        "\n\n".join(rows) or "    (no operator is left)",
        "the meaning of every node: what is read, what is computed, and what its derivative is.",
    )


def _meaning_of(node: Node) -> str:
    op = node.op
    if isinstance(op, Elementwise):
        return _entry(scalar_ops, op) or f"    {op.name}: {op.body}"
    if isinstance(op, (Reindex, ReindexReduce)):
        x, out = "x" + _place(len(node.inputs[0].shape)), "out" + _place(len(node.shape))
        there = _subscript(op.where)
        body = f"{out} = x{there}" if isinstance(op, Reindex) else f"out{there} = {op.reducer}(out{there}, {x})"
        kind = type(op)
        return f"{_at(kind)}  {op.name} is a {kind.__name__}\n    {body}"
    return f"{_at(type(op))}  {op.name} is a {type(op).__name__}"


def _running(e: Explanation) -> Stop:
    steps = plural(len(e.kernels), "kernel")
    return Stop(
        "When does it run?",
        "When a number is asked for: numpy(), item(), print or sync(). `run` is the table of contents of all that\n"
        "follows: put the nodes in order, look for a plan or make one, run it, keep what you still hold.",
        _join(_source(execute.run), _source(execute.recall), _source(execute.plan_for)),
        f"{plural(len(e.order), 'node')} in order, inputs first; their plan has {steps}.",
    )


def _fusing(e: Explanation) -> Stop:
    seen: dict[tuple[bool, str], list[Decision]] = {}
    for d in e.decisions:
        seen.setdefault((d.fused, d.rule), []).append(d)
    rows = [
        f"    {plural(len(found), 'edge')} {'fused' if fused else 'cut'}: {rule}, such as {found[0].reason}"
        for (fused, rule), found in seen.items()
    ]
    operators, total = e.unfused
    return Stop(
        "Why so few loops?",
        "The fuser decides which values must become arrays; every other value lives in a register of the loop that\n"
        "needs it. These are its decisions for your expression:\n"
        + "\n".join(rows or ["    (there was none to make)"]),
        _source(Fuser.run),
        f"{plural(len(e.kernels), 'kernel')} for {plural(operators, 'operator')}: {e.bytes:,} bytes read and "
        f"written, where a kernel for each operator would need {total:,}.",
    )


def _writing(e: Explanation) -> Stop:
    kernels = e.kernels[:KERNELS]
    shown = [f"kernel {k}: {kernel.loops}\n\n{_indent(kernel.annotated)}" for k, kernel in enumerate(kernels)]
    if len(e.kernels) > KERNELS:
        shown.append(f"... and {len(e.kernels) - KERNELS} more: jt.explain(y).kernels")
    words = (
        "Each kernel becomes a nest of loops, and the nest prints itself as Python: one statement per operator.\n"
        "Lengths are arguments, so that another shape needs no other kernel. The backend compiles this text."
    )
    files = {step.own.algorithm.kernel for step in e.plan.steps[:KERNELS] if step.own is not None}
    if files:
        words += (
            f"\nNot so a convolution. Its algorithm is a file, {_either(f'{CONVOLVE}{f}.py' for f in files)}:\n"
            "only its function `finish`, which says what happens to each sum, is written for your expression."
        )
    writers = [Printer._block] * any(step.own is None for step in e.plan.steps) + [convolution_text] * bool(files)
    return Stop(
        "Which code runs?",
        words,
        _join(*map(_source, writers or [Printer._block]), *shown),
        "Python source that you could have written; each line names its operator, and the line of your code that asked "
        "for it.",
    )


def _gradient(y: Var, names: dict[int, str]) -> Stop:
    question = "And the gradient?"
    words = (
        "`grad` walks back from the result. The rule of each operator turns the gradient of its output into those of\n"
        "its inputs, in plain arithmetic, so what comes out is more graph; where two paths meet, gradients add."
    )
    code = [_source(autograd.gradients), _source(autograd.hand_on)]
    order = history(y.node)
    reducers = dict.fromkeys(n.op.reducer for n in order if isinstance(n.op, ReindexReduce))
    code += [_source(REDUCERS[name].gradient) for name in reducers]
    leaves = [n for n in order if not behind(n) and n is not y.node][:TARGETS]
    if not leaves:
        nothing = "nothing new: no float that this Var was computed from takes part in gradients."
        return Stop(question, words, _join(*code), nothing)
    real = abs(y) if y.dtype.kind == "c" else y
    loss = real if y.shape == () else real.sum()
    found = [g for g in autograd.gradients(loss, [Var._of(n) for n in leaves], allow_unused=True) if g is not None]
    e = Explanation([g.node for g in found], names)
    what = ", ".join(f"d{n.name or names.get(n.id, f'#{n.id}')}" for n in leaves)
    nodes, kernels = sum(n.gradient for n in e.order), plural(len(e.kernels), "kernel")
    holds = f"{what}, as {plural(nodes, 'new node')}; {kernels} would compute {'it' if len(found) == 1 else 'them'}."
    same = "These nodes run in the same way: see stage 3, 'When does it run?'."
    return Stop(question, words, _join(*code), f"{holds} {same}")


# lines of jt_edu


def _source(thing: Callable[..., Any]) -> str:
    """The lines of a function, numbered as in its file."""
    lines, first = inspect.getsourcelines(thing)
    return _numbered(_path(inspect.getsourcefile(thing)), first, lines)


def _entry(module: ModuleType, op: Elementwise) -> str:
    """The line of a table that made this operator, or nothing where none did."""
    name = next((name for name, value in vars(module).items() if value is op), None)
    text = inspect.getsource(module)
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [name]:
            lines = text.splitlines()[statement.lineno - 1 : statement.end_lineno]
            return _numbered(_path(module.__file__), statement.lineno, lines)
    return ""


def _numbered(path: str, first: int, lines: Sequence[str]) -> str:
    rows = [f"{number:5} | {line.rstrip()}" for number, line in enumerate(lines, start=first)]
    return "\n".join([f"{path}:{first}", *rows])


def _at(thing: Any) -> str:
    return f"{_path(inspect.getsourcefile(thing))}:{inspect.getsourcelines(thing)[1]}"


def _path(file: str | None) -> str:
    return Path(file or "?").relative_to(Path(HOME).parent).as_posix()


# words


def _ops(built: Sequence[Node], line: str) -> str:
    names = [n.op.name for n in built if n.line == line]
    return ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")


def _place(rank: int) -> str:
    return _subscript([f"i{k}" for k in range(rank)])


def _subscript(parts: Iterable[object]) -> str:
    return f"[{', '.join(map(str, parts)) or '()'}]"


def _either(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _indent(text: str) -> str:
    return "\n".join(f"    {row}".rstrip() for row in text.splitlines())


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
