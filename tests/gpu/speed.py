"""Speed: how fast are kernels on the GPU that is there, beside a copy of its memory, and beside PyTorch?

    Row  --build-->  Case: ours, peer, bytes, flops  --seconds-->  Speed

What a kernel reads and writes bounds it, so its measure is the share of a plain copy of as many bytes; of products and
convolutions it is what they compute in a second. Launches return before they have ended: a sample is many calls, and
one wait at the end. The clock is the GPU's, which is read by events; tests bring their own.
"""

import math
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import jt_edu as jt
from jt_edu import nn
from jt_edu.cuda.device import here
from tests.bench.networks import NETWORKS
from tests.bench.rows import in_short
from tests.gpu import work

Clock = Callable[[], float]
Shapes = tuple[tuple[int, ...], ...]
SAMPLES, LEAST, CALLS = 5, 0.02, 1 << 12  # of a row; seconds of one; calls of one at most
LAUNCHES = re.compile(r"^    \w+\[.+\]\(", re.MULTILINE)  # in a text for a GPU
WARM, HOST, FEW = 8, 25, 5  # calls until a step is a graph; samples of the time on the host, and of a long call
GOALS = {"share": "{} of a copy", "ratio": "{}x PyTorch", "host": "{} µs a kernel on the host, or less"}


class Case(NamedTuple):
    """The calls of a row, the bytes that one reads and writes, and the products and sums that it computes."""

    ours: Callable[[], Any]
    peer: Callable[[], Any] | None = None
    bytes: int = 0
    flops: float = 0
    kernels: int = 0  # of a step that is run again: how long does the host need for each?


class Row(NamedTuple):
    """A line of the table. `build` is given PyTorch, or None, and the sizes; one without tiny ones has no quick run.

    Goals are named as in `GOALS`.
    """

    name: str
    build: Callable[..., Case]
    size: tuple[Any, ...]
    tiny: tuple[Any, ...] | None
    goals: Mapping[str, float] = {}


@dataclass(frozen=True)
class Speed:
    """What was found: milliseconds of a call, of PyTorch's, the share of a copy, TFLOP/s; or why there is nothing.

    `host` are microseconds of this machine's processor for each kernel.
    """

    name: str
    ours: float | None = None
    peer: float | None = None
    share: float | None = None
    tflops: float | None = None
    host: float | None = None
    failed: str = ""
    goals: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How often jt_edu is done while PyTorch is once."""
        return self.peer / self.ours if self.peer and self.ours else None

    @property
    def reached(self) -> dict[str, bool | None]:
        """Of each goal, whether it was reached; None where that was not measured."""
        found = {name: getattr(self, name) for name in self.goals}
        return {
            name: None if found[name] is None else found[name] <= goal if name == "host" else found[name] >= goal
            for name, goal in self.goals.items()
        }


def table_of(rows: Iterable[Row], tiny: bool, left: Callable[[], float], clock: Clock | None = None) -> Iterator[Speed]:
    """Measure row by row while there is time left; a row that fails is told, and the others go on."""
    torch, copy = peer_library(), 0.0
    for row in rows:
        if tiny and row.tiny is None:
            continue
        if left() <= 0:
            yield Speed(row.name, failed="no time was left for it", goals=row.goals)
            continue
        try:
            if torch is not None:  # each keeps what earlier rows had, and the other may need it
                here().memory.release()
                torch.cuda.empty_cache()
            found = measured(row, torch, row.tiny if tiny else row.size, copy, clock)
        except Exception as error:  # noqa: BLE001 - a table goes on
            found = Speed(row.name, failed=in_short(error), goals=row.goals)
        if row.build is copied and found.ours:
            copy = _copy_bytes(*(row.tiny or () if tiny else row.size)) / found.ours * 1e3
        yield found


def measured(row: Row, torch: Any, size: Any, copy: float, clock: Clock | None = None) -> Speed:
    """One row; `copy` are the bytes that a copy moves in a second, if that is known. Without a clock, the GPU's."""
    case = row.build(torch, *size)
    ours = seconds(case.ours, jt.cuda.synchronize, clock or here().clock())
    peer = None if case.peer is None else events(torch, case.peer)
    share = case.bytes / ours / copy if case.bytes and copy else None
    tflops = case.flops / ours / 1e12 if case.flops else None
    host = None
    if case.kernels:
        samples = FEW if ours > LEAST else HOST
        host = host_seconds(case.ours, jt.cuda.synchronize, clock or time.perf_counter, samples) / case.kernels * 1e6
    return Speed(row.name, ours * 1e3, peer and peer * 1e3, share, tflops, host, goals=row.goals)


