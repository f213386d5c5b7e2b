"""Config: what can be said about a training, in a file, on the command line or in a cell, and what holds if nothing is?

    cfg = configured(["--config", "swin.yaml", "--opts", "TRAIN.EPOCHS", "3", "--lr", "0.01"])

    defaults  <  the checkpoint of --resume  <  --config FILE, after the files under its BASE  <  --opts  <  flags

What stands to the right wins. Keys are those of the configuration of Swin Transformer, flags those of timm's training
script, wherever these have a word for it; `SETTINGS` says which is which. A batch is that of all ranks together.
"""

from __future__ import annotations

import math
import sys
from argparse import SUPPRESS, BooleanOptionalAction
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from jt_edu.base.errors import JtError
from jt_edu.config import ArgumentParser, CfgNode, diff
from jt_edu.ops.arguments import number
from jt_edu.zoo.training import checkpoint

SETTINGS: dict[str, tuple[Any, str, str]] = {  # key -> what holds if nothing is said, its flag, what it is for
    "OUTPUT": ("", "output", "the folder of the run; by default the next free one under runs/"),
    "SEED": (0, "seed", "of all random numbers"),
    "SAVE_EVERY": (0, "checkpoint-every", "updates between checkpoints; 0: one after each epoch"),
    "COMPILE": (False, "compile", "capture the step once, and replay it"),
    "AMP.DTYPE": ("off", "amp", "off, bfloat16 or float16"),
    "DATA.DATASET": ("digits", "dataset", "digits, mnist, fashion_mnist, cifar10, cifar100 or folder:PATH"),
    "DATA.DATA_PATH": ("", "data-dir", "the folder with the files of the dataset"),
    "DATA.BATCH_SIZE": (64, "batch-size", "examples of a batch, of all ranks together"),
    "DATA.IMG_SIZE": (0, "img-size", "pixels; 0: as the network or the data has it"),
    "DATA.INTERPOLATION": ("", "interpolation", "how images are made larger and smaller"),
    "DATA.NUM_WORKERS": (0, "workers", "processes that make batches"),
    "MODEL.NAME": ("digits_cnn", "model", "the network, by its name in jt.zoo"),
    "MODEL.NUM_CLASSES": (0, "num-classes", "scores; 0: as many as the data has classes"),
    "MODEL.PRETRAINED": ("", "initial-checkpoint", "a file of weights to begin with"),
    "MODEL.RESUME": ("", "resume", "a checkpoint to go on from: its settings hold where nothing else is said"),
    "MODEL.DROP_RATE": (0.0, "drop", "dropout before the last layer"),
    "MODEL.DROP_PATH_RATE": (0.0, "drop-path", "stochastic depth"),
    "MODEL.LABEL_SMOOTHING": (0.0, "smoothing", "share of each target that goes to all classes"),
    "TRAIN.EPOCHS": (10, "epochs", "how often all examples are seen"),
    "TRAIN.BASE_LR": (3e-3, "lr", "the learning rate"),
    "TRAIN.WARMUP_LR": (1e-5, "warmup-lr", "where it begins"),
    "TRAIN.MIN_LR": (1e-5, "min-lr", "where it ends"),
    "TRAIN.WARMUP_EPOCHS": (1, "warmup-epochs", "how long it rises"),
    "TRAIN.WEIGHT_DECAY": (0.05, "weight-decay", "for all parameters but biases and norms"),
    "TRAIN.CLIP_GRAD": (0.0, "clip-grad", "bound of the gradients; 0: none"),
    "TRAIN.CLIP_MODE": ("norm", "clip-mode", "norm, value or agc"),
    "TRAIN.ACCUMULATION_STEPS": (1, "grad-accum-steps", "batches for each update"),
    "TRAIN.EMA_DECAY": (0.0, "model-ema-decay", "keep averages of the weights, and measure those; 0: no"),
    "TRAIN.PATIENCE": (0, "early-stop", "end after so many epochs without a better one; 0: never"),
    "TRAIN.OPTIMIZER.NAME": ("adamw", "opt", "sgd, momentum, adam, adamw, nadam, radam, adamax, rmsprop, ..."),
    "TRAIN.OPTIMIZER.EPS": (1e-8, "opt-eps", "its epsilon"),
    "TRAIN.OPTIMIZER.BETAS": ([0.9, 0.999], "opt-betas", "its betas"),
    "TRAIN.OPTIMIZER.MOMENTUM": (0.9, "momentum", "its momentum"),
    "TRAIN.LR_SCHEDULER.NAME": ("cosine", "sched", "cosine, step, poly, plateau or none"),
    "TRAIN.LR_SCHEDULER.ON_UPDATES": (True, "sched-on-updates", "the rate changes at each update, not at each epoch"),
    "TRAIN.LR_SCHEDULER.DECAY_EPOCHS": (30, "decay-epochs", "epochs between steps; patience of plateau"),
    "TRAIN.LR_SCHEDULER.DECAY_RATE": (0.1, "decay-rate", "factor of a step"),
    "AUG.AUTO_AUGMENT": ("", "aa", "such as rand-m9-mstd0.5, original or augmix-m5"),
    "AUG.COLOR_JITTER": (0.0, "color-jitter", "how much colors change"),
    "AUG.HFLIP": (0.0, "hflip", "how often left becomes right"),
    "AUG.VFLIP": (0.0, "vflip", "how often top becomes bottom"),
    "AUG.SCALE": ([1.0, 1.0], "scale", "share of the area that a random crop has"),
    "AUG.RATIO": ([1.0, 1.0], "ratio", "width / height of it"),
    "AUG.REPROB": (0.0, "reprob", "how often a part is erased"),
    "AUG.REMODE": ("pixel", "remode", "const, rand or pixel: what stands there then"),
    "AUG.RECOUNT": (1, "recount", "how many parts"),
    "AUG.REPEATS": (0, "aug-repeats", "how often each example stands in a batch"),
    "AUG.MIXUP": (0.0, "mixup", "alpha of mixup; 0: none"),
    "AUG.CUTMIX": (0.0, "cutmix", "alpha of cutmix; 0: none"),
    "AUG.MIXUP_PROB": (1.0, "mixup-prob", "how often either is done"),
    "AUG.MIXUP_SWITCH_PROB": (0.5, "mixup-switch-prob", "how often cutmix, where both may be"),
    "AUG.MIXUP_MODE": ("batch", "mixup-mode", "batch, pair or elem"),
}
DEFAULTS: dict[str, Any] = {key: value for key, (value, _, _) in SETTINGS.items()} | {
    "MODEL.TYPE": "", "MODEL.SWIN.PATCH_SIZE": 4, "MODEL.SWIN.EMBED_DIM": 96, "MODEL.SWIN.DEPTHS": [2, 2, 6, 2],
    "MODEL.SWIN.NUM_HEADS": [3, 6, 12, 24], "MODEL.SWIN.WINDOW_SIZE": 7, "MODEL.SWIN.MLP_RATIO": 4.0,
    "MODEL.SWIN.QKV_BIAS": True, "TEST.CROP": True,
}  # fmt: skip
WORDS = {int: "N", float: "X", str: "TEXT"}
PASSING = ("OUTPUT", "SAVE_EVERY", "MODEL.RESUME", "DATA.NUM_WORKERS")  # change nothing of what is learned
FROM_1 = ("DATA.BATCH_SIZE", "TRAIN.EPOCHS", "TRAIN.ACCUMULATION_STEPS", "AUG.RECOUNT")
UP_TO_1 = (
    "MODEL.DROP_RATE", "MODEL.DROP_PATH_RATE", "MODEL.LABEL_SMOOTHING", "TRAIN.EMA_DECAY", "AUG.HFLIP", "AUG.VFLIP",
    "AUG.REPROB", "AUG.MIXUP_PROB", "AUG.MIXUP_SWITCH_PROB",
)  # fmt: skip


