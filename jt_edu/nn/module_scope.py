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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jt_edu.base.errors import JtError
from jt_edu.base.own import own
from jt_edu.ir.node import Node
from jt_edu.variable.var import Var

if TYPE_CHECKING:
    from jt_edu.nn.module import Module


class Scope:
    """One module on its way from the outermost call inwards."""

    __slots__ = ("__weakref__", "_own", "classes", "inner", "module", "path", "way")

    def __init__(self, module: Module, outer: Scope | None = None) -> None:
        kind = type(module).__name__
        name = kind if outer is None else outer._name_of(module)
        self.module = weakref.ref(module)
        self.path = name if outer is None else f"{outer.path}/{name.replace('.', '/')}"  # "Net/body/2"
        self.classes = (kind,) if outer is None else (*outer.classes, kind)  # of the modules on the way
        step = kind if name == kind else f"{name} {kind}"
        self.way = step if outer is None else f"{outer.way} > {step}"
        self.inner: dict[int, Scope] = {}  # by the id of the module
        held = (value for _, value in own(module).members() if isinstance(value, Var) and value.dtype.is_float)
        self._own = weakref.WeakSet(value.node for value in held)  # parameters, when it was first called

    def parameters(self) -> list[Node]:
        """The nodes of all its parameters; once the module is gone, of those that it held itself."""
        module = self.module()
        return list(self._own) if module is None else [p.node for p in own(module).parameters()]

    def inside(self, module: Module) -> Scope:
        """The scope of a module that this one calls."""
        found = self.inner.get(id(module))
        if found is None or found.module() is not module:
            found = self.inner[id(module)] = Scope(module, self)
        return found

    @property
    def layer(self) -> str:
        """What errors call it: `Net > body Sequential > 2 Linear(16, 10)`; "" for the one that the learner called."""
        module = self.module()
        return self.way + ("" if module is None else _given(module)) if len(self.classes) > 1 else ""

    def _name_of(self, module: Module) -> str:
        """What this module calls it; a module that it does not hold is called by its class."""
        mine = self.module()
        names = [name for name, held in own(mine).named_modules() if held is module] if mine is not None else []
        return names[0] if names and names[0] else type(module).__name__


PLAIN = (int, float, str, tuple)  # what is short to print
OUTERMOST: weakref.WeakKeyDictionary[Module, Scope] = weakref.WeakKeyDictionary()


def scope_of(module: Module, outer: Scope | None) -> Scope:
    """The scope of a module that is called from `outer`; None: from the learner's own lines."""
    if outer is not None:
        return outer.inside(module)
    found = OUTERMOST.get(module)
    if found is None:
        found = OUTERMOST[module] = Scope(module)
    return found


@contextmanager
def blaming(scope: Scope) -> Iterator[None]:
    """Let errors inside name the layer in which they happen, unless one further in did."""
    try:
        yield
    except JtError as error:
        error.at("", scope)
        raise
    except Exception as error:
        if scope.layer and not any(note.startswith("  in ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"  in {scope.layer}")
        raise


def _given(module: Module) -> str:
    """The arguments that a layer cannot do without, such as (16, 10); "" where it does not keep them."""
    needed = [p.name for p in inspect.signature(type(module)).parameters.values() if p.default is p.empty]
    values = [vars(module).get(name) for name in needed]
    return f"({', '.join(map(repr, values))})" if needed and all(isinstance(v, PLAIN) for v in values) else ""
