"""Rows: is an argument heeded?

    Row(whose, name, value, ask, wanted)

`ask(**given)` calls the function, and returns whatever the argument should change. A row holds when

    ask(name=value) is what was wanted    and    ask() is not.

A function that ignores the argument says the same twice, so one half fails. The second half runs every time: a row that
could not fail is an error too. `wanted(torch)` is an expression of NumPy or PyTorch, or a fact.

    as_torch, as_numpy    a call beside its twin, which has the same name: one row for each argument
    as_module             the same of a layer that learns nothing: its settings
    layer, making         settings of a layer: outputs, gradients and state; for large ones, outputs
    calling               arguments of a call of a layer
    shows, refuses        a fact; an error
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import jt_edu as jt
from tests.arguments.telling import answers, difference, plain, tells


@dataclass(frozen=True)
class Row:
    """One argument of one callable."""

    whose: Any
    name: str
    value: Any
    ask: Callable[..., Any]
    wanted: Callable[[Any], Any]

    def __str__(self) -> str:
        return f"{getattr(self.whose, '__qualname__', self.whose)}-{self.name}"

    def complaint(self, torch: Any) -> str:
        """What is wrong with the function or with the row; empty if nothing is."""
        wanted = plain(self.wanted(torch))
        if wrong := difference(plain(self.ask(**{self.name: self.value})), wanted):
            return f"{self.name}={self.value!r}: {wrong}"
        try:
            if not difference(plain(self.ask()), wanted):
                return f"the answer is the same without {self.name}={self.value!r}: this row cannot fail"
        except jt.JtError:  # without the argument the call makes no sense: it cannot be ignored
            pass
        return ""


class Given:
    """The value of an argument that shows only beside others: Given(0.3, momentum=0.9)."""

    def __init__(self, value: Any, **others: Any) -> None:
        self.value, self.others = value, others


def _rows(
    whose: Any, call: Callable[..., Any], expected: Callable[..., Any], using: dict[str, Any], tries: dict[str, Any]
) -> Iterator[Row]:
    """A row for each try; `using` and the others of a Given are there with and without the argument."""
    for name, tried in tries.items():
        value = tried.value if isinstance(tried, Given) else tried
        rest = {**using, **(tried.others if isinstance(tried, Given) else {})}
        yield Row(
            whose,
            name,
            value,
            lambda rest=rest, **given: call(**{**rest, **given}),
            lambda torch, all_={**rest, name: value}: expected(torch, **all_),
        )


def as_torch(
    ours: Any, *args: Any, twin: Any = None, words: Any = None, using: Any = None, whose: Any = None, **tries: Any
) -> list[Row]:
    """Rows against PyTorch's function of the same name.

    Args:
        ours: the function.
        args: arrays, nests of them, or anything else.
        twin: its name in PyTorch, or a function of (torch, *args, **arguments).
        words: ours -> PyTorch's, where they differ.
        using: arguments that all calls have.
        whose: whom the rows are about, where `ours` is only the way to ask.
        tries: argument -> the value to try, or a Given.
    """

    def expected(torch: Any, **given: Any) -> Any:
        found = twin or ours.__name__
        call = (lambda *a, **k: found(torch, *a, **k)) if callable(found) else _of_torch(torch, found)
        named = {(words or {}).get(n, n): _tensors(torch, n, v) for n, v in given.items()}
        return call(*_tensors(torch, "", args), **named)

    return list(_rows(whose or ours, _calling(ours, args), expected, using or {}, tries))


def as_module(ours: Any, *inputs: Any, twin: str = "", **options: Any) -> list[Row]:
    """Rows of a layer that learns nothing, made with the arguments and called with the inputs; else like `as_torch`."""
    return as_torch(
        lambda *inputs, **given: ours(**given)(*inputs),
        *inputs,
        twin=lambda torch, *inputs, **given: getattr(torch.nn, twin or ours.__name__)(**given)(*inputs),
        whose=ours,
        **options,
    )


NUMPYS = {"dim": "axis", "keepdim": "keepdims", "dims": "axes", "correction": "ddof"}


def as_numpy(
    ours: Any, *args: Any, twin: Any = None, words: dict[str, str] | None = None, using: Any = None, **tries: Any
) -> list[Row]:
    """Rows against NumPy's function of the same name; arguments as in `as_torch`."""
    spelled = {**NUMPYS, **(words or {})}
    call = twin or getattr(np, ours.__name__, None)

    def expected(torch: Any, **given: Any) -> Any:
        return call(*args, **{spelled.get(n, n): v for n, v in given.items()})

    return list(_rows(ours, _calling(ours, args), expected, using or {}, tries))


