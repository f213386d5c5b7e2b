"""Matrix and plus_ahb: words of kernels of row blocks, in Python and compiled, with and without checks of indices."""

import numpy as np
import pytest

from jt_edu import backends
from jt_edu.codegen.emit_python import Parameter, Source

TEXT = """from jt_edu.backends.mathlib import matrix, plus_ahb


def kernel(lo, hi, a0, out0, row0):
    w0 = matrix(row0, hi, 2)
    for i0 in range(lo, hi):
        for i1 in range(2):
            w0[i0, i1] = a0[i0, i1]
    plus_ahb(w0, a0, out0)
"""
SOURCE = Source(TEXT, (Parameter("a0", "float64", 2), Parameter("out0", "float64", 2), Parameter("row0", "float64", 1)))


@pytest.mark.parametrize("name", ["python", "numba"])
def test_a_room_is_seen_as_a_matrix_and_sums_go_on(name):
    kernel = backends.get(name).compile(SOURCE)
    a, out, room = np.arange(6.0).reshape(3, 2), np.ones((2, 2)), np.zeros(7)

    kernel.call(0, 3, a, out, room)

    assert room.tolist() == [0, 1, 2, 3, 4, 5, 0]
    assert out.tolist() == (1 + a.T @ a).tolist()


@pytest.mark.parametrize("name", ["python", "numba"])
def test_a_room_that_is_smaller_is_refused(name):
    kernel = backends.get(name).compile(SOURCE)

    with pytest.raises(ValueError, match=r"smaller|reshape"):
        kernel.call(0, 3, np.ones((3, 2)), np.ones((2, 2)), np.zeros(5))
