"""DistributedSampler: each rank its part of the examples.

10 examples, 4 ranks     rank 0   0 4 8      the numbers go round; what is missing to equal parts
                         rank 1   1 5 9      is taken from the beginning once more
                         rank 2   2 6 0
                         rank 3   3 7 1
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.sampler import Sampler, count_examples
from jt_edu.distributed.groups import get_rank, get_world_size
from jt_edu.ops.arguments import whole, yes_or_no


class DistributedSampler(Sampler):
    """The numbers of the examples that this rank sees in an epoch; every rank sees equally many.

    Args:
        dataset: the examples.
        num_replicas, rank: how many ranks there are, and which this one is; those of the process group by default.
        shuffle: in another order in each epoch, the same on all ranks.
        seed: of the order; the same on all ranks.
        drop_last: leave out what does not fill equal parts, rather than taking some twice.

    Raises:
        ArgumentError: there is no such rank. RankError: nobody said how many, and no process group knows.

    Example:
        >>> [list(DistributedSampler(range(10), 4, rank, shuffle=False)) for rank in range(4)]
        [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        self.dataset, who = dataset, "DistributedSampler"
        self.num_replicas = whole(who, "num_replicas", get_world_size() if num_replicas is None else num_replicas, 1)
        self.rank = whole(who, "rank", get_rank() if rank is None else rank, 0)
        if self.rank >= self.num_replicas:
            raise ArgumentError(f"rank is a number from 0 to {self.num_replicas - 1}", repr(rank))
        self.shuffle, self.drop_last = yes_or_no(who, "shuffle", shuffle), yes_or_no(who, "drop_last", drop_last)
        self.seed, self.epoch = whole(who, "seed", seed, 0), 0

    def set_epoch(self, epoch: int) -> None:
        """Which epoch comes next: without it, each has the order of the first.

        Example:
            >>> sampler = DistributedSampler(range(100), 2, 0)
            >>> first = list(sampler)
            >>> sampler.set_epoch(1)
            >>> list(sampler) == first
            False
        """
        self.epoch = whole("DistributedSampler", "epoch", epoch, 0)

    @property
    def num_samples(self) -> int:
        """How many examples this rank sees."""
        share = count_examples(self.dataset) / self.num_replicas
        return math.floor(share) if self.drop_last else math.ceil(share)

    @property
    def total_size(self) -> int:
        """How many all ranks see together, those that are taken twice counted twice."""
        return self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = count_examples(self.dataset)
        order = np.arange(count)
        if self.shuffle:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(count)
        even = np.resize(order, self.total_size)  # cut off, or filled up from the beginning
        return iter(even[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples
