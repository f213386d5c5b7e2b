"""Kernel edit: what if this kernel were written differently?

    edit = jt.edit_kernel(kernel, text)     tried in a process of its own: compared with the original, and timed
    edit.install()                          from now on it runs wherever the original ran: plans, replays, training
    edit.revert()                           and from now on no more

An edited kernel is another source with a key of its own, so its machine code never takes the place of the original's.

Wherever it is compiled, what is installed runs guarded: with checked indices, inputs that cannot be written, and loops
that end in an error if they go round far more often than the original's would. That costs up to 3 times the time of the
plain text (a * b + c: 1.0 to 1.3 times), and `Edit.speed` is that of the plain one. The python backend checks indices
itself, and Ctrl-C ends its loops.

The kernel of a convolution moves whole rows and blocks, whose places nobody checks. Its edit is tried between fences,
and runs on the sizes that it was tried on; convolutions of other sizes run the original.
"""

from __future__ import annotations

import ast
import difflib
import math
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend, Program
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, KernelError
from jt_edu.codegen.emit_python import Source
from jt_edu.lens.edit_process import Fault, cases_of, check_seconds, original, reads_of, shape_key, steps_of, try_text
from jt_edu.runtime.conv_step import compile_around, compile_convolution
from jt_edu.runtime.plan import Plan, Step, edits, living

__all__ = ["Edit", "edit_kernel", "edited_kernels", "revert_kernels"]
TICK = 1e-6  # ms: nothing takes less
SHORTEST_KEY = 6  # digits
FEWEST, MORE = 1_000_000, 50  # rounds: those of any loop, and times what the plan expects of the original
_lock = threading.RLock()
_installed: dict[str, Edit] = {}  # key of the original -> what runs in its place


