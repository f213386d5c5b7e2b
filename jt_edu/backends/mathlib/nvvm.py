"""NVVM: what do formulas say on a GPU, where NVIDIA's form of LLVM lacks an instruction?

    llvm.floor, llvm.pow, ...     __nv_floor, __nv_pow, ...   functions of libdevice, which comes with the compiler
    a % b                         __nv_fmod                   exact, as C's: what NVVM makes of `frem` is not
    llvm.maximum, llvm.minimum    a comparison and a choice
    -x                            -0.0 - x
    a product alone               __nv_fmul_rn, __nv_dmul_rn: every other one becomes a part of a sum, if it can

Which of them is written is asked of the module that is being written: on a GPU its target begins with nvptx.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

from llvmlite import ir

LIBDEVICE = {
    **{f"llvm.{name}": name for name in ("fabs", "floor", "ceil", "trunc", "rint", "copysign", "fma", "pow")},
    "frem": "fmod", "alone": "mul_rn",
}  # fmt: skip
EXTREMES = {"llvm.maximum": ">", "llvm.minimum": "<"}


def on_gpu(builder: Any) -> bool:
    """Whether the module that is being written is for a GPU."""
    return str(builder.module.triple).startswith("nvptx")


def written(builder: Any, name: str, *values: Any) -> Any:
    """The result of an instruction on floats of one width; None if NVVM has the instruction itself."""
    kind = values[0].type
    if name in EXTREMES:
        x, y = values
        first = builder.fcmp_ordered(EXTREMES[name], x, y)
        return builder.select(builder.or_(first, builder.fcmp_unordered("!=", x, x)), x, y)  # of nan comes nan
    if name not in LIBDEVICE:
        return None
    full = _called(LIBDEVICE[name], single=kind == ir.FloatType())
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(values)), full)
    return builder.call(function, values)


def _called(name: str, single: bool) -> str:
    """How libdevice calls it: fmodf and fmod, but fmul_rn and dmul_rn."""
    if "_" in name:
        return f"__nv_{'f' if single else 'd'}{name}"
    return f"__nv_{name}{'f' * single}"
