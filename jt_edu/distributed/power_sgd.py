"""PowerSGD: two slim matrices travel instead of a large one.

    M (n, m)  ~  P (n, r)  Q (m, r)'          n m numbers become r (n + m)

    P = mean of M Q        one step of the power method, for the mean of all ranks' M
    P = orthogonalised P
    Q = mean of M' P       so P Q' is the part of the mean that lies in the r directions of P

What is left over is not lost: each rank adds its M - P Q' to its next gradient (error feedback). The next step starts
with the Q of this one (warm start), so that the directions get better from step to step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.buckets import GradBucket, cut, size_of
from jt_edu.distributed.comm_hooks import allreduce_hook, members_of, total_of
from jt_edu.distributed.work import Future
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.concat import concat, stack
from jt_edu.variable.var import Var, as_var


class PowerSGDState:
    """What PowerSGD is told, and what it remembers from step to step.

    Args:
        process_group: whose ranks; None: all.
        matrix_approximation_rank: r, how many directions of a matrix travel.
        start_powerSGD_iter: so many steps come first in which whole gradients travel: early ones change a lot.
        min_compression_rate: a matrix travels whole unless it shrinks by more than this, n m / (r (n + m)).
        use_error_feedback: what was left over is added to the next gradient.
        warm_start: the next step begins with the Q of this one.
        orthogonalization_epsilon: is added to lengths before they divide.
        random_seed: of the Q that a matrix begins with; the same on all ranks.

    Raises:
        ArgumentError: a number out of its range; or a start before step 2, with error feedback or warm start: the first
            step uses other buckets than those that follow.

    Example:
        >>> state = jt.distributed.PowerSGDState(matrix_approximation_rank=2)
        >>> state.start_powerSGD_iter, state.min_compression_rate, state.use_error_feedback, state.warm_start
        (1000, 2, True, True)
    """

    def __init__(
        self, process_group: Any = None, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
        orthogonalization_epsilon: float = 0, random_seed: int = 0,
    ) -> None:  # fmt: skip
        whole("PowerSGDState", "matrix_approximation_rank", matrix_approximation_rank, 1)
        whole("PowerSGDState", "start_powerSGD_iter", start_powerSGD_iter, 0)
        number("PowerSGDState", "min_compression_rate", min_compression_rate, 0)
        number("PowerSGDState", "orthogonalization_epsilon", orthogonalization_epsilon, 0)
        feedback = yes_or_no("PowerSGDState", "use_error_feedback", use_error_feedback)
        warm = yes_or_no("PowerSGDState", "warm_start", warm_start)
        if start_powerSGD_iter < 2 and (feedback or warm):
            asked = "start_powerSGD_iter is 2 or more, with error feedback or warm start: buckets change after step 1"
            raise ArgumentError(asked, repr(start_powerSGD_iter), "use_error_feedback=False, warm_start=False")
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = feedback, warm
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.iter = 0
        self.error_dict: dict[int, Var] = {}  # number of a bucket -> what was left over on this rank
        self.q_memory_dict: dict[int, list[Var]] = {}  # number of a bucket -> the Q of each matrix
        self.rng = np.random.RandomState(random_seed)
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """(how many times fewer numbers travelled, numbers of the gradients, numbers that travelled).

        Example:
            >>> jt.distributed.PowerSGDState().compression_stats()
            (0.0, 0, 0)
        """
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after

    def directions(self, shapes: Sequence[Shape], dtype: Any) -> list[Var]:
        """The Q that matrices begin with: random, and the same on all ranks."""
        numbers = np.random.RandomState(self.rng.randint(1_000_000_000))
        return [as_var(numbers.standard_normal(s)).cast(dtype) for s in shapes]

    def shrinks(self, shape: Shape) -> int:
        """The number of directions with which a gradient of this shape travels; 0: it travels whole."""
        n = shape[0] if shape else 1
        m = size_of(shape) // max(n, 1)
        rank = min(n, m, self.matrix_approximation_rank)
        return rank if (n + m) * rank * self.min_compression_rate < n * m else 0

    def count(self, shapes: Sequence[Shape]) -> None:
        """Add up the numbers of a bucket, and of what travels of it."""
        for shape in shapes:
            rank, size = self.shrinks(shape), size_of(shape)
            self.total_numel_before_compression += size
            self.total_numel_after_compression += (shape[0] + size // shape[0]) * rank if rank else size


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:  # noqa: N802 - as in PyTorch
    """Matrices of a bucket travel as P and Q, everything else whole.

    Args:
        state: the same settings on all ranks.
        bucket: gradients of this rank.

    Returns:
        A future of the mean gradients, as well as P and Q can tell them.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(8, 8, bias=False))
        ...     state = jt.distributed.PowerSGDState(start_powerSGD_iter=2)
        ...     net.register_comm_hook(state, jt.distributed.powerSGD_hook)
        ...     for step in range(3):
        ...         net(jt.ones(1, 8)).sum().backward()
        ...     return round(net.module.weight.grad[0, 0].item(), 4), state.compression_stats()
        >>> jt.simulate(2)(program)[0]  # a gradient of ones has one direction only: nothing is lost
        (3.0, (4.0, 64, 16))

    Source: Vogels, Karimireddy and Jaggi 2019, "PowerSGD" (arXiv:1905.13727).
    """
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(state.process_group, bucket)
    return _Round(state, bucket).future()


class _Round:
    """One bucket on its way."""

    def __init__(self, state: PowerSGDState, bucket: GradBucket) -> None:
        self.state, self.bucket, self.number = state, bucket, bucket.index()
        self.size = members_of(state.process_group).size()
        whole = bucket.buffer()
        if state.use_error_feedback and self.number in state.error_dict:
            whole = whole + state.error_dict[self.number]
        self.whole = whole.sync()
        self.shapes: list[Shape] = [p.shape for p in bucket.parameters()]
        gradients = cut(self.whole, self.shapes)
        state.count(self.shapes)
        self.slim = [k for k, s in enumerate(self.shapes) if state.shrinks(s)]
        self.matrices = [gradients[k].reshape(self.shapes[k][0], -1) for k in self.slim]
        self.rest = [gradients[k] for k in range(len(gradients)) if k not in self.slim]

    def future(self) -> Future:
        """Whole gradients and P leave now; Q when P is there."""
        self.rest_under_way = total_of(_joined(self.rest) / self.size, self._group) if self.rest else None
        if not self.slim:
            assert self.rest_under_way is not None, "a bucket has gradients"
            return self.rest_under_way.then(lambda f: self._done([], f.value()))
        qs = [self._orthogonal(q) for q in self._start()]
        ps = [m @ q for m, q in zip(self.matrices, qs, strict=True)]
        self.p_shapes, self.q_shapes = [p.shape for p in ps], [q.shape for q in qs]
        return total_of(_joined(ps), self._group).then(self._back).then(self._told)

    @property
    def _group(self) -> Any:
        return self.state.process_group

    def _start(self) -> list[Var]:
        known = self.state.q_memory_dict.get(self.number) if self.state.warm_start else None
        if known is not None:
            return known
        shapes = [(m.shape[1], self.state.shrinks(m.shape)) for m in self.matrices]
        return self.state.directions(shapes, self.whole.dtype)

    def _back(self, f: Future) -> Future:
        """P is there: Q is what the matrices are, seen from its directions."""
        self.ps = [self._orthogonal(p) for p in cut(f.value(), self.p_shapes)]
        qs = [m.transpose(0, 1) @ p for m, p in zip(self.matrices, self.ps, strict=True)]
        return total_of(_joined(qs) / self.size, self._group)

    def _told(self, f: Future) -> Var:
        """Q is there too."""
        qs = [q.sync() for q in cut(f.value(), self.q_shapes)]
        if self.state.warm_start:
            self.state.q_memory_dict[self.number] = qs
        found = [p @ q.transpose(0, 1) for p, q in zip(self.ps, qs, strict=True)]
        return self._done(found, None if self.rest_under_way is None else self.rest_under_way.wait())

    def _done(self, found: Sequence[Var], rest: Var | None) -> Var:
        """The mean gradients; what they lack is kept for the next step."""
        whole = [k for k in range(len(self.shapes)) if k not in self.slim]
        pieces = dict(zip(whole, cut(rest, [self.shapes[k] for k in whole]) if rest is not None else [], strict=True))
        pieces |= dict(zip(self.slim, found, strict=True))
        mean = _joined([pieces[k] for k in range(len(self.shapes))]).sync()
        if self.state.use_error_feedback:
            keeps = _joined([as_var(np.full(size_of(s), k in self.slim)) for k, s in enumerate(self.shapes)])
            self.state.error_dict[self.number] = ((self.whole - mean) * keeps).cast(self.whole.dtype).sync()
        self.state.iter += self.bucket.is_last()
        return mean

    def _orthogonal(self, matrix: Var) -> Var:
        """Columns of length 1, at right angles to each other: Gram-Schmidt, one after the other."""
        columns = [matrix[:, k] for k in range(matrix.shape[1])]
        for k in range(len(columns)):
            length = (columns[k] * columns[k]).sum().sqrt()
            unit = columns[k] / (length + self.state.orthogonalization_epsilon + (length == 0).cast(length.dtype))
            columns[k] = unit
            for j in range(k + 1, len(columns)):
                columns[j] = columns[j] - (unit * columns[j]).sum() * unit
        return stack(columns, 1)


def _joined(variables: Sequence[Var]) -> Var:
    return concat([v.reshape(-1) for v in variables])
