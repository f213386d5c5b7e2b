"""Serialization: how does all that a training needs go into one file, and come back?

    jt.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, "run.npz")
    run = jt.load("run.npz")

    .npz                  plain arrays, NumPy's format: one for each array in the value, named after its way there, such
                          as "net.weight", and one more, NEST, with the rest as JSON
    .pth, .pt, .bin       PyTorch's, for exchange with it: the same values
    .safetensors          for exchange: a dict of names and arrays

No file is ever a program here, so a stranger's may be read. The formats stand in weight_files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.weight_files.formats import NPZ, format_of
from jt_edu.nn.weight_files.npz_file import NEST, read_arrays, write_arrays
from jt_edu.nn.weight_files.packed import BOMB, SWELLS, Array, Packed, is_too_long, refused, told_of
from jt_edu.ops.arguments import yes_or_no
from jt_edu.runtime.devices import CPU
from jt_edu.variable.pytree import vars_in
from jt_edu.variable.torch_keywords import as_asked, place
from jt_edu.variable.var import Var, as_var

LONGEST = 200  # letters of an array's name

__all__ = ["load", "save"]


def save(value: Any, path: str | Path) -> None:
    """Write Vars, arrays, numbers, strings, booleans and None, in lists, tuples and dicts, into a file.

    The file is written completely, or left as it was. What comes behind the last dot of its name is its format:

        .npz, or nothing     `numpy.load` reads the arrays; all comes back as it was
        .pth, .pt, .bin      `torch.load(path, weights_only=True)` reads it; Vars and arrays become tensors
        .safetensors         `safetensors` reads it; only a dict of names and arrays

    `net.load` reads a `net.state_dict()` from each of these. In a .pth file a Var that stands in two places is written
    once, and is one Var again when it is loaded.

    Raises:
        ArgumentError: the value holds something else, and the message says where; or the suffix is not known.

    Example:
        >>> import tempfile
        >>> net = jt.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save({"net": net.state_dict(), "epoch": 3, "losses": [0.5, 0.25]}, folder + "/run.npz")
        ...     run = jt.load(folder + "/run.npz")
        ...     jt.save(net.state_dict(), folder + "/net.pth")  # for torch.load, too
        ...     net.load(folder + "/net.pth")
        Loaded(missing=[], unexpected=[])
        >>> run["epoch"], run["losses"], net.load_state_dict(run["net"])
        (3, [0.5, 0.25], Loaded(missing=[], unexpected=[]))
    """
    form = format_of(path, "written into")  # before anything is computed
    arrays: dict[str, Any] = {}
    try:
        if form is not NPZ:
            return form.write(path, value)
        nest = json.dumps(_packed(value, (), arrays))
    except RecursionError:
        found = "one that holds itself, or hundreds in each other"
        raise ArgumentError("jt.save writes nested lists and dicts", found) from None
    return write_arrays(path, {**arrays, NEST: np.frombuffer(nest.encode(), np.uint8)})


def load(path: str | Path, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what `jt.save`, `net.save`, `numpy.savez`, `torch.save` or `safetensors` wrote.

    What comes behind the last dot of the name is the format, as for `jt.save`. The file is checked and runs no code,
    whoever wrote it; neither PyTorch nor safetensors is needed. Tensors become Vars, and equal ones that share memory
    become one Var. A network that PyTorch saved as an object is refused: what is read is its `state_dict()`.

    Args:
        path: of the file.
        map_location: the device on which the Vars shall lie; without it main memory, wherever they lay.
        weights_only: PyTorch's word for what is always so: nothing of a file is run. False is refused.

    Raises:
        ArgumentError: the suffix is not known, the file is damaged, it holds anything else than `jt.save` writes, or
            the device is not there.
        FileNotFoundError: there is no such file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save((jt.ones(2), {"name": "ada"}), folder + "/pair.pth")
        ...     jt.load(folder + "/pair.pth")
        (jt.Var([1., 1.], dtype=float32), {'name': 'ada'})
    """
    if not yes_or_no("load", "weights_only", weights_only):
        raise ArgumentError("load runs no code of a file", "weights_only=False", "net.load_state_dict(jt.load(path))")
    device, value = place("load", map_location), _read(path)
    if device != CPU:
        with told_of(path):  # a list of a hostile file may hold itself
            found = vars_in(value)
        for v in found:
            as_asked("load", v, device, None)  # a leaf there, and still one Var if it was
    return value


