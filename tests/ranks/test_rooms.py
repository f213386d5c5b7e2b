"""The rooms of jt_edu/mpi stand in the order of its README, and what a rank can say knows no kind of rank."""

import ast
import re
from pathlib import Path

import pytest

import jt_edu

HOME = Path(jt_edu.__file__).parent / "mpi"
TABLE = re.findall(r"^\| `(\w+)/` \|", (HOME / "README.md").read_text(), re.MULTILINE)


def imported(file):
    """The rooms that a module imports when it runs; imports for types alone may look up."""
    tree = ast.parse(file.read_text())
    for_types = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    skipped = {inner for block in for_types for inner in ast.walk(block)}
    found = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n not in skipped and n.module]
    found += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) and n not in skipped for a in n.names]
    return {name.split(".")[2] for name in found if name.startswith("jt_edu.mpi.")}


def test_every_room_stands_in_the_table():
    assert sorted(TABLE) == sorted(p.parent.name for p in HOME.glob("*/__init__.py"))


@pytest.mark.parametrize("room", TABLE)
def test_a_room_imports_only_from_rooms_above_it(room):
    above = set(TABLE[: TABLE.index(room) + 1])

    for file in (HOME / room).glob("*.py"):
        assert imported(file) & set(TABLE) <= above, f"{file.name} looks down"
