"""Explore: the learner's lines on top; graph, kernels and tape of what they ask for side by side, linked.

explore(loss)      with its gradients, if it has some
explore(y, z)      graph and kernels of any Vars
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jt_edu.base.errors import GradientError
from jt_edu.introspect.syntax import classes
from jt_edu.ir.meta_ops import SOURCE
from jt_edu.lens.isolated_run import check_vars
from jt_edu.lens.recording import Recording, recording
from jt_edu.lens.tape import HISTORY_GONE, SHOW_IT_EARLIER, leaves_of, record_tape
from jt_edu.variable.var import Var
from jt_widgets.kernel import KernelView
from jt_widgets.tape import checked

WHERE = re.compile(r"(.*?:\d+): (.*)", re.DOTALL)  # a file, or "cell", and the number of a line; the line
LEAVES = ("source", "constant", "index")


class Explore(KernelView):
    """Three views of one page; see `explore`."""

    kind = "explore"

    def __init__(self, *wanted: Var, run: bool | None = None, **state: Any) -> None:
        check_vars("jt_widgets.explore", wanted)
        self._loss, self._leaves = wanted[0] if wanted else None, _leaves_of(wanted)
        told = record_tape(wanted[0], list(self._leaves.values()), run) if self._leaves else recording(*wanted, run=run)
        self._tape = told.page.get("tape")
        if self._loss is not None and self._loss.shape == () and self._loss.node.op is SOURCE:
            told = _without_tape(told, f"{HISTORY_GONE}. Try: {SHOW_IT_EARLIER}")
        elif self._loss is not None and self._loss.shape == () and self._loss.node.dtype.kind == "c":
            told = _without_tape(told, "a gradient starts from a real number. Try: loss.abs()")
        super().__init__(told, **state)

    def show_again(self, recording: Recording) -> None:
        """Show another recording of the same graph, with the tape, which stays the same."""
        more = {"tape": self._tape} if self._tape else {}
        super().show_again(recording.with_page(asked=_asked(recording.page["graph"]["nodes"]), **more))

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What one of the three asks: see the views `graph`, `kernel` and `tape`."""
        if message.get("do") == "check" and self._loss is not None and message.get("leaf") in self._leaves:
            return checked(self._loss, self._leaves[message["leaf"]])
        if message.get("do") == "values":
            self.show_again(self.recording.again(run=True))
            return {"values": len(self.recording.page["values"])}
        return super().answer(message)


def explore(*wanted: Var, run: bool | None = None, **state: Any) -> Explore:
    """Show graph, kernels and, for a loss, its tape side by side; what is selected in one lights up in the others.

    Args:
        wanted: a loss, whose gradients are shown too; or any Vars, without a tape.
        run: whether to run them for times and values; None: unless it takes long (see `jt.recording`).
        state: what the panes show at first.

    Example:
        >>> import jt_edu as jt
        >>> w = jt.array([1.0, 2.0])
        >>> view = explore((w * w).sum())
        >>> sorted(key for key in view.recording.page if key in ("graph", "kernels", "tape"))
        ['graph', 'kernels', 'tape']
    """
    return Explore(*wanted, run=run, **state)


def _asked(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The learner's lines, each with the nodes that it asked for; not those that only make what goes in."""
    lines: dict[str, list[int]] = {}
    for node in nodes:
        if node["where"] and not node["gradient"] and node["kind"] not in LEAVES and node.get("input") is None:
            lines.setdefault(node["where"], []).append(node["id"])
    found = ((WHERE.fullmatch(where), where, ids) for where, ids in lines.items())
    told = [(match[1] if match else "", match[2] if match else where, ids) for match, where, ids in found]
    return [{"where": w, "text": text, "classes": classes(text), "nodes": ids} for w, text, ids in told]


def _without_tape(told: Recording, why: str) -> Recording:
    return told.with_page(notes=[*told.page["notes"], f"There is no tape: {why}."])


def _leaves_of(wanted: tuple[Var, ...]) -> dict[int, Var]:
    """What a loss has gradients with respect to, by node; nothing where there is no loss, or no gradient."""
    if len(wanted) != 1 or not isinstance(wanted[0], Var) or wanted[0].shape != () or not wanted[0].requires_grad:
        return {}
    if wanted[0].node.dtype.kind == "c":
        return {}
    try:
        return {leaf.node.id: Var._of(leaf.node) for leaf in leaves_of(wanted[0], None)}
    except GradientError:
        return {}
