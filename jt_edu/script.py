"""Script: a plan as a page of Python, for plans that run again and again.

    def run(a, nodes):                                  the array in each slot; the nodes, whose lines errors name
        k0(0, 64, a[0], a[1], t5)                       # matmul
        a[7] = room((64,), float32)                     memory for what outlives the run
        k1(0, 64, 128, t5, a[7])                        # exp_sum: lengths that never change are written down

`execute.py` asks every step what it needs: how many arrays, seen under which shapes, with scratch or without. In each
run the answers are the same. So a replay asks once, writes down what is left to do, and runs that: the same things in
the same order, and a third of the Python. Small temporaries (t5) are made once, as well; two share their memory if one
is read for the last time before the other is written.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu import execute
from jt_edu.backends import Backend
from jt_edu.backends.convolve.alone import NUMBERS, depth_of
from jt_edu.convolving import OWN, Own, shared_memory
from jt_edu.errors import JtError
from jt_edu.graph import Shape
from jt_edu.memory import LARGE
from jt_edu.plan import ROW, Plan, Step


class Script:
    """The page for a plan whose steps are compiled, and what its names mean."""

    def __init__(self, plan: Plan, backend: Backend) -> None:
        self._plan, self._backend, self._busy = plan, backend, threading.Lock()
        self._rows = ["def run(a, nodes):"]
        self._steps: dict[int, Step] = {}  # line -> step, where the script has to explain errors
        self._space: dict[str, Any] = {
            "room": backend.empty,
            "launch": backend.launch,
            "bits": np.uint16,
            "check": execute._check_indices,
            "do": self._do,
        }
        self._viewed: set[int] = set()  # slots of reshapes that have an array in each run
        self._own: dict[int, Any] = {}  # slot -> memory of a small temporary
        self._shelf: dict[int, list[Any]] = {}  # bytes -> memory that is free again
        self._temporary = {s for step in plan.steps for s in step.frees if _bytes(plan, s) < LARGE}
        for step in plan.steps:
            if not _is_plain(step):
                self._temporary -= {plan.aliases.get(s, s) for s in (*step.inputs, *step.outputs)}
        self._shared = shared_memory([step.own for step in plan.steps if step.own is not None], backend)
        for number, step in enumerate(plan.steps):
            self._step(number, step)
        self.text = "\n".join([*self._rows, "    return", ""])
        exec(compile(self.text, f"{__file__} (a plan)", "exec"), self._space)  # noqa: S102 - text that was written here
        self._run = self._space["run"]
        self._programs: list[Any] = []

    def __call__(self, arrays: list[Any], nodes: Sequence[Any]) -> None:
        """Run all steps on the arrays of the leaves; then those that the plan keeps are there as well."""
        if not self._busy.acquire(blocking=False):  # another thread has the temporaries
            execute.run_steps(self._plan, arrays, self._backend, list(nodes))
            return
        try:
            self._bind_programs()
            self._run(arrays, nodes)
        except Exception as error:
            trace = error.__traceback__
            step = self._steps.get(trace.tb_next.tb_lineno) if trace and trace.tb_next else None
            if step is None:
                raise
            if isinstance(error, JtError):
                raise error.at(nodes[step.slots[-1]].line) from None
            raise execute._explain(error, step, list(nodes)) from error
        finally:
            self._busy.release()

    def _bind_programs(self) -> None:
        """Give the names in the text their kernels: a learner may have put another in the place of one."""
        programs = [step.program for step in self._plan.steps]
        if programs != self._programs:
            self._programs = programs
            for number, (step, program) in enumerate(zip(self._plan.steps, programs, strict=True)):
                for name, one in (("k", program), ("q", step.prepare)):
                    if one is not None:
                        self._space[f"{name}{number}"] = one.call if _is_small(step) else one

    def _do(self, number: int, arrays: list[Any], nodes: list[Any]) -> None:
        """What is not worth writing down: NumPy's work, and scratch that comes once for each thread."""
        execute.run_step(self._plan.steps[number], self._plan, arrays, self._backend, nodes)

    # writing

    def _write(self, text: str, step: Step | None = None) -> None:
        self._rows.append("    " + text)
        if step is not None:
            self._steps[len(self._rows)] = step

    def _step(self, number: int, step: Step) -> None:
        if _is_plain(step):
            for k, check in enumerate(step.checks):
                self._space[f"c{number}_{k}"] = check
                self._write(f"check(c{number}_{k}, {self._seen(check.slot)}, nodes[{check.node}])")
            for slot in step.outputs:
                self._room(slot, step)
            self._call(number, step)
        else:
            self._write(f"do({number}, a, nodes)  # {step.name}")
        for slot in step.frees:
            if slot in self._own:
                self._shelf.setdefault(_bytes(self._plan, slot), []).append(self._own[slot])
        gone = [s for s in step.frees if s not in self._own] + [s for s in step.drops if s in self._viewed]
        if gone:
            self._write("".join(f"a[{slot}] = " for slot in gone) + "None")

    def _room(self, slot: int, step: Step) -> None:
        """Memory for what a step stores: the script's own, or fresh in each run."""
        shape, dtype = self._plan.shapes[slot], self._plan.dtypes[slot]
        if slot in self._temporary:
            size = _bytes(self._plan, slot)
            shelf = self._shelf.get(size)
            self._own[slot] = shelf.pop() if shelf else np.empty(size, np.uint8)
        else:
            self._space[dtype.name] = dtype
            self._write(f"a[{slot}] = room({shape}, {dtype.name})", step)

    def _convolution(self, number: int, step: Step, own: Own, given: list[str]) -> None:
        """Name the memory of its own, and write down the call that prepares it."""
        prepared, space = self._shared[own.sizes.dtype, False], self._shared[own.sizes.dtype, True]
        given[OWN], given[OWN + 1] = f"p{number}", f"s{number}"
        self._space[given[OWN]] = prepared[: own.prepared]
        self._space[given[OWN + 1]] = space[0] if own.small else space
        for side in own.views:
            self._space[f"v{number}_{side.position}"] = partial(side.read, small=own.small, backend=self._backend)
            self._write(f"w{number}_{side.position} = v{number}_{side.position}({given[side.position]})", step)
            given[side.position] = f"w{number}_{side.position}"
        if own.prepare is not None:
            read = [given[k] for k in own.algorithm.reads]
            listed = ", ".join([*read, given[OWN], *given[OWN + 2 : OWN + 2 + len(NUMBERS)]])
            self._write(_call_of(f"q{number}", own.span, listed, step, ()), step)

    def _call(self, number: int, step: Step) -> None:
        """The call of a kernel, with all its arguments."""
        given = [repr(a) for a in step.arguments]
        for position, slot, shape, halves in step.binds:
            given[position] = self._seen(slot, shape, halves)
        for position, slot in step.numbers:
            given[position] = f"a[{slot}]"
        cells = {slot: np.empty(math.prod(shape), dtype) for _, shape, dtype, slot in step.scratch[::-1]}
        for position, shape, _, slot in step.scratch:
            given[position] = f"s{number}_{position}"
            self._space[given[position]] = cells[slot] if step.blocks else cells[slot].reshape(shape)
        if step.own is not None:
            self._convolution(number, step, step.own, given)
        each = () if step.own is None else (OWN + 1,)
        self._write(_call_of(f"k{number}", step.span, ", ".join(given), step, each), step)

    def _seen(self, slot: int, shape: Shape | None = None, halves: bool = False) -> str:
        """The array in a slot, under the shape and as the bits that a kernel reads."""
        own, root = self._plan.shapes[slot], self._plan.aliases.get(slot, slot)
        if root in self._own:
            kind = np.uint16 if halves else self._plan.dtypes[slot]
            seen = own if shape is None else shape
            name = f"t{root}" + "".join(f"_{n}" for n in seen) + "_bits" * halves
            self._space[name] = self._own[root].view(kind).reshape(seen)
            return name
        if shape is not None:
            return f"a[{root}]" + ".view(bits)" * halves + f".reshape({shape})"
        if root != slot and slot not in self._viewed:
            self._viewed.add(slot)
            self._write(f"a[{slot}] = a[{root}].reshape({own})")
        return f"a[{slot}]" + ".view(bits)" * halves


def _is_plain(step: Step) -> bool:
    """Whether a step is a call that can be written down: no work of NumPy, no scratch that depends on the threads."""
    return step.kind != "host" and not (step.scratch and (step.work >= execute.PARALLEL or step.span > ROW))


def _is_small(step: Step) -> bool:
    """Whether one thread does it."""
    return step.work < execute.PARALLEL if step.own is None else step.own.small


def _call_of(name: str, span: int, listed: str, step: Step, each: tuple[int, ...]) -> str:
    """The call of a kernel; `each` are the positions of what comes once for each thread."""
    if _is_small(step):
        return f"{name}(0, {span}, {listed})  # {step.name}"
    more = "" if step.own is None else f", {each}, 1, {depth_of(step.own.sizes)}"
    return f"launch({name}, [{listed}], {span}{more})  # {step.name}"


def _bytes(plan: Plan, slot: int) -> int:
    return math.prod(plan.shapes[slot]) * int(plan.dtypes[slot].itemsize)
