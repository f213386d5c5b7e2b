"""Module scope: which module is computing now, and where in the model does it stand?

    net(x)                  Net                        the outermost module that was called, by its class
      self.body(x)          Net/body                   then the attribute under which each one holds the next
        layer 2 of a list   Net/body/2

Every node remembers the scope in which it was built, so that a picture can fold a layer into one box. A scope holds its
module weakly: a graph keeps no model alive. Of one that is gone it still knows which nodes were its own parameters.
"""

from __future__ import annotations

import inspect
import weakref
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import JtError
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.ir.node import Node
from jt_edu.variable.var import Var

if TYPE_CHECKING:
    from jt_edu.nn.module import Module


class Scope:
    """One module on its way from the outermost call inwards."""

    __slots__ = ("__weakref__", "_own", "classes", "inner", "module", "path")

    path: str  # "Net/body/2"
    classes: tuple[str, ...]  # of the modules on the way, one for each step of the path; "" for a list

    def __init__(self, module: Module, outer: Scope | None = None) -> None:
        kind = type(module).__name__
        self.module = weakref.ref(module)
        self.path, self.classes = kind, (kind,)
        if outer is not None:
            way = way_of(outer._name_of(module))
            self.path = f"{outer.path}/{way}"
            self.classes = (*outer.classes, *[""] * way.count("/"), kind)  # a list on the way computes nothing
        self.inner: dict[int, Scope] = {}  # by the id of the module
        held = [pair for pair in own(module).members() if isinstance(pair[1], Var) and pair[1].dtype.is_float]
        self._own = weakref.WeakKeyDictionary({v.node: name for name, v in held})  # parameters, at the first call

    def parameters(self) -> list[Node]:
        """The nodes of all its parameters; once the module is gone, of those that it held itself."""
        module = self.module()
        return list(self._own) if module is None else [p.node for p in own(module).parameters()]

    def names(self) -> dict[int, str]:
        """The Vars that it holds itself: the id of the node, and where it stands in the model, as `Net.body.2.bias`."""
        module = self.module()
        now = own(module).members() if module is not None else ()
        held = {**self._own, **{value.node: name for name, value in now if isinstance(value, Var)}}
        return {node.id: f"{self.path}/{name}".replace("/", ".") for node, name in held.items()}

    def inside(self, module: Module) -> Scope:
        """The scope of a module that this one calls."""
        found = self.inner.get(id(module))
        if found is None or found.module() is not module:
            found = self.inner[id(module)] = Scope(module, self)
        return found

    @property
    def layer(self) -> str:
        """What errors call it: `Net > body Sequential > 2 Linear(16, 10)`; "" for the one that the learner called."""
        if len(self.classes) == 1:
            return ""
        way, module = "", self.module()
        for step, kind in zip(self.path.split("/"), self.classes, strict=True):
            way += f"{step}." if not kind else f"{kind} > " if step == kind else f"{step} {kind} > "
        return way.removesuffix(" > ") + ("" if module is None else _given(module))

    def _name_of(self, module: Module) -> str:
        """What this module calls it; a module that it does not hold is called by its class."""
        mine = self.module()
        names = [name for name, held in own(mine).named_modules() if held is module] if mine is not None else []
        return names[0] if names and names[0] else type(module).__name__


def way_of(name: str) -> str:
    """The path from a module to one inside it, by its name; a slash in a name is another letter, and no step.

    Example:
        >>> way_of("layers.0.a/b")
        'layers/0/a∕b'
    """
    return name.replace("/", "∕").replace(".", "/")


OUTERMOST: weakref.WeakKeyDictionary[Module, Scope] = weakref.WeakKeyDictionary()


def scope_of(module: Module, outer: Scope | None) -> Scope:
    """The scope of a module that is called from `outer`; None: from the learner's own lines."""
    if outer is not None:
        return outer.inside(module)
    found = OUTERMOST.get(module)
    if found is None:
        found = OUTERMOST[module] = Scope(module)
    return found


class Blaming:
    """Lets errors inside name the layer in which they happen, unless one further in did.

    A class, because a generator's context manager sets attributes of the error, which its class may forbid.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def __enter__(self) -> None:
        """Nothing has happened yet."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, JtError):
            error.at("", self.scope)
        elif error is not None and self.scope.layer:
            notes = vars(error).setdefault("__notes__", [])  # as add_note, which asks a class of errors for leave
            if not any(note.startswith("  in ") for note in notes):
                notes.append(f"  in {self.scope.layer}")


def _given(module: Module) -> str:
    """The arguments that a layer cannot do without, such as (16, 10); "" where it does not keep them."""
    needed = [p.name for p in inspect.signature(type(module)).parameters.values() if p.default is p.empty]
    values = [vars(module).get(name) for name in needed]
    return f"({', '.join(map(short, values))})" if needed and all(map(_is_plain, values)) else ""


def _is_plain(value: Any) -> bool:
    """Whether it can be printed as it is. A Var cannot: its numbers may be what failed."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, (int, float, str))
