"""Mixup: two images become one, and their labels a distribution.

    Mixup      x' = lam x + (1 - lam) x of the partner
    CutMix     x' = x, but in a box of the area 1 - lam that of the partner
    both       x' = keep x + (1 - keep) x of the partner,     keep (n, 1, h, w) from 0 to 1, with the mean lam
               y' = lam y + (1 - lam) y of the partner

The partner of image k of n is image n - 1 - k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.data.collate import as_array, collate
from jt_edu.data.transform.base import drawn, floats, settled
from jt_edu.data.transform.resample import limits
from jt_edu.ops.arguments import choice, number, whole, yes_or_no
from jt_edu.variable.var import Var

__all__ = ["FastCollateMixup", "Mixup", "mixup_target"]

Box = tuple[int, int, int, int]  # top, bottom, left, right
MODES = ("batch", "pair", "elem")


def mixup_target(
    target: Any, num_classes: int, lam: Any = 1.0, smoothing: float = 0.0, multi_label: bool = False
) -> Any:
    """The labels of mixed images, each a distribution over the classes.

        y = (1 - smoothing) one_hot(target) + smoothing / num_classes
        mixed[k] = lam y[k] + (1 - lam) y[n - 1 - k]

    Args:
        target: (n,), class numbers; with `multi_label` (n, num_classes), how much each class is there.
        num_classes: how many classes there are.
        lam: the share of the image itself: one number, or (n, 1).
        smoothing: this share of each label is given evenly to all classes; of `multi_label`, towards 1/2.
        multi_label: an image may be of several classes.

    Returns: (n, num_classes) float32, of kind Var if target is one; the sum over the classes is 1.
    Raises: ShapeError and ArgumentError, for a target of another shape, and for numbers of no class.

    Example:
        >>> mixup_target(np.array([0, 1]), num_classes=2, lam=0.75)
        array([[0.75, 0.25],
               [0.25, 0.75]], dtype=float32)

    Source: Zhang et al. 2017, "mixup: beyond empirical risk minimization" (arXiv:1710.09412).
    """
    who, labels = "mixup_target", as_array(target)
    classes = whole(who, "num_classes", num_classes, 1)
    smoothing = number(who, "smoothing", smoothing, 0, 1)
    wanted = (len(labels), classes) if yes_or_no(who, "multi_label", multi_label) else (len(labels),)
    if labels.shape != wanted:
        raise ShapeError(f"{who} takes target of the shape {wanted}", f"shape {labels.shape}")
    if multi_label:
        y = labels * (1 - smoothing) + smoothing / 2
    elif labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < classes)).all():
        raise ArgumentError(f"{who} takes target as class numbers from 0 to {classes - 1}", f"{labels}")
    else:
        y = np.eye(classes)[labels] * (1 - smoothing) + smoothing / classes
    share = as_array(lam)
    mixed = (share * y + (1 - share) * y[::-1]).astype(np.float32)
    return Var(mixed) if isinstance(target, Var) else mixed


def cutmix_box(shape: tuple[int, ...], lam: float) -> Box:
    """A box of the area 1 - lam of the image, whose centre is anywhere: what lies outside the image is cut off."""
    (h, w), side = shape[-2:], float(np.sqrt(1 - lam))
    rows, columns = int(h * side), int(w * side)
    y, x = int(drawn("randint", h)), int(drawn("randint", w))
    return (
        max(y - rows // 2, 0), min(y + (rows + 1) // 2, h), max(x - columns // 2, 0), min(x + (columns + 1) // 2, w),
    )  # fmt: skip


def minmax_box(shape: tuple[int, ...], low: float, high: float) -> Box:
    """A box inside the image whose sides are a part from `low` to `high` of its own."""
    (h, w) = shape[-2:]
    rows, columns = (int(drawn("randint", int(n * low), max(int(n * high), int(n * low) + 1))) for n in (h, w))
    y, x = int(drawn("randint", h - rows + 1)), int(drawn("randint", w - columns + 1))
    return y, y + rows, x, x + columns


class Mixup:
    """Images of a batch, mixed in pairs, and their labels: Mixup, CutMix, or now one and now the other.

        lam from Beta(alpha, alpha)

    Args:
        mixup_alpha: of Mixup; 0: none.
        cutmix_alpha: of CutMix; 0: none.
        cutmix_minmax: limits of the sides of CutMix's box, as a part of the image, instead of cutmix_alpha.
        prob: how likely images are mixed at all.
        switch_prob: how likely it is CutMix, where both are there.
        mode: lam is drawn once for the "batch", or for each "pair", or for each image alone ("elem").
        correct_lam: CutMix's lam is what remains of the image, also where the box was cut off at the rim.
        label_smoothing: of the labels, as in `mixup_target`.
        num_classes, multi_label: as in `mixup_target`.

    Call: (x, target), images (n, c, h, w) and labels, n even -> images and labels (n, num_classes). Set
    `mixup_enabled` to False to leave images as they are, and only spread the labels.

    Raises:
        ArgumentError: an argument makes no sense, or neither method is there.
        ShapeError: x has not four axes; the batch is odd, so that one image has no partner; or there is not one label
            for each image.

    Example:
        >>> x, y = Mixup(num_classes=3, label_smoothing=0.0)(np.ones((2, 1, 4, 4), np.float32), np.array([0, 2]))
        >>> x.min(), y.sum(1)
        (np.float32(1.0), array([1., 1.], dtype=float32))

    Source: Zhang et al. 2017 (arXiv:1710.09412); Yun et al. 2019, "CutMix: regularization strategy to train strong
    classifiers with localizable features" (arXiv:1905.04899).
    """

    def __init__(
        self, mixup_alpha: float = 1.0, cutmix_alpha: float = 0.0, cutmix_minmax: Any = None, prob: float = 1.0,
        switch_prob: float = 0.5, mode: str = "batch", correct_lam: bool = True, label_smoothing: float = 0.1,
        num_classes: int = 1000, multi_label: bool = False,
    ) -> None:  # fmt: skip
        who = type(self).__name__
        self.mixup_alpha = number(who, "mixup_alpha", mixup_alpha, 0, finite=True)
        self.cutmix_alpha = number(who, "cutmix_alpha", cutmix_alpha, 0, finite=True)
        self.cutmix_minmax = None if cutmix_minmax is None else limits(who, "cutmix_minmax", cutmix_minmax, 0, 1)
        if cutmix_minmax is not None:
            self.cutmix_alpha = 1.0
        if not self.mixup_alpha and not self.cutmix_alpha:
            found = f"mixup_alpha {mixup_alpha}, cutmix_alpha {cutmix_alpha}"
            raise ArgumentError(f"{who} takes an alpha above 0, of Mixup or of CutMix", found)
        self.prob, self.switch_prob = number(who, "prob", prob, 0, 1), number(who, "switch_prob", switch_prob, 0, 1)
        self.mode, self.correct_lam = choice(who, "mode", mode, MODES), yes_or_no(who, "correct_lam", correct_lam)
        self.label_smoothing = number(who, "label_smoothing", label_smoothing, 0, 1)
        self.num_classes = whole(who, "num_classes", num_classes, 1)
        self.multi_label = yes_or_no(who, "multi_label", multi_label)
        self.mixup_enabled = True

    def __call__(self, x: Any, target: Any) -> tuple[Any, Any]:
        """Mixed images, and labels to go with them."""
        if len(x.shape) != 4:
            raise ShapeError(f"{type(self).__name__} takes images (n, c, h, w)", f"shape {tuple(x.shape)}")
        n = len(x)
        if n % 2:
            raise ShapeError(f"{type(self).__name__} gives each image a partner: a batch is even", f"{n} images")
        if len(target) != n:
            raise ShapeError(f"{type(self).__name__} takes a label for each image", f"{len(target)} for {n} images")
        keep, lam = self._shares({"batch": 1, "pair": n // 2, "elem": n}[self.mode], x.shape)
        if self.mode == "pair":
            keep, lam = np.concatenate([keep, keep[::-1]]), np.concatenate([lam, lam[::-1]])
        y = mixup_target(target, self.num_classes, lam[:, None], self.label_smoothing, self.multi_label)
        if (keep == 1).all():
            return x, y
        light = floats(x)
        share = Var(keep, light.dtype) if isinstance(x, Var) else keep.astype(light.dtype)
        return settled(share * light + (1 - share) * light[::-1], x), y

    def _shares(self, count: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """What is kept of so many images: each pixel (count, 1, h or 1, w or 1), and all in all (count,)."""
        both = self.mixup_alpha > 0 and self.cutmix_alpha > 0
        cut = drawn("random", count) < self.switch_prob if both else np.full(count, self.cutmix_alpha > 0)
        alphas = (self.cutmix_alpha, self.mixup_alpha)
        lam = np.where(cut, *[drawn("beta", a, a, count) if a else np.ones(count) for a in alphas])
        lam = np.where(drawn("random", count) < self.prob, lam, 1).astype(np.float32)
        if not self.mixup_enabled:
            lam = np.ones_like(lam)
        keep = lam[:, None, None, None]
        if not (cut & (lam < 1)).any():
            return keep, lam
        keep = np.tile(keep, (1, 1, *shape[-2:]))
        for k in np.flatnonzero(cut & (lam < 1)):
            top, bottom, left, right = self._box(shape, float(lam[k]))
            keep[k] = 1
            keep[k, :, top:bottom, left:right] = 0
            if self.correct_lam or self.cutmix_minmax is not None:
                lam[k] = keep[k].mean(dtype=np.float64)
        return keep, lam

    def _box(self, shape: tuple[int, ...], lam: float) -> Box:
        return cutmix_box(shape, lam) if self.cutmix_minmax is None else minmax_box(shape, *self.cutmix_minmax)


class FastCollateMixup(Mixup):
    """`Mixup` as the collate_fn of a loader: images are mixed as bytes, where the batch is made, and rounded.

    Args: as for `Mixup`.

    Call: a list of (image (c, h, w) uint8, label) -> images (n, c, h, w) uint8 and labels (n, num_classes).

    Example:
        >>> examples = [(np.full((1, 2, 2), 100 * k, np.uint8), k) for k in range(2)]
        >>> x, y = FastCollateMixup(num_classes=2)(examples)
        >>> x.dtype, x.shape, y.shape
        (dtype('uint8'), (2, 1, 2, 2), (2, 2))
    """

    def __call__(self, examples: list[Any]) -> tuple[Any, Any]:  # type: ignore[override]
        """One batch of mixed images, and its labels."""
        images, target = collate(examples)
        return super().__call__(images, target)
