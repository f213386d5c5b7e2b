"""Dataset ops: datasets made of datasets, and streams.

    Subset          some examples of a dataset           random_split   several subsets, drawn at random
    ConcatDataset   one dataset after the other          StackDataset   datasets side by side
    IterableDataset a stream: examples without numbers   ChainDataset   one stream after the other

What is made of datasets with numbers is a `Dataset`, so it gives batches by itself. Streams give examples; a
`DataLoader` makes batches of them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import Extended, own
from jt_edu.data.checks import place, places
from jt_edu.data.dataset import ATTRIBUTES, Dataset, take
from jt_edu.data.fetch import example
from jt_edu.data.sampler import as_generator, as_long_as, count_examples, fresh_seed
from jt_edu.ops.arguments import number, whole

__all__ = ["ChainDataset", "ConcatDataset", "IterableDataset", "StackDataset", "Subset", "random_split"]


class IterableDataset(Extended):
    """A stream of examples: `__iter__` yields one after the other. Your own stream defines `__iter__`.

    With several workers, each goes through a copy of its own; `get_worker_info()` tells it which part is its.

    Example:
        >>> class Countdown(IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> list(Countdown())
        [3, 2, 1]
    """

    def __iter__(self) -> Iterator[Any]:
        raise ArgumentError(f"{type(self).__name__} must say which examples come next", "no __iter__ method")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(a stream of examples)"


class ChainDataset(IterableDataset):
    """One stream after the other; as long as all of them together, if each has a length.

    Raises:
        LengthError: `len()`, where one of them has none.

    Example:
        >>> class Word(IterableDataset):
        ...     def __init__(self, word):
        ...         self.word = word
        ...     def __iter__(self):
        ...         return iter(self.word)
        >>> list(ChainDataset([Word("ab"), Word("c")]))
        ['a', 'b', 'c']
    """

    def __init__(self, datasets: Iterable[IterableDataset]) -> None:
        self.datasets = list(datasets)
        for one in self.datasets:
            if not isinstance(one, IterableDataset):
                raise ArgumentError("a ChainDataset is made of IterableDatasets", repr(one), "ConcatDataset")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(as_long_as("a ChainDataset", "datasets", one) for one in self.datasets)

    def __bool__(self) -> bool:
        return True  # asked for its truth, a stream is not asked for its length


class Subset(Dataset):
    """Some examples of a dataset, in the given order.

    Args:
        dataset: a Dataset, or anything with `len()` and `[k]`.
        indices: numbers of examples.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        RangeError: there is no such example.

    Example:
        >>> letters = Subset(["a", "b", "c"], [2, 0])
        >>> letters[0], letters[1], letters.total_len
        ('c', 'a', 2)
    """

    def __init__(self, dataset: Any, indices: Iterable[int], **attributes: Any) -> None:
        take(self, attributes)
        if not isinstance(indices, Iterable):
            raise ArgumentError("a Subset takes the indices of examples", repr(indices))
        wanted = indices if hasattr(indices, "dtype") else list(indices)
        self.dataset = dataset
        self.indices: list[int] = places(type(dataset).__name__, wanted, count_examples(dataset)).tolist()
        own(self).set_attrs(total_len=len(self.indices))

    def __getitem__(self, k: int) -> Any:
        return example(self.dataset, self.indices[place("Subset", k, self.total_len)])


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None, **attributes: Any) -> list[Subset]:
    """Split a dataset at random into subsets that have no example in common.

    Args:
        dataset: a Dataset, or anything with `len()` and `[k]`.
        lengths: how many examples each gets; or fractions with the sum 1, where what rounding leaves over goes to the
            first subsets, one example each.
        generator: a `jt.Generator`, or a seed.
        attributes: batch_size, shuffle, ... of the subsets, as for `Dataset`.

    Raises:
        ArgumentError: the lengths have another sum than the dataset has examples.

    Example:
        >>> train, test = random_split(range(10), [0.8, 0.2], generator=0)
        >>> train.total_len, test.total_len, sorted(train.indices + test.indices) == list(range(10))
        (8, 2, True)
    """
    count = count_examples(dataset)
    sizes = _sizes(lengths, count)
    order = np.random.default_rng(fresh_seed(as_generator(generator))).permutation(count).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end], **attributes) for size, end in zip(sizes, ends, strict=True)]


def _sizes(lengths: Sequence[float], count: int) -> list[int]:
    if not isinstance(lengths, Iterable):
        raise ArgumentError("random_split takes the lengths of the subsets, or fractions", repr(lengths), "[0.8, 0.2]")
    parts = list(lengths)
    if any(isinstance(x, (float, np.floating)) for x in parts):
        shares = [number("random_split", "each fraction", x, 0, 1) for x in parts]
        if abs(sum(shares) - 1) > 1e-6:
            raise ArgumentError("fractions are from 0 to 1 and have the sum 1", repr(parts), "[0.8, 0.2]")
        sizes = [int(count * x) for x in shares]
        rest = count - sum(sizes)
        return [size + (k < rest) for k, size in enumerate(sizes)]
    sizes = [whole("random_split", "each length", x, 0) for x in parts]
    if sum(sizes) != count:
        raise ArgumentError(f"the lengths of all subsets together are {count}", f"{parts}, together {sum(sizes)}")
    return sizes


class ConcatDataset(Dataset):
    """One dataset after the other: the first example of the second follows the last of the first.

    Args:
        datasets: Datasets, or anything with `len()` and `[k]`.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        ArgumentError: there is no dataset.

    Example:
        >>> both = ConcatDataset([["a", "b"], ["c"]])
        >>> both[2], both[-3], both.cumulative_sizes
        ('c', 'a', [2, 3])
    """

    def __init__(self, datasets: Iterable[Any], **attributes: Any) -> None:
        take(self, attributes)
        self.datasets = list(datasets)
        if not self.datasets or any(isinstance(one, IterableDataset) for one in self.datasets):
            raise ArgumentError("a ConcatDataset is made of datasets with numbers", repr(self.datasets), "ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(count_examples, self.datasets)))
        own(self).set_attrs(total_len=self.cumulative_sizes[-1])

    def __getitem__(self, k: int) -> Any:
        number = place("ConcatDataset", k, self.total_len)
        which = bisect.bisect_right(self.cumulative_sizes, number)
        before = self.cumulative_sizes[which - 1] if which else 0
        return example(self.datasets[which], number - before)


class StackDataset(Dataset):
    """Datasets side by side: example k holds example k of each, as a tuple, or as a dict if they have names.

    Args:
        datasets, named: Datasets, or anything with `len()` and `[k]`, equally long; with names or without. A name is
            taken for an attribute of `Dataset` (batch_size, ...) if there is one of that name.

    Raises:
        ShapeError: the datasets differ in length.
        ArgumentError: there is none, or some have names and some have not.

    Example:
        >>> StackDataset("abc", [1, 2, 3])[1], StackDataset(letter="abc", number=[1, 2, 3])[2]
        (('b', 2), {'letter': 'c', 'number': 3})
    """

    def __init__(self, *datasets: Any, **named: Any) -> None:
        attributes = {name: named.pop(name) for name in list(named) if name in ATTRIBUTES}
        take(self, attributes)
        if bool(datasets) == bool(named):
            found = f"{len(datasets)} without a name, {len(named)} with one"
            raise ArgumentError("the datasets of a StackDataset all have names, or none of them has one", found)
        self.datasets: Any = named or datasets
        lengths = [count_examples(one) for one in (named.values() if named else datasets)]
        if len(set(lengths)) > 1:
            raise ShapeError("the datasets of a StackDataset must have the same length", f"lengths {lengths}")
        own(self).set_attrs(total_len=lengths[0])

    def __getitem__(self, k: int) -> Any:
        number = place("StackDataset", k, self.total_len)
        if isinstance(self.datasets, dict):
            return {name: example(one, number) for name, one in self.datasets.items()}
        return tuple(example(one, number) for one in self.datasets)
