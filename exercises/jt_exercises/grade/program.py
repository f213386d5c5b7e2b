"""Program: how do a learner's answers get into the notebook of the course?

    the course      import numpy as np; x = normal(9); def roof(i, b, p): raise YourTurn(""); check("05.2", roof)
    a submission                                       def roof(i, b, p): return min(i * b, p)
    the program     import numpy as np; take("def roof(i, b, p): return min(i * b, p)", ["roof"]); answers = (roof,)

Of the course those statements stay that the exercise needs, found by the names that they read and bind; an answer that
was left as the course has it is one of them. Of a submission only those are taken that bind an answer, and the helpers
that these need. What an answer is called is read off the course's own call of `check`. Nothing runs here.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import symtable
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jt_exercises.grade.handed_in import Submission

PLAIN = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign)
MOST, STATEMENTS = 1 << 20, 2_000  # letters and statements of all cells
NOT_PYTHON = re.compile(  # what IPython understands besides: %magic, !shell, ?name and name?
    r"^[ \t]*[%!?].*$|^[ \t]*[\w.*]+\?{1,2}[ \t]*$", re.MULTILINE
)

Cells = Mapping[str, str]  # the source of each code cell, by its id


class UnreadableError(Exception):
    """A file is no notebook, or a cell that should hold an answer is no Python; the message says where."""


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell."""

    cell: str
    node: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str]
    answer: bool = False

    @property
    def plain(self) -> bool:
        """Whether all it does is to bind names."""
        return isinstance(self.node, PLAIN)


def read(s: Submission) -> Cells:
    """The code cells of a notebook file; JSON is UTF-8, with or without a mark in front."""
    if s.unread:
        raise UnreadableError(s.unread)
    try:
        found = json.loads(s.data.decode("utf-8-sig"))["cells"]
        code = [cell for cell in found if cell["cell_type"] == "code"]
        cells = {str(cell.get("id", number)): "".join(cell["source"]) for number, cell in enumerate(code)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"{s.source} is no notebook: {type(error).__name__}: {str(error)[:100]}") from error
    if sum(map(len, cells.values())) > MOST:
        raise UnreadableError(f"{s.source} has more than {MOST >> 20} MB of Python")
    return cells


@dataclass(frozen=True)
class Task:
    """An exercise that a notebook asks for."""

    number: str
    cell: str
    answers: tuple[ast.expr, ...]  # what the course hands to its check

    @property
    def names(self) -> frozenset[str]:
        """What a learner fills."""
        return frozenset(n.id for a in self.answers for n in ast.walk(a) if isinstance(n, ast.Name))


def tasks(course: Cells) -> list[Task]:
    """The exercises of a notebook, in order."""
    return [t for cell, text in course.items() for s in statements(cell, text) if (t := _task(s)) is not None]


def _task(s: Statement) -> Task | None:
    match s.node:
        case ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(number)), *answers])):
            return Task(number, s.cell, tuple(answers))
    return None


def program(course: Cells, submitted: Cells, number: str) -> str:
    """The Python that ends with `answers`, those to one exercise of a notebook.

    Args:
        course: the notebook as it was given out.
        submitted: the notebook as it came back.
        number: of the exercise, such as "05.2".

    Raises:
        UnreadableError: the cell of this exercise is no Python.
    """
    try:
        return _program(course, submitted, number)
    except UnreadableError:
        raise
    except Exception as error:  # brackets in brackets, and whatever else a stranger thinks of
        raise UnreadableError(f"no Python that a person would write ({type(error).__name__})") from error


def _program(course: Cells, submitted: Cells, number: str) -> str:
    given = [s for cell, text in course.items() for s in statements(cell, text)]
    task = next(t for t in tasks(course) if t.number == number)
    came, known = [s for s in _readable(submitted, task.cell) if _task(s) is None], {ast.dump(s.node) for s in given}
    own = [s for s in came if ast.dump(s.node) not in known]  # what a learner wrote, and the course did not
    wanted, whole = dict[str, frozenset[str]](), list[Statement]()
    for t in tasks(course):
        wanted[t.cell] = wanted.get(t.cell, frozenset()) | t.names
    for cell, group in itertools.groupby(given, key=lambda s: s.cell):
        names = wanted.get(cell, frozenset())
        found = _answers(came, own, cell, names)
        bound = names & frozenset().union(*(s.binds for s in found))
        answer = _taken([*_helpers(own, found, names), *found], names, cell)
        for statement in group:
            if not bound & statement.binds or statement.binds & names - bound:  # what was left as it is stays
                whole.append(statement)
            if bound & statement.binds and answer not in whole:
                whole.append(answer)
    last = ast.Assign([ast.Name("answers", ast.Store())], ast.Tuple([*task.answers], ast.Load()))
    nodes = [s.node for s in _slice(whole, task)]
    return ast.unparse(ast.fix_missing_locations(ast.Module([*nodes, last], [])))


