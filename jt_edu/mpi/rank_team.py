"""Rank team: what makes a training on several ranks what it is on one, if its loss is a mean over the examples.

    the whole batch     8 examples                       loss = mean over 8
    rank 0              5 of them                        part = 5/8 of its mean
    rank 1              the other 3                      part = 3/8 of its mean       the parts add up to the loss

The loss of the whole batch is a sum with one part for each rank, and so its gradient is the sum of the gradients of the
parts: exact for shares of any size, where a plain mean over ranks is wrong as soon as they differ. Optimisers, batch
norm and datasets ask their `team` for these (variable/parallel_context.py); here is the one that speaks to other ranks.

    dataset      cuts each batch into one share for each rank          `mine`, `handed_out`
    batch norm   mean and variance of the whole batch                  `moments`
    optimiser    gradients and loss of the whole batch                 `part`, `added`

`optimizer.step(loss)` and `optimizer.backward(loss)` are exact for a mean in which every example counts alike. A sum,
or a mean that leaves out some labels (`ignore_index`), is weighted as if it were one, and another number comes out.
Dropout forgets other numbers than on one rank: each rank draws its own. `loss.backward()` knows the loss of one rank
only: what it leaves in `.grad` is put together when the optimiser uses it, which is exact if all shares are equally
large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.capture.recorder import knob
from jt_edu.ir.node import Node
from jt_edu.mpi.communicator.groups import Communicator
from jt_edu.mpi.differentiable_collectives import added, inputs_of, mpi_all_gather, mpi_broadcast
from jt_edu.ops.concat import stack
from jt_edu.runtime.execute import run
from jt_edu.variable.parallel_context import Numbers
from jt_edu.variable.var import Var

BUCKET = 25 << 20  # bytes of gradients that travel in one message, more or less


class RankTeam:
    """The team of one rank: all ranks of its communicator."""

    def __init__(self, comm: Communicator) -> None:
        self.comm, self.rank, self.size = comm, int(comm.rank), int(comm.size)
        self._marks: WeakKeyDictionary[Node, int] = WeakKeyDictionary()  # examples of the batch that a Var is from
        self._at_hand: int | None = None  # examples of the batch that was handed out last
        self._loss_of: int | None = None  # examples of the batch whose loss is worked on

    # data

    def agree(self, value: Any) -> Any:
        """What rank 0 has."""
        return self.comm.bcast(value)

    def mine(self, numbers: Numbers) -> Numbers:
        """A share of consecutive examples; shares differ by one at most.

        A batch of fewer examples than ranks leaves some without: they get the last one, and it does not count.
        """
        share = np.array_split(np.asarray(numbers), self.size)[self.rank]
        return share if share.size else np.asarray(numbers)[-1:]

    def handed_out(self, variables: Sequence[Var], examples: int) -> None:
        """Remember on the Vars of a batch how many examples it has on all ranks."""
        for v in variables:
            self._marks[v.node] = examples

    def at_hand(self, examples: int | None) -> int | None:
        """The batch that is worked on, where nothing leads back to it: in a compiled step, for one."""
        before, self._at_hand = self._at_hand, examples
        return before

    @contextmanager
    def about(self, loss: Var) -> Iterator[None]:
        """Inside, the weight of this rank is that of the batch which the loss was made of."""
        outer, self._loss_of = self._loss_of, self._batch_of(loss)
        try:
            yield
        finally:
            self._loss_of = outer

    def _batch_of(self, loss: Var) -> int | None:
        """How many examples the batch of a loss has; None if nothing tells.

        Its graph is walked only if the batches that are alive, and the one that is worked on, differ in size.

        Raises:
            ArgumentError: it is made of several batches, of which this rank has different shares.
        """
        if {*self._marks.values(), self._at_hand} == {self._at_hand}:
            return self._at_hand
        found = self._batches_behind(loss)
        if len({self._weight_in(n) for n in found}) > 1:
            sizes = " and ".join(f"{n} examples" for n in sorted(found))
            raise ArgumentError(
                "a loss is a mean over one batch", f"batches of {sizes}, of which this rank has different shares",
                "batch sizes that the number of ranks divides, or a step for each",
            ).at(loss.node.line)  # fmt: skip
        return next(iter(found), None)

    def _batches_behind(self, v: Var) -> set[int]:
        """How many examples those batches have that a Var was made of."""
        seen, waiting = set[Node](), [v.node]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting.extend(inputs_of(node))
        return {self._marks[n] for n in seen if n in self._marks}

    def weight(self) -> float:
        """How much of the whole batch this rank works on."""
        examples = self._at_hand if self._loss_of is None else self._loss_of
        return 1 / self.size if examples is None else self._weight_in(examples)

    def _weight_in(self, examples: int) -> float:
        return self._share(examples) / examples

    def _share(self, examples: int) -> int:
        full, rest = divmod(examples, self.size)
        return full + int(self.rank < rest)

    def _presence(self, numbers: Var) -> Callable[[], float]:
        """Answers 1, or 0 if the example of this rank is one that does not count in the batch of these numbers.

        Only where some batches have fewer examples than there are ranks, and others do not, a graph is walked.

        Raises:
            ArgumentError: nothing tells of which of them the numbers are.
        """
        live = set(self._marks.values())
        found = set[int]()
        if len({self._is_small(n) for n in (*live, self._at_hand)}) > 1:
            found = self._batches_behind(numbers)
            unknown = not found and current().capture is None  # a compiled step is told at each replay
            if len({self._is_small(n) for n in (live if unknown else found)}) > 1:
                sizes = " and ".join(f"{n} examples" for n in sorted(live if unknown else found))
                raise ArgumentError(
                    "batch norm knows the batch that its numbers are made of",
                    f"batches of {sizes}, and numbers that were made of {'none' if unknown else 'several'} of them",
                    "the Vars of one batch, not copies of their numbers; or drop_last=True",
                ).at(numbers.node.line)
        return lambda: float(self._counts_in(next(iter(found), self._at_hand)))

    def _is_small(self, examples: int | None) -> bool:
        """Whether a batch leaves ranks without an example."""
        return examples is not None and examples < self.size

    def _counts_in(self, examples: int | None) -> bool:
        return examples is None or self._share(examples) > 0

    # layers

    def moments(self, count: int, mean: Var, variance: Var) -> tuple[Var, Var, Var]:
        """(numbers, mean, variance sum / n) of all ranks from those of each, channel by channel.

            n = sum n_r,    mean = sum n_r mean_r / n,    variance = sum n_r (variance_r + (mean_r - mean)^2) / n

        No difference of large squares is taken, so nothing is lost where the mean is large beside the spread.

        Source: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance".
        """
        n = mean.zeros_like() + count * knob(self._presence(mean))
        rows = mpi_all_gather(stack([n, mean, variance]))  # (ranks, 3, c)
        counts, means, variances = rows[:, 0], rows[:, 1], rows[:, 2]  # (ranks, c)
        total = counts.sum(0)
        middle = (counts * means).sum(0) / total
        away = means - middle
        return total, middle, (counts * (variances + away * away)).sum(0) / total

    # optimisers

    def alike(self, variables: Sequence[Var]) -> None:
        """Give Vars the values that they have on rank 0, as soon as anything runs."""
        with no_grad():
            for v in variables:
                v.update(mpi_broadcast(v))

    def part(self, loss: Var) -> Var:
        """This rank's part of the loss of the whole batch."""
        return loss * knob(self.weight)

    def added(self, values: Sequence[Var | None]) -> list[Var | None]:
        """The sums over all ranks, in messages of some 25 MB; of gradients that are computed last, first."""
        found: list[Var | None] = [None] * len(values)
        for bucket in _buckets(values):
            sums = added([v for k in bucket if (v := values[k]) is not None])
            for k, total in zip(bucket, sums, strict=True):
                found[k] = total
        return found


