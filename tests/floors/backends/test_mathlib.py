"""The functions that kernels call: right to the stated ulp, NumPy at the edges, the same on both backends, and fast.

Many functions share one kernel here, because each kernel takes numba a tenth of a second.
"""

import functools
import math
import platform
import re

import mpmath
import numba
import numpy as np
import pytest
import scipy.special
from numba.core.registry import cpu_target

from jt_edu.backends import mathlib, numba_pipeline
from jt_edu.backends.mathlib import float16, rare_branch, trig
from jt_edu.backends.mathlib.philox import mixed

pytestmark = pytest.mark.usefixtures("quiet")

HOT = ("exp", "expm1", "exp2", "log", "log10", "log1p", "log2", "sin", "cos", "tan", "tanh", "sigmoid", "erf")
WARM = ("sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "sqrt", "rsqrt", "cbrt")
TWINS = {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "asin": "arcsin", "acos": "arccos",
         "atan": "arctan", "atan2": "arctan2", "divide": "true_divide", "shift_left": "left_shift",
         "shift_right": "right_shift", "round_even": "round"}  # fmt: skip
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLAGS = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
ODD_ONES = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 1e-30, 1e30, 7, -7, 5.3, 1e-44]


def twin(name):
    """NumPy's function of the same meaning."""
    if name == "sigmoid":
        return lambda x: np.where(x.real < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))
    if name == "rsqrt":
        return lambda x: 1 / np.sqrt(x)
    return getattr(np, TWINS.get(name, name))


@functools.cache
def build(expressions, inputs, outputs):
    """A kernel that writes expression j of a, b, c at each place into array j; plain, and compiled."""
    names, results = "abcd"[: len(inputs)], [f"o{j}" for j in range(len(outputs))]
    lines = [f"        o{j}[i] = {text}" for j, text in enumerate(expressions)]
    loads = [f"        {name} = in_{name}[i]" for name in names]
    head = f"def kernel(n, {', '.join([*(f'in_{name}' for name in names), *results])}):"
    source = "\n".join([head, "    for k in range(n):", "        i = at(k)", *loads, *lines])
    space = {name: getattr(mathlib, name) for name in mathlib.__all__}
    exec(source, space)  # noqa: S102 - a kernel is text
    arrays = [numba.types.Array(numba.from_dtype(np.dtype(t)), 1, "C") for t in (*inputs, *outputs)]
    return space["kernel"], numba.njit(numba.void(numba.int64, *arrays), **FLAGS)(space["kernel"])


def run(expressions, inputs, outputs, *, plain=False):
    """What the kernel writes, one array for each expression."""
    kernels = build(tuple(expressions), tuple(a.dtype.name for a in inputs), tuple(outputs))
    results = [np.zeros(len(inputs[0]), t) for t in outputs]
    kernels[0 if plain else 1](len(inputs[0]), *inputs, *results)
    return results


def same(a, b):
    """Equal, or both nan."""
    return (a == b) | (np.isnan(a) & np.isnan(b))


# ---------------------------------------------------------------------------------------------------------- accuracy


def stated_error(name):
    """What the docstring promises, in ulp."""
    return float(re.search(r"Error: ([\d.]+) ulp", getattr(mathlib, name).__doc__)[1])


def ulps(got, wide):
    """How far each number is from the wider one, counted in steps between numbers of its own dtype."""
    near = wide.astype(got.dtype)
    step = np.spacing(np.abs(np.where(np.isfinite(near), near, 1))).astype(np.longdouble)
    distance = np.abs(got.astype(np.longdouble) - wide) / step
    return np.where(same(got, near), 0, np.where(np.isnan(distance), np.inf, distance))


