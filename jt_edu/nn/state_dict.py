"""State dict: what a module has learned, by name; taken out, put back, written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError, UnknownKeyError
from jt_edu.base.own import doing, own
from jt_edu.nn.hooks import Hooked
from jt_edu.nn.module_tree import Members, dotted
from jt_edu.nn.weight_files.formats import format_of
from jt_edu.nn.weight_files.npz_file import NEST
from jt_edu.nn.weight_files.packed import Packed, State
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.create import sync
from jt_edu.variable.var import Var, as_var


class StateError(ShapeError, UnknownKeyError):
    """A state whose names are not those of the module: some are missing or unknown. Its shapes may be wrong
    as well, so it is caught as a `ShapeError`, too.
    """


class Loaded(NamedTuple):
    """What `load_state_dict(strict=False)` passed over: names it did not get, and names it has no place for."""

    missing: list[str]
    unexpected: list[str]

    @property
    def missing_keys(self) -> list[str]:
        """PyTorch's name for `missing`."""
        return self.missing

    @property
    def unexpected_keys(self) -> list[str]:
        """PyTorch's name for `unexpected`."""
        return self.unexpected


class Stateful(Hooked, Members):
    """`state_dict` and its way back."""

    _version = 1  # of its names, which PyTorch writes into files
    may_miss: tuple[str, ...] = ()  # names that the files of others lack, and that are then left as they are

    def state_dict(self, prefix: str = "", keep_vars: bool = False) -> dict[str, Var]:
        """Parameters and buffers by name, as they are now: later training does not change what this returns.

        Args:
            prefix: is put in front of each name, as it is: "net." makes "net.weight".
            keep_vars: return the module's own Vars, which take part in gradients and go on learning.
        """
        named = {prefix + name: var for name, var, kind in own(self)._vars() if kind != "passing"}
        if yes_or_no("state_dict", "keep_vars", keep_vars):
            return named
        state = State({name: var.detach() for name, var in named.items()})
        for name, var in state.items():
            var.name = name
        state._metadata = {
            prefix + path if path else prefix.removesuffix("."): {"version": type(module)._version}
            for path, module in own(self).named_modules()
        }
        return state

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Loaded:
        """Take over what another module, or this one at another time, has learned; all of it, or nothing.

        Args:
            state: name -> Var or array, as from `state_dict`.
            strict: every name must be in both; otherwise what is missing or unexpected is passed over and returned.

        Raises:
            StateError: names do not match (if strict); the message lists them, and the shapes that differ.
            ShapeError: names match, and shapes differ, or a complex number would have to become a real one.
        """
        if not isinstance(state, Mapping):
            raise ArgumentError("load_state_dict takes names and arrays", type(state).__name__, "model.load(path)")
        given, strict = _prepared(self, state), yes_or_no("load_state_dict", "strict", strict)
        mine = {name: var for name, var, kind in own(self)._vars() if kind != "passing"}
        values = {name: _shaped(given[name]) for name in mine if name in given}
        spared = {dotted(path, name) for path, module in own(self).named_modules() for name in type(module).may_miss}
        missing = [name for name in mine if name not in given and name not in spared]
        unexpected = [name for name in given if name not in mine]
        misfits = [text for name, value in values.items() for text in _misfit(name, mine[name], value)]
        odd = [*(f"missing {name}" for name in missing), *(f"unexpected {name}" for name in unexpected)]
        if misfits or (strict and odd):
            raise _refused(self, odd if strict else [], misfits)
        read = {name: _read(value).detach() for name, value in values.items()}
        sync(list(read.values()))  # what cannot be computed is told before a parameter is touched
        for name, value in read.items():
            mine[name].update(value.to(mine[name].device))
        return _loaded(self, Loaded(missing, unexpected))

    load_parameters = load_state_dict

    def save(self, path: str | Path) -> None:
        """Write parameters and buffers into a file: all of it, or nothing.

        The suffix is the format: .npz, .pth (for PyTorch's `load_state_dict(torch.load(path))`) or .safetensors.

        Example:
            >>> import tempfile
            >>> net = jt.nn.Linear(2, 1)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.save(folder + "/net.safetensors")
            ...     net.load(folder + "/net.safetensors")
            Loaded(missing=[], unexpected=[])
        """
        form = format_of(path, "written into")
        form.write(path, doing(self, "state_dict")())

    def load(self, path: str | Path, strict: bool = True) -> Loaded:
        """Read what `save` wrote, or any file with these names: .npz, .pth, .pt, .bin or .safetensors.

        Runs no code from the file. If anything is missing, left over or of another shape, an error lists all of it, and
        nothing is taken; see `load_state_dict`.
        """
        hooked = any(module._hooks_before_load for module in own(self).modules())
        with format_of(path, "read from").read(path) as packed:
            state = _state_in(packed, path)
            state.pop(NEST, None)
            arrays = {name: np.asarray(a) for name, a in state.items()} if hooked else state
            loaded: Loaded = doing(self, "load_state_dict")(arrays, strict)
            return loaded


def _state_in(packed: Any, path: Any) -> dict[str, Packed]:
    """The arrays of a file, if it holds nothing else: of a whole training, a module is a part."""
    parts = packed if isinstance(packed, dict) else {"": packed}
    for key, part in parts.items():
        if not isinstance(part, Packed):
            states = [k for k, v in parts.items() if isinstance(v, dict)]
            way = f"net.load_state_dict(jt.load({str(path)!r})[{states[0]!r}])" if states else ""
            found = ("dict" if isinstance(part, dict) else type(part).__name__) + (
                f" under {key!r}" if key != "" else ""
            )
            raise ArgumentError(f"a module is loaded from names and arrays, not from all of {path}", found, way)
    return {str(name): array for name, array in parts.items()}


def _prepared(module: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(state)
    for path, inside in own(module).named_modules():
        for entry in inside._hooks_before_load:
            entry.hook(inside, given, path + "." if path else "")
    return given


def _refused(module: Any, names: list[str], misfits: list[str]) -> ShapeError:
    """The error for what is wrong with a state."""
    asked, found = f"{type(module).__name__} loads a state of its own names and shapes", "; ".join([*names, *misfits])
    if not names:
        return ShapeError(asked, found)
    way = "strict=False, to load what fits" if not misfits else ""  # it forgives no shape
    return StateError(asked, found, way)


def _loaded(module: Any, loaded: Loaded) -> Loaded:
    for inside in own(module).modules():
        for entry in inside._hooks_after_load:
            entry.hook(inside, loaded)
    return loaded


def _shaped(value: Any) -> Var | Packed:
    """What has a shape; an array in a file is not read for it."""
    return value if isinstance(value, Packed) else as_var(value)


def _read(value: Any) -> Var:
    """The value as a Var. An error in a file names the file, before anybody asks whether the numbers fit."""
    return value.var() if isinstance(value, Packed) else as_var(value)


def _misfit(name: str, own: Var, value: Var | Packed) -> list[str]:
    """What keeps `value` from taking the place of `own`."""
    if value.shape != own.shape:
        return [f"{name} of shape {value.shape} for {own.shape}"]
    return [f"{name} of dtype {value.dtype} for {own.dtype}"] if value.dtype.kind == "c" != own.dtype.kind else []
