"""Machine: a kernel as text, and what the compiler made of it."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Line, annotate
from jt_edu.lens.gpu_assembly import of_step
from jt_edu.runtime.plan import Plan, Step

MANY = 6  # kernels whose machine code goes into a saved page


def machine(plan: Plan, step: Step) -> dict[str, Any]:
    """The machine code of the kernel of a step, as plain data."""
    if step.kind == "host":
        raise ArgumentError("a kernel that is compiled", f"{step.name}, which NumPy does")
    if "@cuda.jit" in step.source.text:
        return of_step(plan, step)
    return dict(resolve_name("jt_edu.lens.assembly:assembly")(step.source).as_dict())  # loads all of numba: a second


def listing(row: dict[str, Any]) -> str:
    """The source of a kernel of a page, with what each of its lines computes."""
    head = f"# kernel {row['id']} {row['name']}: {row['loops']}{', edited' * row['edited']}\n"
    return head + annotate(row["source"], tuple(Line(**line) for line in row["lines"]))