def _read(path: str | Path) -> Any:
    """All that is in a file."""
    form = format_of(path, "read from")
    if form is not NPZ:
        with form.read(path, Packed.var) as value:
            return value
    with read_arrays(path) as packed, told_of(path):
        size, unpacked = Path(path).stat().st_size, sum(array.nbytes for array in packed.values())
        if unpacked > max(BOMB, SWELLS * size):
            raise ValueError(f"{size:,} bytes that unpack to {unpacked:,}")
        arrays = {name: np.asarray(array) for name, array in packed.items()}  # once, however often NEST names it
        if NEST not in arrays:
            return {name: as_var(array) for name, array in arrays.items()}
        return _unpacked(json.loads(arrays[NEST].tobytes()), arrays)


def _packed(value: Any, way: tuple[Any, ...], arrays: dict[str, Any]) -> Any:
    """The value as JSON can say it; its arrays go into `arrays`."""
    kind = type(value)
    if kind in (type(None), bool, float, str) or (kind is int and not is_too_long(value)):
        return value
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if isinstance(value, Var):
        return {"var": [_keep(value, way, arrays), str(value.dtype)]}  # bfloat16 is kept as float32
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        return {"array" if kind is np.ndarray else "number": _keep(value, way, arrays)}
    if kind is list:
        return [_packed(part, (*way, k), arrays) for k, part in enumerate(value)]
    if kind is tuple:
        return {"tuple": _packed(list(value), way, arrays)}
    if isinstance(value, Mapping):
        return {"dict": [[_packed_key(key, way), _packed(part, (*way, key), arrays)] for key, part in value.items()]}
    raise refused(value, way)


def _packed_key(key: Any, way: tuple[Any, ...]) -> Any:
    arrays: dict[str, Any] = {}
    packed = _packed(key, way, arrays)
    if arrays:
        raise refused(key, way)
    return packed


def _keep(array: Any, way: tuple[Any, ...], arrays: dict[str, Any]) -> str:
    """Add an array under a name that says where it stood; a name that a zip file could not hold becomes a number."""
    name = ".".join(map(str, way)) or "value"
    if len(name) > LONGEST or not name.isprintable() or "\\" in name:
        name = f"array {len(arrays)}"
    while name in arrays or name == NEST:
        name += "_"
    arrays[name] = array
    return name


def _unpacked(nest: Any, arrays: Mapping[str, Array]) -> Any:
    """The value that `_packed` made this of. Whatever else a stranger wrote is an error."""
    if isinstance(nest, list):
        return [_unpacked(part, arrays) for part in nest]
    if not isinstance(nest, dict):
        return nest
    ((kind, told),) = nest.items()
    return KINDS[kind](told, arrays)


def _pairs(told: Any, arrays: Mapping[str, Array]) -> Iterator[tuple[Any, Any]]:
    for key, part in told:
        yield _unpacked(key, arrays), _unpacked(part, arrays)


KINDS: dict[str, Callable[[Any, Mapping[str, Array]], Any]] = {
    "complex": lambda told, arrays: complex(*told),
    "var": lambda told, arrays: as_var(arrays[told[0]]).astype(told[1]),
    "array": lambda told, arrays: arrays[told],
    "number": lambda told, arrays: arrays[told][()],
    "tuple": lambda told, arrays: tuple(_unpacked(told, arrays)),
    "dict": lambda told, arrays: dict(_pairs(told, arrays)),
}
