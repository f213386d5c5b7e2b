"""Cell: lines of Python that several ranks run, and what each of them told.

    Cell.parse(text)     the statements, and the expression at the end whose value is shown
    cell.run(...)        one rank runs it, in its own names
    Told                 of one rank: its page, the value, the error with the learner's lines only
    CellRun              of all ranks: their record, what failed, what to look out for; prints as text

Nothing here knows Jupyter: jt_widgets draws the same in columns.
"""

from __future__ import annotations

import ast
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.base.source_text import remember
from jt_edu.base.tracebacks import is_cell, is_learners
from jt_edu.mpi.base.errors import DeadlockError, MismatchError, RankStopped
from jt_edu.mpi.communicator.groups import Communicator
from jt_edu.mpi.notebook.cell_pickle import Parcel, names_read, names_set
from jt_edu.mpi.notebook.process import Page
from jt_edu.mpi.rank_team import flush
from jt_edu.mpi.trace.records import Record
from jt_edu.variable.var import Var

GIVEN = ("comm", "rank", "size")  # names that each rank is given
SEE_BELOW: dict[type[BaseException], str] = {
    DeadlockError: "waits here, and would for ever",
    MismatchError: "calls this, and other ranks something else",
}


@dataclass(frozen=True)
class Cell:
    """The text of a cell, compiled once for all ranks."""

    text: str
    file: str
    body: CodeType
    last: CodeType | None  # the expression whose value is shown

    @classmethod
    def parse(cls, text: str, file: str = "<cell>") -> Cell:
        """Read a cell. Errors and records will show its lines under the name `file`.

        Raises:
            SyntaxError: it is no Python.
            ArgumentError: a line is for the notebook, and not for Python.

        Example:
            >>> Cell.parse("x = 1; x + 1").last is not None
            True
        """
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith(("%", "!")):
                raise ArgumentError("ranks run Python", f"line {number}: {line}", "that line in a cell of its own")
        tree, last = ast.parse(text, remember(text, file)), None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not _is_muted(text):
            last = compile(ast.Expression(tree.body.pop().value), file, "eval")  # type: ignore[attr-defined]
        return cls(text, file, compile(tree, file, "exec"), last)

    @property
    def reads(self) -> set[str]:
        """The names that it looks up."""
        return names_read(self.body) | (names_read(self.last) if self.last else set())

    @property
    def sets(self) -> set[str]:
        """The names that it gives to things."""
        return names_set(self.body)

    def run(self, comm: Communicator, parcel: Parcel, space: dict[str, Any], known: dict[int, Var]) -> Any:
        """Run it as the rank of a communicator, with the names of that rank; returns its last expression.

        Args:
            comm: of the rank.
            parcel: what the cell reads in the notebook.
            space: the names of the rank, before and after.
            known: the Vars that the rank has got already, by number.
        """
        parcel.unpack(space, known)
        space.update(zip(GIVEN, (comm, comm.rank, comm.size), strict=True))
        exec(self.body, space)  # noqa: S102 - the learner's own lines
        value = eval(self.last, space) if self.last else None  # noqa: S307 - the same
        flush()
        return value

    def lines_with(self, name: str) -> list[str]:
        """The lines that mention a name, such as `3: tally.seen.append(rank)`; those that import it, if no others do.

        What is imported under another name, or from there, is meant as well.
        """
        nodes = list(ast.walk(ast.parse(self.text)))
        brought = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) and _brings(n, name)]
        names = {name, *(a.asname or a.name.partition(".")[0] for n in brought for a in n.names)}
        found = {int(getattr(n, "lineno", 0)) for n in nodes if names & {*_mentioned(n)}}
        found = found or {n.lineno for n in brought}
        rows = self.text.splitlines()
        return [f"{number}: {rows[number - 1].strip()}" for number in sorted(found)]


def _is_muted(text: str) -> bool:
    """Whether a semicolon at the end says that the value is not to be shown."""
    return text.rstrip().endswith(";")


def _mentioned(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,)
    return ()


