# %% [markdown]
# ### Exercise 05.5: misses, counted
#
# An array of `lines` cache lines is read from the first to the last, `passes` times. The cache holds `cache` lines and,
# when a new one comes, throws out the least recently used one. How often is a line not there? Write the formula; it is
# compared with a simulated cache.

# %%
from jt_exercises import YourTurn, check, hint, solution


def misses(lines, cache, passes):
    # BEGIN SOLUTION return how often a line is not there
    rounds = 1 if lines <= cache else passes
    return lines * rounds
    # END SOLUTION


check("05.5", misses)
