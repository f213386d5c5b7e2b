"""Module: parameters, and one `execute` that uses them.

    class Net(Module):
        def __init__(self):
            self.first, self.second = Linear(64, 32), Linear(32, 10)

        def execute(self, x):
            return self.second(relu(self.first(x)))

A module is an ordinary object. Nothing is registered: whoever asks for `parameters()` gets what a walk through the
attributes finds, lists, tuples, dicts and other modules included.

    a float Var               is a parameter
    register_buffer("name")   makes it a buffer: saved, not trained; so are Vars of whole numbers
    a leading underscore      makes an attribute private: no walk looks there

Nothing here knows what a layer computes, nor that there are optimisers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jt_edu.dtypes import as_dtype
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.nn.store import read_arrays, write_arrays
from jt_edu.settings import no_grad
from jt_edu.var import Var, as_var

Hook = Callable[..., Any]


class Loaded(NamedTuple):
    """What `load_state_dict(strict=False)` passed over: names it did not get, and names it has no place for."""

    missing: list[str]
    unexpected: list[str]


class Module:
    """A part of a network: its parameters are attributes, `execute` (or `forward`) says what it computes.

    Example:
        >>> class Scale(Module):
        ...     def __init__(self):
        ...         self.factor = jt.array([2.0])
        ...     def execute(self, x):
        ...         return x * self.factor
        >>> scale = Scale()
        >>> scale(jt.array([1.0, 3.0])).numpy()
        array([2., 6.], dtype=float32)
        >>> [name for name, p in scale.named_parameters()]
        ['factor']
    """

    is_train = True  # dropout and batch norm behave differently while training
    passed_over: tuple[str, ...] = ()  # names in the files of others that mean nothing here
    _buffers: Mapping[str, bool] = {}  # name -> whether it is saved
    _before: tuple[Hook, ...] = ()
    _after: tuple[Hook, ...] = ()

    # computing

    def execute(self, *args: Any, **named: Any) -> Any:
        """What this module computes; a subclass writes it."""
        if type(self).forward is Module.forward and "forward" not in vars(self):
            raise ArgumentError(
                f"{type(self).__name__} must say what it computes", "no execute method", "def execute(self, x)"
            )
        return self.forward(*args, **named)

    def forward(self, *args: Any, **named: Any) -> Any:
        """PyTorch's name for `execute`."""
        return self.execute(*args, **named)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Hooks before, `execute`, hooks after."""
        for hook in self._before:
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        out = self.execute(*args, **named)
        for hook in self._after:
            changed = hook(self, args, out)
            out = out if changed is None else changed
        return out

    def register_forward_hook(self, hook: Hook) -> Callable[[], None]:
        """Call `hook(module, args, output)` after each call; what it returns (unless None) replaces the output.

        Returns a function that removes the hook.
        """
        return self._hook("_after", hook)

    def register_pre_forward_hook(self, hook: Hook) -> Callable[[], None]:
        """Call `hook(module, args)` before each call; what it returns (unless None) replaces the arguments.

        Returns a function that removes the hook.
        """
        return self._hook("_before", hook)

    register_forward_pre_hook = register_pre_forward_hook

    def _hook(self, when: str, hook: Hook) -> Callable[[], None]:
        if not callable(hook):
            raise ArgumentError("a hook is a function", repr(hook))
        entry: Hook = lambda *args: hook(*args)  # noqa: E731, PLW0108 - of its own, so that it is removed alone
        setattr(self, when, (*getattr(self, when), entry))

        def remove() -> None:
            setattr(self, when, tuple(h for h in getattr(self, when) if h is not entry))

        return remove

    # the walk

    def members(self) -> Iterator[tuple[str, Any]]:
        """Vars and modules that are attributes, or stand in lists, tuples and dicts that are: (name, value)."""
        for name, value in vars(self).items():
            if not name.startswith("_"):
                yield from _inside(name, value, ())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module under the name `prefix`, and every module inside, each once, outer ones first."""
        seen: set[int] = set()
        for name, module in _walk(self, prefix, ()):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> list[Module]:
        """This module, and every module inside, each once."""
        return [module for _, module in self.named_modules()]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that this one holds itself."""
        return ((name, value) for name, value in self.members() if isinstance(value, Module))

    def children(self) -> list[Module]:
        """The modules that this one holds itself, without their names."""
        return [module for _, module in self.named_children()]

    def _vars(self, prefix: str = "") -> Iterator[tuple[str, Var, str]]:
        """Every Var under every name that it has: (name, Var, "parameter" or "buffer" or "passing")."""
        for path, module in _walk(self, prefix, ()):
            for name, value in module.members():
                if isinstance(value, Var):
                    kind = "parameter" if value.dtype.is_float else "buffer"
                    if name in module._buffers:
                        kind = "buffer" if module._buffers[name] else "passing"
                    yield _join(path, name), value, kind

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Var]]:
        """Every parameter once, under its first name; each Var learns its name, for messages and pictures."""
        return _once((name, var) for name, var, kind in self._vars(prefix) if kind == "parameter")

    def parameters(self) -> list[Var]:
        """Every parameter once: what an optimiser is given."""
        return [var for _, var in self.named_parameters()]

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Var]]:
        """Every Var that belongs to this module and is no parameter."""
        return _once((name, var) for name, var, kind in self._vars(prefix) if kind != "parameter")

    def buffers(self) -> list[Var]:
        """Every Var that belongs to this module and is no parameter, without its name."""
        return [var for _, var in self.named_buffers()]

    def register_buffer(self, name: str, value: Any, persistent: bool = True) -> Var:
        """Keep a Var that is no parameter, such as a running mean. `persistent=False` leaves it out of `state_dict`."""
        if not str(name).isidentifier() or str(name).startswith("_"):
            raise ArgumentError("a buffer has the name of an attribute, without a leading underscore", repr(name))
        var = as_var(value).stop_grad()
        setattr(self, name, var)
        self._buffers = {**self._buffers, name: bool(persistent)}
        return var

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Call `function` with every module inside, inner ones first, and with this one last. Returns this module."""
        for module in reversed(self.modules()):
            function(module)
        return self

    # modes

    def train(self, mode: bool = True) -> Module:
        """Let this module and all inside know that it is being trained. Returns this module."""
        for module in self.modules():
            module.is_train = bool(mode)
        return self

    def eval(self) -> Module:
        """Let this module and all inside know that it is being used. Returns this module."""
        return self.train(mode=False)

    def is_training(self) -> bool:
        """Whether it is being trained."""
        return self.is_train

    @property
    def training(self) -> bool:
        """PyTorch's name for `is_train`."""
        return self.is_train

    @training.setter
    def training(self, mode: bool) -> None:
        self.is_train = bool(mode)

    def requires_grad_(self, wanted: bool = True) -> Module:
        """Let all parameters take part in gradients, or none. A stopped one stays a parameter, and is saved."""
        for p in self.parameters():
            p.requires_grad = wanted
        return self

    def zero_grad(self) -> None:
        """Forget the gradients that `loss.backward()` left in `.grad`."""
        for p in self.parameters():
            p.grad = None

    def cast(self, dtype: Any) -> Module:
        """Turn all parameters and float buffers into another float dtype, in place. Returns this module."""
        wanted = as_dtype(dtype)
        if not wanted.is_float:
            raise DtypeError("parameters are floats", f"dtype {wanted}", "module.float()")
        for var in [*self.parameters(), *self.buffers()]:
            if var.dtype.is_float and var.dtype is not wanted:
                name, tracked = var.name, var.requires_grad
                with no_grad():
                    var.node = Var(var.numpy(), wanted).node
                var.node.tracked, var.name = tracked, name
        return self

    def float(self) -> Module:
        """All parameters and float buffers as float32."""
        return self.cast("float32")

    def half(self) -> Module:
        """All parameters and float buffers as float16."""
        return self.cast("float16")

    def double(self) -> Module:
        """All parameters and float buffers as float64."""
        return self.cast("float64")

    def bfloat16(self) -> Module:
        """All parameters and float buffers as bfloat16."""
        return self.cast("bfloat16")

    float32 = float
    float16 = half
    float64 = double

    # what it has learned

    def state_dict(self) -> dict[str, Var]:
        """Parameters and buffers by name, as they are now: later training does not change what this returns."""
        state = {}
        for name, var, kind in self._vars():
            if kind != "passing":
                state[name] = var.detach()
                state[name].name = name
        return state

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Loaded:
        """Take over what another module, or this one at another time, has learned; all of it, or nothing.

        Args:
            state: name -> Var or array, as from `state_dict`.
            strict: every name must be in both; otherwise what is missing or unexpected is passed over and returned.

        Raises:
            ShapeError: names do not match (if strict), or shapes differ; the message lists all of them.
        """
        own = {name: var for name, var, kind in self._vars() if kind != "passing"}
        if not isinstance(state, Mapping):
            raise ArgumentError("load_state_dict takes names and arrays", type(state).__name__, "model.load(path)")
        skip = {name for name, module in self.named_modules() for name in (_join(name, p) for p in module.passed_over)}
        given = {name: value for name, value in state.items() if name in own or name not in skip}
        missing = [name for name in own if name not in given]
        unexpected = [name for name in given if name not in own]
        values = {name: as_var(given[name]) for name in own if name in given}
        wrong = [text for name, value in values.items() for text in _misfit(name, own[name], value)]
        if strict:
            wrong = [*(f"missing {name}" for name in missing), *(f"unexpected {name}" for name in unexpected), *wrong]
        if wrong:
            attempt = "strict=False, to load what fits" if strict and (missing or unexpected) else ""
            asked = f"{type(self).__name__} loads a state of its own names and shapes"
            raise ShapeError(asked, "; ".join(wrong), attempt)
        for name, value in values.items():
            own[name].update(value.detach())
        return Loaded(missing, unexpected)

    load_parameters = load_state_dict

    def save(self, path: str | Path) -> None:
        """Write parameters and buffers into a file of plain arrays (.npz, without pickle): all of it, or nothing."""
        write_arrays(path, {name: var.numpy() for name, var in self.state_dict().items()})

    def load(self, path: str | Path, strict: bool = True) -> Loaded:
        """Read what `save` wrote (or any .npz file with these names). Runs no code from the file."""
        return self.load_state_dict(read_arrays(path), strict)

    # how it prints

    def extra_repr(self) -> str:
        """What stands between the brackets of this module's line."""
        return ""

    def __repr__(self) -> str:
        rows = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self.named_children()]
        if not rows:
            return f"{type(self).__name__}({self.extra_repr()})"
        head = [f"  {self.extra_repr()}"] if self.extra_repr() else []
        return "\n".join([f"{type(self).__name__}(", *head, *rows, ")"])


