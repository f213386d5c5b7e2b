# %% [markdown]
# ## 3. Exercise 07.2: fewer multiplications
#
# Two outputs of a window of three: `y0 = d0 g0 + d1 g1 + d2 g2` and `y1 = d1 g0 + d2 g1 + d3 g2`. Six products.
# Winograd does it with four: with `m1 = (d0 - d2) g0`, `m2 = (d1 + d2) (g0 + g1 + g2) / 2`, `m3 = (d2 - d1) (g0 - g1 +
# g2) / 2` and `m4 = (d1 - d3) g2`, what are `y0` and `y1`? The sums of the `g` are made once for all pixels.
#
# Write it, and then the one for two directions: 4 by 4 inputs, 3 by 3 taps, 2 by 2 outputs, 16 products instead of 36.
# The numbers that you get count their products; constants such as 1/2 cost nothing.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def winograd(d, g):
    """[y0, y1] of d = [d0, d1, d2, d3] and g = [g0, g1, g2]."""
    # BEGIN SOLUTION compute m1 to m4, and return two sums of them
    m1 = (d[0] - d[2]) * g[0]
    m2 = (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2)
    m3 = (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2)
    m4 = (d[1] - d[3]) * g[2]
    return [m1 + m2 + m3, m2 - m3 - m4]
    # END SOLUTION


def winograd_2d(d, g):
    """2 by 2 outputs of d, 4 by 4, and g, 3 by 3: lists of lists."""
    # BEGIN SOLUTION the same in two directions, by 16 products
    AT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    BT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    d, g = np.array(d), np.array(g)
    return AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T
    # END SOLUTION


check("07.2", winograd, winograd_2d)
