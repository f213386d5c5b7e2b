"""Unpickler: what is in a pickle, without running it?

A pickle is a program for a machine with a stack: push a number, push a name, make a list of what lies above the mark,
call what lies here with what lies there. Python's own machine imports whatever is named, and calls it, so reading a
stranger's pickle is running a stranger's program. `pickletools` of the standard library only tells the instructions:

    from jt_edu.nn.weight_files.unpickler import instructions
    instructions(pickle.dumps({"epoch": 3}, 2))     PROTO 2, EMPTY_DICT, BINPUT 0, BINUNICODE 'epoch', ...

and the machine below knows just those that files of `torch.save` and of data sets need. A name stands for something of
ours, or the file is refused; so nothing is imported, and what is called is in a table of a dozen functions. Each
instruction takes time and memory in proportion to its own length: a place in the memo is a key of a dict, where
Python's machine makes a list as long as the file asks it to; keys of dicts are small, since to hash a tuple of tuples
of tuples may take years.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from jt_edu.base.errors import JtError
from jt_edu.ir.builders import short
from jt_edu.nn.weight_files.packed import Refused, is_too_long

ATOMS = (str, int, float, bool, type(None))
LARGEST_KEY = 1 << 64
MOST_KEYS = 16  # parts of a tuple that is a key
ADVICE = "torch.save(net.state_dict(), path), where the file was made"
VALUES = (  # instructions that push what they carry
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "BINFLOAT", "FLOAT", "BINUNICODE", "BINUNICODE8",
    "SHORT_BINUNICODE", "UNICODE", "BINSTRING", "SHORT_BINSTRING", "STRING", "BINBYTES", "BINBYTES8", "SHORT_BINBYTES",
)  # fmt: skip
GETS = ("GET", "BINGET", "LONG_BINGET")


class Readable(Protocol):
    """What `pickletools` needs of a file."""

    def read(self, count: int, /) -> bytes: ...  # noqa: D102
    def readline(self) -> bytes: ...  # noqa: D102
    def tell(self) -> int: ...  # noqa: D102


class Called:
    """A name of the table that stands for a function of ours."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def instructions(pickle: bytes | Readable) -> Iterator[tuple[str, Any]]:
    """The program that a pickle is, line by line. Nothing of it is run.

    Example:
        >>> import os, pickle
        >>> for name, argument in instructions(pickle.dumps(os.getcwd, 2)):
        ...     print(name, argument)
        PROTO 2
        GLOBAL posix getcwd
        BINPUT 0
        STOP None
    """
    for code, argument, _ in pickletools.genops(pickle):  # type: ignore[arg-type]  # it asks no more of a file
        yield code.name, argument


def unpickled(pickle: bytes | Readable, names: Mapping[str, Any], persistent: Callable[[Any], Any]) -> Any:
    """What a pickle holds: strings, numbers, lists, tuples and dicts, and what `names` and `persistent` make.

    Args:
        pickle: its bytes, or a file at its begin, which is left at its end.
        names: what a name such as "collections OrderedDict" stands for: a `Called`, or a value.
        persistent: what a persistent id stands for.

    Raises:
        Refused: the pickle names something else, or is damaged.

    Example:
        >>> import pickle
        >>> unpickled(pickle.dumps({"epoch": 3, "lr": [0.1, 0.01]}, 2), {}, None)
        {'epoch': 3, 'lr': [0.1, 0.01]}
    """
    machine = Machine(names, persistent)
    try:
        for name, argument in instructions(pickle):
            if name == "STOP":
                return machine.stack.pop()
            STEPS.get(name, _unknown(name))(machine, argument)
    except (Refused, JtError, MemoryError):
        raise
    except Exception as error:
        raise Refused(f"a damaged pickle ({error!r:.80})") from error
    raise Refused("a pickle without an end")


