"""optim: rules that move parameters, and schedules for their learning rate. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.optim import lr_scheduler, swa_utils
from jt_edu.optim.adagrad_rmsprop import Adadelta, Adagrad, RMSprop
from jt_edu.optim.adam import Adam, Adamax, AdamW
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lamb import LAMB
from jt_edu.optim.lbfgs import LBFGS
from jt_edu.optim.lookahead import Lookahead
from jt_edu.optim.lr_scheduler import LRScheduler
from jt_edu.optim.lr_scheduler.base import Schedule
from jt_edu.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts, CosineLR
from jt_edu.optim.lr_scheduler.cyclic import CyclicLR, OneCycleLR
from jt_edu.optim.lr_scheduler.plateau import ReduceLROnPlateau
from jt_edu.optim.lr_scheduler.sequential import ChainedScheduler, SequentialLR
from jt_edu.optim.lr_scheduler.stepwise import *
from jt_edu.optim.nadam import NAdam, RAdam
from jt_edu.optim.rprop import Rprop
from jt_edu.optim.sgd import ASGD, SGD

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ChainedScheduler", "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts", "CosineLR", "CyclicLR", "LAMB", "LBFGS", "LRScheduler", "Lookahead", "NAdam",
    "OneCycleLR", "Optimizer", "RAdam", "RMSprop", "ReduceLROnPlateau", "Rprop", "SGD", "Schedule", "SequentialLR",
    "lr_scheduler", "swa_utils",
    *names_of("jt_edu.optim.lr_scheduler", "stepwise"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.optim", __all__)
