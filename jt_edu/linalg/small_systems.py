"""Small systems: many matrices side by side, so that each step of an elimination is done to 64 of them at once.

    one by one      a b c d | a b c d | a b c d       rows of four numbers are too short for vectors of 16
    side by side    a a a | b b b | c c c | d d d     the first numbers of 64 matrices, then their second numbers, ...

Pivots are looked for in each matrix for itself; a row is exchanged by choosing, number by number, between two values.
The text is that of `lu_kernel` without blocks, and keeps no L: only the answer comes out. A batch is filled up with
nan, which is no pivot that is 0, so that nobody complains of matrices that are not there.
"""

from __future__ import annotations

from collections.abc import Callable

from jt_edu.linalg.lu_kernel import SINGULAR
from jt_edu.linalg.matrices import RAISES, by_dtype, of_batch
from jt_edu.ops.pad import pad
from jt_edu.ops.transpose import permute
from jt_edu.variable.var import Var

LANES = 64  # matrices at once
MOST = 12  # rows; larger matrices have rows that are long enough
FEWEST = 128  # matrices
TEXT = """
def kernel(lo, hi, x, out):
    n, wide, w, lanes = x.shape[1], x.shape[2], out.shape[2], x.shape[3]
    for tile in range(lo, hi):
        a = out[tile]
        for i in range(n):
            for j in range(w):
                row, own = a[i, j], x[tile, i, min(j, wide - 1)]
                for l in range(lanes):
                    row[l] = own[l] if j < wide else 1 if j == wide + i else 0
        for j in range(n):
            most, pivot, diagonal, number = a[n, 0], a[n, 1], a[j, j], {real}(j)
            for l in range(lanes):
                most[l] = abs(diagonal[l])
                pivot[l] = number
            for i in range(j + 1, n):
                row, number = a[i, j], {real}(i)
                for l in range(lanes):
                    size = abs(row[l])
                    pivot[l] = number if size > most[l] else pivot[l]
                    most[l] = size if size > most[l] else most[l]
            for i in range(j + 1, n):
                number = {real}(i)
                for c in range(j, w):
                    top, row = a[j, c], a[i, c]
                    for l in range(lanes):
                        p, q = top[l], row[l]
                        top[l] = q if pivot[l] == number else p
                        row[l] = p if pivot[l] == number else q
            for i in range(j + 1, n):
                factor = a[i, j]
                for l in range(lanes):
                    factor[l] /= diagonal[l]
                for c in range(j + 1, w):
                    top, row = a[j, c], a[i, c]
                    for l in range(lanes):
                        row[l] -= factor[l] * top[l]
        for i in range(n - 1, -1, -1):
            diagonal = a[i, i]
            for l in range(lanes):
                if diagonal[l] == 0:
                    {singular}
            for c in range(n, w):
                row = a[i, c]
                for j in range(i + 1, n):
                    factor, below = a[i, j], a[j, c]
                    for l in range(lanes):
                        row[l] -= factor[l] * below[l]
                for l in range(lanes):
                    row[l] /= diagonal[l]
"""


def solver(name: str, rule: Callable[..., Var]) -> Callable[[Var, int], Var]:
    """A function (batch, n, w) -> (batch, n, r): [A | B] solved, or [A] inverted.

    `rule` is its gradient, of matrices one by one: (X, dX, [A | B]) -> d[A | B].
    """

    def gradient(out: Var, dout: Var, x: Var) -> Var:
        n = x.shape[1]
        answer, given = (_one_by_one(v[:, :n, n:]) for v in (out, dout))
        return _side_by_side(rule(answer, given, _one_by_one(x)))

    op = by_dtype(name, RAISES + TEXT.replace("{singular}", SINGULAR), (gradient,))

    def solve(x: Var, r: int) -> Var:
        n = x.shape[1]
        out = of_batch(op, _side_by_side(x), n + 1, n + r, LANES)
        return _one_by_one(out[:, :n, n:])[: len(x)]

    return solve


def suits(x: Var) -> bool:
    """Whether a batch is large, and its matrices small and real: complex numbers do not fit into vectors so well."""
    return len(x) >= FEWEST and 0 < x.shape[1] <= MOST and x.dtype.kind == "f"


def _side_by_side(x: Var) -> Var:
    """(batch, n, m) -> (tiles, n, m, 64)."""
    batch, n, m = x.shape
    tiles = -(-batch // LANES)
    full = pad(x, (0, 0, 0, 0, 0, tiles * LANES - batch), value=float("nan"))
    return permute(full.reshape(tiles, LANES, n, m), 0, 2, 3, 1)


def _one_by_one(tiles: Var) -> Var:
    """(tiles, n, m, 64) -> (tiles * 64, n, m)."""
    count, n, m, lanes = tiles.shape
    return permute(tiles, 0, 3, 1, 2).reshape(count * lanes, n, m)
