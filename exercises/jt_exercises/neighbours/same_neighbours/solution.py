# %% [markdown]
# ## 6. Exercise 09.5: when are two answers the same?
#
# If a few rows above differ, nothing is wrong. Where two points are equally far away, or so nearly that rounding
# decides, either may come first. So never test indices for equality. There is a second trap. A point of the cloud is
# its own nearest neighbour, *unless* it has a twin in the same place; then the twin may come first. So cutting off the
# first column does not always cut off the point itself.
#
# Write a test that gets this right. `agrees(queries, points, found)` is given NumPy arrays, and says, with `True` or
# `False`, whether `found`, of shape (queries, k), is *a* right answer. It must accept every right one, and refuse every
# wrong one.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def agrees(queries, points, found):
    # BEGIN SOLUTION say whether these are k nearest points of each query, the nearest first
    k, far = found.shape[1], ((queries[:, None] - points) ** 2).sum(2)
    if found.min() < 0 or found.max() >= len(points):
        return False
    if any(len(set(row)) < k for row in found.tolist()):
        return False
    return np.allclose(np.take_along_axis(far, found, 1), np.sort(far, 1)[:, :k])
    # END SOLUTION


check("09.5", agrees)
