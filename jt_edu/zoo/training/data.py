"""Data: which batches do the settings of a training ask for?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.data.fetch import own_numbers
from jt_edu.data.sampler import count_examples, mixed
from jt_edu.nn import Module
from jt_edu.variable.parallel_context import place
from jt_edu.variable.var import Var
from jt_edu.zoo.data.config import resolve_data_config
from jt_edu.zoo.data.mixup import Mixup
from jt_edu.zoo.data.transforms_factory import create_transform
from jt_edu.zoo.training.feed import Examples, Feed, Order
from jt_edu.zoo.training.source import Source

AS_IT_IS = [1.0, 1.0]  # AUG.SCALE and AUG.RATIO: the whole image, in its own shape


def transforms(cfg: Any, source: Source, net: Module) -> tuple[Callable[..., Any], Callable[..., Any], bool]:
    """What becomes of images to train with, and of others; and whether the first is random.

    Example:
        >>> from jt_edu.zoo.training import source
        >>> cfg, digits = jt.zoo.train.defaults(), source.named("digits")
        >>> cfg.AUG.HFLIP = 0.5
        >>> train, other, is_random = transforms(cfg, digits, jt.zoo.create_model("digits_cnn"))
        >>> other(digits.train[0][0]).shape, is_random
        ((1, 8, 8), True)
    """
    wants = getattr(net, "pretrained_cfg", {})
    own = 0 if wants.get("fixed_input_size") else source.size
    size = cfg.DATA.IMG_SIZE or own or wants.get("input_size", (3, 224, 224))[-1]
    mean, std = (None, None) if cfg.MODEL.PRETRAINED else (source.mean, source.std)
    how = resolve_data_config(
        {
            "input_size": (source.channels, size, size), "interpolation": cfg.DATA.INTERPOLATION, "mean": mean,
            "std": std, "crop_pct": None if cfg.TEST.CROP and size != source.size else 1.0,
        },
        model=net,
    )  # fmt: skip
    a = cfg.AUG
    drawn = (a.AUTO_AUGMENT, a.COLOR_JITTER, a.HFLIP, a.VFLIP, a.REPROB, list(a.SCALE) != AS_IT_IS)
    plain = create_transform(**how)
    if not (any(drawn) or list(a.RATIO) != AS_IT_IS):
        return plain, plain, False
    random = create_transform(
        is_training=True, scale=tuple(a.SCALE), ratio=tuple(a.RATIO), hflip=a.HFLIP, vflip=a.VFLIP,
        color_jitter=a.COLOR_JITTER or None, auto_augment=a.AUTO_AUGMENT or None, re_prob=a.REPROB, re_mode=a.REMODE,
        re_count=a.RECOUNT, **how,
    )  # fmt: skip
    return random, plain, True


def feeds(cfg: Any, source: Source, net: Module) -> tuple[Feed, Feed]:
    """Batches to train with, and others to measure with.

    Raises:
        ArgumentError: there are fewer examples than ranks.

    Example:
        >>> from jt_edu.zoo.training import source
        >>> cfg = jt.zoo.train.defaults()
        >>> train, held_out = feeds(cfg, source.named("digits"), jt.zoo.create_model("digits_cnn"))
        >>> len(train), len(held_out), next(train.epoch(0))[0].shape
        (22, 6, (64, 1, 8, 8))
    """
    random, plain, is_random = transforms(cfg, source, net)
    count, size, workers = count_examples(source.train), cfg.DATA.BATCH_SIZE, cfg.DATA.NUM_WORKERS
    if min(count, size) < place()[1]:
        raise ArgumentError(f"each of {place()[1]} ranks has a share of a batch", f"batches of {min(count, size)}")
    train = Order(count, min(count, size), cfg.SEED, max(1, cfg.AUG.REPEATS))
    held_out = Order(count_examples(source.held_out), size, None)
    return (
        Feed(Examples(source.train, random, cfg.SEED if is_random else None), train, workers),
        Feed(Examples(source.held_out, plain, None), held_out, workers),
    )


class Mixing:
    """Mixup or CutMix of a batch, as AUG says, with random numbers that begin with the place of the batch.

    On several ranks each mixes its own share, all in the same way.
    """

    def __init__(self, cfg: Any, classes: int) -> None:
        a, self.seed = cfg.AUG, cfg.SEED
        self.mixup = None
        if a.MIXUP or a.CUTMIX:
            self.mixup = Mixup(
                a.MIXUP, a.CUTMIX, None, a.MIXUP_PROB, a.MIXUP_SWITCH_PROB, a.MIXUP_MODE,
                label_smoothing=cfg.MODEL.LABEL_SMOOTHING, num_classes=classes,
            )  # fmt: skip

    def __call__(self, batch: tuple[Var, Var], *numbers: int) -> tuple[Var, Var]:
        """Images and labels, mixed or as they are."""
        with nullcontext() if self.mixup is None else own_numbers(mixed(self.seed, *numbers)):
            return batch if self.mixup is None else self.mixup(*batch)