def Parameter(data: Any, requires_grad: bool = True) -> Var:  # noqa: N802 - PyTorch's and Jittor's name
    """A Var with numbers of its own, to be trained; any float Var will do, so this is for those who like to say it.

    Example:
        >>> Parameter([1.0, 2.0]).requires_grad
        True
    """
    var = Var(data.numpy() if isinstance(data, Var) else data)
    if not var.dtype.is_float:
        raise DtypeError("a parameter is made of floats", f"dtype {var.dtype}", "x.float()")
    var.requires_grad = requires_grad
    return var


def _inside(name: str, value: Any, around: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Vars and modules in `value`; `around` are the containers it stands in, so that a list in itself is no trap."""
    if isinstance(value, (Var, Module)):
        yield name, value
    elif isinstance(value, (list, tuple, dict)) and id(value) not in around:
        parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _inside(f"{name}.{key}", part, (*around, id(value)))


def _walk(module: Module, name: str, around: tuple[Module, ...]) -> Iterator[tuple[str, Module]]:
    """This module and those inside, under each name; a module that holds one it stands in does not lead in circles."""
    yield name, module
    here = (*around, module)
    for child_name, child in module.named_children():
        if not any(child is m for m in here):
            yield from _walk(child, _join(name, child_name), here)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _once(named: Iterable[tuple[str, Var]]) -> Iterator[tuple[str, Var]]:
    seen: set[int] = set()
    for name, var in named:
        if id(var) not in seen:
            seen.add(id(var))
            if not var.name or name.endswith("." + var.name):
                var.name = name
            yield name, var


def _misfit(name: str, own: Var, value: Var) -> list[str]:
    """What keeps `value` from taking the place of `own`."""
    if value.shape != own.shape:
        return [f"{name} of shape {value.shape} for {own.shape}"]
    return [f"{name} of dtype {value.dtype} for {own.dtype}"] if value.dtype.kind == "c" != own.dtype.kind else []
