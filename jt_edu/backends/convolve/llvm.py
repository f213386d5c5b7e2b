"""LLVM: how does a kernel get instructions that numba would not find by itself?

Loops over single numbers become vector code only where the compiler sees how. So the innermost functions of kernels are
written in LLVM's own instructions, in three ways:

    simd.py  simd_blocks.py  stencil.py      a few instructions, written where the kernel calls: load, fma, spread, ...
    gemm_microkernel.py  skinny_gemm.py      a function of the module, written once and called: products,
    simd_blocks.py                           a block turned
    copy_rows.py                             likewise: rows of numbers that move

All of them say it with what stands here. `written` joins the two sides of such a function: in Python it is a few lines
of NumPy and runs as it stands; in a kernel, something `lower`s it to instructions:

    lower(context, builder, signature, args)    numba's idea of the module, LLVM's of the place, types and values

`calling` is the `lower` of a function that is called, `Writer` writes one. Below them are the instructions themselves,
each with the builder that writes it as its first argument. Nothing here knows what is computed.
"""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from llvmlite import binding, ir
from numba import core
from numba import extending as numba_extending

from jt_edu.backends.mathlib.simd_math import in_kernels
from jt_edu.backends.numba_pipeline import Inside

types: Any = core.types
cgutils: Any = core.cgutils
extending: Any = numba_extending
Array = Any  # a NumPy array while Python runs, numba's idea of one while it compiles
Value = Any  # something that LLVM computes
Builder = Any
Function = TypeVar("Function", bound=Callable[..., Any])

INT, SHORT = ir.IntType(64), ir.IntType(32)


def _shape() -> tuple[int, int, int]:
    """Lanes of float32, rows and vectors of a block: sums, a row of b and a number of a fill the registers."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 16, 6, 4  # 32 registers of 16
    if features.get("avx2"):
        return 8, 6, 2  # 16 registers of 8
    return (4, 6, 2) if platform.machine().lower() in {"x86_64", "amd64", "i386", "i686"} else (4, 6, 4)


LANES, ROWS, VECTORS = _shape()


def inlined(function: Function) -> Function:
    """A function that kernels may call: it becomes a part of theirs. Python runs it as it stands."""
    found: Function = extending.register_jitable(pipeline_class=Inside)(function)
    return found


def lanes_of(bits: int) -> int:
    """How many numbers of so many bits fit into a vector."""
    return LANES * 32 // bits


def by_width(sixteen: float, fewer: float) -> float:
    """A figure of the cost models: as measured with vectors of sixteen float32, or with those of eight (AVX2)."""
    return sixteen if LANES == 16 else fewer


def lanes_for(dtype: str) -> int:
    """The same for the numbers of an array that is only planned."""
    return lanes_of(32 if dtype == "float32" else 64)


def written(typer: Callable[..., Any], lower: Callable[..., Any]) -> Callable[[Function], Function]:
    """Leave a function to Python as it is; in a kernel `lower` writes its instructions, of the type `typer` says."""

    def bind(function: Function) -> Function:
        def rule(*args: Any) -> Any:
            return typer(*args)

        rule.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return in_kernels(function, rule, lower)  # type: ignore[no-any-return]

    return bind


@written(
    lambda array: types.int64,
    lambda context, builder, signature, args: INT(lanes_of(signature.args[0].dtype.bitwidth)),
)
def lanes(array: Array) -> int:
    """How many numbers of the array fit into one vector, a register of the machine."""
    return lanes_of(array.itemsize * 8)


def nothing(*args: Any) -> Any:
    """The type of what returns nothing."""
    del args
    return types.void


def calling(stem: str, write: Callable[[Any, str, Any], None]) -> Callable[..., Any]:
    """Call the function of this name that works on arrays of this type; `write` it if the module has none yet."""

    def call(context: Any, builder: Builder, signature: Any, args: Any) -> Value:
        given = unpacked(context, builder, signature, args)
        number = given[0].type.pointee
        name = f"jt_edu_{stem}_{number}"
        if name not in builder.module.globals:
            write(builder.module, name, number)
        builder.call(builder.module.globals[name], given)
        return context.get_dummy_value()

    return call


def unpacked(context: Any, builder: Builder, signature: Any, args: Any) -> list[Value]:
    """The arguments as LLVM values: of an array, where it begins."""
    return [
        context.make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else context.cast(builder, value, kind, types.int64)
        for value, kind in zip(args, signature.args, strict=True)
    ]


class Writer:
    """Begins a function of a module; `kinds` tells its arguments: "a" for each array, "i" for each whole number.

    LLVM is asked not to trade size for speed: it would unroll every loop, which takes it half a second.
    """

    def __init__(self, module: Any, name: str, number: Any, kinds: str) -> None:
        self.number, self.vector = number, vector_of(number)
        self.lanes: int = self.vector.count
        given = [number.as_pointer() if kind == "a" else INT for kind in kinds]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), given), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        self.arguments: tuple[Value, ...] = function.args
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))


# ---------------------------------------------------------------------------------------------------- instructions


def vector_of(number: Any) -> Any:
    """The type of a vector of numbers of this type."""
    return ir.VectorType(number, lanes_of(32 if isinstance(number, ir.FloatType) else 64))


def load(b: Builder, place: Value, vector: Any) -> Value:
    """A vector from memory, wherever it begins."""
    value = b.load(b.bitcast(place, vector.as_pointer()))
    value.align = _bytes(vector)
    return value


def store(b: Builder, value: Value, place: Value) -> None:
    """A vector to memory, wherever it begins."""
    b.store(value, b.bitcast(place, value.type.as_pointer())).align = _bytes(value.type)


def load_some(b: Builder, place: Value, vector: Any, mask: Value) -> Value:
    """A vector from memory: what the mask excludes is not touched, and is 0."""
    pointer = b.bitcast(place, vector.as_pointer())
    return _masked(b, "load", vector, vector, [pointer, SHORT(_bytes(vector)), mask, ir.Constant(vector, None)])


def store_some(b: Builder, value: Value, place: Value, mask: Value) -> None:
    """A vector to memory: what the mask excludes is not touched."""
    pointer = b.bitcast(place, value.type.as_pointer())
    _masked(b, "store", value.type, ir.VoidType(), [value, pointer, SHORT(_bytes(value.type)), mask])


def ask_for(b: Builder, place: Value) -> None:
    """Have the line of the cache that holds `place` brought near; it may lie anywhere, even where nothing is."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, SHORT, SHORT, SHORT])
    fetch = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    b.call(fetch, [b.bitcast(place, byte), SHORT(0), SHORT(3), SHORT(1)])  # to read, as near as can be, as data


