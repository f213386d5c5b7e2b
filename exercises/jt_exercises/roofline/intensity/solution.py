# %% [markdown]
# ## 2. Exercise 05.1: one figure of a kernel
#
# The *intensity* of a kernel is its operations over the bytes that it reads and writes, each array counted once. All
# arrays are large, and float32 where nothing else is said: 4 bytes for a number. A multiplication and an addition are
# two operations. Write fractions, such as `2 / 7`.

# %%
from jt_exercises import check, hint, solution

intensity = {
    "x + y": None,
    "x * 2": None,
    "x.sum()": None,
    "x + y, float64": None,
    "(x * 2 + 1) * x - 3, fused": None,
    "a @ b, 1200 by 1200": None,
}
# BEGIN SOLUTION write a number in the place of each None
intensity["x + y"] = 1 / 12
intensity["x * 2"] = 1 / 8
intensity["x.sum()"] = 1 / 4
intensity["x + y, float64"] = 1 / 24
intensity["(x * 2 + 1) * x - 3, fused"] = 4 / 8
intensity["a @ b, 1200 by 1200"] = 200
# END SOLUTION
check("05.1", intensity)
