"""Affine: images that are turned, moved, scaled and sheared, read between four pixels.

    where the light of an output pixel comes from:      centre + back (place - centre - shift)

Places are (x, y), x to the right and y down, in pixels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.transform.base import Transform, uniform
from jt_edu.data.transform.resample import angles, interpolation_of, limits, moved
from jt_edu.ops.arguments import number

MOST_SHEAR = 89.0  # degrees: at 90 an image is a line


class RandomRotation(Transform):
    """The image turned around its centre, counter-clockwise, by a random angle.

        output pixel (dx, dy) from the centre   <-   input pixel (cos a dx - sin a dy, sin a dx + cos a dy)

    Args:
        degrees: d, for an angle from -d to d; or the two limits.
        interpolation: "nearest" or "bilinear".
        fill: the colour of what was not in the image, a number or one for each channel.

    Example:
        >>> RandomRotation((90, 90))(np.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[2.0, 4.0], [1.0, 3.0]]]
    """

    def __init__(self, degrees: Any, interpolation: str = "nearest", fill: Any = 0) -> None:
        self.degrees = angles("RandomRotation", "degrees", degrees)
        self.interpolation, self.fill = interpolation_of("RandomRotation", interpolation), fill

    def change(self, planes: Any) -> Any:
        """Planes, turned."""
        return moved(planes, rotation(uniform(*self.degrees)), (0, 0), self.interpolation, self.fill)


class RandomAffine(Transform):
    """The image turned, sheared, scaled and moved, each by a random amount; its centre moves only by the shift.

        output place = centre + shift + s R(a) [[1, 0], [-tan v, 1]] [[1, -tan u], [0, 1]] (input place - centre)

    where R(a) = [[cos a, -sin a], [sin a, cos a]] turns clockwise, as y points down (`RandomRotation` turns the other
    way, in PyTorch as well).

    Args:
        degrees: d, for an angle a from -d to d; or the two limits.
        translate: (x, y), for a shift by up to that part of the width and of the height, in whole pixels; None: no
            shift.
        scale: limits of the factor s; None: 1.
        shear: d, for an angle u from -d to d; or its two limits; or those of u and of v. None: no shear.
        interpolation: "nearest" or "bilinear".
        fill: the colour of what was not in the image, a number or one for each channel.

    Raises:
        ArgumentError: a limit makes no sense.
        ShapeError: the image has no pixel.

    Example:
        >>> RandomAffine(0, scale=(0.5, 0.5))(np.ones((1, 4, 4)))[0]
        array([[0., 0., 0., 0.],
               [0., 1., 1., 0.],
               [0., 1., 1., 0.],
               [0., 0., 0., 0.]])

    Source: Simard et al. 2003, "Best practices for convolutional neural networks applied to visual document
    analysis", section 2.
    """

    def __init__(
        self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None,
        interpolation: str = "nearest", fill: Any = 0,
    ) -> None:  # fmt: skip
        who = "RandomAffine"
        self.degrees = angles(who, "degrees", degrees)
        self.translate = (0.0, 0.0) if translate is None else _parts(who, translate)
        self.scale = (1.0, 1.0) if scale is None else limits(who, "scale", scale, 0, above=True)
        self.shear = ((0.0, 0.0), (0.0, 0.0)) if shear is None else _shears(who, shear)
        self.interpolation, self.fill = interpolation_of(who, interpolation), fill

    def change(self, planes: Any) -> Any:
        """Planes, moved."""
        h, w = planes.shape[-2:]
        turn = rotation(uniform(*self.degrees))
        x, y = (round(uniform(-part * n, part * n)) for part, n in zip(self.translate, (w, h), strict=True))
        factor = uniform(*self.scale)
        u, v = (math.tan(math.radians(uniform(*reach))) for reach in self.shear)
        forth = factor * turn @ [[1, 0], [-v, 1]] @ [[1, -u], [0, 1]]
        return moved(planes, np.linalg.inv(forth), (x, y), self.interpolation, self.fill)


def rotation(degrees: float) -> np.ndarray[Any, Any]:
    """The matrix that turns places clockwise, as y points down; of where light comes from, so the image turns back."""
    a = math.radians(degrees)
    return np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])


def _parts(who: str, translate: Any) -> tuple[float, float]:
    if not isinstance(translate, (tuple, list)) or len(translate) != 2:
        raise ArgumentError(f"{who} takes translate as two parts, (x, y)", f"translate={translate!r}", "(0.1, 0.1)")
    x, y = (number(who, "each part of translate", part, 0, 1) for part in translate)
    return x, y


def _shears(who: str, shear: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """The limits of both angles."""
    four = isinstance(shear, (tuple, list)) and len(shear) == 4
    both = angles(who, "shear", shear[:2] if four else shear), angles(who, "shear", shear[2:] if four else 0)
    for limit in (*both[0], *both[1]):
        number(who, "each limit of shear", limit, -MOST_SHEAR, MOST_SHEAR)
    return both
