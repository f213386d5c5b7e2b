"""Words of C++: what are dtypes and functions called there, which dtype has a result, and what is other in HIP?

    Python, NumPy               C++
    int, float                  long long, double              as numba has it
    float32 with float32        float
    float32 with int64          double                         as numba has it
    float32 with 2, or 0.5      float                          a number in the text is of the dtype that it meets
    int32 with int32            long long                      as numba has it
    exp(x), math.exp(x)         expf(x) of a float, exp(x) of a double

A dtype is NumPy's. What C++ has no word for is a function of a few lines (`HELPERS`), written above the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DType = np.dtype[Any]
BOOL, INT, LONG, FLOAT, DOUBLE = (np.dtype(n) for n in ("bool", "int32", "int64", "float32", "float64"))
BITS_OF_HALF = np.dtype("uint16")
UNSIGNED, UNSIGNED_LONG = np.dtype("uint32"), np.dtype("uint64")
NAMES: dict[DType, str] = {
    BOOL: "bool", np.dtype("int8"): "signed char", np.dtype("int16"): "short", INT: "int", LONG: "long long",
    np.dtype("uint8"): "unsigned char", np.dtype("uint16"): "unsigned short", UNSIGNED: "unsigned",
    UNSIGNED_LONG: "unsigned long long", FLOAT: "float", DOUBLE: "double",
}  # fmt: skip


def together(a: DType, b: DType) -> DType:
    """The dtype in which two numbers are added, as numba has it.

    Example:
        >>> together(INT, INT), together(FLOAT, FLOAT), together(FLOAT, LONG)
        (dtype('int64'), dtype('float32'), dtype('float64'))
    """
    if "f" in a.kind + b.kind:
        return FLOAT if {a, b} <= {FLOAT, BOOL} else DOUBLE
    if a.kind == b.kind == "u":
        return UNSIGNED_LONG
    return DOUBLE if UNSIGNED_LONG in (a, b) and "i" in a.kind + b.kind else LONG


def in_cpp(a: DType, b: DType) -> DType:
    """The type in which C++ adds two numbers.

    Example:
        >>> in_cpp(INT, INT), in_cpp(UNSIGNED, INT), in_cpp(FLOAT, LONG)
        (dtype('int32'), dtype('uint32'), dtype('float32'))
    """
    if "f" in a.kind + b.kind:
        return max((t for t in (a, b) if t.kind == "f"), key=lambda t: t.itemsize)
    whole = [t if t.itemsize >= INT.itemsize else INT for t in (a, b)]
    return max(whole, key=lambda t: (t.itemsize, t.kind == "u"))


def one_type(a: DType | None, b: DType | None) -> DType | None:
    """The type of a variable that is both, as numba unifies them; None is not known yet."""
    if a is None or b is None:  # asked with `is`: NumPy takes None for float64
        return a if b is None else b
    return a if a == b else together(a, b)


def literal(value: float, dtype: DType) -> str:
    """A number as C++ writes it.

    Example:
        >>> literal(1e-5, FLOAT), literal(2.0, DOUBLE), literal(7, LONG), literal(2**40, LONG), literal(True, BOOL)
        ('1e-05f', '2.0', '7', '1099511627776', 'true')
    """
    if dtype.kind == "b":
        return "true" if value else "false"
    if value == -(2**63) and dtype == LONG:
        return f"(-{2**63 - 1} - 1)"  # C++ reads a minus as an operator
    if dtype.kind in "iu":
        return hex(int(value)) if 2**31 <= value < 2**32 else str(int(value))
    if not np.isfinite(value):
        return "NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    return f"{np.float32(value)!s}f" if dtype == FLOAT else str(float(value))


# functions of floats: the same name in C++ with an f behind it for a float, unless it stands here
MATH = {
    "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "gamma": "tgamma", "round_even": "rint", "rint": "rint", "ndtr": "normcdf",
    "absolute": "fabs", "abs": "fabs", "bessel0": "cyl_bessel_i0", "bessel1": "cyl_bessel_i1",
    **{name: name for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
        "erfc", "erfcx", "erfinv", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "hypot",
        "lgamma", "log", "log10", "log1p", "log2", "nextafter", "pow", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
        "trunc",
    )},
}  # fmt: skip
OF_WHOLE = frozenset(("floor", "ceil", "trunc", "round_even"))  # of a whole number they are itself
TESTS = frozenset(("isnan", "isinf", "isfinite", "signbit"))

T = "template <typename T> __device__ T "
HELPERS = {
    "maximum": T + "maximum(T a, T b) { return a > b || a != a ? a : b; }  // nan, if one of them is",
    "minimum": T + "minimum(T a, T b) { return a < b || a != a ? a : b; }  // nan, if one of them is",
    "larger": T + "larger(T a, T b) { return b > a ? b : a; }  // Python's max",
    "smaller": T + "smaller(T a, T b) { return b < a ? b : a; }  // Python's min",
    "sigmoid": T + "sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }",
    "sign": T + "sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; }",
    "absolute": T + "absolute(T x) { return x < 0 ? -x : x; }",
    "floor_div": T + "floor_div(T a, T b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }  // rounds down",
    "floor_mod": T + "floor_mod(T a, T b) { return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b; }",
    "float_mod": (
        T + "float_mod(T a, T b) { T rest = fmod(a, b); return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest; }"
    ),
    "float_div": T + "float_div(T a, T b) { return b == 0 ? a / b : rint((a - float_mod(a, b)) / b); }",
    "floor_divide": T + "floor_divide(T a, T b) { return b == 0 ? 0 : floor_div(a, b); }",
    "remainder": T + "remainder(T a, T b) { return b == 0 ? 0 : floor_mod(a, b); }",
    "fmod_or_0": T + "fmod_or_0(T a, T b) { return b == 0 || b == T(-1) ? 0 : a % b; }",
    "shift_left": T + "shift_left(T a, T b) { return b < 0 || b > 63 ? 0 : a << b; }",
    "shift_right": T + "shift_right(T a, T b) { return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b; }",
    "gcd": T + "gcd(T a, T b) { while (b != 0) { T c = a % b; a = b; b = c; } return a < 0 ? -a : a; }",
    "bit_count": T + "bit_count(T a) { return __popcll(a < 0 ? -a : a); }",
    "wrap": "__device__ long long wrap(long long i, long long n) { return i < 0 ? i + n : i; }  // counts from the end",
    "within": "__device__ bool within(long long i, long long n) { return 0 <= i && i < n; }",
    "laneid": (
        "__device__ unsigned laneid()\n{\n"
        "    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;\n}"
    ),
}
MMA = """__device__ void mma_{0}(float* d, const {1}* a, const {1}* b, const float* c)  // of all 32 lanes
{{
    asm volatile("mma.sync.aligned.{2}.row.col.f32.{3}.{3}.f32 "
        "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%10, %11, %12, %13}};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : {4},
          {5},
          "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}}"""
HALVES, FLOATS = (
    [", ".join(f'"r"({form.format(f"{name}[{k}]")})' for k in range(count)) for name, count in (("a", 4), ("b", 2))]
    for form in ("{0}", "__float_as_uint({0})")
)
HELPERS |= {
    "mma_float16": MMA.format("float16", "unsigned", "m16n8k16", "f16", *HALVES),
    "mma_bfloat16": MMA.format("bfloat16", "unsigned", "m16n8k16", "bf16", *HALVES),
    "mma_tf32": MMA.format("tf32", "float", "m16n8k8", "tf32", *FLOATS),
    "tf32": (
        "__device__ float tf32(float x)  // the nearest number of 10 bits behind the first one\n{\n    unsigned bits;\n"
        '    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));\n    return __uint_as_float(bits);\n}'
    ),
}
HELPERS |= {  # floats of 16 bits, which lie in arrays as whole numbers
    "half_to_float": (
        "__device__ float half_to_float(unsigned short bits)\n{\n    unsigned size = (bits & 0x7fffu) << 13;\n"
        "    size = size >= 0x0f800000 ? size | 0x7f800000 : __float_as_uint(__uint_as_float(size) * 0x1p112f);\n"
        "    return __uint_as_float(size | (bits & 0x8000u) << 16);\n}"
    ),
    "float_to_half": (
        "__device__ unsigned short float_to_half(float x)  // the nearest one; of two, the even one\n{\n"
        "    unsigned bits = __float_as_uint(x), size = bits & 0x7fffffff, half = 0x7c00;\n"
        "    if (size < 0x38800000) {\n        half = __float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000;\n"
        "    } else if (size < 0x47800000) {\n        half = (size - 0x37fff001 + ((size >> 13) & 1)) >> 13;\n"
        "    } else if (size > 0x7f800000) {\n        half = ((size >> 13) & 0x3ff) | 0x7e00;\n    }\n"
        "    return half | (bits >> 16 & 0x8000);\n}"
    ),
    "bfloat_to_float": (
        "__device__ float bfloat_to_float(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }"
    ),
    "float_to_bfloat": (
        "__device__ unsigned short float_to_bfloat(float x)  // the nearest one; of two, the even one\n{\n"
        "    unsigned bits = __float_as_uint(x);\n"
        "    return x != x ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n}"
    ),
}
NEEDS = {
    "float_div": ("float_mod",),
    "floor_divide": ("floor_div",),
    "remainder": ("floor_mod",),
}  # helpers that a helper calls


@dataclass(frozen=True)
class Language:
    """What a warp does, as CUDA or HIP spell it: `{0}`, `{1}` are arguments behind the mask of lanes."""

    name: str
    top: str
    warp: dict[str, str]


CUDA = Language(
    "cuda",
    "",
    {
        "shfl_sync": "__shfl_sync(0xffffffff, {0}, {1})",
        "shfl_up_sync": "__shfl_up_sync(0xffffffff, {0}, {1})",
        "shfl_down_sync": "__shfl_down_sync(0xffffffff, {0}, {1})",
        "shfl_xor_sync": "__shfl_xor_sync(0xffffffff, {0}, {1})",
        "ballot_sync": "__ballot_sync(0xffffffff, {0})",
        "any_sync": "__any_sync(0xffffffff, {0})",
        "all_sync": "__all_sync(0xffffffff, {0})",
        "syncwarp": "__syncwarp()",
    },
)
HIP = Language(  # a wavefront has 64 lanes on many cards of AMD: 32 of them are a warp here, as the kernel has it
    "hip",
    "#include <hip/hip_runtime.h>\n",
    {
        "shfl_sync": "__shfl({0}, {1}, 32)",
        "shfl_up_sync": "__shfl_up({0}, {1}, 32)",
        "shfl_down_sync": "__shfl_down({0}, {1}, 32)",
        "shfl_xor_sync": "__shfl_xor({0}, {1}, 32)",
        "ballot_sync": "ballot32({0})",
        "any_sync": "(ballot32({0}) != 0)",
        "all_sync": "(ballot32(!({0})) == 0)",
        "syncwarp": "syncwarp()",
    },
)
LANGUAGES = {language.name: language for language in (CUDA, HIP)}
HIP_HELPERS = {
    "ballot32": (
        "__device__ unsigned ballot32(bool vote)  // of the 32 lanes of its half, where a wavefront has 64\n{\n"
        "    return (unsigned)(__ballot(vote) >> (__lane_id() & 32));\n}"
    ),
    "syncwarp": (
        "__device__ void syncwarp()  // lanes of a wavefront go together; what they wrote is seen\n{\n"
        '    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");\n    __builtin_amdgcn_wave_barrier();\n}'
    ),
}
ATOMICS: dict[str, tuple[str, str]] = {  # CUDA's name; dtypes of 32 and 64 bits that it takes: i, u, f
    "add": ("atomicAdd", "i4 u4 u8 f4 f8"),
    "sub": ("atomicSub", "i4 u4"),
    "max": ("atomicMax", "i4 u4 i8 u8"),
    "min": ("atomicMin", "i4 u4 i8 u8"),
    "and_": ("atomicAnd", "i4 u4 u8"),
    "or_": ("atomicOr", "i4 u4 u8"),
    "xor": ("atomicXor", "i4 u4 u8"),
    "exch": ("atomicExch", "i4 u4 u8 f4"),
    "cas": ("atomicCAS", "i4 u4 u8"),
    "inc": ("atomicInc", "u4"),
    "dec": ("atomicDec", "u4"),
}