def many(dtype, rng, n=20_000):
    """Numbers of every size, more of them where functions are interesting."""
    whole = np.dtype(f"i{np.dtype(dtype).itemsize}")
    bits = rng.integers(np.iinfo(whole).min, np.iinfo(whole).max, n, dtype=whole).view(dtype)
    spread = [rng.standard_normal(n) * scale for scale in (1e-4, 1, 10, 100)]
    tight = [rng.uniform(-1, 1, n), rng.uniform(-1e5, 1e5, n), rng.uniform(-750, 750, n), 1 + spread[0]]
    parts = [bits, *spread, *tight, np.arange(-4000, 4000) * np.pi / 4, np.linspace(-3, 3, n), ODD_ONES, [5e-324]]
    return np.concatenate([np.asarray(part, dtype) for part in parts])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_error_exceeds_what_the_docstring_states(dtype, rng):
    names = [name for name in (*HOT, *WARM) if name not in ("erf", "sqrt")]
    x = many(dtype, rng)
    wide = x.astype(np.longdouble)
    slack = 0 if np.finfo(np.longdouble).bits > 64 or dtype == "float32" else 1

    results = run([f"{name}(a)" for name in names], [x], [dtype] * len(names))

    for name, got in zip(names, results, strict=True):
        expected = twin(name)(wide)
        error = ulps(got, expected)
        worst = int(np.argmax(error))
        print(f"{name:8} {dtype} {error[worst]:.2f} ulp at {x[worst]!r}")
        assert error[worst] <= stated_error(name) + slack, (name, x[worst], got[worst], expected[worst])
        zeros = got == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]), f"the zeros of {name}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_every_size_are_reduced_without_loss(dtype, rng):
    most = {"float32": 127, "float64": 1023}[dtype]
    x = rng.uniform(1, 2, 999) * 2.0 ** rng.integers(0, most, 999)  # in each register some are far, or none, or all
    x[:60], x[99], x[100] = rng.uniform(-9, 9, 60), np.finfo(dtype).max, -np.inf
    if dtype == "float64":
        x[200:203] = 1e22, -1e15, 6381956970095103.0 * 2.0**797  # the last is nearest of all to a multiple of pi/2
    x = x.astype(dtype)
    names = ("sin", "cos", "tan")

    results = run([f"{name}(a)" for name in names], [x], [dtype] * 3)

    with mpmath.workdps(340):
        for name, got in zip(names, results, strict=True):
            exact = [getattr(mpmath, name)(mpmath.mpf(v)) if np.isfinite(v) else mpmath.mpf("nan") for v in x.tolist()]
            high = [float(e) for e in exact]
            wide = [np.longdouble(h) + np.longdouble(float(e - h)) for e, h in zip(exact, high, strict=True)]
            assert ulps(got, np.array(wide)).max() <= stated_error(name), name
            assert np.isnan(got[100])


def test_two_over_pi_is_stored_to_its_last_bit():
    with mpmath.workdps(400):
        exact = int(mpmath.floor(mpmath.mpf(2) ** trig.BITS * 2 / mpmath.pi))

    assert trig.two_over_pi(trig.BITS) == exact
    assert sum(word << trig.BITS - 64 * k for k, word in enumerate(trig.TWO_OVER_PI)) == exact


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erf_and_its_inverse_keep_to_their_bounds(dtype, rng):
    x = many(dtype, rng, 2000)
    y = np.concatenate([rng.uniform(-1, 1, 3000), 1 - 10.0 ** rng.uniform(-16, 0, 2000), [0.0, -0.0, 1, -1, 2, np.nan]])
    y = y.astype(dtype)
    area = np.array([math.erf(v) for v in x.tolist()])
    back = scipy.special.erfinv(y.astype(np.float64))
    slack = 0 if dtype == "float32" else 3  # the references are float64 themselves

    (got,), (inverse,) = run(["erf(a)"], [x], [dtype]), run(["erfinv(a)"], [y], [dtype])

    assert ulps(got, area.astype(np.longdouble)).max() <= stated_error("erf") + min(slack, 1)
    assert ulps(inverse, back.astype(np.longdouble)).max() <= stated_error("erfinv") + slack
    np.testing.assert_array_equal(np.signbit(got), np.signbit(area))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_and_angles_of_two_numbers_keep_to_their_bounds(dtype, rng):
    names = ["power", "hypot", "atan2"]
    a = np.concatenate([np.repeat(ODD_ONES, len(ODD_ONES)), rng.lognormal(0, 3, 20_000)]).astype(dtype)
    b = np.concatenate([np.tile(ODD_ONES, len(ODD_ONES)), rng.standard_normal(20_000) * 9]).astype(dtype)

    results = run([f"{name}(a, b)" for name in names], [a, b], [dtype] * 3)

    for name, got in zip(names, results, strict=True):
        expected = twin(name)(a.astype(np.longdouble), b.astype(np.longdouble))
        error = ulps(got, expected)
        worst = int(np.argmax(error))
        assert error[worst] <= stated_error(name), (name, a[worst], b[worst], got[worst], expected[worst])
        zeros = got == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]), name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_numbers_whose_sum_is_infinite_are_right(dtype):
    most = np.finfo(dtype).max
    ends = np.array([np.inf, -np.inf, np.nan, most, -most, most / 1.7, -most / 3, 1, 0], dtype)
    a, b = (v.ravel() for v in np.meshgrid(ends, ends))

    (got,) = run(["atan2(a, b)"], [a, b], [dtype])

    assert ulps(got, np.arctan2(a.astype(np.longdouble), b.astype(np.longdouble))).max() <= stated_error("atan2")


