"""Core: Vars and their meta-operators, gradients, flags, traces, allocators and errors."""

import logging
import tempfile
import traceback
import warnings
from types import MappingProxyType, SimpleNamespace

import numpy as np

import jt_edu as jt
from jt_edu import data
from jt_edu.cuda.repeated_plan import launched
from jt_edu.lens import compile_processes
from tests.arguments.inputs import some
from tests.arguments.rows import Row, refuses, shows

V = np.arange(4.0)
IMAGE = some(2, 3, 4, 5)


def x() -> jt.Var:
    return jt.array(V)


def taken_over(**given):
    """The gradient by a Var whose value another one took over."""
    w, held = x(), x()
    held.become(w * 2, **given)
    return jt.grad((held * 1).sum(), [w], allow_unused=True)[0]


def folded(**given) -> jt.Var:
    """Four numbers added up in two."""
    return x().reindex_reduce("add", (2,), lambda i: (i // 2,), **given)


def by_table(**given):
    """Read through an index array, which `extras` names; without it there is none."""
    given = {name: [jt.array([2, 0])] for name in given}
    return x().reindex((2,), ["@e0(i0)" if given else "i0"], **given)


def sorted_out(**given):
    given = {name: [jt.array([1, 0, 1, 0])] for name in given}
    return x().reindex_reduce("add", (4,), ["@e0(i0)" if given else "i0"], **given)


def counters(**given):
    """The loop counter of an axis, or those of both."""
    return jt.index((2, 2), **given)


def read(**given):
    """What is in a file with a Var."""
    with tempfile.TemporaryDirectory() as folder:
        jt.save([x()], f"{folder}/x.pth")
        return jt.load(f"{folder}/x.pth", **given)


VARS = [
    *refuses(jt.array, "device", "cuda", lambda **k: jt.array(V, **k)),
    *shows(jt.array, "copy", None, lambda **k: np.shares_memory(jt.array(V, **k).numpy(), V)),
    *shows(jt.astype, "copy", False, lambda **k: _other_than(lambda v: v.astype(v.dtype, **k)), False),
    *shows(jt.reshape, "copy", True, lambda **k: _memory_of_its_own(lambda v: v.reshape(2, 2, **k))),
    *shows(jt.array, "requires_grad", False, lambda **k: jt.array(V, **k).requires_grad, False),
    *shows(jt.Var.requires_grad_, "wanted", False, lambda **k: x().requires_grad_(**k).requires_grad, False),
    *shows(jt.Var.become, "alone", True, taken_over, None),
    *shows(jt.Var.numpy, "copy", True, lambda **k: x().numpy(**k).flags.writeable),
    *shows(jt.Var.to, "dtype", "int64", lambda **k: str(x().to(**k).dtype), "int64"),
    *shows(jt.Var.to, "copy", True, lambda **k: _other_than(lambda v: v.to("cpu", **k))),
    *refuses(jt.set_default_device, "device", "cuda", lambda device="cpu": jt.set_default_device(device)),
    *shows(jt.device, "index", 1, lambda **k: jt.device("cuda", **k).index, 1),
    *refuses(jt.load, "map_location", "cuda", read),
    *refuses(jt.load, "weights_only", False, read),
    *refuses(jt.Var.to, "device", "cuda", lambda **k: x().to(**k)),
    *shows(jt.Var.to, "memory_format", jt.channels_last, lambda **k: jt.array(IMAGE).to(**k).stride(), (60, 1, 15, 3)),
    *shows(jt.Var.contiguous, "memory_format", jt.channels_last,
           lambda **k: jt.array(IMAGE).contiguous(**k).numpy().strides, (480, 8, 120, 24)),
    *shows(jt.Var.is_contiguous, "memory_format", jt.channels_last,
           lambda **k: jt.array(IMAGE).is_contiguous(**k), False),
    *shows(jt.Var.stride, "dim", 0, lambda **k: jt.array(IMAGE).stride(**k), 60),
    *shows(jt.Var.backward, "gradient", np.full(4, 3.0), lambda **k: _back(**k), 2 * V * 3),
    *shows(jt.Var.backward, "create_graph", True, lambda **k: _twice(**k), [2 * V + 2, 2 * V]),
    *shows(jt.index, "dim", 1, counters, np.array([[0, 1], [0, 1]])),
    *shows(jt.index, "axis", 1, counters, np.array([[0, 1], [0, 1]])),
    *shows(jt.Var.reindex, "where", ["i0+2"], lambda **k: x().reindex((2,), **k), np.array([2.0, 3.0])),
    *shows(jt.Var.where, "condition", [True, False, True, False],
           lambda **k: x().where(**k, **({"other": 9} if k else {})), np.array([0.0, 9.0, 2.0, 9.0])),
    *shows(jt.Var.where, "other", 9, lambda **k: x().where(x() < 2, **k), np.array([0.0, 1.0, 9.0, 9.0])),
    *shows(jt.Var.reindex, "fill", 7.0,
           lambda **k: x().reindex((6,), lambda i: (i,), **k), np.array([0, 1, 2, 3, 7, 7.0])),
    *shows(jt.Var.reindex, "valid", "i < 2",
           lambda **k: x().reindex((4,), lambda i: (i,), **{n: lambda i: i < 2 for n in k}), np.array([0, 1, 0, 0.0])),
    *shows(jt.Var.reindex, "extras", "positions", by_table, np.array([2.0, 0.0])),
    *shows(jt.Var.reindex_reduce, "valid", "i < 3",
           lambda **k: folded(**{n: lambda i: i < 3 for n in k}), np.array([1.0, 2.0])),
    *shows(jt.Var.reindex_reduce, "extras", "positions", sorted_out, np.array([4.0, 2.0, 0.0, 0.0])),
]  # fmt: skip


def by_outputs(**given):
    v = x()
    return jt.grad(v * v, v, **given)


def _other_than(change):
    """Whether what becomes of a Var is another Var."""
    v = x()
    return change(v) is not v


def _memory_of_its_own(change):
    v = x()
    return not np.shares_memory(change(v).numpy(), v.numpy())


def _back(**given):
    v = x()
    (v * v).backward(**given) if given else (v * v).sum().backward()
    return v.grad


def _twice(**given):
    """d v * v / d v, and what is added to it by its own sum, if that is differentiated."""
    v = x()
    (v * v).sum().backward(**given)
    first = v.grad.numpy()
    (v.grad + 0 * v).sum().backward()
    return [v.grad, first]


# ----------------------------------------------------------------------------------------------------- around gradients


def unused(**given):
    a, b = x(), x()
    return jt.grad((a * a).sum(), [b], **given)


def by_numpy(**given):
    """The square, with the gradient that is given; without one, no gradient goes through."""
    v = x()
    backward = [lambda np_, d: np_.copyto(d["outputs"][0], 2 * d["inputs"][0] * d["dout"])]
    y = jt.numpy_code((4,), "float64", [v], lambda np_, d: np_.copyto(d["outputs"][0], d["inputs"][0] ** 2),
                      **dict.fromkeys(given, backward))  # fmt: skip
    return jt.grad((y + v).sum(), v)


def traced(**given) -> int:
    with jt.trace(**given) as seen:
        (x() * 2).sum().sync()
    return len(seen.values) > 0


def alone(**given) -> list:
    """Which of two ranks runs a function for one."""
    return jt.simulate(2)(jt.single_process_scope(**given)(lambda: "here"))


# ---------------------------------------------------------------------------------------------------------------- flags


def flagged(look):
    """A flag is an argument of flag_scope."""

    def ask(**given):
        with jt.flag_scope(**given):
            return look()

    return ask


def how_launched() -> str:
    """What would be said of two kernels on a GPU."""
    with jt.flag_scope(backend="cudasim"):
        return launched(jt.explain(jt.softmax(x().reshape(2, 2), 1).sum(0) * 3).plan).split(": ")[-1]


def told_whole() -> bool:
    """Whether what is written of an error shows where in jt_edu it was raised."""
    try:
        jt.ones(2) + jt.ones(3)
    except jt.ShapeError:
        return "raise ShapeError" in traceback.format_exc()
    return False


def printed() -> str:
    """A module as it prints."""
    return repr(jt.nn.Flatten())


def kernels() -> int:
    """How many kernels a chain of three operators takes."""
    return len(jt.kernel_sources((x() * 2 + 1).exp()))


W, U = jt.ones(4), jt.ones(4) * 2


def by_words(loss, target, **given):
    """The gradient, with the words of PyTorch in the places of ours."""
    first, second = None if "outputs" in given else loss, None if "inputs" in given else target
    return jt.grad(first, second, **given).tolist()


def gradient_of_nothing():
    """The gradient by a Var that the loss does not reach, or the kind of the error."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return jt.grad(x().sum(), jt.ones(1)).tolist()
    except jt.GradientError as error:
        return type(error)


def pending() -> bool:
    return (x() + 1).node.pending


def runs_with() -> str:
    with jt.trace() as seen:
        (x() * 3 + 1).sync()
    return seen.kernels[0].backend


class Counted:
    """An allocator that counts."""

    def __init__(self) -> None:
        self.arrays = 0

    def empty(self, shape, dtype):
        """An array with arbitrary contents."""
        self.arrays += 1
        return np.empty(shape, dtype)


def allocated(**given) -> int:
    with jt.allocator(jt.TracingAllocator(**given)) as seen:
        (x() + 1).sync()
    return getattr(seen.inner, "arrays", 0)


# --------------------------------------------------------------------------------------------------------------- errors

ERRORS = [getattr(room, name) for room in (jt, data) for name in room.__all__ if name.endswith("Error")]


COPY = "for i in range(out_shape0):\n    @out(i) = "


def coded(read="", **given) -> list[float]:
    """What a kernel of the learner's own makes, with its gradient."""
    v = jt.array(V)
    given = {"inputs": [v], "cpu_src": COPY + (read or "@in0(i)"), **given}
    y = jt.code((4,), "float64", **given)
    slope = jt.grad(y.sum(), [v], allow_unused=True)[0]
    return [*y.numpy(), *(() if slope is None else slope.numpy())]


def headed(cpu_header="def f(x):\n    return x") -> list[float]:
    return coded("f(@in0(i))", cpu_header=cpu_header)


def given_k(data=MappingProxyType({"k": 1})) -> list[float]:
    return coded('data["k"]', data=data)


def checked(**given) -> bool:
    with jt.trace() as t:
        jt.code((4,), "float64", [jt.array(V)], COPY + "@in0(i)", **given).sync()
    return "inside(" in t.kernels[0].source.split("def kernel")[0]


CUDA = "@cuda.jit\ndef kernel(@ARGS_DEF):\n    @out(cuda.grid(1)) = {}\n\nkernel[1, 4](@ARGS)"
OF_K = CUDA.format("k")


def on_gpu(cuda_src=OF_K, cuda_grad_src=(), cuda_header="k = 1") -> list[float]:
    x = jt.array(V)
    more = {"cuda_grad_src": cuda_grad_src, "cuda_header": cuda_header}
    y = jt.code((4,), "float64", [x], cuda_src=cuda_src, **more)
    return jt.grad(y.sum(), x).tolist() if cuda_grad_src else y.tolist()


CODE = [
    *shows(jt.code, "inputs", [jt.array(2 * V)], coded, list(2 * V)),
    *shows(jt.code, "cpu_src", COPY + "3", coded, [3.0] * 4),
    *shows(jt.code, "cpu_grad_src", [COPY + "5"], coded, [*V, *[5.0] * 4]),
    *shows(jt.code, "cpu_header", "def f(x):\n    return x + 1", headed, list(V + 1)),
    *shows(jt.code, "data", {"k": 3}, given_k, [3.0] * 4),
    *shows(jt.code, "boundscheck", False, checked, False),
    *refuses(jt.code, "debug", True, lambda **k: jt.code((2,), "float64", [], "@out(0) = 1", **k)),
    *shows(jt.code, "cuda_src", CUDA.format("3"), on_gpu, [3.0] * 4),
    *shows(jt.code, "cuda_grad_src", [CUDA.format("5")], on_gpu, [5.0] * 4),
    *shows(jt.code, "cuda_header", "k = 7", on_gpu, [7.0] * 4),
]  # fmt: skip


def derivative_of_squares(**named):
    w = jt.array(V)
    return jt.grad((w * w).sum(), w, **named)


def errors() -> list[Row]:
    """What was found, and what to try, stand in the message."""
    rows = []
    for kind in ERRORS:
        rows += shows(kind, "found", "seven", lambda kind=kind, **k: "seven" in str(kind("asked", **k)))
        rows += shows(kind, "attempt", "eight", lambda kind=kind, **k: "eight" in str(kind("asked", "seven", **k)))
    scope = SimpleNamespace(layer="Net > fc")
    return rows + shows(
        jt.JtError.at, "scope", scope, lambda **k: "Net > fc" in str(jt.JtError("odd").at("a.py:1", **k))
    )


ROWS = [
    *VARS,
    *shows(jt.grad, "allow_unused", True, unused, [None]),
    *shows(jt.grad, "grad_outputs", jt.array([1.0, 10.0, 0.0, 1.0]), by_outputs, np.array([0.0, 20.0, 0.0, 6.0])),
    *shows(jt.grad, "outputs", (W * 3).sum(), lambda **k: by_words(W.sum(), W, **k), [3.0] * 4),
    *shows(jt.grad, "inputs", W, lambda **k: by_words((W * U).sum(), U, **k), [2.0] * 4),
    *shows(jt.grad, "create_graph", False, lambda **k: derivative_of_squares(**k).requires_grad, False),
    *shows(jt.numpy_code, "backward", "a rule", by_numpy, 2 * V + 1),
    *shows(jt.trace, "values", True, traced),
    *shows(jt.single_process_scope, "rank", 1, alone, [None, "here"]),
    *shows(jt.flag_scope, "fuse", False, flagged(kernels), 3),
    *shows(jt.flag_scope, "lazy_execution", False, flagged(pending), False),
    *shows(jt.flag_scope, "log_v", 1, flagged(lambda: logging.getLogger("jt_edu").isEnabledFor(logging.DEBUG))),
    *shows(jt.flag_scope, "backend", "numba", flagged(runs_with), "numba"),
    *shows(jt.flag_scope, "lenient_grad", True, flagged(gradient_of_nothing), [0.0]),
    *shows(jt.flag_scope, "cuda_graphs", False, flagged(how_launched), "jt.flags.cuda_graphs is False."),
    *shows(jt.flag_scope, "compile_processes", 3, flagged(compile_processes._processes), 3),
    *shows(jt.flag_scope, "tracebacks", "full", flagged(told_whole)),
    *shows(jt.flag_scope, "module_repr", "jittor", flagged(printed), "Flatten(1, -1)"),
    *refuses(jt.flag_scope, "use_cuda", 1, flagged(kernels)),
    *refuses(jt.flag_scope, "cublas", True, flagged(kernels)),
    *refuses(jt.flag_scope, "cudnn", True, flagged(kernels)),
    *shows(jt.TracingAllocator, "inner", Counted(), lambda **k: allocated(**k) > 0),
    *errors(),
    *CODE,
]  # fmt: skip
