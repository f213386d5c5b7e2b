"""Compose: several transforms as one: all of them, all in any order, one of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.checks import callable_or_none
from jt_edu.data.transform.base import chance, shuffled, uniform
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import number

__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder"]


class Compose:
    """One transform after the other; none at all leaves the image as it is.

    Example:
        >>> Compose([lambda x: x + 1, lambda x: 2 * x])(3)
        8
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]]) -> None:
        self.transforms = _functions(type(self).__name__, transforms)

    def __call__(self, image: Any) -> Any:
        """The image after the last transform."""
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        rest = [f"{name}={value!r}," for name, value in vars(self).items() if name != "transforms"]
        return "\n    ".join([f"{type(self).__name__}(", *(f"{t!r}," for t in self.transforms), *rest]) + "\n)"


class Lambda:
    """A function as a transform. For workers, define it at the top of a file, and not as a lambda.

    Example:
        >>> Lambda(abs)(-3)
        3
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if lambd is None:
            raise ArgumentError("Lambda takes a function", repr(lambd))
        self.lambd = callable_or_none("Lambda", "lambd", lambd)

    def __call__(self, image: Any) -> Any:
        """What the function makes of it."""
        return self.lambd(image)

    def __repr__(self) -> str:
        return f"Lambda({getattr(self.lambd, '__name__', self.lambd)})"


class RandomApply(Compose):
    """All of the transforms with probability p, else none.

    Example:
        >>> RandomApply([abs], p=1.0)(-3), RandomApply([abs], p=0.0)(-3)
        (3, -3)
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]], p: float = 0.5) -> None:
        super().__init__(transforms)
        self.p = chance("RandomApply", p)

    def __call__(self, image: Any) -> Any:
        """The changed image, or the same one."""
        return super().__call__(image) if uniform(0, 1) < self.p else image


class RandomChoice(Compose):
    """One of the transforms; p, if it is given, holds the weight of each.

    Example:
        >>> RandomChoice([abs, float], p=[1.0, 0.0])(-3)
        3
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]], p: Iterable[float] | None = None) -> None:
        super().__init__(transforms)
        who, count = "RandomChoice", len(self.transforms)
        if not count:
            raise ArgumentError(f"{who} takes transforms as a list of functions, one at least", repr(transforms))
        if p is not None and not isinstance(p, Iterable):
            raise ArgumentError(f"{who} takes p as a weight for each transform", f"p={p!r}", f"{[1.0] * count}")
        self.p = [1.0] * count if p is None else [number(who, "each of p", x, 0, finite=True) for x in p]
        if len(self.p) != count or not sum(self.p) > 0:
            raise ArgumentError(f"{who} takes a weight for each transform, and not all are 0", f"{self.p} for {count}")

    def __call__(self, image: Any) -> Any:
        """The image after one of the transforms."""
        mark = uniform(0, sum(self.p))
        which = int(np.searchsorted(np.cumsum(self.p), mark, side="right"))
        return self.transforms[which](image)


class RandomOrder(Compose):
    """All of the transforms, in random order.

    Example:
        >>> RandomOrder([lambda x: x + 1, lambda x: 2 * x])(3) in (8, 7)
        True
    """

    def __call__(self, image: Any) -> Any:
        """The image after all of the transforms."""
        for k in shuffled(len(self.transforms)):
            image = self.transforms[k](image)
        return image


def _functions(who: str, transforms: Any) -> list[Callable[[Any], Any]]:
    listed = list(transforms) if isinstance(transforms, Iterable) else []
    if not isinstance(transforms, Iterable) or not all(callable(t) for t in listed):
        raise ArgumentError(f"{who} takes transforms as a list of functions", short(transforms), "[ToTensor()]")
    return listed
