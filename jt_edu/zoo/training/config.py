"""Config: what can be said about a training, in a file, on the command line or in a cell, and what holds if nothing is?

    cfg = configured(["--config", "swin.yaml", "--opts", "TRAIN.EPOCHS", "3", "--lr", "0.01"])

    defaults  <  the checkpoint of --resume  <  --config FILE, after the files under its BASE  <  --opts  <  flags

What stands to the right wins. Keys are those of the configuration of Swin Transformer, flags those of timm's training
script, wherever these have a word for it; `FLAGS` says which is which. Here a batch is the batch of all ranks together.
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

__all__ = ["configured", "defaults"]

DEFAULTS: dict[str, Any] = {
    "OUTPUT": "", "SEED": 0, "SAVE_EVERY": 0, "COMPILE": False,
    "AMP": {"DTYPE": "off"},
    "DATA": {
        "DATASET": "digits", "DATA_PATH": "", "BATCH_SIZE": 64, "IMG_SIZE": 0, "INTERPOLATION": "", "NUM_WORKERS": 0,
    },
    "MODEL": {
        "NAME": "digits_cnn", "TYPE": "", "NUM_CLASSES": 0, "PRETRAINED": "", "RESUME": "",
        "DROP_RATE": 0.0, "DROP_PATH_RATE": 0.0, "LABEL_SMOOTHING": 0.0,
        "SWIN": {
            "PATCH_SIZE": 4, "EMBED_DIM": 96, "DEPTHS": [2, 2, 6, 2], "NUM_HEADS": [3, 6, 12, 24], "WINDOW_SIZE": 7,
            "MLP_RATIO": 4.0, "QKV_BIAS": True,
        },
    },
    "TRAIN": {
        "EPOCHS": 10, "BASE_LR": 3e-3, "WARMUP_LR": 1e-5, "MIN_LR": 1e-5, "WARMUP_EPOCHS": 1, "WEIGHT_DECAY": 0.05,
        "CLIP_GRAD": 0.0, "CLIP_MODE": "norm", "ACCUMULATION_STEPS": 1, "EMA_DECAY": 0.0, "PATIENCE": 0,
        "OPTIMIZER": {"NAME": "adamw", "EPS": 1e-8, "BETAS": [0.9, 0.999], "MOMENTUM": 0.9},
        "LR_SCHEDULER": {"NAME": "cosine", "ON_UPDATES": True, "DECAY_EPOCHS": 30, "DECAY_RATE": 0.1},
    },
    "AUG": {
        "AUTO_AUGMENT": "", "COLOR_JITTER": 0.0, "HFLIP": 0.0, "VFLIP": 0.0, "SCALE": [1.0, 1.0], "RATIO": [1.0, 1.0],
        "REPROB": 0.0, "REMODE": "pixel", "RECOUNT": 1, "REPEATS": 0,
        "MIXUP": 0.0, "CUTMIX": 0.0, "MIXUP_PROB": 1.0, "MIXUP_SWITCH_PROB": 0.5, "MIXUP_MODE": "batch",
    },
    "TEST": {"CROP": True},
}  # fmt: skip

FLAGS = {  # of the command line -> key, what it is for
    "model": ("MODEL.NAME", "the network, by its name in jt.zoo"),
    "num-classes": ("MODEL.NUM_CLASSES", "scores; 0: as many as the data has classes"),
    "initial-checkpoint": ("MODEL.PRETRAINED", "a file of weights to begin with"),
    "resume": ("MODEL.RESUME", "a checkpoint to go on from: its settings hold where nothing else is said"),
    "drop": ("MODEL.DROP_RATE", "dropout before the last layer"),
    "drop-path": ("MODEL.DROP_PATH_RATE", "stochastic depth"),
    "smoothing": ("MODEL.LABEL_SMOOTHING", "share of each target that goes to all classes"),
    "dataset": ("DATA.DATASET", "digits, mnist, fashion_mnist, cifar10, cifar100 or folder:PATH"),
    "data-dir": ("DATA.DATA_PATH", "the folder with the files of the dataset"),
    "batch-size": ("DATA.BATCH_SIZE", "examples of a batch, of all ranks together"),
    "img-size": ("DATA.IMG_SIZE", "pixels; 0: as the network or the data has it"),
    "interpolation": ("DATA.INTERPOLATION", "how images are made larger and smaller"),
    "workers": ("DATA.NUM_WORKERS", "processes that make batches"),
    "epochs": ("TRAIN.EPOCHS", "how often all examples are seen"),
    "lr": ("TRAIN.BASE_LR", "the learning rate"),
    "warmup-lr": ("TRAIN.WARMUP_LR", "where it begins"),
    "min-lr": ("TRAIN.MIN_LR", "where it ends"),
    "warmup-epochs": ("TRAIN.WARMUP_EPOCHS", "how long it rises"),
    "weight-decay": ("TRAIN.WEIGHT_DECAY", "for all parameters but biases and norms"),
    "clip-grad": ("TRAIN.CLIP_GRAD", "bound of the gradients; 0: none"),
    "clip-mode": ("TRAIN.CLIP_MODE", "norm, value or agc"),
    "grad-accum-steps": ("TRAIN.ACCUMULATION_STEPS", "batches for each update"),
    "model-ema-decay": ("TRAIN.EMA_DECAY", "keep averages of the weights, and measure those; 0: no"),
    "early-stop": ("TRAIN.PATIENCE", "end after so many epochs without a better one; 0: never"),
    "opt": ("TRAIN.OPTIMIZER.NAME", "sgd, momentum, adam, adamw, nadam, radam, adamax, rmsprop, ..."),
    "opt-eps": ("TRAIN.OPTIMIZER.EPS", "its epsilon"),
    "opt-betas": ("TRAIN.OPTIMIZER.BETAS", "its betas"),
    "momentum": ("TRAIN.OPTIMIZER.MOMENTUM", "its momentum"),
    "sched": ("TRAIN.LR_SCHEDULER.NAME", "cosine, step, poly, plateau or none"),
    "sched-on-updates": ("TRAIN.LR_SCHEDULER.ON_UPDATES", "the rate changes at each update, not at each epoch"),
    "decay-epochs": ("TRAIN.LR_SCHEDULER.DECAY_EPOCHS", "epochs between steps; patience of plateau"),
    "decay-rate": ("TRAIN.LR_SCHEDULER.DECAY_RATE", "factor of a step"),
    "aa": ("AUG.AUTO_AUGMENT", "such as rand-m9-mstd0.5, original or trivial"),
    "color-jitter": ("AUG.COLOR_JITTER", "how much colors change"),
    "hflip": ("AUG.HFLIP", "how often left becomes right"),
    "vflip": ("AUG.VFLIP", "how often top becomes bottom"),
    "scale": ("AUG.SCALE", "share of the area that a random crop has"),
    "ratio": ("AUG.RATIO", "width / height of it"),
    "reprob": ("AUG.REPROB", "how often a part is erased"),
    "remode": ("AUG.REMODE", "const, rand or pixel: what stands there then"),
    "recount": ("AUG.RECOUNT", "how many parts"),
    "aug-repeats": ("AUG.REPEATS", "how often each example stands in a batch"),
    "mixup": ("AUG.MIXUP", "alpha of mixup; 0: none"),
    "cutmix": ("AUG.CUTMIX", "alpha of cutmix; 0: none"),
    "mixup-prob": ("AUG.MIXUP_PROB", "how often either is done"),
    "mixup-switch-prob": ("AUG.MIXUP_SWITCH_PROB", "how often cutmix, where both may be"),
    "mixup-mode": ("AUG.MIXUP_MODE", "batch, pair or elem"),
    "amp": ("AMP.DTYPE", "off, bfloat16 or float16"),
    "compile": ("COMPILE", "capture the step once, and replay it"),
    "output": ("OUTPUT", "the folder of the run; by default the next free one under runs/"),
    "checkpoint-every": ("SAVE_EVERY", "updates between checkpoints; 0: one after each epoch"),
    "seed": ("SEED", "of all random numbers"),
}
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
    return CfgNode(DEFAULTS)


def parser(program: str = "train") -> ArgumentParser:
    """The command line of a program; what it does not say is left out of the answer.

    Example:
        >>> vars(parser().parse_args(["--lr", "0.1", "--amp"]))
        {'TRAIN.BASE_LR': 0.1, 'AMP.DTYPE': 'float16'}
    """
    made = ArgumentParser(f"python -m jt_edu.zoo.{program}", argument_default=SUPPRESS, allow_abbrev=False)
    made.add_argument("--config", metavar="FILE", help="settings as YAML")
    made.add_argument("--opts", nargs="+", metavar="KEY VALUE", help="settings by key, such as TRAIN.EPOCHS 3")
    known = flat(DEFAULTS)
    for flag, (key, told) in FLAGS.items():
        value, how = known[key], dict[str, Any]()
        if isinstance(value, bool):
            how = {"action": BooleanOptionalAction}
        elif isinstance(value, list):
            how = {"nargs": len(value), "type": type(value[0]), "metavar": WORDS[type(value[0])]}
        else:
            how = {"type": type(value), "metavar": WORDS[type(value)]}
            how |= {"nargs": "?", "const": "float16"} if flag == "amp" else {}
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
    cfg.merge_from_other_cfg(CfgNode() if first is None else first)
    if "config" in told:
        cfg.merge_from_file(told["config"])
    cfg.merge_from_list(told.get("opts", []))
    for key in flat(DEFAULTS).keys() & told.keys():
        *around, name = key.split(".")
        reduce(getitem, around, cfg)[name] = told[key]
    return cfg


def checked(cfg: CfgNode) -> CfgNode:
    """The same settings, frozen, if all numbers are in their range.

    Raises:
        ArgumentError: one is not; the message has its key.

    Example:
        >>> checked(defaults()).is_frozen()
        True
    """
    for key, value in flat(cfg).items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number("train", key, value, int(key in FROM_1), 1.0 if key in UP_TO_1 else math.inf, finite=True)
    cfg.freeze()
    return cfg


def flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Each value under its whole key.

    Example:
        >>> flat({"A": {"B": 1, "C": {"D": 2}}, "E": 3})
        {'A.B': 1, 'A.C.D': 2, 'E': 3}
    """
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


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
