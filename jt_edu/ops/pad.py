"""Pad: room around an array, and how it is filled. Each mode is one Reindex: which element does a place outside show?

                x = a b c d          two places on either side
constant        0 0 | a b c d | 0 0
replicate       a a | a b c d | d d      (NumPy: edge)
circular        c d | a b c d | a b      (NumPy: wrap)
reflect         c b | a b c d | c b      the border is not said twice
symmetric       b a | a b c d | d c      the border is said twice
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.index_check import check_fill
from jt_edu.ir.index_expr import Index, as_index, counter, size
from jt_edu.ir.meta_ops import reindex
from jt_edu.ops.arguments import choice, whole
from jt_edu.ops.sliding_window import check_room
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

Pairs = list[tuple[int, int]]


@var_function(castable(name="pad_{mode}"), template)
def pad(x: Any, widths: Any, mode: str = "constant", value: float = 0) -> Var:
    """More room around x; negative widths crop.

    Args:
        widths: PyTorch's form, a flat list of (before, after) pairs from the last axis on: `(1, 2)` is the last axis;
            or NumPy's, a list of pairs for each axis: `((0, 0), (1, 2))`; one pair `((1, 2),)` or one number is for
            all axes.
        mode: "constant"; "replicate" or "edge"; "circular" or "wrap"; "reflect"; "symmetric". See the picture above.
        value: what a constant border is made of.

    Raises:
        ShapeError: widths that do not fit, or that crop more than there is, or a border of nothing to be repeated.

    Example:
        >>> ones((2,)).pad((1, 2), value=7).numpy()
        array([7., 1., 1., 7., 7.], dtype=float32)
        >>> pad(arange(4), (2, 2), "reflect").tolist(), pad(arange(4), (2, 2), "symmetric").tolist()
        ([2, 1, 0, 1, 2, 3, 2, 1], [1, 0, 0, 1, 2, 3, 3, 2])
    """
    v = as_var(x)
    pairs, show = _pairs(v, widths), MODES[choice("pad", "mode", mode, tuple(MODES))]
    if show is not None and value != 0:
        raise ArgumentError("only a constant border takes a value", f"value {value} for mode {mode!r}")
    if show is _wrap and any(min(p) < 0 < max(p) for p in pairs):  # the other end is that of what was left
        v = pad(v, [(min(a, 0), min(b, 0)) for a, b in pairs])
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    shape = tuple(n + a + b for n, (a, b) in zip(v.shape, pairs, strict=True))
    if any(n < 0 for n in shape):
        raise ShapeError("cropping removes at most what there is", f"widths {widths} for shape {v.shape}")
    check_room("pad", shape)
    moved = [counter(k) - size(a) if a else counter(k) for k, (a, _) in enumerate(pairs)]
    if show is None:
        return view(v, reindex("pad", v.shape, shape, tuple(moved), check_fill("pad", value, v.dtype)))
    if any(n == 0 < m for n, m in zip(v.shape, shape, strict=True)):
        raise ShapeError(f"a border of {mode} repeats what there is", f"shape {v.shape} to {shape}", "mode='constant'")
    where = (_shown(show, i, n, *p) for i, n, p in zip(moved, v.shape, pairs, strict=True))
    return view(v, reindex("pad", v.shape, shape, tuple(where)))


def _pairs(x: Var, widths: Any) -> Pairs:
    """The widths before and after, for each axis from the first on."""
    if not isinstance(widths, (tuple, list)):
        each = whole("pad", "widths", widths)
        return [(each, each)] * x.ndim
    if any(isinstance(p, (tuple, list)) for p in widths):
        return _pairs_of_numpy(x, widths)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(f"pad takes up to {x.ndim} pairs of widths for shape {x.shape}", f"{tuple(widths)}")
    pairs = [(0, 0)] * x.ndim
    for k in range(len(widths) // 2):
        pairs[-1 - k] = (whole("pad", "widths", widths[2 * k]), whole("pad", "widths", widths[2 * k + 1]))
    return pairs


def _pairs_of_numpy(x: Var, widths: Sequence[Any]) -> Pairs:
    parts = list(widths) * (x.ndim if len(widths) == 1 else 1)
    if len(parts) != x.ndim or any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in parts):
        raise ShapeError(f"pad takes a pair of widths for each of {x.ndim} axes", f"{widths}", "((1, 1), (0, 2))")
    return [(whole("pad", "widths", a), whole("pad", "widths", b)) for a, b in parts]


def _shown(show: Callable[[Index, int], Index], i: Index, n: int, below: int, above: int) -> Index:
    """What place i shows; a border that is narrower than what there is needs no remainder, which takes long."""
    if (below, above) == (0, 0):
        return i
    if show not in STEPS or max(below, above) >= n:
        return show(i, n)
    before, behind = STEPS[show](i, n)
    return i + ((i < 0) * before if below > 0 else 0) + ((size(n - 1) < i) * behind if above > 0 else 0)


def _edge(i: Index, n: int) -> Index:
    """The nearest position inside: 0 below, n - 1 above."""
    above = size(n - 1) < i
    return (as_index(-1) < i) * (i + above * (size(n - 1) - i))


def _wrap(i: Index, n: int) -> Index:
    return i % size(n)


def _reflect(i: Index, n: int) -> Index:
    """There and back, the borders once: 0 1 2 3 2 1 | 0 1 2 3 2 1."""
    return _back(i % size(2 * n - 2), n, 2 * n - 2) if n > 1 else as_index(0)


def _symmetric(i: Index, n: int) -> Index:
    """There and back, the borders twice: 0 1 2 3 3 2 1 0 | 0 1 2 3."""
    return _back(i % size(2 * n), n, 2 * n - 1)


def _back(i: Index, n: int, top: int) -> Index:
    """i on the way there, top - i on the way back."""
    return i + (size(n - 1) < i) * (size(top) - i - i)


MODES: dict[str, Any] = {
    "constant": None, "replicate": _edge, "edge": _edge, "circular": _wrap, "wrap": _wrap, "reflect": _reflect,
    "symmetric": _symmetric,
}  # fmt: skip
STEPS: dict[Any, Callable[[Index, int], tuple[Index, Index]]] = {  # from a place before, or behind, to what it shows
    _wrap: lambda i, n: (size(n), -size(n)),
    _reflect: lambda i, n: (-i - i, size(2 * n - 2) - i - i),
    _symmetric: lambda i, n: (as_index(-1) - i - i, size(2 * n - 1) - i - i),
}
