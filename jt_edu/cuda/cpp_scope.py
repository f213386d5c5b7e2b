"""Scope of C++: where does a name begin? A name of Python is one of the whole function, one of C++ of its braces.

for k in range(n):                  for (long long k = 0; k < n; k++) {
    t = x[k]                            float t = x[k];         begins here: nobody reads it outside
    if t > most:                        if (t > most) {
        where = k                           where = k;          begins above the loop: it is read below
out[0] = where                      }
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence


def beginnings(body: Sequence[ast.stmt], name: str) -> list[ast.stmt] | None:
    r"""The statements that bring a name into being, each in its own braces; None: it has to be there before.

    Example:
        >>> body = ast.parse("if c:\n    a = 1\n    x[0] = a\nb = a = 2\n").body
        >>> [line.lineno for line in beginnings(body, "a")], beginnings(body[0].body + body[:1], "c")
        ([2, 4], None)
    """
    found: list[ast.stmt] = []
    for statement in body:
        if name not in names(statement):
            continue
        inner = _inside(statement, name)
        if inner is None:
            return [*found, statement] if _assigns(statement, name) else None
        found += inner
    return found


def _inside(statement: ast.stmt, name: str) -> list[ast.stmt] | None:
    """Where a name begins in the blocks of a loop or an `if`, if they need it from nowhere else."""
    match statement:
        case ast.For(target, over, body, _):
            if isinstance(target, ast.Name) and target.id == name:
                return [statement] if name not in names(over) else None
            head, blocks = [target, over], [body]
        case ast.While(test, body, _):
            head, blocks = [test], [body]
        case ast.If(test, body, other):
            head, blocks = [test], [body, other]
        case _:
            return None
    if any(name in names(part) for part in head):
        return None
    parts = [beginnings(block, name) for block in blocks]
    return None if any(part is None for part in parts) else [line for part in parts for line in part or ()]


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Whether a plain assignment makes it, from other names."""
    return (
        isinstance(statement, (ast.Assign, ast.AnnAssign))
        and name in stored(statement)
        and all(n.id != name for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    )


def names(*nodes: ast.AST) -> set[str]:
    """All names in a piece of text."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def stored(*nodes: ast.AST) -> list[str]:
    """The names that are assigned to, in the order of the text."""
    found = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return list(dict.fromkeys(n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))))


def scopes(
    body: Sequence[ast.stmt], given: Iterable[str]
) -> tuple[dict[ast.stmt, set[str]], dict[ast.stmt, list[str]]]:
    """Which names begin with a statement of a function, and which have to be there before one."""
    begins: dict[ast.stmt, set[str]] = {}
    ahead: dict[ast.stmt, list[str]] = {}
    for name in stored(*body):
        found = None if name in given else beginnings(body, name)
        for statement in found or ():
            begins.setdefault(statement, set()).add(name)
        if found is None and name not in given:
            ahead.setdefault(next(s for s in body if name in names(s)), []).append(name)
    return begins, ahead
