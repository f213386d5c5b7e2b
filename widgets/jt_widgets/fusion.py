"""FusionLens: how the operators of a graph become its kernels, pass by pass, and by which rule.

fusion(loss)                         a slider through the passes
fusion(loss, predict=True)           begins with the question what will share a kernel
"""

from __future__ import annotations

from typing import Any

import jt_edu as jt
from jt_edu.introspect.explain import in_words
from jt_edu.lens.isolated_run import check_vars
from jt_edu.variable.var import Var
from jt_widgets.view import View


class FusionLens(View):
    """The passes of a graph; see `fusion`."""

    kind = "fusion"

    def __repr__(self) -> str:
        rows = [f"{'pass':<20}{'kernels':>8}{'moved':>10}{'temporaries':>13}  why"]
        rows += [
            f"{step['name']:<20}{step['kernels']:>8}{in_words(step['bytes'], 'B'):>10}{step['temporaries']:>13}  "
            f"{step['why']}"
            for step in self.recording.page["passes"]
        ]
        return "\n".join([self.summary, *rows, "", self.recording.text])


def fusion(*wanted: Var, **state: Any) -> FusionLens:
    """Show how some Vars are fused: each operator alone, then matrix products, views, chains, and shared loops.

    Nothing runs.

    Args:
        wanted: one or more Vars of any shape.
        state: what the view would remember, such as `pass=4` or `predict=True`.

    Raises:
        ArgumentError: no Var was given.

    Example:
        >>> import jt_edu as jt
        >>> lens = fusion((jt.array([1.0, 2.0]) * 3).sum())
        >>> [step["kernels"] for step in lens.recording.page["passes"]]
        [2, 2, 2, 1, 1]
    """
    check_vars("jt_widgets.fusion", wanted)
    return FusionLens(jt.recording(*wanted, run=False).with_page(notes=[]), **state)
