"""Gradients of linear algebra, of both orders: against differences, and against PyTorch."""

import numpy as np
import pytest

import jt_edu as jt
from tests.floors.linalg.factors import some, steady

la = jt.linalg
A, B, WIDE, TALL = (3, 3), (3, 2), (2, 4), (4, 2)


def own(linalg):
    """A function of a matrix of any kind: of A A^H + 1, which is its own adjoint."""
    return lambda f: lambda a: f(a @ a.mH + 1)


def cases(la):
    """Name -> (function, shapes of its inputs), in our words or PyTorch's."""
    positive = own(la)
    return {
        "cholesky": (positive(la.cholesky), A),
        "upper cholesky": (positive(lambda a: la.cholesky(a, upper=True)), A),
        "solve": (la.solve, A, B),
        "solve on the right": (lambda a, b: la.solve(a, b, left=False), A, (2, 3)),
        "solve for a vector": (la.solve, A, (3,)),
        "solve for a batch": (la.solve, A, (2, 3, 2)),
        "inv": (la.inv, A),
        "det": (la.det, A),
        "slogdet": (lambda a: tuple(la.slogdet(a)), A),
        "lu": (lambda a: tuple(la.lu(a))[1:], A),
        "wide lu": (lambda a: tuple(la.lu(a))[1:], WIDE),
        "tall lu": (lambda a: tuple(la.lu(a))[1:], TALL),
        "lu_solve": (lambda a, b: la.lu_solve(*la.lu_factor(a), b), A, B),
        "adjoint lu_solve": (lambda a, b: la.lu_solve(*la.lu_factor(a), b, adjoint=True), A, B),
        "qr": (lambda a: tuple(la.qr(a)), A),
        "wide qr": (lambda a: tuple(la.qr(a)), WIDE),
        "tall qr": (lambda a: tuple(la.qr(a)), TALL),
        "solve_triangular": (lambda a, b: la.solve_triangular(a, b, upper=True), A, B),
        "unit solve_triangular": (lambda a, b: la.solve_triangular(a, b, upper=False, unitriangular=True), A, B),
        "lstsq": (lambda a, b: la.lstsq(a, b).solution, TALL, (4, 2)),
        "wide lstsq": (lambda a, b: la.lstsq(a, b).solution, WIDE, (2, 2)),
        "matrix_exp": (la.matrix_exp, A),
        "matrix_power": (lambda a: la.matrix_power(a, -2), A),
        "matrix_norm": (la.matrix_norm, A),
        "largest row": (lambda a: la.matrix_norm(a, float("inf")), A),
        "vector_norm": (lambda a: la.vector_norm(a, 3, dim=1), A),
        "tensorinv": (lambda a: la.tensorinv(a, 1), (4, 2, 2)),
        "cholesky of two": (positive(la.cholesky), (2, 3, 3)),
        "det of two": (la.det, (2, 3, 3)),
        "qr of two": (lambda a: tuple(la.qr(a)), (2, 3, 3)),
        "matrix_exp of two": (la.matrix_exp, (2, 2, 2)),
    }


def weighted(library, answer):
    """A real number that all parts of an answer count in, linearly and squared."""
    make = jt.array if library is jt else library.tensor
    total = 0.0
    for k, part in enumerate(answer if isinstance(answer, tuple) else (answer,)):
        weight = make(some(tuple(part.shape), str(part.dtype).rpartition(".")[2], seed=k + 5))
        total = total + (part * weight + part * part * weight).sum()
    return total.real if "complex" in str(total.dtype) else total


def inputs(shapes, dtype):
    return [(steady if s[-1:] == s[-2:-1] else some)(s, dtype, seed=k) for k, s in enumerate(shapes)]


def dotted(gradients, directions):
    return sum((g.conj() * d).sum() for g, d in zip(gradients, directions, strict=True)).real


NAMES = list(cases(la))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_both_orders_are_differences(name, dtype):
    function, *shapes = cases(la)[name]
    start, ways = inputs(shapes, dtype), [some(s, dtype, seed=k + 9) for k, s in enumerate(shapes)]

    def at(step, order):
        """The loss and its gradient, a step along the way; of order 2, of the gradient's own weighted sum."""
        vs = [jt.array(a + step * w) for a, w in zip(start, ways, strict=True)]
        loss = weighted(jt, function(*vs))
        for _ in range(order - 1):
            loss = weighted(jt, tuple(jt.grad(loss, vs)))
        return loss.item(), [g.numpy() for g in jt.grad(loss, vs)]

    with jt.flag_scope(backend="python"):
        for order in (1, 2):
            h = 1e-5
            slope = (at(h, order)[0] - at(-h, order)[0]) / (2 * h)
            assert dotted(at(0, order)[1], ways) == pytest.approx(slope, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_pytorch(torch, name, dtype):
    function, *shapes = cases(la)[name]
    theirs = cases(torch.linalg)[name][0]
    start = inputs(shapes, dtype)

    with jt.flag_scope(backend="python"):
        vs = [jt.array(a) for a in start]
        found = jt.grad(weighted(jt, function(*vs)), vs)
        ts = [torch.tensor(a, requires_grad=True) for a in start]
        wanted = torch.autograd.grad(weighted(torch, theirs(*ts)), ts)
        for ours, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours.numpy(), other.resolve_conj().numpy(), rtol=1e-8, atol=1e-8)


def test_columns_of_q_that_a_does_not_determine_have_no_gradient():
    with jt.flag_scope(backend="python"):
        x = jt.array(some(TALL))
        with pytest.raises(jt.GradientError, match="the gradient of qr needs the columns of Q to be given by A"):
            jt.grad(la.qr(x, "complete").R.sum(), x)


def test_blocks_have_the_gradients_of_pytorch(torch):
    a, b = steady((40, 40)), some((40, 2))

    def loss(library, la, a, b):
        factor = la.cholesky(a @ a.mH)
        return weighted(library, (la.solve(a, b), la.qr(a).R, la.lu(a).U, factor))

    vs, ts = [jt.array(x) for x in (a, b)], [torch.tensor(x, requires_grad=True) for x in (a, b)]
    found = jt.grad(loss(jt, jt.linalg, *vs), vs)
    for ours, other in zip(found, torch.autograd.grad(loss(torch, torch.linalg, *ts), ts), strict=True):
        np.testing.assert_allclose(ours.numpy(), other.numpy(), rtol=1e-7, atol=1e-7)