def test_known_limits_are_met_exactly():
    cases = {
        "exp": {-np.inf: 0, np.inf: np.inf, 89.0: np.inf, -104.0: 0, 0.0: 1, -103.0: 1e-45},
        "log": {0.0: -np.inf, -1.0: np.nan, np.inf: np.inf, 1.0: 0, 1e-45: math.log(2.0**-149)},
        "tanh": {np.inf: 1, -np.inf: -1, 20.0: 1},
        "sigmoid": {-1000.0: 0, 1000.0: 1, -50.0: math.exp(-50), -100.0: math.exp(-100), 0.0: 0.5},
        "log2": {8.0: 3, 2.0**-140: -140, 1.0: 0},
        "exp2": {-140.0: 2.0**-140, 3.0: 8, 128.0: np.inf},
        "sin": {np.inf: np.nan, 0.0: 0},
    }
    for name, table in cases.items():
        x = np.array([*table, np.nan], np.float32)

        (got,) = run([f"{name}(a)"], [x], ["float32"])

        assert same(got, np.array([*table.values(), np.nan], np.float32)).all(), (name, x, got)


def of_mpmath(name, x):
    """A special function in 30 digits, as a long double; nan where it has no finite value."""
    definition = {
        "erfc": mpmath.erfc,
        "ndtr": mpmath.ncdf,
        "erfcx": lambda v: mpmath.exp(v * v) * mpmath.erfc(v),
        "bessel0": lambda v: mpmath.besseli(0, v),
        "bessel1": lambda v: mpmath.besseli(1, v),
        "bessel0e": lambda v: mpmath.besseli(0, v) * mpmath.exp(-abs(v)),
        "bessel1e": lambda v: mpmath.besseli(1, v) * mpmath.exp(-abs(v)),
        "gamma": mpmath.gamma,
        "lgamma": lambda v: mpmath.log(abs(mpmath.gamma(v))),
        "digamma": mpmath.digamma,
        "polygamma": lambda v: mpmath.polygamma(2, v),
        "zeta": lambda v: mpmath.zeta(2, v),
    }[name]
    found = []
    with mpmath.workdps(40):
        for v in x.tolist():
            exact = definition(mpmath.mpf(v))
            high = float(exact)
            found.append(np.longdouble(high) + np.longdouble(float(exact - high) if math.isfinite(high) else 0))
    return np.array(found)


SPECIAL = {"erfc(a)": (-6, 26), "erfcx(a)": (-5, 300), "bessel0(a)": (-60, 60), "bessel1(a)": (-60, 60),
           "bessel0e(a)": (-300, 300), "bessel1e(a)": (-300, 300), "gamma(a)": (-5, 30), "lgamma(a)": (-20, 200),
           "digamma(a)": (-20, 200), "polygamma(b, a)": (0.01, 50), "zeta(b, a)": (0.01, 50)}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_functions_keep_to_their_bounds(dtype, rng):
    for text, (low, high) in SPECIAL.items():
        name = text.split("(")[0]
        x = np.concatenate([rng.uniform(low, high, 60), rng.uniform(max(low, -2), 4, 60)]).astype(dtype)
        expected, two = of_mpmath(name, x), np.full(x.shape, 2, dtype)

        for plain in (False, True):
            (got,) = run([text], [x, two], [dtype], plain=plain)

            step = np.spacing(np.maximum(np.abs(expected), 1 if name in ("lgamma", "digamma") else 0).astype(dtype))
            error = np.abs(got.astype(np.longdouble) - expected) / np.abs(step)
            error[np.abs(expected) < np.finfo(dtype).tiny] = 0
            worst = int(np.argmax(error))
            print(f"{name:8} {dtype} {error[worst]:.2f} ulp at {x[worst]!r}")
            assert error[worst] <= stated_error(name), (name, plain, x[worst], got[worst], expected[worst])


