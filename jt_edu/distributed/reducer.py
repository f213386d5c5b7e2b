"""Reducer: gradients of this rank in, mean gradients of all ranks out, bucket by bucket.

    arrived    a gradient is complete                          the graph of the backward pass is being built
    fires      all of a bucket, and of those before, are:      a node that sends is made
    sent       that node runs: the bucket is on its way        the graph runs
    received   the rest of the backward pass has run;          numbers of all ranks are there
               now the node that waits runs

Each row is an `Event`. "fires" of one bucket stands between the "arrived" of others: buckets do not wait for the end of
the backward pass. Between the runs of two sending nodes run the kernels of the layers in between.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.context import no_grad
from jt_edu.base.dtypes import DType, int32, int64
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from jt_edu.distributed.buckets import GradBucket, cut, layout
from jt_edu.distributed.ddp_nodes import OTHERS, due_node, holding, one_behind_the_other, speaking, stored, summed
from jt_edu.distributed.options import AllreduceOptions, ReduceOp
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.ir.meta_ops import HostCall
from jt_edu.variable.var import Var

Hook = Callable[[Any, GradBucket], Any]


class Event(NamedTuple):
    """What happened in a backward pass: "arrived", "fires", "sent" or "received"; to which bucket; by which gradient.

    Example:
        >>> Event("fires", 0)
        Event(what='fires', bucket=0, name='')
    """

    what: str
    bucket: int
    name: str = ""


class Reducer:
    """Puts the gradients of all ranks together.

    Args:
        named: (name, parameter) of each, the same on all ranks.
        group: whose ranks.
        cap: bytes from which on a bucket is closed.
        tolerant: a parameter may be without a gradient.
        views: gradients look into the buffer of their bucket, and are no copies.
    """

    def __init__(
        self, named: Sequence[tuple[str, Var]], group: ProcessGroup, cap: int, tolerant: bool, views: bool
    ) -> None:
        self.names, self.params = [n for n, _ in named], [p for _, p in named]
        self.group, self.cap, self.tolerant, self.views = group, cap, tolerant, views
        self.hook: Hook | None = None
        self.hook_state: Any = None
        self.folds = False  # gradients in .grad are those of this rank alone: they travel with the next ones
        self.events: list[Event] = []
        self.order: list[int] = []  # of the parameters, as their gradients arrived last
        self._under_way: dict[int, tuple[Any, Any]] = {}  # ticket -> (who is waited for, array it writes to, or None)
        self._means: dict[DType, HostCall] = {}
        self._tickets = itertools.count()
        self.arrange(range(len(self.params))[::-1])

    def arrange(self, order: Sequence[int]) -> None:
        """New buckets, for gradients that come in this order."""
        self.buckets = layout(self.params, order, self.cap)
        self._place = {k: b for b, bucket in enumerate(self.buckets) for k in bucket}
        numbers = range(len(self.buckets))
        self._sends = [HostCall("ddp_send", partial(self._send, b), (), OTHERS) for b in numbers]
        self._receives = [HostCall("ddp_receive", partial(self._receive, b), (), OTHERS) for b in numbers]
        self._looks = [HostCall("ddp_view", partial(self._look, k), ()) for k in range(len(self.params))]

    # while the graph is built: a listener of ddp_backward.Gate

    def start(self, used: Sequence[bool]) -> None:
        """A backward pass begins; which of the parameters have a gradient."""
        missing = [self.names[k] for k, there in enumerate(used) if not there]
        if missing and not self.tolerant:
            raise GradientError(
                "every parameter takes part in the loss, on every rank: the others wait for its gradient",
                f"no gradient for {', '.join(missing)}",
                "DistributedDataParallel(..., find_unused_parameters=True)",
            )
        self.events, self.order = [], []
        self._found: list[Var | None] = [None] * len(self.params)
        self._left = [len(bucket) for bucket in self.buckets]
        self._tokens: list[Var] = []
        self._absent = self._nowhere(used) if self.tolerant else set()
        for k, there in enumerate(used):
            if not there:
                self._is_there(k)

    def arrived(self, number: int, gradient: Var | None) -> None:
        """The gradient of a parameter is complete."""
        self._found[number] = gradient
        self.order.append(number)
        self.events.append(Event("arrived", self._place[number], self.names[number]))
        self._is_there(number)

    def finish(self) -> list[Var | None]:
        """Gradients of all ranks; None for a parameter that no rank has one for."""
        answers: list[Var | None] = [None] * len(self.params)
        with no_grad():
            for b, bucket in enumerate(self.buckets):
                for k, mean in zip(bucket, self._received(b), strict=True):
                    answers[k] = None if k in self._absent else mean
        self.folds = False
        return answers

    def mean(self, value: Var) -> Var:
        """The mean over all ranks of what belongs to no bucket."""
        with no_grad():
            share = value / self.group.size()
            run_it = partial(self._sum_now, value.dtype)
            op = self._means.setdefault(value.dtype, HostCall("ddp_mean", run_it, (), OTHERS))
            return due_node(op, [share.cast(value.dtype)], value.shape, value.dtype)

    def _nowhere(self, used: Sequence[bool]) -> set[int]:
        """The parameters that no rank has a gradient for."""
        counts = holding(np.array(used, np.int32), int32)
        self.group.allreduce([counts], AllreduceOptions(ReduceOp.SUM)).wait()
        return {k for k, n in enumerate(stored(counts, int32)) if n == 0}

    def _is_there(self, number: int) -> None:
        self._left[self._place[number]] -= 1
        while len(self._tokens) < len(self.buckets) and self._left[len(self._tokens)] == 0:
            self._fire(len(self._tokens))

    def _fire(self, b: int) -> None:
        """A bucket is full: from now on a node that sends it is due."""
        self.events.append(Event("fires", b))
        with no_grad():
            parts = [self._part(k) for k in self.buckets[b]]
            self._tokens.append(due_node(self._sends[b], parts, (), int64))

    def _part(self, k: int) -> Var:
        """What this rank contributes to the gradient of a parameter."""
        param, part = self.params[k], self._found[k]
        if self.folds and param.grad is not None:
            part = param.grad if part is None else part + param.grad
            param.grad = None  # it comes back with those of the other ranks
        self._found[k] = None
        part = param.zeros_like() if part is None else part
        return (part if self.hook is not None else part / self.group.size()).cast(param.dtype)

    def _received(self, b: int) -> list[Var]:
        bucket = self.buckets[b]
        shapes, dtype = [self.params[k].shape for k in bucket], self.params[bucket[0]].dtype
        total = sum(self.params[k].size for k in bucket)
        flat = due_node(self._receives[b], [self._tokens[b]], (total,), dtype)
        if not self.views:
            return cut(flat, shapes)
        return [due_node(self._looks[k], [flat], s, dtype) for k, s in zip(bucket, shapes, strict=True)]

    # while the graph runs

    def _send(self, b: int, *arrays: Any) -> Any:
        """A bucket goes on its way; returns the number under which it is waited for."""
        bucket = self.buckets[b]
        ticket = next(self._tickets)
        dtype = self.params[bucket[0]].dtype
        flat = one_behind_the_other(arrays[: len(bucket)], dtype)
        with speaking(self.group, f"bucket {b} of a backward pass"):
            if self.hook is None:
                carrier = holding(flat, dtype)
                self._under_way[ticket] = (self.group.allreduce([carrier], AllreduceOptions(ReduceOp.SUM)), carrier)
            else:
                params = [self.params[k] for k in bucket]
                last = b == len(self.buckets) - 1
                answer = self.hook(self.hook_state, GradBucket(b, last, params, holding(flat, dtype)))
                if not callable(getattr(answer, "wait", None)):
                    raise ArgumentError("a communication hook returns a future", repr(answer), "work.get_future()")
                self._under_way[ticket] = (answer, None)
        self.events.append(Event("sent", b))
        return np.int64(ticket)

    def _receive(self, b: int, ticket: Any, *_: Any) -> Any:
        """Wait for a bucket; returns the numbers of all ranks."""
        waited, carrier = self._under_way.pop(int(ticket))
        with speaking(self.group, f"bucket {b} of a backward pass"):
            value = waited.wait()
            value = value if carrier is None else carrier
            value = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
            total = sum(self.params[k].size for k in self.buckets[b])
            if not isinstance(value, np.ndarray):
                value = stored(value, self.params[self.buckets[b][0]].dtype)
            if value.size != total:
                asked = f"the future of a communication hook brings the {total} numbers of its bucket"
                raise ShapeError(asked, f"shape {value.shape}", "as many as bucket.buffer() has")
        self.events.append(Event("received", b))
        return value.reshape(-1)

    def _look(self, k: int, flat: Any, *_: Any) -> Any:
        """The piece of a bucket that belongs to a parameter: the same memory."""
        bucket = self.buckets[self._place[k]]
        start = sum(self.params[j].size for j in bucket[: bucket.index(k)])
        return flat[start : start + self.params[k].size]

    def _sum_now(self, dtype: DType, mine: Any, *_: Any) -> Any:
        with speaking(self.group, "a gradient that came past the buckets"):
            return summed(self.group, mine, dtype)
