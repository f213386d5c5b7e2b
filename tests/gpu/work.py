"""Work: whose kernels have to run on a GPU? Steps of training, and every row of the parity table.

STEPS       name -> a function of sizes, which returns a function that takes one step, and returns the loss
parity()    every row: its numbers in one dtype, and the gradients
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import models, nn, optim
from tests.bench import net_ours
from tests.parity.families import families
from tests.parity.inputs import both, draw, seed_of
from tests.parity.judges import our_orders, safe
from tests.parity.table import Row

Step = Callable[[], Any]
LIKED = ("float32", "int64", "complex64", "bool")


def resnet18(batch: int = 16, side: int = 64, compiled: bool = False) -> Step:
    """A step of training, with images that are drawn."""
    jt.set_global_seed(0)
    return _on_images(models.resnet18(), (batch, 3, side, side), 1000, compiled)


def lenet(batch: int = 64, side: int = 28, compiled: bool = False) -> Step:
    """The same for LeNet-5: two convolutions with pools, three linear layers."""
    jt.set_global_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * ((side // 2 - 4) // 2) ** 2, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return _on_images(net, (batch, 1, side, side), 10, compiled)


def _on_images(net: Any, shape: tuple[int, ...], classes: int, compiled: bool) -> Step:
    """Forward, cross entropy, backward, SGD."""
    rng = np.random.default_rng(0)
    net.train()
    sgd = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)  # larger steps enlarge last digits
    images = jt.array(rng.standard_normal(shape, np.float32))
    labels = jt.array(rng.integers(0, classes, shape[0]))

    def step(x: Any, y: Any) -> Any:
        loss = nn.cross_entropy_loss(net(x), y)
        sgd.step(loss)
        return loss

    step = jt.compile(step) if compiled else step
    return lambda: step(images, labels)


def transformer(*sizes: int, compiled: bool = False) -> Step:
    """A transformer: layers, width, heads, length, batch."""
    return net_ours.trainer("transformer", *sizes, compiled=compiled)


STEPS: dict[str, Callable[..., Step]] = {"lenet": lenet, "resnet18": resnet18, "transformer": transformer}


def on_tensor_cores(size: int = 4096) -> Iterator[Any]:
    """Products and convolutions of halves, and of float32 with rounded numbers; one after the other."""
    kinds = ("float16", "highest"), ("bfloat16", "highest"), ("float32", "high"), ("float32", "medium")
    for dtype, precision in kinds:
        a, b = (jt.zeros(size, size).cast(dtype).sync() for _ in range(2))
        images, weights = (jt.zeros(shape).cast(dtype).sync() for shape in ((32, 64, 56, 56), (128, 64, 3, 3)))
        jt.set_float32_matmul_precision(precision)
        with jt.backends.conv.flags(allow_tf32=True):
            yield a @ b
            yield nn.relu(a @ b.transpose(1, 0) + b[0])
            yield a[:9].transpose(1, 0) @ b[:9, :30]
            yield nn.conv2d(images, weights, None, 2, 1)
            yield jt.grad(nn.conv2d(images, weights).sum(), weights)
        jt.set_float32_matmul_precision("highest")


def rows() -> Iterator[tuple[str, Row]]:
    """All rows of the parity table, by the names of their families."""
    return ((family, row) for family, found in families().items() for row in found)


def numbers(row: Row, dtype: str, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """What a row answers, as arrays of NumPy."""
    seed = seed_of(row.name, shapes, dtype)
    answer = row.ours(*(both(seed + k, shape, dtype, row.domain)[0] for k, shape in enumerate(shapes)))
    return [np.asarray(part) for part in (answer if isinstance(answer, (tuple, list)) else [answer])]


def case_of(row: Row) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """One dtype of a row, and its largest shapes."""
    dtype = next((liked for liked in LIKED if liked in row.dtypes), row.dtypes[0])
    return dtype, max(row.shapes, key=lambda shapes: sum(map(math.prod, shapes)))


def gradients(row: Row) -> None:
    """The gradients of a row, where it has some."""
    if row.orders and "float32" in row.dtypes:
        shapes = case_of(row)[1]
        our_orders(row.ours, [safe(draw(k, shape, "float32", row.domain)) for k, shape in enumerate(shapes)], 1)


def every_dtype(row: Row) -> None:
    """The numbers of a row in every dtype and shape."""
    for dtype in row.dtypes:
        for shapes in row.shapes:
            numbers(row, dtype, shapes)
