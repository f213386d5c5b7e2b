"""Windows: which part of an image does each place of a convolution or a pooling look at?

    find(nodes, arrays)      the first sum, or maximum, over a window that slides; as plain data for a page, or None

    image    (channels, h, w)      points: for each place of the result all that it looks at, as
    weights  (..., kh, kw)         place, channel, y, x, weight;   y and x may lie outside the image: that is padding
    out      (channels, h, w)

Nothing here knows the names of operators: the index maps of the graph say what is read, so a convolution that a learner
wrote with `reindex` is found as well. What does not slide, such as a matrix product or the mean of each row, is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jt_edu.ir.index_expr import OPERATORS, Index
from jt_edu.ir.meta_ops import Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import MULTIPLY

MOST = 20_000  # points, and pixels, that a page is given: the step view is for small images
ARGUABLE = 400_000  # points, or elements of a view, that are looked at in order to find those of the first image
Grids = tuple[np.ndarray, ...]  # for each axis of an array, where each point of the loops looks
Lookup = Callable[[Node], Any]  # the array of a node, or None


def find(nodes: Iterable[Node], lookup: Lookup) -> dict[str, Any] | None:
    """The window of the first of these nodes that has one.

    Example:
        >>> y = jt.max_pool2d(jt.array([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]), 2)
        >>> found = find([y.node], lambda node: node.data)
        >>> found["stride"], found["out"], found["points"][:10]
        ([1, 2], [1, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
    """
    return next((found for node in nodes if (found := _window(node, lookup)) is not None), None)


def _window(node: Node, lookup: Lookup) -> dict[str, Any] | None:
    op = node.op
    if not isinstance(op, ReindexReduce) or op.reducer not in ("add", "maximum", "minimum") or len(op.shape) < 2:
        return None
    source = node.inputs[0]
    if not 1 < math.prod(source.shape) <= ARGUABLE or min(op.shape) == 0:
        return None
    here = tuple(np.indices(source.shape))
    places = _looked(op.where, here)
    sides = [_array(side, here, lookup) for side in (source.inputs if source.op is MULTIPLY else (source,))]
    if places is None or any(side is None for side in sides):
        return None
    for image, *rest in (sides, sides[::-1]):
        told = _told(op, places, image, rest)  # type: ignore[arg-type]
        if told is not None:
            return told
    return None


def _told(op: ReindexReduce, places: Grids, image: tuple[Any, Grids], rest: Sequence[Any]) -> dict[str, Any] | None:
    """As plain data, if this side is the image over which a window slides."""
    array, at = image
    weights, taps = rest[0] if rest else (None, ())
    if array.ndim < 2 or not _is_still(places, taps):
        return None
    first = np.broadcast_to(places[0] == 0, places[0].shape) if len(op.shape) > 3 else np.ones(places[0].shape, bool)
    lead, (y, x) = _flat(array.shape[:-2], at[:-2]), at[-2:]
    columns = [_flat(op.shape, places), lead, y, x, _flat(weights.shape, taps) if weights is not None else None]
    points = np.stack(
        [np.zeros(first.sum(), int) if c is None else np.broadcast_to(c, first.shape)[first] for c in columns]
    )
    points = points[:, np.argsort(points[0], kind="stable")]
    moves = _moves(points, op.shape, weighted=weights is not None)
    if points.shape[1] > MOST or moves is None:
        return None
    ends = zip(moves["padding"], array.shape[-2:], points[2:4].max(axis=1) + 1, strict=True)
    if math.prod(padding + max(length, int(end)) for padding, length, end in ends) > MOST:
        return None  # a picture of the image with all that surrounds it
    begin, end = int(points[1].min()), int(points[1].max()) + 1  # of thousands of images one may be looked at
    seen = array.reshape(-1, *array.shape[-2:])[begin:end]
    if seen.size > MOST:
        return None
    points[1] -= begin
    return {
        "reducer": op.reducer, **moves,
        "image": _plain(seen), "weights": None if weights is None else _plain(weights.reshape(-1, *weights.shape[-2:])),
        "out": list(op.shape if len(op.shape) < 4 else op.shape[1:]), "points": points.T.ravel().tolist(),
    }  # fmt: skip


def _moves(points: np.ndarray, shape: Sequence[int], *, weighted: bool) -> dict[str, list[int]] | None:
    """Stride, padding and dilation, from what the places look at; None where no window slides.

    One pixel is a window only if it has weights, and only the axes along which it moves make it wide.
    """
    high, wide = shape[-2:]
    told: dict[str, list[int]] = {"stride": [], "padding": [], "dilation": []}
    slides = weighted and min(high, wide) > 1
    for row, length, apart in ((2, high, wide), (3, wide, 1)):
        looks = [np.unique(points[row, points[0] == k * apart]) for k in range(min(length, 2))]
        if not len(looks[0]):
            return None
        slides = slides or (length > 1 and len(looks[0]) > 1)
        told["stride"].append(int(looks[-1].min() - looks[0].min()) if length > 1 else 1)
        told["padding"].append(max(0, -int(looks[0].min())))
        told["dilation"].append(int(np.diff(looks[0]).min()) if len(looks[0]) > 1 else 1)
    return told if slides and min(told["stride"]) > 0 else None


def _is_still(places: Grids, taps: Grids) -> bool:
    """Whether weights are the same for all places of a plane: they depend on no counter that moves the window."""
    y, x = places[-2:]
    return all(not _vary_together(one, tap) for one in (y, x) for tap in taps)


def _vary_together(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two grids change along one and the same axis."""
    return any(_varies(one, axis) and _varies(other, axis) for axis in range(one.ndim))


def _varies(grid: np.ndarray, axis: int) -> bool:
    return grid.shape[axis] > 1 and bool((np.take(grid, 0, axis) != np.take(grid, 1, axis)).any())


def _array(node: Node, here: Grids, lookup: Lookup) -> tuple[np.ndarray, Grids] | None:
    """The array that a side reads, and where: up to the view that reads beyond its end, or to what is in memory."""
    while isinstance(node.op, Reindex) and not node.op.flat and lookup(node) is None:
        looked = _looked(node.op.where, here)
        if looked is None:
            return None
        outside = node.op.fill is not None
        node, here = node.inputs[0], looked
        if outside:
            break
    values = _values(node, lookup)
    return None if values is None else (values, here)


def _values(node: Node, lookup: Lookup) -> np.ndarray | None:
    """The numbers of a node: those in memory, or what views and casts make of them."""
    known = lookup(node)
    if known is not None:
        return np.asarray(known).reshape(node.shape)
    source = _values(node.inputs[0], lookup) if len(node.inputs) == 1 else None
    if source is None or not isinstance(node.op, (Reindex, Elementwise)):
        return None
    if isinstance(node.op, Elementwise):
        return source if node.op.name.startswith("cast") else None
    if node.op.flat:
        return source.reshape(node.shape)
    if node.op.fill is not None or math.prod(node.shape) > ARGUABLE:
        return None
    looked = _looked(node.op.where, tuple(np.indices(node.shape)))
    return None if looked is None else source[looked]


def _looked(where: Sequence[Index], here: Grids) -> Grids | None:
    """The value of each index at every point; None where an index asks an array."""
    try:
        return tuple(np.broadcast_to(_at(index, here), here[0].shape) for index in where)
    except KeyError:
        return None


def _at(index: Index, here: Grids) -> Any:
    if index.op == "counter":
        return here[index.args[0]]
    if index.op in ("int", "size"):
        return index.args[0]
    return OPERATORS[index.op](*(_at(part, here) for part in index.args))


def _flat(shape: Sequence[int], at: Sequence[np.ndarray]) -> Any:
    """Row-major numbers of elements, which may lie outside the plane."""
    number: Any = 0
    for length, one in zip(shape, at, strict=True):
        number = number * length + one
    return number


def _plain(array: np.ndarray) -> dict[str, Any]:
    numbers = [float(f"{value:.6g}") if math.isfinite(value) else str(value) for value in array.astype(float).ravel()]
    return {"shape": list(array.shape), "values": numbers}
