"""Complex functions: right to 4 ulp in each part, and what C99 (annex G) and the array API standard say of the edges.

Both backends run the same formulas; a kernel holds many functions, because each kernel takes a tenth of a second.
"""

import math
from math import inf, nan, pi

import mpmath
import numpy as np
import pytest

import jt_edu as jt
from tests.floors.backends.test_mathlib import run

pytestmark = pytest.mark.usefixtures("quiet")

SWAPPED = {"sin": "sinh", "tan": "tanh", "asin": "asinh", "atan": "atanh"}  # f(x + iy) = i g(y + ix) with parts swapped
WHOLE = ("expm1", "sigmoid")  # exact for their size, not for each part
MOST = 4.0
H, Q = pi / 2, pi / 4

# function, then re, im -> re, im; for y >= 0, because f(conj z) = conj f(z) tells the rest
SPECIAL = {
    "sqrt": [(0, 0, 0, 0), (-0.0, 0, 0, 0), (1, inf, inf, inf), (nan, inf, inf, inf), (1, nan, nan, nan),
             (-inf, 1, 0, inf), (inf, 1, inf, 0), (-inf, nan, nan, (inf,)), (inf, nan, inf, nan), (nan, 0, nan, nan),
             (nan, 1, nan, nan), (nan, nan, nan, nan), (-inf, inf, inf, inf), (inf, inf, inf, inf), (-4, 0, 0, 2)],
    "exp": [(0, 0, 1, 0), (-0.0, 0, 1, 0), (1, inf, nan, nan), (1, nan, nan, nan), (inf, 0, inf, 0), (-inf, 1, 0, 0),
            (-inf, 2, -0.0, 0), (inf, 1, inf, inf), (inf, 2, -inf, inf), (-inf, inf, (0,), (0,)),
            (inf, inf, (inf,), nan),
            (-inf, nan, (0,), (0,)), (inf, nan, (inf,), nan), (nan, 0, nan, 0), (nan, 1, nan, nan),
            (nan, nan, nan, nan),
            (1000, 1e-200, inf, 1.9700711140170468e234), (-inf, 0, 0, 0), (1000, inf, nan, nan),
            (1e308, inf, nan, nan), (1e308, 1, inf, inf)],
    "expm1": [(0, 0, 0, 0), (-0.0, 0, -0.0, 0), (1, inf, nan, nan), (1, nan, nan, nan), (inf, 0, inf, 0),
              (-inf, 1, -1, 0), (inf, 1, inf, inf), (inf, 2, -inf, inf), (-inf, inf, -1, (0,)), (inf, inf, (inf,), nan),
              (-inf, nan, -1, (0,)), (inf, nan, (inf,), nan), (nan, 0, nan, 0), (nan, 1, nan, nan),
              (nan, nan, nan, nan),
              (1e-20, 1e-20, 1e-20, 1e-20)],
    "log": [(-0.0, 0, -inf, pi), (0, 0, -inf, 0), (1, inf, inf, H), (1, nan, nan, nan), (-inf, 1, inf, pi),
            (inf, 1, inf, 0), (-inf, inf, inf, 3 * Q), (inf, inf, inf, Q), (inf, nan, inf, nan), (-inf, nan, inf, nan),
            (nan, 1, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan), (-1, 0, 0, pi)],
    "log1p": [(-1, 0, -inf, 0), (1, inf, inf, H), (1, nan, nan, nan), (-inf, 1, inf, pi), (inf, 1, inf, 0),
              (-inf, inf, inf, 3 * Q), (inf, inf, inf, Q), (inf, nan, inf, nan), (-inf, nan, inf, nan),
              (nan, 1, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan), (0, 0, 0, 0)],
    "cosh": [(0, 0, 1, 0), (0, inf, nan, (0,)), (0, nan, nan, (0,)), (1, inf, nan, nan), (1, nan, nan, nan),
             (inf, 0, inf, 0), (inf, 1, inf, inf), (inf, 2, -inf, inf), (inf, inf, (inf,), nan), (inf, nan, inf, nan),
             (nan, 0, nan, (0,)), (nan, 1, nan, nan), (nan, nan, nan, nan), (1e308, inf, nan, nan)],
    "sinh": [(0, 0, 0, 0), (0, inf, (0,), nan), (0, nan, (0,), nan), (1, inf, nan, nan), (1, nan, nan, nan),
             (inf, 0, inf, 0), (inf, 1, inf, inf), (inf, 2, -inf, inf), (inf, inf, (inf,), nan),
             (inf, nan, (inf,), nan),
             (nan, 0, nan, 0), (nan, 1, nan, nan), (nan, nan, nan, nan), (1e308, inf, nan, nan)],
    "tanh": [(0, 0, 0, 0), (1, inf, nan, nan), (0, inf, 0, nan), (1, nan, nan, nan), (0, nan, 0, nan), (inf, 1, 1, 0),
             (inf, 2, 1, -0.0), (inf, inf, 1, (0,)), (inf, nan, 1, (0,)), (nan, 0, nan, 0), (nan, 1, nan, nan),
             (nan, nan, nan, nan), (710, inf, nan, nan), (1e308, inf, nan, nan), (1e308, 1, 1, 0)],
    "acos": [(0, 0, H, -0.0), (-0.0, 0, H, -0.0), (0, nan, H, nan), (-0.0, nan, H, nan), (1, inf, H, -inf),
             (1, nan, nan, nan), (-inf, 1, pi, -inf), (inf, 1, 0, -inf), (-inf, inf, 3 * Q, -inf), (inf, inf, Q, -inf),
             (inf, nan, nan, (inf,)), (-inf, nan, nan, (inf,)), (nan, 1, nan, nan), (nan, inf, nan, -inf),
             (nan, nan, nan, nan), (1, 0, 0, -0.0), (-1, 0, pi, -0.0)],
    "acosh": [(0, 0, 0, H), (-0.0, 0, 0, H), (1, inf, inf, H), (1, nan, nan, nan), (0, nan, nan, (H,)),
              (-inf, 1, inf, pi), (inf, 1, inf, 0), (-inf, inf, inf, 3 * Q), (inf, inf, inf, Q), (inf, nan, inf, nan),
              (-inf, nan, inf, nan), (nan, 1, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan), (1, 0, 0, 0),
              (-1, 0, 0, pi)],
    "asinh": [(0, 0, 0, 0), (1, inf, inf, H), (1, nan, nan, nan), (0, nan, nan, nan), (inf, 1, inf, 0),
              (inf, inf, inf, Q), (inf, nan, inf, nan), (nan, 0, nan, 0), (nan, 1, nan, nan), (nan, inf, (inf,), nan),
              (nan, nan, nan, nan)],
    "atanh": [(0, 0, 0, 0), (0, nan, 0, nan), (1, 0, inf, 0), (1, inf, 0, H), (1, nan, nan, nan), (inf, 1, 0, H),
              (inf, inf, 0, H), (inf, nan, 0, nan), (nan, 1, nan, nan), (nan, inf, (0,), H), (nan, nan, nan, nan)],
    "absolute": [(inf, nan, inf, 0), (nan, inf, inf, 0), (nan, 1, nan, 0), (-inf, 0, inf, 0), (0, 2, 2, 0)],
    "sign": [(0, 0, 0, 0), (nan, 1, nan, nan), (1, nan, nan, nan)],
    "rsqrt": [(inf, 0, 0, (0,)), (4, 0, 0.5, (0,))],
}  # fmt: skip
SPECIAL["log2"] = [(x, y, u, v / math.log(2)) for x, y, u, v in SPECIAL["log"]]
SPECIAL["log10"] = [(x, y, u, v / math.log(10)) for x, y, u, v in SPECIAL["log"]]
SPECIAL["exp2"] = [row for row in SPECIAL["exp"] if abs(row[0]) != 1000 and row[1] != 2]
SPECIAL |= {f: [(y, x, v, u) for x, y, u, v in SPECIAL[g]] for f, g in SWAPPED.items()}
SPECIAL["cos"] = [(y, x, u, v if isinstance(v, tuple) else -float(v)) for x, y, u, v in SPECIAL["cosh"]]
ODD = ("sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan")
DTYPES = {"complex128": np.float64, "complex64": np.float32}


