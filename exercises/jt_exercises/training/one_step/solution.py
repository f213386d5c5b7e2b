# %% [markdown]
# ### Exercise 10.8: three lines, and one more
#
# Write `learn`, one step of that loop: its three lines, and the one that is missing. Three such steps are compared with
# `optimizer.step(loss)` of part 3, which the optimiser of this exercise refuses: it wants `step()`.

# %%
import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def learn(net, optimizer, x, y):
    """One step, on one batch."""
    # BEGIN SOLUTION take one step: three lines of the loop above, and one more
    loss = jt.cross_entropy_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    # END SOLUTION


check("10.8", learn)