def seconds(call: Callable[[], Any], wait: Callable[[], Any], clock: Clock) -> float:
    """How long a call takes when many stand in line: the median of some samples."""

    def sample(count: int) -> float:
        wait()
        begin = clock()
        for _ in range(count):
            call()
        wait()
        return clock() - begin

    sample(1)  # compiles
    count = 1
    while sample(count) < LEAST and count < CALLS:
        count *= 2
    return statistics.median(sample(count) / count for _ in range(SAMPLES))


def host_seconds(call: Callable[[], Any], wait: Callable[[], Any], clock: Clock, samples: int = HOST) -> float:
    """How long it takes to put a call in line: what comes after that is the GPU's. The median of some samples."""
    return statistics.median(host_samples(call, wait, clock, samples))


def host_samples(call: Callable[[], Any], wait: Callable[[], Any], clock: Clock, samples: int) -> list[float]:
    """The same, each of them."""
    for _ in range(WARM):
        call()
    took = []
    for _ in range(samples):
        wait()
        begin = clock()
        call()
        took.append(clock() - begin)
    return took


def events(torch: Any, call: Callable[[], Any]) -> float:
    """The same for PyTorch, by the clock of the GPU."""
    marks: list[Any] = []

    def clock() -> float:
        mark = torch.cuda.Event(enable_timing=True)
        mark.record()
        mark.synchronize()
        marks.append(mark)
        return float(marks[0].elapsed_time(mark)) / 1e3

    return seconds(call, torch.cuda.synchronize, clock)


def peer_library() -> Any:
    """PyTorch, where it is installed and finds the GPU; else None. As here, it convolves float32 without TF32."""
    if find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415 - it need not be there

    if not torch.cuda.is_available():
        return None
    torch.backends.cudnn.allow_tf32 = False
    return torch


# ---------------------------------------------------------------------------------------------------------------- rows


def copied(torch: Any, count: int) -> Case:
    """What all others are measured by: a copy inside the GPU."""
    a, b = (jt.cuda.device_array(count, "float32") for _ in range(2))
    peer = None
    if torch is not None:
        there, other = (torch.empty(count, device="cuda") for _ in range(2))
        peer = partial(there.copy_, other)
    return Case(lambda: a.copy_to_device(b), peer, _copy_bytes(count))


def _copy_bytes(count: int) -> int:
    return 8 * count


def computed(ours: Any, theirs: Any, dtype: str, terms: Any, torch: Any, *shapes: tuple[int, ...]) -> Case:
    """A function of arrays that are drawn on the GPU; `terms` of their shapes are summed for each number."""
    xs = [jt.randn(shape).cast(dtype).sync() for shape in shapes]
    out, peer = ours(*xs).sync(), None
    if torch is not None:
        peer = partial(
            theirs, torch, *(torch.randn(shape, device="cuda", dtype=getattr(torch, dtype)) for shape in shapes)
        )
    if terms is not None:
        return Case(lambda: ours(*xs).sync(), peer, 0, 2.0 * math.prod(out.shape) * terms(*shapes))
    size = sum(math.prod(x.shape) * x.dtype.size for x in (*xs, out))
    return Case(lambda: ours(*xs).sync(), peer, size)


def product_tf32(a: Any, b: Any) -> Any:
    """A product of float32 for which numbers are rounded."""
    jt.backends.cuda.matmul.allow_tf32 = True
    out = (a @ b).sync()
    jt.backends.cuda.matmul.allow_tf32 = False
    return out


def peer_tf32(torch: Any, a: Any, b: Any) -> Any:
    """The same of PyTorch."""
    torch.backends.cuda.matmul.allow_tf32 = True
    out = a @ b
    torch.backends.cuda.matmul.allow_tf32 = False
    return out


def stepped(name: str, torch: Any, *sizes: int) -> Case:
    """A step of training, under jt.compile."""
    step = work.STEPS[name](*sizes, compiled=True)
    step()  # what an optimizer makes for the first step is no part of the others
    with jt.trace() as trace:
        step()
    peer = None if torch is None else _peer_step(torch, name, *sizes)
    return Case(step, peer, kernels=sum(len(LAUNCHES.findall(kernel.source)) for kernel in trace.kernels))


def _peer_step(torch: Any, name: str, *sizes: int) -> Callable[[], Any] | None:
    """The same step in PyTorch, if it has the network."""
    if name == "resnet18":
        if find_spec("torchvision") is None:
            return None
        from torchvision import models  # noqa: PLC0415 - it need not be there

        batch, side = sizes
        net, x = models.resnet18().cuda(), torch.randn(batch, 3, side, side, device="cuda")
        wanted, error = torch.randint(1000, (batch,), device="cuda"), torch.nn.functional.cross_entropy
    else:
        net = NETWORKS[name].layers(torch.nn, *sizes).cuda()
        x, wanted = (torch.randn(sizes[4], sizes[3], sizes[1], device="cuda") for _ in range(2))
        error = torch.nn.functional.mse_loss
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9 if name == "resnet18" else 0.0)

    def step() -> None:
        loss = error(net(x), wanted)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


