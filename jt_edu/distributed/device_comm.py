"""Device comm: copies and sums among (simulated) devices of one process, in PyTorch's names.

    broadcast      x -> x x x           reduce_add     x y z -> x + y + z
    scatter        x -> its pieces      gather         pieces -> x

There is one device, and it goes by the names "cpu", "cpu:0", "cpu:1", ...: what is computed is right, and nothing is
sped up. The coalesced forms do the same for many Vars, lined up in buffers of a size that can be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.distributed.buckets import cut
from jt_edu.ops.arguments import whole
from jt_edu.ops.concat import concat
from jt_edu.ops.split import chunk, split
from jt_edu.variable.var import Var, as_var

BUFFER = 10 << 20  # bytes


def device_name(device: Any, call: str = "a device") -> str:
    """How a device is called here.

    Raises:
        ArgumentError: there is no such device.

    Example:
        >>> device_name(1), device_name("cpu")
        ('cpu:1', 'cpu')
    """
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return f"cpu:{device}"
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind != "cpu" or (colon and not number.isdecimal()):
        raise ArgumentError(f"{call} is a device: 'cpu', 'cpu:0', 'cpu:1', ... or a number", repr(device))
    return str(device)


def device_names(devices: Any, call: str) -> list[str]:
    """How some devices are called; at least one.

    Example:
        >>> device_names([0, "cpu:3"], "broadcast")
        ['cpu:0', 'cpu:3']
    """
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise ArgumentError(f"{call} takes a list of devices, at least one", repr(devices), "['cpu:0', 'cpu:1']")
    return [device_name(d, call) for d in devices]


def broadcast(tensor: Any, devices: Any) -> tuple[Var, ...]:
    """The same numbers on each device.

    Example:
        >>> [x.tolist() for x in broadcast(jt.array([1.0, 2.0]), ["cpu:0", "cpu:1"])]
        [[1.0, 2.0], [1.0, 2.0]]
    """
    v = as_var(tensor)
    return tuple(_copy(v) for _ in device_names(devices, "broadcast"))


def broadcast_coalesced(tensors: Sequence[Any], devices: Any, buffer_size: int = BUFFER) -> tuple[tuple[Var, ...], ...]:
    """The same Vars on each device, which travel in buffers: for each device a tuple of all of them.

    Args:
        tensors: Vars of any shapes and dtypes.
        devices: where to.
        buffer_size: bytes of a buffer; a larger Var has one of its own.

    Example:
        >>> copies = broadcast_coalesced([jt.ones(2), jt.zeros(1)], ["cpu:0", "cpu:1"])
        >>> [[v.tolist() for v in one] for one in copies]
        [[[1.0, 1.0], [0.0]], [[1.0, 1.0], [0.0]]]
    """
    variables, names = [as_var(t) for t in tensors], device_names(devices, "broadcast_coalesced")
    rows: list[list[Any]] = [[None] * len(variables) for _ in names]
    for numbers in _buffers(variables, buffer_size, "broadcast_coalesced"):
        several = [variables[k] for k in numbers]
        for row, flat in zip(rows, broadcast(_flat(several), names), strict=True):
            for k, piece in zip(numbers, cut(flat, [v.shape for v in several]), strict=True):
                row[k] = piece
    return tuple(tuple(row) for row in rows)


def reduce_add(inputs: Sequence[Any], destination: Any = None) -> Var:
    """The sum of Vars from several devices, on `destination`; the device of the first by default.

    Raises:
        ShapeError: they have different shapes. DtypeError: or dtypes.

    Example:
        >>> reduce_add([jt.array([1.0]), jt.array([2.0])]).tolist()
        [3.0]
    """
    if destination is not None:
        device_name(destination, "reduce_add")
    variables = [as_var(x) for x in inputs]
    if not variables:
        raise ArgumentError("reduce_add takes at least one Var", "none")
    for v in variables:
        if v.shape != variables[0].shape:
            raise ShapeError("reduce_add takes Vars of the same shape", f"{v.shape} beside {variables[0].shape}")
        if v.dtype is not variables[0].dtype:
            raise DtypeError("reduce_add takes Vars of one dtype", f"{v.dtype} beside {variables[0].dtype}")
    return sum(variables[1:], _copy(variables[0]))


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Any]], destination: Any = None, buffer_size: int = BUFFER
) -> tuple[Var, ...]:
    """Sums of lists of Vars, one list for each device: the first with the first, the second with the second, ...

    Args:
        inputs: lists of the same length; Vars in the same place have one shape and dtype.
        destination: where the sums are.
        buffer_size: bytes of the buffers in which they travel.

    Example:
        >>> [v.item() for v in reduce_add_coalesced([[jt.array(1.0), jt.array(2.0)], [jt.array(3.0), jt.array(4.0)]])]
        [4.0, 6.0]
    """
    rows = [[as_var(x) for x in row] for row in inputs]
    if not rows or len({len(row) for row in rows}) != 1:
        asked = "reduce_add_coalesced takes lists of the same length, one for each device"
        raise ArgumentError(asked, f"{len(rows)} lists of {[len(row) for row in rows]}")
    for column in zip(*rows, strict=True):
        for v in column:
            if v.shape != column[0].shape:
                asked = "reduce_add_coalesced takes Vars of the same shape in one place"
                raise ShapeError(asked, f"{v.shape} beside {column[0].shape}")
    sums: list[Any] = [None] * len(rows[0])
    for numbers in _buffers(rows[0], buffer_size, "reduce_add_coalesced"):
        total = reduce_add([_flat([row[k] for k in numbers]) for row in rows], destination)
        for k, piece in zip(numbers, cut(total, [rows[0][k].shape for k in numbers]), strict=True):
            sums[k] = piece
    return tuple(sums)


def scatter(
    tensor: Any, devices: Any = None, chunk_sizes: Sequence[int] | None = None, dim: int = 0
) -> tuple[Var, ...]:  # fmt: skip
    """Pieces of a Var, one for each device.

    Args:
        tensor: at least one axis.
        devices: as many pieces; there are fewer where `chunk` makes fewer. Not needed with `chunk_sizes`.
        chunk_sizes: the length of each piece along `dim`; as `chunk` cuts by default.
        dim: the axis that is cut.

    Raises:
        ShapeError: a number has no axis, or the lengths do not add up.

    Example:
        >>> [x.tolist() for x in scatter(jt.arange(5), ["cpu:0", "cpu:1"])]
        [[0, 1, 2], [3, 4]]
        >>> [x.tolist() for x in scatter(jt.arange(5), chunk_sizes=[1, 4])]
        [[0], [1, 2, 3, 4]]
    """
    v = as_var(tensor)
    if devices is None and chunk_sizes is None:
        raise ArgumentError("scatter takes devices or chunk_sizes", "neither", "scatter(x, ['cpu:0', 'cpu:1'])")
    names = None if devices is None else device_names(devices, "scatter")
    if not v.ndim:
        raise ShapeError("scatter cuts along an axis", "a Var of shape ()", "x.reshape(1)")
    if chunk_sizes is None:
        return chunk(v, len(names or ()), dim)
    if names is not None and len(names) != len(chunk_sizes):
        raise ArgumentError("chunk_sizes has a length for each device", f"{list(chunk_sizes)} for {len(names)} devices")
    return split(v, list(chunk_sizes), dim)


def gather(tensors: Sequence[Any], dim: int = 0, destination: Any = None) -> Var:
    """Vars from several devices, one behind the other along an axis.

    Example:
        >>> gather([jt.array([1.0]), jt.array([2.0, 3.0])]).tolist()
        [1.0, 2.0, 3.0]
    """
    if destination is not None:
        device_name(destination, "gather")
    variables = [as_var(x) for x in tensors]
    if not variables:
        raise ArgumentError("gather takes at least one Var", "none")
    return concat(variables, dim)


def _copy(v: Var) -> Var:
    """The same numbers as a Var of their own: to give one of both new numbers changes nothing in the other."""
    return Var._of(v.node)


def _flat(variables: Sequence[Var]) -> Var:
    return concat([v.reshape(-1) for v in variables]) if len(variables) > 1 else variables[0].reshape(-1)


def _buffers(variables: Sequence[Var], size: int, call: str) -> Iterator[list[int]]:
    """The numbers of the Vars that fit into one buffer: of one dtype, and not more bytes than it has, if several."""
    whole(call, "buffer_size", size, 1)
    for dtype in dict.fromkeys(v.dtype for v in variables):
        numbers = [k for k, v in enumerate(variables) if v.dtype is dtype]
        filled: list[int] = []
        for k in numbers:
            if filled and sum(variables[j].size for j in [*filled, k]) * dtype.size > size:
                yield filled
                filled = []
            filled.append(k)
        yield filled
