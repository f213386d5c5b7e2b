"""Every public name explains itself with an example, and every example in a docstring runs and tells the truth."""

import builtins
import doctest
import importlib.util
import inspect
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.house.plan import OPTIONAL, ROOT, WORKSHOPS
from tests.house.tree import hold, modules

ABSENT = {"__main__", *(name for name, library in OPTIONAL.items() if not importlib.util.find_spec(library))}
NAMES = [module.dotted for module in modules(ROOT) if module.name not in ABSENT]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def public(door: types.ModuleType) -> Iterator[tuple[str, object]]:
    """The functions and classes that a package offers, each once: an alias is the same object."""
    seen = set()
    for name in getattr(door, "__all__", ()):
        value = getattr(door, name, None)
        if (inspect.isclass(value) or inspect.isroutine(value)) and id(value) not in seen:
            seen.add(id(value))
            yield f"{door.__name__}.{name}", value


def complaints(door: types.ModuleType) -> list[str]:
    return [
        *(f"{name} has no docstring" for name, value in public(door) if not inspect.getdoc(value)),
        *(f"{name}: its docstring has no example" for name, value in public(door) if _lacks_example(name, value)),
    ]


def _lacks_example(name: str, value: object) -> bool:
    text = inspect.getdoc(value)
    return text is not None and ">>> " not in text and not name.startswith(WORKSHOPS)


def run_examples(module: types.ModuleType, names: dict[str, object]) -> str:
    """Run every `>>>` of a module, each docstring with fresh names. Returns what went wrong, or nothing."""
    runner, said = doctest.DocTestRunner(optionflags=OPTIONS), []
    for test in doctest.DocTestFinder().find(module, extraglobs=names):
        if "asyncio" not in test.docstring:
            runner.run(test, out=said.append)
            continue
        with ThreadPoolExecutor(1) as beside:  # a browser's test may have left a loop that runs in this thread
            beside.submit(runner.run, test, out=said.append).result()
    return "".join(said)


def doors() -> list[types.ModuleType]:
    found = [importlib.import_module(name) for name in NAMES]
    return [module for module in found if hasattr(module, "__path__")]


def test_every_public_name_has_a_docstring_with_an_example():
    hold([text for door in doors() for text in complaints(door)])


def names_for(module: types.ModuleType) -> dict[str, object]:
    """What an example may use: jt, np, and what jt_edu offers, where neither Python nor the module has that name."""
    jt = importlib.import_module("jt_edu")
    taken = vars(module).keys() | vars(builtins).keys()
    offered = {name: value for name, value in vars(jt).items() if not name.startswith("_") and name not in taken}
    return {**offered, "jt": jt, "np": np}


@pytest.mark.parametrize("name", NAMES)
def test_examples_tell_the_truth(name):
    module = importlib.import_module(name)

    said = run_examples(module, names_for(module))

    hold([said] if said else [])


def test_the_rule_notices_a_name_without_an_example():
    door = types.ModuleType("door")
    door.__all__ = ["silent", "vague"]
    door.silent, door.vague = lambda: None, inspect.getdoc

    assert complaints(door) == ["door.silent has no docstring", "door.vague: its docstring has no example"]


def test_the_rule_notices_an_example_that_lies():
    door = types.ModuleType("door", ">>> two + two\n5\n")

    assert "Expected:\n    5\nGot:\n    4" in run_examples(door, {"two": 2})