@pytest.mark.parametrize(("dtype", "lowest"), [("float32", -13), ("float64", -37)])
def test_the_area_under_the_bell_keeps_to_its_bound_also_far_below_0(dtype, lowest, rng):
    x = np.concatenate([rng.uniform(lowest, 9, 300), rng.uniform(-2, 2, 300), np.linspace(-0.1, 0.1, 100)])
    x = x.astype(dtype)
    allowed = stated_error("ndtr") + np.where(x < 0, 2 * x.astype(np.float64) ** 2, 0)
    expected = of_mpmath("ndtr", x)

    for plain in (False, True):
        (got,) = run(["ndtr(a)"], [x], [dtype], plain=plain)

        error = ulps(got, expected)
        worst = int(np.argmax(error - allowed))
        assert error[worst] <= allowed[worst], (plain, x[worst], got[worst], expected[worst])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_functions_meet_scipys_at_the_edges(dtype):
    x = np.array([*ODD_ONES, -0.25, -2.5, 100, -100, 171.5, 180, 1e5, -1e5, 713, -745], dtype)
    twins = {"erfc": scipy.special.erfc, "erfcx": scipy.special.erfcx, "bessel0e": scipy.special.i0e,
             "ndtr": scipy.special.ndtr, "bessel1e": scipy.special.i1e, "gamma": scipy.special.gamma,
             "digamma": scipy.special.psi,
             "lgamma": lambda x: np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))}  # fmt: skip
    texts = [f"{name}(a)" for name in twins]

    for plain in (False, True):
        for (name, theirs), got in zip(twins.items(), run(texts, [x], [dtype] * len(texts), plain=plain), strict=True):
            np.testing.assert_allclose(got, theirs(x).astype(dtype), 1e-5, 0, err_msg=f"{name}, plain: {plain}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_logarithms_keep_to_their_bounds(dtype, rng):
    a = np.concatenate([np.repeat(ODD_ONES, len(ODD_ONES)), rng.normal(0, 100, 20_000)]).astype(dtype)
    b = np.concatenate([np.tile(ODD_ONES, len(ODD_ONES)), rng.normal(0, 100, 10_000), a[-10_000:] + 1]).astype(dtype)
    names = ("logaddexp", "logaddexp2")

    for name, got in zip(names, run([f"{n}(a, b)" for n in names], [a, b], [dtype] * 2), strict=True):
        expected = twin(name)(a.astype(np.longdouble), b.astype(np.longdouble))
        size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(expected).astype(dtype))
        error = np.abs(got.astype(np.longdouble) - expected) / np.spacing(size)
        assert np.where(same(got, expected.astype(dtype)), 0, error).max() <= stated_error(name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_float_is_taken_apart_put_together_and_stepped_through_as_by_numpy(dtype, rng):
    bits = np.dtype(f"i{np.dtype(dtype).itemsize}")
    ends = np.iinfo(bits)
    noise = rng.integers(ends.min, ends.max, 2000, dtype=bits).view(dtype)
    noise[np.isnan(noise)] = np.nan  # C's fmax, which a single number meets in NumPy, hands some kinds of nan on
    a = np.concatenate([np.repeat(ODD_ONES, len(ODD_ONES)).astype(dtype), noise])
    b = np.concatenate([np.tile(ODD_ONES, len(ODD_ONES)).astype(dtype), noise[::-1]])
    n = rng.integers(-2300, 2300, len(a)).astype(dtype)
    n[::2] = rng.integers(-160, 160, len(n[::2]))
    low = {"float32": -205, "float64": -1105}[dtype]  # to subnormal numbers by more than one step: rounded only once
    a[-500:], n[-500:] = rng.uniform(1, 2, 500).astype(dtype) * 2.0**60, low
    texts = ["mantissa(a)", "exponent(a)", "ldexp(a, c)", "fraction(a)", "nextafter(a, b)", "fmax(a, b)", "fmin(a, b)",
             "fmod(a, b)"]  # fmt: skip
    expected = [np.frexp(a)[0], np.frexp(a)[1], np.ldexp(a, n.astype(int)), np.modf(a)[0], np.nextafter(a, b),
                np.fmax(a, b), np.fmin(a, b), np.fmod(a, b)]  # fmt: skip

    for plain in (False, True):
        results = run(texts, [a, b, n], [e.dtype.name for e in expected], plain=plain)
        for text, got, want in zip(texts, results, expected, strict=True):
            wrong = ~same(got, want)
            if not text.startswith(("exponent", "fmax", "fmin")):
                wrong |= (np.signbit(got) != np.signbit(want)) & ~np.isnan(want)
            assert not wrong.any(), (
                text,
                plain,
                a[wrong][:4],
                b[wrong][:4],
                n[wrong][:4],
                got[wrong][:4],
                want[wrong][:4],
            )


def test_every_step_between_halves_is_numpys(rng):
    a = np.arange(65536, dtype=np.uint16)
    a = a[~np.isnan(a.view(np.float16))]
    b = rng.permutation(a)

    (got,) = run(["next_half(a, b)"], [a, b], ["uint16"])
    (plain,) = run(["next_half(a, b)"], [a[::16], b[::16]], ["uint16"], plain=True)

    expected = np.nextafter(a.view(np.float16), b.view(np.float16))
    np.testing.assert_array_equal(got.view(np.float16), expected)
    np.testing.assert_array_equal(plain, got[::16])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors_rests_and_counted_bits_are_numpys(dtype, rng):
    a, b = pairs(dtype, rng)
    texts = ["fmod(a, b)", "gcd(a, b)", "bit_count(a)", "fmax(a, b)", "fmin(a, b)"]
    expected = [np.fmod(a, b), np.gcd(a, b), np.bitwise_count(a), np.fmax(a, b), np.fmin(a, b)]

    for plain in (False, True):
        for text, got, want in zip(
            texts, run(texts, [a, b], [e.dtype.name for e in expected], plain=plain), expected, strict=True
        ):
            np.testing.assert_array_equal(got, want, f"{text}, plain: {plain}")


# ------------------------------------------------------------------------------------------------ NumPy's arithmetic


def pairs(dtype, rng):
    """Every pair of odd numbers, and random ones."""
    if dtype.startswith("f"):
        odd, (c, d) = np.array(ODD_ONES), rng.standard_normal((2, 300)) * 10
    else:
        ends = np.iinfo(dtype)
        odd = np.array([v for v in (ends.min, ends.max, ends.max - 1, 0, 1, 2, 3, 7, 8, -1, -2, -3) if v >= ends.min])
        odd = odd.astype(dtype) if dtype != "uint64" else np.array([0, 1, 2, 3, 7, 8, ends.max, ends.max - 1], dtype)
        c = rng.integers(ends.min, ends.max, 600, dtype, endpoint=True)
        d = np.concatenate([c[300:], rng.integers(max(-9, int(ends.min)), 70, 300).astype(dtype)])
    a, b = np.meshgrid(odd, odd)
    return np.concatenate([a.ravel(), c]).astype(dtype), np.concatenate([b.ravel(), d]).astype(dtype)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_arithmetic_is_numpys_to_the_last_bit_on_both_backends(dtype, rng):
    a, b = pairs(dtype, rng)
    real = dtype.startswith("f")
    two = ["maximum", "minimum", "floor_divide", "remainder"]
    two += ["copysign", "divide"] if real else ["shift_left", "shift_right"]
    one = ["floor", "ceil", "trunc", "round_even", "absolute", "sign"]
    asks = ["isnan", "isinf", "isfinite", *(["signbit"] if real else [])]
    texts = [f"{n}(a, b)" for n in two] + [f"{n}(a)" for n in one + asks]
    types = [dtype] * len(two + one) + ["bool"] * len(asks)
    expected = [twin(n)(a, b) for n in two] + [twin(n)(a) for n in one + asks]

    for results in (run(texts, [a, b], types), run(texts, [a, b], types, plain=True)):
        for name, got, want in zip(two + one + asks, results, expected, strict=True):
            wrong = ~same(got, want)
            if real and name not in ("maximum", "minimum", *asks):
                wrong |= (np.signbit(got) != np.signbit(want)) & ~np.isnan(want)
            assert not wrong.any(), (name, a[wrong][:4], b[wrong][:4], got[wrong][:4], want[wrong][:4])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap_as_numpys_do(dtype, rng):
    a, b = pairs(dtype, rng)
    b = np.where(b < 0, 0, b)

    (got,) = run(["power(a, b)"], [a, b], [dtype])

    np.testing.assert_array_equal(got, a**b)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float32", "float64"])
def test_casts_cut_wrap_and_never_trap(dtype):
    odd = [0, 1, -1.5, 127.9, -128.9, 300.7, -300.2, 7e4, 2**31 - 1, 2**31, 3e9, -3e9, 5e9, 1e19, 1.5e19, 3e19, -1e19]
    if dtype.startswith("f"):
        x = np.array([*odd, np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63), 2.0**64] * 9, dtype)
    else:
        x = np.array([-128, -1, 0, 1, 2, 77, 127] * 9, np.int64).astype(dtype)
    targets = [*INTEGERS, "float32", "float64", "bool_"]
    texts, types = [f"{t}(a)" for t in targets], [t.rstrip("_") for t in targets]

    compiled, plain = run(texts, [x], types), run(texts, [x], types, plain=True)

    for name, got, stepped in zip(types, compiled, plain, strict=True):
        np.testing.assert_array_equal(got, stepped, f"{dtype} to {name}")
        if platform.machine() in ("x86_64", "AMD64"):  # elsewhere NumPy makes other numbers of nan
            one_by_one = [x[k : k + 1].astype(name)[0] for k in range(len(x))]
            np.testing.assert_array_equal(got, one_by_one, f"{dtype} to {name}")


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("spelled", ["within(a, b)", "within(narrow(a), narrow(b))"])
def test_within_is_both_ends_of_an_index_in_32_bits_as_in_64(spelled, plain):
    k, n = np.array([-1, 0, 4, 5, -(2**31), 2**31 - 1], np.int64), np.array([5, 5, 5, 5, 5, 2**31 - 1], np.int64)

    inside, same_number = run([spelled, "int64(narrow(a))"], [k, n], ["bool", "int64"], plain=plain)

    np.testing.assert_array_equal(inside, [False, True, True, False, False, False])
    np.testing.assert_array_equal(same_number, k)


