"""Words that do not belong into a textbook: print, bare asserts, notes to oneself, dates, star imports."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.house.plan import BEGIN_WITH_A_CELL, MAY_PRINT, ROOT
from tests.house.tree import Module, hold, modules

NOTE_TO_ONESELF = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
DATE = re.compile(
    r"\b(19|20)\d\d-[01]\d(-\d\d)?\b|\b[0-3]?\d[./][01]?\d[./](19|20)\d\d\b"
    r"|\b(January|February|March|April|May|June|July|August|September|October|November|December) (19|20)\d\d\b"
)


def complaints(root=ROOT) -> list[str]:
    packages = [(root, "jt_edu"), (root / "widgets", "jt_widgets"), (root / "exercises", "jt_exercises")]
    return [text for folder, package in packages for module in modules(folder, package) for text in _of(module)]


def _of(module: Module) -> Iterator[str]:
    if module.text.strip() and module.path.name not in BEGIN_WITH_A_CELL and not ast.get_docstring(module.tree):
        yield f"{module.package}/{module.name}: no docstring says which question this file answers"
    for node in module.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "print" and module.name not in MAY_PRINT:
            yield f"{module.at(node)}: print; return the text, or announce it in the trace"
    for node in module.nodes(ast.Assert):
        if node.msg is None:
            yield f"{module.at(node)}: an assert without words; a learner's mistake is an error of errors.py"
    for node in module.nodes(ast.ImportFrom):
        if any(alias.name == "*" for alias in node.names) and not _takes_a_room(module, node):
            yield f"{module.at(node)}: a star import"
    for line, comment in _comments(module):
        for rule, what in ((NOTE_TO_ONESELF, "a note to oneself"), (DATE, "a date")):
            if rule.search(comment):
                yield f"{module.package}/{module.name}:{line}: {what} in a comment: {comment}"


def _takes_a_room(module: Module, node: ast.ImportFrom) -> bool:
    """Whether a door takes a room of this house whole: test_doors.py looks what comes with it."""
    return module.hands_out_names and f"{node.module}".startswith(f"{module.package}.")


def _comments(module: Module) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_no_word_is_out_of_place():
    hold(complaints())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1", "no docstring"),
        ('"""Doc."""\nprint(1)', "print;"),
        ('"""Doc."""\nassert 1 == 1', "an assert without words"),
        ('"""Doc."""\nfrom math import *', "a star import"),
        ('"""Doc."""\nx = 1  # TODO: two', "a note to oneself"),
        ('"""Doc."""\nx = 1  # since 2024-05-01', "a date"),
        ('"""Doc."""\nx = 1  # May 2024', "a date"),
    ],
)
def test_the_rule_notices(tmp_path, text, complaint):
    (tmp_path / "jt_edu").mkdir()
    (tmp_path / "jt_edu" / "index.py").write_text(text)

    assert complaint in "\n".join(complaints(tmp_path))


def test_a_door_takes_rooms_whole_and_nobody_else_does(tmp_path):
    for place in ("nn", "ops"):
        (tmp_path / "jt_edu" / place).mkdir(parents=True)
    door, room = tmp_path / "jt_edu" / "nn" / "__init__.py", tmp_path / "jt_edu" / "ops" / "pool.py"
    for path in (door, room):
        path.write_text('"""Doc."""\nfrom jt_edu.nn.pool import *\nfrom math import *\n')

    assert complaints(tmp_path) == [
        "jt_edu/nn/__init__.py:3: a star import",
        "jt_edu/ops/pool.py:2: a star import",
        "jt_edu/ops/pool.py:3: a star import",
    ]


def test_words_inside_strings_are_free(tmp_path):
    (tmp_path / "jt_edu").mkdir()
    (tmp_path / "jt_edu" / "index.py").write_text('"""Doc of 2024-05-01: print(1)."""\nassert True, "TODO"\n')

    assert complaints(tmp_path) == []
