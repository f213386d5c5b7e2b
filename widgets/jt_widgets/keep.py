"""Keep: a view that asks again needs its graph again, and the learner's forgets its history when it is computed."""

from __future__ import annotations

import jt_edu as jt
from jt_edu.caller import nodes_of
from jt_edu.explain import as_if_pending, planned
from jt_edu.lens.recording import draw_parameters


def kept(asker: str, wanted: tuple[jt.Var, ...]) -> tuple[jt.Var, ...]:
    """The same graph once more, with the same ids, which stays pending whatever is computed meanwhile."""
    nodes = nodes_of(asker, wanted)
    draw_parameters(nodes)
    twins = {n.id: n for n in as_if_pending(planned(nodes)[0], set())}
    return tuple(jt.Var._of(twins[n.id]) for n in nodes)
