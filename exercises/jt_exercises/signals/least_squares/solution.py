# %% [markdown]
# ## 8. Exercise 16.3: least squares without squares
#
# A curve that goes through no point exactly can still be the best one: that with the smallest sum of squared errors.
# The columns of `a` are what the curve is made of, such as 1, t and t², at the m places t. Wanted are the n numbers
# `x`, one for each column, for which `a @ x` is as near to `y` as it can be.
#
# `q, r = jt.linalg.qr(a)` makes a product of it, `a = q @ r`. The columns of q have length 1 and are at right angles to
# each other, as if they were axes that somebody rotated; r is a triangle. A rotation changes no length, so the best x
# solves `r x = q.T y`.
#
# Write `back`, which solves `r x = b` for a triangle, with a loop: the last row has one unknown. And write `fit` with
# it. `back` gets arrays of NumPy. (Below its diagonal, the check fills r with nan: there is nothing to be read.)

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
