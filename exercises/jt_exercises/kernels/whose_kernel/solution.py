# %% [markdown]
# ### Exercise 04.1: whose kernel is it?
#
# The output above ends with six more kernels, without comments. Which expression does each come from? `x` has two axes,
# `row` has one.

# %%
from jt_exercises import check, hint, solution

whose = {
    "x * 2 + 1": None,
    "x + row": None,
    "x.transpose(0, 1) * 2": None,
    "x[:, ::2] * 2": None,
    "x.sum(1)": None,
    "x.sum(0)": None,
}
# BEGIN SOLUTION put a letter such as "A" in place of each None
whose = dict(zip(whose, "DBFAEC", strict=True))
# END SOLUTION
check("04.1", whose)