def test_select_sees_nothing_of_the_other_side_and_wrap_counts_from_the_end():
    k, x = np.array([-1, -5, 0, 4], np.int64), np.array([np.nan, 1, np.inf, 2], np.float32)

    chosen, wrapped = run(["select(a < 0, float32(7), b)", "wrap(a, 5)"], [k, x], ["float32", "int64"])

    np.testing.assert_array_equal(chosen, np.array([7, 7, np.inf, 2], np.float32))
    np.testing.assert_array_equal(wrapped, [4, 0, 0, 4])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_stream_writes_all_of_a_row_and_nothing_beside_it(dtype):
    row = np.arange(1, 301).astype(dtype)
    kind = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")
    compiled = numba.njit(numba.void(kind, kind, numba.int64, numba.int64))(_streamed)

    for begin, end in [(0, 0), (0, 300), (1, 2), (3, 300), (5, 21), (16, 32), (7, 200), (15, 33)]:
        for send in (_streamed, compiled):
            out = np.zeros(310, dtype)
            send(row, out, begin, end)
            np.testing.assert_array_equal(out, [0] * begin + row[: end - begin].tolist() + [0] * (310 - end))


def _streamed(row, out, begin, end):
    mathlib.stream(row, out[begin:end])


# ----------------------------------------------------------------------------------------------------- both backends


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_python_and_numba_agree_within_a_few_ulp(dtype, rng):
    names = (*HOT, *WARM, "erfinv")
    x = np.concatenate([rng.uniform(0.01, 0.99, 60), ODD_ONES]).astype(dtype)
    texts = [f"{name}(a)" for name in names]

    compiled, plain = run(texts, [x], [dtype] * len(names)), run(texts, [x], [dtype] * len(names), plain=True)

    for name, a, b in zip(names, compiled, plain, strict=True):
        inside = np.abs(x) < 1e6 if name in ("sin", "cos", "tan") else np.full(x.shape, fill_value=True)
        np.testing.assert_allclose(a[inside], b[inside], 8 * np.finfo(dtype).eps, np.finfo(dtype).tiny, err_msg=name)


