# %% [markdown]
# ## 1. Exercise 06.1: which loop goes inside?
#
# Memory comes into a cache in *lines* of 64 bytes, 16 numbers that lie one behind the other in a row of a matrix. A
# loop that reads along a row uses all 16 of a line at once. One that reads down a column fetches a line for one number,
# and by the time its neighbour is wanted, the line may be gone. A read or write that finds no line in the cache is a
# *miss*.
#
# `ijk`, `ikj` and `jki` are `c[i, j] += a[i, k] * b[k, j]` in three loops; the last letter is the innermost loop.
# **Predict**: rank the innermost loops "i", "j" and "k", best first. (The check counts misses in a simulated cache.)

# %%
from jt_exercises import check, hint, solution

best_first = [None, None, None]
# BEGIN SOLUTION put "i", "j" and "k" in place of the three None, best first
best_first = ["j", "k", "i"]
# END SOLUTION
check("06.1", best_first)
