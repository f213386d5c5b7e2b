"""Caller frame: which Vars did the learner hand over, what do they call them, and in which line?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import Extended, own
from jt_edu.base.tracebacks import is_ours
from jt_edu.ir.node import Node
from jt_edu.variable.var import Var


def nodes_of(asker: str, wanted: Sequence[Any]) -> list[Node]:
    """The nodes of some Vars, or of one list of them, each once."""
    wanted = wanted[0] if len(wanted) == 1 and isinstance(wanted[0], (list, tuple)) else wanted
    if not wanted or not all(isinstance(v, Var) for v in wanted):
        raise ArgumentError(f"{asker} takes one or more Vars", ", ".join(type(v).__name__ for v in wanted) or "nothing")
    return list(dict.fromkeys(v.node for v in wanted))


def names_of_caller() -> dict[int, str]:
    """What the learner calls their Vars: node id -> name of a variable that the frame calling us sees.

    A package that asks for somebody else says so by `ASKS_FOR_ITS_CALLER = True`: its frames are passed over, as ours.
    """
    frame = sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    seen = {name: v for name, v in {**frame.f_globals, **_locals_of(frame)}.items() if name[:1].isalpha()}
    found = {v.node.id: name for name, v in reversed(seen.items()) if issubclass(type(v), Var)}
    models = {name: v for name, v in seen.items() if hasattr(type(v), "named_parameters")}
    for name, model in models.items():  # a parameter of several is called by the name that was given first
        for path, parameter in _parameters(model):
            found.setdefault(parameter.node.id, f"{name}.{path}")
    return found


def _locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame. Before Python 3.13 a function's are a copy that stays with it, and would keep what the
    learner deletes; it is emptied, unless the learner holds it too: the frame, `there` and the question make three.
    """
    there = frame.f_locals
    found = dict(there)
    if type(there) is dict and frame.f_code.co_flags & CO_OPTIMIZED and sys.getrefcount(there) <= 3:
        there.clear()
    return found


def _parameters(model: Any) -> list[tuple[str, Var]]:
    """The parameters and buffers of a model by name; other libraries have models too, with parameters of their own."""
    try:
        net: Any = own(model) if isinstance(model, Extended) else model
        named = (*net.named_parameters(), *net.named_buffers())
    except Exception:  # noqa: BLE001  what a stranger's method raises is no concern of who asks for a name
        return []
    return [(path, p) for path, p in named if isinstance(p, Var)]
