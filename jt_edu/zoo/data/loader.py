"""Image loader: how does a dataset of photographs become batches for a network?

    use_prefetcher       workers: photograph -> planes of uint8 -> batch    here: (batch / 255 - mean) / std, erased
    without              workers: photograph -> planes of float32 around 0, erased -> batch

Bytes are a quarter of floats, and the way from a worker is what batches of photographs wait for; what is done here is
part of the graph, and shares a kernel with what the network does first. Workers are ahead by themselves (`DataLoader`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.data.collate import collate
from jt_edu.data.dataset_ops import IterableDataset
from jt_edu.data.fetch import own_numbers
from jt_edu.data.loader import DataLoader
from jt_edu.data.sampler import fresh_seed, mixed
from jt_edu.data.transform.normalize import Normalize
from jt_edu.distributed.sampler import DistributedSampler
from jt_edu.ops.arguments import choice, number, whole, yes_or_no
from jt_edu.variable.parallel_context import place
from jt_edu.zoo.data.mixup import FastCollateMixup
from jt_edu.zoo.data.random_erasing import RandomErasing
from jt_edu.zoo.data.sampler import OrderedDistributedSampler, RepeatAugSampler
from jt_edu.zoo.data.transforms_factory import check_others, create_transform
from jt_edu.zoo.registry import MEAN, STD

__all__ = ["create_loader"]

DTYPES = ("float32", "float16", "bfloat16", "float64")


class ImageLoader(DataLoader):
    """Batches of a dataset of photographs, as a network wants them: its `transform` becomes that of `create_transform`.

    In training, examples come in a new order, and the last batch is left out if it is not full.

    Args:
        dataset: with an attribute `transform`, such as `ImageFolder` or what `create_dataset` returns.
        input_size: what the network is fed: (channels, height, width), (height, width), or one side.
        batch_size: how many examples make a batch.
        is_training, no_aug, scale, ratio, hflip, vflip, color_jitter, color_jitter_prob, grayscale_prob,
            gaussian_blur_prob, auto_augment, interpolation, crop_pct, crop_mode, crop_border_pixels: as for
            `create_transform`.
        re_prob, re_mode, re_count: the same, in training; `re_split`: the first half of a batch is left alone.
        num_aug_repeats: each image so many times, as `RepeatAugSampler` does; 0: once.
        mean, std: of the channels; where the network has other channels than they, their mean stands for each.
        num_workers: how many processes make batches, ahead of time; 0: this one does it itself.
        distributed: each rank has a part of the examples; in training call `loader.sampler.set_epoch(epoch)`.
        collate_fn: makes a batch of a list of examples, such as `FastCollateMixup`.
        img_dtype: of the images: float32, float16, bfloat16 or float64.
        use_prefetcher: workers send bytes, and images are normalized and erased here.
        persistent_workers: workers stay for the next epoch.
        others: none; timm's other arguments are refused by name.

    Yields: images (n, c, h, w) and labels (n,), as Vars.

    Raises:
        ArgumentError: an argument makes no sense, or the dataset has no transform.

    Example:
        >>> digits = jt.zoo.data.create_dataset("jt/digits", split="train")
        >>> x, y = next(iter(jt.zoo.data.create_loader(digits, (1, 8, 8), 16)))
        >>> x.shape, y.shape
        ((16, 1, 8, 8), (16,))

    Source: timm (Wightman, "PyTorch image models").
    """

    def __init__(
        self, dataset: Any, input_size: Any, batch_size: int, is_training: bool = False, no_aug: bool = False,
        re_prob: float = 0.0, re_mode: str = "const", re_count: int = 1, re_split: bool = False, scale: Any = None,
        ratio: Any = None, hflip: float = 0.5, vflip: float = 0.0, color_jitter: Any = 0.4,
        color_jitter_prob: float | None = None, grayscale_prob: float = 0.0, gaussian_blur_prob: float = 0.0,
        auto_augment: str | None = None, num_aug_repeats: int = 0, interpolation: str = "bilinear", mean: Any = MEAN,
        std: Any = STD, num_workers: int = 0, distributed: bool = False, crop_pct: float | None = None,
        crop_mode: str | None = None, crop_border_pixels: int | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None, img_dtype: str = "float32", use_prefetcher: bool = True,
        persistent_workers: bool = True, **others: Any,
    ) -> None:  # fmt: skip
        who = "create_loader"
        check_others(who, others, type(self))
        if not hasattr(dataset, "transform"):
            way = "jt.data.ImageFolder, or a dataset that applies self.transform to its images"
            raise ArgumentError(f"{who} gives the dataset its transform", f"{type(dataset).__name__} without one", way)
        fast, split = yes_or_no(who, "use_prefetcher", use_prefetcher), yes_or_no(who, "re_split", re_split)
        if split and not fast:
            raise ArgumentError("half a batch is erased where there is a batch", "re_split=True", "use_prefetcher=True")
        threefold = isinstance(input_size, (tuple, list)) and len(input_size) == 3
        mean, std = (_fitted(x, input_size[0] if threefold else np.size(x)) for x in (mean, std))
        dataset.transform = create_transform(
            input_size, is_training, no_aug, scale, ratio, hflip, vflip, color_jitter, color_jitter_prob,
            grayscale_prob, gaussian_blur_prob, auto_augment, interpolation, mean, std, re_prob, re_mode, re_count,
            crop_pct, crop_mode, crop_border_pixels, use_prefetcher=fast,
        )  # fmt: skip
        erased = fast and is_training and not no_aug and re_prob > 0
        erasing = RandomErasing(re_prob, mode=re_mode, max_count=re_count, num_splits=2 * split)
        self.normalize, self.erasing = Normalize(mean, std) if fast else None, erasing if erased else None
        self.img_dtype = choice(who, "img_dtype", img_dtype, DTYPES)
        sampler = _sampler(dataset, is_training, yes_or_no(who, "distributed", distributed), num_aug_repeats)
        stay = yes_or_no(who, "persistent_workers", persistent_workers) and num_workers > 0
        super().__init__(
            dataset, batch_size, is_training and sampler is None and not isinstance(dataset, IterableDataset), sampler,
            num_workers=num_workers, persistent_workers=stay, drop_last=is_training,
            collate_fn=collate if collate_fn is None else collate_fn,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Any]:
        seed = mixed(fresh_seed(self.generator), place()[0]) if self.erasing else 0
        for k, (images, *rest) in enumerate(super().__iter__()):
            with own_numbers(mixed(seed, k)) if self.erasing else nullcontext():
                ready = self._ready(images)
            yield (ready, *rest)

    def _ready(self, images: Any) -> Any:
        """Images for the network."""
        light = images if self.normalize is None else self.normalize.change(images.cast("float32") / 255)
        return (light if self.erasing is None else self.erasing(light)).cast(self.img_dtype)

    @property
    def mixup_enabled(self) -> bool:
        """Whether the collate_fn mixes images. Workers that were kept hear of a change: they start anew."""
        return bool(getattr(self.collate_fn, "mixup_enabled", False))

    @mixup_enabled.setter
    def mixup_enabled(self, yes: bool) -> None:
        if not isinstance(self.collate_fn, FastCollateMixup):
            raise ArgumentError("mixup_enabled is a switch of FastCollateMixup", f"collate_fn={self.collate_fn!r}")
        self.collate_fn.mixup_enabled = yes_or_no("ImageLoader", "mixup_enabled", yes)
        own(self).terminate()


create_loader = ImageLoader  # timm's name


def _fitted(values: Any, channels: int) -> list[float]:
    """One number for each channel: if there are others, their mean."""
    given = [number("create_loader", "each of mean and std", x, finite=True) for x in np.atleast_1d(values)]
    return given if len(given) == channels else [float(np.mean(given))] * channels


def _sampler(dataset: Any, training: bool, distributed: bool, repeats: int) -> Any:
    """Who says which examples come next; None: the loader itself."""
    repeats = whole("create_loader", "num_aug_repeats", repeats, 0)
    if isinstance(dataset, IterableDataset):
        return None
    if repeats and training:
        size, rank = (None, None) if distributed else (1, 0)
        return RepeatAugSampler(dataset, size, rank, num_repeats=repeats)
    if not distributed:
        return None
    return DistributedSampler(dataset) if training else OrderedDistributedSampler(dataset)
