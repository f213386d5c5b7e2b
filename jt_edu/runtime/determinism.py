"""Determinism: which steps of a plan have values that depend on the number of threads?

    products of matrices    threads share the rows, and BLAS adds up in another order for another number of rows
    everything else         each number is summed by one thread, in an order that the sizes decide

Where `jt.backends.conv.deterministic` is set, a plan has the first kind run on one thread. What a learner's function
does with NumPy nobody knows; with `strict` it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu.base.errors import BackendError
from jt_edu.ir.meta_ops import HostCall
from jt_edu.ir.node import Node
from jt_edu.runtime.plan import Plan, Step

LEARNERS = "numpy_code"  # how the operators that call a learner's function begin


def threads_matter(step: Step) -> str:
    """Why the last digits of a step may be others with another number of threads; "" where they are not."""
    if step.kind == "product" and "[lo:hi]" in step.source.text and step.work > 0:
        return "threads share the rows, and BLAS sums in another order for another number of rows"
    return ""


def determine(plan: Plan, order: Sequence[Node], strict: bool) -> None:
    """Leave nothing of the values to the number of threads.

    Raises:
        BackendError: `strict`, and somebody else's code runs, whose effect is unknown.
    """
    for step in plan.steps:
        if threads_matter(step):
            step.work = 0.0  # so little that no second thread is woken
        node = order[step.slots[0]]
        if strict and isinstance(node.op, HostCall) and node.op.name.startswith(LEARNERS):
            raise BackendError(
                "jt.backends.conv.strict asks for operations whose bits are the same in every run",
                f"{node.op.name}, a function of yours, which may do anything",
                "jt.backends.conv.strict = False, if you know that it gives the same bits",
            ).at(node.line)
