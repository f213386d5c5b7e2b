"""Matrices for the tests of linear algebra: of each dtype and shape, the same in each run."""

import numpy as np

import jt_edu as jt

DTYPES = ("float32", "float64", "complex64", "complex128")
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}
SMALL = ((0, 0), (1, 1), (3, 3), (2, 4, 4), (0, 3, 3), (2, 0, 0))
BATCHES = [("python", dtype, shape) for dtype in DTYPES for shape in SMALL]
BLOCKS = [("numba", dtype, shape) for dtype in ("float64", "complex64") for shape in ((130, 130), (3, 40, 40))]


def some(shape, dtype="float64", seed=0):
    """Normal numbers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)
    return x.astype(dtype)


def definite(shape, dtype="float64", seed=0):
    """Each matrix its own adjoint, with eigenvalues of 1 and more."""
    x = some(shape, dtype, seed) / max(shape[-1], 1) ** 0.5
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def steady(shape, dtype="float64", seed=0):
    """Matrices that are far from singular."""
    return (some(shape, dtype, seed) / max(shape[-1], 1) ** 0.5 + 2 * np.eye(shape[-1])).astype(dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def close(ours, wanted):
    """The same numbers, dtype and shape."""
    found, wanted = ours.numpy(), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    near = CLOSE.get(str(wanted.dtype), 0)
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)


def gives(backend, function, *arrays, **named):
    """What a function answers on a backend, computed."""
    with jt.flag_scope(backend=backend):
        answer = function(*map(jt.array, arrays), **named)
        for part in answer if isinstance(answer, tuple) else (answer,):
            part.sync()
    return answer
