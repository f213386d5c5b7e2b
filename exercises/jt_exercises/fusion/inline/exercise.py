"""03.2: may a value be computed where another one needs it? The framework's own decisions are the judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jt_edu as jt
from jt_edu.ir.meta_ops import Elementwise, ReindexReduce
from jt_edu.ir.node import Node, history
from jt_exercises.answers import truth
from jt_exercises.exercise import exercise
from jt_exercises.fusion.cases import Value, fate, ones
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

DRAWN = 3  # times all pairs, of sizes and operators that are drawn
OPERATORS = {"exp": jt.exp, "log": jt.log, "sqrt": jt.sqrt, "negative": jt.negative, "sigmoid": jt.sigmoid}


class Pair(NamedTuple):
    """`a` is read by `b`, which has `times` iterations for each element of `a`."""

    a: Value
    b: Value
    times: float
    fused: bool
    reason: str
    one_kernel: bool  # the two share a kernel, whether or not `a` is computed where `b` needs it


def pairs() -> Iterator[Pair]:
    """Two values of one expression each; nothing runs."""
    yield from _pairs(60, 40, "exp")
    yield from _pairs(2, 40, "exp")  # where each element is read twice, and no more
    for k in range(DRAWN):
        draw = random(k)
        rows, columns = draw.integers((1, 2), 60).tolist()  # a product over one column would be no matter for BLAS
        yield from _pairs(rows, columns, str(draw.choice(list(OPERATORS))))


def _pairs(rows: int, columns: int, name: str) -> Iterator[Pair]:
    x, w, row = ones(rows, columns), ones(columns, 20), ones(1, columns)
    f = OPERATORS[name]
    kept = f(x)
    yield _pair("multiply", name, f(x * 2))
    yield _pair(name, "sum", f(x).sum(1))
    yield _pair("sum", name, f(x.sum()))
    yield _pair("sum", "divide", x / x.sum(1, keepdims=True))
    yield _pair(name, "matmul", f(x) @ w)
    yield _pair("matmul", "max", (x @ w).max(1))
    yield _pair(name, "add", kept + 1, kept)
    yield _pair(name, "subtract", f(x).transpose(0, 1) - 1)
    yield _pair("multiply", "add", row * 2 + x)
    yield _pair("sqrt", "add", row.sqrt() + x)
    yield _pair("absolute", "add", row.sqrt().abs() + x)
    yield _pair(name, "add", f(row) + x)


def _pair(a: str, b: str, *wanted: jt.Var) -> Pair:
    e = jt.explain(*wanted)
    first, second = (next(n for n in e.order if n.op.name == name) for name in (a, b))
    domain = second.inputs[0].shape if isinstance(second.op, ReindexReduce) and b != "matmul" else second.shape
    times = 1.0 if b == "matmul" else max(1.0, math.prod(domain) / math.prod(first.shape))
    together = any({first.id, second.id} <= set(k.nodes) for k in e.kernels)
    one, two = _value(first, e.wanted, history(first)), _value(second, e.wanted, [second])
    return Pair(one, two, times, *fate(e, first, second), together)


def _value(node: Node, wanted: tuple[int, ...], inlined: Sequence[Node]) -> Value:
    """What is told of a value; whatever is inlined into it costs as well."""
    kind = "matmul" if node.op.name == "matmul" else "reduce" if isinstance(node.op, ReindexReduce) else "elementwise"
    work = sum(n.op.weight for n in inlined if isinstance(n.op, Elementwise)) if kind == "elementwise" else 1
    return Value(node.op.name, kind, node.id in wanted, work, node.shape)


@exercise(
    "03.2",
    "can_inline",
    points=2,
    hints=(
        """The three reasons: `a` is held, so it must become an array; `b` is a matrix product, and BLAS needs stored
        matrices; `a` would be computed again and again.""",
        """The framework has a limit: if an element costs at most 4 multiplications, it is computed again instead of
        stored.""",
    ),
    why="These four reasons decide most of what a fusing compiler does.",
)
def inline(answer: Callable[..., Any]) -> str:
    """Compare a rule with what the framework does, in real expressions."""
    every = list(pairs())
    for pair in every:
        case = f"{pair.a}, {pair.b}, times={pair.times:g}"
        found = truth(ask(answer, pair.a, pair.b, pair.times, case=case, name="can_inline"))
        if found != pair.fused:
            does = "computes it there" if pair.fused else "does not"
            often = "once" if pair.times == 1 else f"{pair.times:g} times"
            raise RefusedError(
                f"`{pair.b.name}` reads each element of `{pair.a.name}` {often}, and you say {found}. The framework "
                f"{does}: {_why(pair)}. You were asked about\n    a = {pair.a}\n    b = {pair.b}"
            )
    return f"you decide as the framework does, in {len(every)} of {len(every)} cases"


def _why(pair: Pair) -> str:
    """The framework's reason; where the two share a kernel all the same, what is nevertheless there."""
    a, b = f"`{pair.a.name}`", f"`{pair.b.name}`"
    if pair.fused or not pair.one_kernel:
        return pair.reason
    if pair.a.held:
        held = "since you asked for it or still hold it"
        return f"{a} becomes an array, {held}. The two share a kernel, which also stores {a}"
    return f"{a} has a loop of its own, and is complete only after it. They share a kernel: {b} comes after that loop"
