"""Rank steps: a program for mpirun that trains the digits CNN, and says what one step takes on the wall clock.

mpirun -n 2 python -m tests.bench.rank_steps FILE        rank 0 writes {"ranks": 2, "ms": [...]} into FILE
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.backends.thread_pool import set_num_threads

BATCH, ROUNDS, STEPS = 256, 30, 5  # examples on all ranks together; rounds of so many steps, of which the best counts


def model():
    """Two convolutions with batch norm, and two layers: some 5,000,000 multiplications for each image."""
    return nn.Sequential(
        nn.Conv(1, 32, 3, padding=1, bias=False), nn.BatchNorm(32), nn.ReLU(),
        nn.Conv(32, 64, 3, padding=1, bias=False), nn.BatchNorm(64), nn.ReLU(), nn.Pool(2),
        nn.Conv(64, 64, 3, padding=1, bias=False), nn.BatchNorm(64), nn.ReLU(), nn.Pool(2),
        nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def main(target: str) -> None:
    jt.set_global_seed(0)
    set_num_threads(1)  # ranks are what is measured
    data = jt.data.digits()
    images, labels = (a[:BATCH] for a in data.arrays)
    share = np.array_split(np.arange(BATCH), jt.world_size)[jt.rank]
    x, y = jt.array(images[share]), jt.array(labels[share])
    net = model()
    optimizer = optim.Adam(net.parameters(), lr=1e-3)

    @jt.compile
    def step(x, y):
        loss = nn.cross_entropy_loss(net(x), y)
        optimizer.step(loss)
        return loss

    times = []
    for _ in range(ROUNDS + 2):
        begin = time.perf_counter()
        for _ in range(STEPS):
            loss = step(x, y)
        loss.item()
        times.append((time.perf_counter() - begin) / STEPS * 1e3)
    if jt.rank == 0:
        Path(target).write_text(json.dumps({"ranks": jt.world_size, "ms": times[2:], "loss": loss.item()}))


if __name__ == "__main__":
    main(sys.argv[1])
