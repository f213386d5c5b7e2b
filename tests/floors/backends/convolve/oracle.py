"""Run one algorithm alone on random arrays, and say what float64 says."""

import math
import random

import numpy as np
import torch

from jt_edu import backends
from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.standalone import Alone

SHAPES = {
    "forward": ("image_shape", "weights_shape", "places_shape"),
    "by_image": ("places_shape", "weights_shape", "image_shape"),
    "by_weights": ("image_shape", "places_shape", "weights_shape"),
}
MARK = 7.0  # stands behind what an algorithm said it needs


def arrays(sizes: Sizes, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two factors, and an array of nan to fill."""
    generator = np.random.default_rng(seed)
    left, right, out = (getattr(sizes, name) for name in SHAPES[sizes.kind])
    factors = (generator.standard_normal(shape).astype(sizes.dtype) for shape in (left, right))
    return *factors, np.full(out, np.nan, sizes.dtype)


def in_float64(sizes: Sizes, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The same sum in float64, by torch."""
    left, right = (torch.tensor(a, dtype=torch.float64) for a in (left, right))
    if sizes.kind == "forward":
        return _forward(sizes, left, right).numpy()
    shape = sizes.image_shape if sizes.kind == "by_image" else sizes.weights_shape
    asked = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    if sizes.kind == "by_image":
        return torch.autograd.grad(_forward(sizes, asked, right), asked, left)[0].numpy()
    return torch.autograd.grad(_forward(sizes, left, asked), asked, right)[0].numpy()


def _forward(sizes: Sizes, image: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    lines = zip(sizes.places, sizes.stride, sizes.kernel, sizes.dilation, sizes.image, sizes.padding, strict=True)
    edges, needs = [], []
    for places, stride, kernel, dilation, length, padding in lines:
        needs.append((places - 1) * stride + (kernel - 1) * dilation + 1)
        edges = [padding, max(0, needs[-1] - length - padding), *edges]
    image = torch.nn.functional.pad(image, edges)[:, :, : needs[0], : needs[1], : needs[2]]
    return torch.nn.functional.conv3d(image, weights, None, sizes.stride, 0, sizes.dilation, sizes.groups)


class Fenced:
    """An algorithm with scratch of exactly the size that it asked for, full of nan, and a fence behind it."""

    def __init__(self, algorithm: Algorithm, sizes: Sizes, backend: str) -> None:
        self.alone = Alone(algorithm, sizes, backends.get(backend))
        self.sizes, self.span = sizes, algorithm.span(sizes)
        self.space, self.room = self._fence(algorithm.space(sizes))
        self.prepared, self.alone._prepared = self._fence(algorithm.prepared(sizes))
        self.alone._space = self.room[None]

    def __call__(self, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        self.alone(left, right, out)

    def part(self, lo: int, hi: int, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        """Units lo to hi alone, as one of several threads does."""
        self.room[...] = np.nan
        self.alone._program.call(lo, hi, left, right, out, self.alone._prepared, self.room, *self.sizes.numbers)

    def stands(self) -> bool:
        """Whether nobody wrote behind the scratch."""
        return all((fence == MARK).all() for fence in (self.space, self.prepared))

    def _fence(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        whole = np.full(count + 64, np.nan, self.sizes.dtype)
        whole[count:] = MARK
        return whole[count:], whole[:count]


def check(algorithm: Algorithm, sizes: Sizes, seed: int, bound: float, backend: str = "numba") -> float:
    """The error, over the root of the sum of squared products; it is within the bound, and parts give the same.

    An error of float64 is counted 2^29 times: as if it were float32.
    """
    left, right, out = arrays(sizes, seed)
    fenced = Fenced(algorithm, sizes, backend)

    fenced(left, right, out)

    truth = in_float64(sizes, left, right)
    scale = max(float(in_float64(sizes, left**2, right**2).max()) ** 0.5, np.finfo(sizes.dtype).tiny)
    error = float(np.abs(out - truth).max()) / scale * (1.0 if sizes.dtype == "float32" else 2.0**29)
    assert error <= bound, f"seed {seed}: {algorithm.name} is off by {error:.1e}: {sizes}"
    assert fenced.stands(), f"seed {seed}: {algorithm.name} needs more scratch than it said: {sizes}"
    parts = np.full_like(out, np.nan)
    cut = random.Random(seed).randint(0, fenced.span)
    for lo, hi in ((0, cut), (cut, fenced.span)):
        if lo < hi:
            fenced.part(lo, hi, left, right, parts)
    assert np.array_equal(out, parts), f"seed {seed}: {algorithm.name} depends on who computes what: {sizes}"
    return error


def some(kind: str, dice: random.Random, small: bool = False) -> Sizes:
    """A random convolution in one to three directions."""
    while True:
        ways = dice.choice([1, 2, 2, 2, 3])
        most = 4 if small else 40 if ways < 3 else 9
        alike = dice.random() < 0.6

        def three(one, draw, ways=ways, alike=alike):
            same = draw()
            return (one,) * (3 - ways) + tuple(same if alike else draw() for _ in range(ways))

        groups = dice.randint(1, 2 if small else 4)
        c, o = (groups * dice.choice([1, 1, 2, 3]) for _ in range(2))
        kernel = three(1, lambda: dice.choice([1, 2, 3] if small else [1, 2, 3, 3, 5, 5, 7]))
        stride, dilation = three(1, lambda: dice.choice([1, 1, 2, 2, 3])), three(1, lambda: dice.choice([1, 1, 2]))
        padding = three(0, lambda: dice.randint(0, 4))
        image = (1,) * (3 - ways) + tuple(dice.randint(1, most) for _ in range(ways))
        behind = (0,) * (3 - ways) + tuple(dice.randint(0, 3) for _ in range(ways))
        lines = zip(image, padding, behind, kernel, dilation, stride, strict=True)
        places = tuple((i + p + b - (k - 1) * d - 1) // s + 1 for i, p, b, k, d, s in lines)
        sizes = (image, kernel, places, stride, padding, dilation)
        if min(places) > 0 and math.prod(places) < 20_000:
            return Sizes(kind, dice.randint(1, 2), c, o, groups, *sizes, dice.choice(["float32", "float64"]))
