"""Arguments: what a learner may write where a function asks for a number, a word, an axis or a Var.

whole, number, factor, yes_or_no, choice    what stands beside the Vars is checked where it was written
axis_of, axes_of, listed_axes        axes, counted from either end
one_of                              an argument that has several names
same_words                          dim, dims and axis mean the same, and so do keepdim and keepdims
in_place                            a wish of PyTorch's that changes nothing
beside                              bare numbers give way to the Vars that stand beside them
function                            a row of the table in ir/scalar_ops.py becomes a function of Vars

Every check is told who asks: `whole("topk", "k", k, 0)`. The error names the function, the argument and its value.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.did_you_mean import nearest
from jt_edu.base.dtypes import PYTHON, plain
from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.ir.builders import short
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ops.temporaries import into
from jt_edu.variable.autocast import asks_itself, castable
from jt_edu.variable.torch_keywords import shown
from jt_edu.variable.var import Var, as_var, method

Function = TypeVar("Function", bound=Callable[..., Any])
FIRST = "(...)(x): a layer is made first, and then called"


def whole(function: str, name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number of any integer type (Python's, NumPy's, a Var with one element), from `least` to `most`.

    Example:
        >>> whole("topk", "k", np.int64(3), 1)
        3
    """
    try:
        bare = None if isinstance(value, bool) else int(operator.index(value))
    except TypeError:
        bare = None
    if bare is None or (least is not None and bare < least) or (most is not None and bare > most):
        limits = f" from {least}" * (least is not None) + f" to {most}" * (most is not None)
        raise _refused(function, name, f"a whole number{limits}", value)
    return bare


def number(
    function: str, name: str, value: Any, least: float = -math.inf, most: float = math.inf, above: bool = False,
    finite: bool = False,
) -> float:  # fmt: skip
    """A bare number, such as a slope or a threshold; NumPy's numbers will do, nan will not.

    Args:
        function: who asks.
        name: of the argument.
        value: what was written.
        least: the smallest number allowed.
        most: the largest one.
        above: `least` itself is not allowed.
        finite: nor are the infinities.

    Example:
        >>> number("elu", "alpha", np.float32(0.5))
        0.5
    """
    bare = value.item() if isinstance(value, (np.generic, np.ndarray)) and value.shape == () else value
    real = isinstance(bare, (int, float)) and not isinstance(bare, bool)
    if not real or not least <= bare <= most or (above and bare == least) or (finite and math.isinf(bare)):
        limits = f" {'above' if above else 'from'} {least:g}" if least > -math.inf else ""
        limits += f" to {most:g}" if most < math.inf else ""
        kind = "finite number" if finite and most == math.inf else "number"
        raise _refused(function, name, f"a {kind}{limits}", value)
    return bare  # type: ignore[no-any-return]


def factor(function: str, name: str, value: Any) -> Any:
    """What an array is multiplied by: a number, also a complex one, or a Var.

    Example:
        >>> factor("addmm", "alpha", 2)
        2
    """
    value = plain(value)
    return value if isinstance(value, (complex, Var)) else number(function, name, value)


def yes_or_no(function: str, name: str, value: Any) -> bool:
    """True or False, also NumPy's; 1 and 0 will do.

    Example:
        >>> yes_or_no("sort", "descending", np.True_)
        True
    """
    if isinstance(value, (int, np.bool_)) and value in (0, 1):
        return bool(value)
    raise _refused(function, name, "True or False", value)


def axis_of(name: str, axis: Any, ndim: int, lone: bool = False, verb: str = "on") -> int:
    """An axis counted from either end, as a number from 0; `lone`: a single number counts as an axis of length 1.

    The error says what `name` does with the Var that has the axis, such as "stack makes a Var with 2 axes".
    """
    try:
        k = operator.index(None if isinstance(axis, bool) else axis)  # type: ignore[arg-type]
    except TypeError:
        way = _of_a_bool(name, axis) or "0 or -1"
        raise ArgumentError(f"{name} takes an axis as a whole number", short(axis), way) from None
    reach = ndim or int(lone)
    if not -reach <= k < reach:
        way = f"{-ndim} to {ndim - 1}" if ndim else "no axis, of a single number"
        raise RangeError(f"{name} {verb} a Var with {ndim} {'axis' if ndim == 1 else 'axes'}", f"axis {k}", way)
    return k % reach


