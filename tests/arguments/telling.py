"""Telling: what an answer, or a layer, is in plain words, so that two of them can be compared.

plain(answer)            nested lists of NumPy arrays, numbers and words
difference(one, other)   in which way they differ; empty if they do not
tells(library, layer, inputs)    all that can be seen of a layer
answers(library, layer, inputs, named)    what it says to one call in training
"""

import zlib
from typing import Any

import numpy as np

CLOSE = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}  # others: 1e-9


def plain(answer: Any) -> Any:
    """Nested lists of NumPy arrays, words and None."""
    if isinstance(answer, dict):
        return [[key, plain(part)] for key, part in answer.items()]
    if isinstance(answer, (list, tuple)):
        return [plain(part) for part in answer]
    if hasattr(answer, "detach"):
        answer = answer.detach()
    if hasattr(answer, "numpy") and not isinstance(answer, np.ndarray):
        answer = answer.numpy()
    return np.asarray(answer) if isinstance(answer, (np.ndarray, np.generic, int, float, complex)) else answer


def difference(one: Any, other: Any) -> str:
    """What differs first: lengths, shapes, dtypes, numbers or words."""
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return f"{len(one)} parts for {len(other)}"
        return next(filter(None, (difference(a, b) for a, b in zip(one, other, strict=True))), "")
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return _of_arrays(one, other)
    return "" if type(one) is type(other) and one == other else f"{one!r} for {other!r}"


def _of_arrays(one: np.ndarray, other: np.ndarray) -> str:
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype} {one.shape} for {other.dtype} {other.shape}"
    if one.dtype.kind in "fc":
        close = CLOSE.get(str(one.dtype), 1e-9)
        same = np.allclose(one, other, rtol=close, atol=close, equal_nan=True)
    else:
        same = np.array_equal(one, other)
    return "" if same else f"{one.tolist()} for {other.tolist()}"


# -------------------------------------------------------------------------------------------------------------- a layer


def tells(library: Any, layer: Any, inputs: Any) -> list[Any]:
    """Everything that an argument of a layer can change, with parameters that depend on their names and shapes only.

    The names of its state; outputs and gradients in training; the state afterwards; outputs in evaluation.
    """
    told = [list(layer.state_dict()), answers(library, layer, inputs, {}), plain(dict(layer.state_dict()))]
    layer.eval()
    return [*told, plain(layer(*inputs))]


def answers(library: Any, layer: Any, inputs: Any, named: dict[str, Any], gradients: bool = True) -> list[Any]:
    """Outputs and gradients of a call in training."""
    layer = layer.double()
    _fill(library, layer)
    layer.train()
    out = layer(*inputs, **named)
    return [plain(out), _gradients(library, layer, _floats(out)) if gradients else []]


def numbers(name: str, shape: Any) -> np.ndarray:
    """Numbers from -1 to 1 that depend on a name."""
    return np.cos(np.arange(int(np.prod(shape))) * 1.7 + zlib.crc32(name.encode()) % 100).reshape(shape)


def _fill(library: Any, layer: Any) -> None:
    state = {}
    parameters = dict(layer.named_parameters())
    for name, value in layer.state_dict().items():
        drawn = numbers(name, tuple(value.shape))
        if "float64" in str(value.dtype):  # buffers are variances and the like: above 0
            state[name] = drawn if name in parameters else 1.5 + drawn
    make = library.tensor if hasattr(library, "tensor") else library.array
    layer.load_state_dict({**layer.state_dict(), **{name: make(value) for name, value in state.items()}})


def _floats(out: Any) -> list[Any]:
    if isinstance(out, (list, tuple)):
        return [leaf for part in out for leaf in _floats(part)]
    return [out] if out is not None and "float" in str(out.dtype) else []


def _gradients(library: Any, layer: Any, outputs: list[Any]) -> list[Any]:
    """Of a weighted sum of the outputs, by each parameter that has one."""
    parameters = list(layer.parameters())
    if not parameters or not outputs:
        return []
    make = library.tensor
    loss = sum((out * make(numbers(str(k), tuple(out.shape)))).sum() for k, out in enumerate(outputs))
    asked = getattr(library, "autograd", library).grad(loss, parameters, allow_unused=True)
    found = zip(parameters, asked, strict=True)
    return [np.zeros(tuple(p.shape)) if g is None else plain(g) for p, g in found]
