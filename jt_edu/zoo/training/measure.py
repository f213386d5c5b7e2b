"""Measure: how often is a network right, which classes does it take for which, and how fast is it?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.differentiable_collectives import communicator
from jt_edu.mpi.jittor_api import in_mpi
from jt_edu.nn import Module, cross_entropy_loss
from jt_edu.nn.module import in_mode

Region = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Measured:
    """What came out for all images of all ranks.

    Example:
        >>> found = Measured(0.5, 50.0, 100.0, np.array([[1, 1], [0, 2]]), ("cat", "dog"), 4, 2.0)
        >>> found.per_class[0], found.images_per_second
        (('cat', 2, 50.0), 2.0)
    """

    loss: float
    top1: float  # percent
    top5: float
    confusion: np.ndarray[Any, Any]  # (classes, classes): images of class i that were taken for class j
    classes: Sequence[str]
    images: int
    seconds: float

    @property
    def per_class(self) -> list[tuple[str, int, float]]:
        """Of each class its name, how many images it has, and how many percent of them were found."""
        counts, right = self.confusion.sum(1), self.confusion.diagonal()
        shares = 100 * right / np.maximum(counts, 1)
        return list(zip(self.classes, counts.tolist(), shares.tolist(), strict=True))

    @property
    def images_per_second(self) -> float:
        """With all that it takes to read them."""
        return self.images / max(self.seconds, 1e-9)


def measured(net: Module, batches: Any, classes: Sequence[str], region: Region = nullcontext) -> Measured:
    """Loss and right answers of a network, in eval mode, over batches of (images, labels) of which each rank has some.

    Args:
        net: gives scores (n, classes) of images.
        batches: this rank's.
        classes: their names.
        region: what the network runs inside, such as autocast.

    Raises:
        ArgumentError: there is no image, or the network has fewer scores than there are classes.

    Example:
        >>> batches = [(jt.array([[2.0, 1.0], [0.0, 1.0]]), jt.array([0, 0]))]
        >>> measured(jt.nn.Identity(), batches, ("cat", "dog")).top1
        50.0
    """
    begin, many = time.perf_counter(), len(classes)
    sums, confusion = np.zeros(4), np.zeros((many, many), np.int64)
    with in_mode(net, train=False), no_grad():
        for x, y in batches:
            with region():
                scores = net(x)
            loss = cross_entropy_loss(scores.float(), y, reduction="sum").item()
            found, labels = scores.float().numpy(), y.numpy()
            if found.shape[1] < many:
                raise ArgumentError(f"a network has a score for each of {many} classes", f"{found.shape[1]} scores")
            own = np.take_along_axis(found, labels[:, None], 1)
            ties = (found == own) & (np.arange(found.shape[1]) < labels[:, None])  # of equal scores the first counts
            before = (~(found <= own) | ties).sum(1)  # nan is no right answer
            sums += [loss, (before < 1).sum(), (before < 5).sum(), len(labels)]
            np.add.at(confusion, (labels, found[:, :many].argmax(1)), 1)
    if in_mpi():
        sums, confusion = communicator().allreduce(sums), communicator().allreduce(confusion)
    loss, top1, top5, images = sums.tolist()
    if not images:
        raise ArgumentError("a network is measured on images", f"{images:.0f} of them")
    seconds = time.perf_counter() - begin
    return Measured(loss / images, 100 * top1 / images, 100 * top5 / images, confusion, classes, int(images), seconds)
