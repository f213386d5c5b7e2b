# %% [markdown]
# ### Exercise 06.2: tiles
#
# Work on a part that fits. Cut at least `k` and `j` into tiles of `t`: outer loops go from tile to tile, inner loops
# stay inside. `c` holds zeros at first. For now the sizes are multiples of `t`.

# %%
from jt_exercises import YourTurn, check, hint, solution


def tiled(a, b, c, t):
    """c is a @ b, where a is (n, m) and b is (m, p); tiles are t by t."""
    (n, m), p = a.shape, b.shape[1]
    # BEGIN SOLUTION write loops over tiles, loops inside them, and the line that all orders share
    for i0 in range(0, n, t):
        for k0 in range(0, m, t):
            for j0 in range(0, p, t):
                for i in range(i0, i0 + t):
                    for k in range(k0, k0 + t):
                        for j in range(j0, j0 + t):
                            c[i, j] += a[i, k] * b[k, j]
    # END SOLUTION


check("06.2", tiled)
