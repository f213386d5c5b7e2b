"""KernelView: the source that runs, what each line computes, its machine code, and edits.

kernel(y)          the kernels that compute y
kernel(loss, dw)   of several Vars

If an edit computes the same, the graph runs it until it is reverted; the view then records once more.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import jt_edu as jt
from jt_edu.caller import names_of_caller
from jt_edu.draw import Picture
from jt_edu.errors import ArgumentError
from jt_edu.explain import planned
from jt_edu.lens.edits import Edit, edited_kernels
from jt_edu.lens.recording import Recording
from jt_edu.lens.trial import original
from jt_edu.trace import Line, annotate
from jt_widgets.bundle import pack_json, page_html
from jt_widgets.keep import kept
from jt_widgets.view import View

MANY = 6  # kernels whose machine code goes into a saved page
SECONDS = 10.0  # that an edit may take


class KernelView(View):
    """Kernels, line by line; see `kernel`."""

    kind = "kernel"

    def __init__(self, *wanted: jt.Var, seconds: float = SECONDS, run: bool | None = None, **state: Any) -> None:
        self.wanted, self.seconds, self.run = kept("jt_widgets.kernel", wanted), seconds, run
        self._names = names_of_caller()
        self._edits: dict[int, Edit] = {}
        super().__init__(self._record(), **state)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Machine code of a kernel, the trial of an edit, or back to the original."""
        number, do = message.get("kernel"), message.get("do")
        if not isinstance(number, int) or not 0 <= number < len(self._plan.steps):
            raise ArgumentError(f"a kernel from 0 to {len(self._plan.steps) - 1}", repr(number))
        if do == "try":
            return self._try(number, str(message.get("text")), bool(message.get("anyway")))
        if do in ("machine", "revert"):
            return self._machine(number) if do == "machine" else self._revert(number)
        raise ArgumentError("machine, try or revert", repr(do))

    def _try(self, number: int, text: str, anyway: bool) -> dict[str, Any]:
        last = self._edits.get(number)
        if last is None or last.source.text != text:  # "all the same" asks for what was tried a moment ago
            last = self._edits[number] = jt.edit_kernel(original(self._plan.steps[number]), text, self.seconds)
        if last.record is not None and (last.agrees or anyway):
            last.install()
            self.show_again(self._record())
        return last.as_dict()

    def _revert(self, number: int) -> dict[str, Any]:
        for edit in edited_kernels():
            if edit.original.key == original(self._plan.steps[number]).key:
                edit.revert()
        self._edits.pop(number, None)
        self.show_again(self._record())
        return {}

    def _machine(self, number: int) -> dict[str, Any]:
        step = self._plan.steps[number]
        if step.kind == "host":
            raise ArgumentError("a kernel that is compiled", f"{step.name}, which NumPy does")
        assembly = resolve_name(
            "jt_edu.lens.assembly:assembly"
        )  # not before it is asked for: numba takes half a second
        return dict(assembly(step.source).as_dict())

    def _record(self) -> Recording:
        """Record; the names are those that the caller of `kernel` used."""
        recorded = jt.recording(*self.wanted, run=self.run)
        self._plan = planned([v.node for v in self.wanted])[1]
        for node in recorded.page["graph"]["nodes"]:
            node["name"] = node["name"] or self._names.get(node["id"], "")
        recorded.page["summary"] = Picture(recorded.page["graph"]).summary
        edits = {str(k): edit.as_dict() for k, edit in self._edits.items()}
        return recorded.with_page(code={"edits": edits, "machine": {}})

    def _page(self, static: str = "") -> str:
        """With the machine code of the first kernels: nobody can be asked for it there."""
        page = dict(self.recording.page)
        some = [k for k, step in enumerate(self._plan.steps) if step.kind != "host"][:MANY]
        page["code"] = {**page["code"], "machine": {str(k): self._machine(k) for k in some}}
        return page_html(self.kind, self.summary, pack_json(page), self.blocks, self.state, static)

    def picture_svg(self) -> str:
        """None: the listing says it all."""
        return ""

    def __repr__(self) -> str:
        return "\n".join(map(_listing, self.recording.page["kernels"]))


def kernel(*wanted: jt.Var, seconds: float = SECONDS, run: bool | None = None, **state: Any) -> KernelView:
    """The kernels that compute some Vars: source, operators and your lines, machine code; and they can be edited.

    Args:
        seconds: how long the trial of an edit may take.
        run: whether to run them for times and values; None: if they do less than 2 billion operations.
        state: what the view shows at first: `kernel=1`, `tab="asm"`.

    Example:
        >>> print("a0" in repr(kernel(jt.array([1.0, 2.0]) * 3)))
        True
    """
    return KernelView(*wanted, seconds=seconds, run=run, **state)


def _listing(row: dict[str, Any]) -> str:
    head = f"# kernel {row['id']} {row['name']}: {row['loops']}{', edited' * row['edited']}\n"
    return head + annotate(row["source"], tuple(Line(**line) for line in row["lines"]))
