"""Parametrize: a parameter that is a function of others, whoever asks for it.

    register_parametrization(layer, "weight", Symmetric())
    layer.weight                                   Symmetric()(layer.parametrizations.weight.original)
    layer.parametrizations.weight.original         is what is trained and saved

The layer becomes one of a class of its own, in which `weight` is a property. What `parametrizations.py` and `prune.py`
compute is an ordinary attribute, which a hook sets anew before each call of the layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jt_edu.base.context import current, no_grad
from jt_edu.base.did_you_mean import door
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import own
from jt_edu.base.scoped import scoped
from jt_edu.ir.builders import short
from jt_edu.nn.containers import ModuleDict
from jt_edu.nn.module import Module, Parameter
from jt_edu.nn.sequential import ModuleList
from jt_edu.ops.arguments import yes_or_no
from jt_edu.variable.var import Var

__all__ = ["cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.nn.utils.parametrize", __all__)


class ParametrizationList(ModuleList):
    """The functions that make a parameter, one after another, and what they make it from.

    Example:
        >>> layer = register_parametrization(jt.nn.Linear(2, 2), "weight", jt.nn.Tanh())
        >>> layer.parametrizations.weight
        ParametrizationList(
          (0): Tanh()
        )
    """

    def __init__(self, modules: list[Module], originals: list[Var], trained: bool) -> None:
        super().__init__(modules)
        names = ["original"] if len(originals) == 1 else [f"original{k}" for k in range(len(originals))]
        self._names_of_originals = tuple(names)
        for name, var in zip(names, originals, strict=True):
            if trained:
                self.register_parameter(name, var)
            else:
                self.register_buffer(name, var)

    def execute(self) -> Any:
        """The parameter."""
        first, *others = list(self._own_parts.values())
        value = first(*(getattr(self, name) for name in self._names_of_originals))
        for part in others:
            value = part(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Let the parameter become `value`, as far as the functions have inverses."""
        with no_grad():
            for name, new in zip(
                self._names_of_originals, inverse_of(list(self._own_parts.values()), value), strict=True
            ):
                getattr(self, name).update(new)


class Parametrized(Module):
    """A module some of whose parameters are computed: what its class adds to that of the layer.

    Example:
        >>> layer = register_parametrization(jt.nn.Linear(2, 2), "weight", jt.nn.Tanh())
        >>> isinstance(layer, (jt.nn.Linear, Parametrized)), type(layer).__name__
        (True, 'ParametrizedLinear')
    """

    parametrizations: ModuleDict

    def __reduce_ex__(self, protocol: Any) -> Any:
        """How to copy or pickle it: the class was made for one module, and is made anew for the copy."""
        return _again, (_kind_of(self), tuple(self.parametrizations.keys())), dict(vars(self))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a module compute a parameter from another one, which replaces it. Returns the module.

    Args:
        module: whose parameter it is.
        tensor_name: its name. A parameter that is computed already goes through the new function as well.
        parametrization: a module; where it has a method `right_inverse`, what is trained begins with
            `right_inverse(parameter)` (one Var, or a tuple of several), and the parameter can be assigned to.
        unsafe: let the function change shape or dtype.

    Raises:
        ArgumentError: there is no such parameter, or the function is no module. ShapeError: it changes the shape.

    Example:
        >>> class Symmetric(jt.nn.Module):
        ...     def execute(self, x):
        ...         return (x + x.transpose(0, 1)) / 2
        >>> layer = register_parametrization(jt.nn.Linear(2, 2), "weight", Symmetric())
        >>> (layer.weight - layer.weight.T).abs().sum().item()
        0.0
        >>> [name for name, p in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original']
    """
    kept, free = is_parametrized(module, tensor_name), yes_or_no("register_parametrization", "unsafe", unsafe)
    held = getattr(module, tensor_name) if kept else vars(module).get(tensor_name)
    if not (isinstance(held, Var) and isinstance(parametrization, Module)):
        found = f"{short(parametrization)} for {short(tensor_name)} of a {type(module).__name__}"
        raise ArgumentError("a parametrization is a module that computes a parameter or buffer of another", found)
    made = None if kept else _made(module, held, parametrization)
    if not free:
        _check_alike(held, parametrization(held) if made is None else made())
    if made is None:
        _lists(module)[tensor_name].append(parametrization)
        _forget(_lists(module)[tensor_name])
    else:
        _put(module, tensor_name, made)
    return module


def _put(module: Module, name: str, made: ParametrizationList) -> None:
    """Let a module compute a parameter that it has held."""
    held, start = vars(module)[name], getattr(made, "original", None)
    if start is not None and (start.shape, start.dtype) == (held.shape, held.dtype):
        made.original = held if start is held else held.update(start)  # the very Var, which an optimizer may hold
    delattr(module, name)
    lists = _lists(module) if is_parametrized(module) else ModuleDict()
    lists[name] = made
    vars(module)["parametrizations"] = lists
    module.__class__ = _class_of(_kind_of(module), tuple(lists.keys()))


def _made(module: Module, held: Var, parametrization: Module) -> ParametrizationList:
    """What a parameter is computed by, and from."""
    with no_grad():
        found = inverse_of([parametrization], held) if hasattr(parametrization, "right_inverse") else (held,)
        originals = [v if v is held or not v.dtype.is_float else Parameter(v, held.requires_grad) for v in found]
    trained = any(held is p for p in own(module).parameters(recurse=False))
    return ParametrizationList([parametrization], originals, trained)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parameters that are computed, or whether this one is.

    Example:
        >>> is_parametrized(jt.nn.Linear(2, 2))
        False
    """
    return isinstance(module, Parametrized) and (tensor_name is None or tensor_name in _lists(module))


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the parameter an ordinary one again. Returns the module.

    Args:
        module, tensor_name: what was parametrized.
        leave_parametrized: it keeps the value that was computed; otherwise it is what that was computed from.

    Example:
        >>> layer = register_parametrization(jt.nn.Linear(2, 2), "weight", jt.nn.Tanh())
        >>> [name for name, p in remove_parametrizations(layer, "weight").named_parameters()]
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"{short(tensor_name)} is parametrized", f"a {type(module).__name__} where it is not")
    lists = _lists(module)
    made = lists[tensor_name]
    trained = bool(own(made).parameters(recurse=False))
    originals = [getattr(made, name) for name in made._names_of_originals]
    if yes_or_no("remove_parametrizations", "leave_parametrized", leave_parametrized):
        value = getattr(module, tensor_name).detach()
        if len(originals) == 1 and originals[0].shape == value.shape:
            originals[0].update(value)  # the Var that an optimizer holds
            value = originals[0]
    elif len(originals) == 1:
        value = originals[0]
    else:
        asked = f"leave_parametrized=False gives back the one Var that {tensor_name} is computed from"
        raise ArgumentError(asked, f"{len(originals)} of them")
    del lists[tensor_name]
    kind, names = _kind_of(module), tuple(lists.keys())
    module.__class__ = _class_of(kind, names) if names else kind
    if not names:
        del vars(module)["parametrizations"]
    if trained:
        moves = any(v.requires_grad for v in originals)
        kept = any(value is v for v in originals)
        own(module).register_parameter(tensor_name, value if kept else Parameter(value, moves))
    else:
        own(module).register_buffer(tensor_name, value)
    return module