def agree(got, wanted):
    """The same number, or nan; a tuple holds one whose sign is not told."""
    if isinstance(wanted, tuple):
        return agree(abs(got), wanted[0])
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    close = got == wanted or abs(got - wanted) <= 4e-16 * abs(wanted) < inf
    return close and (wanted != 0 or math.copysign(1, got) == math.copysign(1, wanted))


def flipped(part, sign):
    return part if isinstance(part, tuple) else part * sign


@pytest.mark.parametrize("plain", [True, False])
def test_every_special_case_of_annex_g_is_met(plain):
    names = sorted(SPECIAL)
    points = sorted({(float(x), float(y)) for rows in SPECIAL.values() for x, y, *_ in rows}, key=str)
    points += [(x * a, y * b) for x, y in points for a, b in ((1, -1), (-1, 1), (-1, -1))]
    results = run(
        [f"{n}(a)" for n in names], [np.array([complex(*p) for p in points])],
        ["float64" if n == "absolute" else "complex128" for n in names], plain=plain,
    )  # fmt: skip
    places, wrong, asked = {str(p): k for k, p in enumerate(points)}, [], 0

    for name, got in zip(names, results, strict=True):
        for row in SPECIAL[name]:
            x, y, re, im = (v if isinstance(v, tuple) else float(v) for v in row)
            rows = [((x, y), (re, im)), ((x, -y), (re, im if name == "absolute" else flipped(im, -1)))]
            if name in SWAPPED or name == "cos":
                rows[1] = (
                    (-x, y),
                    (flipped(re, -1) if name != "cos" else re, im if name != "cos" else flipped(im, -1)),
                )
            if name in ODD:
                rows.append(((-x, -y), (flipped(re, -1), flipped(im, -1))))
            for z, wanted in rows:
                found = got[places[str(z)]]
                asked += 1
                if not (agree(found.real, wanted[0]) and agree(found.imag, wanted[1])):
                    wrong.append((name, z, complex(found), wanted))

    print(f"{asked - len(wrong)} of {asked} special cases")
    assert not wrong, "\n".join(map(str, wrong))


