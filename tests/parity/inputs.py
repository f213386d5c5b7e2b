"""Inputs: the numbers, shapes and layouts that every row of the table is asked about, and what "the same" means.

Everything is drawn from a seed that is made of the row's own name, so a row sees the same numbers whatever runs before
it; the seed is printed when a comparison fails.
"""

import zlib

import numpy as np

import jt_edu as jt

BOOL = ("bool",)
INTS = ("int8", "int32", "int64")
UINTS = ("uint8", "uint32")
HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
WHOLE = INTS + UINTS
REALS = (*WHOLE, *HALVES, *FLOATS)
NUMBERS = REALS + COMPLEX
EVERY = BOOL + NUMBERS

# relative error that is let pass; a half is rounded after each step by one side and at the end by the other
TOLERANCE = {
    "float16": 8e-3,
    "bfloat16": 4e-2,
    "float32": 4e-6,
    "float64": 4e-14,
    "complex64": 8e-6,
    "complex128": 4e-14,
}

ODD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1.5, 2.5, 100.0, -100.0]

# how an array lies in memory before the row sees it: (name, from the plain one, the same for both libraries)
LAYOUTS = (
    ("plain", lambda a: a, lambda shape: shape),
    ("transposed", lambda a: a.transpose(*reversed(range(a.ndim))) if a.ndim else a, lambda shape: shape[::-1]),
    ("sliced", lambda a: a[tuple(slice(None, None, 2) for _ in a.shape)], lambda shape: tuple(2 * n for n in shape)),
    ("flipped", lambda a: a[tuple(slice(None, None, -1) for _ in a.shape)], lambda shape: shape),
)


def seed_of(*names):
    """A number made of names."""
    return zlib.crc32(" ".join(map(str, names)).encode())


def draw(seed, shape, dtype, domain="any"):
    """Numbers of a dtype, as NumPy holds them; bfloat16 is float32 whose lower half is empty.

    domain: "any", "odd" (infinities, nan, halves), "positive", "unit" (inside -1 to 1), "above" (beyond 1), "few" (ties
    and zeros are likely), "small" (0 to 3).
    """
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if domain in ("few", "small") or dtype not in (*HALVES, *FLOATS, *COMPLEX):
        low, high = {"few": (-1, 2), "small": (0, 4), "positive": (1, 9), "unit": (0, 1), "above": (1, 9)}.get(
            domain, (-9, 10)
        )
        found = rng.integers(max(low, 0) if dtype.startswith("uint") else low, high, shape)
        return round_to(found.astype(np.float64), dtype)
    if domain == "odd":
        found = rng.choice(ODD, shape)
        return round_to(found if dtype not in COMPLEX else found + 1j * rng.choice(ODD, shape), dtype)
    draws = {
        "any": lambda: rng.normal(size=shape) * 3,
        "positive": lambda: rng.uniform(0.2, 4, shape),
        "unit": lambda: rng.uniform(-0.9, 0.9, shape),
        "above": lambda: rng.uniform(1.2, 4, shape),
    }
    found = draws[domain]()
    return round_to(found + 1j * draws[domain]() if dtype in COMPLEX else found, dtype)


def round_to(a, dtype):
    """The numbers that a dtype can hold, as an array."""
    if dtype == "bfloat16":
        bits = np.asarray(a, np.float32).view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
        return np.where(np.isnan(a), np.float32(np.nan), rounded).reshape(np.shape(a))
    return np.asarray(np.asarray(a).astype(dtype))


def both(seed, shape, dtype, domain="any", layout="plain"):
    """The same numbers for us and for NumPy, lying in memory alike."""
    arrange, source = next((arrange, source) for name, arrange, source in LAYOUTS if name == layout)
    a = draw(seed, source(shape), dtype, domain)
    return arrange(jt.array(a, dtype)), arrange(a)


def expect_same(ours, theirs, *, dtypes=(), loose=1.0, what=""):
    """Shape, dtype and numbers; where a bfloat16 went in, NumPy's float32 stands for it."""
    theirs = np.asarray(theirs)
    wanted = theirs.dtype.name
    if "bfloat16" in dtypes and wanted == "float32" and "float32" not in dtypes and "float16" not in dtypes:
        wanted = "bfloat16"
    assert (ours.shape, str(ours.dtype)) == (theirs.shape, wanted), what
    a = ours.numpy()
    assert a.shape == theirs.shape, what
    if wanted not in TOLERANCE:
        np.testing.assert_array_equal(a, theirs, what)
        return
    coarse = max((TOLERANCE[d] for d in dtypes if d in TOLERANCE), default=0) if dtypes else 0
    rtol = loose * max(TOLERANCE[wanted], coarse)
    exact = np.complex128 if theirs.dtype.kind == "c" else np.float64
    finite = np.abs(theirs[np.isfinite(theirs)].astype(exact)) if theirs.size else np.zeros(0)
    atol = rtol * min(float(finite.max(initial=0.0)), 4.0)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(a.astype(exact), theirs.astype(exact), rtol, atol, equal_nan=True, err_msg=what)


def refuses(function, *arguments):
    """Whether a call is an error of the caller; anything else that goes wrong is not let pass."""
    try:
        function(*arguments)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        return type(error).__name__
    return ""
