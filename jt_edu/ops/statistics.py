"""Statistics: ranges, means, variances, covariances and correlations.

    aminmax, ptp, var_mean, std_mean, average, cov, corrcoef

Each is arithmetic on the sums of reduce.py.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.arguments import axes_of, same_words, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.dtype_rules import as_floats, widened
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import max, mean, min, pick_correction, std, sum, var
from jt_edu.ops.transpose import permute
from jt_edu.ops.var_function import var_function
from jt_edu.variable.var import Var, as_var, method

__all__ = ["aminmax", "average", "corrcoef", "cov", "ptp", "std_mean", "var_mean"]


@var_function()
def aminmax(x: Any, dim: Any = None, keepdim: bool = False) -> tuple[Var, Var]:
    """(smallest, largest) number along axes.

    Example:
        >>> [m.item() for m in aminmax(array([3, 1, 2]))]
        [1, 3]
    """
    keep = yes_or_no("aminmax", "keepdim", keepdim)
    return min(x, dim, keep), max(x, dim, keep)


@var_function()
def ptp(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Peak to peak: largest minus smallest number along axes.

    Example:
        >>> ptp(array([3, 1, 7])).item()
        6
    """
    keep = yes_or_no("ptp", "keepdim", keepdim)
    return max(x, dim, keep) - min(x, dim, keep)


