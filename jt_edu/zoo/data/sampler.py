"""Samplers, as in timm: which examples does each rank see, when all are seen, and when some are seen several times?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jt_edu.data.sampler import count_examples
from jt_edu.distributed.sampler import DistributedSampler
from jt_edu.ops.arguments import number, whole

__all__ = ["OrderedDistributedSampler", "RepeatAugSampler"]


class OrderedDistributedSampler(DistributedSampler):
    """The examples in their order, dealt to the ranks in turn; the first ones again, until all ranks have equally many.

    Args:
        dataset: the examples.
        num_replicas, rank: how many ranks there are, and which this one is; those of the process group by default.

    Example:
        >>> [list(OrderedDistributedSampler(range(5), 2, rank)) for rank in range(2)]
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None) -> None:
        super().__init__(dataset, num_replicas, rank, shuffle=False)

    @property
    def num_valid_samples(self) -> int:
        """How many of this rank's examples are no repetition."""
        return max(0, (count_examples(self.dataset) + self.num_replicas - 1 - self.rank) // self.num_replicas)


class RepeatAugSampler(DistributedSampler):
    """Each example several times, dealt to the ranks in turn: a batch holds the same image, augmented differently.

    An epoch is as long as without repetition, so it holds only a part of the examples: 1 / num_repeats.

    Args:
        dataset: the examples.
        num_replicas, rank: how many ranks there are, and which this one is; those of the process group by default.
        shuffle: in another order in each epoch, the same on all ranks.
        num_repeats: how often an example is there, a whole number or not.
        selected_round: an epoch is cut off to a multiple of this number; 0: it is not.
        selected_ratio: an epoch of a rank has one of so many examples; 0: num_replicas.

    Example:
        >>> list(RepeatAugSampler(range(4), 1, 0, shuffle=False, num_repeats=2))
        [0, 0, 1, 1]

    Source: Hoffer et al. 2020, "Augment your batch" (arXiv:1901.09335); Touvron et al. 2021 (arXiv:2012.12877).
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        num_repeats: float = 3, selected_round: int = 256, selected_ratio: float = 0,
    ) -> None:  # fmt: skip
        super().__init__(dataset, num_replicas, rank, shuffle)
        who = "RepeatAugSampler"
        self.num_repeats = number(who, "num_repeats", num_repeats, 1, finite=True)
        self.selected_round = whole(who, "selected_round", selected_round, 0)
        self.selected_ratio = number(who, "selected_ratio", selected_ratio, 0, finite=True) or self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = count_examples(self.dataset)
        order = np.arange(count)
        if self.shuffle:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(count)
        repeated = order[(np.arange(math.ceil(self.num_repeats * count)) // self.num_repeats).astype(int)]
        share = math.ceil(count * self.num_repeats / self.num_replicas)
        mine = np.resize(repeated, share * self.num_replicas)[self.rank :: self.num_replicas]
        return iter(mine[: len(self)].tolist())

    def __len__(self) -> int:
        count, unit = count_examples(self.dataset), self.selected_round
        if unit and count >= unit:
            wanted = math.floor(count // unit * unit / self.selected_ratio)
        else:
            wanted = math.ceil(count / self.selected_ratio)
        return min(wanted, math.ceil(count * self.num_repeats / self.num_replicas))