def first_lanes(b: Builder, count: Value, lanes: int) -> Value:
    """A mask: a bit for each lane, whether it is one of the first `count`."""
    kind = ir.VectorType(count.type, lanes)
    return b.icmp_signed("<", ir.Constant(kind, list(range(lanes))), spread(b, count, kind))


def spread(b: Builder, number: Value, vector: Any) -> Value:
    """One number in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    one = b.insert_element(empty, number, SHORT(0))
    return b.shuffle_vector(one, empty, ir.Constant(ir.VectorType(SHORT, vector.count), None))


def fused(b: Builder, x: Value, y: Value, z: Value) -> Value:
    """x * y + z, in one instruction where the machine has it."""
    name = f"llvm.fmuladd.v{x.type.count}{x.type.element.intrinsic_name}"
    kind = ir.FunctionType(x.type, [x.type] * 3)
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), [x, y, z])


def picked(b: Builder, x: Value, y: Value, order: Iterable[int]) -> Value:
    """Lanes of two vectors: `order` says which, counting through both."""
    lanes = list(order)
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(SHORT, len(lanes)), lanes))


def total(b: Builder, vector: Value) -> Value:
    """The sum of all lanes, as a vector of one: halves onto each other."""
    while vector.type.count > 1:
        half = vector.type.count // 2
        vector = b.fadd(*(picked(b, vector, vector, range(k, k + half)) for k in (0, half)))
    return vector


def _masked(b: Builder, name: str, vector: Any, returns: Any, given: list[Value]) -> Value:
    kind = ir.FunctionType(returns, [value.type for value in given])
    full = f"llvm.masked.{name}.v{vector.count}{vector.element.intrinsic_name}.p0"
    return b.call(cgutils.get_or_insert_function(b.module, kind, full), given)


def _bytes(vector: Any) -> int:
    return 4 if isinstance(vector.element, ir.FloatType) else 8