def _op(
    name: str, ours: Any, theirs: Any, size: Shapes, tiny: Shapes, dtype: str = "float32", terms: Any = None,
    **goals: float,
) -> Row:  # fmt: skip
    return Row(name, partial(computed, ours, theirs, dtype, terms), size, tiny, goals)


def _convolution(images: int, inside: int, outside: int, kernel: int, stride: int, side: int) -> Row:
    size = (images, inside, side, side), (outside, inside, kernel, kernel)
    tiny = (1, 2, kernel, kernel), (2, 2, kernel, kernel)
    pad, name = kernel // 2, f"convolution {kernel} x {kernel}, {inside} -> {outside}, {side} x {side}"
    return _op(
        name + f" by {stride}" * (stride > 1),
        lambda x, w: nn.conv2d(x, w, None, stride, pad),
        lambda t, x, w: t.nn.functional.conv2d(x, w, None, stride, pad),
        size, tiny, terms=lambda _, w: math.prod(w[1:]), ratio=0.6,
    )  # fmt: skip


GB = 1 << 28  # float32
WIDE, TALL = (1 << 15, 1 << 13), (1 << 14, 1 << 14)
FLAT, ROWS = ((300,),), ((6, 70),)
SMALL = (2, 128, 4, 64, 32)  # layers, width, heads, length, batch of a transformer
MOVED, STEP = {"share": 0.95, "ratio": 1.3}, {"ratio": 0.8, "host": 1.5}
RESNET50 = (  # channels, kernel, stride, side: the first, and those of the four stages
    (3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56),
    (256, 128, 1, 1, 56), (128, 128, 3, 2, 56), (128, 512, 1, 1, 28), (512, 128, 1, 1, 28), (128, 128, 3, 1, 28),
    (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (256, 1024, 1, 1, 14), (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14),
    (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (512, 2048, 1, 1, 7), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7),
)  # fmt: skip


def _table() -> Sequence[Row]:
    square = ((4096, 4096),) * 2
    product = (lambda a, b: a @ b, lambda t, a, b: a @ b, square, ((16, 17), (17, 16)))
    return (
        Row("copy", copied, (GB,), (300,)),
        _op(
            "a * b + c", lambda a, b, c: a * b + c, lambda t, a, b, c: t.addcmul(c, a, b), ((GB,),) * 3, FLAT * 3,
            **MOVED,
        ),
        _op("silu", nn.silu, lambda t, x: t.nn.functional.silu(x), ((GB,),), FLAT, **MOVED),
        _op("gelu", nn.gelu, lambda t, x: t.nn.functional.gelu(x), ((GB,),), FLAT, **MOVED),
        _op("softmax", lambda x: nn.softmax(x, 1), lambda t, x: t.softmax(x, 1), (WIDE,), ROWS, **MOVED),
        _op(
            "layer norm", lambda x: nn.functional.layer_norm(x, x.shape[1:]),
            lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]), (WIDE,), ROWS, **MOVED,
        ),
        _op("sum over all", lambda x: x.sum(), lambda t, x: x.sum(), (TALL,), ROWS, share=0.9),
        _op("sum over the first axis", lambda x: x.sum(0), lambda t, x: x.sum(0), (TALL,), ROWS, share=0.9),
        _op("sum over the last axis", lambda x: x.sum(1), lambda t, x: x.sum(1), (TALL,), ROWS, share=0.9),
        _op("product of 4096", *product, terms=lambda a, b: a[1], ratio=0.8),
        _op("product of 4096, bfloat16", *product, dtype="bfloat16", terms=lambda a, b: a[1], ratio=0.8),
        _op("product of 4096, float16", *product, dtype="float16", terms=lambda a, b: a[1]),
        _op("product of 4096, TF32", product_tf32, peer_tf32, square, product[3], terms=lambda a, b: a[1]),
        Row("ResNet-18, a step of 32 images of 224 x 224", partial(stepped, "resnet18"), (32, 224), None, STEP),
        Row("transformer, a step of 32 rows", partial(stepped, "transformer"), SMALL, (1, 8, 2, 4, 2), STEP),
        *(_convolution(32, *layer) for layer in RESNET50),
    )  # fmt: skip


TABLE = _table()
