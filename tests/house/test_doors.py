"""Doors: `__all__` is exactly what a package offers, and `import jt_edu` is quick and needs no guests."""

import ast
import importlib
import json
import os
import subprocess
import sys
import tomllib
import types

import pytest

from tests.house.plan import IMPORT_SECONDS, IMPORTED_BY_NOBODY, ROOT
from tests.house.tree import hold, modules

HOUSE = modules(ROOT)
DOORS = [module for module in HOUSE if module.hands_out_names and "import " in module.text]


def complaints(door: types.ModuleType, text: str) -> list[str]:
    names = getattr(door, "__all__", None)
    if names is None:
        return [f"{door.__name__} has no __all__"]
    without = [room for room in taken_whole(text) if not hasattr(importlib.import_module(room), "__all__")]
    if without:
        return [f"{room} is taken whole, with all that it imports: it has no __all__" for room in without]
    return [
        *([] if list(names) == sorted(set(names)) else [f"__all__ is not sorted, or names something twice: {names}"]),
        *(f"__all__ lists {name}, which does not exist" for name in names if not hasattr(door, name)),
        *(f"{name} is public, but not in __all__" for name in sorted(exported(door.__name__, text) - set(names))),
        *(f"{name} is not the one of {room}, which is taken whole" for room, name in others(door, text)),
        *(f"{name} came in unnamed" for name in sorted(unnamed(door, text) - set(names))),
    ]


def exported(package: str, text: str) -> set[str]:
    """Public names that a door defines, or imports from its own rooms, or that come from a room which it takes whole.

    What it imports by name from elsewhere, it only uses.
    """
    found = {name for room in taken_whole(text) for name in importlib.import_module(room).__all__}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (node.level or f"{node.module}.".startswith(f"{package}.")):
            found |= {alias.asname or alias.name for alias in node.names} - {"*"}
    return {name for name in found | defined(text) if not name.startswith("_")}


