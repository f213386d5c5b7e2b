"""Dataset: examples by number, and batches of them by iteration. In Jittor's style it is its own loader.

    class Squares(Dataset):
        def __init__(self):
            self.set_attrs(total_len=100, batch_size=8, shuffle=True)

        def __getitem__(self, k):
            return np.float32(k), np.float32(k * k)

    for x, y in Squares():          # x and y are Vars of shape (8,)
        ...

Among several ranks a batch is cut into one share for each, so `batch_size` is that of all ranks together.

The order of a shuffled epoch comes from the generator of this rank, which `jt.set_global_seed` seeds: the same seed
gives the same epochs, and no two epochs are alike. `set_attrs(num_workers=2)` lets other processes make the batches;
they are the same batches.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import doing, own
from jt_edu.base.plural import plural
from jt_edu.data.checks import callable_or_none, check_workers, key, place, places
from jt_edu.data.collate import as_array, as_vars, collate
from jt_edu.data.fetch import Batches, example
from jt_edu.data.sampler import count_batches, fresh_seed, length_of
from jt_edu.data.worker_pool import Fetching
from jt_edu.ops.arguments import number, whole, word_meant, yes_or_no
from jt_edu.variable.parallel_context import Team, team
from jt_edu.variable.pytree import vars_in
from jt_edu.variable.var import Var

LEAST = {"batch_size": 1, "total_len": 0, "num_workers": 0, "prefetch_factor": 1, "buffer_size": 1}
SWITCHES = ("shuffle", "drop_last", "stop_grad", "keep_numpy_array", "endless", "persistent_workers")
ATTRIBUTES = (*LEAST, *SWITCHES, "timeout", "worker_init_fn")
GIVEN = tuple(name for name in ATTRIBUTES if name != "total_len")  # to a dataset that counts its examples itself


class Dataset(Fetching):
    """Examples by number (`__getitem__`), batches by iteration; `len()` is the number of batches.

    With `num_workers`, other processes make the batches ahead of time. They get a copy of the dataset when an epoch
    begins, or, with `persistent_workers`, when the first one begins.

    Args:
        batch_size: how many examples make a batch, on all ranks together.
        shuffle: a new order for each epoch.
        drop_last: leave out the last batch if it is not full.
        stop_grad: batches take no part in gradients.
        keep_numpy_array: batches are NumPy arrays, not Vars.
        endless: iteration starts again after each epoch, and never ends.
        num_workers: how many processes make batches; 0: this one does it itself.
        buffer_size: bytes that batches made ahead of time may take, more or less.

    Example:
        >>> class Numbers(Dataset):
        ...     def __getitem__(self, k):
        ...         return 10 * k
        >>> numbers = Numbers(batch_size=2).set_attrs(total_len=3)
        >>> len(numbers), [batch.tolist() for batch in numbers]
        (2, [[0, 10], [20]])
        >>> numbers
        Numbers(3 examples, 2 batches of 2)
    """

    batch_size = 16
    shuffle = False
    drop_last = False
    total_len = -1
    stop_grad = True
    keep_numpy_array = False
    endless = False

    def __init__(
        self, batch_size: int = 16, shuffle: bool = False, drop_last: bool = False, stop_grad: bool = True,
        keep_numpy_array: bool = False, endless: bool = False, num_workers: int = 0,
        buffer_size: int = Fetching.buffer_size,
    ) -> None:  # fmt: skip
        own(self).set_attrs(
            batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, stop_grad=stop_grad,
            keep_numpy_array=keep_numpy_array, endless=endless, num_workers=num_workers, buffer_size=buffer_size,
        )  # fmt: skip

    def set_attrs(self, **attributes: Any) -> Any:
        """Set any of the arguments above, or total_len, prefetch_factor, timeout, worker_init_fn, persistent_workers.

        The last four are as for `DataLoader`. Workers that were kept are ended. Returns this dataset.
        """
        for name, value in attributes.items():
            if name not in ATTRIBUTES:
                raise ArgumentError("a dataset has the attributes " + ", ".join(ATTRIBUTES), name)
            setattr(self, name, _checked(type(self).__name__, name, value))
        own(self).terminate()
        return self

    def __getitem__(self, k: int) -> Any:
        raise ArgumentError(f"{type(self).__name__} must say what example {k} is", "no __getitem__ method")

    def __len__(self) -> int:
        return count_batches(_count(self), self.batch_size, self.drop_last)

    def __repr__(self) -> str:
        name = type(self).__name__
        if self.total_len < 0 and type(self).__len__ is Dataset.__len__:
            return f"{name}(total_len is not set)"
        count, batches = _count(self), Dataset.__len__(self)
        words = [plural(count, "example"), f"{plural(batches, 'batch')} of {self.batch_size}"]
        said = {"shuffled": self.shuffle, "drop_last": self.drop_last, "endless": self.endless}
        words += [word for word, yes in said.items() if yes]
        words += [plural(self.num_workers, "worker")] if self.num_workers else []
        return f"{name}({', '.join(words)})"

    def __iter__(self) -> Iterator[Any]:
        """Batches of one epoch (of all epochs, if `endless`)."""
        if Dataset.__len__(self) == 0:
            why = f"{_count(self)} examples, batches of {self.batch_size}" + (", drop_last" if self.drop_last else "")
            way = "a smaller batch_size, or drop_last=False" if _count(self) else "set_attrs(total_len=...)"
            raise ArgumentError("an epoch needs at least one batch", why, way)
        check_workers(self, "prefetch_factor" in vars(self))
        crew = team()
        seed = fresh_seed(None) if crew is None else crew.agree(fresh_seed(None))
        requests = _requests(self, np.random.default_rng(seed), crew)
        to_vars = doing(self, "to_vars")
        batches = (to_vars(b) for b in own(self)._fetch(Batches(partial(_batch_of, self), self), requests, seed))
        yield from batches if crew is None else told(crew, batches, itertools.cycle(_lengths(self)))

    def order(self, rng: np.random.Generator) -> Sequence[int] | np.ndarray[Any, Any]:
        """The numbers of the examples, in the order of the next epoch."""
        return rng.permutation(_count(self)) if self.shuffle else np.arange(_count(self))

    def batch(self, numbers: Sequence[int] | np.ndarray[Any, Any]) -> Any:
        """The examples with these numbers as one batch of arrays."""
        return doing(self, "collate_batch")([example(self, key(k)) for k in numbers])

    def collate_batch(self, examples: list[Any]) -> Any:
        """One batch from several examples; a subclass may do it in its own way."""
        return collate(examples)

    def to_vars(self, batch: Any) -> Any:
        """The arrays of a batch as Vars, inside tuples, lists and dicts."""
        return batch if self.keep_numpy_array else as_vars(batch, self.stop_grad)


def _batch_of(dataset: Dataset, numbers: Any) -> Any:
    """What a worker is sent: a bound method would be looked up by its name there."""
    return doing(dataset, "batch")(numbers)


def told(crew: Team, batches: Iterator[Any], lengths: Iterable[int]) -> Iterator[Any]:
    """Batches whose Vars know how many examples there are on all ranks together."""
    before = crew.at_hand(None)
    try:
        for batch, examples in zip(batches, lengths, strict=False):
            crew.handed_out(vars_in(batch), examples)
            crew.at_hand(examples)
            yield batch
    finally:
        crew.at_hand(before)


def _requests(dataset: Dataset, rng: np.random.Generator, crew: Team | None) -> Iterator[Any]:
    """The numbers of each batch, or of this rank's share; every epoch of an endless dataset has its own order."""
    while True:
        order = doing(dataset, "order")(rng)
        for k in range(Dataset.__len__(dataset)):
            numbers = order[k * dataset.batch_size : (k + 1) * dataset.batch_size]
            yield numbers if crew is None else crew.mine(numbers)
        if not dataset.endless:
            return


