"""Roofline: the kernels of a graph or of a trace, under what this machine can do at best."""

from __future__ import annotations

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Trace
from jt_edu.draw import charts
from jt_edu.lens.document_schema import empty
from jt_edu.lens.isolated_run import check_vars, initialize_parameters
from jt_edu.lens.recording import Recording
from jt_edu.lens.roofline import both_ways, of_trace
from jt_edu.variable.caller_frame import nodes_of
from jt_widgets.view import View


class Roofline(View):
    """Kernels under the two roofs of this machine; its document has a part `roofline`."""

    kind = "roofline"

    def picture_svg(self) -> str:
        """The roofs, and a dot for each kernel."""
        return charts.roofline(self.summary, self.recording.page["roofline"])

    def __repr__(self) -> str:
        page = self.recording.page
        rows = [f"{k['name'][:28]:<28} {k['ms']:>10.4f} ms  {k['sentence']}" for k in page["roofline"]["ways"]["fused"]]
        return "\n".join([page["summary"], *page["notes"], *page["about"], *rows])


def roofline(*wanted: jt.Var | Trace) -> Roofline:
    """The kernels behind some Vars, or those of a trace, under the bandwidth and the peak of this machine.

    Args:
        wanted: one or more Vars, which are run several times, fused and not; or one `Trace`.

    Raises:
        ArgumentError: no kernel ran.

    Example:
        >>> import jt_edu as jt
        >>> view = roofline((jt.ones(2000, 2000) * 2 + 1).sum())
        >>> [k["name"] for k in view.recording.page["roofline"]["ways"]["fused"]]
        ['multiply_add_sum']
    """
    if len(wanted) == 1 and isinstance(wanted[0], Trace):
        recorded, section = Recording(empty(), trace=wanted[0]), of_trace(wanted[0])
    else:
        check_vars("jt_widgets.roofline", wanted)
        nodes = nodes_of("jt_widgets.roofline", wanted)
        initialize_parameters(nodes)
        recorded = jt.recording(*(v for v in wanted if isinstance(v, jt.Var)), run=False)
        section = both_ways(nodes)
    if not section["ways"]["fused"]:
        raise ArgumentError("a roofline shows kernels", "none that ran", "Vars that are not computed yet")
    words = {name: section.pop(name) for name in ("summary", "notes", "about")}
    return Roofline(recorded.with_page(machine=section["machine"], roofline=section, **words))
