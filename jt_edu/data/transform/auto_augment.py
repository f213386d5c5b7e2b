"""Auto-augment: images changed by operators that are drawn, with the strength that a table gives them.

    RandAugment           so many operators, all with one magnitude
    TrivialAugmentWide    one operator, with any magnitude of a wide range
    AutoAugment           one of 25 pairs of operators that a search has found

A magnitude is a number k from 0 to bins - 1: the part k / (bins - 1) of the most that the table allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.own import doing
from jt_edu.data.transform.base import Transform, below, filler, uniform
from jt_edu.data.transform.operators import in_bytes, operate
from jt_edu.data.transform.policies import policy_of
from jt_edu.data.transform.resample import interpolation_of
from jt_edu.ops.arguments import choice, whole

__all__ = ["AutoAugment", "RandAugment", "TrivialAugmentWide"]

SIDE = 150 / 331  # of a side: how far the search moved its images of 331 pixels
MOST = {  # the strongest of RandAugment and AutoAugment, and that of TrivialAugmentWide
    "Identity": (0, 0), "ShearX": (0.3, 0.99), "ShearY": (0.3, 0.99), "TranslateX": (SIDE, 32),
    "TranslateY": (SIDE, 32), "Rotate": (30, 135), "Brightness": (0.9, 0.99), "Color": (0.9, 0.99),
    "Contrast": (0.9, 0.99), "Sharpness": (0.9, 0.99), "Posterize": (4, 6), "Solarize": (255, 255),
    "AutoContrast": (0, 0), "Equalize": (0, 0),
}  # fmt: skip
BLENDS = ("Brightness", "Color", "Contrast", "Sharpness")  # a factor of 1 is no change
UNSIGNED = ("Identity", "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert")


class Augment(Transform):
    """A transform of bytes by drawn operators; a subclass has a method `augmented`.

    Light is rounded to 256 levels while it is changed; a Var is changed on its way through an array.
    """

    interpolation: str
    fill: Any

    def change(self, planes: Any) -> Any:
        """Planes, changed by what is drawn."""
        pixels, back = in_bytes(planes)
        return back(doing(self, "augmented")(pixels))

    def _applied(self, name: str, planes: Any, part: float, wide: bool = False) -> Any:
        """Planes after one operator, with a part of the most that is allowed, forwards or backwards."""
        sign = 1 if name in UNSIGNED else 1 - 2 * below(2)
        return operate(name, planes, _value(name, part, sign, planes.shape, wide), self.interpolation, self.fill)

    def _reading(self, interpolation: str, fill: Any) -> None:
        """How operators that move an image read it."""
        self.interpolation = interpolation_of(type(self).__name__, interpolation)
        self.fill = 0 if fill is None else fill
        filler(self.fill, np.zeros((np.size(self.fill), 1, 1), np.uint8))


def _value(name: str, part: float, sign: int, shape: tuple[int, ...], wide: bool) -> float:
    """What an operator is given for this part of the most."""
    most = MOST.get(name, (0, 0))[wide]
    if name == "Posterize":
        return 8 - round(part * most)
    if name == "Solarize":
        return most * (1 - part)
    if name in BLENDS:
        return 1 + sign * part * most
    if name.startswith("Translate"):
        side = 1 if wide else shape[-1] if name == "TranslateX" else shape[-2]
        return int(sign * part * most * side)
    return sign * part * most


class RandAugment(Augment):
    """So many operators, drawn with replacement from 14, one after the other and all with the same magnitude.

    Args:
        num_ops: how many operators.
        magnitude: how strong they are, from 0 to num_magnitude_bins - 1.
        num_magnitude_bins: how many magnitudes there are.
        interpolation: how those that move the image read between pixels, "nearest" or "bilinear".
        fill: the colour of what was not in the image, a number or one for each channel; None: black.

    Shape: pixels (h, w) or (h, w, c), or planes (..., c, h, w), with 1 or 3 channels; a stack is changed alike.

    Raises:
        ArgumentError: there is no such magnitude.
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> RandAugment(num_ops=1, magnitude=0)(np.array([[0, 255]], np.uint8)).shape
        (1, 2)

    Source: Cubuk et al. 2019, "RandAugment: practical automated data augmentation with a reduced search space"
    (arXiv:1909.13719); magnitudes as in torchvision.
    """

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31, interpolation: str = "nearest",
        fill: Any = None,
    ) -> None:  # fmt: skip
        who = "RandAugment"
        self.num_ops = whole(who, "num_ops", num_ops, 0)
        self.num_magnitude_bins = whole(who, "num_magnitude_bins", num_magnitude_bins, 2)
        self.magnitude = whole(who, "magnitude", magnitude, 0, self.num_magnitude_bins - 1)
        self._reading(interpolation, fill)

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes after all operators."""
        for _ in range(self.num_ops):
            planes = self._applied([*MOST][below(len(MOST))], planes, self.magnitude / (self.num_magnitude_bins - 1))
        return planes


class TrivialAugmentWide(Augment):
    """One operator, drawn from 14, with a magnitude that is drawn from a wide range: nothing has to be tuned.

    Args:
        num_magnitude_bins: how many magnitudes there are.
        interpolation, fill: as for `RandAugment`.

    Shape: as for `RandAugment`.

    Raises:
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> TrivialAugmentWide()(np.zeros((3, 4, 5), np.float32)).shape
        (3, 4, 5)

    Source: Müller and Hutter 2021, "TrivialAugment: tuning-free yet state-of-the-art data augmentation"
    (arXiv:2103.10158).
    """

    def __init__(self, num_magnitude_bins: int = 31, interpolation: str = "nearest", fill: Any = None) -> None:
        self.num_magnitude_bins = whole("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2)
        self._reading(interpolation, fill)

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes after one operator."""
        name, part = [*MOST][below(len(MOST))], below(self.num_magnitude_bins) / (self.num_magnitude_bins - 1)
        return self._applied(name, planes, part, wide=True)


class AutoAugment(Augment):
    """One of 25 pairs of operators, each with a likelihood and a magnitude that a search has found.

    Args:
        policy: what the search looked at, "imagenet", "cifar10" or "svhn".
        interpolation, fill: as for `RandAugment`.

    Shape: as for `RandAugment`.

    Raises:
        ArgumentError: there is no such policy.
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> AutoAugment("svhn")(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)

    Source: Cubuk et al. 2018, "AutoAugment: learning augmentation policies from data" (arXiv:1805.09501).
    """

    def __init__(self, policy: str = "imagenet", interpolation: str = "nearest", fill: Any = None) -> None:
        self.policy = choice("AutoAugment", "policy", policy, ("imagenet", "cifar10", "svhn"))
        self._reading(interpolation, fill)

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes after one pair of operators."""
        policy = policy_of(self.policy)
        for name, likely, magnitude in policy[below(len(policy))]:
            if uniform(0, 1) < likely:
                planes = self._applied(name, planes, magnitude / 9)
        return planes
