"""Dropout: while training, forget some of what was computed, so that no neuron can rely on another one.

Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
"""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.nn.module import Module
from jt_edu.random import random
from jt_edu.var import Var, as_var

LOW = -1.7580993408473766  # what selu answers for the smallest numbers: -scale * alpha


def dropout(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """Each number becomes 0 with probability p; the others are multiplied by 1 / (1 - p), so that the mean stays.

    Which ones is drawn anew at each call, from the generator of `jt.set_global_seed`. With `is_train=False`, x itself.

    Args:
        x: any shape.
        p: how likely a number is forgotten.
        is_train: False answers x itself.
        training: PyTorch's name of is_train.

    Raises:
        ArgumentError: p is no probability.

    Example:
        >>> dropout(jt.ones(2), p=1.0).numpy(), dropout(jt.ones(2), is_train=False).numpy()
        (array([0., 0.], dtype=float32), array([1., 1.], dtype=float32))
    """
    v = as_var(x)
    return _forget(v, p, v.shape) if _active(p, is_train, training) else v


def dropout1d(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, l) or (c, l) become 0 with probability p; arguments as in `dropout`.

    Example:
        >>> dropout1d(jt.ones(1, 3, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout1d", x, p, _active(p, is_train, training), (2, 3), 2)


def dropout2d(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, h, w) become 0 with probability p; arguments as in `dropout`.

    Pixels that are neighbours are alike, so that forgetting one of them forgets nothing. (n, c, l) and (n, c) will do.

    Source: Tompson et al. 2015 (arXiv:1411.4280).

    Example:
        >>> dropout2d(jt.ones(1, 3, 2, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout2d", x, p, _active(p, is_train, training), (2, 3, 4), 0)


def dropout3d(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """Whole channels of (n, c, d, h, w) or (c, d, h, w) become 0 with probability p; arguments as in `dropout`.

    Example:
        >>> dropout3d(jt.ones(1, 3, 2, 2, 2), p=1.0).numpy().max()
        np.float32(0.0)
    """
    return _channels("dropout3d", x, p, _active(p, is_train, training), (4, 5), 4)


def alpha_dropout(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """Dropout for networks of `selu`: mean 0 and variance 1 stay what they are.

        (x or low) * a + b,    low = -1.758...,    a = 1 / sqrt((1 - p) * (1 + p * low**2)),    b = -a * p * low

    Arguments as in `dropout`.

    Source: Klambauer et al. 2017 (arXiv:1706.02515).

    Example:
        >>> alpha_dropout(jt.ones(2), is_train=False).numpy()
        array([1., 1.], dtype=float32)
    """
    v = as_var(x)
    return _to_low(v, p, v.shape) if _active(p, is_train, training) else v


def feature_alpha_dropout(x: Any, p: float = 0.5, is_train: bool = True, *, training: bool | None = None) -> Var:
    """`alpha_dropout` of whole channels of (n, c, ...).

    Example:
        >>> feature_alpha_dropout(jt.ones(1, 2, 3), is_train=False).shape
        (1, 2, 3)
    """
    v = as_var(x)
    if v.ndim < 2:
        raise ShapeError("feature_alpha_dropout takes (n, c, ...)", f"shape {v.shape}")
    return _to_low(v, p, v.shape[:2] + (1,) * (v.ndim - 2)) if _active(p, is_train, training) else v


def _active(p: Any, is_train: bool, training: bool | None) -> bool:
    """Whether anything is forgotten at all."""
    _check(p)
    return bool(is_train if training is None else training) and p > 0


def _check(p: Any) -> None:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ArgumentError("dropout forgets with a probability p from 0 to 1", repr(p))


def _gone(p: float, box: tuple[int, ...]) -> Var:
    gone: Var = random(box, "float32").detach() < p
    return gone


def _forget(v: Var, p: float, box: tuple[int, ...]) -> Var:
    return (v * (1 / (1 - p) if p < 1 else 0)).where_not(_gone(p, box), 0)


def _to_low(v: Var, p: float, box: tuple[int, ...]) -> Var:
    if p == 1:
        return _forget(v, p, box)
    a = ((1 - p) * (1 + p * LOW**2)) ** -0.5
    out: Var = v.where_not(_gone(p, box), LOW) * a - a * p * LOW
    return out


def _channels(name: str, x: Any, p: float, active: bool, ranks: tuple[int, ...], unbatched: int) -> Var:
    """Dropout of whole channels; a Var of `unbatched` axes is one example without a batch."""
    v = as_var(x)
    if v.ndim not in ranks:
        raise ShapeError(f"{name} takes Vars of {' or '.join(map(str, ranks))} axes", f"shape {v.shape}")
    kept = 1 if v.ndim == unbatched else 2
    return _forget(v, p, v.shape[:kept] + (1,) * (v.ndim - kept)) if active else v


class Dropout(Module):
    """While training, each number becomes 0 with probability p and is multiplied by 1 / (1 - p) otherwise.

    Example:
        >>> Dropout(0.5).eval()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    forget = staticmethod(dropout)

    def __init__(self, p: float = 0.5) -> None:
        _check(p)
        self.p = p

    def execute(self, x: Any) -> Var:
        """x with some zeros while training, x itself otherwise."""
        return self.forget(x, self.p, self.is_train)

    def extra_repr(self) -> str:
        """How much is forgotten."""
        return f"p={self.p}"


class Dropout1d(Dropout):
    """While training, whole channels of (n, c, l) become 0; see `dropout1d`.

    Example:
        >>> Dropout1d(1.0)(jt.ones(1, 2, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout1d)


class Dropout2d(Dropout):
    """While training, whole channels of (n, c, h, w) become 0; see `dropout2d`.

    Example:
        >>> Dropout2d(1.0)(jt.ones(1, 2, 3, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout2d)


class Dropout3d(Dropout):
    """While training, whole channels of (n, c, d, h, w) become 0; see `dropout3d`.

    Example:
        >>> Dropout3d(1.0)(jt.ones(1, 2, 3, 3, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(dropout3d)


class AlphaDropout(Dropout):
    """Dropout for networks of `selu`; see `alpha_dropout`.

    Example:
        >>> AlphaDropout(0.5).eval()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    forget = staticmethod(alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """Dropout of whole channels for networks of `selu`; see `feature_alpha_dropout`.

    Example:
        >>> FeatureAlphaDropout(1.0)(jt.ones(1, 2, 3)).numpy().max()
        np.float32(0.0)
    """

    forget = staticmethod(feature_alpha_dropout)
