"""Hooks: functions that see, and may replace, what goes through a module.

    before      hook(module, args)                      the arguments
    after       hook(module, args, output)              the output
    backward    hook(module, grad_input, grad_output)   the gradients of a call, when the gradient graph is built

Gradients are seen at two doors. Around a call with a backward hook stand two operators that change nothing: one that
all inputs go through, one that all outputs come through. What flows back through them is shown to the hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.base.hook_handle import Handle
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.gradient import Function
from jt_edu.variable.gradient_errors import warn
from jt_edu.variable.pytree import of_kind
from jt_edu.variable.var import Var

Hook = Callable[..., Any]


class Entry:
    """One hook of one module; a function that is registered twice has two of them."""

    def __init__(self, hook: Hook, named: bool, always: bool) -> None:
        self.hook, self.named, self.always = hook, named, always


class Hooked:
    """The hooks of a module. Each registration returns a `Handle`, which takes that hook away again."""

    _hooks_before: tuple[Entry, ...] = ()
    _hooks_after: tuple[Entry, ...] = ()
    _hooks_backward: tuple[Entry, ...] = ()
    _hooks_backward_input: tuple[Entry, ...] = ()
    _hooks_backward_output: tuple[Entry, ...] = ()
    _hooks_before_load: tuple[Entry, ...] = ()
    _hooks_after_load: tuple[Entry, ...] = ()

    def register_forward_hook(
        self, hook: Hook, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call `hook(module, args, output)` after each call; what it returns (unless None) replaces the output.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there already.
            with_kwargs: call `hook(module, args, kwargs, output)`.
            always_call: call it also when the module raises, with None for the output, or a hook before it, with the
                output. What it returns then counts nothing, and what it raises is a warning.
        """
        return _hook(self, "_hooks_after", hook, prepend, with_kwargs, always_call)

    def register_pre_forward_hook(self, hook: Hook, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args)` before each call; what it returns (unless None) replaces the arguments.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there already.
            with_kwargs: call `hook(module, args, kwargs)`; what it returns is None, or both.
        """
        return _hook(self, "_hooks_before", hook, prepend, with_kwargs)

    register_forward_pre_hook = register_pre_forward_hook

    def register_backward_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` for each call that a gradient flows through.

        Both are tuples, one gradient for each positional argument (None for what is no float Var) and each output.
        What it returns (unless None) replaces grad_input. It is called while the gradient is built; printing a
        gradient runs what it needs. A call is passed over if no gradient is asked for of anything at or behind its
        inputs or parameters.
        """
        return _hook(self, "_hooks_backward", hook, prepend)

    register_full_backward_hook = register_backward_hook

    def register_input_backward_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input)`; what it returns (unless None) replaces the gradients of the inputs."""
        return _hook(self, "_hooks_backward_input", hook, prepend)

    def register_output_backward_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` before the gradient goes through the module; what it returns replaces it."""
        return _hook(self, "_hooks_backward_output", hook, prepend)

    register_full_backward_pre_hook = register_output_backward_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, state, prefix)` before a state is loaded; it may change the dict `state`, which is a copy.

        `prefix` stands in front of this module's own names there. Returns a `Handle`.
        """
        return _hook(self, "_hooks_before_load", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, loaded)` after a state was loaded; it may change the lists of `loaded`.

        Returns a `Handle`.
        """
        return _hook(self, "_hooks_after_load", hook)

    def remove_forward_hook(self) -> None:
        """Remove all hooks of `register_forward_hook`."""
        self._hooks_after = ()

    def remove_pre_forward_hook(self) -> None:
        """Remove all hooks of `register_pre_forward_hook`."""
        self._hooks_before = ()

    def remove_backward_hook(self) -> None:
        """Remove all hooks of `register_backward_hook`."""
        self._hooks_backward = ()

    def remove_input_backward_hook(self) -> None:
        """Remove all hooks of `register_input_backward_hook`."""
        self._hooks_backward_input = ()

    def remove_output_backward_hook(self) -> None:
        """Remove all hooks of `register_output_backward_hook`."""
        self._hooks_backward_output = ()


def watches_gradients(module: Any) -> bool:
    """Whether a hook wants to see what flows back."""
    return bool(module._hooks_backward or module._hooks_backward_input or module._hooks_backward_output)


