"""Beginnings: means, gains, modes and dtypes of parameters; random numbers, their bounds, shapes and generators."""

import math

import numpy as np

import jt_edu as jt
from jt_edu import nn
from tests.arguments.rows import Row, shows

init = nn.init
MANY = (40, 50)  # fans of 50 and 40


def drawn(f, *args, **given) -> np.ndarray:
    """What f draws with seed 0: a function that fills a Var, or one that makes it."""
    jt.set_global_seed(0)
    first = jt.zeros(MANY) if f.__name__.endswith("_") else MANY
    return f(first, *args, **given).numpy().astype("float64")


def scaled(f, name, value, factor, *args, **using) -> list[Row]:
    """With the same seed, the numbers are `factor` times those without the argument."""

    def ratio(**given):
        return float(np.round((drawn(f, *args, **using, **given) / drawn(f, *args, **using)).mean(), 5))

    return shows(f, name, value, ratio, round(factor, 5))


def moved(f, name, value, shift, *args) -> list[Row]:
    """They are as much larger."""
    return shows(f, name, value, lambda **k: float(np.round((drawn(f, *args, **k) - drawn(f, *args)).mean(), 5)), shift)


def in_dtype(f, *args) -> list[Row]:
    return shows(f, "dtype", "float16", lambda **k: str(f((2, 3), *args, **k).dtype), "float16")


def bounds(f, name, value, *args, **using) -> list[Row]:
    """No number lies on the other side of a bound."""

    def ask(**given):
        numbers = drawn(f, *args, **using, **given)
        return bool((numbers >= value).all() if name in ("low", "a") else (numbers <= value).all())

    return shows(f, name, value, ask)


def kaiming(f) -> list[Row]:
    """fan_out is 40 where fan_in is 50; a slope of 2 makes the gain sqrt(2 / 5) times what it was."""
    return [
        *scaled(f, "mode", "fan_out", math.sqrt(50 / 40)),
        *scaled(f, "a", 2.0, 1 / math.sqrt(5)),
        *scaled(f, "nonlinearity", "linear", 1 / math.sqrt(2)),
    ]


DRAWS = {
    jt.random: (9,), jt.rand: 9, jt.randn: 9, jt.normal: jt.zeros(9), jt.uniform: jt.zeros(9), jt.randint: 1 << 40,
    jt.randperm: 99,
}  # fmt: skip


def same_again(draw, **given) -> bool:
    """Whether the numbers are those of the generator that was given, from its seed on."""
    jt.set_global_seed(0)
    found = draw(DRAWS[draw], **{name: jt.Generator(7) for name in given}).numpy()
    return bool((found == draw(DRAWS[draw], generator=jt.Generator(7)).numpy()).all())


