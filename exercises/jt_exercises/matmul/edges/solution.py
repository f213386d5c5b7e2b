# %% [markdown]
# ## 3. Exercise 06.3: the edges
#
# Now sizes that are no multiples of the tile: the last tile is smaller. Plain Python stops where an index is outside.
# A compiled kernel does not look; it reads and writes what lies behind the array. Take your loops from above, and make
# them right for all sizes, 0 and 1 too.

# %%
from jt_exercises import YourTurn, check, hint, solution


def tiled_anywhere(a, b, c, t):
    """c is a @ b, where a is (n, m) and b is (m, p); tiles are t by t, or smaller at the edges."""
    (n, m), p = a.shape, b.shape[1]
    # BEGIN SOLUTION write your loops again, so that they end where the matrices end
    for i0 in range(0, n, t):
        for k0 in range(0, m, t):
            for j0 in range(0, p, t):
                for i in range(i0, min(i0 + t, n)):
                    for k in range(k0, min(k0 + t, m)):
                        for j in range(j0, min(j0 + t, p)):
                            c[i, j] += a[i, k] * b[k, j]
    # END SOLUTION


check("06.3", tiled_anywhere)
