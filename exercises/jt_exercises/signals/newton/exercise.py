"""16.4: a step of Newton, and what to do on a saddle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.signals.probes import on_surface
from jt_exercises.verdict import ask, part

NEAR, LEAST = 1e-6, 0.1
CURVES = ((5.0, 2.0, 1.0), (3.0, 0.5), (2.0,))  # of a bowl, along its axes
SADDLES = ((4.0, -2.0, 0.5), (4.0, -0.01), (-3.0,), (3.0, 1.0))


@exercise(
    "16.4",
    "a step of Newton",
    points=3,
    seconds=60,  # kernels are compiled the first time
    hints=(
        "`jt.func.grad(f)(x)` is the gradient g, `jt.func.hessian(f)(x)` the matrix h. Which step s makes g + h s 0?",
        "`jt.linalg.solve(h, g)`; and the step goes the other way.",
        """`w, v = jt.linalg.eigh(h)`: along column k of v the surface bends by w[k], and the slope there is
        `(v.T @ g)[k]`. Divide by how strongly it bends, at least `least`, and go back with `v @ ...`.""",
    ),
    why="""Near a minimum each step doubles the number of right digits. Far from it, Newton alone may end on a saddle
    or a summit, for there the gradient is zero, too.""",
)
def newton(answer: Callable[..., Any], careful: Callable[..., Any]) -> str:
    """Compare on bowls, then on saddles, with what the formula finds."""
    with part("newton"):
        for curves in CURVES:
            a, b, x, g, h = _surface(curves)
            step = np.linalg.solve(h, g)
            known = [
                (x + step, "it climbs: where gradient + hessian · step is zero, the step has a minus"),
                (x - g, "that is a step down the gradient, as long as it is steep: where is the Hessian?"),
                (
                    x - g / np.diag(h),
                    "each number moves alone. The Hessian says how they are coupled: solve with it",
                ),
                (x - h @ g, "it multiplies by the Hessian: where a surface bends more, a step has to be shorter"),
                (-step, "that is the step; the place where it ends is asked for"),
            ]
            same(_at(answer, "newton", curves, a, b, x), x - step, "on a bowl", known, NEAR)
    with part("careful"):
        for curves in SADDLES:
            a, b, x, g, h = _surface(curves)
            w, v = np.linalg.eigh(h)
            to = [x - v @ (v.T @ g / bend) for bend in (np.maximum(abs(w), LEAST), w, np.maximum(w, LEAST), abs(w))]
            known = [
                (to[1], "it goes to where the gradient is zero, and that is no minimum"),
                (to[2], "where it bends down strongly, the step is very long: how strongly it bends is abs(w)"),
                (to[3], "where it hardly bends, the step is very long: divide by `least` at the least"),
                (x - v.T @ (v @ g / np.maximum(abs(w), LEAST)), "v and v.T are exchanged: the axes are columns of v"),
            ]
            told = f"on a surface that bends by {', '.join(f'{c:g}' for c in sorted(curves))}"
            same(_at(careful, "careful", curves, a, b, x), to[0], told, known, NEAR)
    return f"{len(CURVES)} bowls, and {len(SADDLES)} surfaces of other kinds"


def _at(answer: Any, name: str, curves: tuple[float, ...], *surface: np.ndarray) -> Any:
    return ask(answer, *surface, case=f"f, x of {len(curves)} numbers", name=name, through=on_surface)


def _surface(curves: tuple[float, ...]) -> tuple[np.ndarray, ...]:
    """One that bends so along some axes, a place on it, and its gradient and Hessian there."""
    n, draw = len(curves), random(len(curves))
    axes = np.linalg.qr(draw.normal(size=(n, n)))[0]
    b, x = draw.normal(size=(2, n))
    h = axes * curves @ axes.T
    a = h - np.diag(3 * x * x)
    return a, b, x, a @ x + x**3 - b, h
