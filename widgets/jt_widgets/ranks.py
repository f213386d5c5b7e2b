"""RankView: what ranks said to each other, lane by lane, and where their time went.

ranks(run_ranks(4, program).record)      of simulated ranks, or of a real MPI
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.draw.lanes import lanes_svg
from jt_edu.lens import rank_timeline
from jt_edu.lens.document_schema import empty
from jt_edu.lens.recording import Recording
from jt_edu.lens.scaling_curves import curves
from jt_edu.mpi.trace.records import Record
from jt_widgets.view import View


class RankView(View):
    """Ranks side by side; its document has a part `ranks`. See `ranks`."""

    kind = "ranks"

    def __init__(self, record: Record, others: tuple[Record, ...] = (), **state: Any) -> None:
        self.record = record
        predicted = curves([record, *others]) if record.network else []  # without a network there is nothing to predict
        section = {**rank_timeline.section(record), "curves": predicted}
        page = empty(rank_timeline.summary(record), rank_timeline.notes(record)) | {"ranks": section}
        super().__init__(Recording(page), **state)

    def picture_svg(self) -> str:
        """Lanes and arrows."""
        shown = rank_timeline.beginning(self.record)
        spans, arrows = rank_timeline.spans(shown), rank_timeline.arrows(shown)
        duration = max((one["end"] for one in spans), default=0)
        return lanes_svg(spans, arrows, shown.size, duration, self.summary, rank_timeline.circle_of(shown))

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self.recording.page["notes"], rank_timeline.text(self.record)])


def ranks(record: Record, *others: Record, **state: Any) -> RankView:
    """Show what ranks did: computing, waiting, messages, who was late, and why it stopped if it did.

    Args:
        record: `run_ranks(...).record`, or what `Record.load` read.
        others: records of the same program with other numbers of ranks: points beside the predicted curves.
        state: how the view begins, such as `level="messages"`.

    Raises:
        ArgumentError: it is no record.

    Example:
        >>> from jt_edu.mpi.simulator.threads import run_ranks
        >>> ranks(run_ranks(2, lambda comm: comm.allreduce(1)).record).summary
        '2 ranks made 2 calls and sent 0 messages of 0 B in all; the last one ended after 11 µs of virtual time.'
    """
    for one in (record, *others):
        if not isinstance(one, Record):
            found = f"{type(one).__name__}: {one!r:.60}"
            raise ArgumentError("ranks shows a record of ranks", found, "ranks(run_ranks(4, program).record)")
    return RankView(record, others, **state)
