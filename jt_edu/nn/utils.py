"""utils: all parameters at once, as one vector; and gradients that are kept from growing too large."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jt_edu.base.context import no_grad
from jt_edu.base.did_you_mean import door
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from jt_edu.nn import parametrize, prune
from jt_edu.nn.parametrizations import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from jt_edu.ops.arguments import number, yes_or_no
from jt_edu.ops.compare import minimum
from jt_edu.ops.concat import concat, stack
from jt_edu.ops.create import zeros
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.reduce import norm
from jt_edu.variable.var import Var, as_var

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "parametrize", "prune",
           "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "vector_to_parameters",
           "weight_norm"]  # fmt: skip

if not TYPE_CHECKING:
    __path__: list[str] = []  # modules of PyTorch's are imported from here (base/module_aliases.py)
    _faces = {name: f"jt_edu.nn.utils.{name}" for name in ("rnn", "parametrizations", "stateless")}
    __getattr__, __dir__ = door("jt.nn.utils", __all__, upstairs=_faces)


def parameters_to_vector(parameters: Iterable[Var]) -> Var:
    """All numbers of all parameters, one after another.

    Example:
        >>> parameters_to_vector([jt.array([[1.0], [2.0]]), jt.array([3.0])]).numpy()
        array([1., 2., 3.], dtype=float32)
    """
    return concat([p.reshape(-1) for p in _listed(parameters)], 0)


def vector_to_parameters(vec: Any, parameters: Iterable[Var]) -> None:
    """Copy the numbers of a vector into parameters, in the order of `parameters_to_vector`.

    Raises:
        ShapeError: the vector is no vector, or of another length.

    Example:
        >>> p = jt.zeros(2); vector_to_parameters(jt.array([1.0, 2.0]), [p]); p.numpy()
        array([1., 2.], dtype=float32)
    """
    listed, vector = _listed(parameters), as_var(vec)
    length = sum(p.size for p in listed)
    if vector.shape != (length,):
        raise ShapeError(f"these parameters hold {length} numbers", f"a vector of shape {vector.shape}")
    start = 0
    for p in listed:
        p.update(vector[start : start + p.size].reshape(p.shape))
        start += p.size


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Var:
    """Scale the gradients in `.grad` by one factor, so that their total norm is at most `max_norm`.

        factor = min(1, max_norm / (norm + 1e-6)),    norm = (sum of |g|**norm_type)**(1 / norm_type)

    Args:
        parameters: a Var or several; those without a gradient are passed over.
        max_norm: the longest that is left as it is.
        norm_type: any p > 0; inf takes the largest |g|.
        error_if_nonfinite: raise if the norm is nan or infinite, instead of making all gradients so.

    Returns:
        The norm before.

    Source: Pascanu et al. 2013 (arXiv:1211.5063).

    Example:
        >>> p = jt.array([3.0, 4.0]); (p * p / 2).sum().backward()
        >>> clip_grad_norm_([p], 1.0).item(), p.grad.numpy().round(2)
        (5.0, array([0.6, 0.8], dtype=float32))
    """
    limit = float(number("clip_grad_norm_", "max_norm", max_norm, 0))
    p_norm = float(number("clip_grad_norm_", "norm_type", norm_type, 0, above=True))
    strict = yes_or_no("clip_grad_norm_", "error_if_nonfinite", error_if_nonfinite)
    graded = [(p, p.grad) for p in _listed(parameters, least=0) if p.grad is not None]
    if not graded:
        return zeros(())
    with no_grad():
        lengths = [norm(g, p_norm).cast("float32" if g.dtype.is_half else g.dtype) for _, g in graded]
        total = norm(stack(lengths), p_norm)
        if strict and not math.isfinite(total.item()):
            raise GradientError("gradients are clipped by a finite norm", f"a norm of {total.item()}")
        factor = minimum(limit / (total + 1e-6), 1.0)
        for p, g in graded:
            p.grad = g * factor.cast(g.dtype)
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Cut off the gradients in `.grad` below -clip_value and above clip_value.

    Example:
        >>> p = jt.array([3.0, 0.5]); (p * p / 2).sum().backward()
        >>> clip_grad_value_([p], 1.0); p.grad.numpy()
        array([1. , 0.5], dtype=float32)
    """
    limit = float(number("clip_grad_value_", "clip_value", clip_value, 0))
    with no_grad():
        for p in _listed(parameters, least=0):
            if p.grad is not None:
                p.grad = clamp(p.grad, -limit, limit)


def _listed(parameters: Any, least: int = 1) -> list[Var]:
    several = isinstance(parameters, Iterable) and not isinstance(parameters, Var)
    listed = list(parameters) if several else [parameters]
    if len(listed) < least or not all(isinstance(p, Var) for p in listed):
        raise ArgumentError("this takes parameters", repr([type(p).__name__ for p in listed]), "model.parameters()")
    return listed
