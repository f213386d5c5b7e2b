# %% [markdown]
# ## Exercise 03.1: which kernel computes what?
#
# `((points / points.abs().sum()).exp() @ weights).max(1)` has six operators, if the matrix product counts as one.
# **Predict** which of them share a kernel: give those the same number (0, 1, ...).

# %%
from jt_exercises import check, hint, solution

kernel_of = {"absolute": None, "sum": None, "divide": None, "exp": None, "matmul": None, "max": None}
# BEGIN SOLUTION give each operator the number of its kernel
kernel_of = {"absolute": 0, "sum": 0, "divide": 0, "exp": 0, "matmul": 1, "max": 2}
# END SOLUTION
check("03.1", kernel_of)