OF_MPMATH = {
    "asinh": mpmath.asinh, "acos": mpmath.acos, "acosh": mpmath.acosh, "asin": mpmath.asin, "atan": mpmath.atan,
    "atanh": mpmath.atanh, "cos": mpmath.cos, "cosh": mpmath.cosh, "exp": mpmath.exp, "sin": mpmath.sin,
    "exp2": lambda z: mpmath.exp(z * mpmath.log(2)), "expm1": lambda z: mpmath.exp(z) - 1, "log": mpmath.log,
    "log10": lambda z: mpmath.log(z) / mpmath.log(10), "log1p": lambda z: mpmath.log(1 + z), "sinh": mpmath.sinh,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2), "rsqrt": lambda z: 1 / mpmath.sqrt(z), "sqrt": mpmath.sqrt,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)), "sign": lambda z: z / abs(z), "tan": mpmath.tan,
    "tanh": mpmath.tanh,
}  # fmt: skip
EXPONENTIAL = {
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "sigmoid",
    "sin",
    "sinh",
    "tan",
    "tanh",
}  # what is large is not asked


def plane(rng, n=24):
    """Points of every size, and near those where digits cancel or a cut begins."""

    def size(low, high):
        return 10.0 ** rng.uniform(low, high, n) * rng.choice([-1, 1], n)

    turn, up = rng.uniform(-pi, pi, n), rng.uniform(0.1, 0.9, n)
    pairs = [(rng.standard_normal(n) * s, rng.standard_normal(n) * s) for s in (1e-3, 1, 10, 100, 650)]
    pairs += [(size(*r), size(*r)) for r in ((-300, 300), (-20, 3), (-323, -300), (290, 308.2))]
    pairs += [(np.cos(turn) * k, np.sin(turn) * k) for k in (1, 1 + 1e-9)]
    pairs += [
        pair for one in (1, -1) for pair in ((one + size(-18, -1), size(-18, -1)), (size(-18, -1), one + size(-18, -1)))
    ]
    pairs += [(size(-18, -1), pi * rng.integers(-3, 4, n) + size(-16, -1))]
    pairs += [(rng.uniform(-20, 20, n), rng.uniform(-100, 100, n))]  # where tanh nears 1
    pairs += [
        (rng.uniform(700, 1400, n), 10.0 ** rng.uniform(-300, 0, n)),
        (-up * up / 2, up),
        (np.cos(up) - 1, np.sin(up)),
    ]
    return np.concatenate([np.array(x) + 1j * np.array(y) for x, y in pairs])