@pytest.mark.parametrize(("dtype", "bound"), [("complex64", 1e-6), ("complex128", 1e-12)])
def test_complex_functions_are_numpys(dtype, bound, rng):
    smooth = (
        "exp",
        "expm1",
        "exp2",
        "log",
        "log1p",
        "log2",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sigmoid",
        *WARM[:-1],
        "sign",
    )
    parts = ("conj", "real", "imag", "angle", "absolute")
    z = (rng.standard_normal(200) + 1j * rng.standard_normal(200)).astype(dtype)
    w = (rng.standard_normal(200) + 1j * rng.standard_normal(200)).astype(dtype)
    twins = {"exp2": lambda z: np.exp(z * np.log(2)), "log2": lambda z: np.log(z) / np.log(2)}
    x, y = z.astype(complex), w.astype(complex)  # NumPy's own complex64 is not always that exact
    expected = [twins.get(n, twin(n))(x) for n in (*smooth, *parts)] + [x / y, x**y]
    expected = [e.astype(dtype if e.dtype.kind == "c" else z.real.dtype) for e in expected]
    texts = [f"{n}(a)" for n in (*smooth, *parts)] + ["divide(a, b)", "power(a, b)"]
    types = [e.dtype.name for e in expected]

    for results in (run(texts, [z, w], types), run(texts, [z, w], types, plain=True)):
        for text, got, want in zip(texts, results, expected, strict=True):
            assert np.max(np.abs(got - want) / np.maximum(np.abs(want), 1e-2)) < bound, text


def test_complex_division_survives_large_and_zero_divisors():
    a = np.array([1e30 + 1e30j, 1, 0, 1j, np.inf], np.complex64)
    b = np.array([1e30 + 1e30j, 0, 0, 0, 1], np.complex64)

    (got,) = run(["divide(a, b)"], [a, b], ["complex64"])

    np.testing.assert_array_equal(got, a / b)


# ------------------------------------------------------------------------------------------------------------- halves


@pytest.mark.parametrize("hardware", [True, False])
def test_all_65536_halves_are_read_and_written_as_numpy_does(hardware, monkeypatch):
    monkeypatch.setattr(float16, "HARDWARE", hardware and float16.HARDWARE)
    pad = " " * (not hardware)  # another text is another kernel
    bits = np.arange(65536, dtype=np.uint16)
    expected = bits.view(np.float16).astype(np.float32)
    number = ~np.isnan(expected)

    floats, back = run([f"half_to_float({pad}a)", "float_to_half(half_to_float(a))"], [bits], ["float32", "uint16"])

    np.testing.assert_array_equal(floats[number].view(np.uint32), expected[number].view(np.uint32))
    np.testing.assert_array_equal(back[number], bits[number])
    assert np.isnan(floats[~number]).all()
    assert np.isnan(back[~number].view(np.float16)).all()


@pytest.mark.parametrize("hardware", [True, False])
def test_floats_round_to_the_nearest_half_and_ties_to_even(hardware, rng, monkeypatch):
    monkeypatch.setattr(float16, "HARDWARE", hardware and float16.HARDWARE)
    steps = np.arange(31744, dtype=np.uint16).view(np.float16).astype(np.float32)
    middle = (steps[1:] + steps[:-1]) / 2
    noise = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    x = np.concatenate([middle, -middle, np.nextafter(middle, 0), noise, [65519, 65520, 1e9, -np.inf, np.nan, 1e-45]])
    x = x.astype(np.float32)
    expected, number = x.astype(np.float16).view(np.uint16), ~np.isnan(x)

    (got,) = run(["float_to_half(a)" if hardware else "float_to_half( a)"], [x], ["uint16"])

    np.testing.assert_array_equal(got[number], expected[number])
    assert np.isnan(got[~number].view(np.float16)).all()


