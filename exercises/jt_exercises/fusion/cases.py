"""Cases: what are the exercises about fusion asked about?

    pairs()         two values of a real expression each, and what the framework does between them
    diamond         the smallest graph in which fusing whatever may be fused goes wrong
    all_graphs()    it, and random ones like it, the smallest first

The framework itself is the judge: `fate` reads its decisions. Nothing here knows verdicts.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import jt_edu as jt
from jt_edu.introspect.explain import Explanation
from jt_edu.ir.meta_ops import Elementwise, ReindexReduce
from jt_edu.ir.node import Node

LOOPS = ("same loops", "outer loops")  # rules by which two loops share a kernel, though neither is inside the other


@dataclass(frozen=True)
class Value:
    """What an exercise knows of a value: how it is computed, whether somebody holds it, what one element costs."""

    name: str
    kind: str  # "elementwise", "reduce" or "matmul"
    held: bool  # you asked for it, or still hold it
    work: int  # multiplications that one element costs
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """`a` is read by `b`, which has `times` iterations for each element of `a`."""

    a: Value
    b: Value
    times: float
    fused: bool
    reason: str
    one_kernel: bool  # the two share a kernel, whether or not `a` is computed where `b` needs it


@dataclass(frozen=True)
class Graph:
    """Operators in the order in which you wrote them, what each reads, and the edges along which two may fuse."""

    order: tuple[str, ...]
    inputs: dict[str, tuple[str, ...]]
    may: frozenset[tuple[str, str]]


# pairs of values in real expressions


def pairs() -> Iterator[Pair]:
    """Two values of one expression each; the shapes are small, and nothing runs."""
    x, w, row = (jt.array(np.ones(shape, np.float32)) for shape in ((60, 40), (40, 20), (1, 40)))
    cases: list[tuple[str, str, Callable[[], tuple[jt.Var, ...]]]] = [
        ("multiply", "exp", lambda: ((x * 2).exp(),)),
        ("exp", "sum", lambda: (x.exp().sum(1),)),
        ("sum", "exp", lambda: (x.sum().exp(),)),
        ("sum", "divide", lambda: (x / x.sum(1, keepdims=True),)),
        ("exp", "matmul", lambda: (x.exp() @ w,)),
        ("matmul", "max", lambda: ((x @ w).max(1),)),
        ("exp", "add", lambda: _held(x)),
        ("sqrt", "subtract", lambda: (x.sqrt().transpose(0, 1) - 1,)),
        ("multiply", "add", lambda: (row * 2 + x,)),
        ("exp", "add", lambda: (row.exp() + x,)),
    ]
    return (_pair(a, b, *build()) for a, b, build in cases)


def _held(x: jt.Var) -> tuple[jt.Var, jt.Var]:
    kept = x.exp()
    return kept + 1, kept


def _pair(a: str, b: str, *wanted: jt.Var) -> Pair:
    e = jt.explain(*wanted)
    first = next(n for n in e.order if n.op.name == a)
    second = next(n for n in e.order if n.op.name == b)
    fused, reason = fate(e, first, second)
    domain = second.inputs[0].shape if isinstance(second.op, ReindexReduce) and b != "matmul" else second.shape
    times = 1.0 if b == "matmul" else max(1.0, math.prod(domain) / math.prod(first.shape))
    together = any({first.id, second.id} <= set(k.nodes) for k in e.kernels)
    return Pair(_value(first, e.wanted), _value(second, e.wanted), times, fused, reason, together)


def _value(node: Node, wanted: tuple[int, ...]) -> Value:
    matmul, reduce = node.op.name == "matmul", isinstance(node.op, ReindexReduce)
    kind = "matmul" if matmul else "reduce" if reduce else "elementwise"
    work = node.op.weight if isinstance(node.op, Elementwise) else 1
    return Value(node.op.name, kind, node.id in wanted, work, node.shape)


def fate(e: Explanation, a: Node, b: Node) -> tuple[bool, str]:
    """Whether the framework computes `a` in the very place where `b` needs it, and why, in its own words."""
    ways = [[a.id]]
    while ways:
        way = ways.pop()
        if way[-1] == b.id:
            steps = [next(d for d in e.decisions if (d.source, d.target) == s) for s in itertools.pairwise(way)]
            stop = next((d for d in steps if not d.fused or d.rule in LOOPS), None)
            return stop is None, (stop or steps[-1]).reason
        ways += [[*way, d.target] for d in e.decisions if d.source == way[-1]]
    raise AssertionError(f"{b.op.name} reads {a.op.name}")


# graphs to be cut into groups

diamond = Graph(
    order=("scale", "matmul", "add"),
    inputs={"scale": (), "matmul": ("scale",), "add": ("scale", "matmul")},
    may=frozenset({("scale", "add")}),
)


def all_graphs(count: int = 60) -> list[Graph]:
    """The diamond, and random graphs of 2 to 9 operators; the same ones every time."""
    draw = random.Random(3)  # noqa: S311 - graphs, not secrets
    return sorted([diamond, *(_random_graph(draw) for _ in range(count))], key=lambda g: len(g.order))


def _random_graph(draw: random.Random) -> Graph:
    order = tuple("abcdefghi"[: draw.randint(2, 9)])
    inputs = {
        name: tuple(sorted(draw.sample(order[:k], min(k, draw.choice([1, 1, 2, 2, 3])))))
        for k, name in enumerate(order)
    }
    alone = {name for name in order if draw.random() < 0.25}  # such as matrix products
    edges = {(i, name) for name in order for i in inputs[name]}
    return Graph(order, inputs, frozenset(e for e in edges if not alone & set(e)))
