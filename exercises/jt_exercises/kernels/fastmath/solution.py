# %% [markdown]
# ### Exercise 04.3: what the compiler may do
#
# Which of these may the compiler do to our kernels? `True` or `False`.

# %%
from jt_exercises import check, hint, solution

may = {
    "(a + b) + c  ->  a + (b + c)": None,
    "a * b + c  ->  one instruction": None,
    "a - a  ->  0": None,
    "isnan(a)  ->  False": None,
    "a + 0  ->  a": None,
    "a / b  ->  a * (1 / b)": None,
}
# BEGIN SOLUTION put True or False in place of each None
may = dict(zip(may, [True, True, False, False, False, False], strict=True))
# END SOLUTION
check("04.3", may)
