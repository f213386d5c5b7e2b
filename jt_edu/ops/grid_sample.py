"""Sampling: an image read where a grid of coordinates says, so that it can be turned, bent and learned where to look.

    out[n, c, y, x] = image n at the place grid[n, y, x] = (x', y'), both from -1 (the first edge) to 1 (the last)

The sum over taps is that of `interpolate`; here the places come from the learner, and have gradients as well.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import float32, int64, promote
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ops.arguments import choice, same_words, yes_or_no
from jt_edu.ops.complex import absolute
from jt_edu.ops.create import zeros
from jt_edu.ops.interpolate import TAPS, blend, counts_along, taps_before, weigh
from jt_edu.ops.rounding import floor, round
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

KINDS = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
OUTSIDE = ("zeros", "border", "reflection")


@castable
@same_words
def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = False
) -> Var:
    """An image read at the places of a grid.

        pixel = ((g + 1) * n - 1) / 2, with align_corners (g + 1) * (n - 1) / 2

    Args:
        x: (n, c, h, w) or (n, c, d, h, w).
        grid: (n, h', w', 2) of pairs (x', y'), or (n, d', h', w', 3) of triples (x', y', z'), from -1 to 1 inside.
        mode: "bilinear", "nearest", or "bicubic" (images only). The nearest pixel gives the grid a gradient of 0.
        padding_mode: what lies outside: "zeros", "border" (the outermost pixels), or "reflection" at the edges.
        align_corners: whether -1 and 1 are the centres of the outermost pixels, or their edges; None is False.

    Returns:
        (n, c, h', w') or (n, c, d', h', w').

    Raises:
        ShapeError: x and grid do not fit each other. DtypeError: the grid holds no floats.
        ArgumentError: a mode that does not exist, or bicubic for volumes.

    Example:
        >>> grid_sample(array([[[[1.0, 3.0]]]]), array([[[[0.0, 0.0]]]])).item()
        2.0

    Source: Jaderberg et al. 2015, "Spatial transformer networks" (arXiv:1506.02025).
    """
    image, coordinates, dims = _asked(as_var(x), as_var(grid), mode)
    kind = KINDS[mode]
    outside = choice("grid_sample", "padding_mode", padding_mode, OUTSIDE)
    aligned = yes_or_no("grid_sample", "align_corners", False if align_corners is None else align_corners)
    dtype = promote(image.dtype, coordinates.dtype)
    wide = float32 if dtype.is_half else dtype
    taps, loops = [], (image.shape[0], 1, *coordinates.shape[1:-1], *(1,) * dims)
    for k, n in enumerate(image.shape[2:]):
        g = coordinates[..., dims - 1 - k].cast(wide).reshape(loops)
        here = (g + 1) * ((n - 1) / 2) if aligned else ((g + 1) * n - 1) / 2
        taps.append(_taps(here, n, kind, outside, aligned, 2 + dims + k))
    places, weights, inside = zip(*taps, strict=True)
    return blend(image.cast(wide), places, weights, dims, inside).cast(dtype)


def _taps(here: Var, n: int, kind: str, outside: str, align: bool, axis: int) -> tuple[Var, Var, Var]:
    """Which pixels along an axis are read for the place `here`, how much each counts, and whether it is one."""
    if kind != "cubic":  # the cubic looks at four pixels first, and asks for each of them what lies outside
        here = _brought_inside(here, n, outside, align)
    if kind == "nearest":
        pixel, weight = round(here), here.where_not(True, 1)  # 1, and a gradient of 0
    else:
        tap = counts_along(axis, TAPS[kind], here.ndim)
        first = floor(here)
        weight = weigh(kind, here - first, tap)
        pixel = first.detach() + (tap - taps_before(kind)).cast(here.dtype)
    if kind == "cubic":
        pixel = _brought_inside(pixel, n, outside, align)
    inside = (pixel >= 0) & (pixel <= n - 1)
    return pixel.where_not(inside == 0, 0).cast(int64), weight, inside


def _brought_inside(here: Var, n: int, outside: str, align: bool) -> Var:
    """The place that is read for a place outside; at the edge, and beyond it, the border has no slope."""
    if outside == "zeros":
        return here
    if outside == "reflection":
        here = _reflected(here, n, align)
    return here.where_not(here <= 0, 0).where_not(here >= n - 1, n - 1)


def _reflected(here: Var, n: int, align: bool) -> Var:
    """There and back between the first and the last edge, -1/2 and n - 1/2, or between the centres 0 and n - 1."""
    low, span = (0.0, float(n - 1)) if align else (-0.5, float(n))
    if span == 0:
        return here * 0
    way = absolute(here - low)
    way = way.where_not(way == math.inf, 0)  # there and back for ever: as good as any is the first edge
    turns = floor(way / span).detach()
    rest = way - turns * span
    back = turns - floor(turns / 2) * 2  # 1 where the number of turns is odd
    return rest.where_not(back == 1, span - rest) + low


def _asked(image: Var, grid: Var, mode: Any) -> tuple[Var, Var, int]:
    dims = image.ndim - 2
    if dims not in (2, 3) or 0 in image.shape[2:]:
        raise ShapeError("grid_sample reads images (n, c, h, w) or volumes (n, c, d, h, w)", f"shape {image.shape}")
    if grid.ndim != dims + 2 or grid.shape[-1] != dims or grid.shape[0] != image.shape[0]:
        wanted = f"({image.shape[0]}, {'d, ' if dims == 3 else ''}h, w, {dims})"
        raise ShapeError(f"grid_sample needs a grid {wanted} for {image.shape}", f"shape {grid.shape}")
    if grid.dtype.kind != "f":
        raise DtypeError("a grid is made of real floats", f"dtype {grid.dtype}", "grid.float()")
    if image.dtype.kind == "c":
        raise DtypeError("grid_sample reads real images", f"dtype {image.dtype}", "x.real and x.imag")
    if choice("grid_sample", "mode", mode, tuple(KINDS)) == "bicubic" and dims == 3:
        raise ArgumentError("bicubic sampling is for images (n, c, h, w)", f"shape {image.shape}", "mode='bilinear'")
    return image, grid, dims


def affine_grid(theta: Any, size: Any, align_corners: bool | None = False) -> Var:
    """The grid of an affine map, for `grid_sample`: where each pixel of the answer looks.

        grid[n, y, x] = theta[n] @ (x', y', 1), x' and y' the pixel's own place, from -1 to 1

    Args:
        theta: (n, 2, 3), or (n, 3, 4) for volumes.
        size: of the answer of grid_sample: (n, c, h, w) or (n, c, d, h, w).
        align_corners: whether -1 and 1 are the centres of the outermost pixels, or their edges; None is False.

    Raises:
        ShapeError: theta does not fit size. DtypeError: theta holds no floats.

    Example:
        >>> affine_grid(array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).numpy()[0, 0]
        array([[-0.5,  0. ],
               [ 0.5,  0. ]], dtype=float32)
    """
    maps, parts = as_var(theta), size if isinstance(size, (tuple, list)) else ()
    dims = len(parts) - 2
    if dims not in (2, 3):
        raise ShapeError("affine_grid makes grids for (n, c, h, w) or (n, c, d, h, w)", f"size {size}")
    n, _, *plane = each_way("affine_grid", "size", size, len(parts), 1)
    if maps.dtype.kind != "f":
        raise DtypeError("affine_grid takes maps of real floats", f"dtype {maps.dtype}", "theta.float()")
    if maps.shape != (n, dims, dims + 1):
        raise ShapeError(f"affine_grid needs maps of shape {(n, dims, dims + 1)}", f"shape {maps.shape}")
    aligned = yes_or_no("affine_grid", "align_corners", False if align_corners is None else align_corners)
    columns = [maps[..., k].reshape(n, *(1,) * dims, dims) for k in range(dims + 1)]
    total = columns[dims] + zeros((*plane, 1), maps.dtype).detach()
    for k, m in enumerate(plane):
        i = counts_along(k, m, dims + 1).cast(maps.dtype)
        own = (i * 2 + 1) / m - 1 if not aligned else i * (2 / (m - 1)) - 1 if m > 1 else i * 0
        total = total + columns[dims - 1 - k] * own
    return total
