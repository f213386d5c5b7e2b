"""Mutants: small changes of a solution, each of which a good check must notice.

    mutants("return a + b")    "return a - b"

One operator, comparison, number or statement is changed at a time, also within a text of several lines that is Python,
such as a kernel's. A change that means the same cannot be noticed; so a check need not notice all.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
Change = Callable[[], None]


def mutants(text: str, inside: tuple[int, int] = (1, 1 << 30)) -> Iterator[str]:
    """The text with one change each, in lines `inside` (the first and the last)."""
    tree = ast.parse(text)
    for at in range(len(list(_changes(tree, inside)))):
        other = copy.deepcopy(tree)
        list(_changes(other, inside))[at]()
        yield ast.unparse(other)


def _changes(tree: ast.Module, inside: tuple[int, int]) -> Iterator[Change]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            for other in _of_text(node, inside):
                yield lambda node=node, other=other: setattr(node, "value", other)
        if not inside[0] <= getattr(node, "lineno", 0) <= inside[1]:
            continue
        if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in OTHER:
            yield lambda node=node: setattr(node, "op", OTHER[type(node.op)]())
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
            yield lambda node=node: node.ops.__setitem__(0, OTHER[type(node.ops[0])]())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield lambda node=node: setattr(node, "op", ast.UAdd())
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield lambda node=node: setattr(node, "value", node.value + 1)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not isinstance(node.value, ast.Constant):
            yield lambda node=node: _dropped(tree, node)
        if isinstance(node, ast.AugAssign):
            yield lambda node=node: _replaced(tree, node, ast.Assign([node.target], node.value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("reversed", "sorted"):
            yield lambda node=node: setattr(node.func, "id", "list")


def _of_text(node: ast.Constant, inside: tuple[int, int]) -> list[str]:
    """Mutants of a text within the text; none where it is words."""
    first, last = (line - node.lineno + 1 for line in inside)
    try:
        return list(mutants(textwrap.dedent(node.value), (first, last)))
    except SyntaxError:
        return []


def _dropped(tree: ast.AST, statement: ast.stmt) -> None:
    _replaced(tree, statement, ast.Pass())


def _replaced(tree: ast.AST, statement: ast.stmt, other: ast.stmt) -> None:
    for node in ast.walk(tree):
        for _, field in ast.iter_fields(node):
            if isinstance(field, list) and statement in field:
                field[field.index(statement)] = ast.copy_location(other, statement)
                ast.fix_missing_locations(tree)
