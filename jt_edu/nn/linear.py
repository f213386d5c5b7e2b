"""Linear layers: every output is a weighted sum of all inputs."""

from __future__ import annotations

import math
from typing import Any

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.nn.module import Module
from jt_edu.nn.start import gauss_, kaiming_uniform_, uniform_
from jt_edu.ops.create import zeros
from jt_edu.ops.index import getitem
from jt_edu.ops.view import flatten
from jt_edu.var import Var, as_var


def linear(x: Any, weight: Any, bias: Any = None) -> Var:
    """x @ weight.T + bias.

    Args:
        x: (..., in).
        weight: (out, in).
        bias: (out,), or None.

    Returns:
        (..., out).

    Example:
        >>> linear(jt.array([[1.0, 2.0]]), jt.array([[3.0, 4.0]])).numpy()
        array([[11.]], dtype=float32)
    """
    inputs, w = as_var(x), as_var(weight)
    if w.ndim != 2 or inputs.ndim < 1 or inputs.shape[-1] != w.shape[1]:
        raise ShapeError(
            "linear multiplies the last axis of x with the last axis of weight (out, in)",
            f"x of shape {inputs.shape}, weight of shape {w.shape}", "Linear(in_features=x.shape[-1], ...)",
        )  # fmt: skip
    out = inputs @ w.transpose(0, 1)
    return out if bias is None else out + as_var(bias)


def count(name: str, value: Any) -> int:
    """A number of features, at least 1.

    Example:
        >>> count("in_features", 3)
        3
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ArgumentError(f"{name} is a whole number from 1", repr(value))
    return value


class Linear(Module):
    """y = x @ weight.T + bias, both drawn from U(-1/sqrt(in), 1/sqrt(in)).

    Args:
        in_features: length of the last axis of x.
        out_features: length of the last axis of y.
        bias: whether something is added.

    Example:
        >>> Linear(3, 2)(jt.ones(5, 3)).shape
        (5, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features, self.out_features = count("in_features", in_features), count("out_features", out_features)
        self.weight = kaiming_uniform_(zeros(out_features, in_features), a=math.sqrt(5))
        bound = 1 / math.sqrt(in_features)
        self.bias = uniform_(zeros(out_features), -bound, bound) if bias else None

    def execute(self, x: Any) -> Var:
        """(..., in) -> (..., out)."""
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """y = x: a place for a layer that is not there. Arguments are taken, and mean nothing.

    Example:
        >>> Identity()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        pass

    def execute(self, x: Any) -> Any:
        """The input itself."""
        return x


class Flatten(Module):
    """Axes start_dim to end_dim become one; by default all but the batch.

    Example:
        >>> Flatten()(jt.ones(5, 2, 3)).shape
        (5, 6)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def execute(self, x: Any) -> Var:
        """(n, a, b, ...) -> (n, a * b * ...)."""
        return flatten(as_var(x), self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Which axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def embedding(x: Any, weight: Any, padding_idx: int | None = None) -> Var:
    """Row x of a table, for each x; the row `padding_idx` gets no gradient.

    Example:
        >>> embedding(jt.array([1, 0]), jt.array([[1.0], [2.0]])).numpy()
        array([[2.],
               [1.]], dtype=float32)
    """
    positions, table = as_var(x), as_var(weight)
    rows: Var = getitem(table, positions)
    if padding_idx is None:
        return rows
    is_padding: Var = (positions == padding_idx).reshape(*positions.shape, 1)
    return rows.where_not(is_padding, getitem(table.detach(), positions))


class Embedding(Module):
    """A table with one row of numbers for each word, drawn from a normal distribution.

    Args:
        num_embeddings: how many words; they are numbered from 0 (and from -1 backwards, as in NumPy).
        embedding_dim: length of a row.
        padding_idx: a word that means nothing: its row is 0, and is not trained.

    Example:
        >>> Embedding(10, 4)(jt.array([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        self.num_embeddings = count("num_embeddings", num_embeddings)
        self.embedding_dim = count("embedding_dim", embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError(f"padding_idx is one of {num_embeddings} words", repr(padding_idx))
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = gauss_(zeros(num_embeddings, embedding_dim))
        if self.padding_idx is not None:
            is_padding = zeros(num_embeddings, 1).position_numbers() == self.padding_idx
            self.weight.update(self.weight.where_not(is_padding, 0))

    def execute(self, x: Any) -> Var:
        """(...) whole numbers -> (..., embedding_dim)."""
        return embedding(x, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Its sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
