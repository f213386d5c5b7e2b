# %% [markdown]
# ## 7. Exercise 02.7: write these gradients yourself
#
# Each function gets `dout`, the gradient of what the original function returned. Return the gradient of `x`: with one
# `reindex_reduce` in the first two, and one `reindex` in the third.

# %%
from jt_exercises import YourTurn, check, hint, solution


def windows(x):
    """Three windows of 3, each 2 further than the one before: x has the shape (7,)."""
    return x.reindex((3, 3), lambda i, k: (2 * i + k,))


def windows_gradient(dout):
    """dout has shape (3, 3); the gradient of x has shape (7,)."""
    # BEGIN SOLUTION return one reindex_reduce
    return dout.reindex_reduce("add", (7,), lambda i, k: (2 * i + k,))
    # END SOLUTION


def backwards_twice(x):
    return x.reindex((2, 6), lambda r, i: (5 - i,))


def backwards_twice_gradient(dout):
    """dout has shape (2, 6); the gradient of x has shape (6,)."""
    # BEGIN SOLUTION return one reindex_reduce, too
    return dout.reindex_reduce("add", (6,), lambda r, i: (5 - i,))
    # END SOLUTION


def pairs_summed(x):
    return x.reindex_reduce("add", (3,), lambda i: (i // 2,))


def pairs_summed_gradient(dout):
    """dout has shape (3,); the gradient of x has shape (6,)."""
    # BEGIN SOLUTION return one reindex
    return dout.reindex((6,), lambda i: (i // 2,))
    # END SOLUTION


check("02.7", windows_gradient, backwards_twice_gradient, pairs_summed_gradient)
