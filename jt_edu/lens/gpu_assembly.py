"""GPU assembly: what do the kernels of a GPU become, and how many of their warps have room on one?

C++          as a person would write them for nvcc: cuda/cpp.py
PTX          NVIDIA's assembly; where numba-cuda is installed
needs        registers, spilled bytes, shared memory and occupancy on four kinds of GPU; there, too
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jt_edu.base.errors import JtError
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda.arguments import kind_of
from jt_edu.cuda.compiler import Compiled, compiled, oldest
from jt_edu.cuda.cpp import Launch, example, launched, written
from jt_edu.cuda.occupancy import occupancy
from jt_edu.runtime.plan import Plan, Step

GPUS = {(7, 5): "T4", (8, 0): "A100", (9, 0): "H100", (12, 0): "RTX 50"}  # by compute capability


@dataclass(frozen=True)
class Need:
    """What a kernel takes of a multiprocessor: of registers a thread, of bytes of shared memory a block."""

    kernel: str
    threads: int  # of a block
    gpu: str  # one of its compute capability
    registers: int
    spilled: int
    shared: int
    blocks: int  # at once
    warps: int
    most: int
    limits: str


def listings(source: Source, given: Sequence[Any] = (), span: int = 1) -> dict[str, Any]:
    """The kernels of a text as `cpp` and `ptx` (or `no_ptx`, why there is none), and what they need, as plain data."""
    try:
        return of_launches(launched(source, given, span))
    except JtError as error:  # an edit may do anything
        return {"cpp": "", "ptx": "", "no_ptx": str(error), "needs": []}


def of_launches(launches: Sequence[Launch]) -> dict[str, Any]:
    """The same of kernels. Their PTX is that for the first of the GPUs that has their words."""
    found: dict[str, Any] = {"cpp": "", "ptx": "", "no_ptx": "", "needs": []}
    try:
        found["cpp"] = written(launches)
    except JtError as error:
        found["cpp"] = f"// {error}\n"
    try:
        made = [(one, _for_each_gpu(one)) for one in launches]
    except JtError as error:
        return found | {"no_ptx": str(error)}
    found["ptx"] = "\n".join(_readable(codes[0]) for _, codes in made)
    found["needs"] = [asdict(_need(one, code)) for one, codes in made for code in codes]
    return found


def of_step(plan: Plan, step: Step) -> dict[str, Any]:
    """The same of the kernels of a step, launched with arrays of the plan's shapes, which hold nothing."""
    parameters = step.source.parameters
    given = [example(p.dtype, p.rank) if a is None else a for p, a in zip(parameters, step.arguments, strict=True)]
    for position, slot, shape, _ in step.binds:
        given[position] = np.empty(plan.shapes[slot] if shape is None else shape, parameters[position].dtype)
    return listings(step.source, given, step.span)


def _for_each_gpu(one: Launch) -> list[Compiled]:
    kinds = tuple(map(kind_of, one.arguments))
    return [compiled(one.kernel, kinds, cc) for cc in GPUS if cc >= oldest(one.kernel)]


def _need(one: Launch, code: Compiled) -> Need:
    report, found = code.report, occupancy(code, one.threads, one.shared)
    gpu = f"{GPUS[code.cc]}, {code.cc[0]}.{code.cc[1]}"
    takes = report.registers, report.spilled, report.shared + one.shared
    return Need(code.name, one.threads, gpu, *takes, found.blocks, found.warps, found.most, " and ".join(found.limits))


def _readable(code: Compiled) -> str:
    """Its PTX, with the kernel's own name."""
    ptx = code.ptx.replace(code.entry, code.name).replace(code.entry.removeprefix("_ZN"), code.name)
    return f"// {code!r}\n{ptx}"
