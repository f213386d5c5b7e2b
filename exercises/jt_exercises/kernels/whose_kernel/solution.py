# %% [markdown]
# **Exercise 1.** Below it stand six more kernels, without comments. They are those of six expressions: whose is which?
# `x` has two axes, `row` has one.

# %%
from jt_exercises import check

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