def _of_a_bool(name: str, value: Any) -> str:
    """What True or False was meant for, where an axis is asked for: arguments of `name` that are one of the two."""
    asked = getattr(Var, name, None) if isinstance(value, (bool, np.bool_)) else None
    taken = inspect.signature(asked).parameters.values() if inspect.isroutine(asked) else ()
    return " or ".join(f"{p.name}={value}" for p in taken if isinstance(p.default, bool))


def axes_of(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """One axis, several, or None for all, as sorted numbers from 0 without repeats.

    A single number has none, and may be asked for 0 or -1 all the same, as in NumPy and PyTorch.
    """
    if axes is None or (isinstance(axes, (tuple, list)) and not axes):
        return tuple(range(ndim))
    return tuple(sorted(listed_axes(name, axes, ndim, lone=True)))[:ndim]


def listed_axes(name: str, axes: Any, ndim: int, lone: bool = False, verb: str = "on") -> tuple[int, ...]:
    """One axis or several, as numbers from 0 in the order in which they were named, without repeats."""
    array = isinstance(axes, np.ndarray) and axes.ndim == 1
    parts = axes if isinstance(axes, (tuple, list, frozenset)) or array else (axes,)
    found = tuple(axis_of(name, a, ndim, lone, verb) for a in parts)
    if len(set(found)) != len(found):
        raise ArgumentError(f"{name} names each axis once", f"axes {tuple(parts)}")
    return found


def choice(function: str, name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """One of the allowed values.

    Example:
        >>> choice("gelu", "approximate", "tanh", ("none", "tanh"))
        'tanh'
    """
    if any(type(value) is type(a) and value == a for a in allowed):
        return value
    raise _refused(function, name, f"one of {', '.join(map(repr, allowed))}", value)


def _refused(function: str, name: str, wanted: str, value: Any) -> ArgumentError:
    """The error for an argument. A layer that is made of a Var was meant to be called with it."""
    layer = isinstance(value, Var) and function[:1].isupper()
    way = f"{function}{FIRST}" if layer else ""
    return ArgumentError(f"{function} takes {name} as {wanted}", f"{name}={short(value)}", way)


def one_of(function: str, default: Any = None, **given: Any) -> Any:
    """The one that was given, of several names for the same argument; the default if none was.

    Example:
        >>> one_of("clamp", min_v=None, min=0), one_of("leaky_relu", 0.01, scale=None, negative_slope=None)
        (0, 0.01)
    """
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) > 1:
        said = ", ".join(f"{name}={short(value)}" for name, value in found.items())
        raise ArgumentError(f"{function} takes one of {', '.join(given)}", said)
    return next(iter(found.values()), default)


SAME = (
    ("dim", "dims", "axis", "axes"),
    ("keepdim", "keepdims"),
    ("x", "input"),
    ("output", "input"),
    ("log_probabilities", "input"),
    ("x1", "input1"),
    ("x2", "input2"),
    ("widths", "pad"),
    ("y", "other", "exponent"),
    ("dim1", "axis1"),
    ("dim2", "axis2"),
    ("shifts", "shift"),
    ("index", "indices"),
    ("vars", "tensors", "arrays"),
)
SHOWN = {"axis", "keepdims", "axis1", "axis2"}  # beside the words that functions were written with
TORCHS = {"axis": "dim", "axes": "dims", "shift": "shifts"}  # beside those that NumPy and the array API call so


def same_words(function: Function) -> Function:
    """Let a function that takes `dim` be called with `dims`, `axis` or `axes` as well, and so on: see SAME.

    The signature shows the word that the function was written with, and NumPy's beside it.

    Example:
        >>> @same_words
        ... def total(x, dim=None):
        ...     return sum(x) if dim is None else dim
        >>> total([1, 2], axis=7)
        7
    """
    signature = inspect.signature(function)
    parameters, who = signature.parameters, function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    own = list(parameters)
    by_place = [name for name, p in parameters.items() if p.kind == p.POSITIONAL_OR_KEYWORD]
    meant: dict[str, str] = {}  # a word -> the parameter that it names
    for words in SAME:
        mine = [w for w in words if w in own]
        meant |= {w: mine[0] for w in words if mine and w not in own}

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if call.casts and (region := current().threads.now.autocast) is not None:  # type: ignore[attr-defined]
            return region.run(call.casts, call, args, named)  # type: ignore[attr-defined]
        if named and not meant.keys().isdisjoint(named):
            named = _translated(who, by_place[: len(args)], args, named, meant)
        if named and not parameters.keys() >= named.keys():
            must_fit(who, signature, *args, **named)
        return function(*args, **named)

    asks_itself(call)
    return shown(call, function, {w: name for w, name in meant.items() if w in SHOWN or TORCHS.get(name) == w})


def must_fit(who: str, own: inspect.Signature, *args: Any, **named: Any) -> None:
    """Raise Python's error if arguments do not fit, in the name of what was called and with what that takes.

    Example:
        >>> must_fit("Linear", inspect.signature(lambda a, b=True: a))
        Traceback (most recent call last):
        TypeError: Linear(a, b=True): missing a required argument: 'a'
    """
    try:
        own.bind(*args, **named)
    except TypeError as error:
        plain = [p.replace(annotation=p.empty) for name, p in own.parameters.items() if name != "self"]
        takes = inspect.Signature(plain)
        early = any(isinstance(a, Var) for a in args) and "(" not in who and who[:1].isupper()
        raise TypeError(f"{who}{takes}: {error}" + f". Try: {who}{FIRST}." * early) from None


def word_meant(wrong: str, words: Sequence[str]) -> str:
    """The arguments that are like a wrong one, or all of them.

    Example:
        >>> word_meant("trian", ["root", "train"]), word_meant("x", ["root", "train"])
        ('train', 'root, train')
    """
    return " or ".join(full.removeprefix(".") for full in nearest(wrong, {"": words})) or ", ".join(words)


def in_place(function: Function) -> Function:
    """Let a function be called with PyTorch's `inplace`. Nothing is overwritten here, so that wish changes nothing.

    Example:
        >>> array([-1.0]).relu(inplace=True).item()
        0.0
    """

    @wraps(function)
    def call(*args: Any, inplace: bool = False, **named: Any) -> Any:
        yes_or_no(function.__name__, "inplace", inplace)
        return function(*args, **named)

    return call  # type: ignore[return-value]


def _translated(
    function: str, own: Sequence[str], args: Sequence[Any], named: dict[str, Any], meant: dict[str, str]
) -> dict[str, Any]:
    """The named arguments under the function's own words; each may be given once."""
    before = dict(zip(own, args, strict=False))
    after: dict[str, Any] = {}
    said = {name: (name, value) for name, value in before.items() if value is not None}
    for word, value in named.items():
        name = meant.get(word, word)
        if name in said and value is not None:
            first, other = said[name]
            raise ArgumentError(f"{function} takes {name} once", f"{first}={short(other)}, {word}={short(value)}")
        if name not in before and (value is not None or name not in after):
            none = word == "axis" and isinstance(value, tuple) and not value
            after[name] = frozenset() if none else value  # NumPy's axis=() is no axis; PyTorch's dim=() is all
        if value is not None:
            said[name] = (word, value)
    return after


def beside(first: Any, *others: Any) -> Var:
    """The first argument as a Var; a bare number gives way to the dtype of the first Var among the others.

    Bare numbers alone get the dtype of a list of them, in whatever order they stand.

    Example:
        >>> beside(2, array([1.0], "float16")).dtype, beside(2, 0.5).dtype
        (jt.float16, jt.float32)
    """
    if isinstance(first, Var):
        return first
    if others and all(type(n) in PYTHON for n in (first, *others)):
        return as_var(first, as_var([first, *others]).dtype)
    return as_var(first, next((o.dtype for o in others if isinstance(o, Var)), None))


RULES = {  # how dtypes meet, in words, for the rules of ir/scalar_ops.py
    "float": "whole numbers and bools become floats, as in NumPy",
    "float_real": "whole numbers and bools become floats, complex numbers are refused",
    "divide": "whole numbers become float64",
    "compare": "the answer is bools",
    "test": "the answer is bools",
    "test_real": "complex numbers are refused; the answer is bools",
    "logic": "what is not 0 is true; the answer is bools",
    "real": "complex numbers are refused",
    "ordered": "complex numbers are refused",
    "bits": "floats are refused",
    "whole": "floats are refused",
    "integer": "floats and bools are refused",
    "bit_count": "floats are refused; the answer is uint8",
    "number": "bools are refused",
}


def function(
    home: str, op: Elementwise, what: str, example: str, answer: str, *aliases: str, name: str = "",
    casts: bool = False,
) -> Callable[..., Var]:  # fmt: skip
    """A row of the table as a function and a method, under its own name and others.

    Args:
        home: the module that it belongs to.
        op: the row.
        what: what it computes, in a sentence or a formula.
        example: a line of Python, and what it prints.
        answer: what that is.
        aliases: other names of the method.
        name: of the function, where it is not that of the row.
        casts: whether it is `castable`.
    """
    words = ("x", "y") if "{1}" in op.body else ("x",)

    def made(*args: Any, **named: Any) -> Var:
        if casts and (region := current().threads.now.autocast) is not None:
            return region.run(made.casts, made, args, named)  # type: ignore[attr-defined,no-any-return]
        if not named and len(args) == len(words) and isinstance(args[0], Var):  # the usual case takes no further call
            return args[0].apply(op, *args[1:])
        out = named.pop("out", None)
        if named or len(args) != len(words):
            args = _bound(made.__name__, words, args, named)
        return into(out, beside(*args).apply(op, *args[1:]))

    made.__name__ = made.__qualname__ = name or op.name
    made.__doc__ = _told(op, words, what, example, answer)
    made.__module__ = home
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Var | None)
    made.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(inspect.Parameter(w, kind, annotation=Any) for w in words), out], return_annotation=Var
    )
    for alias in aliases:
        method(made, alias)
    asks_itself(made)
    return method(castable(made) if casts else made)