def test_bfloats_are_the_upper_half_of_a_float_rounded_to_even(rng, torch):
    bits = np.arange(65536, dtype=np.uint16)
    x = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    x = np.concatenate([x, np.array([0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800001, 1], np.uint32).view(np.float32)])
    expected = torch.from_numpy(x).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)

    (floats,) = run(["bfloat_to_float(a)"], [bits], ["float32"])
    (got,) = run(["float_to_bfloat(a)"], [x], ["uint16"])
    (back,) = run(["float_to_bfloat(a)"], [floats], ["uint16"])

    number = ~np.isnan(x)
    np.testing.assert_array_equal(floats.view(np.uint32), bits.astype(np.uint32) << 16)
    np.testing.assert_array_equal(got[number], expected[number])
    assert (((got[~number] & 0x7F80) == 0x7F80) & ((got[~number] & 0x7F) != 0)).all()
    np.testing.assert_array_equal(back[~np.isnan(floats)], bits[~np.isnan(floats)])


def test_halves_are_the_same_in_python(rng):
    x = np.concatenate([rng.standard_normal(50) * 1e3, [0, -0.0, 1e-7, 1e9, np.inf, np.nan]]).astype(np.float32)
    texts = ["float_to_half(a)", "half_to_float(float_to_half(a))", "float_to_bfloat(a)"]
    texts += ["bfloat_to_float(float_to_bfloat(a))"]
    types = ["uint16", "float32", "uint16", "float32"]

    for a, b in zip(run(texts, [x], types), run(texts, [x], types, plain=True), strict=True):
        np.testing.assert_array_equal(a, b)


# ------------------------------------------------------------------------------------------------------------- chance

KNOWN_ANSWERS = [  # of Random123's kat_vectors, philox 4x32 10: key, counter, result
    ("00000000 00000000", "00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff", "ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("a4093822 299f31d0", "243f6a88 85a308d3 13198a2e 03707344", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(key, counter, result):
    words = [[int(word, 16) for word in text.split()] for text in (key, counter, result)]

    assert list(mixed(words[0], words[1])) == words[2]


def test_philox_is_the_same_in_python_and_in_numba(rng):
    keys, counters = rng.integers(0, 2**64, (2, 100), np.uint64)
    keys[0] = counters[0] = 0

    (compiled,) = run(["philox(a, b)"], [keys, counters], ["uint64"])
    (plain,) = run(["philox(a, b)"], [keys, counters], ["uint64"], plain=True)

    np.testing.assert_array_equal(compiled, plain)
    assert compiled[0] == 0xE169C58D6627E8D5


def test_draws_have_the_right_range_and_the_right_moments():
    n = 200_000
    counters, keys = np.arange(2 * n, dtype=np.uint64), np.full(2 * n, 42, np.uint64)
    (bits,) = run(["philox(a, b)"], [keys, counters], ["uint64"])
    ends = np.array([0, 2**64 - 1], np.uint64)
    first, second = np.concatenate([bits[:n], ends]), np.concatenate([bits[n:], ends])
    texts, types = ["uniform32(a)", "uniform64(a)", "normal32(a)", "normal64(a, b)"], ["float32", "float64"] * 2

    results = run(texts, [first, second], types)
    plain = run(texts, [first[-40:], second[-40:]], types, plain=True)

    for draws, stepped in zip(results, plain, strict=True):
        np.testing.assert_allclose(draws[-40:], stepped, 1e-5 if draws.dtype == np.float32 else 1e-13, 1e-6)
    for u in results[:2]:
        assert u.min() == 0
        assert u.max() < 1
        assert abs(u.mean() - 0.5) < 0.003
        assert abs(u.var() - 1 / 12) < 0.001
    for z in results[2:]:
        assert np.isfinite(z).all()
        assert abs(z.mean()) < 0.01
        assert abs(z.std() - 1) < 0.01
        assert abs((z**4).mean() - 3) < 0.1


# ---------------------------------------------------------------------------------------------- types and machine code


def test_the_door_shows_every_name_sorted_and_described():
    assert mathlib.__all__ == sorted(mathlib.__all__)
    for name in mathlib.__all__:
        assert getattr(mathlib, name).__doc__ or name in ("inf", "nan", "pi"), name


@pytest.mark.parametrize("name", [*HOT, *WARM, "erfinv", "floor", "round_even", "sign", "absolute"])
def test_float32_stays_float32(name):
    context = cpu_target.typing_context
    context.refresh()
    function = getattr(mathlib, name)

    signature = context.resolve_function_type(context.resolve_value_type(function), (numba.float32,), {})

    assert signature.return_type == numba.float32
    assert type(function(np.float32(0.5))) is np.float32


def test_two_dtypes_in_one_call_are_refused():
    with pytest.raises(numba.TypingError, match="maximum"):
        run(["maximum(a, b)"], [np.zeros(1, np.float32), np.zeros(1)], ["float64"])


intel_only = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the names of x86 instructions")


LIBRARY = r"\$_?(?:exp|log|pow|sin|cos|tan|erf|cbrt|atan)\w*"  # its address is loaded before it is called


def assembly(text, inputs, output):
    """Machine code of the loop that writes `text`."""
    compiled = build((text,), inputs, (output,))[1]
    return next(iter(compiled.inspect_asm().values()))


@intel_only
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*HOT, "sinh", "cosh", "cbrt", "atan"])
def test_hot_functions_run_on_whole_registers_and_call_no_library(name, dtype):
    code = assembly(f"{name}(a)", (dtype,), dtype)

    packed = re.findall(rf"v(?:fn?m\w+|mul|add)p{'s' if dtype == 'float32' else 'd'}.*[yz]mm", code)
    assert len(packed) >= 5
    assert not re.search(LIBRARY, code)


