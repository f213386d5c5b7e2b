"""DistributedDataParallel: one copy of a module on each rank, a share of the batch for each, one common gradient.

    rank 0      module ── share 0 ── loss ── gradient ─┐
    rank 1      module ── share 1 ── loss ── gradient ─┼── mean ── the same step everywhere
    rank 2      module ── share 2 ── loss ── gradient ─┘

    ddp.py            what a program sees
    ddp_backward.py   the walk that tells of each gradient as soon as it is complete
    reducer.py        buckets of gradients, their way to the other ranks and back
    buckets.py        which gradients travel together

This is PyTorch's way: the module does it, and optimisers, datasets and batch norm know nothing. In Jittor's way (see
jt_edu/mpi/rank_team.py) a rank has a `team`: optimisers average, datasets cut each batch, and batch norm sees the
whole batch. A rank goes one way or the other: once it has a module in DistributedDataParallel, it has no team any more.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from jt_edu.base.own import own
from jt_edu.base.scoped import scoped
from jt_edu.distributed.data_parallel import parallel_apply
from jt_edu.distributed.ddp_backward import Gate
from jt_edu.distributed.ddp_nodes import Alike
from jt_edu.distributed.groups import get_global_rank, own_group
from jt_edu.distributed.objects import broadcast_object_list
from jt_edu.distributed.reducer import Event, Hook, Reducer
from jt_edu.distributed.scatter_gather import devices_of, gather, scatter_kwargs
from jt_edu.ir.node import Node
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import number, yes_or_no
from jt_edu.runtime.execute import run
from jt_edu.variable.pytree import replaced, vars_in
from jt_edu.variable.var import Var


class DistributedDataParallel(Module):
    """A module that is trained by all ranks of a group together: each has a copy, and a share of the batch.

        gradient = (1 / ranks) * (gradient on rank 0 + gradient on rank 1 + ...)

    So with equal shares and a loss that is a mean, gradients are those of the whole batch. Parameters and buffers start
    with what rank 0 has. `loss.backward()` and `optimizer.step(loss)` both work, and so do all optimisers. Gradients
    travel in buckets, which leave while the backward pass goes on: see `events`.

    From then on the rank has no team: optimisers do not average a second time, `jt.data` datasets give whole batches
    (take your share with `DistributedSampler`), batch norm sees the batch of one rank.

    Args:
        module: at least one of its parameters takes part in gradients.
        device_ids: None, or names of (simulated) devices, such as ["cpu:0"]. With several, the batch of this rank is
            cut once more, along `dim`, and put together again.
        output_device: where the outputs are put together; the first of `device_ids` by default.
        dim: along which `device_ids` cut the batch.
        broadcast_buffers: at the beginning of each call buffers (running statistics) get the values of rank 0.
        process_group: whose ranks take part; all by default.
        bucket_cap_mb: a bucket is closed when it holds so many MiB; the first one leaves with 1 MiB.
        find_unused_parameters: let parameters take no part in a loss. Ranks tell each other which, at each backward
            pass. One that no rank has a gradient for keeps its `.grad`.
        check_reduction: refuse a call when the gradients of the one before were never asked for.
        gradient_as_bucket_view: gradients are views into their bucket, and not copies out of it.

    Raises:
        ArgumentError: not a module, or none of its parameters takes part in gradients.
        ShapeError: the module of another rank has other parameters.
        RankError: this rank has not joined the others, or is no member of the group.
        GradientError, in the backward pass: a parameter takes no part in the loss (unless that is allowed).

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     net = jt.nn.parallel.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
        ...     loss = net(jt.array([[1.0 + comm.rank]])).sum()
        ...     loss.backward()
        ...     return net.module.weight.grad.item()
        >>> jt.simulate(3)(program)
        [2.0, 2.0, 2.0]

    Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
    (arXiv:2006.15704).
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, process_group: Any = None, bucket_cap_mb: float = 25,
        find_unused_parameters: bool = False, check_reduction: bool = False, gradient_as_bucket_view: bool = False,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        if not isinstance(module, Module):
            raise ArgumentError(f"{name} takes a module", type(module).__name__)
        self.module, cap = module, number(name, "bucket_cap_mb", bucket_cap_mb, 0, above=True)
        self.device_ids, self.output_device, self.dim = devices_of(name, device_ids, output_device, dim)
        self.broadcast_buffers = yes_or_no(name, "broadcast_buffers", broadcast_buffers)
        self.check_reduction = yes_or_no(name, "check_reduction", check_reduction)
        self.process_group = own_group(process_group, "DistributedDataParallel")
        tolerant = yes_or_no(name, "find_unused_parameters", find_unused_parameters)
        views = yes_or_no(name, "gradient_as_bucket_view", gradient_as_bucket_view)
        named = [(n, p) for n, p in own(module).named_parameters() if p.requires_grad]
        if not named:
            raise ArgumentError(f"{name} averages gradients", "a module without a parameter that has one")
        _compare(module, self.process_group)
        current().rank_state["team"] = None
        held = [*own(module).parameters(), *own(module).buffers()]
        Alike(self.process_group, "parameters and buffers of rank 0")(held)
        run(list(current().due))
        self._alike = Alike(self.process_group, "buffers of rank 0")
        self._reducer = Reducer(named, self.process_group, int(cap * (1 << 20)), tolerant, views)
        self._given: dict[int, list[Var]] = {}  # number of a parameter -> gradients that came through a gate
        self._syncs = True
        self._rearranged = tolerant  # gradients that may be missing tell nothing about the order of those that come
        self._asked = True  # gradients of the call before
        self._called_in_step = False
        for k, (_, p) in enumerate(named):
            undo = p.register_hook(partial(_past_the_gate, weakref.ref(self), k))
            weakref.finalize(self, undo).atexit = False

    # computing

    def execute(self, *args: Any, **named: Any) -> Any:
        """What the module computes; its gradients are to be those of all ranks."""
        context = current()
        context.rank_state["team"] = None
        graded = not context.no_grad
        self._begin_call(graded)
        since = next(context.ids)
        out = self._computed(args, named)
        if not graded:
            return out
        self._called_in_step = self._syncs
        if not self._syncs:
            self._reducer.folds = True
            return out
        self._asked = False
        inside = vars_in(out)
        outs = [v for v in inside if v.requires_grad]
        passed = iter(Gate(outs, self._reducer.params, since, _Told(self)).behind()) if outs else iter(())
        return replaced(out, [next(passed) if v.requires_grad else v for v in inside])

    def _computed(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if len(self.device_ids) < 2:
            return self.module(*args, **named)
        inputs, words = scatter_kwargs(args, named, self.device_ids, self.dim)
        outs = parallel_apply([self.module] * len(inputs), inputs, words, self.device_ids[: len(inputs)])
        return gather(outs, self.output_device, self.dim)

    def _begin_call(self, graded: bool) -> None:
        """What ranks have to tell each other before a call: the order of buckets, once, and buffers."""
        if not self._syncs:
            return
        if graded and self.check_reduction and not self._asked:
            raise GradientError(
                "check_reduction=True: the gradients of a call are asked for before the next one",
                "a call without a backward pass", "loss.backward(), or no_sync() and no_grad() around such calls",
            )  # fmt: skip
        if not self._rearranged and self._reducer.order and current().capture is None:
            self._rearranged = True
            order = [list(self._reducer.order)]
            broadcast_object_list(order, get_global_rank(self.process_group, 0), self.process_group)
            self._reducer.arrange(order[0])
        buffers = own(self.module).buffers() if self.broadcast_buffers else []
        if buffers:
            self._alike(buffers)

    @scoped
    def no_sync(self) -> Iterator[None]:
        """Let gradients of calls inside add up on this rank, without a word to the others.

        With the gradients of the next call outside those in `.grad` travel too, and what comes back takes their place.

        Example:
            >>> def program(comm):
            ...     jt.distributed.init_process_group()
            ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
            ...     with net.no_sync():
            ...         net(jt.array([[1.0 + comm.rank]])).sum().backward()
            ...     alone = net.module.weight.grad.item()
            ...     net(jt.array([[10.0]])).sum().backward()
            ...     return alone, net.module.weight.grad.item()
            >>> jt.simulate(2)(program)
            [(1.0, 11.5), (2.0, 11.5)]
        """
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    # how gradients travel

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Let `hook(state, bucket)` do what buckets need to become those of all ranks; once, before the first call.

        Args:
            state: whatever the hook likes to keep.
            hook: called for each bucket, when all of its gradients are there, in the same order on all ranks. `bucket`
                is a `GradBucket`, whose `buffer()` is a flat Var. It returns a future of as many numbers: `Work` has
                `get_future()`, and `then` adds to a future. Nothing is divided by the number of ranks but by the hook.

        Raises:
            ArgumentError: not a function, or there is one already.

        Example:
            >>> def halved(state, bucket):
            ...     work = jt.distributed.all_reduce(bucket.buffer(), async_op=True)
            ...     return work.get_future().then(lambda f: f.value()[0] / 2)
            >>> def program(comm):
            ...     jt.distributed.init_process_group()
            ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
            ...     net.register_comm_hook(None, halved)
            ...     net(jt.array([[1.0 + comm.rank]])).sum().backward()
            ...     return net.module.weight.grad.item()
            >>> jt.simulate(2)(program)
            [1.5, 1.5]
        """
        if not callable(hook):
            raise ArgumentError("a communication hook is a function of (state, bucket)", repr(hook))
        if self._reducer.hook is not None:
            raise ArgumentError("a module has one communication hook", "a second one", "one that calls both")
        self._reducer.hook, self._reducer.hook_state = hook, state

    @property
    def events(self) -> list[Event]:
        """What happened in the last backward pass, in order: gradients arrived, buckets fired, were sent, received.

        Example:
            >>> def program(comm):
            ...     jt.distributed.init_process_group()
            ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1))
            ...     net(jt.ones(1, 1)).sum().backward()
            ...     return [(e.what, e.name) for e in net.events]
            >>> jt.simulate(2)(program)[0]
            [('arrived', 'bias'), ('arrived', 'weight'), ('fires', ''), ('sent', ''), ('received', '')]
        """
        return list(self._reducer.events)

    @property
    def buckets(self) -> list[list[str]]:
        """The names of the parameters in each bucket, the one that fires first first.

        Example:
            >>> def program(comm):
            ...     jt.distributed.init_process_group()
            ...     return jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1)).buckets
            >>> jt.simulate(2)(program)[0]
            [['bias', 'weight']]
        """
        return [[self._reducer.names[k] for k in bucket] for bucket in self._reducer.buckets]


class _Told:
    """Who is told of a backward pass: the reducer; and the module notes what it answered."""

    def __init__(self, owner: DistributedDataParallel) -> None:
        self.owner, self.reducer = owner, owner._reducer
        self.arrived = self.reducer.arrived

    def start(self, used: Sequence[bool]) -> None:
        """It begins."""
        self.owner._asked = True
        self.reducer.start(used)

    def finish(self) -> list[Var | None]:
        """Gradients of all ranks."""
        answers = self.reducer.finish()
        for k, answer in enumerate(answers):
            if answer is not None:
                self.owner._given.setdefault(k, []).append(answer)
        return answers


def _past_the_gate(owner: weakref.ref[DistributedDataParallel], number: int, dout: Var) -> Var | None:
    """The hook of a parameter: what came to it by another way than through a gate is put together as well.

    That is a term of the loss that reads the parameter itself, or a Var that the module kept aside.
    """
    ddp = owner()
    if ddp is None:
        return None
    given = ddp._given.pop(number, [])
    if not ddp._called_in_step or _adds_up(dout.node, {v.node for v in given}):
        return None
    if not given:
        return ddp._reducer.mean(dout)
    known = sum(given[1:], given[0])
    return known + ddp._reducer.mean(dout - known)


def _adds_up(total: Node, parts: set[Node]) -> bool:
    """Whether a gradient is a sum of known ones, and of nothing else."""
    return total in parts or (total.op.name == "add" and all(_adds_up(i, parts) for i in total.inputs))


def _compare(module: Module, group: Any) -> None:
    """Refuse modules that are not made of the same parameters as that of rank 0."""
    mine = [(name, p.shape, str(p.dtype), p.requires_grad) for name, p in own(module).named_parameters()]
    told = [mine]
    broadcast_object_list(told, get_global_rank(group, 0), group)
    for here, other in zip([*mine, None], [*told[0], None], strict=False):
        if here != other:
            rank = group.rank()
            asked = "the modules of all ranks have the same parameters"
            raise ShapeError(asked, f"{_said(here)} on rank {rank} of the group, {_said(other)} on rank 0")


def _said(row: Any) -> str:
    if row is None:
        return "no more"
    name, shape, dtype, tracked = row
    return f"{name} of shape {shape} and {dtype}" + ("" if tracked else ", frozen")
