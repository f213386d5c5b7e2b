# %% [markdown]
# ## 7. Exercise 08.4: a prefix sum over several blocks
#
# A *prefix sum* has at place i the sum of x[0] to x[i]. In a block it takes a few steps: each thread adds what stands
# 1 place before its own, then 2 places before it, then 4, and so on. `tile` holds the numbers. In each step all threads
# read, then comes a barrier, then all write, and then comes another one. Without the first barrier a thread would read
# what another one has changed already.
#
# Blocks cannot wait for each other inside a kernel. The end of a kernel is the only place where all of them meet. So
# write two. `scanned` makes the prefix sums of each block of 32, and writes the sum of the whole block to
# `totals[block]`. `shifted` is launched after it, and adds to each element the totals of all blocks before its own.

# %%
from jt_edu import cuda
from jt_exercises import YourTurn, check, hint, solution


@cuda.jit
def scanned(x, out, totals):
    tile = cuda.shared.array(32, "float32")
    t, i = cuda.threadIdx.x, cuda.grid(1)
    # BEGIN SOLUTION fill the tile, add what stands 1, 2, 4, ... places before; then write `out`, and the total
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    for by in (1, 2, 4, 8, 16):
        before = tile[t - by] if t >= by else 0
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
    if i < x.size:
        out[i] = tile[t]
    if t == 31:
        totals[cuda.blockIdx.x] = tile[t]
    # END SOLUTION


@cuda.jit
def shifted(out, totals):
    # BEGIN SOLUTION add the totals of all blocks before this one
    i = cuda.grid(1)
    if i < out.size:
        for b in range(cuda.blockIdx.x):
            out[i] += totals[b]
    # END SOLUTION


check("08.4", scanned, shifted)