@same_words
def var_mean(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> tuple[Var, Var]:
    """(variance, mean) over axes; the arguments are those of `var`.

    Example:
        >>> [v.item() for v in var_mean(array([1.0, 3.0]))]
        [1.0, 2.0]
    """
    keep = yes_or_no("var_mean", "keepdim", keepdim)
    return var(x, dim, keep, unbiased, correction=correction, ddof=ddof), mean(x, dim, keep)


@same_words
def std_mean(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> tuple[Var, Var]:
    """(standard deviation, mean) over axes; the arguments are those of `var`.

    Example:
        >>> [v.item() for v in std_mean(array([1.0, 3.0]))]
        [1.0, 2.0]
    """
    keep = yes_or_no("std_mean", "keepdim", keepdim)
    return std(x, dim, keep, unbiased, correction=correction, ddof=ddof), mean(x, dim, keep)


@same_words
def average(x: Any, dim: Any = None, weights: Any = None, returned: bool = False, keepdim: bool = False) -> Any:
    """Weighted mean: sum(x * weights) / sum(weights). Weights that add up to 0 give nan or inf.

    Args:
        weights: of the shape of x, or of the shape of its reduced axes; None counts each number once.
        returned: answer (average, sum of the weights).

    Raises:
        ShapeError: the weights fit neither x nor its reduced axes.

    Example:
        >>> average(array([1.0, 4.0]), weights=array([3.0, 1.0])).item()
        1.75
    """
    keep = yes_or_no("average", "keepdim", keepdim)
    v = as_floats(x)
    wide = widened(v)
    w = wide.ones_like() if weights is None else _weights_for(v, as_var(weights), dim)
    total = sum(widened(w), dim, keep)
    found = sum(wide * w, dim, keep) / total if weights is not None else mean(wide, dim, keep)
    found = found.cast(promote(v.dtype, w.dtype) if weights is not None else v.dtype)
    return (found, total.cast(found.dtype)) if yes_or_no("average", "returned", returned) else found


def _weights_for(x: Var, weights: Var, axes: Any) -> Var:
    """Weights as numbers beside each element of x."""
    if weights.shape == x.shape:
        return weights
    gone = axes_of("average", axes, x.ndim)
    if axes is None or weights.shape != tuple(x.shape[k] for k in gone):
        raise ShapeError(
            "average takes weights of the shape of x, or of its reduced axes",
            f"weights {weights.shape} for x {x.shape} and axes {axes}",
        )
    return weights.reshape(tuple(n if k in gone else 1 for k, n in enumerate(x.shape))).stretched(x.shape)


@method
def cov(
    x: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, correction: Any = None,
) -> Var:  # fmt: skip
    """Covariance of variables that are observed together: sum(w (a - mean a) conj(b - mean b)) / norm.

        norm = sum(w) - correction * sum(w * aweights) / sum(w),    w = fweights * aweights

    Args:
        x: (variables, observations), or (observations,) of one variable.
        y: more variables, in rows like x.
        rowvar: False when the variables are columns.
        bias: a correction of 0; otherwise it is 1, or `correction` (PyTorch's name), or `ddof` (NumPy's).
        fweights: how often each observation was made. aweights: how much each one counts.

    Returns:
        (variables, variables), or () for a single one. Floats keep their dtype, as in PyTorch.

    Example:
        >>> cov(array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).numpy()
        array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    v = _variables(x, y, rowvar)
    return _cov(v, bias, ddof, fweights, aweights, correction).cast(v.dtype)


def _cov(x: Var, bias: bool, ddof: Any, fweights: Any, aweights: Any, correction: Any) -> Var:
    """Of (variables, observations); halves answer as float32, which holds their squares."""
    v = widened(x)
    given = correction is not None or ddof is not None
    less = pick_correction("cov", not yes_or_no("cov", "bias", bias) and not given, correction, ddof)
    f_weights, a_weights = _counts("fweights", fweights, v), _counts("aweights", aweights, v)
    w = f_weights * a_weights
    total = sum(w)
    away = v - sum(v * w, 1, True) / total
    norm = total - sum(w * a_weights) / total * less
    return (matmul(away * w, permute(away.conj())) / norm.where_not(norm < 0, 0)).squeeze()


def _variables(x: Any, y: Any, rowvar: bool) -> Var:
    """All of them, in rows."""
    return _rows(x, rowvar) if y is None else concat([_rows(x, rowvar), _rows(y, rowvar)])


def _rows(x: Any, rowvar: bool) -> Var:
    v = as_floats(x)
    if v.ndim > 2:
        raise ShapeError("cov takes (variables, observations)", f"shape {v.shape}", "x.flatten(1)")
    if v.ndim < 2:
        return v.reshape(1, -1)
    return v if yes_or_no("cov", "rowvar", rowvar) else permute(v)


def _counts(name: str, weights: Any, x: Var) -> Var:
    """One weight an observation, in the real dtype of x."""
    plain = x.apply(f.ABSOLUTE)
    if weights is None:
        return plain.ones_like()[0] if len(x) else Var([1] * x.shape[1], plain.dtype)
    w = as_var(weights)
    if w.shape != x.shape[1:]:
        raise ShapeError(f"cov takes one of {name} for each of {x.shape[1]} observations", f"shape {w.shape}")
    if w.dtype.kind == "c" or (name == "fweights" and w.dtype.kind not in "iu"):
        raise ArgumentError(f"{name} are {'whole' if name == 'fweights' else 'real'} numbers", f"dtype {w.dtype}")
    return w.cast(plain.dtype)


@method
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Var:
    """Correlation coefficients: cov(a, b) / sqrt(cov(a, a) cov(b, b)), from -1 to 1.

    Example:
        >>> corrcoef(array([[0.0, 1.0], [2.0, 0.0]])).numpy()
        array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    v = _variables(x, y, rowvar)
    together = _cov(v, bias=False, ddof=None, fweights=None, aweights=None, correction=None)
    if together.ndim == 0:
        return (together / together).cast(v.dtype)
    n = len(together)
    spread = together.reindex((n,), lambda i: (i, i))
    spread = (spread.apply(f.REAL) if spread.dtype.kind == "c" else spread).apply(f.SQRT)
    found = (together / spread.unsqueeze(1) / spread.unsqueeze(0)).cast(v.dtype)
    return found if found.dtype.kind == "c" else found.clamp(-1, 1)
