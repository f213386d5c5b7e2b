"""MemoryView: which arrays are in memory while kernels run, and who keeps each of them alive?

memory(loss, dw)        what a run of these Vars holds, and what it would hold without fusion
memory(trace)           what ran while a `jt.trace()` was open
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Trace
from jt_edu.draw.lifetimes import lifetimes_svg, lifetimes_text
from jt_edu.lens.isolated_run import found_words, way_out
from jt_edu.lens.memory_timeline import footprint, footprint_of, footprint_of_recording
from jt_edu.lens.recording import Recording
from jt_edu.variable.var import Var
from jt_widgets.view import View


class MemoryView(View):
    """Lifetimes of arrays; see `memory`."""

    kind = "memory"

    def picture_svg(self) -> str:
        """The rectangles."""
        return lifetimes_svg(self.recording.page["lifetimes"], self._nodes, self.summary)

    @property
    def _nodes(self) -> dict[int, Any]:
        return {row["id"]: row for row in self.recording.page["graph"]["nodes"]}

    def __repr__(self) -> str:
        page = self.recording.page
        return f"{self.summary}\n{lifetimes_text(page['lifetimes'], self._nodes, page['kernels'])}"


def memory(*what: Var | Trace | Recording, run: bool | None = None, **state: Any) -> MemoryView:
    """Show the arrays of a run as rectangles over kernels, with the peak, and who keeps each of them alive.

    Args:
        what: one trace that was open during a run, one recording, or Vars, which are recorded now.
        run: for Vars, whether to run them; None: unless it takes long (see `jt.recording`).
        state: how the view begins, such as `unfused=True`.

    Example:
        >>> import jt_edu as jt
        >>> x = jt.ones(1000).sync()
        >>> memory((x * 2).exp().sum()).summary
        'At most 4 B of new arrays are alive at once, in kernel 0, as predicted. Without fusion it would be 8 kB.'
    """
    one = what[0] if len(what) == 1 else None
    if isinstance(one, Trace):
        return MemoryView(footprint_of(one), **state)
    if isinstance(one, Recording):
        return MemoryView(footprint_of_recording(one), **state)
    asked, usual = "jt_widgets.memory takes a trace, a recording, or Vars", "memory(loss)"
    for v in what:
        if not isinstance(v, Var):
            raise ArgumentError(
                asked, found_words(v), way_out(v) or f"{usual}, or: with jt.trace() as t: ...; memory(t)"
            )
    if not what:
        raise ArgumentError(asked, "nothing", usual)
    return MemoryView(footprint(*[v for v in what if isinstance(v, Var)], run=run), **state)
