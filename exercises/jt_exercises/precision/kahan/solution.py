# %% [markdown]
# ## 10. Exercise 12.5: what was rounded away
#
# Kahan's sum stays in one dtype, and computes with each addition what rounding has taken away. That is possible, since
# `new - total` is what has really been added:
#
# - `small` is the next value, minus what was added too much so far, `lost`;
# - `new` is the sum of `total` and `small`, and it is rounded;
# - `(new - total) - small` is what that rounding has added too much. It is the next `lost`.
#
# Write it. The values are numbers of float16, and what you add and subtract stays float16.

# %%
from jt_exercises import YourTurn, check, hint, solution


def kahan(values):
    """The sum of a list of numbers, in their own dtype."""
    # BEGIN SOLUTION add them one by one, and keep what each rounding has added too much
    total, lost = 0, 0
    for value in values:
        small = value - lost
        new = total + small
        lost = (new - total) - small
        total = new
    return total
    # END SOLUTION


check("12.5", kahan)
