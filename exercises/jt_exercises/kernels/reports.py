"""Reports: what a probe found beside a learner's kernel, as the judge reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jt_exercises.verdict import RefusedError


def refused(report: Any) -> Mapping[str, Any]:
    """The report of a kernel that ran; RefusedError with the words of one that did not."""
    if not isinstance(report, Mapping):
        raise RefusedError("what came of the kernel is not what was asked for")
    if report.get("refused"):
        raise RefusedError(str(report["refused"]))
    return report


def from_behind(report: Mapping[str, Any]) -> str:
    """A word about an index below 0, where there was one."""
    at = report.get("backwards")
    return f" `{at}` counts from the end: was that meant?" if at else ""
