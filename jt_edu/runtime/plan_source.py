"""Plan source: a plan as a page of Python, for plans that run again and again.

    def run(a, nodes):                                  the array in each slot; the nodes, whose lines errors name
        try:
            s0.program.call(0, 64, a[0], a[1], t5)      # matmul: whatever runs in step 0, also if it was edited
            a[7] = pool.room((64,), float32)            memory for what outlives the run
            s1.program.call(0, 64, 128, t5, a[7])       # exp_sum: lengths that never change are written down
        except Exception as error:
            explain(error, nodes)

`execute.py` asks every step what it needs: how many arrays, seen under which shapes, with scratch or without. In each
run the answers are the same. So a plan that has run before is asked once, what is left to do is written down, and that
is run: the same things in the same order, and a third of the Python. A replay of jt.compile `owns` its memory too:
small temporaries (t5) are made once; two share their memory if one is read for the last time before the other is
written. Plans of other graphs own nothing, since a thousand of them are remembered.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu.backends import Backend
from jt_edu.backends.convolve.standalone import NUMBERS, depth_of
from jt_edu.backends.thread_pool import threads
from jt_edu.base.allocator import LARGE, pool
from jt_edu.base.errors import JtError
from jt_edu.ir.node import Shape
from jt_edu.runtime import execute
from jt_edu.runtime.conv_step import OWN, Own, shared_memory
from jt_edu.runtime.devices import bring
from jt_edu.runtime.plan import ROW, Page, Plan, Step

OWNED = 1 << 18  # bytes; smaller temporaries are made once: the same memory in each run is still in the cache


class Script:
    """The page for a plan whose steps are compiled, and what its names mean.

    `owns`: with memory of its own for what is small. Then it serves one thread at a time.
    """

    def __init__(self, plan: Plan, backend: Backend, owns: bool = True) -> None:
        self._plan, self._backend, self._busy, self._owns = plan, backend, threading.Lock(), owns
        self._rows = ["def run(a, nodes):", "    try:"]
        self._steps: dict[int, Step] = {}  # line -> step, where the script has to explain errors
        self._space: dict[str, Any] = {
            "room": backend.empty,
            "pool": pool,
            "zeros": np.zeros,
            "launch": backend.launch,
            "bits": np.uint16,
            "check": execute.check_indices,
            "do": self._do,
            "explain": self._explain,
        }
        self._viewed: set[int] = set()  # slots of reshapes that have an array in each run
        self._own: dict[int, Any] = {}  # slot -> memory of a small temporary
        self._shelf: dict[int, list[Any]] = {}  # bytes -> memory that is free again
        self._temporary = {s for step in plan.steps for s in step.frees if owns and bytes_of(plan, s) < OWNED}
        for step in plan.steps:
            if not self._is_plain(step):
                self._temporary -= {plan.aliases.get(s, s) for s in (*step.inputs, *step.outputs)}
        convolutions = [step.own for step in plan.steps if owns and step.own is not None]
        self._shared = shared_memory(convolutions, backend)
        for number, step in enumerate(plan.steps):
            self._step(number, step)
        self._rows += ["        return", "    except Exception as error:", "        explain(error, nodes)"]
        self.text = "\n".join([*self._rows, ""])
        exec(compile(self.text, f"{__file__} (a plan)", "exec"), self._space)  # noqa: S102 - text that was written here
        self.run: Callable[[list[Any], Sequence[Any]], None] = self._space["run"]

    def __call__(self, arrays: list[Any], nodes: Sequence[Any]) -> None:
        """`run`, for a page with memory of its own: then the arrays that the plan keeps are there as well."""
        if not self._busy.acquire(blocking=False):  # another thread has the temporaries
            execute.run_steps(self._plan, arrays, self._backend, list(nodes))
            return
        try:
            self.run(arrays, nodes)
        finally:
            self._busy.release()

    def _explain(self, error: Exception, nodes: Sequence[Any]) -> None:
        """Raise what a line of the text has raised, and name the learner's line."""
        step = self._steps.get(error.__traceback__.tb_lineno) if error.__traceback__ else None
        if step is None:
            raise error
        if isinstance(error, JtError):
            raise error.at((node := nodes[step.slots[-1]]).line, node.scope) from None
        raise execute._explain(error, step, self._plan, list(nodes)) from error

    def _do(self, number: int, arrays: list[Any], nodes: list[Any]) -> None:
        """What is not worth writing down."""
        execute.run_step(self._plan.steps[number], self._plan, arrays, self._backend, nodes)

    # writing

    def _write(self, text: str, step: Step | None = None) -> None:
        self._rows.append(" " * 8 + text)
        if step is not None:
            self._steps[len(self._rows)] = step

    def _step(self, number: int, step: Step) -> None:
        self._space[f"s{number}"] = step
        if self._is_plain(step):
            for k, check in enumerate(step.checks):
                self._space[f"c{number}_{k}"] = check
                self._write(f"check(c{number}_{k}, {self._seen(check.slot)}, nodes)")
            for slot in step.outputs:
                self._room(slot, step)
            self._call(number, step)
        else:
            self._write(f"do({number}, a, nodes)  # {step.name}")
        for slot in step.frees:
            if slot in self._own:
                self._shelf.setdefault(bytes_of(self._plan, slot), []).append(self._own[slot])
        gone = [s for s in step.frees if s not in self._own] + [s for s in step.drops if s in self._viewed]
        if gone:
            self._write("".join(f"a[{slot}] = " for slot in gone) + "None")

    def _is_plain(self, step: Step) -> bool:
        """Whether a step is a call that can be written down.

        No work of NumPy, nor loops with scratch that depends on the threads, or with any where a page owns no memory.
        """
        if step.kind == "host" or step.own is not None or not step.scratch:
            return step.kind != "host"
        return self._owns and step.work < execute.PARALLEL and step.span <= ROW

    def _room(self, slot: int, step: Step) -> None:
        """Memory for what a step stores: the script's own, or fresh in each run."""
        shape, dtype = self._plan.shapes[slot], self._plan.dtypes[slot]
        size = bytes_of(self._plan, slot)
        if slot in self._temporary:
            shelf = self._shelf.get(size)
            self._own[slot] = shelf.pop() if shelf else np.empty(size, np.uint8)
        else:
            self._space[dtype.name] = dtype
            pooled = size < LARGE and self._backend.empty == pool.empty  # who makes room for it is known
            self._write(f"a[{slot}] = {'pool.' * pooled}room({shape}, {dtype.name})", step)

    def _convolution(self, number: int, step: Step, own: Own, given: list[str]) -> None:
        """Name the memory of its own, or ask for it in each run; and write down the call that prepares it."""
        dtype = own.sizes.dtype
        if self._owns:
            prepared, space = self._shared[dtype, False], self._shared[dtype, True]
            given[OWN], given[OWN + 1] = f"p{number}", f"m{number}"
            self._space[given[OWN]] = prepared[: own.prepared]
            self._space[given[OWN + 1]] = space[0] if own.small else space
        else:
            self._space |= {dtype: np.dtype(dtype), "threads": threads}
            given[OWN] = f"room(({own.prepared},), {dtype})"
            given[OWN + 1] = f"room(({'' if own.small else 'threads(), '}{own.space},), {dtype})"
            if own.prepare is not None:  # two calls take it
                self._write(f"p = {given[OWN]}", step)
                given[OWN] = "p"
        for side in own.views:
            self._space[f"v{number}_{side.position}"] = partial(side.read, small=own.small, backend=self._backend)
            self._write(f"w{number}_{side.position} = v{number}_{side.position}({given[side.position]})", step)
            given[side.position] = f"w{number}_{side.position}"
        if own.prepare is not None:
            read = [given[k] for k in own.algorithm.reads]
            listed = ", ".join([*read, given[OWN], *given[OWN + 2 : OWN + 2 + len(NUMBERS)]])
            self._write(_call_of(f"s{number}.prepare", own.span, listed, step, ()), step)

    def _call(self, number: int, step: Step) -> None:
        """The call of a kernel, with all its arguments."""
        given = [repr(a) for a in step.arguments]
        for position, slot, shape, halves in step.binds:
            given[position] = self._seen(slot, shape, halves)
        for position, slot in step.numbers:
            given[position] = f"a[{slot}]"
        scratch = step.scratch[::-1] if self._owns else ()  # zeros: a call of `finish` that is never made leaves one
        cells = {slot: np.zeros(math.prod(shape), dtype) for _, shape, dtype, slot in scratch}
        for position, shape, _, slot in step.scratch:
            given[position] = f"m{number}_{position}"
            if self._owns:
                self._space[given[position]] = cells[slot] if step.blocks else cells[slot].reshape(shape)
            else:
                self._write(f"{given[position]} = zeros({shape})", step)
        if step.own is not None:
            self._convolution(number, step, step.own, given)
        each = () if step.own is None else (OWN + 1,)
        self._write(_call_of(f"s{number}.program", step.span, ", ".join(given), step, each), step)
        for position, shape, _, slot in step.scratch if step.gather is not None else ():
            seen = self._seen(slot, shape[:1])
            self._write(f"s{number}.gather.call(0, {shape[0]}, {given[position]}, {seen})", step)
        lent = [name for name in dict.fromkeys(given) if name == "p" or name.startswith(f"w{number}_")]
        if lent:
            self._write(" = ".join([*lent, "None"]))

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
            flat = len(shape) == 1  # all of it in one row, for which there is a shorter way
            return f"a[{root}]" + ".view(bits)" * halves + (".ravel()" if flat else f".reshape({shape})")
        if root != slot and slot not in self._viewed:
            self._viewed.add(slot)
            self._write(f"a[{slot}] = a[{root}].reshape({own})")
        return f"a[{slot}]" + ".view(bits)" * halves


