"""Text to LLVM: kernels are compiled without numba's front end, say what Python says, and else are left to numba."""

import math
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from jt_edu.backends import define, numba_pipeline, text_to_llvm
from jt_edu.backends.numba_cpu import signature
from jt_edu.codegen.emit_python import Parameter, Source
from tests.house.plan import ROOT

ARRAYS = {"x": ("float32", 2), "d": ("float64", 1), "w": ("int64", 1), "b": ("bool", 1), "n": ("int64", None)}
BODIES = {
    "loops with a begin and a step": "for i in range(1, n, 2):\n        out[i] = w[i]",
    "a loop whose step is a variable": "step = n - 3\n    for i in range(0, n, step):\n        out[i] = 1",
    "a loop that goes back": "for i in range(3, 0, -1):\n        out[i] = out[0] + i\n        out[0] = i",
    "a loop that never runs": "out[0] = 2\n    for i in range(3, 1):\n        out[i] = 1",
    "while": "i = 0\n    while i < n and d[i] > 0:\n        out[i] = d[i]\n        i = i + 1",
    "return": "out[0] = 1\n    if n > 2:\n        return\n    out[1] = 1",
    "if and else": "for i in range(n):\n        if b[i]:\n            pass\n        else:\n            out[i] = 2",
    "either of two": "for i in range(n):\n        out[i] = d[i] if b[i] else float64(7)",
    "what is not asked for is not read": "for i in range(n + 2):\n        out[0] += d[i] if i < n else float64(0)",
    "and, or, not": "for i in range(n):\n        out[i] = 1 if (b[i] and not d[i] > 0) or w[i] == 3 else 0",
    "a quotient is rounded down": "for i in range(n):\n        out[i] = w[i] // 3 * 10 + w[i] % 3",
    "of negative numbers": "for i in range(n):\n        out[i] = (w[i] - 4) // 3 * 10 + (w[i] - 4) % -3",
    "a quotient by zero is zero": "out[0] = w[0] // (n - n) + 1",
    "negative indices": "for i in range(n):\n        out[i - n] = d[-1 - i]",
    "a counter that is set again": "for i in range(n):\n        i = i - n\n        out[i] = d[i]",
    "widths": "out[0] = x[0, 1] + d[1]\n    out[1] = float32(d[2]) * 3\n    out[2] = int64(d[3]) - x[1, 1]",
    "of whole numbers": "out[0] = uint8(w[3] + 255) + uint8(1)\n    out[1] = int16(w[2]) * int32(70000)",
    "shapes": "rows, columns = x.shape\n    out[0], out[1] = rows, x.shape[1] * columns",
    "min and max": "out[0], out[1] = min(n, 3), max(w[0], 2)",
    "functions": "for i in range(n):\n        out[i] = sqrt(d[i] * d[i]) + maximum(d[i], d[0]) + select(b[i], w[i], n)",
    "nan": "out[0] = 1 if nan != nan else 2\n    out[1] = 1 if nan < inf else 2",
    "an element of a part": "row = x[1]\n    part = d[1:n]\n    out[0] = row[2] + part[at(0)]",
    "numbers of the text": "out[0] = 1.5 * n - 8",
}  # fmt: skip


def source(body, given=ARRAYS):
    called = "at, float32, float64, inf, int16, int32, int64, maximum, nan, select, sqrt, uint8"
    text = (
        f"from jt_edu.backends.mathlib import {called}\n\n\ndef kernel(lo, hi, {', '.join(given)}, out):\n    {body}\n"
    )
    return Source(text, tuple(Parameter(name, *kind) for name, kind in [*given.items(), ("out", ("float64", 1))]))


def numbers():
    return [
        np.arange(6, dtype=np.float32).reshape(2, 3), np.array([0.5, 2.5, -1.5, 4.25]), np.array([1, 3, 5, 7]),
        np.array([True, False, True, False]), 4,
    ]  # fmt: skip


def made_of(body, number):
    made = source(body)
    function = define(made, f"<text {number}>")
    function.__qualname__ = f"text_{number}"
    return function, signature(made), made.text


@pytest.mark.parametrize("what", list(BODIES))
def test_a_kernel_that_is_read_without_numba_says_what_python_says(what, monkeypatch):
    monkeypatch.setattr(numba_pipeline, "compiled", None)
    function, kinds, text = made_of(BODIES[what], list(BODIES).index(what))
    call, _ = numba_pipeline.build(function, kinds, text=text)
    found, wanted = np.zeros(4), np.zeros(4)

    call(0, 4, *numbers(), found)

    with np.errstate(all="ignore"):
        function(0, 4, *numbers()[:-1], np.int64(4), wanted)
    np.testing.assert_array_equal(found, wanted)


FOREIGN = {
    "a variable of two types": ("s = 0\n    for i in range(n):\n        s = s + d[i]\n    out[0] = s", 5.75),
    "a comprehension of numba's": ("out[0] = sum([i for i in range(n)])", 6.0),
    "numbers of Python": ("out[0] = math_pi()", None),
    "a function of NumPy": ("out[0] = d.max()", 4.25),
}


@pytest.mark.parametrize("what", list(FOREIGN))
def test_what_kernels_of_ours_do_not_say_is_left_to_numba(what):
    body, wanted = FOREIGN[what]
    function, kinds, text = made_of(body, 100 + list(FOREIGN).index(what))

    assert text_to_llvm.straight(function, lambda f: f, kinds.args, False, text) is None

    if wanted is None:
        with pytest.raises(numba.core.errors.TypingError, match="math_pi"):
            numba_pipeline.build(function, kinds, text=text)
        return
    out = np.zeros(4)
    numba_pipeline.build(function, kinds, text=text)[0](0, 4, *numbers(), out)
    assert math.isclose(out[0], wanted)


PROGRAM = """
import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.backends import numba_pipeline

numba_pipeline.compiled = None  # whoever asks it fails
for net, shape in ((nn.LSTM(4, 4, 2), (3, 2, 4)), (nn.TransformerEncoderLayer(4, 2, 8, 0.1), (3, 2, 4)),
                   (nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 4)), (6, 4))):
    answer = net(jt.randn(*shape))
    answer = answer[0] if isinstance(answer, tuple) else answer
    adam = optim.Adam(net.parameters())
    adam.step(nn.cross_entropy_loss(answer.reshape(6, 4), jt.array([0, 1, 2, 3, 0, 1])))
    jt.sync(net.parameters())
print("compiled")
"""


def test_the_step_of_a_network_needs_nothing_of_numbas_front_end(tmp_path):
    surroundings = os.environ | {"JT_EDU_CACHE": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=surroundings, check=False, capture_output=True, text=True
    )

    assert ended.stdout == "compiled\n", ended.stderr
