"""Probes: a learner's function on simulated ranks of its own process. What is found goes back as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.errors import JtError
from jt_edu.mpi import run_ranks


def on_ranks(
    function: Callable[..., Any], arguments: Sequence[Sequence[Any]], options: dict[str, Any]
) -> dict[str, Any]:
    """Call function(comm, *arguments[rank]) on each rank.

    Returns:
        What each rank answers, each message as (from, to, bytes), the calls, and how the simulator ended it.
    """
    run = run_ranks(len(arguments), lambda comm: function(comm, *arguments[comm.rank]), **options)
    stopped = isinstance(run.error, JtError)  # it names ranks and lines itself
    if run.error is not None and not stopped:
        raise run.error
    return {
        "results": run.results,
        "messages": [(m.source, m.dest, m.bytes) for m in run.record.messages],
        "calls": [call.name for call in run.record.calls if call.parent < 0],
        "stopped": f"{type(run.error).__name__}: {run.error}" if stopped else "",
    }
