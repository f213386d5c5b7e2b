"""Gradient rules: how does one operator turn the gradient of its output into those of its inputs, in words?

    MULTIPLY     dx = dout * y,  dy = dout * x          matmul    dx = dout @ y.T,  dy = x.T @ dout
    select       dx = dout if c else 0                  x.T       dx = dout.T

The rules are those that autograd calls. A rule that is a lambda is shown as it stands in the source, its first two
arguments by their full names, without `conj()` where numbers are real, and choices as Python writes them; those of
reindexes and sums are read off their index maps (index_formulas.py). Nothing here computes.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node
from jt_edu.lens.index_formulas import Contraction, Sliding, contraction, read_rule, sum_rule

NAMES = ("out", "dout")
LAID = "lay"  # the operator that copies an array into another order of axes
Row = dict[str, Any]


def rules_of(order: Sequence[Node], wanted: Collection[int]) -> dict[str, list[str]]:
    """For each node of `order` whose id is in `wanted`: the rule of each input, as one line of text.

    What is inside a contraction has none of its own: those of the contraction say all.
    """
    readers = Counter(i for node in order for i in set(node.inputs))
    found = [c for c in map(contraction, order) if c is not None and readers[c.product] == 1]
    inside = {part for c in found for part in (c.product, *c.factors) if readers[part] == 1}
    return {str(node.id): local_rules(node) for node in order if node.id in wanted and node not in inside}


def rule_of_step(twins: Collection[int], last: int, order: Mapping[int, Node]) -> list[str]:
    """The one rule that a step of a gradient follows, if it computes the gradient of a contraction; else nothing.

    Args:
        twins: the forward nodes whose gradients it is made of; `last` is that of the step itself.
        order: the forward nodes by their ids.
    """
    found = [c for c in (contraction(order[t]) for t in twins if t in order) if c is not None]
    if len(found) != 1:
        return []
    ways = [way for side in (0, 1) if (way := _way(found[0], side, last))]
    return ways[0] if len(ways) == 1 else []


def _way(c: Contraction | Sliding, side: int, last: int) -> list[str]:
    """The rules from a contraction back to node `last` behind one of its factors; nothing if it is not there."""
    rules, node = [c.rule(side)], c.factors[side]
    while node.id != last:
        node = node.inputs[0]
        if node.data is not None or not isinstance(node.op, Reindex):
            return []
        rules.append(f"{node.op.name}: {read_rule(node.op, node.inputs[0].shape)}")
    return rules


def local_rules(node: Node) -> list[str]:
    """The rule of each input of a node, as one line of text; nothing for inputs that have no gradient.

    Example:
        >>> import jt_edu as jt
        >>> x, y = jt.array([1.0]), jt.array([2.0])
        >>> local_rules((x * y).node), local_rules(x.exp().node), local_rules(x.sum().node)
        (['dx = dout * y', 'dy = dout * x'], ['dx = dout * out'], ['dx[i] = dout'])
    """
    if node.tape is not None:
        return [f"asks {_owner(node.tape.backward)}, which the author of the Function wrote"]
    real = node.dtype.kind != "c" and all(i.dtype.kind != "c" for i in node.inputs)
    known = _known(node)
    if known:
        return known
    rules = [(k, rule) for k, rule in enumerate(node.op.gradients) if rule is not None]
    return [_as_text(rule, k, real) for k, rule in rules if node.inputs[k].op is not CONSTANT]


def _known(node: Node) -> list[str]:
    """The rules of what only moves numbers, or adds them up."""
    op, shape = node.op, node.inputs[0].shape if node.inputs else ()
    both = contraction(node)
    if both is not None:
        return [both.rule(0), both.rule(1)]
    if isinstance(op, Reindex):
        return [read_rule(op, shape)]
    if isinstance(op, ReindexReduce) and op.reducer == "add":
        return [sum_rule(op, len(shape))]
    return ["dx = dout, in the order of x"] if op.name == LAID else []


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
    words = inspect.getdoc(getattr(rule, "func", rule)) or getattr(rule, "__name__", "a rule of its own")
    said = str(words).split("\n")[0]
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
        """x.conj() is x, for real numbers; x.keep_where(c) is x if c else 0."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        match node.func.attr, node.args:
            case "conj", [] if self.real:
                return node.func.value
            case "keep_where", [condition]:
                return ast.IfExp(condition, node.func.value, ast.Constant(0))
            case "where_not", [condition, value]:
                return ast.IfExp(condition, value, node.func.value)
        return node
