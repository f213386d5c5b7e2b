"""GraphView: the graph of some Vars, folded by module or by kernel, with the value of every node.

graph(loss)                          modules folded where there are some, else kernels
graph(loss, dw, group="kernel")      what shares a box
"""

from __future__ import annotations

from typing import Any

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.lens.isolated_run import check_vars
from jt_edu.variable.var import Var
from jt_widgets.view import View

GROUPS = ("module", "kernel", "none")


class GraphView(View):
    """A graph that opens where one looks; see `graph`."""

    kind = "graph"

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """{"do": "values"}: run the graph, and show it again with the value of every node."""
        if message.get("do") != "values":
            raise ArgumentError("a graph is asked for its values", repr(message), '{"do": "values"}')
        self.show_again(self.recording.again(run=True))
        return {"values": len(self.recording.page["values"])}


def graph(*wanted: Var, group: str | None = None, run: bool | None = None, **state: Any) -> GraphView:
    """Show the graph of some Vars: what the lines built, in which modules and kernels, and what each node holds.

    Args:
        wanted: one or more Vars of any shape; they stay as lazy as they are.
        group: what shares a box: "module", "kernel" or "none"; None: modules where there are some, else kernels.
        run: whether to run it for the values; None: unless it takes long (see `jt.recording`).
        state: what the view would remember, such as `opened=["m:Net"]` or `fold=False`.

    Raises:
        ArgumentError: no Var was given, or another group.

    Example:
        >>> import jt_edu as jt
        >>> view = graph((jt.array([1.0, 2.0]) * 3).sum(), group="kernel")
        >>> view.state, len(view.recording.page["values"])
        ({'group': 'kernel'}, 3)
    """
    check_vars("jt_widgets.graph", wanted)
    if group is not None and group not in GROUPS:
        raise ArgumentError("a graph is folded by module, by kernel or not at all", repr(group), f"one of {GROUPS}")
    return GraphView(jt.recording(*wanted, run=run), **({"group": group} if group else {}), **state)
