"""Scatter gather: cutting what a module takes into shares for several devices, and putting together what comes out.

    scatter(({"x": (6, 3)}, "word"), 2 devices)      ({"x": (3, 3)}, "word")   ({"x": (3, 3)}, "word")
    gather of both, after a module                   (6, 3) again

Vars are cut along an axis, as `chunk` cuts, structures are walked through, and everything else goes to each device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed import device_comm
from jt_edu.distributed.device_functions import Gather, Scatter
from jt_edu.ops.arguments import whole
from jt_edu.variable.pytree import is_structure, parts_of, rebuilt
from jt_edu.variable.var import Var


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """Shares of `inputs`, one for each device: a list. With fewer rows than devices there are fewer.

    Args:
        inputs: a Var, or tuples, lists, dicts, namedtuples and dataclasses with Vars and anything else in them.
        target_gpus: devices.
        dim: the axis along which Vars are cut.

    Example:
        >>> jt.nn.parallel.scatter({"x": jt.arange(3), "scale": 2}, ["cpu:0", "cpu:1"])
        [{'x': jt.Var([0, 1], dtype=int64), 'scale': 2}, {'x': jt.Var([2], dtype=int64), 'scale': 2}]
    """
    names = device_comm.device_names(target_gpus, "scatter")
    if isinstance(inputs, Var):
        return list(Scatter.apply(names, None, dim, inputs))
    parts = parts_of(inputs) if is_structure(inputs) else []
    if not parts:
        return [inputs for _ in names]
    columns = [scatter(part, names, dim) for part in parts]
    return [rebuilt(inputs, list(row)) for row in zip(*columns, strict=False)]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Shares of the arguments of a module: (positional ones, named ones), a tuple of as many for each.

    Where one kind has fewer shares than the other, () or {} is added.

    Example:
        >>> jt.nn.parallel.scatter_kwargs((jt.arange(2),), {}, ["cpu:0", "cpu:1"])
        (((jt.Var([0], dtype=int64),), (jt.Var([1], dtype=int64),)), ({}, {}))
    """
    names = device_comm.device_names(target_gpus, "scatter_kwargs")
    shares = scatter(tuple(inputs), names, dim) if inputs else []
    words = scatter(dict(kwargs), names, dim) if kwargs else []
    longest = max(len(shares), len(words))
    shares += [()] * (longest - len(shares))
    words += [{}] * (longest - len(words))
    return tuple(shares), tuple(dict(w) for w in words)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """What several devices answered, put together: Vars one behind the other along an axis, structures part by part.

    What is no Var has to be the same everywhere. Numbers (Vars without an axis) become a vector, with a warning.

    Raises:
        ArgumentError: the structures differ.

    Example:
        >>> jt.nn.parallel.gather([(jt.arange(2), "a"), (jt.arange(1), "a")], "cpu:0")
        (jt.Var([0, 1, 0], dtype=int64), 'a')
    """
    device_comm.device_name(target_device, "gather")
    rows = list(outputs)
    if not rows:
        raise ArgumentError("gather takes what at least one device answered", "nothing")
    first = rows[0]
    if any(type(row) is not type(first) for row in rows):
        raise ArgumentError("gather takes answers of one structure", ", ".join(type(row).__name__ for row in rows))
    if isinstance(first, Var):
        return Gather.apply(target_device, dim, *rows)
    if not is_structure(first):
        if any(row != first for row in rows):
            raise ArgumentError("gather takes what is no Var if it is the same everywhere", repr(rows))
        return first
    keys = [list(row) if isinstance(row, Mapping) else len(parts_of(row)) for row in rows]
    if any(k != keys[0] for k in keys):
        raise ArgumentError("gather takes answers of one structure", " and ".join(map(str, keys)))
    return rebuilt(first, [gather(c, target_device, dim) for c in zip(*map(parts_of, rows), strict=True)])


def devices_of(call: str, device_ids: Any, output_device: Any, dim: Any) -> tuple[list[str], str, int]:
    """What a parallel module was told about devices: (names, where outputs go, axis).

    Example:
        >>> devices_of("DataParallel", None, None, 0)
        (['cpu:0'], 'cpu:0', 0)
    """
    dim = whole(call, "dim", dim)
    names = ["cpu:0"] if device_ids is None else device_comm.device_names(device_ids, call)
    return names, names[0] if output_device is None else device_comm.device_name(output_device, call), dim
