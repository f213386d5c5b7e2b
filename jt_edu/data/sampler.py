"""Samplers: in which order, and how often, are examples seen?

    SequentialSampler       0, 1, 2, ...
    RandomSampler           every example once, in a new order each time; or drawn with replacement
    SubsetRandomSampler     some of the examples, in a new order each time
    WeightedRandomSampler   drawn with the chances that it was given
    BatchSampler            the numbers of another sampler, in batches
    SkipFirstBatches        the batches of another sampler, without the first few

A sampler gives numbers and knows no example. Its numbers come from a `jt.Generator`, by default that of this rank,
which `jt.set_global_seed` seeds: the same seed gives the same epochs, and no two epochs are alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, JtError, ShapeError
from jt_edu.base.own import Extended
from jt_edu.data.collate import as_array
from jt_edu.ops.arguments import whole, yes_or_no
from jt_edu.variable.random import Generator, default_generator

__all__ = ["BatchSampler", "LengthError", "RandomSampler", "Sampler", "SequentialSampler", "SkipFirstBatches",
           "SubsetRandomSampler", "WeightedRandomSampler"]  # fmt: skip


class LengthError(JtError, TypeError):
    """The length is unknown; a TypeError, so that `list()` works without it.

    Example:
        >>> class Letters(Sampler):
        ...     def __iter__(self):
        ...         return iter("abc")
        >>> list(BatchSampler(Letters(), 2))
        [['a', 'b'], ['c']]
        >>> len(BatchSampler(Letters(), 2))
        Traceback (most recent call last):
        LengthError: a BatchSampler is as long as its sampler; found Letters without __len__.
    """


def count_examples(dataset: Any) -> int:
    """How many examples a dataset has: its `total_len`, if it has one, else its `len()`."""
    total = getattr(dataset, "total_len", -1)
    if isinstance(total, (int, np.integer)) and total >= 0:
        return int(total)
    if not hasattr(dataset, "__len__"):
        raise ArgumentError("a dataset knows how many examples it has", f"{type(dataset).__name__} without __len__")
    return length_of(dataset)


def count_batches(examples: int, size: int, drop_last: bool) -> int:
    """How many batches so many examples make.

    Example:
        >>> count_batches(5, 2, drop_last=False), count_batches(5, 2, drop_last=True)
        (3, 2)
    """
    full, rest = divmod(examples, size)
    return full + (1 if rest and not drop_last else 0)


def as_long_as(who: str, word: str, source: Any) -> int:
    """The length of what `who` goes over, its `word`; LengthError if that has none."""
    if not hasattr(source, "__len__"):
        raise LengthError(f"{who} is as long as its {word}", f"{type(source).__name__} without __len__")
    return length_of(source)


def length_of(thing: Any) -> int:
    """The result of `len()`. Python's errors about what `__len__` returned become ours."""
    try:
        return len(thing)
    except JtError:  # says all
        raise
    except (TypeError, ValueError) as error:
        asked = f"{type(thing).__name__} has a length, a whole number from 0"
        raise ArgumentError(asked, str(error)) from None


def as_generator(generator: Any) -> Generator | None:
    """A generator as it is, a seed as a new one, None for the one of this rank."""
    if generator is None or isinstance(generator, Generator):
        return generator
    return Generator(generator)


def fresh_seed(generator: Generator | None) -> int:
    """A seed that this generator has not given before."""
    source = generator or default_generator()
    return mixed(source.key, source.draw(1))


def mixed(*numbers: int) -> int:
    """One seed of 63 bits from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


class Sampler(Extended):
    """Yields the indices of examples. Your own sampler defines `__iter__`, and `__len__` if the length is known.

    Args:
        data_source: the dataset, which is kept for your own sampler; nothing here asks for it.

    Example:
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter([2, 1, 0])
        >>> list(Backwards())
        [2, 1, 0]
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise ArgumentError(f"{type(self).__name__} must say which examples come next", "no __iter__ method")


