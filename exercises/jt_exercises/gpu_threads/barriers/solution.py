# %% [markdown]
# ## 11. Exercise 08.6: where is a barrier missing?
#
# In each of these three kernels one barrier is missing. Their numbers are right as often as not, and that is the
# trouble with races. Write down for each kernel the number of the line *behind* which the barrier belongs. It stands
# as deep as that line; behind a line with a colon it stands inside. `see.gpu_grid` shows any of them at work, as
# above.

# %%
from jt_exercises import YourTurn, check, hint, solution

missing = {"rolled": None, "largest": None, "smoothed": None}
# BEGIN SOLUTION a line for each kernel
missing = {"rolled": 5, "largest": 11, "smoothed": 9}
# END SOLUTION

check("08.6", missing)
