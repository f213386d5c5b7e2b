"""Drop: how does one forget whole blocks of an image, or whole branches of a network?

    drop path    of each example of a batch, all that a branch of a block has computed: x + drop_path(f(x))
    drop block   squares of each map, as neighbouring pixels tell the same

Both happen while training only. What stays is multiplied so that its mean stays.

Source: Huang et al. 2016, "Deep networks with stochastic depth" (arXiv:1603.09382); Ghiasi et al. 2018, "DropBlock"
(arXiv:1810.12890).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu import nn
from jt_edu.base.errors import ShapeError
from jt_edu.ops.arguments import in_place, number, whole, yes_or_no
from jt_edu.variable.parallel_context import apart
from jt_edu.variable.random import random
from jt_edu.variable.var import Var, as_var

__all__ = ["DropBlock2d", "DropPath", "drop_block_2d", "drop_path", "drop_path_rates"]


def drop_path(x: Any, drop_prob: float = 0.0, training: bool = False, scale_by_keep: bool = True) -> Var:
    """All numbers of an example become 0 with probability p; those of the others are multiplied by 1 / (1 - p).

    Args:
        x: (n, ...), an example each.
        drop_prob: p.
        training: False returns x itself.
        scale_by_keep: False multiplies by nothing.

    Raises:
        ArgumentError: p is not a probability.

    Example:
        >>> drop_path(jt.ones(2, 3), 1.0, training=True).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    v, p = as_var(x), number("drop_path", "drop_prob", drop_prob, 0, 1)
    scaled = yes_or_no("drop_path", "scale_by_keep", scale_by_keep)
    if not yes_or_no("drop_path", "training", training) or p == 0:
        return v
    kept = nn.dropout(v.ones_like()[(slice(None), *(slice(1),) * (v.ndim - 1))].detach(), p)
    return v * (kept if scaled else kept * (1 - p))


class DropPath(nn.Module):
    """While training, whole examples become 0; see `drop_path`.

    Example:
        >>> DropPath(1.0)(jt.ones(2, 1)).tolist(), DropPath(1.0).eval()(jt.ones(2, 1)).tolist()
        ([[0.0], [0.0]], [[1.0], [1.0]])
    """

    def __init__(self, drop_prob: float = 0.0, scale_by_keep: bool = True) -> None:
        self.drop_prob = number("DropPath", "drop_prob", drop_prob, 0, 1)
        self.scale_by_keep = yes_or_no("DropPath", "scale_by_keep", scale_by_keep)

    def execute(self, x: Any) -> Var:
        """The same shape."""
        return drop_path(x, self.drop_prob, self.is_train, self.scale_by_keep)

    def extra_repr(self) -> str:
        """How often it drops."""
        return f"drop_prob={self.drop_prob:0.3f}"


def drop_path_rates(drop_path_rate: float, depths: int | Sequence[int]) -> list[Any]:
    """How often each block drops what it has computed: from 0 in the first to `drop_path_rate` in the last, evenly.

    Args:
        drop_path_rate: of the last block.
        depths: how many blocks there are; or how many each stage has, then there is a list for each stage.

    Example:
        >>> drop_path_rates(0.4, 3), drop_path_rates(0.4, [1, 2])
        ([0.0, 0.2, 0.4], [[0.0], [0.2, 0.4]])
    """
    if isinstance(depths, int):
        return [drop_path_rate * k / max(depths - 1, 1) for k in range(depths)]
    rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
    return [[next(rates) for _ in range(depth)] for depth in depths]


def check_rates(who: str, **rates: Any) -> None:
    """Refuse what is no probability, in the words of a network that is about to be made.

    Example:
        >>> check_rates("ResNet", drop_rate=0.1, drop_path_rate=2.0)
        Traceback (most recent call last):
        ArgumentError: ResNet takes drop_path_rate as a number from 0 to 1; found drop_path_rate=2.0.
    """
    for name, rate in rates.items():
        number(who, name, rate, 0, 1)


@in_place
def drop_block_2d(
    x: Any, drop_prob: float = 0.1, block_size: int = 7, gamma_scale: float = 1.0, with_noise: bool = False,
    couple_channels: bool = True, scale_by_keep: bool = True,
) -> Var:  # fmt: skip
    """Squares of maps become 0: a square stands around each pixel with probability gamma.

        gamma = gamma_scale * drop_prob * h * w / (block * block) / ((h - block + 1) * (w - block + 1))

    Args:
        x: (n, c, h, w).
        drop_prob: how much is dropped, where squares do not overlap.
        block_size: how wide a square is; not wider than the map.
        gamma_scale: as in the formula.
        with_noise: normal numbers take the place of what is dropped, and nothing else is changed.
        couple_channels: whether all channels of an example lose the same squares.
        scale_by_keep: what stays is divided by how much stayed, in the whole batch.

    Raises:
        ShapeError: x has not 4 axes.

    Example:
        >>> drop_block_2d(jt.ones(1, 1, 2, 2), drop_prob=1.0, block_size=1).tolist()
        [[[[0.0, 0.0], [0.0, 0.0]]]]
    """
    v, name = as_var(x), "drop_block_2d"
    if v.ndim != 4:
        raise ShapeError("drop_block_2d takes (n, c, h, w)", f"shape {v.shape}")
    n, c, h, w = v.shape
    high, wide = (min(whole(name, "block_size", block_size, 1), length) for length in (h, w))
    often = number(name, "gamma_scale", gamma_scale, 0) * number(name, "drop_prob", drop_prob, 0, 1) * h * w
    gamma = often / (high * wide) / ((h - high + 1) * (w - wide + 1))
    box = (n, 1 if yes_or_no(name, "couple_channels", couple_channels) else c, h, w)
    centers = (random(box, "float32", generator=apart()) < gamma).cast(v.dtype).detach()
    squares = nn.max_pool2d(centers, (high, wide), 1, (high // 2, wide // 2))  # an even one makes the map longer
    gone = squares[..., (high + 1) % 2 :, (wide + 1) % 2 :]
    if yes_or_no(name, "with_noise", with_noise):
        out: Var = v * (1 - gone) + random(box, v.dtype, "normal", generator=apart()).detach() * gone
        return out
    kept: Var = 1 - gone
    return v * (kept / (kept.mean() + 1e-7 / kept.size) if yes_or_no(name, "scale_by_keep", scale_by_keep) else kept)


class DropBlock2d(nn.Module):
    """While training, squares of maps become 0; arguments as in `drop_block_2d`.

    Example:
        >>> DropBlock2d(0.5).eval()(jt.ones(1, 1, 1, 2)).tolist()
        [[[[1.0, 1.0]]]]
    """

    def __init__(
        self, drop_prob: float = 0.1, block_size: int = 7, gamma_scale: float = 1.0, with_noise: bool = False,
        inplace: bool = False, couple_channels: bool = True, scale_by_keep: bool = True,
    ) -> None:  # fmt: skip
        yes_or_no("DropBlock2d", "inplace", inplace)  # nothing is overwritten here: there is nothing to do
        self.drop_prob, self.block_size, self.gamma_scale = drop_prob, block_size, gamma_scale
        self.with_noise, self.couple_channels, self.scale_by_keep = with_noise, couple_channels, scale_by_keep

    def execute(self, x: Any) -> Var:
        """The same shape."""
        if not self.is_train or not self.drop_prob:
            return as_var(x)
        settings = (self.gamma_scale, self.with_noise, self.couple_channels, self.scale_by_keep)
        return drop_block_2d(x, self.drop_prob, self.block_size, *settings)
