"""Code: `jt.code`, an operator whose kernel the learner writes, as Jittor has it.

    body (Jittor's notation)  --code_text-->  body(lo, hi, in0, ..., out)  --numba-->  machine code
                              --code_races->  the same, run by Python, which watches every element

An output of known size is one kernel. Several outputs, and those whose length is only known after running, are parts of
one array of bytes, the *room*: one kernel fills it, and a host call for each output takes its own part out.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.dtypes import DType, as_dtype, float32, float64, int64, uint8
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.ir.builders import check_shape, short
from jt_edu.ir.meta_ops import SOURCE, Code, HostCall, Rule
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.code_cuda import cuda_code
from jt_edu.ops.code_races import watch
from jt_edu.ops.code_text import Array, Body, header_functions, header_names, translated
from jt_edu.ops.custom_kernel import HEAD, as_array
from jt_edu.variable.var import Var, as_var

WORD = 8  # bytes; where each part of a room begins is a multiple of it


class Out(NamedTuple):
    """An output: its shape, where the first length may be a bound."""

    shape: Shape
    dtype: DType
    bounded: bool


class Ways(NamedTuple):
    """All that decides the text of a kernel, and of its gradients, besides ranks and dtypes."""

    source: str
    header: str
    keys: tuple[str, ...]  # of data
    mode: str  # of `translated`
    gradients: tuple[str, ...]
    begins: bool  # each output begins with what stands in an array of the same number, old0, old1, ...
    inputs: int = 0  # how many


Named = tuple[str, Var]
Part = tuple[int, Shape, DType]  # of a room: the first byte, and what is there
WEIGHT = 1_000  # an element of a prange costs enough to wake threads, as a body with such a loop asks for


def code(
    shape: Any, dtype: Any, inputs: Any = (), cpu_src: str = "", cpu_grad_src: Any = (), cpu_header: str = "",
    cuda_src: str = "", cuda_grad_src: Any = (), cuda_header: str = "", data: Mapping[str, float] | None = None, *,
    boundscheck: bool = True, debug: bool = False,
) -> Any:  # fmt: skip
    """An operator whose kernel is the text of a Python function's body, which numba compiles.

    Args:
        shape: of the output, or a list of shapes; a negative first length is a bound.
        dtype: of the output, or a list of as many.
        inputs: Vars, which the body only reads.
        cpu_src: the body; the lesson below says how arrays are called.
        cpu_grad_src: for each input a body that fills `out` with its gradient; "" for one that has none.
        cpu_header: functions and imports for all bodies.
        cuda_src: kernels of a GPU and their launches, in the words of numba.cuda (`jt_edu/ops/code_cuda.py` says how).
            Without a cpu_src the interpreter of `jt.cuda` runs them, with one beside it the CPU works.
        cuda_grad_src: the same for gradients.
        cuda_header: what stands above all of them.
        data: numbers that bodies read as `data["name"]`; others do not compile anew.
        boundscheck: an index outside an array is an error that names the line of the body. Without it (False) such an
            index reads or destroys other memory, as in C.
        debug: run the body at once in Python as well, and refuse races and elements that nobody writes.

    Returns:
        A Var, or a tuple of them. `code(inputs, outputs, cpu_src=...)` gives Vars that exist new values.

    Raises:
        ArgumentError: the body is no Python, or names what is not there. RangeError: an index outside its array, when
        it runs. KernelError: numba cannot compile it, or `debug` found something. BackendError: there is no cpu_src.
    """
    if not cpu_src and cuda_src:
        return cuda_code(shape, dtype, inputs, cuda_src, cuda_grad_src, cuda_header, data or {})
    if not cpu_src and not isinstance(inputs, str):
        there = {"cuda_grad_src": cuda_grad_src, "cuda_header": cuda_header}
        found = f"only {', '.join(name for name, text in there.items() if text) or 'inputs'}"
        raise BackendError("jt.code takes a text", found, "cpu_src, in Python: help(jt.code)")
    mode = "checked" if boundscheck else "unchecked"
    return _coded(shape, dtype, inputs, (cpu_src, cpu_header, cpu_grad_src), dict(data or {}), mode, debug)


LESSON = """
    Example:
        An element of an array is `@in0(i, j)` or `in0[i, j]`, its first length in0_shape0. Inputs are in0, in1, ...,
        and the output is out. Threads share the iterations of a `prange`, where that is the last statement:

            >>> x = array([1.0, 2.0, 3.0])
            >>> body = '''
            ... for i in prange(in0_shape0):
            ...     @out(i) = @in0(i) * @in0(i) * data["k"]
            ... '''
            >>> code(x.shape, x.dtype, [x], body, data={"k": 10}).tolist()
            [10.0, 40.0, 90.0]

        An output begins with arbitrary numbers. For a gradient there is one more body for each input. It fills `out`,
        from `dout`, the inputs, and what came out, which is called pout:

            >>> back = '''
            ... for i in prange(in0_shape0):
            ...     @out(i) = @dout(i) * 2 * @in0(i) * data["k"]
            ... '''
            >>> y = code(x.shape, x.dtype, [x], body, [back], data={"k": 10})
            >>> grad(y.sum(), x).tolist()
            [20.0, 40.0, 60.0]

        Several outputs are out0, out1, ... (in a gradient pout0, pout1, ..., and `dout` belongs to number out_index). A
        negative length is the most there can be: the body says how many there are. A second name is easier to read:

            >>> large, small = code([(-3,), (-3,)], [x.dtype, "int32"], [x], '''
            ... @alias(large, out0)
            ... n = 0
            ... for i in range(in0_shape0):
            ...     if @in0(i) > 1:  # how many: only the values know
            ...         @large(n) = @in0(i)
            ...         @out1(n) = i
            ...         n += 1
            ... large.set_shape(n)
            ... out1.set_shape(n)
            ... ''')
            >>> large.tolist(), small.tolist()
            ([2.0, 3.0], [1, 2])

        Vars that exist get new values, and a body begins with their old ones:

            >>> total = array([100.0])
            >>> code([x], [total], "for i in range(in0_shape0): @out(0) += @in0(i)")[0].tolist()
            [106.0]

        A loop whose iterations touch the same element is wrong, and mostly looks right. `debug` finds it:

            >>> code((1,), x.dtype, [x], "for i in prange(3): @out(0) = @in0(i)", debug=True)
            Traceback (most recent call last):
            KernelError: ...

    Source: Jittor's `jt.code`, whose bodies are C++ (cg.cs.tsinghua.edu.cn/jittor/tutorial).
    """
code.__doc__ = f"{code.__doc__}{LESSON}"


def _coded(
    shape: Any, dtype: Any, inputs: Any, sources: tuple[str, str, Any], data: dict[str, float], mode: str, debug: bool
) -> Any:
    source, header, backward = sources
    written = _several(shape) and _several(dtype)  # code(inputs, outputs, ...)
    if written and isinstance(inputs, str):  # whose third argument is the body
        source = inputs
    targets, given = (list(dtype), shape) if written else ([], inputs)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError("jt.code takes a list of inputs", short(given), "[x]")
    if written:
        shape, dtype = [v.shape for v in targets], [v.dtype for v in targets]
    several = isinstance(dtype, (list, tuple))
    outs = _outs(shape, dtype) if several else _outs([shape], [dtype])
    numbers = {key: float(value) for key, value in sorted(data.items())}
    gradients = (backward,) if isinstance(backward, str) else tuple(backward)
    if len(gradients) > len(given):
        raise ArgumentError("jt.code takes up to one gradient for each input", f"{len(gradients)} for {len(given)}")
    ways = Ways(source, header, tuple(numbers), mode, gradients, written, len(given))
    named = [(f"in{k}", as_var(x)) for k, x in enumerate(given)]
    values = Var._of(Node(SOURCE, (), (len(numbers),), float64, np.array(list(numbers.values()), "f8")))
    if debug:
        _watched(ways, named, outs, targets, values)
    results = _outputs(ways, named, outs, targets, values)
    for target, result in zip(targets, results, strict=False):
        target.assign(result)
    return tuple(results) if several else results[0]


def _several(value: Any) -> bool:
    """Whether it is a list of Vars."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(v, Var) for v in value)


