"""01.5: the gradient rule of an operator, from its output, what arrives there, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.autograd.numbers import slope
from jt_exercises.exercise import exercise
from jt_exercises.verdict import NotDoneError, RefusedError, ask, part

NEAR = 1e-4  # of the slope: a central difference has an error of its own
X, Y = np.array([-1.5, 0.5, 2.0]), np.array([0.7, -1.2, 3.0])
OPERATORS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "div": (np.divide, (X, Y)),
    "exp": (np.exp, (X,)),
    "relu": (lambda x: np.maximum(x, 0), (X,)),
}
SIGNS = "the sign is wrong"
MISTAKES: dict[str, list[tuple[Callable[..., Any], str]]] = {  # (out, dout, *inputs) -> an answer, and what is missing
    "every": [
        (lambda out, dout, *_: dout, "it hands on `dout` as it is. How steep is the operator at its input?"),
        (lambda out, dout, *_: out, "it forgets `dout`: a slope is multiplied by what arrives"),
    ],
    "div 1": [(lambda out, dout, x, y: dout * x / y, "the slope with respect to y is -x / y², and one y is missing")],
    "exp 0": [
        (lambda out, dout, x: dout * x, "the slope of exp is exp itself, not x"),
        (lambda out, dout, x: dout * x * np.exp(x - 1), "exp is no power of x: its slope is exp itself"),
    ],
    "relu 0": [
        (lambda out, dout, x: dout * out, "it multiplies by `out`; above 0 the slope of relu is 1, however large x is"),
        (lambda out, dout, x: dout * (x < 0), "it lets `dout` through below 0, where relu is flat"),
    ],
}


@exercise(
    "01.5",
    "one rule for each operator",
    points=3,
    hints=(
        "d(x/y)/dy is -x/y², and `out` is already x/y. The slope of `exp` is `out` itself.",
        "`relu` lets `dout` through where x > 0. Comparing arrays gives True and False, which count as 1 and 0.",
        "Each answer is `dout` times a slope: two of them for `div`, one for the others.",
    ),
    why="`jt.grad` needs no more than such a rule for each operator. All else is the walk of section 3.",
)
def rules(*answers: Callable[..., Any]) -> str:
    """Compare each gradient with central differences, where `dout` is 2, 3 and 4."""
    if len(answers) != len(OPERATORS):
        raise RefusedError(f"three rules are asked for, {', '.join(f'{name}_rule' for name in OPERATORS)}")
    for rule, (name, (function, inputs)) in zip(answers, OPERATORS.items(), strict=True):
        for k in range(len(inputs)):
            with part(f"{name}_rule, input {k}"):
                _one(rule, name, function, inputs, k)
    return "the gradient of each input is the measured slope, times what arrives"


def _one(rule: Any, name: str, function: Any, inputs: tuple[np.ndarray, ...], k: int) -> None:
    """Judge the gradient of one input."""
    out, dout = function(*inputs), np.arange(2.0, 5.0)
    found = ask(rule, out, dout, *inputs, case="out, dout, " + ", ".join("xy"[: len(inputs)]), name=f"{name}_rule")
    found = found if isinstance(found, (tuple, list)) else (found,)
    if len(found) <= k or found[k] is None:
        raise NotDoneError("it returns no gradient here")
    right = dout * slope(function, inputs, k)
    mistakes = [*MISTAKES.get(f"{name} {k}", ()), *MISTAKES["every"], (lambda *_: -right, SIGNS)]
    known = ((wrong(out, dout, *inputs), words) for wrong, words in mistakes)
    told = f"for {', '.join(f'{n} = {v.tolist()}' for n, v in zip('xy', inputs, strict=False))}"
    asked = f"the gradient is an array of numbers, of the shape of the input, {right.shape}"
    same(found[k], right, told, known, NEAR, "it is not the slope times `dout`", asked)
