"""Fetch: what is done to get the next batch, whoever does it, this process or a worker.

    Batches     picks examples by their numbers and collates them
    Stream      takes the next examples of an IterableDataset and collates them

While a batch is made, the generators of Python, NumPy and jt_edu start from a seed of this batch alone. So an
example that is changed at random is the same for any number of workers, and the numbers that a training loop draws do
not depend on its data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from jt_edu.base.context import current
from jt_edu.data.sampler import mixed
from jt_edu.variable.random import fork_rng, set_global_seed

END = object()  # there is no further batch


class Job(Protocol):
    """What a worker is given: a dataset, and how it becomes batches."""

    def begin(self) -> None:
        """An epoch begins."""

    def fetch(self, request: Any) -> Any:
        """The batch that was asked for, or END."""


@dataclass
class Batches:
    """A request is the numbers of the examples of a batch."""

    pick: Callable[[Any], Any]
    dataset: Any

    def begin(self) -> None:
        """Nothing is kept between batches."""

    def fetch(self, request: Any) -> Any:
        """The examples with these numbers as a batch."""
        return self.pick(request)


@dataclass
class Stream:
    """A request says only: the next batch."""

    dataset: Iterable[Any]
    batch_size: int | None
    drop_last: bool
    collate: Callable[[list[Any]], Any]
    examples: Iterator[Any] | None = None

    def begin(self) -> None:
        """The dataset is iterated over once for each epoch, beginning with the first request."""
        self.examples = None

    def fetch(self, request: Any) -> Any:
        """The next `batch_size` examples as a batch; without a batch size, the next example alone."""
        if self.examples is None:
            self.examples = iter(self.dataset)
        if self.batch_size is None:
            return next((self.collate(example) for example in self.examples), END)
        examples = list(itertools.islice(self.examples, self.batch_size))
        full = len(examples) == self.batch_size
        return self.collate(examples) if full or (examples and not self.drop_last) else END


def example(dataset: Any, k: Any) -> Any:
    """Example k; an error on the way is told which example it was."""
    try:
        return dataset[k]
    except Exception as error:
        error.add_note(f"in {type(dataset).__name__}.__getitem__({k!r})")
        raise


def work_here(job: Job, requests: Iterable[Any], seed: int) -> Iterator[Any]:
    """The batches of one epoch, made in this process."""
    job.begin()
    for number, request in enumerate(requests):
        with own_numbers(mixed(seed, number)):
            batch = job.fetch(request)
        if batch is END:
            return
        yield batch


@contextmanager
def own_numbers(seed: int) -> Iterator[None]:
    """Start all generators from `seed`, and put them back afterwards."""
    with fork_rng():
        set_global_seed(seed)
        yield


@dataclass(frozen=True)
class WorkerInfo:
    """Who a worker is: its number, how many there are, a seed of its own for this epoch, and its copy of the dataset.

    Example:
        >>> WorkerInfo(id=0, num_workers=2, seed=7, dataset=None).num_workers
        2
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """In a worker process: who it is. Everywhere else: None.

    An IterableDataset asks, so that each worker goes through a part of its own.

    Example:
        >>> get_worker_info() is None
        True
    """
    info: WorkerInfo | None = current().rank_state.get("data_worker")
    return info


def set_worker_info(info: WorkerInfo) -> None:
    """Say who this worker is; only a worker does."""
    current().rank_state["data_worker"] = info
