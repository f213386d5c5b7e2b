"""Program: how do a learner's answers get into the notebook of the course?

    the course      import numpy as np; x = normal(9); def roof(i, b, p): return None; print(check.check_roof(roof))
    a submission                                       def roof(i, b, p): return min(i * b, p)
    the program     import numpy as np;                def roof(i, b, p): return min(i * b, p); print(check...)

Of the course those statements stay that the exercise needs, found by the names that they read and bind; an answer that
was left as the course has it is one of them. Of a submission only those are taken that bind an answer, and the helpers
that these need. Nothing runs here.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PLAIN = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign)
LARGEST = 64 << 20  # bytes of a notebook, with all its outputs
NOT_PYTHON = re.compile(  # what IPython understands besides: %magic, !shell, ?name and name?
    r"^\s*[%!?].*$|^\s*[\w.*]+\?{1,2}\s*$", re.MULTILINE
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


def read(path: Path) -> Cells:
    """The code cells of a notebook file."""
    try:
        if path.stat().st_size > LARGEST:
            raise UnreadableError(f"{path.name} is no notebook: it is larger than {LARGEST >> 20} MB")
        found = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in found if cell["cell_type"] == "code"]
        return {str(cell.get("id", number)): "".join(cell["source"]) for number, cell in enumerate(code)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"{path.name} is no notebook: {type(error).__name__}: {error}") from error


def program(course: Cells, submitted: Cells, answers: Sequence[tuple[str, ...]], number: int) -> str:
    """The Python that judges one exercise of a notebook.

    Args:
        course: the notebook as it was given out.
        submitted: the notebook as it came back.
        answers: the names that each of its exercises asks for.
        number: which exercise, from 0 on.

    Raises:
        UnreadableError: the cell of this exercise is no Python.
    """
    given = [s for cell, text in course.items() for s in statements(cell, text)]
    homes = judging_cells(given)
    handed_in = _readable(submitted, homes[number])
    judging, known = _judging(handed_in), {ast.dump(s.node) for s in given}
    came = [s for s in handed_in if s not in judging]
    own = [s for s in came if ast.dump(s.node) not in known]  # what a learner wrote, and the course did not
    wanted, whole = dict(zip(homes, answers, strict=True)), list[Statement]()
    for cell, group in itertools.groupby(given, key=lambda s: s.cell):
        names = frozenset(wanted.get(cell, ()))
        found = _answers(came, own, cell, names)
        bound = names & frozenset().union(*(s.binds for s in found))
        added = _apart(_helpers(own, found, names), found, frozenset().union(*(s.binds for s in given)))
        for statement in group:
            if not bound & statement.binds or statement.binds & names - bound:  # what was left as it is stays
                whole.append(statement)
            if bound & statement.binds and not any(s.answer and s.cell == cell for s in whole):
                whole += [replace(s, cell=cell, answer=True) for s in added]
    return ast.unparse(ast.Module([s.node for s in _slice(whole, homes[number])], []))


def statements(cell: str, text: str) -> list[Statement]:
    """The statements of a cell; none where it is for ranks, or otherwise begins with a magic of its own."""
    if text.startswith("%%"):
        return []
    return [Statement(cell, node, _bound(node), _read(node)) for node in ast.parse(NOT_PYTHON.sub("", text)).body]


def judging_cells(given: Sequence[Statement]) -> list[str]:
    """The cells that judge something: one for each exercise, in order."""
    return list(dict.fromkeys(s.cell for s in _judging(given)))


def _judging(given: Sequence[Statement]) -> list[Statement]:
    """What calls a check, or tells, or calls a function of the notebook that tells."""
    tells = {"tell", "check"}
    tells |= {s.node.name for s in given if isinstance(s.node, ast.FunctionDef) and "tell" in s.reads}
    return [s for s in given if not isinstance(s.node, ast.FunctionDef) and _calls(s.node, tells)]


def _calls(node: ast.stmt, tells: set[str]) -> bool:
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = {f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else "" for f in calls}
    return bool(names & tells) or any(name.startswith("check_") for name in names)


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
    kept = list[Statement]()
    while True:
        reads = frozenset().union(*(s.reads for s in (*found, *kept))) - names
        more = [s for s in theirs if s.plain and s.binds & reads]
        if len(more) == len(kept):
            return kept
        kept = more


def _apart(helpers: Sequence[Statement], found: Sequence[Statement], known: frozenset[str]) -> list[Statement]:
    """Helpers and answers; a helper that is called like something of the course gets another name in both."""
    imports = (ast.Import, ast.ImportFrom)
    kept = [s for s in helpers if not (isinstance(s.node, imports) and s.binds <= known)]
    other = {name: f"their_{name}" for s in kept if not isinstance(s.node, imports) for name in s.binds & known}
    return [_renamed(s, other) if other else s for s in (*kept, *found)]


def _renamed(statement: Statement, other: Mapping[str, str]) -> Statement:
    node = ast.parse(ast.unparse(statement.node)).body[0]
    for part in ast.walk(node):
        for field in ("id", "arg", "name"):
            if isinstance(part, (ast.Name, ast.arg, ast.FunctionDef, ast.ClassDef)) and hasattr(part, field):
                setattr(part, field, other.get(getattr(part, field), getattr(part, field)))
    return replace(statement, node=node, binds=_bound(node), reads=_read(node))


def _slice(whole: Sequence[Statement], home: str) -> list[Statement]:
    """The cell of an exercise, up to what judges last in it, and all that it needs of earlier ones, in order."""
    judging = {k for k, s in enumerate(whole) if s in _judging(whole)}
    last = max(k for k in judging if whole[k].cell == home)
    kept = {k for k in range(last + 1) if whole[k].cell == home}
    earlier = [k for k in range(last) if k not in judging]
    plainly = frozenset().union(*(s.binds for s in whole if s.plain))
    while True:
        reads = frozenset().union(*(whole[k].reads for k in kept))
        more = {k for k in earlier if whole[k].binds & (reads if _first(whole[k]) else reads - plainly)} - kept
        if not more:
            return [whole[k] for k in sorted(kept)]
        kept |= more


def _first(statement: Statement) -> bool:
    """Whether its names are its purpose, and not those of a loop around something else."""
    return statement.plain or statement.answer
