"""TapeScrubber: forward and backward, step by step.

tape(loss)              every gradient behind the loss
tape(loss, [w, b])      those alone

Python records the steps once; scrubbing happens in the browser, which asks again only to check a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jt_edu.draw.tape import tape_svg, tape_text
from jt_edu.errors import ArgumentError
from jt_edu.lens.differences import difference
from jt_edu.lens.tape import leaves_of, record_tape
from jt_edu.trace import plain
from jt_edu.var import Var
from jt_widgets.view import View


class TapeView(View):
    """The steps of a gradient; see `tape`."""

    kind = "tape"

    def __init__(self, loss: Var, wrt: Var | Sequence[Var] | None, run: bool | None, **state: Any) -> None:
        leaves = leaves_of(loss, wrt)
        nodes = (loss.node, *(leaf.node for leaf in leaves))
        self.vars = {node.id: Var._of(node) for node in nodes}  # as they are now: the learner's may move on
        super().__init__(record_tape(loss, leaves, run), **state)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """{"do": "check", "leaf": id}: what finite differences say about the gradient of a leaf."""
        tape = self.recording.page["tape"]
        leaf = message.get("leaf")
        if message.get("do") != "check" or leaf is None or leaf not in {one["node"] for one in tape["leaves"]}:
            raise ArgumentError("a tape is asked to check the gradient of one of its leaves", repr(message))
        return checked(self.vars[tape["loss"]], self.vars[leaf])

    def picture_svg(self) -> str:
        """The U, with everything computed."""
        return tape_svg(self.recording.page, self.summary)

    def __repr__(self) -> str:
        return f"{self.summary}\n{tape_text(self.recording.page)}"


def checked(loss: Var, leaf: Var) -> dict[str, Any]:
    """What finite differences say about d loss / d leaf, as an answer to the view."""
    found = difference(loss, leaf)
    told = {name: plain(v) if isinstance(v, float) else v for name, v in asdict(found).items()}
    return {**told, "at": list(found.at), "words": found.words}


def tape(loss: Var, wrt: Var | Sequence[Var] | None = None, run: bool | None = None, **state: Any) -> TapeView:
    """Scrub through a gradient: forward down the left, backward up the right, each step beside its twin.

    Nothing that you have changes: no `.grad` is filled, and what is pending stays so.

    Args:
        loss: one real number, shape ().
        wrt: the Vars to take gradients with respect to; None: all with `requires_grad` and nothing behind them.
        run: whether to run it; None: unless it takes long (see `jt.recording`).
        state: how it begins, such as `time=4`.

    Raises:
        GradientError: there is nothing to take a gradient with respect to, or no path to it.

    Example:
        >>> import jt_edu as jt
        >>> w = jt.array([1.0, 2.0])
        >>> tape((w * w).sum()).summary
        '2 steps forward to the loss, 3 back to the gradients of w.'
    """
    return TapeView(loss, wrt, run, **state)
