"""Dataset: examples by number, and batches of them by iteration. In Jittor's style it is its own loader.

    class Squares(Dataset):
        def __init__(self):
            self.set_attrs(total_len=100, batch_size=8, shuffle=True)

        def __getitem__(self, k):
            return np.float32(k), np.float32(k * k)

    for x, y in Squares():          # x and y are Vars of shape (8,)
        ...

The order of a shuffled epoch comes from NumPy's generator, which `jt.set_global_seed` seeds: the same seed gives the
same epochs, and no two epochs are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.var import Var

ATTRIBUTES = ("batch_size", "shuffle", "drop_last", "total_len", "stop_grad", "keep_numpy_array", "endless")


class Dataset:
    """Examples by number (`__getitem__`), batches by iteration; `len()` is the number of batches.

    Args:
        batch_size: how many examples make a batch.
        shuffle: a new order for each epoch.
        drop_last: leave out the last batch if it is not full.
        stop_grad: batches take no part in gradients.
        keep_numpy_array: batches are NumPy arrays, not Vars.
        endless: iteration starts again after each epoch, and never ends.

    Example:
        >>> class Numbers(Dataset):
        ...     def __getitem__(self, k):
        ...         return 10 * k
        >>> numbers = Numbers(batch_size=2).set_attrs(total_len=3)
        >>> len(numbers), [batch.tolist() for batch in numbers]
        (2, [[0, 10], [20]])
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
        keep_numpy_array: bool = False, endless: bool = False,
    ) -> None:  # fmt: skip
        self.set_attrs(
            batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, stop_grad=stop_grad,
            keep_numpy_array=keep_numpy_array, endless=endless,
        )  # fmt: skip

    def set_attrs(self, **attributes: Any) -> Any:
        """Set batch_size, shuffle, drop_last, total_len, stop_grad, keep_numpy_array, endless. Returns this dataset."""
        for name, value in attributes.items():
            if name not in ATTRIBUTES:
                raise ArgumentError("a dataset has the attributes " + ", ".join(ATTRIBUTES), name)
            least = {"batch_size": 1, "total_len": 0}.get(name)
            setattr(self, name, _yes_or_no(name, value) if least is None else _number(name, value, least))
        return self

    def __getitem__(self, k: int) -> Any:
        raise ArgumentError(f"{type(self).__name__} must say what example {k} is", "no __getitem__ method")

    def __len__(self) -> int:
        self._check()
        full, rest = divmod(self.total_len, self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        """Batches of one epoch (of all epochs, if `endless`)."""
        if len(self) == 0:
            why = f"{self.total_len} examples, batches of {self.batch_size}" + (", drop_last" if self.drop_last else "")
            raise ArgumentError("an epoch has a batch at least", why, "a smaller batch_size, or drop_last=False")
        while True:
            order = self.order()
            for k in range(len(self)):
                yield self.to_vars(self.batch(order[k * self.batch_size : (k + 1) * self.batch_size]))
            if not self.endless:
                return

    def order(self) -> np.ndarray[Any, Any]:
        """The numbers of the examples, in the order of the next epoch."""
        return np.random.permutation(self.total_len) if self.shuffle else np.arange(self.total_len)  # noqa: NPY002

    def batch(self, numbers: Sequence[int] | np.ndarray[Any, Any]) -> Any:
        """The examples with these numbers as one batch of arrays."""
        return self.collate_batch([self._example(int(k)) for k in numbers])

    def collate_batch(self, examples: list[Any]) -> Any:
        """One batch from several examples; a subclass may do it in its own way."""
        return collate(examples)

    def to_vars(self, batch: Any) -> Any:
        """The arrays of a batch as Vars, inside of tuples, lists and dicts."""
        if isinstance(batch, (tuple, list)):
            return type(batch)(self.to_vars(part) for part in batch)
        if isinstance(batch, dict):
            return {name: self.to_vars(part) for name, part in batch.items()}
        if not isinstance(batch, np.ndarray) or self.keep_numpy_array or batch.dtype.kind not in "biufc":
            return batch
        var = Var(batch)
        return var.stop_grad() if self.stop_grad else var

    def _example(self, k: int) -> Any:
        try:
            return self[k]
        except Exception as error:
            error.add_note(f"in {type(self).__name__}.__getitem__({k})")
            raise

    def _check(self) -> None:
        if self.total_len < 0:
            raise ArgumentError(
                f"{type(self).__name__} must say how many examples it has", f"total_len {self.total_len}",
                "self.set_attrs(total_len=...)",
            )  # fmt: skip


def _number(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(f"{name} is a whole number from {least}", repr(value))
    return int(value)


def _yes_or_no(name: str, value: Any) -> bool:
    if value not in (0, 1):
        raise ArgumentError(f"{name} is True or False", repr(value))
    return bool(value)


def collate(examples: list[Any]) -> Any:
    """Several examples as one batch: arrays are stacked, tuples and dicts are batched part by part, texts are listed.

    Python floats become float32 and ints int64, as in `jt.array`.

    Raises:
        ShapeError: the examples differ in shape, or in how many parts they have; it says which.

    Example:
        >>> collate([(1, 2.0), (3, 4.0)])
        (array([1, 3]), array([2., 4.], dtype=float32))
    """
    first = examples[0]
    if isinstance(first, (tuple, list)):
        _all_alike("parts", [len(e) if isinstance(e, (tuple, list)) else type(e).__name__ for e in examples])
        parts = [collate(list(column)) for column in zip(*examples, strict=True)]
        return tuple(parts)
    if isinstance(first, dict):
        _all_alike("names", [sorted(map(str, e)) if isinstance(e, dict) else type(e).__name__ for e in examples])
        return {name: collate([e[name] for e in examples]) for name in first}
    if isinstance(first, str):
        return list(examples)
    arrays = [_array(e) for e in examples]
    _all_alike("shapes", [a.shape for a in arrays])
    return np.stack(arrays)


def _array(example: Any) -> np.ndarray[Any, Any]:
    """An example as an array; what is not made of numbers is refused where a Var would refuse it."""
    if isinstance(example, (np.ndarray, np.generic)):
        return np.asarray(example)
    return example.numpy() if isinstance(example, Var) else Var(example).numpy()


def _all_alike(what: str, found: list[Any]) -> None:
    odd = next((k for k, one in enumerate(found) if one != found[0]), None)
    if odd is not None:
        raise ShapeError(
            "the examples of a batch are alike",
            f"{what} {found[0]} in the first, {found[odd]} in number {odd} of the batch",
            "a collate_batch method of your own",
        )  # fmt: skip


class ArrayDataset(Dataset):
    """Examples from arrays: example k is (a[k], b[k], ...), and a batch is a tuple of Vars.

    Args:
        arrays: NumPy arrays, Vars or lists, equally long.
        batch_size, shuffle, drop_last, stop_grad, keep_numpy_array, endless: as for `Dataset`.

    Raises:
        ShapeError: the arrays differ in length.
        ArgumentError: there are none, or they are empty.

    Example:
        >>> data = ArrayDataset(np.zeros((5, 2)), np.arange(5), batch_size=2)
        >>> [(x.shape, y.tolist()) for x, y in data]
        [((2, 2), [0, 1]), ((2, 2), [2, 3]), ((1, 2), [4])]
    """

    def __init__(self, *arrays: Any, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.arrays = tuple(_array(a) for a in arrays)
        lengths = [len(a) if a.ndim else 0 for a in self.arrays]
        if not self.arrays or 0 in lengths:
            raise ArgumentError("an ArrayDataset holds examples", f"arrays of lengths {lengths}")
        if len(set(lengths)) > 1:
            raise ShapeError("the arrays of a dataset are equally long", f"lengths {lengths}")
        self.set_attrs(total_len=lengths[0])

    def __getitem__(self, k: int) -> tuple[Any, ...]:
        return tuple(a[k] for a in self.arrays)

    def batch(self, numbers: Sequence[int] | np.ndarray[Any, Any]) -> Any:
        """Whole batches are picked at once, unless a subclass changes the examples one by one."""
        kind = type(self)
        if kind.__getitem__ is ArrayDataset.__getitem__ and kind.collate_batch is Dataset.collate_batch:
            return tuple(a[numbers] for a in self.arrays)
        return super().batch(numbers)


TensorDataset = ArrayDataset
