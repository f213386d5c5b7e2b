"""Elementwise: slopes, bounds and roundings; and `out`, which every function of the table takes."""

import inspect

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import BITS, ODD, X, Y, Z, above
from tests.arguments.rows import Given, Row, as_numpy, as_torch, shows

WHOLE = ("gcd", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_count", "left_shift", "right_shift")
LARGE = ("acosh", "zeta")  # of numbers above 1


def _takes_out(f) -> bool:
    return inspect.isfunction(f) and "out" in inspect.signature(f).parameters


def _out(f) -> list[Row]:
    """`out` is given the answer: it starts with another one, and still has that when nobody names it."""
    many = sum(p.default is p.empty for p in inspect.signature(f).parameters.values())
    numbers = np.array([[6, 1], [2, 3]] if f.__name__ in WHOLE else [[0.25, 0.5], [0.75, 0.5]])
    args = (numbers + (f.__name__ in LARGE))[:many]

    def answer():
        return f(*map(jt.array, args))

    def ask(**given):
        target = jt.logical_not(answer()) if answer().dtype == "bool" else answer() + 1
        f(*map(jt.array, args), **({"out": target} if given else {}))
        return target

    return shows(f, "out", "a Var", ask, lambda torch: answer())


def _chosen(**given):
    """Of the two answers that ternary takes both, or none."""
    return jt.ternary(jt.array(BITS), **({"x": 1.0, "y": 2.0} if given else {}))


ROWS = [
    *(row for f in dict.fromkeys(getattr(jt, name) for name in jt.__all__) if _takes_out(f) for row in _out(f)),
    *as_torch(jt.add, X, Y, alpha=3),
    *as_torch(jt.subtract, X, Y, alpha=3),
    *as_torch(jt.addcdiv, X, Y, Z, value=3),
    *as_torch(jt.addcmul, X, Y, Z, value=3),
    *as_torch(jt.div, X, Y, rounding_mode="floor"),
    *as_torch(jt.angle, X, twin=lambda t, x, deg: t.rad2deg(t.angle(x)), deg=True),
    *as_numpy(jt.clamp, X, twin=lambda x, min_v: np.maximum(x, min_v), min_v=0.5),
    *as_numpy(jt.clamp, X, twin=lambda x, max_v: np.minimum(x, max_v), max_v=-0.5),
    *as_torch(jt.clamp, X, min=0.5, max=-0.5),
    *as_numpy(jt.clamp, X, twin=np.clip, a_min=Given(-0.5, a_max=0.2), a_max=Given(0.2, a_min=-0.5)),
    *as_torch(jt.round, X, decimals=2),
    *as_torch(jt.nan_to_num, ODD, nan=7.0, posinf=8.0, neginf=9.0),
    *as_torch(jt.logit, above(4), eps=0.4),
    *as_torch(jt.allclose, X, X + 0.5, atol=1.0, rtol=1e9),
    *as_torch(jt.allclose, ODD, ODD, equal_nan=True),
    *as_torch(jt.isclose, X, X + 0.5, atol=0.6, rtol=0.5),
    *as_torch(jt.isclose, ODD, ODD, equal_nan=True),
    *as_numpy(jt.array_equal, ODD, ODD, equal_nan=True),
    *(row for word, value in (("x", 1.0), ("y", 2.0)) for row in shows(
        jt.ternary, word, value, _chosen, np.where(BITS, 1.0, 2.0).astype("float32"))),
    # activations
    *as_torch(jt.celu, X, alpha=0.3),
    *as_torch(jt.elu, X, alpha=0.3),
    *as_torch(jt.gelu, X, approximate="tanh"),
    *as_torch(jt.hardshrink, X, lambd=0.2),
    *as_torch(jt.softshrink, X, lambd=0.2),
    *as_torch(jt.hardtanh, X, min_val=-0.2, max_val=0.3),
    *as_torch(jt.leaky_relu, X, words={"scale": "negative_slope"}, scale=0.4),
    *as_torch(jt.leaky_relu, X, negative_slope=0.4),
    *as_torch(jt.softplus, X, beta=2.0, threshold=0.1),
    *as_torch(jt.glu, X[:2], dim=0),
    *as_torch(jt.rrelu, X, lower=0.2, upper=0.9),
    *shows(jt.rrelu, "training", True, lambda **k: len(set((jt.rrelu(jt.array(-np.ones(9)), **k)).tolist())) > 1),
]  # fmt: skip
