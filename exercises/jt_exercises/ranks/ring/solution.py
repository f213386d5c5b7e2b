# %% [markdown]
# ### Exercise 13.2: the ring
#
# Fill in the two loops. `pass_on(k)` sends chunk k to the right, and gives you the one that comes from the left, which
# is number k - 1. In the first step rank r sends chunk r.
#
# 1. P - 1 steps: pass a chunk on, and add what comes to your own chunk of that number.
# 2. P - 1 steps: pass a finished chunk on, and put what comes in place of your own.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def ring_allreduce(comm, x):
    """The sum of the x of all ranks, by a ring."""
    P, r = comm.size, comm.rank
    chunks = np.array_split(x.copy(), P)

    def pass_on(k):
        came = np.empty_like(chunks[(k - 1) % P])
        comm.Sendrecv(chunks[k % P], (r + 1) % P, recvbuf=came, source=(r - 1) % P)
        return came

    # BEGIN SOLUTION write both loops
    for s in range(P - 1):
        chunks[(r - s - 1) % P] += pass_on(r - s)
    for s in range(P - 1):
        chunks[(r - s) % P] = pass_on(r + 1 - s)
    # END SOLUTION
    return np.concatenate(chunks)


check("13.2", ring_allreduce)
