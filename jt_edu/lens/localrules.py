"""Local rules: how does one operator turn the gradient of its output into those of its inputs, in words?

    MULTIPLY     dx = dout * y,  dy = dout * x
    Reindex      dx[where(i)] += dout[i]

The rules are those that autograd calls. A rule that is a lambda is shown as it stands in the source, its first two
arguments by their full names, and without `conj()` where numbers are real. Nothing here computes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from jt_edu.graph import Node
from jt_edu.meta import Op, Reindex, ReindexReduce

NAMES = ("out", "dout")


def rules_of(order: Sequence[Node], wanted: Collection[int]) -> dict[str, list[str]]:
    """For each node of `order` whose id is in `wanted`: the rule of each input, as one line of text."""
    return {str(node.id): local_rules(node) for node in order if node.id in wanted}


def local_rules(node: Node) -> list[str]:
    """The rule of each input of a node, as one line of text; nothing for inputs that have no gradient.

    Example:
        >>> import jt_edu as jt
        >>> x, y = jt.array([1.0]), jt.array([2.0])
        >>> local_rules((x * y).node), local_rules(x.exp().node), local_rules(x.sum().node)
        (['dx = dout * y', 'dy = dout * x'], ['dx = dout * out'], ['dx[i] = dout[where(i)]'])
    """
    if node.tape is not None:
        return [f"asks {_owner(node.tape.backward)}, which the author of the Function wrote"]
    real = node.dtype.kind != "c" and all(i.dtype.kind != "c" for i in node.inputs)
    known = _known(node.op)
    if known:
        return [known]
    return [_as_text(rule, k, real) for k, rule in enumerate(node.op.gradients()) if rule is not None]


def _known(op: Op) -> str:
    """The reindexes are each other's gradient."""
    if isinstance(op, Reindex):
        return "dx = dout.reshape(x.shape)" if op.flat else "dx[where(i)] += dout[i]"
    if isinstance(op, ReindexReduce) and op.reducer == "add":
        return "dx[i] = dout[where(i)]"
    return ""


def _owner(backward: Callable[..., Any]) -> str:
    return getattr(backward, "__qualname__", "backward")


def _as_text(rule: Callable[..., Any], position: int, real: bool) -> str:
    parameters = inspect.signature(rule).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    name = names[2 + position] if len(names) > 2 + position else "xyz"[position] if position < 3 else f"x{position}"
    body = _body(rule.__code__) if inspect.isfunction(rule) else None
    if body is None:
        return f"d{name}: {_sentence(rule)}"
    short = dict(zip(names, NAMES, strict=False))
    return f"d{name} = {ast.unparse(_Plainer(short, real).visit(body))}"


def _sentence(rule: Callable[..., Any]) -> str:
    """What a rule that is no lambda says of itself."""
    said = str(inspect.getdoc(rule) or getattr(rule, "__name__", "a rule of its own")).split("\n")[0]
    return said[:1].lower() + said[1:]


def _body(code: CodeType) -> ast.expr | None:
    """The expression of a lambda: the one in its file that spans exactly what was compiled from it."""
    if code.co_name != "<lambda>":
        return None
    spans = (place for place in code.co_positions() if None not in place and place[2] != place[3])
    first = min(((line or 0, column or 0) for line, _, column, _ in spans), default=None)
    if first is None:
        return None
    found = [node for node in _lambdas(code.co_filename) if _begins(node.body) <= first <= _ends(node.body)]
    body = min(found, key=lambda node: (_ends(node.body)[0] - _begins(node.body)[0], _ends(node.body)[1]), default=None)
    return None if body is None else ast.parse(ast.unparse(body.body), mode="eval").body


def _begins(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _ends(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


@cache
def _lambdas(file: str) -> list[ast.Lambda]:
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):  # written in a notebook, or by another program
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]


class _Plainer(ast.NodeTransformer):
    """Full names, and no conjugates of real numbers."""

    def __init__(self, names: dict[str, str], real: bool) -> None:
        self.names, self.real = names, real

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A short name by its full one."""
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """x.conj() is x, for real numbers."""
        self.generic_visit(node)
        if self.real and isinstance(node.func, ast.Attribute) and node.func.attr == "conj":
            return node.func.value
        return node