def _lengths(dataset: Dataset) -> list[int]:
    """How many examples each batch of an epoch has, on all ranks together."""
    left = [_count(dataset) - k * dataset.batch_size for k in range(Dataset.__len__(dataset))]
    return [min(dataset.batch_size, n) for n in left]


def _count(dataset: Dataset) -> int:
    """How many examples: `total_len`, or what a `__len__` of the subclass says, as in PyTorch."""
    if dataset.total_len < 0 and type(dataset).__len__ is not Dataset.__len__:
        return length_of(dataset)
    if dataset.total_len < 0:
        raise ArgumentError(
            f"{type(dataset).__name__} must say how many examples it has",
            f"total_len {dataset.total_len}, and no __len__",
            "def __len__(self), or self.set_attrs(total_len=...)",
        )  # fmt: skip
    return dataset.total_len


def _checked(who: str, name: str, value: Any) -> Any:
    if name in LEAST:
        return whole(who, name, value, LEAST[name])
    if name in SWITCHES:
        return yes_or_no(who, name, value)
    if name == "timeout":
        return number(who, name, value, 0, finite=True)
    return callable_or_none(who, name, value)


def take(dataset: Dataset, attributes: dict[str, Any]) -> None:
    """Begin a dataset with attributes that its constructor was given; what is none of them is refused by name."""
    for wrong in [name for name in attributes if name not in GIVEN]:
        way = "leaving it out: nothing is downloaded" if wrong == "download" else word_meant(wrong, _words(dataset))
        raise ArgumentError(f"{type(dataset).__name__} takes no argument {wrong}", "", way)
    Dataset.__init__(dataset)
    own(dataset).set_attrs(**attributes)


