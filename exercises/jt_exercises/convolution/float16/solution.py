# %% [markdown]
# ## 5. Exercise 07.4: what Winograd pays with
#
# Four outputs at once need 6 products instead of 12, six need 8 instead of 18. Why not sixty? `transform(m)` has the
# matrices of m outputs: `y = t.AT @ ((t.G @ g) * (t.BT @ d))`. Their numbers grow, and large numbers are subtracted
# from each other. Write `half`, which returns `y` as a machine with float16 would compute it: `d`, `g`, and the
# result of *each* of the four steps are rounded by `.astype(np.float16)`; the matrices stay as they are.
#
# **Predict** how the error grows from the plain sum to `F(2, 3)`, `F(4, 3)` and `F(6, 3)`, which have 2, 4 and 6
# outputs. When `half` is right, the check tells all four.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution
from jt_exercises.convolution import transform

t = transform(2)  # try others: print(transform(6).BT)


def half(t, d, g):
    # BEGIN SOLUTION round d, g, and what each of the four steps gives
    d, g = d.astype(np.float16), g.astype(np.float16)
    taps = (t.G @ g).astype(np.float16)
    inputs = (t.BT @ d).astype(np.float16)
    products = (taps * inputs).astype(np.float16)
    return (t.AT @ products).astype(np.float16)
    # END SOLUTION


check("07.4", half)
