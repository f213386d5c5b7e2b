"""Blur: each pixel becomes a mean of those around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.data.transform.base import Transform, floats, settled, uniform
from jt_edu.data.transform.resample import limits, padded, pair
from jt_edu.ops.arguments import number


class GaussianBlur(Transform):
    """A mean of the pixels around, weighted by a bell curve of random width; the image is mirrored at its rim.

        weight[k] = exp(-(k / sigma)^2 / 2) / sum,    k from -(n - 1) / 2 to (n - 1) / 2, along each axis

    Args:
        kernel_size: n, how many pixels along each axis, an odd number; or (along the width, along the height).
        sigma: limits of the width of the bell, in pixels; or that width.

    Raises:
        ArgumentError: a kernel_size is even, or a sigma not above 0.
        ShapeError: the image is too small to be mirrored: it is not larger than half a kernel.

    Example:
        >>> GaussianBlur(3, sigma=1e-3)(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
        array([[[0., 1.],
                [1., 0.]]])

    Source: Chen et al. 2020, "A simple framework for contrastive learning of visual representations", appendix A
    (arXiv:2002.05709).
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        who = "GaussianBlur"
        self.kernel_size = pair(who, "kernel_size", kernel_size, "(along the width, along the height)")
        if not all(n % 2 for n in self.kernel_size):
            raise ArgumentError(f"{who} takes kernel_size as odd numbers", f"kernel_size={kernel_size!r}", "3")
        if isinstance(sigma, (tuple, list)):
            self.sigma = limits(who, "sigma", sigma, 0, above=True)
        else:
            self.sigma = (number(who, "sigma", sigma, 0, above=True, finite=True),) * 2

    def change(self, planes: Any) -> Any:
        """Planes, blurred."""
        (columns, rows), (h, w) = self.kernel_size, planes.shape[-2:]
        if columns // 2 >= w or rows // 2 >= h:
            found = f"{h} by {w}"
            raise ShapeError(f"GaussianBlur looks {rows // 2} rows and {columns // 2} columns into the image", found)
        sigma = uniform(*self.sigma)
        light = padded(floats(planes), (columns // 2, rows // 2, columns // 2, rows // 2), 0, "reflect")
        light = sum(weight * light[..., k : k + w] for k, weight in enumerate(_bell(columns, sigma)))
        light = sum(weight * light[..., k : k + h, :] for k, weight in enumerate(_bell(rows, sigma)))
        return settled(light, planes)


def _bell(n: int, sigma: float) -> list[float]:
    """n weights with the sum 1."""
    heights = np.exp(-(((np.arange(n) - n // 2) / sigma) ** 2) / 2)
    weights: list[float] = (heights / heights.sum()).tolist()
    return weights
