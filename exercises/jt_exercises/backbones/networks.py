"""Networks: what does notebook 11 need beside its exercises?

photographs      two of them, small enough for a lesson; they come with scikit-learn, so nothing is downloaded
folded           a network in which a learner's `fold` has done away with the batch norms
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import nn

PAIRS = (("conv1", "bn1"), ("conv2", "bn2"), ("0", "1"))  # a convolution and the batch norm behind it


def photographs() -> dict[str, np.ndarray[Any, Any]]:
    """The middle of two photographs, each 4 by 4 pixels made one: (96, 128, 3) bytes.

    Example:
        >>> {name: pixels.shape for name, pixels in photographs().items()}
        {'china': (96, 128, 3), 'flower': (96, 128, 3)}
    """
    from sklearn.datasets import load_sample_images  # noqa: PLC0415 - heavy, and only this function needs it

    middle = (photo[21:405, 64:576] for photo in load_sample_images().images)
    small = (photo.reshape(96, 4, 128, 4, 3).mean((1, 3)).astype(np.uint8) for photo in middle)
    return dict(zip(("china", "flower"), small, strict=True))


def folded(net: nn.Module, fold: Callable[[nn.Conv2d, nn.BatchNorm2d], tuple[Any, Any]]) -> nn.Module:
    """A copy of a network, for evaluation, in which each batch norm behind a convolution is folded into it.

    Example:
        >>> net = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2))
        >>> folded(net, lambda conv, bn: (conv.weight, bn.bias))
        Sequential(
          (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
          (1): Identity()
        )
    """
    net = copy.deepcopy(net).eval()
    for module in list(net.modules()):
        for before, behind in PAIRS:
            if isinstance(bn := getattr(module, behind, None), nn.BatchNorm2d):
                conv = getattr(module, before)
                conv.weight, conv.bias = (jt.array(part).detach() for part in fold(conv, bn))
                setattr(module, behind, nn.Identity())
    return net
