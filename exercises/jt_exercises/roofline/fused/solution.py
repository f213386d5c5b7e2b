# %% [markdown]
# ### Exercise 05.3: which fusion moves a dot
#
# Fusion leaves the operations as they are and removes bytes, so it moves dots to the right. By which factor? Answer 1
# where it does not. The arrays `x`, `y` and `z` are equally large.

# %%
from jt_exercises import check, hint, solution

factor = {
    "x.sum()": None,
    "x * 2 + 1": None,
    "(x * x + 1).sum()": None,
    "(x + y) * z": None,
}
# BEGIN SOLUTION write a number in the place of each None
factor["x.sum()"] = 1
factor["x * 2 + 1"] = 2
factor["(x * x + 1).sum()"] = 5
factor["(x + y) * z"] = 1.5
# END SOLUTION
check("05.3", factor)