ROWS = [
    *(row for f in (init.kaiming_normal, init.kaiming_uniform, init.kaiming_normal_, init.kaiming_uniform_)
      for row in kaiming(f)),
    *(row for f in (init.xavier_gauss, init.xavier_gauss_, init.xavier_uniform, init.xavier_uniform_)
      for row in scaled(f, "gain", 3.0, 3.0)),
    *scaled(init.orthogonal_, "gain", 3.0, 3.0),
    *(row for f in (init.invariant_uniform, init.relu_invariant_gauss)
      for row in scaled(f, "mode", "fan_out", math.sqrt(50 / 40))),
    *(row for f in (init.gauss, init.gauss_) for row in (*scaled(f, "std", 3.0, 3.0), *moved(f, "mean", 2.0, 2.0))),
    *shows(init.sparse_, "std", 3.0, lambda **k: float(drawn(init.sparse_, 0.5, **k).std() > 1), 1.0),
    *shows(init.trunc_normal_, "mean", 1.5, lambda **k: bool(drawn(init.trunc_normal_, **k).mean() > 0.7)),
    *shows(init.trunc_normal_, "std", 0.1, lambda **k: bool(drawn(init.trunc_normal_, **k).std() < 0.2)),
    *bounds(init.trunc_normal_, "a", -0.5),
    *bounds(init.trunc_normal_, "b", 0.5),
    *bounds(init.uniform, "low", 0.5),
    *bounds(init.uniform, "high", 0.5),
    *bounds(init.uniform_, "low", 0.5, high=1.0),
    *bounds(init.uniform_, "high", 0.5, low=0.0),
    *bounds(init.uniform_, "a", 0.5, b=1.0),
    *bounds(init.uniform_, "b", 0.5, a=0.0),
    *(row for f in (init.kaiming_normal, init.kaiming_uniform, init.xavier_gauss, init.xavier_uniform, init.gauss,
                    init.uniform, init.invariant_uniform, init.relu_invariant_gauss, init.eye, init.one, init.zero,
                    init.constant) for row in in_dtype(f)),
    *shows(init.constant, "value", 3.0, lambda **k: init.constant((2,), **k), np.full(2, 3.0, "float32")),
    *(row for word in ("value", "val") for row in shows(
        init.constant_, word, 3.0, lambda **k: init.constant_(jt.zeros(2), **k), np.full(2, 3.0, "float32"))),
    *shows(init.calculate_gain, "param", 2.0, lambda **k: init.calculate_gain("leaky_relu", **k), math.sqrt(0.4)),
    *shows(init.dirac_, "groups", 2, lambda **k: init.dirac_(jt.zeros(4, 2, 3), **k).numpy().sum((1, 2)),
           np.ones(4, "float32")),
    # random numbers
    *(row for f in (jt.rand, jt.randn) for row in shows(f, "dtype", "float64",
      lambda f=f, **k: str(f(2, **k).dtype), "float64")),
    *(row for f in (jt.rand_like, jt.randn_like) for row in shows(
        f, "dtype", "float64", lambda f=f, **k: str(f(jt.zeros(2), **k).dtype), "float64")),
    *(row for f in (jt.random, jt.uniform, jt.normal, jt.exponential) for row in shows(
        f, "dtype", "float64", lambda f=f, **k: str(f(**k).dtype), "float64")),
    *(row for f in (jt.uniform, jt.normal, jt.exponential) for row in shows(
        f, "size", (2, 3), lambda f=f, **k: f(**k).shape, (2, 3))),
    *shows(jt.random, "shape", (2, 3), lambda **k: jt.random(**k).shape, (2, 3)),
    *shows(jt.random, "type", "normal", lambda **k: bool((jt.random(MANY, **k).numpy() < 0).any())),
    *(row for f in DRAWS for row in shows(f, "generator", "a Generator", lambda f=f, **k: same_again(f, **k))),
    *shows(jt.Generator, "seed", 7, lambda **k: jt.random((9,), generator=jt.Generator(**k)),
           lambda torch: jt.random((9,), generator=jt.Generator(7))),
    *shows(jt.uniform, "low", 0.5, lambda **k: bool((jt.uniform(size=MANY, **k).numpy() >= 0.5).all())),
    *shows(jt.uniform, "high", 0.5, lambda **k: bool((jt.uniform(size=MANY, **k).numpy() <= 0.5).all())),
    *shows(jt.normal, "mean", 5.0, lambda **k: bool(jt.normal(size=MANY, **k).numpy().mean() > 4)),
    *shows(jt.normal, "std", 0.0, lambda **k: float(jt.normal(size=MANY, **k).numpy().std()), 0.0),
    *shows(jt.exponential, "rate", 100.0, lambda **k: bool(jt.exponential(size=MANY, **k).numpy().mean() < 0.1)),
    *shows(jt.randint, "high", 6, lambda **k: bool((jt.randint(5, shape=MANY, **k).numpy() == 5).all())),
    *shows(jt.randint, "shape", (2, 3), lambda **k: jt.randint(5, **k).shape, (2, 3)),
    *shows(jt.randint, "dtype", "int32", lambda **k: str(jt.randint(5, **k).dtype), "int32"),
    *shows(jt.randint_like, "high", 6, lambda **k: bool((jt.randint_like(jt.zeros(9), 5, **k).numpy() == 5).all())),
    *shows(jt.randint_like, "dtype", "int32", lambda **k: str(jt.randint_like(jt.zeros(9), 5, **k).dtype), "int32"),
    *shows(jt.randperm, "dtype", "int32", lambda **k: str(jt.randperm(5, **k).dtype), "int32"),
    *shows(jt.multinomial, "replacement", True,
           lambda **k: jt.multinomial(jt.array([0.0, 1.0]), 3, **k), np.ones(3, "int64")),
]  # fmt: skip
