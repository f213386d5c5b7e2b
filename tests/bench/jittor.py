"""Jittor: what Jittor's own examples measure: nearest neighbours, the first answer of a backbone, and its memory.

Each of three ways in which PyTorch users write nearest neighbours is a row of its own.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch

import jt_edu as jt
from tests.bench.cold import ROOT, parts, start
from tests.bench.pairs import normal, values
from tests.bench.rows import Case, Cause, Figures, Goal, Row, Run

ROUNDS = 15
K = 10
TITLE = "What Jittor's own examples measure: nearest neighbours, the first answer of a backbone, and its memory."
NOTES = """
* **nearest 10**: of as many points in space, to each of them. PyTorch as **sums** of squared differences, as a matrix
  **product**, and as **cdist**, each with `topk`. **kernel**: `jt.compile`, which leaves the kernels and little else.
* **first answer**: a process of its own makes a ResNet-18 and answers for one image of 224 x 224; the CPU time of all
  of it. **empty cache**: every kernel is compiled. **kernels on disk**: an earlier start has compiled them.
* **peak memory**: of both, how far the memory of a process rises above what it held with the weights, while a
  ResNet-50 in evaluation answers for 8 images of 224 x 224. The highest value that the system counted, of one run each.
"""


def squares(t: torch.Tensor) -> torch.Tensor:
    """Of each point, how far from the origin it is, squared."""
    return t.square().sum(1)


FORMS = {
    "sums": lambda t: (t[:, None] - t).square().sum(2).topk(K, 1, largest=False)[0],
    "product": lambda t: (squares(t)[:, None] + squares(t) - 2 * t @ t.T).topk(K, 1, largest=False)[0],
    "cdist": lambda t: torch.cdist(t, t).topk(K, 1, largest=False)[0].square(),
}
FIRST = """
import jt_edu as jt
jt.set_global_seed(0)
net = jt.models.resnet18().eval()
with jt.no_grad():
    print(float(net(jt.randn(1, 3, 224, 224)).sum().item()))
"""
PEAK = """
import sys
import torch
import jt_edu as jt
from tests.bench.mirror import mirror
torch.set_num_threads(1)
jt.set_num_threads(1)
net = jt.models.resnet50().eval()
jt.sync([*net.parameters(), *net.buffers()])
x, peer = jt.randn(8, 3, 224, 224).sync(), mirror(net)
t = torch.zeros(8, 3, 224, 224)

def ours(x):
    with jt.no_grad():
        net(x).sync()

def theirs(t):
    with torch.no_grad():
        peer(t)

run, small, large = (ours, x[:1].sync(), x) if sys.argv[1] == "ours" else (theirs, t[:1], t)
run(small)  # what is compiled, loaded and kept once is no part of it
field = lambda name: next(int(row.split()[1]) for row in open("/proc/self/status") if row.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # from here on the highest value is counted anew
before = field("VmRSS")
run(large)
print((field("VmHWM") - before) / 1024)
"""


def nearest(form: str, compiled: bool, n: int) -> Case:
    """Squared distances, which need the indices first."""

    def distances(x):
        return jt.knn(x, x, K)[0]

    return values(jt.compile(distances) if compiled else distances, FORMS[form], lambda n: [normal(n, 3)], n)


def first(empty: bool, run: Run) -> Figures:
    """CPU seconds of a process, the best of some."""
    with tempfile.TemporaryDirectory() as folder:
        start(["-c", FIRST], folder)
        caches = (str(Path(folder) / str(k)) for k in range(100))
        rounds = 1 if run.quick else 3
        seconds = [start(["-c", FIRST], next(caches) if empty else folder)[0] for _ in range(rounds)]
    return Figures(min(seconds) * 1e3, rounds=rounds)


def peak(run: Run) -> Figures:
    """Both sides in processes of their own."""
    found = {}
    for side in ("ours", "peer"):
        child = subprocess.run(
            [sys.executable, "-c", PEAK, side],
            cwd=ROOT,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        found[side] = float(child.stdout)
    told = f"{found['ours']:.0f} MB, PyTorch {found['peer']:.0f} MB"
    return Figures(ratio=found["peer"] / found["ours"], rounds=1, how=told)


ROWS = (
    *(
        Row(f"nearest {K} of {n:,}, beside {form}{', kernel' * compiled}", (Goal("ratio", goal),),
            partial(nearest, form, compiled), (n,), (20,), group="nearest", tolerance=1e-4)
        for n, goal, compiled in ((100, 1.25, True), (1000, 1.3, False), (10_000, 3.0, False)) for form in FORMS
    ),
    Row("first answer, empty cache", (Goal("ms", 15_000),), work=partial(first, True), why=parts),
    Row("first answer, kernels on disk", (Goal("ms", 2000),), work=partial(first, False), why=parts),
    Row("peak memory", (Goal("ratio", 1.0),), work=peak, why=lambda result, _: Cause(result.figures.how)),
)  # fmt: skip
