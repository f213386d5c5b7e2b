"""Texts: which kernels of a GPU does some work of jt_edu print, and what are they launched with?

    with collected() as texts: ...          nothing is computed: arrays hold zeros, however large they are
    with collected((9, 0)) as texts: ...    only those for a GPU of this compute capability
    launches(source)                        the kernels of one text, each with the kinds of its arguments

A text serves every shape, but its schedule depends on the sizes, so work is done in the sizes that are meant.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

import jt_edu as jt
from jt_edu import backends
from jt_edu.backends import Program
from jt_edu.codegen.emit_python import Source, Text
from jt_edu.codegen.loop_ir import Nest
from jt_edu.cuda.arguments import Kind, kind_of
from jt_edu.cuda.backend import CudaSim
from jt_edu.cuda.compiler import FIRST
from jt_edu.cuda.cpp import launched
from jt_edu.cuda.emit_cuda import cuda_loops
from jt_edu.cuda.gpu_function import GpuFunction
from jt_edu.cuda.tensor_core import multiplied_by
from jt_edu.fusion.fuse import Fused
from jt_edu.fusion.loop_fusion import Kernel

COLLECTOR = "collector"  # a backend


class Collector(CudaSim):
    """A backend that keeps the text of each kernel, and runs none.

    Args:
        cc: the GPU for which kernels are printed; with None, that with all words, and also the oldest.
    """

    name = COLLECTOR

    def __init__(self, cc: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.texts: dict[str, Source] = {}
        self.codegen = (), partial(cuda_loops, able=multiplied_by(cc)) if cc else self._printed

    def _printed(self, kernel: Kernel, fused: Fused) -> tuple[Nest, Text]:
        old = cuda_loops(kernel, fused, multiplied_by(FIRST))[1].source
        nest, text = cuda_loops(kernel, fused)
        self.texts |= {old.key: old} if old.key != text.source.key else {}
        return nest, text

    def compile(self, source: Source) -> Program:
        """Keep a text."""
        self.texts[source.key] = source
        return Program(lambda *_: None, compiled=True, seconds=0.0, path=None)

    empty = staticmethod(np.zeros)


@contextmanager
def collected(cc: tuple[int, int] | None = None) -> Iterator[dict[str, Source]]:
    """The texts of all that is computed inside, by key."""
    collector = Collector(cc)
    backends.register(collector)
    with jt.flag_scope(backend=collector.name), np.errstate(all="ignore"):
        yield collector.texts


def launches(source: Source) -> list[tuple[GpuFunction, tuple[Kind, ...]]]:
    """The kernels that a text launches, with the kinds of their arguments; empty for a text for a CPU."""
    if "@cuda.jit" not in source.text:
        return []
    return [(one.kernel, tuple(map(kind_of, one.arguments))) for one in launched(source)]