def steps(got, exact, dtype, size=None):
    """How many floats lie between what we got and what is right; an infinity is right for what overflows."""
    most = float(np.finfo(dtype).max)
    if abs(exact) > most * (1 + 1e-16):
        return 0.0 if abs(got) >= most else inf
    near = np.array(float(exact if size is None else min(size, most))).astype(dtype)
    return float(abs(mpmath.mpf(float(got)) - exact) / float(np.spacing(abs(near)))) if np.isfinite(got) else inf


def worst(name, z, got, dtype):
    """The largest error of all, and the point where it is."""
    found = (0.0, 0j, 0j)
    for point, answer in zip(z.tolist(), got, strict=True):
        large, small = max(abs(point.real), abs(point.imag)), min(abs(point.real), abs(point.imag))
        if name in EXPONENTIAL and large > 1e4:
            continue
        # squares of the small part, 1e-60 or 1e-646, are not lost beside 1: bits for both, and 53 for the answer
        with mpmath.workprec(400 if small > 1e-30 and large < 1e10 else 2400):
            exact = OF_MPMATH[name](mpmath.mpc(point.real, point.imag))
            size = abs(exact) if name in WHOLE else None
            error = max(steps(answer.real, exact.real, dtype, size), steps(answer.imag, exact.imag, dtype, size))
        found = max(found, (error, point, complex(answer)), key=lambda row: row[0])
    return found


@pytest.mark.parametrize(("dtype", "plain"), [("complex128", False), ("complex64", False), ("complex128", True)])
def test_over_the_plane_no_part_is_off_by_more_than_4_ulp(dtype, plain):
    rng = np.random.default_rng(7)
    z = plane(rng, 5 if plain or dtype == "complex64" else 20)
    z = z[np.maximum(abs(z.real), abs(z.imag)) < np.finfo(dtype).max].astype(dtype)
    z = np.array([v for v in z if v.real != 0 and v.imag != 0])  # mpmath knows no signs of zeros
    names = sorted(OF_MPMATH)

    results = run([f"{name}(a)" for name in names], [z], [dtype] * len(names), plain=plain)

    for name, got in zip(names, results, strict=True):
        error, point, answer = worst(name, z, got, DTYPES[dtype])
        print(f"{name:8} {dtype} {error:.2f} ulp at {point}: {answer}")
        assert error <= (MOST if dtype == "complex128" else 1), (name, point, answer)