@scoped
def cached() -> Iterator[None]:
    """Inside, each parameter is computed once, until it is assigned to; for networks that ask for it often.

    Example:
        >>> layer = register_parametrization(jt.nn.Linear(2, 2), "weight", jt.nn.Tanh())
        >>> with cached():
        ...     layer.weight is layer.weight
        True
    """
    moment = current().threads.now
    outer = moment.computed
    moment.computed = {} if outer is None else outer
    try:
        yield
    finally:
        moment.computed = outer


def inverse_of(parts: list[Any], value: Any) -> tuple[Var, ...]:
    """What the functions make this value from: one Var, or several where the first of them takes several.

    Example:
        >>> half = jt.nn.Tanh(); half.right_inverse = lambda x: x * 2
        >>> inverse_of([half], jt.ones(1))
        (jt.Var([2.], dtype=float32),)
    """
    for part in reversed(parts):
        back = getattr(part, "right_inverse", None)
        if back is None:
            asked = "a value goes back through functions with a method right_inverse"
            raise ArgumentError(asked, f"{type(part).__name__} without one")
        value = back(value)
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _check_alike(before: Var, after: Any) -> None:
    if not isinstance(after, Var) or (after.shape, after.dtype) != (before.shape, before.dtype):
        found = f"{after.dtype} of shape {after.shape}" if isinstance(after, Var) else short(after)
        asked = f"a parametrization keeps {before.dtype} of shape {before.shape}"
        raise ShapeError(asked, found, "register_parametrization(..., unsafe=True)")


def _lists(module: Any) -> ModuleDict:
    lists: ModuleDict = vars(module)["parametrizations"]
    return lists


def _kind_of(module: Module) -> type[Module]:
    """The class of the layer itself."""
    return type(module).__mro__[1] if isinstance(module, Parametrized) else type(module)


def _class_of(kind: type[Module], names: tuple[str, ...]) -> type[Module]:
    """A class of such layers, in which these names are computed."""
    inside = {"__module__": kind.__module__, "__doc__": kind.__doc__, **{name: _computed(name) for name in names}}
    return type(f"Parametrized{kind.__name__}", (kind, Parametrized), inside)


def _computed(name: str) -> property:
    def ask(module: Any) -> Any:
        moment, made = current().threads.now, _lists(module)[name]
        if moment.computed is None:
            return made()
        known = moment.computed.setdefault(made, {})  # what is known is held, so nobody else is taken for it
        if moment.no_grad not in known:
            known[moment.no_grad] = made()
        return known[moment.no_grad]

    def put(module: Any, value: Any) -> None:
        made = _lists(module)[name]
        made.right_inverse(value)
        _forget(made)

    return property(ask, put)


def _forget(made: ParametrizationList) -> None:
    """Compute a parameter anew, also inside `cached`."""
    (current().threads.now.computed or {}).pop(made, None)


def _again(kind: type[Module], names: tuple[str, ...]) -> Module:
    made: Module = object.__new__(_class_of(kind, names))
    return made
