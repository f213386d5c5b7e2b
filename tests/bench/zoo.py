"""Zoo: networks of `jt.zoo` beside those of timm in PyTorch eager: forward, whole steps, and memory.

Both sides have the same numbers, ours: batch norms that shift and scale, as after training, and blocks that do
something, where they begin as nothing.
"""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from jt_edu import nn, optim, zoo
from tests.bench import causes, shares
from tests.bench.measure import geometric_mean, quartiles
from tests.bench.mirror import lively
from tests.bench.rows import Case, Cause, Figures, Goal, Result, Row, Run, vars_and_tensors
from tests.bench.train import RATE, stepping

ROUNDS, BOX = 15, 60.0
TITLE = "Networks of jt.zoo, forward and in steps of training, images of 224 x 224, beside timm in PyTorch eager."
NOTES = """
* **forward**: one image, in evaluation, no gradients on either side. The peer is timm's network of the same name
  (torchvision's MobileNet v2, which timm writes in another way), with our numbers. **error**: of the scores.
  **jt.compile**: captured once, and then replayed; without it the graph is written at each call.
* **step**: forward, cross entropy, backward and SGD with momentum 0.9, captured by jt.compile; the peer is eager.
  **error**: of the losses of the first two steps.
* **activations**: bytes that a training step of ResNet-18 keeps from forward for backward (`jt.amp.saved_bytes`): with
  float32, over those under `jt.amp.autocast` with bfloat16; 1.67 is 0.6 times.
* Geometric mean: its quartiles are those over the networks.
"""
NETWORKS = {  # name -> the smallest image that a test needs
    "resnet18": 32, "resnet50": 32, "mobilenet_v2": 32, "densenet121": 32, "efficientnet_b0": 32, "convnext_tiny": 32,
    "regnety_004": 32, "vit_tiny_patch16_224": 32, "swin_tiny_patch4_window7_224": 56, "mixer_s16_224": 32,
}  # fmt: skip
OF_ONE_SIZE = ("vit", "swin", "mixer")  # which are told how large an image is
TRAINED = {"vit_tiny_patch16_224": 8, "swin_tiny_patch4_window7_224": 4}  # name -> batch


def libraries() -> tuple[ModuleType, ModuleType]:
    """timm and torchvision; the latter first, and without its compiled operators, which may be for another PyTorch."""
    register, torch.library.register_fake = torch.library.register_fake, lambda *_, **__: lambda function: function
    try:
        import torchvision  # noqa: PLC0415  the line above comes first
    finally:
        torch.library.register_fake = register
    import timm  # noqa: PLC0415  it imports torchvision

    return timm, torchvision


def pair(name: str, side: int, train: bool) -> tuple[Any, torch.nn.Module]:
    """A network of ours and its peer, with the same numbers."""
    timm, torchvision = libraries()
    sized = {"img_size": side} if name.startswith(OF_ONE_SIZE) else {}
    jt.set_global_seed(0)
    settings = {**sized, **({"drop_path_rate": 0.0} if train and name.startswith("swin") else {})}
    net = lively(zoo.create_model(name, **settings))
    for layer in net.modules():
        if getattr(layer, "gamma", None) is not None:
            layer.gamma.update(jt.ones_like(layer.gamma) * 0.5)
    net.train(train)
    peer = torchvision.models.mobilenet_v2() if name == "mobilenet_v2" else timm.create_model(name, **settings)
    peer.load_state_dict({key: torch.tensor(np.asarray(v.numpy())) for key, v in net.state_dict().items()})
    jt.sync([*net.parameters(), *net.buffers()])
    return net, peer.train(train)


def forward(name: str, *size: int, compiled: bool = False) -> Case:
    """Scores of images of size (batch, 3, h, w)."""
    net, peer = pair(name, size[-1], train=False)
    (x,), (t,) = vars_and_tensors(np.random.default_rng(0).standard_normal(size, np.float32))

    scores = jt.compile(net) if compiled else net

    def ours() -> Any:
        with jt.no_grad():
            return scores(x).sync()

    def theirs() -> Any:
        with torch.no_grad():
            return peer(t)

    return Case(ours, theirs, how=lambda: shares.told(ours))


def step(name: str, *size: int) -> Case:
    """A step of training with images of size (batch, 3, h, w)."""
    return stepping(*pair(name, size[-1], train=True), size)


def mean_of(rows: list[Row], run: Run) -> Figures:
    """The geometric mean over the networks, and the quartiles of their ratios."""
    found = [r.figures for r in run.results if r.row in rows and not r.failed and r.figures.ratio]
    if len(found) < len(rows):
        return Figures(how=f"it needs all {len(rows)} rows")
    ratios = [f.ratio for f in found]
    return Figures(ratio=geometric_mean(ratios), spread=quartiles(ratios))


def slowest(rows: list[Row], _: Result, run: Run) -> Cause:
    """The rows that `mean_of` is made of."""
    return causes.of_rows([r for r in run.results if r.row in rows])


def activations(size: tuple[int, ...], _: Run) -> Figures:
    """Bytes of activations of a training step with float32, over those with bfloat16."""
    full, half = saved_by(size, enabled=False), saved_by(size, enabled=True)
    return Figures(ratio=full / half, how=f"{full / 1e6:.1f} MB with float32, {half / 1e6:.1f} MB with bfloat16")


def saved_by(size: tuple[int, ...], enabled: bool) -> int:
    """Bytes that a training step of ResNet-18 keeps from forward for backward, with autocast or without."""
    jt.set_global_seed(0)
    net = zoo.create_model("resnet18").train()
    x, y = jt.array(np.random.default_rng(0).standard_normal(size, np.float32)), jt.array(np.zeros(size[0], np.int64))
    sgd = optim.SGD(net.parameters(), lr=RATE)
    jt.sync([x, y, *net.parameters(), *net.buffers()])
    with jt.trace() as t:
        with jt.amp.autocast(dtype="bfloat16", enabled=enabled):
            loss = nn.cross_entropy_loss(net(x), y)
        sgd.step(loss)
    return jt.amp.saved_bytes(t)


def _row(name: str, what: str, build: Callable[..., Case], batch: int, goal: float, tolerance: float) -> Row:
    sizes = ((batch, 3, 224, 224), (2, 3, NETWORKS[name], NETWORKS[name]))
    return Row(f"{name}, {what}", (Goal("ratio", goal),), partial(build, name), *sizes, tolerance=tolerance)


def _mean(name: str, rows: list[Row]) -> Row:
    return Row(name, (Goal("ratio", 1.2),), work=partial(mean_of, rows), why=partial(slowest, rows))


FORWARD = [_row(name, "forward, batch 1", forward, 1, 0.8, 1e-4) for name in NETWORKS]
CAPTURED = [
    _row(name, "forward, batch 1, jt.compile", partial(forward, compiled=True), 1, 0.8, 1e-4) for name in NETWORKS
]
ROWS = (
    *FORWARD,
    _mean("ten networks forward, geometric mean", FORWARD),
    *CAPTURED,
    _mean("ten networks forward, jt.compile, geometric mean", CAPTURED),
    *(_row(name, f"step, batch {n}, jt.compile", step, n, 1.0, 1e-3) for name, n in TRAINED.items()),
    Row(
        "resnet18 step, batch 8, activations: float32 over bfloat16", (Goal("ratio", 1 / 0.6),),
        work=partial(activations, (8, 3, 224, 224)),
    ),
)  # fmt: skip


tables = shares.tables
