# %% [markdown]
# ### Exercise 07.1: the windows, as columns
#
# Write down for each place the window that it sees, as a column; then the convolution is `weights @ columns`. That is
# *im2col*. In jt_edu it is one `reindex`: answer with shape (n, c, kh, kw, oh, ow), where element (n, c, i, j, y, x) is
# what tap (i, j) of place (y, x) looks at, and 0 outside the image.

# %%
from jt_exercises import YourTurn, check, hint, solution


def columns(image, kh, kw, stride, padding):
    # BEGIN SOLUTION return one reindex of the image
    (n, c, h, w), s, p = image.shape, stride, padding
    shape = (n, c, kh, kw, (h + 2 * p - kh) // s + 1, (w + 2 * p - kw) // s + 1)
    return image.reindex(shape, lambda n, c, i, j, y, x: (n, c, y * s + i - p, x * s + j - p))
    # END SOLUTION


check("07.1", columns)
