"""np.dot in kernels: BLAS, called without numba's checks, and whatever else np is asked for."""

import json

import numba
import numpy as np
import pytest

from jt_edu.backends import numba_pipeline

DTYPES = ("float32", "float64", "complex64", "complex128")


def compiled(text, *arrays):
    """(what to call, what is kept on disk) of `def kernel(...)`, for arrays like these."""
    scope = {}
    exec(text, scope)  # noqa: S102 - a kernel is text
    return numba_pipeline.build(scope["kernel"], numba.void(*map(numba.typeof, arrays)))


def product(a, b, out):
    call, _ = compiled("import numpy as np\ndef kernel(a, b, out):\n    np.dot(a, b, out)", a, b, out)
    call(a, b, out)
    return out


def numbers(rng, shape, dtype, order):
    found = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return np.asarray(found, dtype, order=order)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_matrices_of_any_shape_are_multiplied_in_any_order(rng, dtype, orders):
    for m, k, n in [(4, 5, 6), (1, 5, 6), (4, 5, 1), (1, 5, 1), (4, 1, 6), (4, 0, 6), (0, 5, 6), (4, 5, 0)]:
        a, b = numbers(rng, (m, k), dtype, orders[0]), numbers(rng, (k, n), dtype, orders[1])

        out = product(a, b, np.full((m, n), 7, dtype))

        np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shapes", [((2, 3), (4, 5), (2, 5)), ((2, 3), (3, 5), (3, 5)), ((2, 3), (3, 5), (2, 4))])
def test_matrices_that_do_not_agree_are_refused_before_blas_sees_them(shapes):
    with pytest.raises(ValueError, match="do not agree"):
        product(*(np.zeros(shape, np.float32) for shape in shapes))


def test_a_matrix_with_more_rows_than_blas_can_count_is_refused():
    long = np.zeros((2**31, 0), np.float32)  # no numbers, many rows

    with pytest.raises(OverflowError, match="2147483647"):
        product(long, np.zeros((0, 0), np.float32), long.copy())


def test_a_product_counts_no_references_and_is_kept():
    a = np.zeros((3, 3), np.float32)

    _, kept = compiled("import numpy as np\ndef kernel(a, b, out):\n    np.dot(a, b, out)", a, a, a)

    needs = json.loads(kept.partition(b"\n")[0])["needs"]
    assert "jt_edu_sgemm" in needs
    assert not [name for name in needs if name.startswith("NRT_")]


@pytest.mark.parametrize("line", [
    "out[:] = np.sqrt(np.dot(a, b))",
    "np.dot(a, b, out); out[:] = np.sqrt(out)",
])  # fmt: skip
def test_whatever_else_a_text_asks_of_numpy_numba_answers(rng, line):
    a, b = rng.random((4, 3)), rng.random((3, 5))
    out = np.zeros((4, 5))

    call, _ = compiled(f"import numpy as np\ndef kernel(a, b, out):\n    {line}", a, b, out)
    call(a, b, out)

    np.testing.assert_allclose(out, np.sqrt(a @ b))


def test_vectors_are_left_to_numba(rng):
    a, out = rng.random(4), np.zeros(1)

    call, _ = compiled("import numpy as np\ndef kernel(a, out):\n    out[0] = np.dot(a, a)", a, out)
    call(a, out)

    np.testing.assert_allclose(out[0], a @ a)
