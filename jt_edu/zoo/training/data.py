"""Data: which batches do the settings of a training ask for?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.zoo.training import source
from jt_edu.zoo.training.feed import Examples, Feed, Order
from jt_edu.zoo.training.source import Source


def plainly(mean, std):
    def go(pixels):
        x = pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
        x = x.astype(np.float32) / 255
        m, s = (np.array(v, np.float32).reshape(-1, 1, 1) for v in (mean, std))
        return (x - m) / s
    return go


def feeds(cfg: Any) -> tuple[Source, Feed, Feed, Callable[..., Any]]:
    found = source.named(cfg.DATA.DATASET, cfg.DATA.DATA_PATH)
    size, workers = cfg.DATA.BATCH_SIZE, cfg.DATA.NUM_WORKERS
    t = plainly(found.mean, found.std)
    train = Feed(Examples(found.train, t, None), Order(len(found.train), min(size, len(found.train)), cfg.SEED), workers)
    held = Feed(Examples(found.held_out, t, None), Order(len(found.held_out), size, None), workers)
    return found, train, held, lambda batch, key: batch