def layer(
    ours: Any, *args: Any, on: Any, twin: str = "", using: Any = None, words: Any = None, seed: int = 0, **tries: Any
) -> list[Row]:
    """Rows of a layer beside PyTorch's of the same name: what both tell (see telling.py) about the inputs `on`."""

    def call(**given: Any) -> Any:
        jt.set_global_seed(seed)
        return tells(jt, ours(*args, **_vars(given)), _vars(on))

    def expected(torch: Any, **given: Any) -> Any:
        named = {(words or {}).get(n, n): _tensors(torch, n, v) for n, v in given.items()}
        return tells(torch, getattr(torch.nn, twin or ours.__name__)(*args, **named), _tensors(torch, "", on))

    return list(_rows(ours, call, expected, using or {}, tries))


def calling(make: Callable[[Any], Any], on: Any, whose: Any, words: Any = None, **tries: Any) -> list[Row]:
    """Rows about arguments of a call: `make(library)` is a layer, ours for `jt` and theirs for `torch`."""

    def call(**given: Any) -> Any:
        return answers(jt, make(jt), _vars(on), _vars(given), gradients=False)

    def expected(torch: Any, **given: Any) -> Any:
        named = {(words or {}).get(n, n): v for n, v in given.items()}
        return answers(torch, make(torch), _tensors(torch, "", on), _tensors(torch, "", named), gradients=False)

    return list(_rows(whose, call, expected, {}, tries))


def making(make: Callable[..., Any], on: Any, whose: Any, **tries: Any) -> list[Row]:
    """Rows about settings of a large layer, `make(library, **given)`: a call in training, and names of its state."""

    def told(library: Any, inputs: Any, given: Any) -> Any:
        made = make(library, **given)
        return [list(made.state_dict()), answers(library, made, inputs, {}, gradients=False)]

    def expected(torch: Any, **given: Any) -> Any:
        return told(torch, _tensors(torch, "", on), given)

    return list(_rows(whose, lambda **given: told(jt, _vars(on), given), expected, {}, tries))


def shows(whose: Any, name: str, value: Any, ask: Callable[..., Any], fact: Any = True) -> list[Row]:
    """A row about a fact: ask(name=value) is it, ask() is not. Of a function: fact(torch)."""
    return [Row(whose, name, value, ask, fact if callable(fact) else lambda torch: fact)]


def refuses(whose: Any, name: str, value: Any, call: Callable[..., Any]) -> list[Row]:
    """A row about a value that is refused with an error of ours, while the call is fine without it."""

    def ask(**given: Any) -> str:
        try:
            call(**given)
        except jt.JtError:
            return "refused"
        return "fine"

    return [Row(whose, name, value, ask, lambda torch: "refused")]


def _calling(ours: Any, args: Any) -> Callable[..., Any]:
    return lambda **given: ours(*_vars(args), **_vars(given))


def _vars(value: Any) -> Any:
    """The same nest with a Var instead of each array."""
    return _mapped(value, jt.array)


def _tensors(torch: Any, name: str, value: Any) -> Any:
    """The same nest with a tensor instead of each array; a dtype instead of its name."""
    if name == "dtype" or name.endswith("_dtype"):
        return getattr(torch, value)
    return _mapped(value, lambda a: torch.tensor(a.copy()))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(part, change) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(part, change) for part in value)
    return change(value) if isinstance(value, np.ndarray) else value


def _of_torch(torch: Any, name: str) -> Any:
    rooms = (torch.nn.functional, torch, torch.special, torch.Tensor, torch.nn.init)
    return next(getattr(room, name) for room in rooms if hasattr(room, name))
