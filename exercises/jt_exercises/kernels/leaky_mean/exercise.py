"""04.6: a kernel written by hand, each of whose numbers needs the one before, and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.kernels.probes import gradients, text_on_rows
from jt_exercises.kernels.tried import from_behind, text_of
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, part

NEAR = 1e-4
SHAPES = ((1, 4), (3, 5), (1, 1), (2, 1), (1, 2), (4, 3), (2, 0))
LONG = (50, 700)  # the table on which the kernel runs compiled
WITH_GRADIENT = ((3, 5), (1, 1), (2, 4))


@exercise(
    "04.6",
    "a kernel of your own",
    points=3,
    hints=(
        """Keep the mean in a variable: `mean = 0.0` for each row, and for each `k` `mean = 0.9 * mean + 0.1 * x[row,
        k]`, which you store.""",
        "The rule is one line: turn `dout`, take its leaky mean, turn the result back.",
    ),
    why="What no meta-operator can say needs a kernel by hand, and a rule by hand: then it trains like any other.",
    seconds=60,  # it is compiled
)
def leaky_mean(text: Any, gradient: Callable[..., Any]) -> str:
    """Run a leaky mean as Python, as parts, compiled; then compare its gradient with the one that runs backwards."""
    right = False
    with part("the kernel"):
        mine = text_of(text, ("lo", "hi", "x", "out"))
        for rows, columns in SHAPES:
            x = random(rows, columns).integers(-9, 9, (rows, columns)).astype(np.float32)
            _compare(text, mine, x, 0, rows)
        _compare(text, mine, random(7).integers(-9, 9, (4, 3)).astype(np.float32), 1, 3)
        _compare(text, mine, random(8).normal(size=LONG).astype(np.float32), 0, LONG[0], by_numba=True)
        right = True
    with part("its gradient"):
        if not right:
            raise NotDoneError("it is looked at when the kernel is right")
        for shape in WITH_GRADIENT:
            _compare_gradient(gradient, mine, shape)
    return f"{len(SHAPES) + 2} tables, and its gradient"


def leaky(x: Any, keep: float = 0.9) -> np.ndarray:
    """What is asked for, in NumPy: a mean along each row that forgets a tenth of itself at each step."""
    out = np.array(x, np.float64) * (1 - keep)
    for before, now in pairwise(range(x.shape[1])):
        out[:, now] += keep * out[:, before]
    return out


def _compare(answer: Any, text: str, x: np.ndarray, lo: int, hi: int, by_numba: bool = False) -> None:
    """Run the text of an answer on the rows from lo to hi; RefusedError names the first number that is wrong."""
    case = f"compiled, on {x.shape}" if by_numba else f"x of shape {x.shape}"
    report = ask(answer, text, x, lo, hi, by_numba, case=case, name="kernel", through=text_on_rows)
    out, right = np.asarray(report["out"]), leaky(x)
    if out.size and not by_numba and not report["writes"]:
        if not report["reads"]:
            raise NotDoneError("it does nothing yet")
        raise RefusedError("it writes nothing into out")
    if not np.isnan(np.delete(out, slice(lo, hi), 0)).all():
        raise RefusedError(
            f"asked for the rows from {lo} to {hi - 1} of {len(x)}, it also writes others: threads share the rows. "
            f"The outer loop is `for row in range(lo, hi)`"
        )
    wrong = ~np.isclose(out, right, NEAR, NEAR)
    wrong[:lo], wrong[hi:] = False, False
    if wrong.any():
        row, k = map(int, np.argwhere(wrong)[0])
        raise RefusedError(_why_wrong(x, out, right, row, k) + from_behind(report))


def _why_wrong(x: np.ndarray, out: np.ndarray, right: np.ndarray, row: int, k: int) -> str:
    rows = ", ".join(f"{v:g}" for v in x[row, : k + 1][-6:])
    told = f"of a row {rows}, out[{row}, {k}] is {out[row, k]:.4g}, and should be {right[row, k]:.4g}"
    if np.isnan(out[row, k]):
        return f"{told}: nobody wrote it, or it was made of something that nobody wrote. Is every k of a row done?"
    if row and np.allclose(out[row], right[0], NEAR, NEAR):
        return f"{told}: these are the numbers of row 0"
    if row and np.isclose(out[row, k], right[row, k] + 0.9 ** (k + 1) * out[row - 1, -1], NEAR, NEAR):
        return f"{told}: the mean of the row before is still in it. Each row begins with 0"
    if k == 0:
        return f"{told}: before the first number the mean is 0, so it is a tenth of that number"
    return f"{told}: 0.9 times the mean before, and 0.1 times the number"


def _compare_gradient(gradient: Any, text: str, shape: tuple[int, int]) -> None:
    """Compare the rule with the transpose of what the text computes, alone and as a part of `jt.grad`."""
    draw = random(*shape, 1)
    x, dout = (draw.integers(-9, 9, shape).astype(np.float32) for _ in range(2))
    found = ask(gradient, text, x, dout, case="out, dout, x", name="leaky_gradient", through=gradients)
    if not isinstance(found, Mapping) or "rule" not in found:
        kind, has = (dict(found).get(key) for key in ("kind", "shape"))
        if kind != "Var":
            raise RefusedError(f"the gradient is a Var, made of Vars, not {kind}")
        raise RefusedError(f"the gradient has the shape of x, {shape}; yours has {has}")
    right = leaky(dout[:, ::-1])[:, ::-1]
    for numbers in map(np.asarray, (found["rule"], found["operator"])):
        if numbers.shape != shape or not np.allclose(numbers, right, NEAR, NEAR):
            raise RefusedError(_why_no_gradient(dout, numbers, right), numbers, right)


def _why_no_gradient(dout: np.ndarray, found: np.ndarray, right: np.ndarray) -> str:
    first = (", ".join(f"{v:.3g}" for v in numbers[0]) for numbers in (dout, found, right))
    told = "for dout[0] = [{}], dx[0] is [{}], and should be [{}]".format(*first)
    turned = dout[:, ::-1]
    slips = {
        "x[k] also reaches all that come after out[k], through the mean": dout * 0.1,
        "no number reaches those before it: dx[k] is made of dout[k] and later ones. Walk from behind": leaky(dout),
        "dout was turned, and the result was not turned back": leaky(turned),
        "it was turned back, and dout was not turned": leaky(dout)[:, ::-1],
        "the tenth is missing: x[k] goes into out[k] by a tenth": right * 10,
    }
    why = next((words for words, slip in slips.items() if np.allclose(found, slip, NEAR, NEAR)), "")
    return f"{told}{': ' * bool(why)}{why}"