def _brings(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    """Whether an import brings a module of this name, or what stands in it."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == name:
        return True
    return any(name in (a.asname, a.name, a.name.rpartition(".")[2]) for a in node.names)


@dataclass
class Told:
    """What one rank told in one cell."""

    page: Page
    value: Any = None
    shown: dict[str, Any] | None = None  # the value, as it is shown: kind of text or picture -> data
    error: BaseException | None = None
    running: bool = False
    ended: bool = False  # it came to the end of its cell
    lines: tuple[str, ...] = ()  # of the learner's, on the way to the error, where the error cannot tell them any more
    cause: str = "another rank failed"  # if it was stopped

    @property
    def rank(self) -> int:
        """Its number."""
        return self.page.rank

    @property
    def failed(self) -> bool:
        """Whether it failed itself, and was not ended because another one did."""
        return self.error is not None and not isinstance(self.error, (RankStopped, DeadlockError))

    @property
    def trouble(self) -> str:
        """Its error with the learner's lines; "" for a rank that came to its end."""
        if self.lines:
            return "\n".join(self.lines)
        if self.error is None:
            return "" if self.ended or self.running else "ended before the end of its cell"
        if isinstance(self.error, RankStopped):
            lines = learners_lines(self.error)
            return "\n".join([*lines, f"stopped{' here' if lines else ''}, because {self.cause}"])
        rest = SEE_BELOW.get(type(self.error)) or _said(self.error)
        return "\n".join([*learners_lines(self.error), rest])

    def __repr__(self) -> str:
        shown = [self.shown] if self.shown is not None else []
        pieces = [*self.page.pieces, *(("shown", bundle) for bundle in shown), ("stdout", self.trouble)]
        texts = [str(p.get("text/plain", "")) if stream == "shown" else str(p) for stream, p in pieces]
        return "\n".join(text.removesuffix("\n") for text in texts if text)


@dataclass
class CellRun:
    """What came of one cell on all ranks.

    Attributes:
        ranks: one `Told` for each.
        record: what they said to each other.
        failure: the error that ended them, and `failed_rank` where it was one rank's own.
        notes: what works here, and may not elsewhere.
    """

    ranks: list[Told]
    record: Record | None = None
    failure: BaseException | None = None
    failed_rank: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[Any]:
        """The value of the last expression on each rank."""
        return [told.value for told in self.ranks]

    @property
    def explanation(self) -> str:
        """Why the ranks ended before their end, in words; "" if they did not."""
        if self.failure is None:
            return ""
        if isinstance(self.failure, RankError) or self.failed_rank is None:
            return _said(self.failure)
        return f"rank {self.failed_rank} failed, and with it all ranks: {_said(self.failure)}"

    def raise_failure(self) -> None:
        """Raise what ended the ranks, if something did.

        Raises:
            RankError: a rank failed, or they wait for each other.
        """
        if self.failure is None:
            return
        if not isinstance(self.failure, Exception) or isinstance(self.failure, RankError):
            raise self.failure.with_traceback(None)
        found = f"{_said(self.failure)}, on rank {self.failed_rank}"
        raise RankError("every rank finishes its cell", found) from self.failure

    def __repr__(self) -> str:
        groups: dict[str, list[int]] = {}
        for told in self.ranks:
            groups.setdefault(repr(told).rstrip("\n"), []).append(told.rank)
        blocks = [f"{ranks_named(numbers)}\n{_indented(text)}" for text, numbers in groups.items() if text]
        return "\n".join([*blocks, *([self.explanation] if self.failure else []), *self.notes])


def learners_lines(error: BaseException) -> list[str]:
    """The way to an error, as far as it leads through the learner's own lines.

    Example:
        >>> learners_lines(TypeError("this one was never raised"))
        []
    """
    rows: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        comprehension = frame.name.startswith("<") and rows[-1:] == [f"    {frame.line}"]
        if is_learners(frame.filename) and not comprehension:
            name = "line" if is_cell(frame.filename) else f"{Path(frame.filename).name}, line"
            where = "" if frame.name.startswith("<") else f" in {frame.name}"
            rows += [f"{name} {frame.lineno}{where}", f"    {frame.line}"]
    return rows


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def ranks_named(numbers: list[int]) -> str:
    """Who says the same.

    Example:
        >>> ranks_named([2]), ranks_named([0, 1]), ranks_named([0, 1, 2, 5])
        ('rank 2', 'ranks 0, 1', 'ranks 0-2, 5')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(parts)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
