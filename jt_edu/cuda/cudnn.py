"""Cudnn: who computes convolutions in the place of our kernels, where `jt.flags.cudnn` asks for it?

NVIDIA's library, by ctypes: that of the package nvidia-cudnn-cu13 (pip), or one that the system has. It is off by
default, and a trace names it. It is told what lies where in descriptors, and thinks of several algorithms itself: those
that keep to the settings of `jt.backends.conv` are candidates, as it orders them.

What it writes has the dtype of what it reads: sums of halves are rounded to halves.
"""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from collections.abc import Sequence
from ctypes import byref, c_double, c_float, c_int, c_size_t, c_void_p
from typing import Any, NamedTuple, cast

from jt_edu.backends.convolve.options import options
from jt_edu.backends.convolve.tuner_report import sizes_text
from jt_edu.base.errors import BackendError
from jt_edu.cuda.cublas import opened
from jt_edu.cuda.device import Device, here
from jt_edu.cuda.device_array import CardArray, device_array
from jt_edu.ir.conv_pattern import Sizes
from jt_edu.ir.expression import pitches

VERSIONS = (9,)
KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}  # the library's numbers of a dtype
WORDS = {"forward": "Forward", "by_image": "BackwardData", "by_weights": "BackwardFilter"}
CORRELATION, ROWS_LAST = 1, 0  # the kernel is not turned over; numbers of a row lie side by side
TENSOR_CORES, FMA = 1, 3  # how float32 may be multiplied: as TF32, or as it is; 0 would be TF32 as well
REPRODUCIBLE = 1  # in the answer, and the one algorithm of each kind that always is, whatever the number of images
MOST = 16  # algorithms that it is asked for
LARGEST = 2**31  # of sizes, which are whole numbers of 32 bits there
_handles: dict[Device, int] = {}
_lock = threading.Lock()  # one thread at a time uses a handle


class Answer(ctypes.Structure):
    """What the library says of an algorithm: cudnnConvolution...AlgoPerf_t."""

    _fields_ = (
        ("algorithm", c_int), ("status", c_int), ("time", c_float), ("memory", c_size_t), ("determinism", c_int),
        ("math", c_int), ("reserved", c_int * 3),
    )  # fmt: skip


class Way(NamedTuple):
    """An algorithm of the library, how it multiplies, and the bytes that it needs beside the arrays."""

    algorithm: int
    math: int
    workspace: int

    def name(self, dtype: str) -> str:
        """What it is called where numbers of a dtype are multiplied."""
        if self.math == TENSOR_CORES and dtype != "float64":
            return f"cuDNN {self.algorithm} on tensor cores"
        return f"cuDNN {self.algorithm}" + f", math {self.math}" * (self.math != FMA)


@functools.cache
def library() -> Any:
    """The library.

    Raises:
        BackendError: there is none.
    """
    asked = "jt.flags.cudnn has NVIDIA's library compute convolutions"
    found = opened("cudnn", VERSIONS, asked, "nvidia-cudnn-cu13 nvidia-cublas")
    found.cudnnGetErrorString.restype = ctypes.c_char_p
    return found


