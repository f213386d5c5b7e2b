"""Caller: which Vars did the learner hand over, and what do they call them?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.graph import HOME, Node
from jt_edu.var import Var


def nodes_of(asker: str, wanted: Sequence[Any]) -> list[Node]:
    """The nodes of some Vars, each once."""
    if not wanted or not all(isinstance(v, Var) for v in wanted):
        raise ArgumentError(f"{asker} takes one or more Vars", ", ".join(type(v).__name__ for v in wanted) or "nothing")
    return list(dict.fromkeys(v.node for v in wanted))


def names_of_caller() -> dict[int, str]:
    """What the learner calls their Vars: node id -> name of a variable that the frame calling us sees."""
    frame = sys._getframe(1)
    while _is_ours(Path(frame.f_code.co_filename)) and frame.f_back is not None:
        frame = frame.f_back
    seen = {name: v for name, v in {**frame.f_globals, **frame.f_locals}.items() if name[:1].isalpha()}
    found = {v.node.id: name for name, v in reversed(seen.items()) if isinstance(v, Var)}
    models = {name: v for name, v in seen.items() if hasattr(type(v), "named_parameters")}
    for name, model in models.items():  # a module within one that has a name, too, is called by the longer name
        for path, parameter in model.named_parameters():
            found.setdefault(parameter.node.id, f"{name}.{path}")
    return found


def _is_ours(file: Path) -> bool:
    """Whether a file belongs to jt_edu or to its widgets."""
    return file.is_relative_to(HOME) or file.parent.name == "jt_widgets"
