"""Source files as syntax trees, for the tests that read jt_edu and never run it."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.house.plan import DOORS_WITHOUT_A_FOLDER, FLOORS

Function = ast.FunctionDef | ast.AsyncFunctionDef
SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Module:
    """One file of a package. `name` leaves the package out: "codegen.loops", and "" for the front door."""

    package: str
    name: str
    path: Path
    folder: Path  # of the package

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def is_door(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def hands_out_names(self) -> bool:
        """Whether learners come in here: a door, with a folder behind it or without."""
        return self.is_door or self.name in DOORS_WITHOUT_A_FOLDER

    @property
    def dotted(self) -> str:
        """As Python imports it: "jt_edu.codegen.loop_ir"."""
        return f"{self.package}.{self.name}".rstrip(".")

    @property
    def parts(self) -> list[str]:
        """Names on the way to the file, as relative imports count them: ["codegen", "__init__"]."""
        return list(self.path.relative_to(self.folder).with_suffix("").parts)

    def at(self, node: ast.AST) -> str:
        """Where to look, as editors understand it."""
        return f"{self.package}/{self.path.relative_to(self.folder).as_posix()}:{node.lineno}"

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


def modules(root: Path, package: str = "jt_edu") -> list[Module]:
    """Every file of the package in the folder `root`, in the order of their names."""
    folder = root / package
    return [Module(package, _name(folder, path), path, folder) for path in sorted(folder.rglob("*.py"))]


def _name(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def hold(complaints: list[str]) -> None:
    """Fail with all complaints, and nothing else."""
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def place(name: str) -> tuple[int, int] | None:
    """Where a module stands: (floor, position on it), or None when the plan does not know it."""
    for floor, rooms in enumerate(FLOORS):
        for position, room in enumerate(rooms):
            if name == room or name.startswith(room + "."):
                return floor, position
    return None


def room(name: str) -> str:
    """The entry of the plan that a module belongs to: "codegen.loops" is in the room "codegen"."""
    where = place(name)
    return FLOORS[where[0]][where[1]] if where else name


def functions(module: Module) -> list[Function]:
    return list(module.nodes(ast.FunctionDef, ast.AsyncFunctionDef))


def lines_of(function: Function) -> int:
    """Lines from `def` to the end, docstring and blank lines included."""
    return function.end_lineno - function.lineno + 1


def code_lines(module: Module) -> int:
    """Lines that say something to Python: no docstrings, no comments, no blank lines."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    code = {line for token in tokens if token.type not in SILENT for line in range(token.start[0], token.end[0] + 1)}
    return len(code - _docstring_lines(module))


def _docstring_lines(module: Module) -> set[int]:
    owners = module.nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [owner.body[0] for owner in owners if owner.body and ast.get_docstring(owner, clean=False) is not None]
    return {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
