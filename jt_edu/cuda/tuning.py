"""Tuning: which way to compute something is the fastest on this GPU, when one looks?

As autotuner.py does for a CPU, in the same table, whose lines name the GPU, its driver, and a stamp of the files here,
the compiler and NVIDIA's libraries: with other ones, other times would be measured. Kernels run on arrays of zeros,
which are indices that are there as well; events that the driver puts between them tell the time. What becomes of each
sum is timed with the sum, as it is in the graph in which a size is first met.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.backends import Backend
from jt_edu.backends.convolve import autotuner
from jt_edu.backends.convolve.autotuner import MOST, Entry, Timing, measured
from jt_edu.backends.convolve.tuner_report import time_text
from jt_edu.base.errors import JtError, OutOfMemoryError
from jt_edu.codegen.emit_python import Text
from jt_edu.cuda.compiler import versions
from jt_edu.cuda.device import Device, get_device_name, here
from jt_edu.cuda.device_array import to_device
from jt_edu.ir.conv_pattern import Sizes

LIBRARIES = ("nvidia-cublas", "nvidia-cudnn-cu13")


def fastest(backend: Backend, sizes: Sizes, texts: dict[str, Text]) -> tuple[str, str]:
    """The name of the best text for a size on this GPU, and what all of them take.

    Args:
        backend: that compiles them.
        sizes: of what they compute.
        texts: by their names.
    """
    gpu = here()
    driver, capability = gpu.driver.version(), ".".join(map(str, gpu.capability))
    name = f"{get_device_name(gpu.number)} ({capability}), driver {driver // 1000}.{driver % 1000 // 10}, {stamp()}"
    try:
        entry = autotuner.mine.entry_of({*texts}, sizes, 0, name, partial(_timed, backend, sizes, texts, gpu, name))
    except JtError:  # no way could run: what is wrong is told by the kernel itself, and a lack of memory may pass
        return next(iter(texts)), ""
    best, *others = (t for t in entry.timings if t.name in texts)
    told = [f"measured {time_text(best.seconds)}", *(f"{t.name} {time_text(t.seconds)}" for t in others if t.runs)]
    return best.name, ", ".join(told) if best.runs else ""


@cache
def stamp() -> str:
    """Names the files and the packages that a time depends on."""
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(repr([texts, versions(LIBRARIES)]).encode()).hexdigest()[:6]


def _timed(backend: Backend, sizes: Sizes, texts: dict[str, Text], gpu: Device, name: str) -> Entry:
    """The line of the table. It leaves out who had no room in memory, and so all are measured again the next time.

    Raises:
        JtError: none could run.
    """
    runs: dict[str, Callable[[], Any]] = {}
    array = cache(lambda name, shape, dtype: to_device(np.zeros(shape, dtype)))  # one for all ways
    tried, failed = [*texts], list[JtError]()
    for way, text in texts.items():
        try:
            run = _run(backend, text, array)
            run()
            runs[way] = run
        except OutOfMemoryError as error:
            failed.append(error)
            tried.remove(way)
        except JtError as error:  # too many registers, or a library that cannot: who is no candidate
            failed.append(error)
    if not runs:
        raise failed[-1]
    found = measured(runs, gpu.clock())
    timings = [Timing(way, *found.get(way, (float(MOST), 0)), 0) for way in tried]
    return Entry(sizes, 0, name, tuple(sorted(timings, key=lambda t: t.seconds)))


def _run(backend: Backend, text: Text, array: Callable[..., Any]) -> Callable[[], Any]:
    """A text with arrays."""
    program = backend.compile(text.source)
    given = list[Any]()
    for parameter, a in zip(text.source.parameters, text.arguments, strict=True):
        if parameter.rank is not None:
            given.append(array(parameter.name, a.shape, parameter.dtype))
        else:
            given.append(a.length if a.kind == "length" else np.zeros(a.shape, parameter.dtype)[()])
    return partial(program.call, 0, 1, *given)
