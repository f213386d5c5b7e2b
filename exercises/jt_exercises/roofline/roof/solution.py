# %% [markdown]
# ## 3. Exercise 05.2: the roof
#
# Write `roof`: how many operations per second a kernel of some intensity can reach at best, and what limits it:
# "memory" or "arithmetic". (Where both take the same time, at the ridge, say "arithmetic".)

# %%
from jt_exercises import YourTurn, check, hint, solution


def roof(intensity, bandwidth, peak):
    """(operations per second, "memory" or "arithmetic"); bandwidth is in bytes per second."""
    # BEGIN SOLUTION return the pair
    ridge = peak / bandwidth
    return min(intensity * bandwidth, peak), "memory" if intensity < ridge else "arithmetic"
    # END SOLUTION


check("05.2", roof)
