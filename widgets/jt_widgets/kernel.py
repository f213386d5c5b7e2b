"""KernelView: the source that runs, what each line computes, its machine code (of a GPU also C++), and edits.

kernel(loss, dw)   the kernels that compute some Vars; an edit that computes the same runs until it is reverted
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.introspect.explain import planned
from jt_edu.lens.edit_process import check_seconds, original
from jt_edu.lens.isolated_run import check_vars
from jt_edu.lens.kernel_debugger import step_at
from jt_edu.lens.kernel_edit import Edit, revert_one
from jt_edu.lens.recording import Recording
from jt_widgets.bundle import pack_json, page_html
from jt_widgets.machine import MANY, listing, machine
from jt_widgets.siblings import join, tell_siblings
from jt_widgets.view import View, one_at_a_time

SECONDS = 10.0  # that a trial may take


class KernelView(View):
    """Kernels, line by line; see `kernel`."""

    kind = "kernel"

    def __init__(self, recording: Recording, seconds: float = SECONDS, **state: Any) -> None:
        self.seconds = check_seconds(seconds)
        self._edits: dict[int, Edit] = {}
        self._trials: defaultdict[str, Any] = defaultdict(threading.Lock)  # one for each kernel
        super().__init__(recording, **state)
        join(self)

    def show_again(self, recording: Recording) -> None:
        """Show another recording of the same graph, with what was tried."""
        self._plan = planned(recording.wanted)[1]
        edits = {str(k): edit.as_dict() for k, edit in self._edits.items()}
        super().show_again(recording.with_page(code={"edits": edits, "machine": {}, "seconds": self.seconds}))

    def refresh(self) -> None:
        """Record again if somebody else edited one of the kernels, or reverted it."""
        if [step.source.text for step in self._plan.steps] != [k["source"] for k in self.recording.page["kernels"]]:
            self.show_again(self.recording.again())

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Machine code of a kernel, the trial of an edit, or back to the original."""
        with one_at_a_time:
            self.refresh()
        number, do = message.get("kernel", -1), message.get("do")
        step = step_at(self._plan, number)
        if do == "try":
            return self._try(number, str(message.get("text")), bool(message.get("anyway")))
        if do in ("machine", "assembly", "revert"):
            return self._revert(number) if do == "revert" else machine(self._plan, step)
        raise ArgumentError("a kernel is asked for 'machine', 'try' or 'revert'", repr(do))

    def lock_for(self, message: dict[str, Any]) -> Any:
        """A trial takes seconds: only another of the same kernel waits for it."""
        return self._trials[str(message.get("kernel"))] if message.get("do") == "try" else one_at_a_time

    def _try(self, number: int, text: str, anyway: bool) -> dict[str, Any]:
        last = self._edits.get(number)
        if last is None or last.source.text != text:  # "all the same" asks for what was tried a moment ago
            last = self._edits[number] = jt.edit_kernel(original(self._plan.steps[number]), text, self.seconds)
        if last.record is not None and (last.agrees or anyway):
            with one_at_a_time:
                last.install()
                self._show_all()
        return last.as_dict()

    def _revert(self, number: int) -> dict[str, Any]:
        revert_one(original(self._plan.steps[number]).key)
        self._edits.pop(number, None)
        self._show_all()
        return {}

    def _show_all(self) -> None:
        self.show_again(self.recording.again())
        tell_siblings(self)

    def _page(self, static: str = "") -> str:
        """With the machine code of the first kernels: nobody can be asked for it there."""
        page = dict(self.recording.page)
        some = [(k, step) for k, step in enumerate(self._plan.steps) if step.kind != "host"][:MANY]
        page["code"] = {**page["code"], "machine": {str(k): machine(self._plan, step) for k, step in some}}
        return page_html(self.kind, self.summary, pack_json(page), self.blocks, self.state, static)

    def picture_svg(self) -> str:
        """None: the listing says it all."""
        return ""

    def __repr__(self) -> str:
        self.refresh()
        return "\n".join(map(listing, self.recording.page["kernels"]))


def kernel(*wanted: jt.Var, seconds: float = SECONDS, run: bool | None = None, **state: Any) -> KernelView:
    """The kernels that compute some Vars: source, operators and your lines, machine code; and they can be edited.

    Args:
        wanted: one or more Vars of any shape; they stay as lazy as they are.
        seconds: how long the trial of an edit may take.
        run: whether to run them for times and values; None: unless it takes long (see `jt.recording`).
        state: what the view shows at first: `kernel=1`, `tab="asm"`; of a kernel of a GPU `tab="cpp"` or "needs".

    Example:
        >>> print("a0" in repr(kernel(jt.array([1.0, 2.0]) * 3)))
        True
    """
    check_vars("jt_widgets.kernel", wanted)
    return KernelView(jt.recording(*wanted, run=run), seconds, **state)
