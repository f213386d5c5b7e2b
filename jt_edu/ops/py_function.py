"""Py function: custom functions, written with NumPy, as operators of the graph.

    def forward(np, data):                       data["inputs"]: arrays     data["outputs"]: arrays to be filled
        np.cumsum(data["inputs"][0], out=data["outputs"][0])

The honest way out, for what a learner would rather write with NumPy than as a kernel: it works on whole arrays, nothing
fuses with it, and every trace and picture says so (a HostCall). No operator of jt_edu is made this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, as_dtype, bfloat16, float32
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import check_shape, short
from jt_edu.ir.meta_ops import HostCall, Rule
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.custom_kernel import as_array
from jt_edu.variable.var import Var, as_var

Work = Callable[[Any, dict[str, Any]], object]  # (numpy, data), as Jittor has it
Box = tuple[Shape, DType]


def numpy_code(shape: Any, dtype: Any, inputs: Sequence[Any], forward: Work, backward: Sequence[Work] = ()) -> Any:
    """An operator that NumPy computes: `forward(np, data)` reads data["inputs"] and fills data["outputs"].

    It runs when its numbers are needed, perhaps later and perhaps more than once, so it should depend on its inputs
    alone. Whoever writes it at the top of a file, not anew for each call, lets its plan be found again.

    Args:
        shape: of the output, or a list of shapes.
        dtype: of the output; a list of as many dtypes makes several outputs, each of which calls `forward` once.
        inputs: Vars, which come as read-only arrays (bfloat16 as float32).
        forward: what to do. It is given NumPy, and a dict.
        backward: for each input what fills data["outputs"][0] with its gradient, from data["dout"]; it also finds
            data["inputs"], data["f_outputs"] (what came out) and data["out_index"] (of which output dout is).
            Inputs that have none take no part in gradients, and no gradient of a gradient is known.

    Returns:
        A Var, or a tuple of them.

    Raises:
        ArgumentError: something is no function, or there are more gradients than inputs. ShapeError: an output was
        replaced by one of another shape.

    Example:
        >>> def forward(np, data):
        ...     np.cumsum(data["inputs"][0], out=data["outputs"][0])
        >>> def backward(np, data):
        ...     data["outputs"][0][...] = data["dout"][::-1].cumsum()[::-1]
        >>> x = array([1.0, 2.0, 3.0])
        >>> y = numpy_code(x.shape, x.dtype, [x], forward, [backward])
        >>> y.tolist(), grad(y.sum(), x).tolist()
        ([1.0, 3.0, 6.0], [3.0, 2.0, 1.0])
    """
    several = isinstance(dtype, (list, tuple))
    boxes = _boxes(list(shape), list(dtype)) if several else _boxes([shape], [dtype])
    codes = _codes(inputs, forward, backward)
    nodes = tuple(_array_node(as_var(v)) for v in inputs)
    outputs = tuple(_out(_forward(k, boxes, forward, codes), nodes, box) for k, box in enumerate(boxes))
    return outputs if several else outputs[0]


def _boxes(shapes: list[Any], dtypes: list[Any]) -> tuple[Box, ...]:
    if len(shapes) != len(dtypes):
        raise ArgumentError("numpy_code takes a shape for each dtype", f"{len(shapes)} for {len(dtypes)}")
    return tuple((check_shape(s), as_dtype(d)) for s, d in zip(shapes, dtypes, strict=True))


def _codes(inputs: Any, forward: Any, backward: Any) -> tuple[Work, ...]:
    """The gradients as a tuple; all is looked at before anything runs."""
    if not isinstance(inputs, (list, tuple)):
        raise ArgumentError("numpy_code takes a list of inputs", short(inputs), "[x]")
    codes = tuple(backward) if isinstance(backward, (list, tuple)) else (backward,)
    if not callable(forward) or not all(map(callable, codes)) or len(codes) > len(inputs):
        found = f"{short(forward)}, and {short(codes)} for {len(inputs)} inputs"
        raise ArgumentError("numpy_code takes a function, and up to one gradient for each input", found)
    return codes


def _array_node(x: Var) -> Node:
    """The node of x as an array that NumPy knows."""
    return as_array(x.cast(_known(x.dtype))).node


def _known(dtype: DType) -> DType:
    return float32 if dtype is bfloat16 else dtype


def _out(op: HostCall, inputs: tuple[Node, ...], box: Box) -> Var:
    shape, dtype = box
    return Var._of(Node(op, inputs, shape, _known(dtype))).cast(dtype)


@lru_cache(maxsize=256)
def _forward(k: int, boxes: tuple[Box, ...], forward: Work, backward: tuple[Work, ...]) -> HostCall:
    """Output k; one object for one meaning, so that graphs of the same structure can be recognised."""

    def run(*arrays: Any) -> Any:
        return _fill(forward, {"inputs": _read_only(arrays)}, boxes)[k]

    return HostCall("numpy_code", run, tuple(_rule(k, len(boxes), place, code) for place, code in enumerate(backward)))


def _rule(k: int, outputs: int, place: int, code: Work) -> Rule:
    """The gradient of input number `place` from that of output k."""

    def gradient(out: Var, dout: Var, *inputs: Var) -> Var:
        x = inputs[place]
        nodes = tuple(_array_node(v) for v in (out, dout, *inputs))
        return _out(_backward(k, outputs, (x.shape, x.dtype), code), nodes, (x.shape, x.dtype))

    return gradient


@lru_cache(maxsize=256)
def _backward(k: int, outputs: int, box: Box, code: Work) -> HostCall:
    def run(out: Any, dout: Any, *arrays: Any) -> Any:
        found = [_read_only((out,))[0] if j == k else None for j in range(outputs)]
        data = {"inputs": _read_only(arrays), "f_outputs": found, "dout": _read_only((dout,))[0], "out_index": k}
        return _fill(code, data, (box,))[0]

    return HostCall("numpy_code_gradient", run)


def _fill(work: Work, data: dict[str, Any], boxes: tuple[Box, ...]) -> list[Any]:
    """Zeros that the work has filled."""
    made = data["outputs"] = [np.zeros(shape, _known(dtype).storage) for shape, dtype in boxes]
    work(np, data)
    for array, (shape, _) in zip(made, boxes, strict=True):
        if np.shape(array) != shape:
            raise ShapeError(f"numpy_code fills an output of shape {shape}", f"shape {np.shape(array)} instead")
    return made


def _read_only(arrays: Sequence[Any]) -> list[Any]:
    views = [np.asarray(a).view() for a in arrays]
    for v in views:
        v.setflags(write=False)
    return views
