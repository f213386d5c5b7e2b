# %% [markdown]
# ## Exercise 03.5: softmax, in how few passes?
#
# softmax is `exp(v - m) / s`, where `m` is the largest number of a row and `s` the sum of all `exp(v - m)`. Taken
# literally that is three passes: one for `m`, one for `s`, one to divide. But `m` and `s` can be computed in **one**
# pass, if `s` is corrected whenever a larger number turns up.
#
# Write the step: it gets `m` and `s` so far, and the next number `v`, and returns the new `(m, s)`. The first step
# gets m = -inf and s = 0. While all numbers are -inf, s stays 0.

# %%
import math

from jt_exercises import YourTurn, check, hint, solution


def step(m, s, v):
    # BEGIN SOLUTION return the new m and s
    new = max(m, v)
    if new == -math.inf:
        return new, 0.0
    return new, s * math.exp(m - new) + math.exp(v - new)
    # END SOLUTION


check("03.5", step)
