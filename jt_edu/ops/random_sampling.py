"""Random sampling: draws from a range, in an order, by weights: what is made of uniform and normal numbers.

    normal, uniform, randint      stretched and moved
    randperm      sort random words, and take their positions
    multinomial   with replacement: where does a uniform number fall among the running sums of the weights?
                  without: each outcome waits for a time that is exponential at the rate of its weight; the first n win


All come from the bits of the generator of this rank, so a seed decides them, on every backend.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.dtypes import as_dtype, float32, float64, int64
from jt_edu.base.errors import ArgumentError, RangeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast_shape, check_shape, constant, short
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.cumulative import cumsum
from jt_edu.ops.dtype_rules import check_order, checked
from jt_edu.ops.searchsorted import searchsorted
from jt_edu.ops.sort import sorted_positions
from jt_edu.variable.random import (
    Generator,
    bits_of,
    rand,
    randn,
    random,
)
from jt_edu.variable.torch_keywords import beside, makes
from jt_edu.variable.var import Var, as_var, method

__all__ = ["bernoulli", "exponential", "multinomial", "normal", "permutation", "rand_like", "randint", "randint_like",
           "randn_like", "randperm", "uniform"]  # fmt: skip


@makes
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, dtype: Any = "float32", generator: Any = None) -> Var:
    """Normal numbers with the given mean and standard deviation, which may be arrays: each number is drawn by itself.

    Args:
        size: the shape; that of mean and std, broadcast to each other, by default.

    Example:
        >>> normal(5.0, 0.0, (2,)).numpy()
        array([5., 5.], dtype=float32)
    """
    spread, middle = _term("normal", "std", std, 0), _term("normal", "mean", mean)
    drawn: Var = random(_box("normal", size, spread, middle), dtype, "normal", generator) * spread + middle
    return drawn


@makes
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = "float32", generator: Any = None) -> Var:
    """Independent uniform numbers from low up to high, which may both be arrays.

    Args:
        size: the shape; that of low and high, broadcast to each other, by default.

    Example:
        >>> uniform(3.0, 3.0, (1,)).item()
        3.0
    """
    first, last = _term("uniform", "low", low), _term("uniform", "high", high)
    drawn: Var = random(_box("uniform", size, first, last), dtype, "uniform", generator) * (last - first) + first
    return drawn


def _box(name: str, size: Any, *terms: Any) -> Shape:
    """The shape to draw, so that no two numbers of the answer share a draw."""
    shapes = [t.shape for t in terms if isinstance(t, Var)]
    box = check_shape(size) if size is not None else broadcast_shape(name, (), *shapes)
    if broadcast_shape(name, box, *shapes) != box:
        raise ShapeError(f"{name} draws a shape that its arrays fit in", f"size {box} for {shapes}", "size=None")
    return box


def _term(function: str, name: str, value: Any, least: float = -math.inf) -> Any:
    """What draws are moved or stretched by: a number from `least` on, or an array of them."""
    if isinstance(value, (int, float)):
        if value < least:
            raise ArgumentError(f"{function} takes {name} from {least} on", f"{name}={value}")
        return value
    if isinstance(value, (Var, np.ndarray, np.generic, list, tuple)):
        return as_var(value)
    raise ArgumentError(f"{function} takes {name} as a number or a Var", f"{name}={short(value)}")


@makes
def randint(low: int, high: Any = None, shape: Any = (1,), dtype: Any = "int64", generator: Any = None) -> Var:
    """Whole numbers from low to high - 1; randint(n) means 0 to n - 1.

    Example:
        >>> randint(3, 4, (2,)).numpy()
        array([3, 3])
    """
    low, high = (0, low) if high is None else (low, high)
    first, last = _whole("low", low), _whole("high", high)
    if last <= first:
        raise ArgumentError("randint draws from low to high - 1", f"low {first}, high {last}", "randint(10)")
    count, size, wanted = last - first, check_shape(shape), as_dtype(dtype)
    for end in (first, last - 1) if wanted.whole else ():
        constant(end, wanted)  # which refuses what does not fit
    if count <= 1 << 32:
        steps = random(size, "float64", generator=generator) * float(count)
        drawn = steps.apply(f.FLOOR).cast(int64) + first
    else:  # more than the digits of a float64 can choose from evenly
        bits = Var._of(bits_of(generator)(math.prod(size))).reshape(size)
        drawn = ((bits if count == 1 << 64 else bits % count) + first % (1 << 64)).cast(int64)
    return drawn.cast(wanted)


def _whole(name: str, value: Any) -> int:
    try:
        return whole("randint", name, value, -(1 << 63), 1 << 63)
    except ArgumentError:
        way = "randint(0, 9, (2, 3))"
        raise ArgumentError(f"randint takes {name} as a whole number", f"{name}={short(value)}", way) from None


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
    """Indices of outcomes, drawn with probabilities in proportion to `weights`.

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
    rows = w.detach().reshape((1, *w.shape)[-2:]).cast(float64)  # row, outcome
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


@makes
def exponential(rate: float = 1.0, size: Any = (), dtype: Any = "float32") -> Var:
    """Waiting times for an event that happens `rate` times per unit of time: density rate * exp(-rate * x).

    Example:
        >>> exponential(2.0, (3,)).shape
        (3,)
    """
    slow = number("exponential", "rate", rate, 0, above=True)
    return (1.0 - random(size, dtype)).apply(f.LOG) * (-1.0 / slow)


def bernoulli(p: Any) -> Var:
    """1 with probability p, else 0, in the dtype of p. A p outside 0 to 1 raises when it is drawn.

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
    return beside(v, rand(*v.shape, dtype=_float_like(v, dtype)))


@makes
def randn_like(x: Any, dtype: Any = None) -> Var:
    """Normal numbers in the shape (and, unless told otherwise, dtype) of x.

    Example:
        >>> randn_like(ones((2, 3))).shape
        (2, 3)
    """
    v = as_var(x)
    return beside(v, randn(*v.shape, dtype=_float_like(v, dtype)))


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
