# %% [markdown]
# ### Exercise 13.1: pass a word on
#
# Each rank has a word for the one to its right; the last one's right is rank 0. Fill in `pass_right` with `send` and
# `recv` alone. It has to work for any number of ranks from 2 on, and where every send waits for its receiver.

# %%
from jt_exercises import YourTurn, check, hint, solution


def pass_right(comm, word):
    """The word of the rank to the left."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    # BEGIN SOLUTION send your word to the right, and return the one that comes from the left
    if comm.rank > 0:
        comm.send(word, right)
    came = comm.recv(source=left)
    if comm.rank == 0:
        comm.send(word, right)
    return came
    # END SOLUTION


check("13.1", pass_right)
