# %% [markdown]
# ### Exercise 13b.4: batch norm, backward
#
# y = (x - mean) / std, where mean and std are those of the *whole* batch, so every y depends on every x, on whatever
# rank it is. With dy given,
#
# $$dx = \frac{1}{std} \left( dy - \overline{dy} - y \cdot \overline{dy \cdot y} \right)$$
#
# where a bar is a mean over the whole batch. Fill in the two means; `count` is how many examples all ranks have.

# %%
from jt_exercises import YourTurn, check, hint, solution


def normalised_backward(comm, dy, y, std, count):
    """dx of this rank's share."""
    # BEGIN SOLUTION find mean_dy and mean_dy_y, over the whole batch
    mean_dy = comm.allreduce(dy.sum()) / count
    mean_dy_y = comm.allreduce((dy * y).sum()) / count
    # END SOLUTION
    return (dy - mean_dy - y * mean_dy_y) / std


check("13b.4", normalised_backward)