class SequentialSampler(Sampler):
    """0, 1, 2, ... to the last example.

    Example:
        >>> list(SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return count_examples(self.data_source)


class RandomSampler(Sampler):
    """Every example once, in a new order each time; with `replacement`, each draw is from all of them.

    Args:
        data_source: the dataset.
        replacement: an example may be drawn again before all were.
        num_samples: how many to draw; all of them by default. More than that begins a new round.
        generator: a `jt.Generator`, or a seed.

    Raises:
        ArgumentError: there is nothing to draw from.

    Example:
        >>> sorted(RandomSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        self.replacement = yes_or_no("RandomSampler", "replacement", replacement)
        self.num_samples = None if num_samples is None else whole("RandomSampler", "num_samples", num_samples, 1)
        self.generator = as_generator(generator)

    def __iter__(self) -> Iterator[int]:
        n, wanted = count_examples(self.data_source), len(self)
        if n == 0:
            raise ArgumentError("a RandomSampler draws from the examples of a dataset", f"{n} examples")
        rng = np.random.default_rng(fresh_seed(self.generator))
        if self.replacement:
            return iter(rng.integers(0, n, wanted).tolist())
        rounds = [rng.permutation(n) for _ in range(-(-wanted // n))]
        return iter(np.concatenate(rounds)[:wanted].tolist())

    def __len__(self) -> int:
        return count_examples(self.data_source) if self.num_samples is None else self.num_samples


class SubsetRandomSampler(Sampler):
    """Some of the examples, each once, in a new order each time.

    Example:
        >>> sorted(SubsetRandomSampler([7, 3, 5]))
        [3, 5, 7]
    """

    def __init__(self, indices: Iterable[Any], generator: Any = None) -> None:
        if not isinstance(indices, Iterable):
            raise ArgumentError("a SubsetRandomSampler takes the indices of examples", repr(indices))
        self.indices, self.generator = list(indices), as_generator(generator)

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng(fresh_seed(self.generator)).permutation(len(self.indices))
        return iter([self.indices[k] for k in order])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Example k is drawn with the chance weights[k] / sum(weights), so that a rare class can be seen often.

    Args:
        weights: one number for each example; none is negative, and not all are 0.
        num_samples: how many to draw.
        replacement: an example may be drawn again; without it, at most those with a weight above 0 can be drawn.
        generator: a `jt.Generator`, or a seed.

    Raises:
        ShapeError: the weights are not one row of numbers.
        ArgumentError: a weight is negative or not finite, all are 0, or too many examples are asked for.

    Example:
        >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], 4))
        [1, 1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        self.weights = as_array(weights).astype(np.float64)
        if self.weights.ndim != 1 or not self.weights.size:
            raise ShapeError("weights are one number for each example", f"shape {self.weights.shape}")
        odd = self.weights[~(np.isfinite(self.weights) & (self.weights >= 0))]
        if odd.size or not self.weights.any():
            found = f"{odd[0]}" if odd.size else "nothing but 0"
            raise ArgumentError("weights are finite, not negative, and not all 0", found)
        who = "WeightedRandomSampler"
        self.num_samples = whole(who, "num_samples", num_samples, 1)
        self.replacement, self.generator = yes_or_no(who, "replacement", replacement), as_generator(generator)
        if not self.replacement and self.num_samples > np.count_nonzero(self.weights):
            raise ArgumentError(
                "without replacement, each example with a weight above 0 is drawn at most once",
                f"num_samples {num_samples}, {np.count_nonzero(self.weights)} such examples", "replacement=True",
            )  # fmt: skip

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng(fresh_seed(self.generator))
        chances = self.weights / self.weights.max()  # no sum overflows
        drawn = rng.choice(len(chances), self.num_samples, self.replacement, chances / chances.sum())
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """The indices of another sampler, in lists of `batch_size`; with `drop_last` only full ones.

    Example:
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False) -> None:
        if not isinstance(sampler, Iterable):
            raise ArgumentError("a BatchSampler takes a sampler, or other indices of examples", repr(sampler))
        self.sampler = sampler
        self.batch_size = whole("BatchSampler", "batch_size", batch_size, 1)
        self.drop_last = yes_or_no("BatchSampler", "drop_last", drop_last)

    def __iter__(self) -> Iterator[list[Any]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        numbers = as_long_as("a BatchSampler", "sampler", self.sampler)
        return count_batches(numbers, self.batch_size, self.drop_last)


class SkipFirstBatches(Sampler):
    """The batches of another sampler without the first `skip`, to continue an epoch that was interrupted.

    Example:
        >>> list(SkipFirstBatches(BatchSampler(range(5), 2), skip=1))
        [[2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], skip: int) -> None:
        if not isinstance(sampler, Iterable):
            raise ArgumentError("SkipFirstBatches goes over a batch sampler", repr(sampler))
        self.sampler, self.skip = sampler, whole("SkipFirstBatches", "skip", skip, 0)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.sampler, self.skip, None)

    def __len__(self) -> int:
        return max(0, as_long_as("SkipFirstBatches", "sampler", self.sampler) - self.skip)
