"""optim: rules that move parameters, and schedules for their learning rate. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.optim import lr_scheduler, swa_utils
from jt_edu.optim.adam import Adam, Adamax, AdamW
from jt_edu.optim.adaptive import Adadelta, Adagrad, RMSprop
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lamb import LAMB
from jt_edu.optim.lbfgs import LBFGS
from jt_edu.optim.lookahead import Lookahead
from jt_edu.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CosineLR,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    Schedule,
    SequentialLR,
    StepLR,
)
from jt_edu.optim.nadam import NAdam, RAdam
from jt_edu.optim.rprop import Rprop
from jt_edu.optim.sgd import ASGD, SGD

__all__ = [
    "ASGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CosineLR",
    "CyclicLR",
    "ExponentialLR",
    "LAMB",
    "LBFGS",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "Lookahead",
    "MultiStepLR",
    "MultiplicativeLR",
    "NAdam",
    "OneCycleLR",
    "Optimizer",
    "PolynomialLR",
    "RAdam",
    "RMSprop",
    "ReduceLROnPlateau",
    "Rprop",
    "SGD",
    "Schedule",
    "SequentialLR",
    "StepLR",
    "lr_scheduler",
    "swa_utils",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.optim", __all__)