def statements(cell: str, text: str) -> list[Statement]:
    """The statements of a cell; none where it is for ranks, or otherwise begins with a magic of its own."""
    if text.startswith("%%"):
        return []
    return [Statement(cell, node, _bound(node), _read(node)) for node in ast.parse(NOT_PYTHON.sub("", text)).body]


def _bound(node: ast.stmt) -> frozenset[str]:
    """Names that a statement binds, or changes by an index or an attribute."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return frozenset({node.name})
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    found = set[str]()
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Subscript, ast.Attribute)) and isinstance(part.ctx, ast.Store):
            root: ast.expr = part
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            found |= {root.id} if isinstance(root, ast.Name) else set()
    return frozenset(found)


def _read(node: ast.stmt) -> frozenset[str]:
    """Names that a statement reads of its surroundings; what a function calls its own is not among them."""

    def of(table: symtable.SymbolTable) -> set[str]:
        outside = table.get_type() == "module"
        own = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (outside or s.is_global())}
        return own.union(*map(of, table.get_children()))

    return frozenset(of(symtable.symtable(ast.unparse(node), "a cell", "exec")))


def _readable(submitted: Cells, home: str) -> list[Statement]:
    """All statements of a submission; a cell that is no Python is left out, unless it is the one that counts."""
    found = list[Statement]()
    for cell, text in submitted.items():
        try:
            found += statements(cell, text)
        except (SyntaxError, ValueError) as error:
            if cell == home:
                raise UnreadableError(f"the cell of this exercise is no Python: {error}") from error
    if len(found) > STATEMENTS:
        raise UnreadableError(f"more than {STATEMENTS:,} statements, which nobody would write")
    return found


def _answers(came: Sequence[Statement], own: Sequence[Statement], home: str, names: frozenset[str]) -> list[Statement]:
    """What binds an answer: in the cell of the exercise, or else in the last cell that does.

    Whoever changed one line of `yours["a"] = None; yours["b"] = None` is judged by both, in that order.
    """
    cells = dict[str, str]()  # of each name
    for s in own:
        cells |= {name: s.cell for name in s.binds & names if cells.get(name) != home}
    return [s for s in came if any(cells.get(name) == s.cell for name in s.binds)]


def _helpers(theirs: Sequence[Statement], found: Sequence[Statement], names: frozenset[str]) -> list[Statement]:
    """What the answers need besides."""
    homes = defaultdict[str, list[int]](list)
    for number, s in enumerate(theirs):
        for name in s.binds if s.plain else ():
            homes[name].append(number)
    kept, waiting = set[int](), [name for s in found for name in s.reads]
    while waiting:
        name = waiting.pop()
        for number in homes.pop(name, ()) if name not in names else ():
            kept.add(number)
            waiting += theirs[number].reads
    return [theirs[number] for number in sorted(kept)]


def _taken(theirs: Sequence[Statement], names: frozenset[str], cell: str) -> Statement:
    """A learner's statements, which see all names of the course, and give it no more than the answers (child.py)."""
    text = ast.unparse(ast.Module([s.node for s in theirs], []))
    node = ast.parse(f"take({text!r}, {sorted(names)!r})").body[0]
    return Statement(cell, node, names, frozenset().union(*(s.reads for s in theirs)), answer=True)


def _slice(whole: Sequence[Statement], task: Task) -> list[Statement]:
    """The cell of an exercise, up to its check, and all that it needs of earlier ones, in order; no check is needed."""
    judging = {k: found.number for k, s in enumerate(whole) if (found := _task(s)) is not None}
    last = next(k for k, number in judging.items() if number == task.number)
    kept = {k for k in range(last) if whole[k].cell == task.cell} - judging.keys()
    earlier = [k for k in range(last) if k not in judging]
    plainly = frozenset().union(*(s.binds for s in whole if s.plain))
    while True:
        reads = task.names.union(*(whole[k].reads for k in kept))
        more = {k for k in earlier if whole[k].binds & (reads if _first(whole[k]) else reads - plainly)} - kept
        if not more:
            return [whole[k] for k in sorted(kept)]
        kept |= more


def _first(statement: Statement) -> bool:
    """Whether its names are its purpose, and not those of a loop around something else."""
    return statement.plain or statement.answer
