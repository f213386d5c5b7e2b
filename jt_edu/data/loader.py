"""DataLoader: batches from any dataset, as PyTorch spells it.

    numbers with a sampler    dataset[k]             ->   collate   ->   Vars
    a stream                  next(iter(dataset))    ->   collate   ->   Vars

Picking and collating are the job of the workers, if there are any; Vars are made in this process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing, own
from jt_edu.data.checks import callable_or_none, check_workers, none_of
from jt_edu.data.collate import as_vars, collate
from jt_edu.data.dataset import Dataset
from jt_edu.data.dataset_ops import IterableDataset
from jt_edu.data.fetch import Batches, Job, Stream, example
from jt_edu.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    as_generator,
    as_long_as,
    count_batches,
    fresh_seed,
)
from jt_edu.data.worker_pool import Fetching
from jt_edu.ops.arguments import number, whole, yes_or_no


class DataLoader(Fetching):
    """Batches of a dataset: iterate over it once for each epoch.

    Args:
        dataset: a Dataset, an IterableDataset, or anything with `len()` and `[k]`.
        batch_size: how many examples make a batch; None: examples come alone, as they are.
        shuffle: a new order for each epoch; None is as False.
        sampler: the numbers of the examples, instead of shuffle.
        batch_sampler: lists of numbers, instead of batch_size, shuffle, sampler and drop_last.
        num_workers: how many processes make batches; 0: this one does it itself.
        collate_fn: makes a batch of a list of examples; `collate` by default, or the dataset's own `collate_batch`.
            With batch_size=None it is given one example.
        drop_last: leave out the last batch if it is not full. Of a stream, that is the last batch of each worker.
        timeout: seconds to wait for a batch of a worker; 0: as long as it takes.
        worker_init_fn: called in each worker with its number, before its first batch.
        prefetch_factor: how many batches each worker makes ahead of time; 2 by default.
        persistent_workers: workers stay for the next epoch, with the dataset as it was when they started.
        generator: a `jt.Generator`, or a seed, for the order and for all that the dataset draws.
        buffer_size: bytes that batches made ahead of time may take, more or less.
        keep_numpy_array: batches are NumPy arrays, not Vars; None: as a `jt.data.Dataset` says, or else Vars.
        pin_memory: a wish that is heard and costs nothing: batches lie in ordinary memory, and no copy starts there.

    Raises:
        ArgumentError: an argument makes no sense, or contradicts another.
        LengthError: `len()` of a loader whose sampler or stream has no length; `list()` does without.
        WorkerError: a worker ended, or took longer than `timeout`. Errors of the dataset are raised as they are.

    Example:
        >>> [batch.tolist() for batch in DataLoader([1, 2, 3], batch_size=2)]
        [[1, 2], [3]]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = False,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None, num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
        timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, generator: Any = None, buffer_size: int = Fetching.buffer_size,
        keep_numpy_array: bool | None = None,
    ) -> None:  # fmt: skip
        self.dataset, self.generator, who = dataset, as_generator(generator), "DataLoader"
        self.batch_size = None if batch_size is None else whole(who, "batch_size", batch_size, 1)
        self.shuffle = yes_or_no(who, "shuffle", False if shuffle is None else shuffle)
        self.drop_last = yes_or_no(who, "drop_last", drop_last)
        self.collate_fn = callable_or_none(who, "collate_fn", collate_fn)
        self.num_workers = whole(who, "num_workers", num_workers, 0)
        self.timeout = number(who, "timeout", timeout, 0, finite=True)
        self.prefetch_factor = 2 if prefetch_factor is None else whole(who, "prefetch_factor", prefetch_factor, 1)
        self.buffer_size = whole(who, "buffer_size", buffer_size, 1)
        self.persistent_workers = yes_or_no(who, "persistent_workers", persistent_workers)
        self.worker_init_fn = callable_or_none(who, "worker_init_fn", worker_init_fn)
        kept = own(self)._said().keep_numpy_array if keep_numpy_array is None else keep_numpy_array
        self.keep_numpy_array = yes_or_no(who, "keep_numpy_array", kept)
        yes_or_no(who, "pin_memory", pin_memory)
        check_workers(self, prefetch_factor is not None)
        self.sampler, self.batch_sampler = own(self)._samplers(sampler, batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        seed = fresh_seed(self.generator)
        for batch in own(self)._fetch(own(self)._job(), own(self)._requests(), seed):
            yield batch if self.keep_numpy_array else as_vars(batch, own(self)._said().stop_grad)

    def _said(self) -> Any:
        """Who says what becomes of batches: a `jt.data.Dataset`, or its defaults for any other dataset."""
        return self.dataset if isinstance(self.dataset, Dataset) else Dataset

    def __len__(self) -> int:
        """How many batches an epoch has."""
        if isinstance(self.dataset, IterableDataset):
            count = as_long_as("a loader", "dataset", self.dataset)
        elif self.sampler is not None:
            count = as_long_as("a loader", "sampler", self.sampler)
        else:
            return as_long_as("a loader", "batch_sampler", self.batch_sampler)
        return count_batches(count, self.batch_size or 1, self.drop_last)

    def __repr__(self) -> str:
        size = "" if self.batch_size is None else f", batches of {self.batch_size}"
        workers = f", {self.num_workers} worker{'s' * (self.num_workers != 1)}" if self.num_workers else ""
        shuffled = ", shuffled" if self.shuffle else ""
        return f"DataLoader({type(self.dataset).__name__}{size}{shuffled}{workers})"

    def _samplers(self, sampler: Any, batch_sampler: Any) -> tuple[Any, Any]:
        """Who says which examples come next: one by one, and in batches."""
        given = {"shuffle": self.shuffle, "sampler": sampler is not None, "batch_sampler": batch_sampler is not None}
        if isinstance(self.dataset, IterableDataset):
            none_of(given, "the examples of a stream have no numbers, and come in its own order")
            none_of({"drop_last": self.drop_last and self.batch_size is None}, "single examples make no last batch")
            return None, None
        if not hasattr(self.dataset, "__getitem__"):
            found = f"{type(self.dataset).__name__} without __getitem__"
            raise ArgumentError("a DataLoader reads examples by number, or an IterableDataset", found)
        if batch_sampler is not None:
            others = {**given, "batch_sampler": False, "drop_last": self.drop_last, "batch_size": self.batch_size != 1}
            none_of(others, "a batch_sampler says all about the batches")
            self.batch_size = None
            return None, _iterable("batch_sampler", batch_sampler)
        if sampler is not None:
            none_of({"shuffle": self.shuffle}, "a sampler says all about the order")
            numbers = _iterable("sampler", sampler)
        elif self.shuffle:
            numbers = RandomSampler(self.dataset, generator=self.generator)
        else:
            numbers = SequentialSampler(self.dataset)
        if self.batch_size is None:
            none_of({"drop_last": self.drop_last}, "single examples make no last batch")
            return numbers, None
        return numbers, BatchSampler(numbers, self.batch_size, self.drop_last)

    def _requests(self) -> Iterable[Any]:
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(None)
        return (numbers for numbers in (self.sampler if self.batch_sampler is None else self.batch_sampler))

    def _job(self) -> Job:
        alone = self.batch_size is None and self.batch_sampler is None
        together = self.collate_fn or (_as_it_is if alone else collate)
        if isinstance(self.dataset, IterableDataset):
            return Stream(self.dataset, self.batch_size, self.drop_last, together)
        return Batches(Picker(self.dataset, self.collate_fn, together, alone), self.dataset)


@dataclass
class Picker:
    """Examples by number, collated: what a worker is given of a DataLoader."""

    dataset: Any
    own: Callable[[list[Any]], Any] | None
    collate: Callable[[Any], Any]
    alone: bool

    def __call__(self, wanted: Any) -> Any:
        """The batch of the examples with these numbers; the one example, if they come alone."""
        if self.alone:
            return self.collate(example(self.dataset, wanted))
        if isinstance(self.dataset, Dataset) and self.own is None:
            return doing(self.dataset, "batch")(wanted)
        return self.collate([example(self.dataset, k) for k in wanted])


def _as_it_is(one: Any) -> Any:
    return one


def _iterable(name: str, value: Any) -> Any:
    if not isinstance(value, Iterable):
        raise ArgumentError(f"{name} yields the indices of examples", repr(value))
    return value
