"""Matrices that are hard for spectral methods, and answers compared by their rounding: eigh, svd, eig, pinv."""

import numpy as np

import jt_edu as jt
from jt_edu.ir.scalar_ops import REAL
from tests.floors.linalg import factors
from tests.floors.linalg.factors import adjoint


def some(*shape, dtype="float64", seed=0):
    """Normal numbers."""
    return factors.some(shape, dtype, seed)


def hermitian(*shape, dtype="float64", seed=0):
    a = some(*shape, dtype=dtype, seed=seed)
    return a + adjoint(a)


def hard(n=12):
    """Name -> a matrix (n, n), symmetric or not; its largest number is about 1."""
    q, p = np.linalg.qr(some(n, n))[0], np.linalg.qr(some(n, n, seed=1))[0]
    steps = 10.0 ** -np.linspace(0, 20, n)
    return {
        "zero": np.zeros((n, n)),
        "identity": np.eye(n),
        "ones": np.ones((n, n)),
        "of rank 3": some(n, 3) @ some(3, n, seed=1),
        "graded": steps[:, None] * some(n, n) * steps,
        "graded backwards": (steps[:, None] * some(n, n) * steps)[::-1, ::-1],
        "clustered": q * (1 + 1e-13 * np.arange(n)) @ p,
        "of all sizes": q * steps @ p,
        "shift": np.eye(n, k=1),
        "exchange": np.eye(n)[::-1],
        "with twins": np.diag(abs(np.arange(n) - n / 2)) + np.eye(n, k=1) + np.eye(n, k=-1),
        "Hilbert": 1 / (1 + np.add.outer(np.arange(n), np.arange(n))),
    }


def graded(many, n, dtype):
    """Many matrices whose numbers fall by 40 powers of ten from one corner to the other."""
    steps = 10.0 ** -np.linspace(0, 20, n)
    return (steps[:, None] * some(many, n, n, dtype=dtype) * steps).astype(dtype)


def agree(found, wanted, dtype, times=40.0):
    """Within a small multiple of the rounding of a dtype, as a part of the largest number."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    size = max(abs(wanted).max(initial=0), np.finfo(dtype).tiny)
    assert found.shape == wanted.shape
    assert abs(found / size - wanted / size).max(initial=0) <= times * np.finfo(dtype).eps


def same_derivatives(f, g, a, torch, seed=9):
    """Two losses, of a Var and of a tensor, have the same first and second gradients; second ones along a direction."""
    along = some(*a.shape, dtype=str(a.dtype), seed=seed)
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)
    dx, (dt,) = jt.grad(f(x), x), torch.autograd.grad(g(t), t, create_graph=True)
    agree(dx.numpy(), dt.detach().numpy(), "float64", 1e4)
    slope, slope_t = (dx * jt.array(along.conj())).sum(), (dt * torch.tensor(along.conj())).sum().real
    ddx, (ddt,) = jt.grad(slope.apply(REAL), x), torch.autograd.grad(slope_t, t)
    agree(ddx.numpy(), ddt.numpy(), "float64", 1e4)


def same_as_differences(f, a, seed=9, step=1e-5):
    """The gradient and its gradient are what differences say, along a direction."""
    along = some(*a.shape, dtype=str(a.dtype), seed=seed)

    def slope(b):
        x = jt.array(b)
        return x, (jt.grad(f(x), x) * jt.array(along.conj())).sum().apply(REAL)

    def moved(g):
        return (g(a + step * along) - g(a - step * along)) / (2 * step)

    x, first = slope(a)
    second = (jt.grad(first, x).numpy() * along.conj()).sum().real
    agree(first.item(), moved(lambda b: f(jt.array(b)).item()), "float32", 1e2)
    agree(second, moved(lambda b: slope(b)[1].item()), "float32", 1e2)
