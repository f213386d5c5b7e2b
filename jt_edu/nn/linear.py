"""Linear layers: every output is a weighted sum of all inputs. And layers that only pass on, or fold axes."""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import contracted, promote
from jt_edu.base.errors import ShapeError
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import kaiming_uniform_, uniform_
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import same_words, whole, yes_or_no
from jt_edu.ops.create import zeros
from jt_edu.ops.view import flatten, unflatten
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["Bilinear", "Flatten", "Identity", "Linear", "Unflatten", "bilinear", "linear"]


@castable
@template
@same_words
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
            f"x of shape {inputs.shape}, weight of shape {w.shape}", _to_fit(inputs.shape, w.shape),
        )  # fmt: skip
    out = inputs @ w.transpose(0, 1)
    added = None if bias is None else as_var(bias)
    if added is not None and added.ndim == 1 and added.shape[0] not in (1, len(w)):
        raise ShapeError(
            f"linear adds a bias of shape ({len(w)},)", f"shape {added.shape}", f"weight of {added.shape[0]} rows"
        )
    return out if added is None else out + added


def _to_fit(x: tuple[int, ...], weight: tuple[int, ...]) -> str:
    """What was forgotten: most often to make one axis of the channels and places of images."""
    if len(weight) != 2 or not x:
        return "x (..., in) and weight (out, in)"
    features = math.prod(x[1:])
    if len(x) > 2 and (features == weight[-1] or len(x) > 3):
        return f"x.flatten(1) or nn.Flatten() before Linear({features}, {weight[0]})"
    return f"Linear({x[-1]}, {weight[0]})"


@castable
@same_words
def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Var:
    """out[..., o] = sum over i and j of x1[..., i] * weight[o, i, j] * x2[..., j], plus bias[o].

    Args:
        x1: (..., in1).
        x2: (..., in2), alike in all axes but the last.
        weight: (out, in1, in2).
        bias: (out,), or None.

    Returns:
        (..., out).

    Example:
        >>> bilinear(jt.array([1.0, 2.0]), jt.array([3.0]), jt.ones(1, 2, 1)).numpy()
        array([9.], dtype=float32)
    """
    a, b, w = as_var(x1), as_var(x2), as_var(weight)
    if w.ndim != 3 or a.shape[-1:] + b.shape[-1:] != w.shape[1:] or a.shape[:-1] != b.shape[:-1]:
        raise ShapeError(
            "bilinear takes x1 (..., in1), x2 (..., in2) and weight (out, in1, in2)",
            f"shapes {a.shape}, {b.shape} and {w.shape}",
        )
    o, i, j = w.shape
    n = math.prod(a.shape[:-1])
    left = a.reshape(n, i) @ w.permute(1, 0, 2).reshape(i, o * j)  # (n, o * j)
    dtype = contracted(promote(promote(a.dtype, w.dtype), b.dtype))
    out = (left.cast(dtype).reshape(n, o, j) * b.reshape(n, 1, j)).sum(-1, dtype=dtype).reshape(*a.shape[:-1], o)
    return out if bias is None else out + as_var(bias)


def count(layer: Module, name: str, value: Any) -> int:
    """A number of features that a layer is given, at least 1.

    Example:
        >>> count(jt.nn.Module(), "in_features", 3)
        3
    """
    return whole(type(layer).__name__, name, value, 1)


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

    @takes_placement
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features = count(self, "in_features", in_features)
        self.out_features = count(self, "out_features", out_features)
        self.weight = kaiming_uniform_(zeros(out_features, in_features), a=math.sqrt(5))
        bound = 1 / math.sqrt(in_features)
        self.bias = uniform_(zeros(out_features), -bound, bound) if yes_or_no("Linear", "bias", bias) else None

    def execute(self, x: Any) -> Var:
        """(..., in) -> (..., out)."""
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """out = x @ weight[o] @ y + bias[o] for each output o, all drawn from U(-1/sqrt(in1), 1/sqrt(in1)).

    Args:
        in1_features: length of the last axis of x.
        in2_features: length of the last axis of y.
        out_features: length of the last axis of the output.
        bias: whether something is added.

    Example:
        >>> Bilinear(3, 4, 2)(jt.ones(5, 3), jt.ones(5, 4)).shape
        (5, 2)
    """

    @takes_placement
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        self.in1_features = count(self, "in1_features", in1_features)
        self.in2_features = count(self, "in2_features", in2_features)
        self.out_features, bound = count(self, "out_features", out_features), 1 / math.sqrt(in1_features)
        self.weight = uniform_(zeros(out_features, in1_features, in2_features), -bound, bound)
        self.bias = uniform_(zeros(out_features), -bound, bound) if yes_or_no("Bilinear", "bias", bias) else None

    def execute(self, x: Any, y: Any) -> Var:
        """(..., in1) and (..., in2) -> (..., out)."""
        return bilinear(x, y, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Its sizes."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """y = x: a placeholder for a layer. It accepts arguments and ignores them.

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
        self.start_dim, self.end_dim = whole("Flatten", "start_dim", start_dim), whole("Flatten", "end_dim", end_dim)

    def execute(self, x: Any) -> Var:
        """(n, a, b, ...) -> (n, a * b * ...)."""
        return flatten(as_var(x), self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Which axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis becomes several.

    Args:
        dim: which axis.
        unflattened_size: the lengths of the new axes; one of them may be -1.

    Example:
        >>> Unflatten(1, (2, -1))(jt.ones(5, 6)).shape
        (5, 2, 3)
    """

    @same_words
    def __init__(self, dim: int, unflattened_size: Any) -> None:
        name = "Unflatten"
        sizes = unflattened_size if isinstance(unflattened_size, (tuple, list)) else (unflattened_size,)
        self.dim, self.unflattened_size = whole(name, "dim", dim), tuple(whole(name, "sizes", n, -1) for n in sizes)

    def execute(self, x: Any) -> Var:
        """(n, a * b, ...) -> (n, a, b, ...)."""
        return unflatten(as_var(x), self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Which axis, and what it becomes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
