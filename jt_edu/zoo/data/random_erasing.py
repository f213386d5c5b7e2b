"""Random erasing, as in timm: boxes of a batch, each image its own, filled with black or with noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ShapeError
from jt_edu.data.transform.base import Transform, below, chance, drawn, twin, uniform
from jt_edu.data.transform.resample import limits, random_hole
from jt_edu.ops.arguments import choice, number, whole
from jt_edu.variable.var import Var

__all__ = ["RandomErasing"]


class RandomErasing(Transform):
    """Boxes of an image filled with something else; of a batch, of each image by itself. It comes after `Normalize`.

        area of a box = u height width / count,    u from min_area to max_area
        height / width = r,    log r evenly from log min_aspect to log max_aspect

    Args:
        probability: how likely an image is changed.
        min_area, max_area: limits of the area of all boxes, as a part of the image.
        min_aspect, max_aspect: limits of height / width; max_aspect is 1 / min_aspect by default.
        mode: "const", 0; "rand", one normally distributed colour for each box; "pixel", one for each pixel.
        min_count, max_count: how many boxes an image has; max_count is min_count by default.
        num_splits: so many equal parts make a batch, and the first one is left alone; 0 or 1: none is.

    Shape: planes (c, h, w) or (n, c, h, w) of floats, as it was given.

    Raises:
        ArgumentError: an argument makes no sense.
        ShapeError: the image has more axes, or less.

    Example:
        >>> (RandomErasing(1.0, min_area=0.25, max_area=0.25, min_aspect=1.0)(np.ones((1, 4, 4))) == 0).sum()
        np.int64(4)

    Source: Zhong et al. 2020, "Random erasing data augmentation" (arXiv:1708.04896).
    """

    def __init__(
        self, probability: float = 0.5, min_area: float = 0.02, max_area: float = 1 / 3, min_aspect: float = 0.3,
        max_aspect: float | None = None, mode: str = "const", min_count: int = 1, max_count: int | None = None,
        num_splits: int = 0,
    ) -> None:  # fmt: skip
        who = "RandomErasing"
        self.probability, self.mode = chance(who, probability), choice(who, "mode", mode, ("const", "rand", "pixel"))
        self.area = limits(who, "area", (min_area, max_area), 0, 1, above=True)
        least = number(who, "min_aspect", min_aspect, 0, above=True, finite=True)
        self.aspect = limits(who, "aspect", (least, 1 / least if max_aspect is None else max_aspect), 0, above=True)
        self.min_count = whole(who, "min_count", min_count, 1)
        self.max_count = self.min_count if max_count is None else whole(who, "max_count", max_count, self.min_count)
        self.num_splits = whole(who, "num_splits", num_splits, 0)

    def change(self, planes: Any) -> Any:
        """Planes with boxes."""
        if planes.ndim not in (3, 4):
            raise ShapeError("RandomErasing takes an image, or a batch", f"shape {planes.shape}", "(c, h, w)")
        n, c, h, w = (1, *planes.shape)[-4:]
        hole, filling = np.zeros((n, 1, h, w), bool), np.zeros((n, 1 if self.mode == "const" else c, h, w), np.float32)
        for k in range(n // self.num_splits if self.num_splits > 1 and planes.ndim == 4 else 0, n):
            if uniform(0, 1) < self.probability:
                self._erase(hole[k], filling[k])
        if not hole.any():
            return planes
        if planes.ndim == 3:
            hole, filling = hole[0], filling[0]
        other = Var(filling, planes.dtype) if isinstance(planes, Var) else filling.astype(planes.dtype)
        return twin(planes).where(hole, other, planes)

    def _erase(self, hole: Any, filling: Any) -> None:
        """Mark the boxes of one image, and what they are filled with."""
        c, h, w = filling.shape
        count = self.min_count + below(self.max_count - self.min_count + 1)
        for _ in range(count):
            box = random_hole((h, w), h * w / count, self.area, self.aspect)
            if box is not None:
                hole[:, *box] = True
                if self.mode != "const":
                    sides = (1, 1) if self.mode == "rand" else hole[0][box].shape
                    filling[:, *box] = drawn("standard_normal", (c, *sides))
