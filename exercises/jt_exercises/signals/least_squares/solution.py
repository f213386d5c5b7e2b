# %% [markdown]
# ## 8. Exercise 16.3: least squares without squares
#
# Now to fitting. There are m points (t, y), and seldom does a curve go through all of them. The best curve is the one
# with the smallest sum of squared errors. Each column of `a` is one thing that the curve is made of, such as 1, t or
# t², at the m places t. You look for n numbers `x`, one for each column, for which `a @ x` is as near to `y` as it can
# be.
#
# `q, r = jt.linalg.qr(a)` writes a as a product, `a = q @ r`. The columns of q have length 1 and are at right angles to
# each other, like axes that somebody rotated. r is a triangle: below its diagonal there is nothing. A rotation changes
# no length, so the best x solves `r x = q.T y`.
#
# Write `back`, which solves `r x = b` for a triangle r, with a loop. Begin with the last row: it has only one unknown.
# Then write `fit` with it. `back` gets arrays of NumPy. (Below the diagonal of r the check puts nan, so that you notice
# when you read it.)

# %%
import numpy as np

import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def back(r, b):
    """(n, n), (n,) -> x, for which r x = b. Only the diagonal of r, and what is right of it, counts."""
    x = np.zeros(len(b))
    # BEGIN SOLUTION fill x from its end, and return it
    for i in reversed(range(len(b))):
        x[i] = (b[i] - r[i, i + 1 :] @ x[i + 1 :]) / r[i, i]
    return x
    # END SOLUTION


def fit(a, y):
    """(m, n), (m,) -> (n,): Vars, with at least as many rows as columns. Use `back`."""
    # BEGIN SOLUTION rotate y as the columns of a, and solve
    q, r = jt.linalg.qr(a)
    return back(r.numpy(), (q.T @ y).numpy())
    # END SOLUTION


check("16.3", back, fit)
