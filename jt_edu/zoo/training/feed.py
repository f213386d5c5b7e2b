"""Feed: in which order do examples come, and how are they changed on their way into batches?

    epoch 3, example 17     its random changes begin with a seed made of these two numbers and that of the run

So nothing depends on who makes a batch, in how many processes, on how many ranks, or whether the epoch was begun by
another process that was killed meanwhile: there is no state to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data import DataLoader
from jt_edu.data.fetch import own_numbers
from jt_edu.data.sampler import Sampler, count_examples, mixed
from jt_edu.variable.parallel_context import place, team
from jt_edu.variable.pytree import vars_in

Key = tuple[int, int]  # an epoch, and the number of an example


class Examples:
    """Images of a source by (epoch, number), changed by a transform, for which random numbers begin with `seed`.

    Args:
        images: pixels and labels by number.
        transform: of the pixels.
        seed: None if the transform draws nothing.
    """

    def __init__(self, images: Any, transform: Callable[[Any], Any], seed: int | None) -> None:
        self.images, self.transform, self.seed = images, transform, seed

    def __getitem__(self, key: Key) -> tuple[Any, int]:
        with nullcontext() if self.seed is None else own_numbers(mixed(self.seed, *key)):
            pixels, label = self.images[key[1]]
            return self.transform(pixels), label

    def __len__(self) -> int:
        return count_examples(self.images)


class Order(Sampler):
    """Numbers of examples in batches, from batch `start` of an epoch on: of each this rank's share, or every n-th one.

    Args:
        count: how many examples there are.
        batch: how many make a batch, of all ranks together.
        seed: of the order; None: as they are, and the last batch may be smaller.
        repeats: how often an example stands in a batch.

    Example:
        >>> order = Order(5, 2, seed=None)
        >>> list(order)
        [[(0, 0), (0, 1)], [(0, 2), (0, 3)], [(0, 4)]]
    """

    def __init__(self, count: int, batch: int, seed: int | None, repeats: int = 1) -> None:
        self.count, self.batch, self.seed, self.repeats = count, batch, seed, repeats
        self.epoch = self.start = 0

    def __iter__(self) -> Iterator[list[Key]]:
        numbers = np.arange(self.count)
        if self.seed is not None:
            numbers = np.random.default_rng((self.seed, self.epoch)).permutation(numbers)
            numbers = np.repeat(numbers, self.repeats)[: self.count]
        for k in range(self.start, len(self)):
            mine = self.share(numbers[k * self.batch : (k + 1) * self.batch], k)
            if len(mine):
                yield [(self.epoch, int(n)) for n in mine]

    def share(self, numbers: Any, k: int) -> Any:
        """What this rank has of batch k."""
        rank, size = place()
        if self.seed is None:
            return numbers if k % size == rank else ()
        crew = team()
        return numbers if crew is None else crew.mine(numbers)

    def __len__(self) -> int:
        return -(-self.count // self.batch) if self.seed is None else self.count // self.batch


class Feed:
    """Batches (images, labels) for the epochs of a training.

    Args:
        examples: what they are made of.
        order: which come when.
        workers: how many processes make them.

    Raises:
        ArgumentError: there are fewer examples than a batch has.
    """

    def __init__(self, examples: Examples, order: Order, workers: int) -> None:
        if not len(order):
            found = f"{order.count} of them for batches of {order.batch}"
            raise ArgumentError("an epoch has enough examples for a batch", found, f"--batch-size {order.count}")
        self.order = order
        self.loader = DataLoader(
            examples, batch_sampler=order, num_workers=workers, persistent_workers=workers > 0, generator=0
        )

    def __len__(self) -> int:
        return len(self.order)

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Any, Any]]:
        """The batches of an epoch, from batch `start` on."""
        self.order.epoch, self.order.start = number, start
        crew = team() if self.order.seed is not None else None
        before = crew.at_hand(self.order.batch) if crew else None
        try:
            for batch in self.loader:
                if crew:
                    crew.handed_out(vars_in(batch), self.order.batch)
                    crew.at_hand(self.order.batch)
                yield batch
        finally:
            if crew:
                crew.at_hand(before)
