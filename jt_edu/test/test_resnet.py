"""test_resnet: a small residual network learns to read digits. Alone, or on several ranks: not a line differs.

    python -m jt_edu.test.test_resnet                       alone
    python -m jt_edu.launch -np 4 -m jt_edu.test.test_resnet      on four simulated ranks
    mpirun -np 4 python -m jt_edu.test.test_resnet          on four real ones

The batch of 64 is that of all ranks together, so the losses are the same for any number, apart from rounding: sums
are added up in another order, and a training enlarges that to some percent after an epoch. The program fails if the
mean of the last 50 losses is not below 0.3, the bar that Jittor sets its own test of this name.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

import jt_edu as jt
from jt_edu import Var, nn
from jt_edu.base.plural import plural

BAR = 0.3
LAST = 50


class Block(nn.Module):
    """Two convolutions, and a way around them: y = relu(f(x) + x)."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        self.conv1 = nn.Conv(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm(outputs)
        self.conv2 = nn.Conv(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm(outputs)
        same = stride == 1 and inputs == outputs
        self.around = nn.Identity() if same else nn.Conv(inputs, outputs, 1, stride=stride, bias=False)

    def execute(self, x: Var) -> Var:
        """(n, inputs, h, w) -> (n, outputs, h / stride, w / stride)."""
        y = nn.relu(self.bn1(self.conv1(x)))
        return nn.relu(self.bn2(self.conv2(y)) + self.around(x))


class ResNet(nn.Module):
    """Three stages, each of half the size and twice the channels of the one before."""

    def __init__(self, width: int = 8) -> None:
        self.stem = nn.Sequential(nn.Conv(1, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm(width), nn.ReLU())
        self.stages = nn.Sequential(Block(width, width), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2))
        self.head = nn.Linear(4 * width, 10)

    def execute(self, x: Var) -> Var:
        """(n, 1, 32, 32) -> (n, 10)."""
        scores: Var = self.head(self.stages(self.stem(x)).mean((2, 3)))
        return scores


def train(epochs: int, seed: int, examples: int | None = None) -> list[float]:
    """The losses of all steps; progress is told by rank 0."""
    jt.set_global_seed(seed)
    digits = jt.data.digits()
    images = np.kron(digits.arrays[0][:examples], np.ones((1, 1, 4, 4), "float32"))  # (n, 1, 32, 32)
    data = jt.data.ArrayDataset(images, digits.arrays[1][:examples], batch_size=64, shuffle=True)
    net = ResNet()
    optimizer = jt.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses: list[float] = []
    begin = time.perf_counter()
    for epoch in range(epochs):
        for x, y in data:
            loss = nn.cross_entropy_loss(net(x), y)
            optimizer.step(loss)
            losses.append(loss.item())
        if jt.rank == 0:
            mean = float(np.mean(losses[-len(data) :]))
            print(f"epoch {epoch + 1} of {epochs}: loss {mean:.4f}, {time.perf_counter() - begin:.1f} s", flush=True)
    return losses


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and say whether the bar was reached."""
    parser = argparse.ArgumentParser(prog="python -m jt_edu.test.test_resnet", description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=None, help="how many of the 1437 images")
    parser.add_argument("--losses", action="store_true", help="print every loss")
    asked = parser.parse_args(arguments)
    losses = train(asked.epochs, asked.seed, asked.examples)
    mean = float(np.mean(losses[-LAST:]))
    if jt.rank == 0:
        if asked.losses:
            print("losses", *(f"{loss:.7f}" for loss in losses))
        last = plural(len(losses[-LAST:]), "loss")
        print(f"{plural(jt.world_size, 'rank')}: mean of the last {last} {mean:.4f}; below {BAR} is asked for")
    jt.report(losses)
    return 0 if mean < BAR else 1


if __name__ == "__main__":
    sys.exit(main())
