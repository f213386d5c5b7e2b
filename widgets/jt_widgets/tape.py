"""TapeScrubber: forward and backward, step by step.

tape(loss)              every gradient behind the loss
tape(loss, [w, b])      those alone

Python records the steps once; scrubbing happens in the browser, which asks again only to check a gradient.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import plain
from jt_edu.draw.tape import tape_svg, tape_text
from jt_edu.lens.gradcheck import difference
from jt_edu.lens.recording import Recording
from jt_edu.lens.tape import leaves_of, record_tape
from jt_edu.variable.var import Var
from jt_widgets.bundle import pack, pack_json
from jt_widgets.view import View


@dataclass(frozen=True)
class Taped:
    """A tape, and the Vars that it can be asked about, as they were then: the learner's may move on."""

    recording: Recording
    vars: dict[int, Var]

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """{"do": "check", "leaf": id}: what finite differences say about the gradient of a leaf."""
        tape = self.recording.page["tape"]
        leaf = message.get("leaf")
        if message.get("do") != "check" or leaf is None or leaf not in {one["node"] for one in tape["leaves"]}:
            raise ArgumentError("a tape is asked to check the gradient of one of its leaves", repr(message))
        return checked(self.vars[tape["loss"]], self.vars[leaf])

    def packed(self) -> dict[str, str]:
        """Document and blocks as text, for a view that draws the tape within itself.

        A widget of its own, which nobody sees, would be sent to the browser and kept in the notebook with all its code.
        """
        parts = {"document": pack_json(self.recording.page), "blocks": pack(self.recording.blocks)}
        return {name: base64.b64encode(part).decode() for name, part in parts.items()}


class TapeView(View):
    """The steps of a gradient; see `tape`."""

    kind = "tape"

    def __init__(self, taped: Taped, **state: Any) -> None:
        self.taped = taped
        super().__init__(taped.recording, **state)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What `Taped` returns."""
        return self.taped.answer(message)

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
    return TapeView(taped(loss, wrt, run), **state)


def taped(loss: Var, wrt: Var | Sequence[Var] | None = None, run: bool | None = None) -> Taped:
    """What `tape` shows, without a view of its own."""
    leaves = leaves_of(loss, wrt)
    nodes = (loss.node, *(leaf.node for leaf in leaves))
    return Taped(record_tape(loss, leaves, run), {node.id: Var._of(node) for node in nodes})
