"""Tuning: how far is the tuner's choice, and the cost model's, from the best candidate?

    python -m tests.bench.tuning          38 shapes, on one thread

For each shape the tuner measures as a learner's program would have it measure. Then all candidates run again, for
longer, and those times decide what the choices were worth: 1.00 is the best candidate itself.
"""

import math
import statistics
import sys
import time
from functools import partial
from typing import NamedTuple

from jt_edu import backends, get_num_threads, set_num_threads
from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.autotuner import measured, time_candidates
from jt_edu.backends.convolve.selection import candidates
from jt_edu.backends.convolve.standalone import Alone, any_arrays
from jt_edu.backends.convolve.tuner_report import sizes_text

LONG = 3.0  # seconds for all candidates of the same shape


def layer(n, c, size, o, kernel, stride=1, groups=1, kind="forward"):
    """The sizes of a layer with as much padding as keeps the image's size."""
    padding = kernel // 2
    place = (size + 2 * padding - kernel) // stride + 1
    return Sizes(
        kind, n, c, o, groups, (1, size, size), (1, kernel, kernel), (1, place, place), (1, stride, stride),
        (0, padding, padding), (1, 1, 1),
    )  # fmt: skip


SHAPES = [
    layer(1, 3, 224, 64, 7, 2), layer(1, 64, 56, 64, 3), layer(1, 128, 28, 128, 3), layer(1, 256, 14, 256, 3),
    layer(1, 512, 7, 512, 3), layer(8, 64, 56, 64, 3), layer(8, 512, 7, 512, 3), layer(1, 64, 56, 128, 3, 2),
    layer(1, 64, 56, 256, 1), layer(1, 256, 56, 64, 1), layer(1, 1024, 14, 256, 1), layer(8, 512, 7, 2048, 1),
    layer(1, 256, 56, 512, 1, 2), layer(1, 3, 224, 32, 3, 2), layer(1, 144, 56, 144, 3, 1, 144),
    layer(1, 384, 14, 384, 3, 1, 384), layer(1, 96, 112, 96, 3, 2, 96), layer(1, 240, 28, 240, 5, 1, 240),
    layer(1, 16, 55, 64, 3), layer(1, 64, 27, 192, 5), layer(1, 128, 56, 128, 3, 1, 32), layer(64, 1, 28, 32, 5),
    layer(4, 64, 56, 64, 3, kind="by_image"), layer(4, 256, 14, 256, 3, kind="by_image"),
    layer(4, 256, 56, 64, 1, kind="by_image"), layer(4, 144, 28, 144, 3, 1, 144, kind="by_image"),
    layer(4, 64, 56, 64, 3, kind="by_weights"), layer(4, 256, 14, 256, 3, kind="by_weights"),
    layer(4, 256, 56, 64, 1, kind="by_weights"), layer(4, 144, 28, 144, 3, 1, 144, kind="by_weights"),
    layer(1, 1024, 32, 1024, 1), layer(1, 1024, 33, 1024, 1), layer(8, 512, 32, 128, 1), layer(1, 512, 65, 128, 1),
    layer(8, 16, 32, 16, 1), layer(1, 512, 64, 512, 1, kind="by_image"), layer(1, 64, 64, 64, 3),
    layer(1, 256, 32, 256, 3, 1, 8),
]  # fmt: skip


class Verdict(NamedTuple):
    """One shape: who was chosen by measuring and by estimate, and how long they take against the best candidate."""

    sizes: Sizes
    candidates: int
    best: str
    tuned: str
    tuned_over_best: float
    estimated: str
    estimated_over_best: float


def verdict(sizes, seconds=LONG):
    """Tune one shape, then measure all candidates for longer."""
    backend = backends.get("numba")
    found = candidates(sizes)
    tuned, estimated = time_candidates(found, sizes, backend).winner, found[0].name
    arrays = any_arrays(sizes)
    runs = {a.name: partial(Alone(a, sizes, backend), *arrays) for a in found}
    clock = time.thread_time if get_num_threads() == 1 else time.perf_counter
    times = {name: least for name, (least, _) in measured(runs, clock, seconds).items()}
    best = min(times, key=times.get)
    return Verdict(
        sizes, len(found), best, tuned, times[tuned] / times[best], estimated, times[estimated] / times[best]
    )


def verdicts(shapes=SHAPES, seconds=LONG):
    """One after the other; on as many threads as are set."""
    for sizes in shapes:
        yield verdict(sizes, seconds)


def main():
    set_num_threads(1)
    found = []
    print(f"{'convolution':<64}{'candidates':>10}  {'best':<14}{'tuner':>7}  {'estimate':<14}{'':>7}")
    for v in verdicts():
        found.append(v)
        print(
            f"{sizes_text(v.sizes)[:63]:<64}{v.candidates:>10}  {v.best:<14}{v.tuned_over_best:>6.2f}x  "
            f"{v.estimated:<14}{v.estimated_over_best:>6.2f}x",
            flush=True,
        )
    for name, ratios in (
        ("tuner", [v.tuned_over_best for v in found]),
        ("estimate", [v.estimated_over_best for v in found]),
    ):
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        near = sum(r <= 1.1 for r in ratios)
        print(f"{name}: {near} of {len(ratios)} within 10 % of the best; mean {mean:.3f}x, worst {max(ratios):.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
