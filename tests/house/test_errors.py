"""An error says what was found: nearly every message carries the value that was refused."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.plan import RAISES_WITH_VALUE, ROOT
from tests.house.tree import Module, hold, modules


def raises(root=ROOT) -> tuple[list[str], list[str]]:
    """All raises that make a new error: (those that carry a value, those that do not), as places."""
    found = [(module.at(node), carries_a_value(node)) for module in modules(root) for node in _new_errors(module)]
    return [place for place, carries in found if carries], [place for place, carries in found if not carries]


def _new_errors(module: Module) -> Iterator[ast.Raise]:
    """Neither a bare `raise` nor `raise error`, which pass on an error that somebody else made."""
    for node in module.nodes(ast.Raise):
        if isinstance(node.exc, ast.Call) or (isinstance(node.exc, ast.Name) and node.exc.id[0].isupper()):
            yield node


def carries_a_value(node: ast.Raise) -> bool:
    """An f-string with a hole in it, or any argument that is not a plain constant."""
    if not isinstance(node.exc, ast.Call):
        return False
    arguments = [*node.exc.args, *(keyword.value for keyword in node.exc.keywords)]
    return any(not _is_constant(argument) for argument in arguments)


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return not any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant)


def complaints(root=ROOT) -> list[str]:
    good, bad = raises(root)
    share = len(good) / max(1, len(good) + len(bad))
    enough = share >= RAISES_WITH_VALUE or not bad
    return [] if enough else [f"{share:.0%} of the raises carry a value; these do not:", *bad]


def test_errors_carry_the_value_that_was_refused(record_property):
    good, bad = raises()
    record_property("house", f"errors: {len(good)} of {len(good) + len(bad)} raises carry the value that was refused")

    hold(complaints())


@pytest.mark.parametrize(
    ("statement", "carries"),
    [
        ("raise ShapeError(f'width is {width}')", True),
        ("raise ShapeError('width is ' + str(width))", True),
        ("raise KeyError(name)", True),
        ("raise ShapeError('width is odd')", False),
        ("raise ShapeError('width ' + 'is odd')", False),
        ("raise ShapeError(f'width is odd')", False),
        ("raise ShapeError", False),
        ("raise ShapeError()", False),
    ],
)
def test_what_counts_as_a_value(statement, carries):
    assert carries_a_value(ast.parse(statement).body[0]) is carries


def test_the_rule_notices(tmp_path):
    (tmp_path / "jt_edu" / "ir").mkdir(parents=True)
    (tmp_path / "jt_edu" / "ir" / "index_expr.py").write_text(
        "def f(error):\n    raise error\ndef g():\n    raise ValueError('no')\n"
    )

    assert complaints(tmp_path) == ["0% of the raises carry a value; these do not:", "jt_edu/ir/index_expr.py:4"]
