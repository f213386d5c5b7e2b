"""Context: the flags, and the one place that knows what belongs to a rank.

Everything that changes while a program runs (flags, the open trace, whether gradients are recorded, the random
generator) lives in one `Context`. Each simulated rank runs in a context of its own; a plain script has just one. Its
threads share it, except for what a thread does at the `Moment`: `no_grad` in one stops no gradients in another. What
belongs to the process stays with it: compiled kernels, threads, and buffers to lend.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from jt_edu.base.did_you_mean import suggest
from jt_edu.base.errors import ArgumentError
from jt_edu.base.scoped import scoped, unbroken
from jt_edu.base.trace import Trace

__all__ = ["enable_grad", "flag_scope", "flags", "is_grad_enabled", "no_grad", "trace"]


@dataclass
class Flags:
    """What a learner may switch; an unknown name is an error (below), and so is a value of the wrong type."""

    backend: str = "numba"  # who runs kernels: "numba", "python", or one that registered itself
    lazy_execution: bool = True  # False: each operator runs as soon as it is written
    fuse: bool = True  # False: one kernel for each operator, to see what fusion saves
    tracebacks: str = "short"  # the learner's own lines; "full": the calls inside jt_edu, too
    module_repr: str = "pytorch"  # how modules print; "jittor": the arguments in order
    use_cuda: int = 0  # Jittor's; 1: all is computed on the device "cuda", if there is a GPU
    compile_processes: int = 0  # that compile the kernels of a plan; 0: as many as there are cores, see lens
    cuda_graphs: bool = True  # on a GPU, all kernels of a plan that is run again are launched at once
    cublas: bool = False  # on a GPU, NVIDIA's library multiplies matrices, where it is installed
    cudnn: bool = False  # the same for convolutions
    log_v: int = 0  # Jittor's; 1 and above: what jt.LOG.i, LOG.v and the framework log goes to the terminal, too
    lenient_grad: bool = False  # True, as Jittor: several losses are summed, no path is a gradient of 0; with a warning

    def __setattr__(self, name: str, value: Any) -> None:
        wanted = type(before := getattr(self, name))
        if wanted is bool and getattr(value, "shape", ()) == () and value in (0, 1):  # NumPy's, too
            value = bool(value)
        if not isinstance(value, wanted):
            raise ArgumentError(f"jt.flags.{name} is of type {wanted.__name__}", repr(value), repr(before))
        CHECKS.get(name, bool)(value)
        object.__setattr__(self, name, value)


CHECKS: dict[str, Callable[[Any], object]] = {}  # what floors above ask of the value of a flag; they put it here
suggest(Flags, "jt.flags", "jt.flags")


class Moment:
    """What one thread of a rank is doing."""

    __slots__ = ("autocast", "capture", "computed", "no_grad", "scope", "twin")

    def __init__(self) -> None:
        self.no_grad = False
        self.twin: Any = None  # while a gradient is built: the node whose gradient it is
        self.scope: Any = None  # while a module computes: where in the model it stands
        self.capture: Any = None  # what jt.compile is capturing, if it is
        self.autocast: Any = None  # the region that decides in which dtype functions compute (variable/autocast.py)
        self.computed: Any = None  # parameters that parametrize.cached computes only once, while it does


class Threads(threading.local):
    """The moment of the thread that asks: looking it up takes five times as long as an attribute of it."""

    def __init__(self) -> None:
        self.now = Moment()


def _of_the_moment(name: str) -> Any:
    """Read and write it as an attribute of the context, in the thread that asks."""
    return property(attrgetter(f"threads.now.{name}"), lambda c, value: setattr(c.threads.now, name, value))


@dataclass(slots=True, weakref_slot=True, eq=False)
class Context:
    """The state of one rank: what its threads share, and what each of them is doing."""

    flags: Flags = field(default_factory=Flags)
    traces: list[Trace] = field(default_factory=list)
    due: list[Any] = field(default_factory=list)  # nodes that any run computes too, in this order: messages, for one
    rank_state: dict[str, Any] = field(default_factory=dict)  # other floors: "generator", "communicator"
    ids: Iterator[int] = field(default_factory=itertools.count)  # of nodes; ranks that exchange Vars share one
    threads: Threads = field(default_factory=Threads, init=False)
    runs: int = 0  # how often somebody asked for numbers
    no_grad, twin, scope, capture = map(_of_the_moment, ("no_grad", "twin", "scope", "capture"))


_current: ContextVar[Context] = ContextVar("jt_edu", default=Context())  # noqa: B039 - shared by all threads, on purpose
current = _current.get  # the context of this rank


@unbroken
def rank_context(context: Context | None = None) -> Iterator[Context]:
    """Run what is inside as a rank of its own: flags, graph ids, trace and random numbers start afresh.

    Or go on where a rank stopped, in the `context` that it had.
    """
    token = _current.set(context or Context())
    try:
        yield current()
    finally:
        _current.reset(token)


class FlagsOfThisRank:
    """`jt.flags`: reads and writes the flags of the rank that asks."""

    def __getattr__(self, name: str) -> Any:
        return getattr(current().flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(current().flags, name, value)

    def __dir__(self) -> list[str]:
        return dir(current().flags)

    def __repr__(self) -> str:
        return repr(current().flags)


flags = FlagsOfThisRank()


@scoped
def flag_scope(**wanted: Any) -> Iterator[None]:
    """Set flags for the lines inside, and put them back afterwards, whatever happens. Also a decorator.

    Example:
        >>> with flag_scope(backend="python"):
        ...     flags.backend
        'python'
    """
    mine = current().flags
    before = {name: getattr(flags, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(mine, name, value)
        yield
    finally:
        for name, value in sorted(before.items()):  # first backend, then use_cuda, which sets it as well
            setattr(mine, name, value)


@scoped
def _recording(stopped: bool) -> Iterator[None]:
    context = current()
    before, context.no_grad = context.no_grad, stopped
    try:
        yield
    finally:
        context.no_grad = before


def no_grad(function: Any = None) -> Any:
    """Vars made inside take no part in gradients. Also a decorator, with or without brackets.

    A generator or a coroutine that it decorates makes such Vars in each of its steps.

    Example:
        >>> import jt_edu as jt
        >>> x = jt.array([1.0])
        >>> with no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """
    return _recording(stopped=True) if function is None else _recording(stopped=True)(function)


def enable_grad(function: Any = None) -> Any:
    """Undo a `no_grad` around it. Also a decorator, with or without brackets.

    Example:
        >>> import jt_edu as jt
        >>> x = jt.array([1.0])
        >>> with no_grad(), enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """
    return _recording(stopped=False) if function is None else _recording(stopped=False)(function)


def is_grad_enabled() -> bool:
    """Whether Vars that are made here take part in gradients: not inside `no_grad`.

    Example:
        >>> with no_grad():
        ...     is_grad_enabled()
        False
    """
    return not current().no_grad


@unbroken
def trace(values: bool = False) -> Iterator[Trace]:
    """Record what is built, fused, compiled, run and stored inside; see `jt_edu/base/trace.py` for the records.

    Args:
        values: also record what each node was. Then kernels store what they would keep in registers, so the trace of
            such a run tells values, and not what a run costs.

    Example:
        >>> import jt_edu as jt
        >>> with jt.trace() as t:
        ...     y = (jt.ones(3) * 2).sum()
        >>> len(t.kernels)  # nothing ran yet
        0
        >>> with jt.trace(values=True) as t:
        ...     total = y.item()
        >>> [(v.shape, v.max) for v in t.values][-2:]
        [((3,), 2.0), ((), 6.0)]
    """
    opened = Trace(wants_values=bool(values))
    mine = current().traces
    mine.append(opened)
    try:
        yield opened
    finally:
        mine[:] = [t for t in mine if t is not opened]
