"""A small network over digits, for every level of mixed precision."""

from itertools import cycle, islice

import jt_edu as jt
from jt_edu import nn
from jt_edu.data.toy import digits


def network():
    """A convolution, batch norm, a linear layer: 1,500 parameters, the same ones each time."""
    jt.seed(3)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )


def batches(count):
    """So many batches of digits, in order, again and again."""
    return islice(cycle(digits(batch_size=32, drop_last=True)), count)


def losses(net, step, count=200):
    """What `step(loss)` makes of a network."""
    found = []
    for x, y in batches(count):
        loss = nn.functional.cross_entropy(net(x), y)
        step(loss)
        found.append(loss.item())
    return found
