"""Doors: `__all__` is exactly what a package offers, and `import jt_edu` is quick and needs no guests."""

import importlib
import json
import os
import subprocess
import sys
import types

import pytest

from tests.house.plan import IMPORT_SECONDS, IMPORTED_BY_NOBODY, ROOT
from tests.house.tree import modules

OPEN = (ROOT / "jt_edu" / "__init__.py").exists()
needs_the_door = pytest.mark.skipif(not OPEN, reason="jt_edu/__init__.py is not written yet")

DOORS = [f"jt_edu.{module.name}".rstrip(".") for module in modules(ROOT) if module.is_door and "import " in module.text]


def complaints(door: types.ModuleType) -> list[str]:
    names = getattr(door, "__all__", None)
    if names is None:
        return [f"{door.__name__} has no __all__"]
    exported = {name for name, value in vars(door).items() if _is_public(name, value)}
    return [
        *([] if list(names) == sorted(set(names)) else [f"__all__ is not sorted, or names something twice: {names}"]),
        *(f"__all__ lists {name}, which does not exist" for name in names if not hasattr(door, name)),
        *(f"{name} is public, but not in __all__" for name in sorted(exported - set(names))),
    ]


def _is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and name != "annotations" and not isinstance(value, types.ModuleType)


@needs_the_door
@pytest.mark.parametrize("name", DOORS)
def test_all_is_sorted_and_says_what_is_exported(name):
    assert "\n".join(complaints(importlib.import_module(name))) == ""


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["b", "a"], "__all__ is not sorted"),
        (["a", "a", "b"], "names something twice"),
        (["a"], "b is public, but not in __all__"),
        (["a", "b", "c"], "__all__ lists c, which does not exist"),
        (None, "door has no __all__"),
    ],
)
def test_the_rule_notices(names, complaint):
    door = types.ModuleType("door")
    vars(door).update(a=1, b=2, _private=3, module=sys)
    if names is not None:
        door.__all__ = names

    assert complaint in "\n".join(complaints(door))


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
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return tuple(json.loads(done.stdout.splitlines()[-1]))


@needs_the_door
def test_jt_edu_needs_no_guests():
    fresh_import(block=True)


@needs_the_door
def test_jt_edu_brings_no_guests_along():
    _, guests = fresh_import(block=False)

    assert guests == []


@needs_the_door
def test_jt_edu_is_imported_within_a_second(record_property):
    seconds = min(fresh_import(block=False)[0] for _ in range(3))
    record_property("house", f"import jt_edu: {seconds:.2f} s of CPU; {IMPORT_SECONDS:g} s are allowed")

    assert seconds < IMPORT_SECONDS
