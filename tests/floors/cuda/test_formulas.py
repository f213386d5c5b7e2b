"""What formulas of mathlib say on a GPU where NVVM lacks an instruction is run here, on the processor."""

import numba
import numpy as np
import pytest
from llvmlite import ir

from jt_edu.backends import mathlib
from jt_edu.backends.mathlib import nvvm

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e30, -1e5, 1e-40, 3e8, 7.3]
ONE = ["erfc", "sin", "tanh"]
TWO = ["logaddexp", "maximum", "minimum", "power"]


def compiled(name):
    function = getattr(mathlib, name)

    def one(x, out):
        for i in range(len(out)):
            out[i] = function(x[i])

    def two(x, y, out):
        for i in range(len(out)):
            out[i] = function(x[i], y[i])

    return numba.njit(one if name in ONE else two, error_model="numpy")


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_formula_says_the_same_in_the_words_of_a_gpu(monkeypatch, rng, name, kind):
    with np.errstate(over="ignore"):
        x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), rng.standard_normal(100) * 1000]).astype(kind)
        y = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), rng.standard_normal(100)]).astype(kind)
    given = (x,) if name in ONE else (x, y)
    wanted, found, asked = np.zeros_like(x), np.ones_like(x), []
    compiled(name)(*given, wanted)

    monkeypatch.setattr(nvvm, "on_gpu", lambda builder: asked.append(builder) or True)
    monkeypatch.setattr(nvvm, "LIBDEVICE", {})  # which the processor has not
    compiled(name)(*given, found)

    assert asked
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bits", [ir.FloatType(), ir.DoubleType()], ids=str)
@pytest.mark.parametrize("name", [*nvvm.LIBDEVICE])
def test_functions_of_libdevice_are_called_by_their_names(name, bits):
    module = ir.Module()
    module.triple = "nvptx64-nvidia-cuda"
    function = ir.Function(module, ir.FunctionType(bits, [bits] * 3), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    first, again = (nvvm.written(builder, name, *function.args) for _ in range(2))
    single = bits == ir.FloatType()
    other = {"frem": "fmod" + "f" * single, "alone": f"{'f' if single else 'd'}mul_rn"}

    assert first.callee is again.callee
    assert first.callee.name == "__nv_" + other.get(name, name.removeprefix("llvm.") + "f" * single)
    assert nvvm.on_gpu(builder)
    module.triple = "x86_64-unknown-linux-gnu"
    assert not nvvm.on_gpu(builder)
    assert nvvm.written(builder, "llvm.sqrt", function.args[0]) is None
