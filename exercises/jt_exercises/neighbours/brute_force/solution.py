# %% [markdown]
# ### Exercise 09.1: all distances
#
# The plain way. `in0` holds the queries and `in1` the points. `@out(i, r)` is the *number* of a point: the one nearest
# to query `i` for `r` = 0, the second nearest for `r` = 1, and so on. Compute the distances to all points, then pick
# the smallest, again and again. Points may have any number of axes. Read numbers one by one, such as `@in0(i, a)`, and
# no rows. Threads should share the queries.

# %%
from jt_exercises import check, hint, solution

NEAREST = """
for i in prange(out_shape0):
    # BEGIN SOLUTION compute the distances to all points, then pick the smallest, again and again
    far = np.zeros(in1_shape0)
    for j in range(in1_shape0):
        for a in range(in1_shape1):
            far[j] += (in0[i, a] - in1[j, a]) ** 2
    for r in range(out_shape1):
        j = np.argmin(far)
        out[i, r] = j
        far[j] = np.inf
    # END SOLUTION
"""
check("09.1", NEAREST)
