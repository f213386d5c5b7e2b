"""Module tree: what a module is made of. A walk through attributes, lists, tuples, dicts and modules finds it.

    a float Var               is a parameter
    register_buffer("name")   makes it a buffer: saved, not trained; so are Vars of whole numbers
    a leading underscore      makes a Var or a list private: no walk looks there; a module is a member all the same

Nothing is registered: what a module holds now is what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import Extended, own
from jt_edu.capture.compiled_step import CompiledStep
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import yes_or_no
from jt_edu.variable.var import Var, as_var

if TYPE_CHECKING:
    from jt_edu.nn.module import Module


class Members(Extended):
    """The walks of a module: over parameters, buffers and the modules inside."""

    _names_of_buffers: Mapping[str, bool] = {}  # name -> whether it is saved
    _names_computed: frozenset[str] = frozenset()  # attributes that a hook computes from parameters: no members

    _waits = False  # its parameters are not there yet

    def members(self) -> Iterator[tuple[str, Any]]:
        """Vars and modules that are attributes, or stand in lists, tuples and dicts that are: (name, value)."""
        for name, value in vars(self).items():
            if name not in self._names_computed and (not name.startswith("_") or isinstance(value, Members)):
                yield from _inside(name, value, ())

    def __setattr__(self, name: str, value: Any) -> None:
        held = vars(self).get(name)
        if not name.startswith("_"):
            refuse_compiled(f"{type(self).__name__}.{name}", value)
            if name == "is_train":
                yes_or_no(type(self).__name__, name, value)
        if isinstance(held, Var) and value is not None and not isinstance(value, Var):
            raise ArgumentError(
                f"{type(self).__name__}.{name} is a Var, which a Var or None can replace", type(value).__name__,
                f"module.{name}.assign(value), to keep the Var and change its numbers",
            )  # fmt: skip
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._names_of_buffers = {kept: saved for kept, saved in self._names_of_buffers.items() if kept != name}

    # modules inside

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module under the name `prefix`, and every module inside, each once, outer ones first."""
        return _once(_walk(self, prefix, ()))

    def modules(self) -> list[Module]:
        """This module, and every module inside, each once."""
        return [module for _, module in own(self).named_modules()]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that this one holds itself."""
        return ((name, value) for name, value in own(self).members() if isinstance(value, Members))  # type: ignore[misc]

    def children(self) -> list[Module]:
        """The modules that this one holds itself, without their names."""
        return [module for _, module in own(self).named_children()]

    def dfs(
        self, parents: list[Module], key: Any, callback: Callable[..., Any], callback_leave: Any = None,
        recurse: bool = True,
    ) -> None:  # fmt: skip
        """Walk depth first: `callback(parents, name, module, how many children)` on the way in, another on the way out.

        Args:
            parents: the modules around this one, outermost first; [] to begin with.
            key: the name of this module.
            callback: called before the children; when it returns False, they are passed over.
            callback_leave: called after the children, with the same arguments.
            recurse: whether to visit children at all.
        """
        children, deeper = list(own(self).named_children()), yes_or_no("dfs", "recurse", recurse)
        if callback(parents, key, self, len(children)) is False:
            return
        for name, child in children if deeper else ():
            own(child).dfs([*parents, self], name, callback, callback_leave)  # type: ignore[list-item]
        if callback_leave is not None:
            callback_leave(parents, key, self, len(children))

    # Vars inside

    def _vars(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Var, str]]:
        """Every Var under every name that it has: (name, Var, "parameter" or "buffer" or "passing")."""
        for path, module in _walk(self, prefix, ()) if recurse else [(prefix, self)]:
            if type(module)._waits:
                found = f"{path or 'one'}, a {type(module).__name__}, which has not been called yet"
                raise ArgumentError("parameters of lazy layers are made at their first call", found, "net(x), before")
            held = [
                (name, value, _kind(module, name, value)) for name, value in own(module).members() if _is_var(value)
            ]
            for parameters in (True, False):
                for name, value, kind in held:
                    if (kind == "parameter") is parameters:
                        yield dotted(path, name), value, kind

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Var]]:
        """Every parameter once, under its first name; each Var learns its name, for messages and pictures.

        `recurse=False` passes over the modules inside.
        """
        deeper = yes_or_no("named_parameters", "recurse", recurse)
        return _named(_once((name, var) for name, var, kind in own(self)._vars(prefix, deeper) if kind == "parameter"))

    def parameters(self, recurse: bool = True) -> list[Var]:
        """Every parameter once: what an optimiser is given. `recurse=False` passes over the modules inside."""
        return [var for _, var in own(self).named_parameters(recurse=yes_or_no("parameters", "recurse", recurse))]

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Var]]:
        """Every Var that belongs to this module and is no parameter."""
        deeper = yes_or_no("named_buffers", "recurse", recurse)
        return _named(_once((name, var) for name, var, kind in own(self)._vars(prefix, deeper) if kind != "parameter"))

    def buffers(self, recurse: bool = True) -> list[Var]:
        """Every Var that belongs to this module and is no parameter, without its name."""
        return [var for _, var in own(self).named_buffers(recurse=yes_or_no("buffers", "recurse", recurse))]

    # one of them, by name

    def get_submodule(self, target: str) -> Module:
        """The module that `named_modules` calls `target`; "" is this one."""
        found: Module = _picked("module", target, dict(_walk(self, "", ())))
        return found

    def get_parameter(self, target: str) -> Var:
        """The parameter of the name `target`, such as "0.weight"."""
        found: Var = _picked("parameter", target, {n: v for n, v, kind in own(self)._vars() if kind == "parameter"})
        return found

    def get_buffer(self, target: str) -> Var:
        """The buffer of the name `target`."""
        found: Var = _picked("buffer", target, {n: v for n, v, kind in own(self)._vars() if kind != "parameter"})
        return found

    # new ones, by name

    def add_module(self, name: str, module: Any) -> None:
        """Hold a module (or None) as the attribute `name`."""
        if module is not None and not isinstance(module, Members):
            raise ArgumentError("add_module takes a module", *no_part(module))
        _add(self, "module", name, module)

    register_module = add_module

    def register_parameter(self, name: str, param: Any) -> None:
        """Hold a float Var (or None, for a parameter that is not there) as the attribute `name`."""
        if param is not None and not (isinstance(param, Var) and param.dtype.is_float):
            found = f"a Var of {param.dtype}" if isinstance(param, Var) else short(param)
            raise ArgumentError("register_parameter takes a float Var or None", found, "nn.Parameter(...)")
        _add(self, "parameter", name, param)

    def register_buffer(self, name: str, value: Any, persistent: bool = True) -> Var | None:
        """Keep a Var that is no parameter, such as a running mean. `persistent=False` leaves it out of `state_dict`."""
        saved = yes_or_no("register_buffer", "persistent", persistent)
        var = None if value is None else as_var(value)
        if var is not None and var is value and var.requires_grad:  # the caller's own, which may be trained elsewhere
            var = var.detach()
        _add(self, "buffer", name, var)
        self._names_of_buffers = {**self._names_of_buffers, name: saved}
        return var if var is None else var.stop_grad()


def dotted(path: str, name: str) -> str:
    """The name of what a module under the name `path` calls `name`.

    Example:
        >>> dotted("0.first", "weight"), dotted("", "weight")
        ('0.first.weight', 'weight')
    """
    return f"{path}.{name}" if path else name


def no_part(part: Any) -> tuple[str, str]:
    """What was found instead of a module, and what to try: of a class, to make one of its kind."""
    return (f"the class {part.__name__}", f"{part.__name__}(...)") if isinstance(part, type) else (short(part), "")


def refuse_compiled(place: str, value: Any) -> None:
    """A compiled layer would be frozen, unseen: no walk finds its parameters, and what it returns has no gradient.

    Example:
        >>> refuse_compiled("Net.fc", jt.compile(jt.nn.Linear(1, 1)))
        Traceback (most recent call last):
        jt_edu.base.errors.ArgumentError: jt.compile takes the whole step, not a layer of a module; found ...
    """
    if isinstance(value, CompiledStep) and isinstance(value.step, Members):
        raise ArgumentError(
            "jt.compile takes the whole step, not a layer of a module",
            f"{place}, a compiled {type(value.step).__name__}",
            "the layer itself there, and jt.compile(step) of what calls the whole module",
        )  # fmt: skip


def _kind(module: Members, name: str, value: Var) -> str:
    if name in module._names_of_buffers:
        return "buffer" if module._names_of_buffers[name] else "passing"
    return "parameter" if value.dtype.is_float else "buffer"


def _add(module: Members, what: str, name: Any, value: Any) -> None:
    private = isinstance(name, str) and name.startswith("_") and what != "module"
    if not isinstance(name, str) or not name.isidentifier() or private:
        raise ArgumentError(f"a {what} has the name of an attribute, without a leading underscore", short(name))
    if name not in vars(module) and hasattr(type(module), name):
        raise ArgumentError(f"a {what} has a name of its own", f"{name!r}, which every module has already")
    held = vars(module).get(name)
    if held is not None and not isinstance(held, Var):
        found = f"{name!r}, which this module has already: {short(held)}"
        raise ArgumentError(f"a {what} has a name of its own", found, f"del module.{name}, before")
    if isinstance(held, Var) and (_kind(module, name, held) == "parameter") != (what == "parameter"):
        kinds = f"{name!r}, a {'buffer' if what == 'parameter' else 'parameter'} of shape {held.shape}"
        raise ArgumentError(f"a {what} has a name of its own", kinds, f"del module.{name}, before")
    setattr(module, name, value)


def _inside(name: str, value: Any, around: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Vars and modules in `value`; `around` are the containers it stands in, so that a list in itself is no trap."""
    if isinstance(value, (Var, Members)):
        yield name, value
    elif isinstance(value, CompiledStep):
        refuse_compiled(name, value)
    elif isinstance(value, (list, tuple, dict)) and id(value) not in around:
        parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _inside(f"{name}.{key}", part, (*around, id(value)))


def _walk(module: Any, name: str, around: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """This module and those inside it, under each name; a cycle of modules is followed once."""
    yield name, module
    here = (*around, module)
    for child_name, child in own(module).named_children():
        if not any(child is m for m in here):
            yield from _walk(child, dotted(name, child_name), here)


def _is_var(value: Any) -> bool:
    return isinstance(value, Var)


def _once(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for name, value in named:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _named(named: Iterable[tuple[str, Var]]) -> Iterator[tuple[str, Var]]:
    for name, var in named:
        if not var.name or name.endswith("." + var.name):
            var.name = name
        yield name, var


def _picked(what: str, target: Any, known: Mapping[str, Any]) -> Any:
    if target not in known:
        names = ", ".join(repr(name) for name in list(known)[:8])
        raise ArgumentError(f"this module has the {what}s {names or '(none)'}", short(target))
    return known[target]