def ways(s: Sizes) -> list[Way]:
    """How the library would compute a convolution on this GPU, first what it thinks is fastest; none, if it cannot."""
    wishes, answers, count = options(), (Answer * MOST)(), c_int()
    ends = zip(s.image, s.kernel, s.places, s.stride, s.padding, s.dilation, strict=True)
    whole = all(p >= 0 and at == (n + 2 * p - d * (k - 1) - 1) // step + 1 for n, k, at, step, p, d in ends)
    if not whole or max(map(math.prod, (s.image_shape, s.weights_shape, s.places_shape))) >= LARGEST:
        return []  # another border behind the image than before it
    exact = s.dtype == "float32" and not wishes.allow_tf32
    try:
        with _lock:
            given = _described(s, FMA if exact else TENSOR_CORES)
            name = f"cudnnGetConvolution{WORDS[s.kind]}Algorithm_v7"
            _call(f"looking at {sizes_text(s)}", name, _handle(here()), *given, c_int(MOST), byref(count), answers)
    except BackendError:
        return []
    limit = math.inf if wishes.workspace_limit is None else wishes.workspace_limit
    return [
        Way(a.algorithm, a.math, a.memory)
        for a in answers[: count.value]
        if not a.status and a.memory <= limit and (a.math == FMA or not exact)
        if not wishes.deterministic or a.determinism == a.algorithm == REPRODUCIBLE
    ]  # fmt: skip


def convolve(left: Any, right: Any, out: Any, sizes: Sizes, algorithm: int, math: int, workspace: int) -> None:
    """A convolution, or one of its gradients, on arrays of a GPU.

    Args:
        left: the first of image, weights and places that is read, in the order of `sizes`; halves as their bits.
        right: the other one.
        out: the third, which is written.
        sizes: of all of them, and how the window slides.
        algorithm: the library's number of it.
        math: its number of how numbers are multiplied.
        workspace: bytes that it needs.

    Raises:
        BackendError: the library cannot do it.
    """
    (device, *_), room = [x.entered() for x in (left, right, out)], cast("CardArray", device_array(workspace, "uint8"))
    one, zero = (map(c_double, (1, 0))) if sizes.dtype == "float64" else map(c_float, (1, 0))
    first, second = (right, left) if sizes.kind == "by_image" else (left, right)  # it has weights before places
    with _lock:
        a, b, slides, to = _described(sizes, math)
        _call(
            f"computing {sizes_text(sizes)}", f"cudnnConvolution{WORDS[sizes.kind]}", _handle(device), byref(one),
            a, c_void_p(first.pointer), b, c_void_p(second.pointer), slides, c_int(algorithm),
            c_void_p(room.pointer), c_size_t(workspace), byref(zero), to, c_void_p(out.pointer),
        )  # fmt: skip
    out.base.written += 1


@functools.cache
def _described(s: Sizes, how: int) -> tuple[c_void_p, c_void_p, c_void_p, c_void_p]:
    """Descriptors of both arrays that are read, of the window, and of what is written; without a depth that is 1."""
    flat = s.image[0] == s.kernel[0] == s.places[0] == s.stride[0] == s.dilation[0] == 1 and not s.padding[0]
    number = c_int(KINDS[s.dtype])

    def tensor(shape: Sequence[int]) -> c_void_p:
        shape = (*shape[:2], *shape[2 + flat :])
        return _made("Tensor", "TensorNd", number, c_int(len(shape)), _ints(shape), _ints(pitches(tuple(shape))))

    shape = (*s.weights_shape[:2], *s.kernel[flat:])
    weights = _made("Filter", "FilterNd", number, c_int(ROWS_LAST), c_int(len(shape)), _ints(shape))
    image, places = tensor(s.image_shape), tensor(s.places_shape)
    steps = [_ints(three[flat:]) for three in (s.padding, s.stride, s.dilation)]
    sums = c_int(KINDS["float64" if s.dtype == "float64" else "float32"])
    slides = _made("Convolution", "ConvolutionNd", c_int(3 - flat), *steps, c_int(CORRELATION), sums)
    _call("grouping", "cudnnSetConvolutionGroupCount", slides, c_int(s.groups))
    _call("saying how to multiply", "cudnnSetConvolutionMathType", slides, c_int(how))
    return {
        "forward": (image, weights, slides, places),
        "by_image": (weights, places, slides, image),
        "by_weights": (image, places, slides, weights),
    }[s.kind]


def _made(what: str, how: str, *words: Any) -> c_void_p:
    """A descriptor, which is kept: there are few, one for each size."""
    made = c_void_p()
    _call("describing", f"cudnnCreate{what}Descriptor", byref(made))
    _call("describing", f"cudnnSet{how}Descriptor", made, *words)
    return made


def _ints(numbers: Sequence[int]) -> Any:
    return (c_int * len(numbers))(*numbers)


def _handle(device: Device) -> c_void_p:
    """What the library has of a GPU, whose work stands in our line."""
    if device not in _handles:
        made = c_void_p()
        _call("starting", "cudnnCreate", byref(made))
        _call("starting", "cudnnSetStream", made, c_void_p(device.stream))
        _handles[device] = made.value or 0
    return c_void_p(_handles[device])


def _call(doing: str, name: str, *given: Any) -> None:
    code = getattr(library(), name)(*given)
    if code:
        word = library().cudnnGetErrorString(c_int(code)).decode()
        found = f"error {code} ({word}) while {doing}"
        raise BackendError("cuDNN does what it is asked", found, "jt.flags.cudnn = False")