def _bound(function: str, words: Sequence[str], args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in order, when some were named, or too few or too many."""
    given = dict(zip(words, args, strict=False))
    given |= _translated(function, words[: len(args)], args, named, {"input": "x", "other": "y", "exponent": "y"})
    if len(args) > len(words) or set(given) != set(words):
        many = f"{len(words)} argument{'s' * (len(words) > 1)}: {' and '.join(words)}"
        raise ArgumentError(f"{function} takes {many}", f"{len(args)}" + "".join(f", {w}=..." for w in named))
    return tuple(given[w] for w in words)


def _told(op: Elementwise, words: Sequence[str], what: str, example: str, answer: str) -> str:
    """The docstring of a row: a sentence, the formula where the sentence is none, shapes, dtypes, an example."""
    formula = op.body.format(*words)
    known = formula in what or formula.replace(" ", "").endswith(f"{op.name}({','.join(words)})")
    shown = "" if known else f"\n        {formula.replace('math.', '')}\n"
    dtypes = f"; {RULES[op.rule]}" if op.rule in RULES else ""
    shapes = f"{', '.join(words)}: " + ("two shapes that broadcast" if len(words) > 1 else "any shape")
    example = f"Example:\n        >>> {example}\n        {answer}"
    return f"{what}\n{shown}\n    Args:\n        {shapes}{dtypes}.\n\n    {example}\n    "
