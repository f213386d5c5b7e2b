"""jt_edu: a deep-learning framework that can be watched while it works.

    import jt_edu as jt

    a, b, c = jt.rand(3, 4), jt.rand(3, 4), jt.rand(4)
    y = (a * b + c).sum()          # a graph; nothing has run
    jt.explain(y)                  # which kernels it becomes, and why
    y.item()                       # now it runs
    jt.grad(y, a)                  # more graph

This file is a door: names only.
"""

import sys
from functools import partial as _partial
from typing import TYPE_CHECKING, Any

from jt_edu import autograd, backends, benchmark, data, func, models, nn, optim
from jt_edu import ops as _ops
from jt_edu.backends.cuda import get_float32_matmul_precision, set_float32_matmul_precision
from jt_edu.backends.thread_pool import set_num_threads
from jt_edu.backends.thread_pool import threads as get_num_threads
from jt_edu.base import migration as _migration
from jt_edu.base.allocator import *
from jt_edu.base.context import *
from jt_edu.base.context import CHECKS as _checks  # noqa: N811 - private here
from jt_edu.base.did_you_mean import door as _door
from jt_edu.base.did_you_mean import names_of as _names_of
from jt_edu.base.did_you_mean import suggest as _suggest
from jt_edu.base.dtypes import *
from jt_edu.base.errors import *
from jt_edu.base.module_aliases import answer_calls as _answer_calls
from jt_edu.base.module_aliases import answer_imports as _answer_imports
from jt_edu.capture.backward import leaves as _leaves  # noqa: F401  attaches Var.backward
from jt_edu.capture.compiled_step import compile
from jt_edu.capture.recorder import at_replay, knob
from jt_edu.data.progress_bar import progress
from jt_edu.func import jvp, vmap
from jt_edu.func.functional import hessian, jacobian
from jt_edu.introspect.conv_race import conv as _conv
from jt_edu.introspect.explain import explain, kernel_sources
from jt_edu.introspect.fusion_report import fusion_report
from jt_edu.introspect.graph_document import document, graph
from jt_edu.introspect.walkthrough import walk
from jt_edu.lens import compile_progress as _compiling  # noqa: F401  a bar while kernels are compiled
from jt_edu.lens import file_progress as _files  # noqa: F401  a bar while large files are read or written
from jt_edu.lens import simulation_progress as _blocks  # noqa: F401  a bar while the interpreter runs blocks
from jt_edu.lens.kernel_edit import *
from jt_edu.lens.machine import machine
from jt_edu.lens.memory_stats import MemoryStats, memory_stats
from jt_edu.lens.recording import recording
from jt_edu.mpi.jittor_api import Package as _Package
from jt_edu.mpi.jittor_api import begin as _begin
from jt_edu.mpi.jittor_api import simulate, single_process_scope
from jt_edu.mpi.mpirun_jobs.report import report
from jt_edu.nn import Module, init
from jt_edu.nn.distance_losses import cosine_similarity, pairwise_distance
from jt_edu.nn.linear import bilinear
from jt_edu.nn.serialization import *
from jt_edu.ops.activation import *
from jt_edu.ops.adaptive_pool import *
from jt_edu.ops.array_api import *
from jt_edu.ops.array_api import __array_api_version__, __array_namespace_info__  # noqa: F401  the standard's
from jt_edu.ops.array_function import answer_numpy as _answer_numpy
from jt_edu.ops.as_strided import as_strided, sliding_window_view, unfold
from jt_edu.ops.bits import *
from jt_edu.ops.code import code
from jt_edu.ops.compare import *
from jt_edu.ops.complex import *
from jt_edu.ops.concat import *
from jt_edu.ops.conv import conv1d, conv2d, conv3d
from jt_edu.ops.conv_transpose import *
from jt_edu.ops.create import *
from jt_edu.ops.cumulative import *
from jt_edu.ops.device import *
from jt_edu.ops.diagonal import *
from jt_edu.ops.diff_trapz import *
from jt_edu.ops.distance import cdist
from jt_edu.ops.dtype_functions import *
from jt_edu.ops.einsum import einsum
from jt_edu.ops.elementwise import *
from jt_edu.ops.gated_activation import glu, prelu, rrelu
from jt_edu.ops.gradient import *
from jt_edu.ops.grid_sample import affine_grid, grid_sample
from jt_edu.ops.histogram import bincount, histc, histogram
from jt_edu.ops.index import *
from jt_edu.ops.interpolate import interpolate
from jt_edu.ops.knn import knn
from jt_edu.ops.matmul import *
from jt_edu.ops.meshgrid import *
from jt_edu.ops.nanreduce import *
from jt_edu.ops.nonzero import *
from jt_edu.ops.pad import pad
from jt_edu.ops.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from jt_edu.ops.pool import *
from jt_edu.ops.products import *
from jt_edu.ops.py_function import numpy_code
from jt_edu.ops.quantile import *
from jt_edu.ops.random_sampling import *
from jt_edu.ops.reduce import *
from jt_edu.ops.repeat import repeat, repeat_interleave, tile
from jt_edu.ops.rounding import *
from jt_edu.ops.scatter import *
from jt_edu.ops.searchsorted import *
from jt_edu.ops.sets import *
from jt_edu.ops.slicing import *
from jt_edu.ops.softmax import *
from jt_edu.ops.sort import *
from jt_edu.ops.special import *
from jt_edu.ops.split import *
from jt_edu.ops.statistics import *
from jt_edu.ops.transpose import *
from jt_edu.ops.trigonometry import *
from jt_edu.ops.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from jt_edu.ops.var_methods import *
from jt_edu.ops.view import *
from jt_edu.ops.view import view_as_shape as view
from jt_edu.optim import lr_scheduler
from jt_edu.runtime.devices import use_cuda as _use_cuda
from jt_edu.variable.memory_format import *
from jt_edu.variable.random import *
from jt_edu.variable.storage import Storage, TracingAllocator
from jt_edu.variable.var import Var, array
from jt_edu.version import __version__ as __version__