@intel_only
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_that_are_far_from_0_are_looked_for_in_whole_registers_and_cost_no_call(name, dtype):
    source = f"def kernel(lo, hi, x, o):\n    for k in range(hi - lo):\n        o[at(k)] = {name}(x[at(k)])"
    space = {"at": mathlib.at, name: getattr(mathlib, name)}
    exec(source, space)  # noqa: S102 - a kernel is text
    array = numba.from_dtype(np.dtype(dtype))[::1]

    made = numba_pipeline.compiled(space["kernel"], numba.void(numba.int64, numba.int64, array, array), apart=True)

    code = made.overloads[made.signatures[0]].library.get_asm_str()
    assert len(re.findall(rf"vfn?m\w+p{'s' if dtype == 'float32' else 'd'}.*[yz]mm", code)) >= 5
    assert re.search(rf"{rare_branch.PREFIX}\w+_1\b", code)  # of the numbers that are left over
    assert not re.search(rf"{rare_branch.PREFIX}\w+_(?:2|4|8|16)\b", code)


@intel_only
def test_the_call_of_a_library_would_be_seen():
    assert re.search(LIBRARY, assembly("power(a, a)", ("float64",), "float64"))


@intel_only
def test_float32_kernels_hold_no_float64():
    texts = ("exp(a)", "log(a)", "tanh(a)", "sigmoid(a)", "erf(a)", "log1p(a)", "expm1(a)", "a * sigmoid(a)")
    compiled = build(texts, ("float32",), ("float32",) * len(texts))[1]

    code = next(iter(compiled.inspect_asm().values()))

    assert not re.search(r"v?(?:mul|add|sub|cvtps2)s?pd\b|vfn?m\w+pd", code)


@intel_only
def test_halves_and_random_bits_run_on_whole_registers():
    assert not float16.HARDWARE or re.search(r"vcvtph2ps.*[yz]mm", assembly("half_to_float(a)", ("uint16",), "float32"))
    stored = r"vcvtps2ph(?:x[yz]\b|.*[yz]mm)"  # AVX512-FP16 reads memory, and the name says how wide
    assert not float16.HARDWARE or re.search(stored, assembly("float_to_half(a)", ("float32",), "uint16"))
    assert re.search(r"vps\w+.*[yz]mm", assembly("float_to_bfloat(a)", ("float32",), "uint16"))
    assert re.search(r"vpmul\w+.*[yz]mm", assembly("philox(a, b)", ("uint64", "uint64"), "uint64"))
    assert re.search(r"v(?:blend|mov)\w*ps.*[yz]mm", assembly("select(a < 0, b, a)", ("float32",) * 2, "float32"))


@intel_only
def test_the_maximum_of_a_row_runs_on_whole_registers_and_keeps_nan():
    source = (
        "def kernel(n, x, o):\n    m = x[at(0)]\n    for k in range(n):\n        m = maximum(m, x[at(k)])\n    o[0] = m"
    )
    space = {"at": mathlib.at, "maximum": mathlib.maximum}
    exec(source, space)  # noqa: S102 - a kernel is text
    signature = numba.void(numba.int64, numba.float32[::1], numba.float32[::1])
    kernel, out = numba.njit(signature, **FLAGS)(space["kernel"]), np.zeros(1, np.float32)
    x = np.arange(1000, dtype=np.float32)

    kernel(1000, x, out)
    largest = out[0]
    x[617] = np.nan
    kernel(1000, x, out)

    assert largest == 999
    assert np.isnan(out[0])
    assert re.search(r"v(?:max|range)ps.*[yz]mm", next(iter(kernel.inspect_asm().values())))
