"""Collate: several examples become one batch, and its arrays become Vars.

    (1, 2.0), (3, 4.0)   ->   (array([1, 3]), array([2., 4.]))

Tuples, named tuples, lists and dicts are batched part by part; texts are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.variable.pytree import of_kind
from jt_edu.variable.var import Var


def collate(examples: list[Any]) -> Any:
    """Several examples as one batch: arrays are stacked, tuples and dicts are batched part by part, texts are listed.

    Python floats become float32 and ints int64, as in `jt.array`.

    Raises:
        ShapeError: the examples differ in shape, or in how many parts they have; it says which.
        ArgumentError: there is no example, or one is None.

    Example:
        >>> collate([(1, 2.0), (3, 4.0)])
        (array([1, 3]), array([2., 4.], dtype=float32))
    """
    if not isinstance(examples, (list, tuple)) or not examples:
        raise ArgumentError("a batch is made of a list of examples", repr(examples))
    if (gap := next((k for k, e in enumerate(examples) if e is None), None)) is not None:
        way = "a return at the end of __getitem__"
        raise ArgumentError("a batch is made of examples", f"None for number {gap} of it", way)
    first = examples[0]
    if isinstance(first, (tuple, list)):
        _all_alike("parts", [len(e) if isinstance(e, (tuple, list)) else type(e).__name__ for e in examples])
        return of_kind(first, [collate(list(column)) for column in zip(*examples, strict=True)])
    if isinstance(first, Mapping):
        _all_alike("names", [sorted(map(str, e)) if isinstance(e, Mapping) else type(e).__name__ for e in examples])
        return {name: collate([e[name] for e in examples]) for name in first}
    if isinstance(first, (str, bytes)):
        _all_alike("kinds", [isinstance(e, (str, bytes)) or type(e).__name__ for e in examples])
        return list(examples)
    if all(type(e) in (bool, int, float, complex) for e in examples):
        return Var(list(examples)).numpy()
    arrays = [as_array(e) for e in examples]
    _all_alike("shapes", [a.shape for a in arrays])
    return np.stack(arrays)


def default_convert(batch: Any) -> Any:
    """The arrays in a batch as Vars, inside tuples, lists and dicts; all else stays as it is.

    The Vars take no part in gradients: they are data.

    Example:
        >>> default_convert({"x": np.zeros(2), "name": "zero"})["x"].shape
        (2,)
    """
    return each_array(batch, lambda array: Var(array).stop_grad())


def default_collate(examples: list[Any]) -> Any:
    """Several examples as one batch of Vars: `default_convert(collate(examples))`.

    Raises:
        ShapeError: the examples differ in shape, or in how many parts they have.

    Example:
        >>> default_collate([{"x": [1.0, 2.0]}, {"x": [3.0, 4.0]}])["x"][0].tolist()
        [1.0, 3.0]
    """
    return default_convert(collate(examples))


def each_array(batch: Any, change: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
    """The same batch, with each array of numbers changed."""
    if isinstance(batch, (tuple, list)):
        return of_kind(batch, [each_array(part, change) for part in batch])
    if isinstance(batch, dict):
        return {name: each_array(part, change) for name, part in batch.items()}
    return change(batch) if isinstance(batch, np.ndarray) and batch.dtype.kind in "biufc" else batch


def as_vars(batch: Any, stop_grad: bool) -> Any:
    """The arrays of a batch as Vars, which take part in gradients unless `stop_grad`."""
    return each_array(batch, lambda array: Var(array).stop_grad() if stop_grad else Var(array))


def as_array(example: Any) -> np.ndarray[Any, Any]:
    """An example as an array; what is not made of numbers is refused where a Var would refuse it."""
    if isinstance(example, (np.ndarray, np.generic)):
        return np.asarray(example)
    return example.numpy() if isinstance(example, Var) else Var(example).numpy()


def _all_alike(what: str, found: list[Any]) -> None:
    odd = next((k for k, one in enumerate(found) if one != found[0]), None)
    if odd is not None:
        raise ShapeError(
            "the examples of a batch must be alike",
            f"{what} {found[0]} in the first, {found[odd]} in number {odd} of the batch",
            "a collate_batch method, or a collate_fn, of your own",
        )  # fmt: skip