def _outs(shapes: Sequence[Any], dtypes: Sequence[Any]) -> tuple[Out, ...]:
    if len(shapes) != len(dtypes) or not shapes:
        raise ArgumentError("jt.code takes a shape for each dtype", f"{len(shapes)} for {len(dtypes)}")
    made = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        lengths = tuple(shape) if isinstance(shape, Sequence) else (shape,)
        bounded = bool(lengths) and isinstance(lengths[0], int) and lengths[0] < 0
        whole = check_shape((-lengths[0], *lengths[1:]) if bounded else lengths)
        made.append(Out(whole, as_dtype(dtype), bounded))
    return tuple(made)


# ------------------------------------------------------------------------------------------------------------ graph


def _outputs(ways: Ways, named: Sequence[Named], outs: tuple[Out, ...], olds: Sequence[Var], values: Var) -> list[Var]:
    """The Vars that a body makes."""
    ins = [as_array(_computed(x)).node for x in (*(x for _, x in named), values, *olds)]
    arrays = arrays_of(named, outs)
    if len(outs) == 1 and not outs[0].bounded:
        shape, dtype, _ = outs[0]
        return [Var._of(Node(_whole(ways, arrays), tuple(ins), shape, _known(dtype))).cast(dtype)]
    parts, plan = _layout(outs)
    ahead = Var._of(Node(SOURCE, (), (len(plan),), int64, np.array(plan)))
    op = _room(ways, arrays, tuple(str(_known(o.dtype)) for o in outs))
    room = Var._of(Node(op, (*ins, ahead.node), (plan[-1],), uint8))
    if any(o.bounded for o in outs):
        parts = _found(room, parts, outs)
    return [_cut(ways, parts, k, (room.node, *ins)).cast(o.dtype) for k, o in enumerate(outs)]


