"""Temporaries: is the value in front of brackets held by anybody, or gone when the line is done?

    x[0] = 1                    `x` holds it
    x[0][1] = 1                 nobody holds x[0]: what is written there is lost
    jt.add(a, b, out=x[0])      neither here

The number of references tells the two apart. How many there are while brackets are at work differs from one Python to
the next, so it is counted once, for a value like those.
"""

from __future__ import annotations

import dis
import sys
import warnings
from types import FrameType
from typing import Any

from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ir.builders import short
from jt_edu.ir.meta_ops import CONSTANT, Reindex
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import IMAG, REAL
from jt_edu.variable.var import Var

KINDS = "buifc"  # of numbers: each can hold what is to its left
BRACKETS = dis.opmap["STORE_SUBSCR"]  # x[key] = value
LOST = "no variable holds the Var that was assigned to, so its new numbers are lost: x[i, j] = value, not x[i][j]"


class _Probe:
    """A value whose brackets note down how many references it has."""

    seen: list[int] = []  # noqa: RUF012 - one list for all of them, on purpose

    def __getitem__(self, key: int) -> _Probe:
        return _Probe()


def _note(x: _Probe, key: int, value: int) -> None:  # noqa: ARG001 - a plain function with three arguments, as `setitem`
    x.seen.append(sys.getrefcount(x))


_Probe.__setitem__ = _note  # type: ignore[index]


def _counted() -> int:
    """References to a value that nobody holds; -1 where this Python counts as many for one that has a name."""
    named = _Probe()
    named[0] = 0  # type: ignore[index]
    named[0][0] = 0  # type: ignore[index]
    with_name, without = _Probe.seen
    return without if without < with_name else -1


UNNAMED = _counted()


def warn_if_lost(references: int) -> None:
    """Warn who writes to a value that has so many references, if that says that nobody holds it.

    Whoever calls `x.__setitem__` by name holds one reference less than brackets do, and is believed.
    """
    if references == UNNAMED:
        line = sys._getframe(2)
        if line.f_code.co_code[line.f_lasti] == BRACKETS:
            warnings.warn(LOST, UserWarning, stacklevel=3)


def _asked(**named: Any) -> tuple[int, int]:
    out = named.pop("out")
    return _looked_at(out)


def _looked_at(out: Any) -> tuple[int, int]:
    references = sys.getrefcount(out)
    return _instruction(sys._getframe(2)), references


def _instruction(frame: FrameType) -> int:
    """What a frame is doing: `f(out=x)` and `f(*these, out=x)` are called in other ways, and hold on to x or not."""
    return frame.f_code.co_code[frame.f_lasti]


def _unheld() -> dict[int, int]:
    """References to an `out=` that is handed on once and that nobody else holds, by what the caller is doing."""
    named = _Probe()
    with_name = dict((_asked(out=named), _asked(*(), out=named)))
    without = dict((_asked(out=_Probe()), _asked(*(), out=_Probe())))
    return {how: count for how, count in without.items() if count < with_name.get(how, 0)}


UNHELD = _unheld()


def into(out: Var | None, value: Var) -> Var:
    """`value`; or `out`, which from now on has that value, in its own dtype.

    Raises:
        ArgumentError: `out` is no Var, or a part of one that nobody holds.
        DtypeError: its numbers are of a lesser kind: whole numbers for floats.
        ShapeError: it has another shape.
    """
    if out is None:
        return value
    if not isinstance(out, Var):
        raise ArgumentError("out= is a Var that receives the result", short(out), "jt.empty(shape)")
    if _is_part(out.node) and sys.getrefcount(out) == UNHELD.get(_instruction(sys._getframe(2)), -1):
        raise ArgumentError(
            "a part of a Var is a value of its own, and no variable holds this one, so the result would be lost",
            f"out= of shape {out.shape}, made by {out.node.op.name}", "x[i, j] = the result, without out=",
        )  # fmt: skip
    if KINDS.index(out.dtype.kind) < KINDS.index(value.dtype.kind):
        raise DtypeError(f"out= is given numbers of {value.dtype}", f"a Var of {out.dtype}", f"jt.{value.dtype}")
    return out.become(value)


def _is_part(node: Node) -> bool:
    """Whether it is read from the numbers of a Var that is still there, and nothing is computed on the way."""
    while node.inputs and (isinstance(node.op, Reindex) or node.op in (REAL, IMAG)):  # what ran has let go of them
        node = node.inputs[0]
        if node.op is not CONSTANT and node.owner is not None and node.owner() is not None:
            return True
    return False
