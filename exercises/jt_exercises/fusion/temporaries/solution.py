# %% [markdown]
# ## Exercise 03.6: what has fusion removed?
#
# `jt.explain` returns kernels. `k.nodes` lists the ids of the values that kernel `k` computes, and `k.stored` those it
# stores; `values[id]` is (operator, bytes). Return how many arrays were computed and never stored, and their bytes. For
# one kernel that computes 7 and 8 and stores 8, that is `(1, values[7][1])`. Two kernels may compute the same value,
# which counts once.

# %%
from jt_exercises import YourTurn, check, hint, solution


def removed(kernels, values):
    # BEGIN SOLUTION return how many arrays are never stored, and their bytes
    computed = {n for k in kernels for n in k.nodes}
    stored = {n for k in kernels for n in k.stored}
    gone = computed - stored
    return len(gone), sum(values[n][1] for n in gone)
    # END SOLUTION


check("03.6", removed)
