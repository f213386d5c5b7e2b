"""Validate: how good is a trained network, in which classes, and how fast?

    python -m jt_edu.zoo.validate --checkpoint runs/digits_cnn-1/best.npz
    python -m jt_edu.zoo.validate --model resnet18 --checkpoint mine.pth --dataset folder:pictures --confusion c.csv

The images are those that a training with the same settings holds out. A checkpoint of a training brings its settings,
and the averages of its weights where it kept some; flags win. It runs on several ranks as `train` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jt_edu.nn.serialization as files
from jt_edu.base.errors import ArgumentError
from jt_edu.variable.parallel_context import place
from jt_edu.variable.random import set_global_seed
from jt_edu.zoo.factory import load_checkpoint
from jt_edu.zoo.training import checkpoint, parts
from jt_edu.zoo.training.config import checked, layered, parser, run_program
from jt_edu.zoo.training.feed import feeds
from jt_edu.zoo.training.history import table, write
from jt_edu.zoo.training.measure import Measured, measured
from jt_edu.zoo.training.source import named

__all__ = ["evaluate", "main"]


def evaluate(cfg: Any, weights: Any = None, use_ema: bool = True) -> Measured:
    """Measure the network of some settings on the images that they hold out.

    Args:
        cfg: settings, as `jt.zoo.train.defaults()` has them.
        weights: a file of a training, or of weights alone; None: as the network begins.
        use_ema: take the averages of the weights, where a training kept them.

    Raises:
        ArgumentError: the file is damaged, or of another network.

    Example:
        >>> found = jt.zoo.validate.evaluate(jt.zoo.train.defaults())
        >>> found.images, found.confusion.shape, 0 <= found.top1 <= found.top5 <= 100
        (360, (10, 10), True)
    """
    source = named(cfg.DATA.DATASET, cfg.DATA.DATA_PATH)
    net = parts.network(cfg, source)
    if weights is not None:
        load_checkpoint(net, checkpoint.existing(weights), use_ema)
    _, held_out = feeds(cfg, source, net)
    region, _ = parts.precision(cfg)
    return measured(net, held_out.epoch(0), source.classes, region)


def main(arguments: Sequence[str] | None = None) -> Measured:
    """Measure as a command line says, and print what came out.

    Args:
        arguments: those of the program by default.

    Example:
        >>> jt.zoo.validate.main(["--batch-size", "360"]).images
        loss 2...  top1 ...  top5 ...  360 images, ... a second
        360
    """
    more = parser("validate")
    more.add_argument("--checkpoint", metavar="FILE", help="a checkpoint of a training, or a file of weights")
    more.add_argument("--no-ema", action="store_true", help="the weights, not their averages")
    more.add_argument("--per-class", metavar="FILE", help="a CSV file: class, images, percent of them that were found")
    more.add_argument("--confusion", metavar="FILE", help="a CSV file: a row of each class, taken for which class")
    told = vars(more.parse_args(arguments))
    weights = told.get("checkpoint")
    cfg = checked(
        layered(told, None if weights is None else checkpoint.settings_of(files.load(checkpoint.existing(weights))))
    )
    set_global_seed(cfg.SEED)  # a network without a file has random weights: the same in each run
    found = evaluate(cfg, weights, not told.get("no_ema", False))
    if not place()[0]:
        _written(told.get("per_class"), ("class", "images", "percent"), found.per_class)
        rows = [(name, *row) for name, row in zip(found.classes, found.confusion.tolist(), strict=True)]
        _written(told.get("confusion"), ("class", *found.classes), rows)
        speed = f"{found.images} images, {found.images_per_second:.0f} a second"
        sys.stdout.write(f"loss {found.loss:.4f}  top1 {found.top1:.2f}  top5 {found.top5:.2f}  {speed}\n")
    return found


def _written(path: str | None, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as a CSV file, if somebody wants it."""
    if path is None:
        return
    try:
        write(Path(path), table(head, rows))
    except OSError as error:
        raise ArgumentError("a table is written to a file", str(error), "a folder that is there") from None


if __name__ == "__main__":
    sys.exit(run_program(main))