def _words(dataset: Dataset) -> list[str]:
    """The arguments of all constructors that a dataset goes through."""
    makers = [vars(kind)["__init__"] for kind in type(dataset).__mro__ if "__init__" in vars(kind)]
    named = [p for maker in makers[:-1] for p in inspect.signature(maker).parameters.values()]
    words = [p.name for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]
    return list(dict.fromkeys([*words, *GIVEN]))


class ArrayDataset(Dataset):
    """Examples from arrays: example k is (a[k], b[k], ...), and a batch is a tuple of Vars.

    Args:
        arrays: NumPy arrays, Vars or lists, equally long.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        ShapeError: the arrays differ in length.
        ArgumentError: there are none, or they are empty.

    Several examples at once are `data[2:4]`, `data[[0, 3]]`, or any array of numbers.

    Example:
        >>> data = ArrayDataset(np.zeros((5, 2)), np.arange(5), batch_size=2)
        >>> [(x.shape, y.tolist()) for x, y in data]
        [((2, 2), [0, 1]), ((2, 2), [2, 3]), ((1, 2), [4])]
    """

    def __init__(self, *arrays: Any, **attributes: Any) -> None:
        take(self, attributes)
        self.arrays = tuple(as_array(a) for a in arrays)
        lengths = [len(a) if a.ndim else 0 for a in self.arrays]
        if not self.arrays or 0 in lengths:
            raise ArgumentError("an ArrayDataset holds examples", f"arrays of lengths {lengths}")
        if len(set(lengths)) > 1:
            raise ShapeError("the arrays of a dataset must have the same length", f"lengths {lengths}")
        own(self).set_attrs(total_len=lengths[0])

    def __getitem__(self, k: Any) -> tuple[Any, ...]:
        several = isinstance(k, list) or (isinstance(k, (np.ndarray, Var)) and k.ndim > 0)
        at = places if several else place
        where = k if isinstance(k, slice) else at(type(self).__name__, k, self.total_len)
        return tuple(a[where] for a in self.arrays)

    def batch(self, numbers: Sequence[int] | np.ndarray[Any, Any]) -> Any:
        """Whole batches are picked at once, unless a subclass changes the examples one by one."""
        kind = type(self)
        together = getattr(doing(self, "collate_batch"), "__func__", None)
        if kind.__getitem__ is not ArrayDataset.__getitem__ or together is not Dataset.collate_batch:
            return super().batch(numbers)
        wanted = places(kind.__name__, numbers, self.total_len)
        return tuple(a[wanted] for a in self.arrays)


TensorDataset = ArrayDataset