def defined(text: str) -> set[str]:
    """The names that a file gives to something of its own."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def taken_whole(text: str) -> list[str]:
    """The rooms of which a door takes all that they offer: `from room import *`."""
    return [node.module for node in ast.parse(text).body if isinstance(node, ast.ImportFrom) and _is_star(node)]


def _is_star(node: ast.ImportFrom) -> bool:
    return any(alias.name == "*" for alias in node.names)


def others(door: types.ModuleType, text: str) -> list[tuple[str, str]]:
    """Names of rooms taken whole that mean something else at the door, since two things have one name."""
    offered = [(room, name) for room in taken_whole(text) for name in importlib.import_module(room).__all__]
    return [(room, n) for room, n in offered if getattr(door, n, None) is not getattr(sys.modules[room], n, None)]


def unnamed(door: types.ModuleType, text: str) -> set[str]:
    """Public names in a door that its text does not say; its rooms are there since Python puts them there."""
    held = {name for name, value in vars(door).items() if not isinstance(value, types.ModuleType)}
    said = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return {name for name in held - said - defined(text) if not name.startswith("_")}


def complaints_of_room(text: str, names: list[str]) -> list[str]:
    """What is wrong with the names that a room offers to a door."""
    return [
        *([] if names == sorted(set(names)) else [f"__all__ is not sorted, or names something twice: {names}"]),
        *(f"{name} is offered, but not made here" for name in names if name not in defined(text)),
    ]


@pytest.mark.parametrize("module", DOORS, ids=lambda module: module.dotted)
def test_all_is_sorted_and_says_what_is_exported(module):
    hold(complaints(importlib.import_module(module.dotted), module.text))


def test_a_room_that_is_taken_whole_offers_what_it_makes():
    whole = {room for door in DOORS for room in taken_whole(door.text)}
    rooms = [module for module in HOUSE if module.dotted in whole]

    assert len(rooms) == len(whole) > 50
    hold(
        [f"{m.dotted}: {said}" for m in rooms for said in complaints_of_room(m.text, sys.modules[m.dotted].__all__)],
    )


DOOR = """
import sys
from collections.abc import Callable
from room.cupboard import cup
_private = 1
plate = 2
def spoon(): ...
"""


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["cup", "spoon", "plate"], "__all__ is not sorted"),
        (["cup", "cup", "plate", "spoon"], "names something twice"),
        (["cup", "plate"], "spoon is public, but not in __all__"),
        (["plate", "spoon"], "cup is public, but not in __all__"),
        (["cup", "plate", "saucer", "spoon"], "__all__ lists saucer, which does not exist"),
        (None, "room has no __all__"),
    ],
)
def test_the_rule_notices(names, complaint):
    door = types.ModuleType("room")
    vars(door).update(cup=1, plate=2, spoon=3)
    if names is not None:
        door.__all__ = names

    assert complaint in "\n".join(complaints(door, DOOR))


def test_what_a_door_only_uses_is_not_exported():
    assert exported("room", DOOR) == {"cup", "plate", "spoon"}


SHELF = """
import sys
from sys import path
cup = saucer = 1
def _secret(): ...
"""


@pytest.mark.parametrize(
    ("offered", "names", "complaint"),
    [
        (["cup", "saucer"], ["cup", "saucer"], ""),
        (["cup", "saucer"], ["cup"], "saucer is public, but not in __all__"),
        (["cup", "saucer"], ["cup", "cup", "saucer"], "names something twice"),
        (None, ["cup"], "room.shelf is taken whole, with all that it imports: it has no __all__"),
        (["cup"], ["cup"], "saucer came in unnamed"),
        (["cup", "fork"], ["cup", "fork", "saucer"], "fork is not the one of room.shelf, which is taken whole"),
    ],
)
def test_the_rule_notices_what_comes_with_a_room(monkeypatch, offered, names, complaint):
    door, shelf = types.ModuleType("room"), types.ModuleType("room.shelf")
    vars(shelf).update(cup=1, saucer=1, fork="silver", **({} if offered is None else {"__all__": offered}))
    vars(door).update(cup=1, saucer=1, __all__=names, **({"fork": "steel"} if "fork" in names else {}))
    monkeypatch.setitem(sys.modules, "room.shelf", shelf)

    said = complaints(door, "from room.shelf import *")

    assert said == [] if not complaint else any(complaint in one for one in said), said


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["cup", "saucer"], None),
        (["saucer", "cup"], "__all__ is not sorted"),
        (["cup", "path"], "path is offered, but not made here"),
    ],
)
def test_the_rule_notices_what_a_room_has_no_right_to_offer(names, complaint):
    said = complaints_of_room(SHELF, names)

    assert said == [] if complaint is None else complaint in said[0]


FRESH = """
import json, sys, time

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {guests!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

if {block}:
    sys.meta_path.insert(0, Absent())
start = time.process_time()
import jt_edu as jt
seconds = time.process_time() - start
guests = sorted(set({guests!r}) & set(sys.modules))
print(json.dumps([seconds, guests]))
"""


def fresh_import(*, block: bool) -> tuple[float, list[str]]:
    """Import jt_edu in a new process: (seconds of CPU, guests that came along)."""
    code = FRESH.format(guests=IMPORTED_BY_NOBODY, block=block)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    stores = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # as a learner's Python does
    environment = {**stores, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return tuple(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def imports() -> list[tuple[float, list[str]]]:
    """Three imports, each in a new process."""
    return [fresh_import(block=False) for _ in range(3)]


def test_the_version_is_the_one_that_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert importlib.import_module("jt_edu").__version__ == project["version"]


def test_jt_edu_needs_no_guests():
    fresh_import(block=True)


def test_jt_edu_brings_no_guests_along(imports):
    assert [guests for _, guests in imports] == [[], [], []]


def test_jt_edu_is_imported_within_a_second(imports, record_property):
    seconds = min(seconds for seconds, _ in imports)
    record_property("house", f"import jt_edu: {seconds:.2f} s of CPU; {IMPORT_SECONDS:g} s are allowed")

    assert seconds < IMPORT_SECONDS