def defaults() -> CfgNode:
    """What holds if nothing is said.

    Example:
        >>> defaults().TRAIN.OPTIMIZER.NAME
        'adamw'
    """
    tree: dict[str, Any] = {}
    for key, value in DEFAULTS.items():
        put(tree, key, value)
    return CfgNode(tree)


def put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set a value under its whole key.

    Example:
        >>> tree = {}
        >>> put(tree, "TRAIN.EPOCHS", 3); tree
        {'TRAIN': {'EPOCHS': 3}}
    """
    *around, name = key.split(".")
    for part in around:
        tree = tree.setdefault(part, {})
    tree[name] = value


def parser(program: str = "train") -> ArgumentParser:
    """The command line of a program; what it does not say is left out of the answer.

    Example:
        >>> vars(parser().parse_args(["--lr", "0.1", "--amp"]))
        {'TRAIN.BASE_LR': 0.1, 'AMP.DTYPE': 'float16'}
    """
    made = ArgumentParser(f"python -m jt_edu.zoo.{program}", argument_default=SUPPRESS, allow_abbrev=False)
    made.add_argument("--config", metavar="FILE", help="settings as YAML")
    made.add_argument("--opts", nargs="+", metavar="KEY VALUE", help="settings by key, such as TRAIN.EPOCHS 3")
    for key, (value, flag, told) in SETTINGS.items():
        one = value[0] if isinstance(value, list) else value
        how: dict[str, Any] = {"type": type(one), "metavar": WORDS.get(type(one))}
        if isinstance(value, bool):
            how = {"action": BooleanOptionalAction}
        elif isinstance(value, list):
            how["nargs"] = len(value)
        elif flag == "amp":
            how |= {"nargs": "?", "const": "float16"}
        made.add_argument(f"--{flag}", dest=key, help=f"{told} ({key}, {value!r})", **how)
    return made


def configured(arguments: Sequence[str] | None = None) -> CfgNode:
    """The settings that the command line of a training asks for, complete and checked.

    Args:
        arguments: those of the program by default.

    Raises:
        ConfigError: an unknown key, or a value of another type. ArgumentError: a value makes no sense, or there is no
            such checkpoint. FileNotFoundError: there is no such file of settings.

    Example:
        >>> cfg = configured(["--opts", "TRAIN.EPOCHS", "3", "TRAIN.BASE_LR", "0.1", "--lr", "0.01"])
        >>> cfg.TRAIN.EPOCHS, cfg.TRAIN.BASE_LR
        (3, 0.01)
    """
    told = vars(parser().parse_args(arguments))
    cfg = layered(told)
    if cfg.MODEL.RESUME:
        resumed = Path(cfg.MODEL.RESUME)
        cfg = layered({"OUTPUT": str(resumed.parent), **told}, checkpoint.settings_of(checkpoint.read(resumed)))
    return checked(cfg)


def layered(told: Mapping[str, Any], first: CfgNode | None = None) -> CfgNode:
    """Defaults, then the settings of a run, then the file, the pairs and the flags of a command line.

    Example:
        >>> layered({"TRAIN.EPOCHS": 2}, jt.config.CfgNode({"TRAIN": {"EPOCHS": 5, "PATIENCE": 1}})).TRAIN.PATIENCE
        1
    """
    cfg = defaults()
    cfg.merge_from_other_cfg(first or CfgNode())
    if "config" in told:
        cfg.merge_from_file(told["config"])
    cfg.merge_from_list(told.get("opts", []))
    for key in DEFAULTS.keys() & told.keys():
        put(cfg, key, told[key])
    return cfg


def checked(cfg: CfgNode) -> CfgNode:
    """The same settings, frozen, if all numbers are in their range.

    Raises:
        ArgumentError: one is not; the message has its key.

    Example:
        >>> checked(defaults()).is_frozen()
        True
    """
    for key in DEFAULTS:
        value: Any = reduce(getitem, key.split("."), cfg)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number("train", key, value, int(key in FROM_1), 1.0 if key in UP_TO_1 else math.inf, finite=True)
    cfg.freeze()
    return cfg


def changes(before: CfgNode, cfg: CfgNode) -> dict[str, tuple[Any, Any]]:
    """Which settings that a training depends on are others than before: key -> (then, now).

    Example:
        >>> changes(jt.config.CfgNode({"SEED": 1, "OUTPUT": "a"}), jt.config.CfgNode({"SEED": 2, "OUTPUT": "b"}))
        {'SEED': (1, 2)}
    """
    return {key: pair for key, pair in diff(cfg, before).items() if key not in PASSING}


def run_program(main: Callable[[], Any]) -> int:
    """Run a program; its exit code: 0, 2 for what makes no sense, which is said in a line, 130 after an interrupt."""
    try:
        main()
    except (JtError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
