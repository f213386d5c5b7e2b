# %% [markdown]
# ## 5. Exercise 02.5: a convolution, and pooling
#
# A convolution slides a small window over an image: `out[r, c] = sum over i, j of image[r + i, c + j] * window[i, j]`.
# The *stride* s is how far the window moves at each step. The *padding* p is how many rows and columns of 0 are added
# on each side. With them it reads `image[r * s + i - p, c * s + j - p]`. Max pooling reads the same way, but takes the
# maximum of each window. For the maximum, the padding does not count.
#
# Write both functions, again with only `reindex`, `*` and `reindex_reduce`.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def my_conv2d(image, window, stride=1, padding=0):
    """An image (H, W) and a window (h, w)."""
    # BEGIN SOLUTION read what each window covers, multiply, and add up
    (H, W), (h, w), s, p = image.shape, window.shape, stride, padding
    box = ((H + 2 * p - h) // s + 1, (W + 2 * p - w) // s + 1, h, w)
    covered = image.reindex(box, lambda r, c, i, j: (r * s + i - p, c * s + j - p))
    products = covered * window.reindex(box, lambda r, c, i, j: (i, j))
    return products.reindex_reduce("add", box[:2], lambda r, c, i, j: (r, c))
    # END SOLUTION


def my_max_pool(image, size, stride, padding=0):
    """An image (H, W), and windows of `size` rows and columns."""
    # BEGIN SOLUTION read what each window covers, and take the maximum
    (H, W), s, p = image.shape, stride, padding
    box = ((H + 2 * p - size) // s + 1, (W + 2 * p - size) // s + 1, size, size)
    covered = image.reindex(box, lambda r, c, i, j: (r * s + i - p, c * s + j - p), fill=-np.inf)
    return covered.reindex_reduce("maximum", box[:2], lambda r, c, i, j: (r, c))
    # END SOLUTION


check("02.5", my_conv2d, my_max_pool)
