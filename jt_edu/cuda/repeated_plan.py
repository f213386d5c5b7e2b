"""Repeated plan: how does a plan run on a GPU that has run before?

    sort, add, exp, sum      the steps of a plan: [a call of NumPy], [three kernels]
    Piece                    kernels that follow each other, with all of their arguments in one row of words:
                             addresses of this run are put in, and they are launched, as one graph (graphs.py)

As `plan_source.py` does for a CPU: what each run decides anew, and always in the same way, is decided once. Which
kernels a step launches is found by a run of its text in which nothing is launched (recorder.py). What is no printed
kernel, such as a call of NumPy or a text that a learner wrote, runs as it did before, and the plan is cut there.

Temporaries lie in one piece of memory. A page that `owns` its memory, as that of jt.compile, has two sets of results as
well, which take turns; who still holds a result keeps it, and the page makes another. Where there is no room
for an array, all pages let go of what they keep.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from array import array as array_of
from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter, is_not
from sys import getrefcount
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.errors import JtError
from jt_edu.cuda.device import Device, here, standing_in
from jt_edu.cuda.device_array import CardArray, CardBytes
from jt_edu.cuda.driver import Launch
from jt_edu.cuda.emit_cuda import HEADER
from jt_edu.cuda.graphs import Graph
from jt_edu.cuda.recorder import Recorder
from jt_edu.ir.node import Node
from jt_edu.runtime import execute
from jt_edu.runtime.devices import bring
from jt_edu.runtime.plan import Check, Plan, Step, read_slot
from jt_edu.runtime.plan_source import bytes_of
from jt_edu.runtime.trace_events import libraries_of

BASE, PROGRAM, OUTPUTS, FREES = map(attrgetter, ("base", "program", "outputs", "frees"))
ALONE = next(map(getrefcount, [object()]))  # references to what one list holds, as they are counted here
WORD = 8  # bytes


class Page:
    """The steps of a plan, for each GPU on which it runs.

    Args:
        plan: whose steps are compiled.
        owns: memory for temporaries and results is kept from run to run.
    """

    def __init__(self, plan: Plan, owns: bool) -> None:
        self._plan, self._owns, self._lock = plan, owns, threading.Lock()
        self._written: dict[Device, tuple[list[Any], list[Piece | Step]]] = {}  # for these programs of the steps

    def run(self, arrays: list[Any], nodes: Sequence[Node]) -> None:
        """Run them on the array in each slot; the lines of the nodes are named by errors."""
        plan, pieces = self._plan, self._pieces(here())
        if not all(isinstance(piece, Piece) for piece in pieces):  # a piece brings what it reads
            bring(plan.device, nodes, arrays)
        for piece in pieces:
            if isinstance(piece, Piece):
                piece.run(arrays, nodes)
            else:
                execute.run_step(piece, plan, arrays, plan.device, list(nodes))
                execute.free(piece, arrays)

    def _pieces(self, gpu: Device) -> list[Piece | Step]:
        """Written anew, if a learner has edited a kernel."""
        programs = [*map(PROGRAM, self._plan.steps)]
        known, pieces = self._written.get(gpu, ([], []))
        if len(known) == len(programs) and not any(map(is_not, programs, known)):
            return pieces
        with self._lock:
            plan, owns = self._plan, self._owns
            pieces = [Piece(plan, group, gpu, owns) if is_printed(group[0]) else group[0] for group in groups_of(plan)]
            self._written[gpu] = programs, pieces
        return pieces


def groups_of(plan: Plan) -> list[list[Step]]:
    """The steps of a plan: printed kernels that follow each other, up to where a number of theirs is asked for.

    Index arrays are looked at before a kernel relies on them.
    """
    groups, made = list[list[Step]](), set[int]()
    for step in plan.steps:
        looks = made.intersection(plan.aliases.get(c.slot, c.slot) for c in step.checks)
        if not groups or looks or not is_printed(step) or not is_printed(groups[-1][0]):
            groups.append([])
            made.clear()
        groups[-1].append(step)
        made.update(step.outputs)
    return groups


def launched(plan: Plan) -> str:
    """How the kernels of a plan are launched when nobody watches."""
    graphs = [len(group) for group in groups_of(plan) if is_printed(group[0]) and sum(map(kernels_of, group)) > 1]
    if not graphs or not current().flags.cuda_graphs:
        return "Each kernel is launched by itself" + (": jt.flags.cuda_graphs is False." if graphs else ".")
    kernels = "all kernels" if graphs == [len(plan.steps)] else f"{sum(graphs)} of {len(plan.steps)} kernels"
    at_once = "at once, as a CUDA graph" if len(graphs) == 1 else f"as {len(graphs)} CUDA graphs"
    return f"After {execute.AGAIN} runs {kernels} are launched {at_once}; while a trace is open, each by itself."


def is_printed(step: Step) -> bool:
    """Whether its text is one that jt_edu has printed for a GPU, whose kernels are given all that the text is given."""
    text = step.source.text
    return step.kind == "loops" and step.written is None and text.startswith(HEADER) and not libraries_of(text)


def kernels_of(step: Step) -> int:
    """How many kernels a text has that jt_edu has printed: it launches each of them once."""
    return step.source.text.count("@cuda.jit")


class Piece:
    """Printed kernels that follow each other; one thread at a time launches them.

    Args:
        plan: of which they are a part.
        steps: whose texts launch them.
        gpu: on which they run.
        owns: see Page.
    """

    def __init__(self, plan: Plan, steps: Sequence[Step], gpu: Device, owns: bool) -> None:
        self._plan, self._steps, self._gpu, self._lock = plan, steps, gpu, threading.Lock()
        made, freed = ([s for step in steps for s in listed(step)] for listed in (OUTPUTS, FREES))
        read = [plan.aliases.get(s, s) for step in steps for s in step.inputs]
        self._leaves = [*dict.fromkeys(s for s in read if s not in made)]
        self._results = [s for s in made if s not in freed]
        self._gone = [s for s in freed if s not in made] + [s for step in steps for s in step.drops]
        self._checks = [check for step in steps for check in step.checks]
        self._looked: dict[Check, Any] = {}  # where an index array lies that was looked at
        self._taken = [(plan.shapes[s], plan.dtypes[s], bytes_of(plan, s)) for s in self._results]
        self._sets: list[list[Any]] = [[], []]  # of results
        self._numbers: list[Any] | None = None
        self._doubtful: list[int] = []  # places of numbers that may be equal, and other bits
        self._graph: Graph | None = None
        self._alone = False  # the driver made no graph
        self._write(owns)

    def _write(self, owns: bool) -> None:
        """Put the arguments of all launches in one row, and note where what changes stands in it."""
        recorder, arrays = self._recorded()
        places = {array.pointer: (k, 0) for k, array in enumerate(arrays)}
        self._room = 0
        for number, size in enumerate(recorder.blocks, 1):
            if number not in places:
                places[number] = len(arrays), self._room
                self._room += size
        lengths = [-(-len(noted.row) // WORD) for noted in recorder.launches]
        self._begins = [0, *accumulate(lengths)][:-1]
        self._words = np.zeros(sum(lengths), np.uint64)
        raw, cells, found = self._words.view(np.uint8), dict[int, list[Any]](), list[tuple[int, int, int]]()
        for begin, noted in zip(self._begins, recorder.launches, strict=True):
            at = begin * WORD
            raw[at : at + len(noted.row)] = np.frombuffer(noted.row, np.uint8)
            found += [((at + byte) // WORD, *places[number]) for byte, number in noted.arrays()]
            for position, slot in noted.step.numbers:
                dtype, first = np.dtype(noted.kernel.kinds[position]), at + noted.begins[position]
                cells.setdefault(slot, []).append(raw[first : first + dtype.itemsize].view(dtype))
        self._where, self._which, self._plus = np.array(found, np.intp).reshape(-1, 3).T
        self._plus = self._plus.astype(np.uint64)
        self._cells = cells
        self._arena: CardBytes | None = None
        self._owns = owns
        self._gpu.memory.kept_by(self)
        self._launches = [
            Launch(n.kernel.function, n.sizes, n.shared, self._words.ctypes.data + begin * WORD, len(n.row))
            for begin, n in zip(self._begins, recorder.launches, strict=True)
        ]
        self._noted = recorder.launches

    def _recorded(self) -> tuple[Recorder, list[Any]]:
        """A run in which nothing is launched; what is read, and what is left at its end."""
        plan, recorder = self._plan, Recorder(self._gpu)
        arrays: list[Any] = [None] * len(plan.shapes)
        for slot in self._leaves:
            arrays[slot] = CardArray(CardBytes(recorder, bytes_of(plan, slot)), plan.shapes[slot], plan.dtypes[slot])
        leaves = [arrays[slot] for slot in self._leaves]
        with standing_in(recorder):
            for step in self._steps:
                recorder.step = step
                for _, slot in step.numbers:
                    arrays[slot] = 0  # any number: it is put in at each run
                execute._run_step(step, plan, arrays, plan.device, [])
                execute.free(step, arrays)
        return recorder, [*leaves, *(arrays[slot] for slot in self._results)]

    def run(self, arrays: list[Any], nodes: Sequence[Node]) -> None:
        """Launch all of them on the array in each slot."""
        for check in self._checks:
            self._look(check, arrays, nodes)
        with self._lock:
            step = self._steps[-1]
            try:
                addresses, _room = self._put_addresses(arrays, nodes)  # nobody else is given it before all is in line
                self._put_numbers(arrays)
                if not self._launched_as_a_graph(addresses):
                    for launch, noted in zip(self._launches, self._noted, strict=True):
                        step = noted.step
                        self._gpu.driver.launch(launch, self._gpu.stream, noted.doing)
            except JtError as error:
                raise error.at((node := nodes[step.slots[-1]]).line, node.scope) from None
            except Exception as error:
                raise execute._explain(error, step, self._plan, list(nodes)) from error
        for slot in self._gone:
            arrays[slot] = None

    def _put_addresses(self, arrays: list[Any], nodes: Sequence[Node]) -> tuple[bytes, CardBytes]:
        """Make room for results and temporaries, and put in where everything lies: the addresses, and that room."""
        addresses = self._addresses(arrays, nodes)
        results, room = self._results_of_this_run(), self._arena or CardBytes(self._gpu, self._room)
        self._arena = room if self._owns else None
        for slot, array in zip(self._results, results, strict=True):
            arrays[slot] = array
            array.base.written += 1
            addresses.append(array.pointer)
        addresses.append(room.pointer)
        found = np.frombuffer(array_of("Q", addresses), np.uint64)
        self._words[self._where] = found[self._which] + self._plus
        return found.tobytes(), room

    def let_go(self) -> None:
        """Keep no memory for the next run: somebody needs it."""
        self._arena, self._sets = None, [[], []]

    def _look(self, check: Check, arrays: list[Any], nodes: Sequence[Node]) -> None:
        """Look at an index array, unless it is the one that was looked at before, and nobody has written to it."""
        array = read_slot(self._plan, arrays, check.slot)
        if not isinstance(array, CardArray):
            execute.check_indices(check, array, nodes)
            return
        base, times = self._looked.get(check, (int, 0))
        if base() is not array.base or times != array.base.written:
            execute.check_indices(check, np.asarray(array), nodes)
            self._looked[check] = weakref.ref(array.base), array.base.written

    def _addresses(self, arrays: list[Any], nodes: Sequence[Node]) -> list[int]:
        """Where arrays lie that are read; those of NumPy are copied there."""
        gpu, found = self._gpu, list[int]()
        for slot in self._leaves:
            array = arrays[slot]
            if array.__class__ is not CardArray:
                (array,) = bring(self._plan.device, [nodes[slot]], [array])
                arrays[slot] = array
            if array.gpu is not gpu:
                array.copy_to_host()  # says so
            found.append(array.pointer)
        return found

    def _results_of_this_run(self) -> list[Any]:
        """Arrays for what is not freed: those of the run before last, if nobody holds them; else new ones."""
        self._sets.reverse()
        mine, new = self._sets[0], [*range(len(self._taken))]
        if mine:
            counts = zip(map(getrefcount, mine), map(getrefcount, map(BASE, mine)), strict=True)
            new = [k for k, (arrays, bases) in enumerate(counts) if arrays > ALONE or bases > ALONE]
        mine = [*mine] or [None] * len(self._taken)
        for k in new:
            shape, dtype, size = self._taken[k]
            mine[k] = CardArray(CardBytes(self._gpu, size), shape, dtype)
        if self._owns:
            self._sets[0] = mine
        return mine

    def _put_numbers(self, arrays: list[Any]) -> None:
        """Numbers of the graph, unless they are those of the run before; equal zeros may have other signs."""
        numbers, before = [*map(arrays.__getitem__, self._cells)], self._numbers
        if before == numbers and all(numbers[k] is before[k] for k in self._doubtful):
            return
        self._numbers = None  # as long as it is not all of them, even if somebody interrupts
        with np.errstate(all="ignore"):
            for cells, number in zip(self._cells.values(), numbers, strict=True):
                for cell in cells:
                    cell[0] = number
        self._numbers = numbers
        self._doubtful = [k for k, n in enumerate(numbers) if n.__class__ not in (int, float) or not n]

    def _launched_as_a_graph(self, addresses: bytes) -> bool:
        """Launch a graph of them; False, where that is not wanted, or could not be made."""
        gpu = self._gpu
        if len(self._launches) == 1 or self._alone or not current().flags.cuda_graphs:
            return False
        try:
            if self._graph is None:
                self._graph = Graph(gpu.driver, self._launches, self._words, self._begins)
            graph, numbers = self._graph, self._numbers
            gpu.memory.with_room(lambda: graph.launch(addresses, numbers, gpu.stream))
        except JtError as error:
            if gpu.driver.lost:
                raise
            self._alone, self._graph = True, None
            told = f"{len(self._launches)} kernels are launched one by one from here on, as there is no graph of them"
            warnings.warn(f"{told}: {error}", stacklevel=2)
            return False
        return True
