"""Parts: which network, optimizer, schedule and precision do the settings of a training name?"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from jt_edu import nn, optim
from jt_edu.amp.autocast_mode import autocast
from jt_edu.amp.grad_scaler import GradScaler
from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.ops.arguments import choice
from jt_edu.ops.compare import maximum, minimum
from jt_edu.optim import Optimizer
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import create_model
from jt_edu.zoo.registry import get_pretrained_cfg, is_model
from jt_edu.zoo.training.source import Source

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "sgd": partial(optim.SGD, nesterov=True), "momentum": optim.SGD, "adam": optim.Adam, "adamw": optim.AdamW,
    "nadam": optim.NAdam, "nadamw": partial(optim.NAdam, decoupled_weight_decay=True), "radam": optim.RAdam,
    "adamax": optim.Adamax, "rmsprop": optim.RMSprop, "adagrad": optim.Adagrad, "adadelta": optim.Adadelta,
    "lamb": optim.LAMB,
}  # fmt: skip
LOOKAHEAD = "lookahead_"
SCHEDULES = ("cosine", "step", "poly", "plateau", "none")
PRECISIONS = ("off", "bfloat16", "float16")
SWIN = "swin_tiny_patch4_window7_224"  # the network that MODEL.SWIN changes, where the zoo has none of that name


def network(cfg: Any, source: Source) -> nn.Module:
    """The network of MODEL, for images as the data has them.

    Example:
        >>> network(jt.zoo.train.defaults(), jt.zoo.training.source.named("digits"))(jt.ones(2, 1, 8, 8)).shape
        (2, 10)
    """
    told, name, settings = cfg.MODEL, cfg.MODEL.NAME, dict[str, Any]()
    if told.TYPE == "swin":
        name, settings = name if is_model(name) else SWIN, {k.lower(): v for k, v in told.SWIN.items()}
    elif told.TYPE:
        raise ArgumentError("MODEL.TYPE is 'swin', with the settings of MODEL.SWIN, or nothing", repr(told.TYPE))
    wants = get_pretrained_cfg(name)
    if wants is not None and wants.fixed_input_size:
        settings["img_size"] = cfg.DATA.IMG_SIZE or None
    classes, many = told.NUM_CLASSES or len(source.classes), len(source.classes)
    if classes < many:
        found = f"--num-classes {classes}"
        raise ArgumentError(f"a network has a score for each of {many} classes", found, f"--num-classes {many}")
    rates = {"drop_rate": told.DROP_RATE, "drop_path_rate": told.DROP_PATH_RATE}
    for given in (rates, {key: rate for key, rate in rates.items() if rate}):  # one that takes no rate has a rate of 0
        try:
            return create_model(
                name, checkpoint_path=told.PRETRAINED, num_classes=classes, in_chans=source.channels, **settings,
                **given,
            )  # fmt: skip
        except TypeError as error:
            refused = error
    raise ArgumentError(
        f"{name} is made as the settings of MODEL say", str(refused), "0 for what it does not take"
    ) from refused


def optimizer(cfg: Any, net: nn.Module) -> Optimizer:
    """The optimizer of TRAIN.OPTIMIZER. Weight decay is for matrices and filters: not for biases, norms and tokens."""
    told, skipped = cfg.TRAIN.OPTIMIZER, set(getattr(net, "no_weight_decay", set)())
    name = told.NAME.lower()
    kind = OPTIMIZERS[choice("train", "--opt", name.removeprefix(LOOKAHEAD), tuple(OPTIMIZERS))]
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    groups = [[p for n, p in named if (p.ndim > 1 and n not in skipped) is heavy] for heavy in (True, False)]
    decays = (cfg.TRAIN.WEIGHT_DECAY, 0.0)
    given = {"eps": told.EPS, "betas": tuple(told.BETAS), "momentum": told.MOMENTUM}
    takes = inspect.signature(kind).parameters
    made = kind(
        [{"params": group, "weight_decay": decay} for group, decay in zip(groups, decays, strict=True) if group],
        lr=cfg.TRAIN.BASE_LR, **{key: value for key, value in given.items() if key in takes},
    )  # fmt: skip
    return optim.Lookahead(made) if name.startswith(LOOKAHEAD) else made


def schedule(cfg: Any, optimizer: Optimizer, updates: int) -> Any:
    """The schedule of TRAIN.LR_SCHEDULER, for epochs of so many updates; it steps after each epoch, or each update.

    The rate rises to TRAIN.BASE_LR in a line, and goes on by the formula below, k steps after the beginning.
    """
    t, told = cfg.TRAIN, cfg.TRAIN.LR_SCHEDULER
    if choice("train", "--sched", told.NAME, SCHEDULES) == "plateau":
        return optim.ReduceLROnPlateau(optimizer, "max", told.DECAY_RATE, round(told.DECAY_EPOCHS), min_lr=t.MIN_LR)
    unit = updates if told.ON_UPDATES else 1
    total, warm, every = t.EPOCHS * unit, round(t.WARMUP_EPOCHS * unit), max(1, round(told.DECAY_EPOCHS * unit))
    begin, end = (min(1.0, rate / t.BASE_LR) if t.BASE_LR else 1.0 for rate in (t.WARMUP_LR, t.MIN_LR))
    shape: Callable[[int], float] = {
        "cosine": lambda k: end + (1 - end) * (1 + math.cos(math.pi * min(1, k / total))) / 2,
        "step": lambda k: told.DECAY_RATE ** ((k - warm) // every),
        "poly": lambda k: max(0.0, 1 - (k - warm) / max(1, total - warm)),
        "none": lambda k: 1.0,
    }[told.NAME]
    return optim.LambdaLR(optimizer, lambda k: begin + (1 - begin) * k / warm if k < warm else shape(k))


def precision(cfg: Any) -> tuple[Callable[[], AbstractContextManager[Any]], GradScaler]:
    """What the network runs inside, and the scaler of its loss, which does nothing but for float16."""
    kind = choice("train", "--amp", cfg.AMP.DTYPE, PRECISIONS)
    return nullcontext if kind == "off" else partial(autocast, dtype=kind), GradScaler(enabled=kind == "float16")


CLIPS: dict[str, Callable[..., Any]] = {"norm": nn.utils.clip_grad_norm_, "value": nn.utils.clip_grad_value_}


def clip(parameters: Iterable[Var], mode: str, limit: float) -> None:
    """Bound the gradients in `.grad`: their common norm, each number, or the norm of a unit's beside its weights'.

    Source of "agc": Brock et al. 2021, "High-performance large-scale image recognition without normalization"
    (arXiv:2102.06171).

    Example:
        >>> p = jt.array([[3.0, 4.0]]); (p * 2).sum().backward(); clip([p], "agc", 0.1); round(p.grad.norm().item(), 4)
        0.5
    """
    if choice("train", "--clip-mode", mode, (*CLIPS, "agc")) in CLIPS:
        CLIPS[mode](list(parameters), limit)
        return
    with no_grad():
        for p in parameters:
            if p.grad is not None:
                most = limit * maximum(_of_units(p), 1e-3)
                p.grad = p.grad * minimum(most / maximum(_of_units(p.grad), 1e-6), 1.0)


def _of_units(x: Var) -> Var:
    """The norm of the numbers of each unit, which axis 0 counts; of a vector, all its numbers."""
    axes = tuple(range(1, x.ndim)) if x.ndim > 1 else tuple(range(x.ndim))
    norm: Var = (x * x).sum(axes, keepdims=True).sqrt()
    return norm