@pytest.mark.parametrize("plain", [True, False])
def test_quotients_and_powers_keep_to_their_bounds(plain):
    rng, n = np.random.default_rng(5), 30
    sizes = [(-1, 1), (-150, 150), (300, 308), (-320, -305)]
    draw = lambda low, high: (10.0 ** rng.uniform(low, high, n)) * np.exp(1j * rng.uniform(-pi, pi, n))  # noqa: E731
    a, b = (np.concatenate([draw(*size) for size in sizes]) for _ in range(2))

    quotient, power = run(["divide(a, b)", "power(a, b)"], [a, b], ["complex128"] * 2, plain=plain)

    with mpmath.workprec(400):
        for x, y, ratio, raised in zip(a.tolist(), b.tolist(), quotient.tolist(), power.tolist(), strict=True):
            z, w = mpmath.mpc(x), mpmath.mpc(y)
            exponent = w * mpmath.log(z)
            assert off(ratio, z / w) <= MOST, (x, y)
            if abs(exponent) < 700:
                assert off(raised, mpmath.exp(exponent)) <= MOST + 2 * abs(exponent), (x, y)


@pytest.mark.parametrize("plain", [True, False])
def test_a_part_of_a_quotient_whose_digits_cancel_keeps_those_that_are_left(plain):
    rng = np.random.default_rng(9)
    a = rng.standard_normal(20) + 1j * rng.standard_normal(20)
    b = 1j * a  # but for the last digits
    b += np.spacing(b.real) * rng.integers(-3, 4, 20)

    (got,) = run(["divide(a, b)"], [a, b], ["complex128"], plain=plain)

    for x, y, ratio in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        with mpmath.workprec(300):
            exact = mpmath.mpc(x) / mpmath.mpc(y)
            assert steps(ratio.real, exact.real, np.float64) <= MOST


def off(got, exact):
    """The distance in steps between floats of the size of the result."""
    return float(abs(mpmath.mpc(got) - exact)) / float(np.spacing(float(abs(exact))))


@pytest.mark.parametrize("plain", [True, False])
def test_powers_and_quotients_of_zeros_infinities_and_whole_numbers_are_what_they_have_to_be(plain):
    big = 1.5e308
    rows = [
        (0j, 1 + 1j, 0),
        (0j, 0j, 1),
        (0j, 2 + 0j, 0),
        (0j, 1j, complex(nan, nan)),
        (1 + 2j, 3 + 0j, -11 - 2j),
        (-2 + 0j, 2 + 0j, 4),
        (1j, 4 + 0j, 1),
    ]
    quotients = [
        (1 + 1j, complex(inf, inf), 0),
        (complex(big, big), complex(big, big), 1),
        (complex(1, 1), complex(inf, 1), 0),
    ]
    a, b, wanted = (np.array(column, complex) for column in zip(*rows, *quotients, strict=True))

    power, quotient = run(["power(a, b)", "divide(a, b)"], [a, b], ["complex128"] * 2, plain=plain)

    np.testing.assert_array_equal(power[: len(rows)], wanted[: len(rows)])
    np.testing.assert_array_equal(quotient[len(rows) :], wanted[len(rows) :])
    by_zero = run(["divide(a, b)"], [np.array([1 + 1j]), np.array([0j])], ["complex128"], plain=plain)[0]
    assert by_zero[0] == complex(inf, inf)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_large_angles_are_reduced_inside_of_complex_functions_too(dtype):
    x = np.array([1e15, 1e22, 2.0**1023, -1e300] if dtype == "complex128" else [1e15, 1e22, 2.0**127, -1e30])
    z = (x + 1j).astype(dtype)

    for backend in ("python", "numba"):
        with jt.flag_scope(backend=backend):
            got = [f(jt.array(z)).numpy() for f in (jt.sin, jt.cos, jt.tan)]
        with mpmath.workprec(1400):
            for name, answers in zip(("sin", "cos", "tan"), got, strict=True):
                assert worst_of(name, z, answers, DTYPES[dtype]) <= MOST, (backend, name)


def worst_of(name, z, got, dtype):
    exact = [OF_MPMATH[name](mpmath.mpc(v.real, v.imag)) for v in z.tolist()]
    return max(max(steps(g.real, e.real, dtype), steps(g.imag, e.imag, dtype)) for g, e in zip(got, exact, strict=True))