class Machine:
    """A stack, the places of its marks, and a memo."""

    def __init__(self, names: Mapping[str, Any], persistent: Callable[[Any], Any]) -> None:
        self.names, self.persistent = names, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        """Put a value onto the stack."""
        if is_too_long(value):
            raise Refused("an integer of thousands of digits")
        self.stack.append(value)

    def pop(self, count: int) -> list[Any]:
        """Take so many values."""
        begin = len(self.stack) - count
        if begin < 0:
            raise IndexError("nothing is on the stack")
        values, self.stack[begin:] = self.stack[begin:], []
        return values

    def above(self) -> list[Any]:
        """Take what lies above the last mark."""
        return self.pop(len(self.stack) - self.marks.pop())

    def last(self, kind: type) -> Any:
        """What is to be filled: a list or a dict on top of the stack."""
        if not isinstance(self.stack[-1], kind):
            raise Refused(f"a {type(self.stack[-1]).__name__}, where a {kind.__name__} is filled")
        return self.stack[-1]

    def named(self, name: str) -> None:
        """Push what a name stands for."""
        if name not in self.names:
            raise Refused(f"{name.replace(' ', '.', 1)!r:.80}, which only its author's code could make", ADVICE)
        self.stack.append(self.names[name])

    def call(self) -> None:
        """Call a function of the table."""
        function, arguments = self.pop(2)
        if not isinstance(function, Called) or type(arguments) is not tuple:
            raise Refused(f"a call of {said(function)}, which is no function of tensors", ADVICE)
        self.stack.append(function.function(*arguments))

    def build(self) -> None:
        """Tell what a function of ours has made what else the pickle says of it."""
        (state,) = self.pop(1)
        told = getattr(self.stack[-1], "built", None)
        if told is None:
            raise Refused(f"a state for {said(self.stack[-1])}", ADVICE)
        told(state)


def said(value: Any) -> str:
    """A value in a few words; not in its own, which may be as many as lists of lists of the same list have.

    Example:
        >>> said("posix"), said([1])
        ("'posix'", 'a list')
    """
    return short(value) if type(value) in ATOMS else f"a {type(value).__name__}"


def fill(target: dict[Any, Any], items: list[Any]) -> None:
    """Keys and values in turn, into a dict.

    Example:
        >>> made = {}; fill(made, ["a", 1, "b", 2]); made
        {'a': 1, 'b': 2}
    """
    for key, value in zip(items[::2], items[1::2], strict=True):
        parts = key if type(key) is tuple and len(key) <= MOST_KEYS else (key,)
        for part in parts:
            if type(part) not in (*ATOMS, bytes) or (type(part) is int and abs(part) > LARGEST_KEY):
                raise Refused(f"a dict with {said(key)} as a key")
        target[key] = value


def _constant(value: Any) -> Callable[[Machine, Any], None]:
    return lambda machine, argument: machine.stack.append(value)


def _tuple(count: int) -> Callable[[Machine, Any], None]:
    return lambda machine, argument: machine.push(tuple(machine.pop(count)))


def _keep(machine: Machine, place: int | None) -> None:
    machine.memo[len(machine.memo) if place is None else place] = machine.stack[-1]


def _with(make: Callable[[list[Any]], Any]) -> Callable[[Machine, Any], None]:
    return lambda machine, argument: machine.push(make(machine.above()))


def _dict(items: list[Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    fill(made, items)
    return made


def _filling(kind: type, put: Callable[[Any, list[Any]], None], count: int = 0) -> Callable[[Machine, Any], None]:
    """Fill the list or dict below with the last `count` values, or with all above the mark."""

    def step(machine: Machine, _: Any) -> None:
        values = machine.pop(count) if count else machine.above()
        put(machine.last(kind), values)

    return step


def _unknown(name: str) -> Callable[[Machine, Any], None]:
    def step(_machine: Machine, _: Any) -> None:
        raise Refused(f"a pickle with the instruction {name}, which nothing here needs", ADVICE)

    return step


STEPS: dict[str, Callable[[Machine, Any], None]] = {
    **dict.fromkeys(VALUES, Machine.push),
    "PROTO": lambda machine, argument: None,
    "FRAME": lambda machine, argument: None,
    "NONE": _constant(None), "NEWTRUE": _constant(True), "NEWFALSE": _constant(False),
    "MARK": lambda machine, argument: machine.marks.append(len(machine.stack)),
    "EMPTY_LIST": lambda machine, argument: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, argument: machine.stack.append({}),
    "EMPTY_TUPLE": _tuple(0), "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3),
    "TUPLE": _with(tuple), "LIST": _with(list), "DICT": _with(_dict),
    "APPEND": _filling(list, list.extend, 1), "APPENDS": _filling(list, list.extend),
    "SETITEM": _filling(dict, fill, 2), "SETITEMS": _filling(dict, fill),
    "PUT": _keep, "BINPUT": _keep, "LONG_BINPUT": _keep, "MEMOIZE": _keep,
    **dict.fromkeys(GETS, lambda machine, place: machine.stack.append(machine.memo[place])),
    "GLOBAL": Machine.named,
    "STACK_GLOBAL": lambda machine, argument: machine.named(" ".join(machine.pop(2))),
    "REDUCE": lambda machine, argument: machine.call(),
    "BUILD": lambda machine, argument: machine.build(),
    "BINPERSID": lambda machine, argument: machine.stack.append(machine.persistent(*machine.pop(1))),
}  # fmt: skip
