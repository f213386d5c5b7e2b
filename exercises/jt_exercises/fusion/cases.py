"""Cases: what exercises about fusion hand over, what the framework decides, and answers that are two numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import jt_edu as jt
from jt_edu.introspect.explain import Explanation
from jt_edu.ir.node import Node
from jt_exercises.answers import numbers
from jt_exercises.verdict import RefusedError, short

LOOPS = ("same loops", "outer loops")  # rules by which two loops share a kernel, though neither is inside the other


@dataclass(frozen=True)
class Value:
    """What an exercise knows of a value: how it is computed, whether somebody holds it, what one element costs."""

    name: str
    kind: str  # "elementwise", "reduce" or "matmul"
    held: bool  # you asked for it, or still hold it
    work: int  # multiplications that one element costs
    shape: tuple[int, ...]


class Kernel(NamedTuple):
    """A kernel that would run: the ids of the values that it computes, and of those that it stores."""

    name: str
    nodes: tuple[int, ...]
    stored: tuple[int, ...]


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


def ones(*shape: int) -> jt.Var:
    """An array that is in memory, and of which nothing but its shape matters."""
    return jt.array(np.ones(shape, np.float32))


def two_numbers(answer: Any, names: str) -> tuple[float, float]:
    """The two numbers of an answer; RefusedError where it is something else."""
    found = numbers(answer, asked := f"the answer is two numbers, {names}")
    if found.shape != (2,):
        raise RefusedError(f"{asked}, not {short(answer)}")
    return float(found[0]), float(found[1])
