# %% [markdown]
# ## 4. Exercise 02.4: a matrix product
#
# A matrix product is `c[i, j] = sum over k of a[i, k] * b[k, j]`. Use only `reindex`, `*` and `reindex_reduce`: read
# `a` and `b` with the counters (i, k, j), multiply, and add up along k.

# %%
from jt_exercises import YourTurn, check, hint, solution


def my_matmul(a, b):
    """(n, m) times (m, p)."""
    # BEGIN SOLUTION read a, read b, multiply, and add up along k
    (n, m), p = a.shape, b.shape[1]
    A = a.reindex((n, m, p), lambda i, k, j: (i, k))
    B = b.reindex((n, m, p), lambda i, k, j: (k, j))
    return (A * B).reindex_reduce("add", (n, p), lambda i, k, j: (i, j))
    # END SOLUTION


check("02.4", my_matmul)
