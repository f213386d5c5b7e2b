"""Choice: draws that need order or probabilities: a permutation, a sample by weights, numbers of other laws.

    randperm      sort random words, and take their positions
    multinomial   with replacement: where does a uniform number fall among the running sums of the weights?
                  without: each outcome waits for a time that is exponential at the rate of its weight; the first n win

All come from the bits of the generator of this rank, so a seed decides them, on every backend.
"""

from __future__ import annotations

from typing import Any

from jt_edu import functions as f
from jt_edu.build import check_shape
from jt_edu.dtypes import as_dtype, float32, float64
from jt_edu.errors import ArgumentError, RangeError, ShapeError
from jt_edu.making import makes
from jt_edu.ops.arguments import number, yes_or_no
from jt_edu.ops.numbers import check_order, checked
from jt_edu.ops.scan import cumsum
from jt_edu.ops.search import searchsorted
from jt_edu.ops.sort import sorted_positions
from jt_edu.random import Generator, bits_of, rand, randint, randn, random
from jt_edu.var import Var, as_var, method


@makes
def randperm(n: int, dtype: Any = "int64", generator: Generator | None = None) -> Var:
    """The numbers 0 to n - 1 in random order.

    Example:
        >>> sorted(randperm(3).tolist())
        [0, 1, 2]
    """
    (length,) = check_shape((n,))
    words = Var._of(bits_of(generator)(length)).reshape(1, length)
    return sorted_positions(words).reshape(length).cast(as_dtype(dtype))


def permutation(x: Any) -> Var:
    """The elements of x (its rows, if it has several axes) in random order; a whole number n stands for arange(n).

    Example:
        >>> sorted(permutation(array([4, 5, 6])).tolist())
        [4, 5, 6]
    """
    if isinstance(x, int):
        return randperm(x)
    v = as_var(x)
    if v.ndim == 0:
        raise ShapeError("permutation puts the elements of an axis in another order", f"shape {v.shape}")
    shuffled: Var = v[randperm(len(v))]
    return shuffled


@method
def multinomial(weights: Any, num_samples: int, replacement: bool = False) -> Var:
    """Numbers of outcomes, drawn with probabilities in proportion to `weights`.

    Args:
        weights: (outcomes,) or (rows, outcomes), not negative; each row has a sum above 0.
        num_samples: how many are drawn in each row.
        replacement: an outcome may be drawn again.

    Returns:
        int64, (num_samples,) or (rows, num_samples).

    Raises:
        RangeError: more are asked for than there are outcomes of weight above 0, without replacement.

    Example:
        >>> multinomial(array([0.0, 3.0, 0.0]), 4, replacement=True).tolist()
        [1, 1, 1, 1]
    """
    w, (count,) = as_var(weights), check_shape((num_samples,))
    replacement = yes_or_no("multinomial", "replacement", replacement)
    if w.ndim not in (1, 2) or w.dtype.kind != "f" or count == 0:
        asked = "multinomial draws one or more numbers by real weights (outcomes,) or (rows, outcomes)"
        raise ArgumentError(asked, f"{count} by weights of shape {w.shape} and dtype {w.dtype}")
    rows = w.detach().reshape(-1, w.shape[-1]).cast(float64)  # row, outcome
    _check_weights(rows, count, replacement)
    if replacement:
        sums = cumsum(rows, 1)
        at = rand(rows.shape[0], count, dtype="float64") * sums[:, -1:]
        found = searchsorted(sums, at, right=True)
    else:
        waits = exponential_like(rows) / rows
        found = sorted_positions(waits.where_not(rows == 0, float("inf")))[:, :count]
    return found.reshape(*w.shape[:-1], count)


def _check_weights(rows: Var, count: int, replacement: bool) -> None:
    possible = (rows > 0).sum(1).min().item() if rows.size else 0
    if not (rows >= 0).all().item() or not rows.apply(f.ISFINITE).all().item() or possible == 0:
        raise RangeError("weights are finite, none is negative, and one in each row is above 0", str(rows.numpy()))
    if not replacement and count > possible:
        raise RangeError(
            "without replacement an outcome is drawn once", f"{count} of {possible} outcomes", "replacement=True"
        )


def exponential_like(x: Var, rate: float = 1.0) -> Var:
    """Times of waiting, of mean 1 / rate, in the shape and dtype of x."""
    slow = number("exponential_like", "rate", rate, 0, above=True)
    return exponential(slow, x.shape, str(x.dtype))


def exponential(rate: float = 1.0, size: Any = (), dtype: Any = "float32") -> Var:
    """Times of waiting for something that happens `rate` times per unit of time: density rate * exp(-rate * x).

    Example:
        >>> exponential(2.0, (3,)).shape
        (3,)
    """
    slow = number("exponential", "rate", rate, 0, above=True)
    return (1.0 - random(size, dtype)).apply(f.LOG) * (-1.0 / slow)


def bernoulli(p: Any) -> Var:
    """1 with probability p, else 0, in the dtype of p. A p outside of 0 to 1 raises when it is drawn.

    Example:
        >>> bernoulli(array([0.0, 1.0])).numpy()
        array([0., 1.], dtype=float32)
    """
    chance = as_var(p)
    check_order("bernoulli", chance)
    return (random(chance.shape, "float32") < checked("bernoulli", chance, 0, 1, 1)).cast(chance.dtype)


@makes
def rand_like(x: Any, dtype: Any = None) -> Var:
    """Uniform numbers in [0, 1) in the shape (and, unless told otherwise, dtype) of x.

    Example:
        >>> rand_like(ones((2, 3))).shape
        (2, 3)
    """
    v = as_var(x)
    return rand(*v.shape, dtype=_float_like(v, dtype))


@makes
def randn_like(x: Any, dtype: Any = None) -> Var:
    """Normal numbers in the shape (and, unless told otherwise, dtype) of x.

    Example:
        >>> randn_like(ones((2, 3))).shape
        (2, 3)
    """
    v = as_var(x)
    return randn(*v.shape, dtype=_float_like(v, dtype))


@makes
def randint_like(x: Any, low: int, high: int | None = None, dtype: Any = None) -> Var:
    """Whole numbers from low to high - 1 (0 to low - 1 without high) in the shape (and, unless told, dtype) of x.

    Example:
        >>> randint_like(ones((2, 3)), 1).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    v = as_var(x)
    return randint(low, high, v.shape, v.dtype if dtype is None else dtype)


def _float_like(x: Var, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.kind == "f" else float32