def go_in(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, as the hooks before a call leave them."""
    for entry in module._hooks_before:
        changed = entry.hook(module, args, named) if entry.named else entry.hook(module, args)
        if changed is not None and entry.named:
            args, named = changed
        elif changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    return args, named


def come_out(module: Any, args: tuple[Any, ...], named: dict[str, Any], out: Any) -> Any:
    """The output, as the hooks after a call leave it."""
    after = module._hooks_after
    for k, entry in enumerate(after):
        try:
            changed = _told(module, entry, args, named, out)
        except Exception:
            failed(module, after[k + 1 :], args, named, out)
            raise
        out = out if changed is None else changed
    return out


def failed(module: Any, after: tuple[Entry, ...], args: tuple[Any, ...], named: dict[str, Any], out: Any) -> None:
    """An error goes through this module: of the hooks that heard nothing yet, those always called are told."""
    for entry in after:
        if entry.always:
            try:
                _told(module, entry, args, named, out)
            except Exception as error:  # noqa: BLE001 - the first error is the one that is raised
                text = f"a hook of {type(module).__name__} failed as well: {type(error).__name__}: {error}"
                warn(text)


def _told(module: Any, entry: Entry, args: tuple[Any, ...], named: dict[str, Any], out: Any) -> Any:
    return entry.hook(module, args, named, out) if entry.named else entry.hook(module, args, out)


def _hook(
    module: Any, when: str, hook: Hook, prepend: bool = False, named: bool = False, always: bool = False
) -> Handle:
    if not callable(hook):
        raise ArgumentError("a hook is a function", short(hook))
    flags = {"prepend": prepend, "with_kwargs": named, "always_call": always}
    first, named, always = (yes_or_no("a hook", name, value) for name, value in flags.items())
    entry, others = Entry(hook, named, always), getattr(module, when)
    setattr(module, when, (entry, *others) if first else (*others, entry))
    return Handle(module, when, entry)


def watched(module: Any, args: tuple[Any, ...], compute: Callable[[tuple[Any, ...]], Any]) -> Any:
    """`compute(args)`, with a door before and a door after it, where the hooks of the module see the gradients."""
    seen: dict[str, tuple[Any, ...]] = {}

    def leave(*douts: Var) -> tuple[Any, ...]:
        grad_output = seen.pop("out", None)  # kept, it would keep itself: its graph leads back to here
        if grad_output is not None:  # None: a second derivative, which did not come through the output
            douts = _shown(module, douts, grad_output)
        return _replaced(module, module._hooks_backward_input, douts)

    def enter(*douts: Var) -> tuple[Any, ...]:
        grad_output = _replaced(module, module._hooks_backward_output, douts)
        if inner:
            seen["out"] = grad_output
        else:
            _shown(module, (None,) * len(args), grad_output)
        return grad_output

    inner = any(_is_float(a) for a in args)
    out = compute(_through(args, leave, [p for p in own(module).parameters() if p.requires_grad]))
    several = isinstance(out, (tuple, list))
    doors = _through(tuple(out) if several else (out,), enter, [])
    return of_kind(out, list(doors)) if several else doors[0]


def _shown(module: Any, grad_input: tuple[Any, ...], grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
    for entry in module._hooks_backward:
        changed = entry.hook(module, grad_input, grad_output)
        grad_input = grad_input if changed is None else _as_many(changed, grad_input)
    return grad_input


def _replaced(module: Any, entries: tuple[Entry, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    for entry in entries:
        changed = entry.hook(module, gradients)
        gradients = gradients if changed is None else _as_many(changed, gradients)
    return gradients


def _as_many(changed: Any, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    answer = tuple(changed) if isinstance(changed, (tuple, list)) else (changed,)
    if len(answer) != len(gradients):
        raise GradientError("a hook returns as many gradients as it was given", f"{len(answer)} for {len(gradients)}")
    return answer


class _Door(Function):
    """The first Vars as they are; the others only lend their part in gradients. What flows back goes through `see`."""

    def __init__(self, count: int, see: Callable[..., tuple[Any, ...]]) -> None:
        self.count, self.see, self.rest = count, see, 0

    def execute(self, *args: Var) -> tuple[Var, ...]:
        self.rest = len(args) - self.count
        return args[: self.count]

    def grad(self, *douts: Var) -> tuple[Any, ...]:
        return (*self.see(*douts), *(None,) * self.rest)


def _through(values: tuple[Any, ...], see: Callable[..., tuple[Any, ...]], beside: list[Var]) -> tuple[Any, ...]:
    """The float Vars among the values go through a door; `see` gets one gradient (or None) for each value."""
    places = [k for k, value in enumerate(values) if _is_float(value)]
    if not places:
        return values

    def all_seen(*douts: Var) -> tuple[Any, ...]:
        spread: list[Any] = [None] * len(values)
        for k, dout in zip(places, douts, strict=True):
            spread[k] = dout
        answer = see(*spread)
        return tuple(answer[k] for k in places)

    passed = _Door(len(places), all_seen)(*(values[k] for k in places), *beside)
    doors = list(values)
    for k, var in zip(places, passed, strict=True):
        doors[k] = var
    return tuple(doors)


def _is_float(value: Any) -> bool:
    return isinstance(value, Var) and value.dtype.is_float