class Edit:
    """An edited kernel source, and what its trial found; `jt.edit_kernel` makes it.

    Example:
        >>> y = jt.array([1.0, 2.0]) * 3
        >>> (kernel,) = jt.explain(y).kernels
        >>> edit = jt.edit_kernel(kernel, kernel.source.replace("* c0", "+ c0")).install()
        >>> edit.agrees, (jt.array([1.0, 2.0]) * 3).numpy()
        (False, array([4., 5.], dtype=float32))
        >>> edit.revert().installed
        False
    """

    def __init__(self, source: Source, text: str, seconds: float = 10.0) -> None:
        self.original = source
        self.source = Source(text, source.parameters, source.entry, source.apart)
        self.error, self.line, self.record = "", None, None  # type: str, int | None, dict[str, Any] | None
        self._guarded: Callable[..., None] | None = None
        seconds, cases = check_seconds(seconds), cases_of(source)
        self._tried = set(cases)
        try:
            self.record = try_text(source, text, list(cases.values()), current().flags.backend, seconds)
        except Fault as fault:
            self.error, self.line = fault.words, fault.line

    @property
    def agrees(self) -> bool:
        """Whether every output was that of the original, apart from rounding."""
        return self.record is not None and all(o["agrees"] for o in self.record["outputs"])

    @property
    def speed(self) -> float:
        """How many times as fast as the original it was; 0 if it did not run."""
        return self.record["original_ms"] / max(self.record["edited_ms"], TICK) if self.record else 0.0

    @property
    def installed(self) -> bool:
        """Whether it runs instead of the original."""
        return _installed.get(self.original.key) is self

    def install(self) -> Edit:
        """Run it wherever the original runs, until it is reverted. KernelError if it failed its trial."""
        if self.record is None:
            raise KernelError("an edited kernel must run before it is installed", self.error)
        with _lock:
            steps = [(plan, step) for plan, step in steps_of(self.original.key) if self._may_run(plan, step)]
            for plan, step in steps:  # what does not compile is told before anything changes
                self._program(plan, step)
            if self.original.key in _installed:
                _installed[self.original.key].revert()
            _installed[self.original.key] = self
            try:
                edits[self.original.key] = self._put
                for plan, step in steps_of(self.original.key):
                    self._put(plan, step)
            except BaseException:  # Ctrl-C too
                self.revert()
                raise
        return self

    def revert(self) -> Edit:
        """Run the original again."""
        with _lock:
            if not self.installed:
                return self
            edits.pop(self.original.key, None)
            del _installed[self.original.key]
            for plan, step in steps_of(self.original.key):
                if step.written is not None:
                    (step.source, step.lines), step.written = step.written, None
                    step.program = _compiled(step, plan.backend) if plan.backend else None
        return self

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for a page."""
        facts = {"error": self.error, "line": self.line, "record": self.record, "agrees": self.agrees}
        return {**facts, "speed": self.speed, "installed": self.installed, "text": self.source.text}

    def _put(self, plan: Plan, step: Step) -> None:
        """Into one step; a run that is under way finishes with what it began."""
        with _lock:
            if step.written is not None or not self._may_run(plan, step):
                return
            program = self._program(plan, step)
            if program is not None and step.own is not None:
                backend = plan.backend or plan.device or backends.get(current().flags.backend)
                step.prepare, step.gather = compile_around(step.own, backend)
            lines = renumbered(step.source.text, self.source.text, step.lines)
            step.written = (step.source, step.lines)
            step.source, step.lines, step.program = self.source, lines, program

    def _may_run(self, plan: Plan, step: Step) -> bool:
        """Whether it is checked there, or was tried on just these sizes."""
        return step.own is None or shape_key(plan, step) in self._tried

    def _program(self, plan: Plan, step: Step) -> Program | None:
        backend = plan.backend or plan.device or backends.get(current().flags.backend)
        if backend.name == "numba":
            return self._guard(step)
        return backend.compile(self.source) if plan.backend else None

    def _guard(self, step: Step) -> Program:
        with _lock:
            if self._guarded is None:
                self._guarded = _compile_guarded(self.source, reads_of(step))
        call, most = self._guarded, FEWEST + MORE * _rounds(step)
        own = step.own

        def run(lo: int, hi: int, *given: Any) -> None:
            whole = given if own is None or not own.views else map(_whole, given)  # its arrays have no steps
            call(lo, hi, *whole, most)

        return Program(run, True, 0.0, None)

    def __repr__(self) -> str:
        if self.record is None:
            return f"The edited kernel does not run{f': line {self.line}' if self.line else ''}: {self.error}"
        rows = [f"The edited kernel {'runs instead of the original' if self.installed else 'was tried'}."]
        for o in self.record["outputs"]:
            verdict = "agrees" if o["agrees"] else "differs"
            odd = f", {o['strange']:,} are nan or infinite in one of the two" if o["strange"] else ""
            rows.append(
                f"  {o['name']} {verdict}: at most {o['absolute']:.3g} off (relative {o['relative']:.3g}), "
                f"{o['differ']:,} of {o['count']:,} elements are not the same{odd}"
            )
        r = self.record
        rows.append(
            f"  {r['edited_ms']:.4g} ms, the original {r['original_ms']:.4g} ms: {self.speed:.2f} times as fast"
        )
        return "\n".join(rows)


def _whole(argument: Any) -> Any:
    return np.ascontiguousarray(argument) if isinstance(argument, np.ndarray) else argument


def _compiled(step: Step, backend: Backend) -> Program:
    """The program of the text that we wrote."""
    if step.own is not None:
        return compile_convolution(step.own, step.source, backend)
    return backend.compile(step.source)


def _compile_guarded(source: Source, reads: Sequence[int]) -> Callable[..., None]:
    guarded = resolve_name("jt_edu.lens.sandbox:guarded")  # now, because loading all of numba takes a second
    made: Callable[..., None] = guarded(source, reads)
    return made


def _rounds(step: Step) -> int:
    """At least how often the loops of the original go round, as far as its plan can tell."""
    arrays = step.bytes + sum(math.prod(shape) for _, shape, _, _ in step.scratch)
    return int(step.work) + step.flops + arrays


def edit_kernel(kernel: Any, text: str, seconds: float = 10.0) -> Edit:
    """Try an edited source of a kernel: does it compute the same, and is it faster? Nothing changes yet.

    The text is compiled and run in a process of its own, which is ended after the time limit. First every index is
    checked; then it is compared with the original on random arrays of the shapes that your graphs have; then timed.

    Args:
        kernel: a kernel of `jt.explain(y).kernels` or of a trace, its source, or the first digits of its key.
        text: Python that defines `kernel` with the same parameters.
        seconds: how long the trial may compute, beside compiling.

    Returns:
        An `Edit`: `error` and `line` if it does not run, else `agrees`, `speed` and `record`; `install()`, `revert()`.

    Raises:
        ArgumentError: no plan runs such a kernel, several do, the text is its own, or the seconds are not above 0.

    Example:
        >>> y = jt.array([1.0, 2.0]) * 3
        >>> (kernel,) = jt.explain(y).kernels
        >>> jt.edit_kernel(kernel, kernel.source.replace("*", "+* 2")).error
        'SyntaxError: invalid syntax'
    """
    source = find(kernel)
    if not isinstance(text, str):
        raise ArgumentError("edit_kernel takes the text of a kernel", type(text).__name__)
    if _meaning(text) == _meaning(source.text):
        raise ArgumentError("an edited kernel differs from the original", "the same text", "jt.revert_kernels()")
    return Edit(source, text, seconds)


def edited_kernels() -> list[Edit]:
    """The edited kernels that run now.

    Example:
        >>> jt.edited_kernels()
        []
    """
    return list(_installed.values())


def revert_kernels() -> int:
    """Undo all edits, so that every kernel runs as it was generated; returns how many were edited.

    Example:
        >>> jt.revert_kernels()
        0
    """
    return len([edit.revert() for edit in edited_kernels()])


def revert_one(key: str) -> None:
    """Run the kernel that was generated under this key as it was again."""
    for edit in edited_kernels():
        if edit.original.key == key:
            edit.revert()


def find(kernel: Any) -> Source:
    """The source that we wrote for a kernel of a living plan, which is named by itself, its source, text or key.

    ArgumentError unless there is just one.
    """
    asked = (
        kernel if isinstance(kernel, str | Source) else getattr(kernel, "key", "") or getattr(kernel, "source", None)
    )
    if isinstance(asked, Source):
        return asked
    if not isinstance(asked, str):
        raise ArgumentError("a kernel is given by its source, or by its key", type(kernel).__name__)
    plans = [plan for plan in (ref() for ref in living.valuerefs()) if plan is not None]
    steps = [step for plan in plans for step in plan.steps if step.kind != "host"]
    sources = {original(step).key: original(step) for step in steps if _is_meant(asked, step)}
    if len(sources) == 1:
        return next(iter(sources.values()))
    if sources:
        kinds = "; ".join(f"{s.key[:10]} for {_dtypes(s)}" for s in sources.values())
        raise ArgumentError("one kernel is edited at a time", f"the same text for several dtypes: {kinds}", "its key")
    raise ArgumentError("a kernel of a graph that was planned", repr(asked[:60]), "jt.explain(y).kernels[0]")


def _is_meant(asked: str, step: Step) -> bool:
    ours = original(step)
    if "\n" not in asked:
        return len(asked) >= SHORTEST_KEY and ours.key.startswith(asked)
    return asked in (ours.text, step.source.text) or _meaning(asked) in (
        _meaning(ours.text),
        _meaning(step.source.text),
    )


@lru_cache(maxsize=4096)
def _meaning(text: str) -> str:
    """The same for two texts that are the same program, whatever their comments say."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _dtypes(source: Source) -> str:
    return ", ".join(f"{p.name} {p.dtype}" for p in source.parameters if p.rank is not None)


def renumbered(old: str, new: str, lines: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Which line of the new text computes what: that of the same words, or else the one in its place."""
    before, after = old.splitlines(), new.splitlines()
    places: dict[int, list[int]] = {}
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        last = max(j2 - 1, j1 if j1 < len(after) else j1 - 1) if j1 == j2 else j2 - 1
        for i in range(i1, i2):
            more = range(j1 + i - i1, j2) if i == i2 - 1 and j2 - j1 > i2 - i1 else [min(j1 + i - i1, last)]
            places[i + 1] = [j + 1 for j in more]
    return tuple(sorted({(place, slot) for line, slot in lines for place in places.get(line, ())}))