def _buckets(values: Sequence[Var | None]) -> list[list[int]]:
    """The numbers of the values that travel together: of one dtype, and not more than BUCKET bytes if several."""
    buckets: list[list[int]] = []
    open_ones: dict[str, tuple[list[int], int]] = {}
    for k, v in enumerate(values):
        if v is None:
            continue
        size, name = v.size * v.dtype.size, str(v.dtype)
        bucket, filled = open_ones.get(name, ([], 0))
        if not bucket or filled + size > BUCKET:
            bucket, filled = [], 0
            buckets.append(bucket)
        bucket.append(k)
        open_ones[name] = (bucket, filled + size)
    return buckets


def join(comm: Communicator) -> None:
    """Make this rank a member: its communicator and its team, for everything that it computes from now on."""
    state = current().rank_state
    state["communicator"], state["team"] = comm, RankTeam(comm)
    comm.before = flush


@contextmanager
def alone() -> Iterator[None]:
    """Inside, this rank is in no world; afterwards it is again what it was, in the middle of the same batch."""
    flush()
    state = current().rank_state
    kept: dict[str, Any] = {name: state.pop(name) for name in ("communicator", "team") if name in state}
    try:
        yield
    finally:
        state.update(kept)


def flush() -> None:
    """Run all messages of this rank that are due: before it speaks to others by hand, and at its end.

    Example:
        >>> def program():
        ...     y = jt.array([1.0]).mpi_all_reduce()
        ...     flush()
        ...     return y.node.pending
        >>> jt.simulate(2)(program)
        [False, False]
    """
    run(list(current().due))