def _layout(outs: Sequence[Out]) -> tuple[tuple[Part, ...], list[int]]:
    """Where each output is in a room, and the same as numbers: for each its begin, its end and its shape; the end."""
    begin = WORD * sum(o.bounded for o in outs)
    parts, plan = [], [begin]
    for shape, dtype, _ in outs:
        size = math.prod(shape) * _known(dtype).size
        parts.append((begin, shape, _known(dtype)))
        plan += [begin, begin + size, *shape]
        begin += -(-size // WORD) * WORD
    return tuple(parts), [*plan, begin]


def _found(room: Var, parts: tuple[Part, ...], outs: Sequence[Out]) -> tuple[Part, ...]:
    """Run the kernel, and see how long the outputs of unknown length have become."""
    sizes = iter(room.numpy()[: parts[0][0]].view(np.int64).tolist())
    lengths = [next(sizes) if o.bounded else None for o in outs]
    if -1 in lengths:
        name = "out" if len(outs) == 1 else f"out{lengths.index(-1)}"
        raise ArgumentError(
            "an output of negative size is told its size", "a body that did not", f"{name}.set_shape(n)"
        )
    return tuple(
        (begin, shape if length is None else (length, *shape[1:]), dtype)
        for length, (begin, shape, dtype) in zip(lengths, parts, strict=True)
    )


def _cut(ways: Ways, parts: tuple[Part, ...], k: int, ins: tuple[Node, ...]) -> Var:
    """Output k, out of its room."""
    _, shape, dtype = parts[k]
    return Var._of(Node(_take(ways, parts, k), ins, shape, dtype))


@lru_cache(maxsize=1 << 10)
def _take(ways: Ways, parts: tuple[Part, ...], k: int) -> HostCall:
    begin, shape, dtype = parts[k]
    end = begin + math.prod(shape) * dtype.size

    def run(room: Any, *_: Any) -> Any:
        return room[begin:end].view(dtype.storage).reshape(shape).copy()

    def came_out(out: Var, room: Var, ins: Sequence[Var]) -> list[Var]:
        nodes = (room.node, *(v.node for v in ins))
        return [out if j == k else _cut(ways, parts, j, nodes) for j in range(len(parts))]

    rules = [_rule(ways, j, lambda out, ins: came_out(out, ins[0], ins[1:]), 1, k) for j in range(len(ways.gradients))]
    return HostCall("code_output", run, (None, *rules))


def _rule(
    ways: Ways, place: int, came_out: Callable[[Var, Sequence[Var]], list[Var]], first: int = 0, which: int = 0
) -> Rule | None:
    """The gradient of input number `place`: a body like any other, which also knows what came out, and of which output
    `dout` is.
    """
    source = re.sub(r"\bout_index\b", str(which), ways.gradients[place])
    if not source:
        return None

    def gradient(out: Var, dout: Var, *ins: Var) -> Var:
        values = ins[first + ways.inputs]
        x, outs = ins[first + place], came_out(out, ins)
        named = [(f"in{k}", v) for k, v in enumerate(ins[first : first + ways.inputs])]
        named += [("pout" if len(outs) == 1 else f"pout{k}", v) for k, v in enumerate(outs)]
        backward = ways._replace(source=source, gradients=(), begins=False)
        return _outputs(backward, [*named, ("dout", dout)], (Out(x.shape, x.dtype, False),), (), values)[0]

    return gradient


@lru_cache(maxsize=1 << 10)
def _whole(ways: Ways, arrays: tuple[Array, ...]) -> Code:
    """The kernel of one output of known shape."""
    rules = tuple(_rule(ways, k, lambda out, ins: [out]) for k in range(len(ways.gradients)))
    body = translated(ways.source, arrays, ways.keys, header_names(ways.header), ways.mode)
    text = _kernel(ways, arrays, body, ["out"], ["fill(out, old0)"] * ways.begins)
    return Code("code", text, body.span, WEIGHT if body.span > 1 else 8, rules)


@lru_cache(maxsize=1 << 10)
def _room(ways: Ways, arrays: tuple[Array, ...], dtypes: tuple[str, ...]) -> Code:
    """The kernel of several outputs, or of unknown lengths."""
    body = translated(ways.source, arrays, ways.keys, header_names(ways.header), ways.mode)
    outs, at = [a for a in arrays if a.role != "in"], 1
    lines = ["sizes = room[: plan[0]].view(np.int64)", "for k in range(len(sizes)):", "    sizes[k] = -1"]
    for k, (out, dtype) in enumerate(zip(outs, dtypes, strict=True)):
        lengths = "".join(f"plan[{at + 2 + axis}], " for axis in range(out.rank))
        kind = dtype.replace("bool", "bool_")
        lines.append(f"{out.name} = room[plan[{at}] : plan[{at + 1}]].view(np.{kind}).reshape(({lengths}))")
        lines += [f"fill({out.name}, old{k})"] * ways.begins
        at += 2 + out.rank
    text = _kernel(ways, arrays, body, ["plan", "room"], lines)
    return Code("code", text, body.span, WEIGHT if body.span > 1 else 8)


def _kernel(ways: Ways, arrays: tuple[Array, ...], body: Body, last: list[str], lines: list[str]) -> str:
    """The text of a kernel: the body, the function that calls it, and what both need."""
    if ways.begins and body.span > 1:
        raise ArgumentError(
            "jt.code(inputs, outputs) is done by one thread", "a prange", "range, or outputs of its own"
        )
    ins = [a.name for a in arrays if a.role == "in"]
    outs = [a.name for a in arrays if a.role != "in"]
    olds = [f"old{k}" for k in range(len(outs) * ways.begins)]
    head, functions = textwrap.dedent(ways.header).strip(), header_functions(ways.header)
    text = [
        body.text, "", "",
        f"def kernel(lo, hi, {', '.join([*ins, 'data', *olds, *last])}):",
        *(f"    {line}" for line in lines),
        f"    body(lo, hi, {', '.join([*ins, *outs, 'data', 'sizes' if 'room' in last else '0'])})", "", "",
        *(HEAD[word] for word in ("math.", "np.")),
        "from jt_edu.backends.convolve.llvm import inlined",
        "from jt_edu.backends.mathlib.learner_code import fill, inside, part, set_size", "",
        *([head, ""] if head else []),
        *(f"{name} = inlined({name})" for name in (*functions, "body")),
    ]  # fmt: skip
    return "\n".join(text) + "\n"


def _computed(x: Var) -> Var:
    return x.cast(_known(x.dtype))


def _known(dtype: DType) -> DType:
    """The dtype in which a kernel sees it."""
    return float32 if dtype.is_half else dtype


def arrays_of(named: Sequence[Named], outs: Sequence[Out]) -> tuple[Array, ...]:
    """What a body may name."""
    ins = [Array(name, x.ndim, "in") for name, x in named]
    names = ["out"] if len(outs) == 1 else [f"out{k}" for k in range(len(outs))]
    roles = ["bounded" if o.bounded else "out" for o in outs]
    return (*ins, *(Array(n, len(o.shape), role) for n, o, role in zip(names, outs, roles, strict=True)))


def _watched(ways: Ways, named: Sequence[Named], outs: Sequence[Out], olds: Sequence[Var], values: Var) -> None:
    """What `debug` does."""
    arrays = arrays_of(named, outs)
    body = translated(ways.source, arrays, ways.keys, header_names(ways.header), "watched")
    given = {name: as_array(_computed(x)).numpy() for name, x in named}
    names = [a.name for a in arrays if a.role != "in"]
    made = [old.numpy().copy() for old in olds] or [np.zeros(o.shape, _known(o.dtype).storage) for o in outs]
    everything = {**given, **dict(zip(names, made, strict=True))}
    watch(body, ways.header, everything, names, bool(olds), values.numpy(), sum(o.bounded for o in outs))
