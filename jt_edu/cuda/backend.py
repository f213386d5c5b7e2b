"""Backends for kernels of a GPU: who runs the texts that loops become?

    jt.flags.backend = "cudasim"     the interpreter, one thread after the other, on NumPy's arrays
    jt.flags.backend = "cuda"        a GPU, on arrays of its own; jt.flags.use_cuda = 1 says the same

The texts are the same. With the interpreter whatever is wrong with one is told, with lines and threads. What is no
loop, such as a sort, brings a text of its own for a GPU; where it brings none, a CPU does it, on copies.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Program, PythonBackend
from jt_edu.backends.convolve.options import options
from jt_edu.base.context import current
from jt_edu.base.errors import BackendError
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import cublas, cudnn
from jt_edu.cuda.device import check_number, device_count, get_device_capability, ready
from jt_edu.cuda.device_array import DeviceArray, on_gpu
from jt_edu.cuda.emit_cuda import HEADER, cuda_loops
from jt_edu.cuda.memory import garbage
from jt_edu.cuda.repeated_plan import Page, launched
from jt_edu.cuda.tensor_core import multiplied_by
from jt_edu.cuda.tuning import fastest
from jt_edu.ir.conv_pattern import STORED
from jt_edu.runtime.plan import Codegen, Plan

LIBRARIES: dict[str, Any] = {"cublas": cublas, "cudnn": cudnn}  # by the flag that asks for one


class CudaSim(PythonBackend):
    """Kernels of a GPU in the interpreter."""

    name, checks = "cudasim", True  # indices, and much else
    codegen = ((), cuda_loops)  # no algorithms of a CPU, and kernels of a GPU for loops

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Memory full of nan, or of odd numbers: what no thread has written is seen."""
        return garbage(math.prod(shape), dtype).reshape(shape)


class Cuda(PythonBackend):
    """Kernels on the GPU of this thread.

    Raises:
        BackendError: there is none, or nothing that compiles for it.
    """

    name = device = "cuda"
    check_number = staticmethod(check_number)  # of x.to("cuda:1")

    def __init__(self) -> None:
        try:
            ready()
            able = [multiplied_by(get_device_capability(k)) for k in range(device_count())]
            self._able = frozenset.intersection(*able)
        except BackendError as error:
            way = error.attempt
            if current().flags.backend != CudaSim.name:
                way += '; jt.flags.backend = "cudasim" interprets its kernels'
            raise BackendError('the backend "cuda" computes on a GPU', error.found, way) from None
        super().__init__()

    @property
    def codegen(self) -> Codegen:
        """Kernels for loops, with its tensor cores; libraries, if they are asked for; what is fastest, if it is."""
        wishes, libraries = options(), [name for name in LIBRARIES if getattr(current().flags, name)]
        choose = partial(fastest, self) if wishes.benchmark and not wishes.deterministic else None
        return STORED if "cudnn" in libraries else (), partial(
            cuda_loops, able=self._able, libraries=libraries, choose=choose
        )

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Memory of the GPU."""
        return on_gpu(shape, dtype)

    def from_host(self, array: np.ndarray[Any, Any]) -> DeviceArray:
        """A copy on the GPU."""
        return on_gpu(array.shape, array.dtype, array)

    def library(self, name: str) -> Any:
        """Who computes products, or convolutions, where a flag asks for it; BackendError, if it is not installed."""
        return LIBRARIES[name].library()

    def page(self, plan: Plan, owns: bool) -> Page:
        """A plan that has run before, for its next runs."""
        return Page(plan, owns)

    def launched(self, plan: Plan) -> str:
        """How its kernels are launched when nobody watches."""
        return launched(plan)

    def compile(self, source: Source) -> Program:
        """What launches the kernels of a text; one for a CPU is run there, on copies."""
        if HEADER in source.text:
            return super().compile(source)
        program, names = backends.get("numba").compile(source), [p.name for p in source.parameters]

        def call(lo: int, hi: int, *arguments: Any) -> None:
            copies = [np.asarray(x) if isinstance(x, DeviceArray) else x for x in arguments]
            program.call(lo, hi, *copies)
            for name, there, copy in zip(names, arguments, copies, strict=True):
                if name.startswith("out"):
                    there.copy_to_device(copy)

        return program._replace(call=call)