def _call_of(name: str, span: int, listed: str, step: Step, each: tuple[int, ...]) -> str:
    """The call of a program; `each` are the positions of what comes once for each thread."""
    if step.work < execute.PARALLEL if step.own is None else step.own.small:  # one thread does it
        return f"{name}.call(0, {span}, {listed})  # {step.name}"
    more = "" if step.own is None else f", {each}, 1, {depth_of(step.own.sizes)}"
    return f"launch({name}, [{listed}], {span}{more})  # {step.name}"


def bytes_of(plan: Plan, slot: int) -> int:
    """How long an array of a plan is."""
    return math.prod(plan.shapes[slot]) * int(plan.dtypes[slot].itemsize)


def script_of(plan: Plan, backend: Backend) -> Callable[[list[Any], Sequence[Any]], None]:
    """All steps of a plan as one function, with memory of its own."""
    if plan.device is None:
        return Script(plan, backend)
    if (page := _page_there(plan, owns=True)) is not None:
        return page.run

    def run(arrays: list[Any], nodes: Sequence[Any]) -> None:
        bring(plan.device, nodes, arrays)
        execute.run_steps(plan, arrays, plan.device, list(nodes))

    return run


def _page_there(plan: Plan, owns: bool) -> Page | None:
    """The page that a device writes, where it writes some; else its steps run as they are."""
    return plan.device.page(plan, owns) if hasattr(plan.device, "page") else None


def _written_down(plan: Plan, backend: Backend) -> Page | None:
    return Script(plan, backend, owns=False) if plan.device is None else _page_there(plan, owns=False)


execute.written_down = _written_down
