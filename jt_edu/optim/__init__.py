"""optim: rules that move parameters, and schedules for their learning rate. This file is a door: names only."""

from jt_edu.optim.adam import Adam, AdamW
from jt_edu.optim.base import Optimizer
from jt_edu.optim.schedule import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    MultiStepLR,
    ReduceLROnPlateau,
    Schedule,
    StepLR,
)
from jt_edu.optim.sgd import SGD

__all__ = [
    "Adam",
    "AdamW",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LambdaLR",
    "MultiStepLR",
    "Optimizer",
    "ReduceLROnPlateau",
    "SGD",
    "Schedule",
    "StepLR",
]
