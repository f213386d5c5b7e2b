"""jt_edu: a deep-learning framework that can be watched while it works.

    import jt_edu as jt

    a, b, c = jt.rand(3, 4), jt.rand(3, 4), jt.rand(4)
    y = (a * b + c).sum()          # a graph; nothing has run
    jt.explain(y)                  # which kernels it becomes, and why
    y.item()                       # now it runs
    jt.grad(y, a)                  # more graph

This file is a door: names only.
"""

from jt_edu.build import at_replay, knob
from jt_edu.compile import compile
from jt_edu.document import document, graph
from jt_edu.dtypes import (
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from jt_edu.errors import (
    ArgumentError,
    BackendError,
    DtypeError,
    GradientError,
    JtError,
    KernelError,
    RangeError,
    ShapeError,
)
from jt_edu.explain import explain, kernel_sources
from jt_edu.memory import gc, memory_stats
from jt_edu.ops.conv import conv2d
from jt_edu.ops.create import (
    arange,
    array,
    array64,
    clone,
    copy,
    empty,
    eye,
    from_numpy,
    full,
    full_like,
    index,
    linspace,
    ones,
    ones_like,
    sync,
    zeros,
    zeros_like,
)
from jt_edu.ops.elementwise import *  # noqa: F403
from jt_edu.ops.gradient import Function, grad, vjp, why_no_grad
from jt_edu.ops.index import gather, getitem, index_select, one_hot, scatter, setitem
from jt_edu.ops.matmul import bmm, matmul, outer
from jt_edu.ops.pool import avg_pool2d, max_pool2d, pool2d
from jt_edu.ops.reduce import all, any, argmax, argmin, logsumexp, max, mean, min, norm, prod, std, sum, var
from jt_edu.ops.softmax import cross_entropy_loss, log_softmax, nll_loss, softmax
from jt_edu.ops.view import (
    broadcast,
    chunk,
    concat,
    expand,
    flatten,
    flip,
    pad,
    permute,
    repeat,
    reshape,
    split,
    squeeze,
    stack,
    transpose,
    unsqueeze,
    view,
)
from jt_edu.random import (
    Generator,
    bernoulli,
    get_seed,
    normal,
    rand,
    randint,
    randn,
    random,
    randperm,
    set_global_seed,
    uniform,
)
from jt_edu.settings import enable_grad, flag_scope, flags, no_grad, trace
from jt_edu.var import Var
from jt_edu.walk import walk