__all__ = [
    "MemoryStats", "Module", "Storage", "TracingAllocator", "Var", "affine_grid", "array", "as_strided", "at_replay",
    "autograd", "backends", "benchmark", "bilinear", "bincount", "cdist", "channel_shuffle", "code", "compile",
    "conv1d", "conv2d", "conv3d", "cosine_similarity", "data", "distributed", "document", "einsum", "explain", "func",
    "fusion_report", "get_num_threads", "glu", "graph", "grid_sample", "hessian", "histc", "histogram", "in_mpi",
    "init", "interpolate", "jacobian", "jvp", "kernel_sources", "knn", "knob", "lr_scheduler", "machine",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "memory_stats", "models", "mpi", "nn", "numpy_code", "ops_table",
    "optim", "pad", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu", "progress", "rank", "recording",
    "repeat", "repeat_interleave", "report", "rrelu", "set_num_threads", "simulate", "single_process_scope",
    "sliding_window_view", "summary", "tile", "unfold", "view", "vmap", "walk", "world_size",
    "get_float32_matmul_precision", "set_float32_matmul_precision",
    *_names_of("jt_edu.base", "allocator context dtypes errors"),
    *_names_of("jt_edu.lens", "kernel_edit"),
    *_names_of("jt_edu.nn", "serialization"),
    *_names_of(
        "jt_edu.ops",
        "activation adaptive_pool array_api bits compare complex concat conv_transpose create cumulative device "
        "diagonal diff_trapz dtype_functions elementwise gradient index matmul meshgrid nanreduce nonzero pool "
        "products quantile random_sampling reduce rounding scatter searchsorted sets slicing softmax sort special "
        "split statistics transpose trigonometry var_methods view",
    ),
    *_names_of("jt_edu.variable", "memory_format random"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:  # a type checker that saw these would believe that any name is there
    _rooms = {"nn": nn, "optim": optim, "data": data, "models": models, "benchmark": benchmark, "backends.conv": _conv}
    _others = {f"jt.{name}": room.__all__ for name, room in _rooms.items()}
    _later = {"distributed": "jt_edu.distributed", "ops_table": "jt_edu.lens.ops_table:ops_table"}  # some 40 ms, and 10
    _later["summary"] = "jt_edu.lens.model_summary:summary"
    _later["bool"] = "jt_edu.base.dtypes:bool_"  # not in __all__: `from jt_edu import *` hides no bool of Python's
    _later |= {name: f"jt_edu.{name}" for name in _migration.ROOMS.split()}
    _later |= {"transform": "jt_edu.data.transform", **_migration.JITTORS, **_migration.JITTORS_OWN}
    _later |= _migration.MATRICES
    _at = _partial(getattr, sys.modules[__name__])
    __getattr__, __dir__ = _door("jt", __all__, _others, _later)
    backends.__getattr__ = _door("jt.backends", [*backends.__all__, "conv", "cuda"])[0]
    backends.cudnn = sys.modules["jt_edu.backends.cudnn"] = _conv  # PyTorch's name of these settings, also to import
    _suggest(Var, "a Var", "x", {"jt": __all__}, _migration.JITTORS | _migration.MATRICES)
    _checks["use_cuda"] = _use_cuda
    _checks["log_v"] = lambda level: _at("jittor_names").show_log(level)
    _answer_numpy(globals())
    _answer_imports()
    _answer_calls(_ops, {name: globals().get(name) for name in __all__})
    _answer_calls(nn, {"conv": conv2d})  # Jittor's name
    _ops.__getattr__ = _at  # Jittor's room of all operators

    sys.modules[__name__].__class__ = _Package  # rank, world_size and in_mpi: those of whoever asks
    _begin()
else:
    from jt_edu.lens.model_summary import summary
    from jt_edu.lens.ops_table import ops_table

    distributed: Any
    mpi: Any
    rank: int
    world_size: int
    in_mpi: bool
