"""Tensor PTX: how are the words for tensor cores (tensor_core.py) said in NVIDIA's assembly?

    cuda.mma_tf32(a, b, c)        mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c};
    cuda.mma_bfloat16(a, b, c)    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ...
    cuda.tf32(x)                  cvt.rna.tf32.f32 d, x;

Each is one instruction, written into the text that numba-cuda compiles. On sm_75 a product of float16 is two of them,
of 8 numbers each; the others it does not have. Only to_ptx.py imports this file, as it needs numba-cuda.
"""

# mypy: disable-error-code="import-not-found, import-untyped, attr-defined, no-untyped-call, misc"
# numba-cuda is not installed where types are checked

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from jt_edu.cuda.tensor_core import PARTS, SINCE

FLOAT, WORD = ir.FloatType(), ir.IntType(32)
SHAPES = {"float16": ("f16", "m16n8k16"), "bfloat16": ("bf16", "m16n8k16"), "tf32": ("tf32", "m16n8k8")}
D = types.UniTuple(types.float32, PARTS["c"])


def words(capability: Callable[[], tuple[int, int]]) -> dict[str, Any]:
    """What stands behind the names in a kernel; `capability` is that of the GPU for which one is compiled now."""
    made = {f"mma_{name}": _product(name, capability) for name in SHAPES}

    def tf32(_: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            _known("tf32", "tf32", capability())
            x = context.cast(builder, args[0], sig.args[0], types.float32)
            text = ir.InlineAsm(ir.FunctionType(WORD, [FLOAT]), "cvt.rna.tf32.f32 $0, $1;", "=r,f")
            return builder.bitcast(builder.call(text, [x]), FLOAT)

        return types.float32(x), codegen

    return {**made, "tf32": intrinsic(tf32)}


def _known(word: str, name: str, capability: tuple[int, int]) -> None:
    if capability < SINCE[name]:
        (first, second), (major, minor) = SINCE[name], capability
        raise NotImplementedError(f"cuda.{word} needs compute capability {first}.{second}; this is {major}.{minor}")


def _product(name: str, capability: Callable[[], tuple[int, int]]) -> Any:
    word = types.float32 if name == "tf32" else types.uint32

    def product(_: Any, a: Any, b: Any, c: Any) -> Any:
        given = zip((a, b, c), PARTS.values(), strict=True)
        if not all(isinstance(kind, types.BaseTuple) and len(kind) == count for kind, count in given):
            return None  # numba says that no form of it takes these

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            _known(f"mma_{name}", name, capability())
            rows, columns, sums = (
                [context.cast(builder, builder.extract_value(part, k), one, wanted) for k, one in enumerate(kind)]
                for part, kind, wanted in zip(args, sig.args, (word, word, types.float32), strict=True)
            )
            rows, columns = ([builder.bitcast(one, WORD) for one in part] for part in (rows, columns))
            short, shape = SHAPES[name]
            if capability() >= (8, 0):
                sums = _instruction(builder, short, shape, rows, columns, sums)
            else:
                for k in range(2):
                    sums = _instruction(builder, short, "m16n8k8", rows[2 * k : 2 * k + 2], columns[k : k + 1], sums)
            return context.make_tuple(builder, sig.return_type, sums)

        return D(a, b, c), codegen

    product.__name__ = f"mma_{name}"
    return intrinsic(product)


def _instruction(builder: Any, kind: str, shape: str, a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
    """One instruction of a warp: D, of words of A and B, and C."""
    counts, first, parts = (len(c), len(a), len(b), len(c)), 0, []
    for count in counts:
        parts.append("{" + ", ".join(f"${first + k}" for k in range(count)) + "}")
        first += count
    text = f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32 {', '.join(parts)};"
    registers = ",".join(["=f"] * len(c) + ["r"] * len(a + b) + ["f"] * len(c))
    result = ir.LiteralStructType([FLOAT] * len(c))
    function = ir.FunctionType(result, [WORD] * len(a + b) + [FLOAT] * len(c))
    found = builder.call(
        ir.InlineAsm(function, text, registers), [*a, *b, *c], attrs=("convergent", "nounwind", "readnone")
    )
    return [builder.extract_value(found, k) for k in range(len(c))]
