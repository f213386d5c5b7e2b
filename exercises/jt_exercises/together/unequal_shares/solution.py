# %% [markdown]
# ### Exercise 13b.1: the mean of unequal shares
#
# 9 examples on 4 ranks: shares of 3, 2, 2 and 2. Each rank has the mean gradient of its own share. `combine` should
# give each of them the mean gradient of all 9 examples. Somebody wrote
#
# ```python
# return comm.allreduce(gradient) / comm.size
# ```
#
# which is right only where all shares are equally large. Write it so that it is always right. A rank without an example
# has a `count` of 0, and a gradient of zeros.

# %%
from jt_exercises import YourTurn, check, hint, solution


def combine(comm, gradient, count):
    """The mean gradient over all examples; here `gradient` is the mean over `count` of them."""
    # BEGIN SOLUTION return the mean over the examples of all ranks
    total = comm.allreduce(gradient * count)
    examples = comm.allreduce(count)
    return total / examples
    # END SOLUTION


check("13b.1", combine)
