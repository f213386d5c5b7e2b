"""Dropout: during training, set some activations to 0, so that no neuron can rely on another one.

Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import ShapeError
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import in_place, number, one_of, same_words, yes_or_no
from jt_edu.variable.parallel_context import apart
from jt_edu.variable.random import random
from jt_edu.variable.var import Var, as_var

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "alpha_dropout",
           "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]  # fmt: skip
LOW = -1.7580993408473766  # what selu returns for the smallest numbers: -scale * alpha


@in_place
@same_words
def dropout(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """Each number becomes 0 with probability p; the others are multiplied by 1 / (1 - p), which keeps the mean.

    The mask is drawn anew at each call, from the generator of `jt.set_global_seed`. On several ranks each draws its own
    mask, whatever the seed. With `is_train=False`, x itself.

    Args:
        x: any shape.
        p: probability that a number becomes 0.
        is_train: False returns x itself; True by default.
        training: PyTorch's name of is_train.

    Raises:
        ArgumentError: p is not a probability.

    Example:
        >>> dropout(jt.ones(2), p=1.0).numpy(), dropout(jt.ones(2), is_train=False).numpy()
        (array([0., 0.], dtype=float32), array([1., 1.], dtype=float32))
    """
    v = as_var(x)
    return _forget(v, p, v.shape) if _active("dropout", p, is_train, training) else v


@in_place
@same_words
def dropout1d(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, l) or (c, l) become 0 with probability p; arguments as in `dropout`.

    Example:
        >>> dropout1d(jt.ones(1, 3, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout1d", x, p, _active("dropout1d", p, is_train, training), (2, 3), 2)


@in_place
@same_words
def dropout2d(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, h, w) become 0 with probability p; arguments as in `dropout`.

    Neighbouring pixels are alike, so dropping single pixels would hide little. (n, c, l) and (n, c) work as well.

    Source: Tompson et al. 2015 (arXiv:1411.4280).

    Example:
        >>> dropout2d(jt.ones(1, 3, 2, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout2d", x, p, _active("dropout2d", p, is_train, training), (2, 3, 4), 0)


@in_place
@same_words
def dropout3d(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, d, h, w) or (c, d, h, w) become 0 with probability p; arguments as in `dropout`.

    Example:
        >>> dropout3d(jt.ones(1, 3, 2, 2, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout3d", x, p, _active("dropout3d", p, is_train, training), (4, 5), 4)


@in_place
@same_words
def alpha_dropout(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """Dropout for networks of `selu`: it keeps mean 0 and variance 1.

        (x or low) * a + b,    low = -1.758...,    a = 1 / sqrt((1 - p) * (1 + p * low**2)),    b = -a * p * low

    Arguments as in `dropout`, but nothing is dropped by default, as in PyTorch: pass `training=True`.

    Source: Klambauer et al. 2017 (arXiv:1706.02515).

    Example:
        >>> alpha_dropout(jt.ones(2), is_train=False).numpy()
        array([1., 1.], dtype=float32)
    """
    v = as_var(x)
    return _to_low(v, p, v.shape) if _active("alpha_dropout", p, is_train, training, usual=False) else v


@in_place
@same_words
def feature_alpha_dropout(x: Any, p: float = 0.5, is_train: bool | None = None, *, training: bool | None = None) -> Var:
    """`alpha_dropout` of whole channels of (n, c, ...); arguments as there.

    Example:
        >>> feature_alpha_dropout(jt.ones(1, 2, 3), is_train=False).shape
        (1, 2, 3)
    """
    v = as_var(x)
    if v.ndim < 2:
        raise ShapeError("feature_alpha_dropout takes (n, c, ...)", f"shape {v.shape}")
    active = _active("feature_alpha_dropout", p, is_train, training, usual=False)
    return _to_low(v, p, v.shape[:2] + (1,) * (v.ndim - 2)) if active else v


def _active(name: str, p: Any, is_train: Any, training: Any, usual: bool = True) -> bool:
    """Whether any element is dropped at all."""
    number(name, "p", p, 0, 1)
    wanted = one_of(name, usual, is_train=is_train, training=training)
    return yes_or_no(name, "training", wanted) and p > 0


def _drawn(box: tuple[int, ...]) -> Var:
    return random(box, "float32", generator=apart()).detach()


# x * scale where the number drawn is not below p, else 0; the gradient forgets the same ones
FORGET: Elementwise = Elementwise(
    "forget", "select({1} < {2}, {4}, {0} * {3})", "float_real", (lambda o, d, x, *how: d.apply(FORGET, *how),), 2
)


def _forget(v: Var, p: float, box: tuple[int, ...]) -> Var:
    scale = 1 / (1 - p) if p < 1 else 0
    if v.dtype.kind == "f":
        return v.apply(FORGET, _drawn(box), p, scale, 0).cast(v.dtype)
    return (v * scale).where_not(_drawn(box) < p, 0)


def _to_low(v: Var, p: float, box: tuple[int, ...]) -> Var:
    if p == 1:
        return _forget(v, p, box)
    a = ((1 - p) * (1 + p * LOW**2)) ** -0.5
    out: Var = v.where_not(_drawn(box) < p, LOW) * a - a * p * LOW
    return out


def _channels(name: str, x: Any, p: float, active: bool, ranks: tuple[int, ...], unbatched: int) -> Var:
    """Dropout of whole channels; a Var of `unbatched` axes is one example without a batch."""
    v = as_var(x)
    if v.ndim not in ranks:
        raise ShapeError(f"{name} takes Vars of {' or '.join(map(str, ranks))} axes", f"shape {v.shape}")
    kept = 1 if v.ndim == unbatched else 2
    return _forget(v, p, v.shape[:kept] + (1,) * (v.ndim - kept)) if active else v


class _Forgetful(Module):
    """What all layers of dropout share: p, and when they forget. How, a subclass says."""

    forget: Callable[..., Var]

    @in_its_name
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self.p = number(type(self).__name__, "p", p, 0, 1)
        yes_or_no(type(self).__name__, "inplace", inplace)  # nothing is overwritten here: there is nothing to do

    def execute(self, x: Any) -> Var:
        """x with some zeros while training, x itself otherwise."""
        return self.forget(x, self.p, self.is_train)

    def extra_repr(self) -> str:
        """How much is forgotten."""
        return f"p={self.p}"


class Dropout(_Forgetful):
    """During training, each number becomes 0 with probability p and is multiplied by 1 / (1 - p) otherwise.

    Example:
        >>> Dropout(0.5).eval()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    forget = staticmethod(dropout)


class Dropout1d(_Forgetful):
    """While training, whole channels of (n, c, l) become 0; see `dropout1d`.

    Example:
        >>> Dropout1d(1.0)(jt.ones(1, 2, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout1d)


class Dropout2d(_Forgetful):
    """While training, whole channels of (n, c, h, w) become 0; see `dropout2d`.

    Example:
        >>> Dropout2d(1.0)(jt.ones(1, 2, 3, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout2d)


class Dropout3d(_Forgetful):
    """While training, whole channels of (n, c, d, h, w) become 0; see `dropout3d`.

    Example:
        >>> Dropout3d(1.0)(jt.ones(1, 2, 3, 3, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout3d)


class AlphaDropout(_Forgetful):
    """Dropout for networks of `selu`; see `alpha_dropout`.

    Example:
        >>> AlphaDropout(0.5).eval()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    forget = staticmethod(alpha_dropout)


class FeatureAlphaDropout(_Forgetful):
    """Dropout of whole channels for networks of `selu`; see `feature_alpha_dropout`.

    Example:
        >>> FeatureAlphaDropout(1.0)(jt.ones(1, 2, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(feature_alpha_dropout)
