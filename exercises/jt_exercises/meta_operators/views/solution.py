# %% [markdown]
# ## 2. Exercise 02.2: views
#
# `x` has `h` rows and `w` columns. Write each of the six views below as one `reindex`, so that it is right for every
# `h` and `w`. The docstring of each shows how you would write it in NumPy.

# %%
from jt_exercises import YourTurn, check, hint, solution


def twice_as_wide(x, h, w):
    """Each column twice, 0 0 1 1 2 2 ...: `x.repeat(2, axis=1)`."""
    # BEGIN SOLUTION return one reindex, of the shape (h, 2 * w)
    return x.reindex((h, 2 * w), lambda i, j: (i, j // 2))
    # END SOLUTION


def transposed(x, h, w):
    """Rows become columns: `x.T`."""
    # BEGIN SOLUTION return one reindex; its shape is not that of `x`
    return x.reindex((w, h), lambda i, j: (j, i))
    # END SOLUTION


def upside_down(x, h, w):
    """The last row first: `x[::-1]`."""
    # BEGIN SOLUTION return one reindex of the same shape
    return x.reindex((h, w), lambda i, j: (h - 1 - i, j))
    # END SOLUTION


def every_second_column(x, h, w):
    """Columns 0, 2, 4, ...: `x[:, ::2]`."""
    # BEGIN SOLUTION return one reindex, of about half as many columns
    return x.reindex((h, (w + 1) // 2), lambda i, j: (i, 2 * j))
    # END SOLUTION


def diagonal(x, h, w):
    """x[0, 0], x[1, 1], ..., as far as there are any: `np.diagonal(x)`."""
    # BEGIN SOLUTION return one reindex, with one counter
    return x.reindex((min(h, w),), lambda i: (i, i))
    # END SOLUTION


def padded(x, h, w):
    """A border of zeros, one cell wide, around `x`: `np.pad(x, 1)`."""
    # BEGIN SOLUTION return one reindex, which reads outside of x as well
    return x.reindex((h + 2, w + 2), lambda i, j: (i - 1, j - 1))
    # END SOLUTION


check("02.2", twice_as_wide, transposed, upside_down, every_second_column, diagonal, padded)
