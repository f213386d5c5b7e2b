"""Jacobi's rotations: each makes one number 0, and in the end the eigenvalues are left."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg.jacobi import jacobi_rotations
from tests.floors.linalg.special import hermitian, some


@pytest.mark.parametrize("n", [0, 1, 2, 5, 16])
def test_each_step_turns_two_axes_and_the_last_leaves_the_eigenvalues(n):
    a = before = hermitian(n, n)

    steps = jacobi_rotations(jt.array(a))

    for p, q, angle, after in steps:
        r = np.eye(n)
        r[p, p] = r[q, q] = math.cos(angle)
        r[q, p], r[p, q] = math.sin(angle), -math.sin(angle)
        np.testing.assert_allclose(after, r.T @ before @ r, atol=1e-12)
        assert after[p, q] == after[q, p] == 0
        assert abs(angle) <= math.pi / 4
        before = after
    np.testing.assert_allclose(np.sort(np.diag(before)), np.linalg.eigvalsh(a), atol=1e-12)


def test_a_diagonal_matrix_needs_no_step():
    assert jacobi_rotations(np.diag([3.0, 1.0, 3.0])) == []


def test_what_cannot_be_looked_at_is_refused():
    for a in (np.ones(3), np.ones((2, 3)), np.eye(17)):
        with pytest.raises(jt.ShapeError, match="at most 16 rows"):
            jacobi_rotations(a)
    with pytest.raises(np.linalg.LinAlgError, match="real numbers; found dtype complex128"):
        jacobi_rotations(hermitian(2, 2, dtype="complex128"))
    for a in (some(3, 3), some(3, 3) * 1e-20, np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError, match="symmetric matrix of finite numbers"):
            jacobi_rotations(a)
