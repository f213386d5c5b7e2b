"""Float16: how are 16-bit floats read and written, and how does one type of number become another?

numba has no arrays of half floats on the processor, so they live in arrays of uint16 and are computed as float32:

    float16    1 sign, 5 exponent, 10 mantissa bits    one instruction (vcvtph2ps, vcvtps2ph), else shifts
    bfloat16   1 sign, 8 exponent,  7 mantissa bits    the upper half of a float32

Casts to integers cut the fraction off. What does not fit wraps; nan, inf and what does not fit even into the register
in which the processor converts (32 bits; 64 for uint32 and the 64-bit types) becomes its lowest number, as on x86.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_features
from numba import core

from jt_edu.backends.mathlib.simd_math import Number, alike, kernel_function, kind_of, types, where

CONFIG: Any = core.config
HARDWARE = platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686") or (
    "+f16c" in CONFIG.CPU_FEATURES if CONFIG.CPU_FEATURES is not None else get_host_cpu_features().get("f16c", False)
)


def _exactly(given: Number, result: Number) -> Callable[..., Number]:
    return lambda kind: result if types.unliteral(kind) == given else None


@kernel_function(lambda u: np.float32(np.uint16(u).view(np.float16)), _exactly(types.uint16, types.float32))
def half_to_float(u: Number) -> Number:
    """The float32 that 16 stored bits of a float16 stand for. Exact."""
    if HARDWARE:
        return u.seen_as(types.float16).to(types.float32)
    bits = u.to(types.uint32)
    size = (bits & 0x7FFF) << 13
    finite = (size.number() * 2.0**112).seen_as(types.uint32)  # the exponent counts from -127, no longer from -15
    size = where(size >= 0x0F800000, size | 0x7F800000, finite)
    return (size | ((bits & 0x8000) << 16)).number()


@kernel_function(lambda f: np.float16(f).view(np.uint16), _exactly(types.float32, types.uint16))
def float_to_half(f: Number) -> Number:
    """The 16 bits of the float16 nearest to a float32; ties go to the even one, beyond 65519 is inf."""
    if HARDWARE:
        return f.to(types.float16).seen_as(types.uint16)
    bits = f.seen_as(types.uint32)
    size = bits & 0x7FFFFFFF
    normal = (size - 0x37FFF001 + ((size >> 13) & 1)) >> 13
    small = (size.number() + 0.5).seen_as(types.uint32) - 0x3F000000  # beside 0.5, the last bit is that of a half
    half = where(size < 0x38800000, small, normal)
    half = where(size < 0x47800000, half, where(size > 0x7F800000, ((size >> 13) & 0x3FF) | 0x7E00, 0x7C00))
    return (half | ((bits >> 16) & 0x8000)).to(types.uint16)


def _plain_bfloat(f: Number) -> Number:
    bits = int(np.float32(f).view(np.uint32))
    return np.uint16(bits >> 16 | 64 if np.isnan(f) else bits + 0x7FFF + (bits >> 16 & 1) >> 16)


@kernel_function(lambda u: np.uint32(int(u) << 16).view(np.float32), _exactly(types.uint16, types.float32))
def bfloat_to_float(u: Number) -> Number:
    """The float32 that 16 stored bits of a bfloat16 stand for. Exact."""
    return (u.to(types.uint32) << 16).number()


@kernel_function(_plain_bfloat, _exactly(types.float32, types.uint16))
def float_to_bfloat(f: Number) -> Number:
    """The 16 bits of the bfloat16 nearest to a float32; ties go to the even one, nan stays nan."""
    bits = f.seen_as(types.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return where(f.is_nan(), (bits >> 16) | 64, nearest).to(types.uint16)


def _cast(name: str) -> Any:
    """The function that turns any real number into an integer of this type."""
    target, scalar = getattr(types, name), getattr(np, name)
    register = types.int64 if target.bitwidth == 64 or name == "uint32" else types.int32
    low, mask = -(2.0 ** (register.bitwidth - 1)), 2**target.bitwidth - 1

    def python(x: Number) -> Number:
        upper = name == "uint64" and x >= -low
        if isinstance(x, (float, np.floating)):
            y = x + low if upper else x
            x = int(y if low <= y < -low else low) ^ (2**63 if upper else 0)
        return np.uint64(int(x) & mask).astype(scalar)

    def cast(x: Number) -> Number:
        if kind_of(x.type) != "f":
            return x.to(target)
        upper = x >= -low
        y = where(upper, x + low, x) if name == "uint64" else x
        y = where((y >= low) & (y < -low), y, low).to(register).to(target)
        return where(upper, y ^ 2**63, y) if name == "uint64" else y

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The number as {name}: without its fraction, and wrapped where it does not fit."
    return kernel_function(python, alike("biuf", target))(cast)


int8, int16, int32, int64 = (_cast(name) for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_cast(name) for name in ("uint8", "uint16", "uint32", "uint64"))
