"""Serialization: how does all that a training needs go into one file, and come back?

    jt.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, "run.npz")
    run = jt.load("run.npz")

The file is an npz file (npz_file.py): one plain array for each array in the value, named after its way there, such as
"net.weight", and one more, NEST, with the rest as JSON. Nothing in it is a program, so a stranger's file may be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.npz_file import NEST, Array, checked, read_arrays, told_of, write_arrays
from jt_edu.ops.create import sync
from jt_edu.variable.var import Var, as_var

LONGEST = 200  # letters of an array's name
LARGEST = 10**4000  # of whole numbers: Python reads no more digits from a text
BOMB, SWELLS = 100_000_000, 200  # bytes that a file may unpack to, or as many times its own size

__all__ = ["load", "save"]


def save(value: Any, path: str | Path) -> None:
    """Write Vars, arrays, numbers, strings, booleans and None, in lists, tuples and dicts, into an .npz file.

    The file is written completely, or left as it was. No pickle is used. `numpy.load` reads the arrays, and
    `net.load` the file of a `net.state_dict()`.

    Args:
        value: one of these, or lists, tuples and dicts of them, however deep.
        path: of the file, which ends in .npz or has no ending. Files of other frameworks (.pth, .safetensors) are
            neither written nor read.

    Raises:
        ArgumentError: the value holds something else, and the message says where; or the path promises another format.

    Example:
        >>> import tempfile
        >>> net = jt.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save({"net": net.state_dict(), "epoch": 3, "losses": [0.5, 0.25]}, folder + "/run.npz")
        ...     run = jt.load(folder + "/run.npz")
        >>> run["epoch"], run["losses"], net.load_state_dict(run["net"])
        (3, [0.5, 0.25], Loaded(missing=[], unexpected=[]))
    """
    checked(path, "written into")  # before anything is computed
    arrays: dict[str, Any] = {}
    try:
        nest = json.dumps(_packed(value, (), arrays))
    except RecursionError:
        found = "one that holds itself, or hundreds in each other"
        raise ArgumentError("jt.save writes nested lists and dicts", found) from None
    sync([array for array in arrays.values() if isinstance(array, Var)])  # all at once
    plain = {name: array.numpy() if isinstance(array, Var) else np.asarray(array) for name, array in arrays.items()}
    write_arrays(path, {**plain, NEST: np.frombuffer(nest.encode(), np.uint8)})


def load(path: str | Path) -> Any:
    """Read what `jt.save` wrote. From a file of `net.save` or `numpy.savez` comes a dict of Vars.

    The file is checked and runs no code, whoever wrote it.

    Raises:
        ArgumentError: the file is no .npz file, is damaged, or holds anything but plain arrays and their nest.
        FileNotFoundError: there is no such file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save((jt.ones(2), {"name": "ada"}), folder + "/pair.npz")
        ...     jt.load(folder + "/pair.npz")
        (jt.Var([1., 1.], dtype=float32), {'name': 'ada'})
    """
    with read_arrays(checked(path, "read from")) as packed, told_of(path):
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
    if kind in (type(None), bool, float, str) or (kind is int and abs(value) < LARGEST):
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
    raise _refused(value, way)


def _packed_key(key: Any, way: tuple[Any, ...]) -> Any:
    arrays: dict[str, Any] = {}
    packed = _packed(key, way, arrays)
    if arrays:
        raise _refused(key, way)
    return packed


def _refused(value: Any, way: tuple[Any, ...]) -> ArgumentError:
    what = "an integer of thousands of digits" if type(value) is int else type(value).__name__
    what += " of Python's objects" if isinstance(value, np.ndarray) and value.dtype.hasobject else ""
    place = "".join(f"[{key!r}]" for key in way)
    return ArgumentError(
        "jt.save writes Vars, arrays, numbers and strings, in lists, tuples and dicts",
        f"{what} at {place}" if place else what,
        "its state_dict()" if hasattr(value, "state_dict") and not isinstance(value, type) else "",
    )


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
