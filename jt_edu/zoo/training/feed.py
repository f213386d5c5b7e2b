"""Feed: which batches do the settings of a training ask for, in which order, and what is done to each image?

    epoch 3, example 17     its random changes begin with a seed made of these two numbers and that of the run

So nothing depends on who makes a batch, in how many processes, on how many ranks, or whether the epoch was begun by
another process that was killed meanwhile: there is no state to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import repeat
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data import DataLoader
from jt_edu.data.dataset import told
from jt_edu.data.fetch import own_numbers
from jt_edu.data.sampler import Sampler, count_examples, mixed
from jt_edu.nn import Module
from jt_edu.variable.parallel_context import place, team
from jt_edu.zoo.data.config import resolve_data_config
from jt_edu.zoo.data.mixup import Mixup
from jt_edu.zoo.data.transforms_factory import create_transform
from jt_edu.zoo.training.source import Source

Key = tuple[int, int]  # an epoch, and the number of an example
AS_IT_IS = [1.0, 1.0]  # AUG.SCALE and AUG.RATIO: the whole image, in its own shape


class Examples:
    """Images of a source by (epoch, number), changed by a transform, for which random numbers begin with `seed`.

    Args:
        images: pixels and labels by number.
        transform: of the pixels.
        seed: None if the transform draws nothing.
    """

    def __init__(self, images: Any, transform: Callable[[Any], Any], seed: int | None) -> None:
        self.images, self.transform, self.seed = images, transform, seed

    def __getitem__(self, key: Key) -> tuple[Any, int]:
        with nullcontext() if self.seed is None else own_numbers(mixed(self.seed, *key)):
            pixels, label = self.images[key[1]]
            return self.transform(pixels), label

    def __len__(self) -> int:
        return count_examples(self.images)


class Order(Sampler):
    """Numbers of examples in batches, from batch `start` of an epoch on: of each this rank's share, or every n-th one.

    Args:
        count: how many examples there are.
        batch: how many make a batch, of all ranks together.
        seed: of the order; None: as they are, and the last batch may be smaller.
        repeats: how often an example stands in a batch.

    Example:
        >>> order = Order(5, 2, seed=None)
        >>> list(order)
        [[(0, 0), (0, 1)], [(0, 2), (0, 3)], [(0, 4)]]
    """

    def __init__(self, count: int, batch: int, seed: int | None, repeats: int = 1) -> None:
        self.count, self.batch, self.seed, self.repeats = count, batch, seed, repeats
        self.epoch = self.start = 0

    def __iter__(self) -> Iterator[list[Key]]:
        numbers = np.arange(self.count)
        if self.seed is not None:
            numbers = np.random.default_rng((self.seed, self.epoch)).permutation(numbers)
            numbers = np.repeat(numbers, self.repeats)[: self.count]
        (rank, ranks), crew = place(), team()
        for k in range(self.start, len(self)):
            batch = numbers[k * self.batch : (k + 1) * self.batch]
            if self.seed is not None:
                yield [(self.epoch, int(n)) for n in (crew.mine(batch) if crew else batch)]
            elif k % ranks == rank:
                yield [(self.epoch, int(n)) for n in batch]

    def __len__(self) -> int:
        return -(-self.count // self.batch) if self.seed is None else self.count // self.batch


class Feed(DataLoader):
    """Batches (images, labels) for the epochs of a training.

    Args:
        examples: what they are made of.
        order: which come when.
        workers: how many processes make them.
        mixup: what is done to each batch, by random numbers that begin with its place; on several ranks each mixes its
            own share.
    """

    def __init__(self, examples: Examples, order: Order, workers: int, mixup: Mixup | None = None) -> None:
        self.order, self.mixup = order, mixup
        super().__init__(
            examples, batch_sampler=order, num_workers=workers, persistent_workers=workers > 0, generator=0
        )

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Any, Any]]:
        """The batches of an epoch, from batch `start` on."""
        order, crew, batches = self.order, team(), iter(self)
        order.epoch, order.start = number, start
        if crew and order.seed is not None:
            batches = told(crew, batches, repeat(order.batch))
        return batches if self.mixup is None else self._mixed(batches, self.mixup)

    def _mixed(self, batches: Iterator[Any], mixup: Mixup) -> Iterator[tuple[Any, Any]]:
        for k, batch in enumerate(batches, self.order.start):
            with own_numbers(mixed(self.order.seed or 0, self.order.epoch, k)):
                both = mixup(*batch)
            yield both


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
    random, plain = transforms(cfg, source, net)
    mixup = mixup_of(cfg, cfg.MODEL.NUM_CLASSES or len(source.classes))
    count, others = count_examples(source.train), count_examples(source.held_out)
    size, workers, ranks = cfg.DATA.BATCH_SIZE, cfg.DATA.NUM_WORKERS, place()[1]
    if min(count, size) < ranks or not others:
        found = f"{count} examples to train with, {others} others, in batches of {size}"
        raise ArgumentError(f"each of {ranks} ranks has a share of a batch", found, f"--batch-size {max(size, ranks)}")
    train, held_out = Order(count, min(count, size), cfg.SEED, max(1, cfg.AUG.REPEATS)), Order(others, size, None)
    return (
        Feed(Examples(source.train, random, None if random is plain else cfg.SEED), train, workers, mixup),
        Feed(Examples(source.held_out, plain, None), held_out, workers),
    )


def transforms(cfg: Any, source: Source, net: Module) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What becomes of images to train with, and of others; the same, if nothing is drawn.

    Example:
        >>> from jt_edu.zoo.training import source
        >>> cfg, digits = jt.zoo.train.defaults(), source.named("digits")
        >>> cfg.AUG.HFLIP = 0.5
        >>> train, other = transforms(cfg, digits, jt.zoo.create_model("digits_cnn"))
        >>> other(digits.train[0][0]).shape, train is other
        ((1, 8, 8), False)
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
    a, plain = cfg.AUG, create_transform(**how)
    drawn = (a.AUTO_AUGMENT, a.COLOR_JITTER, a.HFLIP, a.VFLIP, a.REPROB)
    if not any(drawn) and [*a.SCALE] == [*a.RATIO] == AS_IT_IS:
        return plain, plain
    random = create_transform(
        is_training=True, scale=tuple(a.SCALE), ratio=tuple(a.RATIO), hflip=a.HFLIP, vflip=a.VFLIP,
        color_jitter=a.COLOR_JITTER or None, auto_augment=a.AUTO_AUGMENT or None, re_prob=a.REPROB, re_mode=a.REMODE,
        re_count=a.RECOUNT, **how,
    )  # fmt: skip
    return random, plain


def mixup_of(cfg: Any, classes: int) -> Mixup | None:
    """Mixup or CutMix as AUG says; None: neither."""
    a = cfg.AUG
    if not (a.MIXUP or a.CUTMIX):
        return None
    return Mixup(
        a.MIXUP, a.CUTMIX, None, a.MIXUP_PROB, a.MIXUP_SWITCH_PROB, a.MIXUP_MODE,
        label_smoothing=cfg.MODEL.LABEL_SMOOTHING, num_classes=classes,
    )  # fmt: skip


def check_partners(cfg: Any, batch: int) -> None:
    """Refuse batches of which some image has nobody to be mixed with, on any rank.

    Example:
        >>> cfg = jt.zoo.train.defaults()
        >>> cfg.AUG.MIXUP = 0.2
        >>> check_partners(cfg, 9)
        Traceback (most recent call last):
        ArgumentError: mixup gives each image of a batch a partner; found batches of 9. Try: --batch-size 8 or 10.
    """
    ranks = place()[1]
    over = batch % (2 * ranks) if cfg.AUG.MIXUP or cfg.AUG.CUTMIX else 0
    if over:
        found = f"batches of {batch}" + f" for {ranks} ranks" * (ranks > 1)
        sizes = " or ".join(f"{n}" for n in (batch - over, batch - over + 2 * ranks) if n)
        raise ArgumentError("mixup gives each image of a batch a partner", found, f"--batch-size {sizes}")
