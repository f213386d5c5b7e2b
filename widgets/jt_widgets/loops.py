"""LoopStepper: one kernel, step by step.

step_kernel(y)             the first kernel behind y
step_kernel(y, kernel=2)   the third; jt.explain(y) lists them

The kernel's text runs once as plain Python on the real arrays, and what it does is written down. Stepping, forward and
back, happens in the browser.
"""

from __future__ import annotations

from typing import Any

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.introspect.explain import planned
from jt_edu.introspect.syntax import classes
from jt_edu.lens.isolated_run import check_vars, initialize_parameters
from jt_edu.lens.kernel_debugger import MOST, Steps, step_at, step_through
from jt_edu.lens.recording import Recording
from jt_edu.variable.caller_frame import nodes_of
from jt_widgets.view import View

SHOWN = 12  # steps of the text form


class LoopStepper(View):
    """A kernel's steps; see `step_kernel`."""

    kind = "loops"

    def __init__(self, *wanted: jt.Var, kernel: int = 0, steps: int = MOST, **state: Any) -> None:
        check_vars("jt_widgets.step_kernel", wanted)
        nodes = nodes_of("jt_widgets.step_kernel", wanted)
        if not isinstance(steps, int) or steps < 1:
            raise ArgumentError("step_kernel records one step or more", repr(steps))
        initialize_parameters(nodes)
        recorded = jt.recording(*wanted, run=False)
        order, plan = planned(nodes)
        step_at(plan, kernel)
        self.steps: Steps = step_through(plan, order, kernel, steps)
        loops, cells = self.steps.as_dict(len(recorded.blocks) // 4)
        row = recorded.page["kernels"][kernel]
        loops |= {"kernel": kernel, "key": row["key"], "classes": classes(self.steps.source)}
        summary = f"Kernel {row['name']}: {_extent(self.steps)}."
        page = {**recorded.page, "summary": summary, "notes": [], "loops": loops}
        super().__init__(
            Recording(page, recorded.blocks + cells, recorded.trace, recorded.values, tuple(nodes)), **state
        )

    def picture_svg(self) -> str:
        """The steps are the picture."""
        return ""

    def __repr__(self) -> str:
        rows = self.steps.source.splitlines()
        told = [f"{self.summary}", *([self.steps.note] if self.steps.note else []), *rows, ""]
        for number, step in enumerate(self.steps.moments[:SHOWN], 1):
            touched = [
                f"{'writes' if t.write else 'reads'} {self._element(t.array, t.place)} = {t.value}"
                for t in step.touches
            ]
            changed = [f"{name} = {value}" for name, value in step.changes]
            told.append(f"step {number}, line {step.line}: {'; '.join(touched + changed)}")
        return "\n".join([*told, "..."] if len(self.steps.moments) > SHOWN else told)

    def _element(self, array: int, place: int) -> str:
        watch = self.steps.arrays[array]
        index: list[int] = []
        for length in reversed(watch.first.shape):
            index.insert(0, place % length)
            place //= length
        return f"{watch.name}[{', '.join(map(str, index)) or '()'}]"


def step_kernel(*wanted: jt.Var, kernel: int = 0, steps: int = MOST, **state: Any) -> LoopStepper:
    """Step through a kernel: its loop counters, the cells that it reads and writes, its accumulators.

    Args:
        wanted: one or more Vars.
        kernel: which of their kernels, as `jt.explain` numbers them.
        steps: how many are recorded; kernels do millions.

    Raises:
        ArgumentError: there is no such kernel, or NumPy does its work on whole arrays.

    Example:
        >>> view = step_kernel(jt.array([1.0, 2.0]) * 3)
        >>> len(view.steps.moments), view.steps.complete
        (7, True)
    """
    return LoopStepper(*wanted, kernel=kernel, steps=steps, **state)


def _extent(steps: Steps) -> str:
    if steps.complete:
        return f"all {plural(len(steps.moments), 'step')}"
    return f"the first {len(steps.moments):,} steps of about {steps.estimated_steps:,}"
