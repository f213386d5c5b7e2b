"""A library that has the names of cuDNN, and computes what descriptors say, on the memory of a fake GPU."""

# ruff: noqa: N802 - the library's own names

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from tests.floors.cuda.fake_cublas import FakeOfNvidia

DTYPES = {0: "float32", 1: "float64", 2: "float16", 9: "bfloat16"}
BAD, CANNOT = 2000, 3000
ANSWERS = {  # for each kind: algorithm, whether the same bits come each time, bytes
    "Forward": [(7, 1, 64), (6, 1, 0), (1, 1, 128)],
    "BackwardData": [(0, 0, 0), (5, 1, 64), (1, 1, 32)],
    "BackwardFilter": [(3, 0, 16), (0, 0, 0), (1, 1, 8)],
}
BROKEN = 6  # an algorithm that cannot do what was asked


class FakeCudnn(FakeOfNvidia):
    """Stands in the place of libcudnn.

    `ran` has the kind and the number of each algorithm that ran, with its math.
    """

    begin = "cudnn"

    def __init__(self, driver: Any, **fails: int) -> None:
        super().__init__(driver, **fails)
        self.known: dict[int, dict[str, Any]] = {}  # what each descriptor says
        self.numbers = itertools.count(1)
        self.ran: list[tuple[str, int, int]] = []
        self.groups = True  # whether it takes more than one

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cudnnConvolution"):
            return lambda *given: self.compute(name.removeprefix("cudnnConvolution"), *given)
        if name.startswith("cudnnCreate") and name.endswith("Descriptor"):
            return self.describe
        if name.startswith("cudnnGetConvolution"):
            kind = name.removeprefix("cudnnGetConvolution").removesuffix("Algorithm_v7")
            return lambda *given: self.answer(kind, *given)
        return super().__getattribute__(name)

    def cudnnGetErrorString(self, code: Any) -> bytes:
        return b"NAME_OF_IT"

    def cudnnCreate(self, handle: Any) -> None:
        self.create(handle)

    def cudnnSetStream(self, handle: Any, stream: Any) -> None:
        self.set_stream(handle, stream)

    def describe(self, made: Any) -> None:
        made._obj.value = next(self.numbers)
        self.known[made._obj.value] = {"groups": 1, "math": 0}

    def cudnnSetTensorNdDescriptor(self, which: Any, dtype: Any, count: Any, sizes: Any, steps: Any) -> int:
        self.known[which.value].update(dtype=dtype.value, shape=tuple(sizes), steps=tuple(steps))
        return 0 if count.value == len(sizes) == len(steps) >= 4 else BAD

    def cudnnSetFilterNdDescriptor(self, which: Any, dtype: Any, order: Any, count: Any, sizes: Any) -> int:
        steps = np.cumprod([1, *sizes[:0:-1]])[::-1]
        self.known[which.value].update(dtype=dtype.value, shape=tuple(sizes), steps=tuple(steps))
        return 0 if count.value == len(sizes) >= 4 and order.value == 0 else BAD

    def cudnnSetConvolutionNdDescriptor(
        self, which: Any, count: Any, pad: Any, step: Any, spread: Any, mode: Any, sums: Any
    ) -> int:
        self.known[which.value].update(pad=[*pad], step=[*step], spread=[*spread], sums=sums.value)
        return 0 if count.value == len(pad) >= 2 and mode.value == 1 and min(pad) >= 0 else BAD

    def cudnnSetConvolutionGroupCount(self, which: Any, count: Any) -> int:
        self.known[which.value]["groups"] = count.value
        return 0 if self.groups or count.value == 1 else CANNOT

    def cudnnSetConvolutionMathType(self, which: Any, kind: Any) -> None:
        self.known[which.value]["math"] = kind.value

    def _sorted(self, kind: str, *given: Any) -> list[dict[str, Any]]:
        """What image, weights, window and places say, whatever order the kind has them in."""
        first, second, slides, to = (self.known[one.value] for one in given)
        orders = {
            "Forward": (first, second, slides, to),
            "BackwardData": (to, first, slides, second),
            "BackwardFilter": (first, to, slides, second),
        }
        return list(orders[kind])

    def _checked(self, image: Any, weights: Any, slides: Any, places: Any) -> int:
        """0, if sizes and numbers fit together."""
        groups, number = slides["groups"], image["dtype"]
        if not number == weights["dtype"] == places["dtype"] or slides["sums"] != (1 if number == 1 else 0):
            return CANNOT
        n, c, *lengths = image["shape"]
        o, each, *kernel = weights["shape"]
        rows = zip(lengths, kernel, slides["pad"], slides["step"], slides["spread"], strict=True)
        there = [(x + 2 * p - d * (k - 1) - 1) // s + 1 for x, k, p, s, d in rows]
        return 0 if (n, o, *there) == places["shape"] and c == each * groups and o % groups == 0 else BAD

    def answer(self, kind: str, handle: Any, *given: Any) -> int:
        *descriptors, most, count, answers = given
        image, weights, slides, places = self._sorted(kind, *descriptors)
        if code := self._checked(image, weights, slides, places):
            return code
        for k, (algorithm, same, size) in enumerate(ANSWERS[kind]):
            status = CANNOT if algorithm == BROKEN else 0
            answers[k].algorithm, answers[k].status, answers[k].memory = algorithm, status, size
            answers[k].determinism, answers[k].math = same, slides["math"]
        count._obj.value = len(ANSWERS[kind])
        return 0 if most.value >= len(ANSWERS[kind]) and handle.value in self.streams else BAD

    def compute(self, kind: str, handle: Any, one: Any, *given: Any) -> int:
        a, left, b, right, slides, algorithm, room, size, zero, to, out = given
        described = self._sorted(kind, a, b, slides, to)
        window = described[2]
        if code := self.fails.get(f"cudnnConvolution{kind}") or self._checked(*described):
            return code
        factor = ctypes.c_double if window["sums"] else ctypes.c_float
        need = {number: size for number, _, size in ANSWERS[kind]}[algorithm.value]
        if (one._obj.value, zero._obj.value) != (1, 0) or {type(one._obj), type(zero._obj)} != {factor}:
            return BAD
        if size.value < need or self.driver.at(room.value, size.value) is None or algorithm.value == BROKEN:
            return BAD

        def run() -> None:
            self.ran.append((kind, algorithm.value, window["math"]))
            arrays = [self._array(which, at) for which, at in ((a, left), (b, right), (to, out))]
            first, second = (
                _numbers(x, d.value, self.known, window["math"]) for x, d in zip(arrays[:2], (a, b), strict=True)
            )
            found = COMPUTE[kind](first, second, self.known[to.value]["shape"], window)
            arrays[2][...] = _stored(found, self.known[to.value]["dtype"])

        return self.later(handle, run)

    def _array(self, which: Any, pointer: Any) -> Any:
        """What a descriptor says of the GPU's memory."""
        said = self.known[which.value]
        dtype = np.dtype("uint16" if said["dtype"] == 9 else DTYPES[said["dtype"]])
        last = sum((n - 1) * step for n, step in zip(said["shape"], said["steps"], strict=True))
        found = self.driver.at(pointer.value, (last + 1) * dtype.itemsize)
        assert found is not None, "all of it lies in one array of the GPU"
        return np.lib.stride_tricks.as_strided(
            found.view(dtype), said["shape"], [step * dtype.itemsize for step in said["steps"]]
        )


def _numbers(x: Any, which: int, known: Any, math: int) -> Any:
    """Numbers as they are multiplied: float32 is rounded to 10 bits, unless the math is 3."""
    kind = known[which]["dtype"]
    if kind == 9:
        return (x.astype(np.uint32) << 16).view(np.float32)
    if kind == 0 and math != 3:
        return (((np.ascontiguousarray(x).view(np.uint32) + 0x1000) >> 13) << 13).view(np.float32)
    return x.astype(np.float32) if kind == 2 else x


def _stored(x: Any, kind: int) -> Any:
    if kind != 9:
        return x.astype(DTYPES[kind])
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _taps(image: Any, kernel: Any, places: Any, window: Any) -> Any:
    """Each place of the kernel, with the part of an image with its border that it sees."""
    for tap in np.ndindex(*kernel):
        rows = zip(tap, places, window["step"], window["spread"], strict=True)
        yield tap, image[(..., *(slice(t * d, t * d + s * (n - 1) + 1, s) for t, n, s, d in rows))]


def _padded(image: Any, window: Any) -> Any:
    return np.pad(image, [(0, 0), (0, 0), *((p, p) for p in window["pad"])])


def _grouped(x: Any, groups: int) -> Any:
    """(n, groups, channels, places)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)


def _forward(image: Any, weights: Any, shape: Any, window: Any) -> Any:
    out, groups = 0.0, window["groups"]
    split = weights.reshape(groups, -1, *weights.shape[1:])
    for tap, seen in _taps(_padded(image, window), weights.shape[2:], shape[2:], window):
        out = out + np.einsum("ngcp,goc->ngop", _grouped(seen, groups), split[(..., *tap)])
    return out.reshape(shape)


def _by_image(weights: Any, places: Any, shape: Any, window: Any) -> Any:
    groups, out = window["groups"], _padded(np.zeros(shape, places.dtype), window)
    split = weights.reshape(groups, -1, *weights.shape[1:])
    for tap, seen in _taps(out, weights.shape[2:], places.shape[2:], window):
        seen[...] += np.einsum("ngop,goc->ngcp", _grouped(places, groups), split[(..., *tap)]).reshape(seen.shape)
    inside = (slice(p, p + n) for p, n in zip(window["pad"], shape[2:], strict=True))
    return out[(..., *inside)]


def _by_weights(image: Any, places: Any, shape: Any, window: Any) -> Any:
    groups, out = window["groups"], np.zeros(shape, places.dtype)
    for tap, seen in _taps(_padded(image, window), shape[2:], places.shape[2:], window):
        found = np.einsum("ngcp,ngop->goc", _grouped(seen, groups), _grouped(places, groups))
        out[(..., *tap)] = found.reshape(shape[:2])
    return out


COMPUTE = {"Forward": _forward, "BackwardData": _by_image, "BackwardFilter": _by_weights}
