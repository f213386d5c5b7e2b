"""Batched convolution: the convolutions of many examples are one convolution, which the fast kernels compute.

A convolution has an image, weights, and places where they meet. Some of the three have an axis b of examples in front.
It becomes a part of another of their axes:

    image (b n, c, ...)   weights (o, c, ...)     places (b n, o, ...)       the same weights for all: more images
    image (n, c, ...)     weights (b o, c, ...)   places (n, b o, ...)       the same image: more output channels
    image (n, b c, ...)   weights (o, b c, ...)   places (n, o, ...)         the same places: more channels
    image (n, b c, ...)   weights (b o, c, ...)   places (n, b o, ...)       else: groups, each with its own weights

Any one of the three can be asked for, and the other two are given. Asking for the places is the convolution itself,
asking for the image or the weights is one of its gradients.
"""

from __future__ import annotations

from typing import Protocol

from jt_edu.ir.conv_pattern import Convolution, Sizes
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.conv import added_windows
from jt_edu.ops.transpose import moveaxis
from jt_edu.variable.autograd import gradients
from jt_edu.variable.var import Var

Axes = tuple[int | None, int | None, int | None]  # of image, weights and places: which one b becomes a part of
ROLES = {
    "forward": (0, 1, 2),
    "by_image": (2, 1, 0),
    "by_weights": (0, 2, 1),
}  # what is given, and at last what is asked for
GROUPS: Axes = (1, 0, 1)
JOINED: dict[tuple[bool, ...], Axes] = {
    (True, False, True): (0, None, 0), (False, True, True): (None, 0, 1), (True, True, False): (1, 1, None)
}  # fmt: skip


class Twins(Protocol):
    """What is asked of a batch (batched_graph.py)."""

    size: int
    twins: dict[Node, Node]

    def whole(self, node: Node) -> Node:
        """The twin of a node, or the node itself for each example."""


def batched_convolution(found: Convolution, batch: Twins) -> Node:
    """The twin of a node that is a convolution, or the gradient of one."""
    s, b = found.sizes, batch.size
    shapes = [s.image_shape, s.weights_shape, s.places_shape]
    *places, asked = ROLES[s.kind]
    given = [None if k == asked else found.sides[places.index(k)] for k in range(3)]
    has = tuple(node is None or node in batch.twins for node in given)
    axes = JOINED.get(has, GROUPS) if s.groups == 1 or has == (True, False, True) else GROUPS
    arrays = [
        None if node is None else _joined(node, shape, axis, batch)
        for node, shape, axis in zip(given, shapes, axes, strict=True)
    ]  # fmt: skip
    groups = s.groups * b if axes == GROUPS else s.groups
    out = _convolved(arrays, [_longer(n, k, b) for n, k in zip(shapes, axes, strict=True)], s, groups)
    axis = axes[asked]
    assert axis is not None, "what is asked for differs from example to example"
    apart = out.reshape(*shapes[asked][:axis], b, *shapes[asked][axis:])
    return moveaxis(apart, axis, 0).reshape(b, *found.node.shape).node


def _longer(shape: Shape, axis: int | None, b: int) -> Shape:
    return tuple(n * b if k == axis else n for k, n in enumerate(shape))


def _joined(node: Node, shape: Shape, axis: int | None, batch: Twins) -> Var:
    """An array with b as a part of an axis, or as it is."""
    if axis is None:
        return Var._of(node).reshape(shape)
    apart = moveaxis(Var._of(batch.whole(node)).reshape(batch.size, *shape), 0, axis)
    return apart.reshape(_longer(shape, axis, batch.size))


def _convolved(arrays: list[Var | None], shapes: list[Shape], s: Sizes, groups: int) -> Var:
    """Image, weights or places from the other two."""
    image, weights, places = arrays
    known = next(a for a in arrays if a is not None)
    missing = Var(0.0, known.dtype).stretched(shapes[arrays.index(None)])  # its numbers do not matter
    missing.node.tracked = True
    reach = [
        (p - 1) * st + (k - 1) * d + 1 for p, st, k, d in zip(s.places, s.stride, s.kernel, s.dilation, strict=True)
    ]
    around = tuple((p, r - n - p) for p, r, n in zip(s.padding, reach, s.image, strict=True))
    x, w = missing if image is None else image, missing if weights is None else weights
    y = added_windows("conv", x, w, s.stride, s.dilation, around, groups)
    if places is None:
        return y
    (found,) = gradients(y, [missing], places)
    assert found is not None, "a convolution depends on its image and its weights"
    return found
