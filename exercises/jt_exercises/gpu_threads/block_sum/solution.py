# %% [markdown]
# ## 6. Exercise 08.3: a sum of a block
#
# Write `block_sum`. Each block of 64 threads adds up its 64 numbers of x, and writes the sum to `out[block]`. Go as in
# the picture above: all numbers into shared memory, and then half of the threads add the other half to theirs, until
# one number is left. Elements beyond the end of x count as 0.
#
# The check wants the right sums, no race, and no *bank conflict*. Shared memory has 32 banks, and number k is in bank
# `k % 32`. If threads of a warp, its *lanes*, want different numbers of the same bank, they get them one after the
# other: that is a conflict. If the threads that add are neighbors, and the numbers that they touch, too, there is none.
# And it wants most threads to work as long as there is work: one thread that adds all numbers makes the others wait,
# and a warp takes a step for one of its threads as for all 32.

# %%
from jt_edu import cuda
from jt_exercises import YourTurn, check, hint, solution


@cuda.jit
def block_sum(x, out):
    tile = cuda.shared.array(64, "float32")
    t, i = cuda.threadIdx.x, cuda.grid(1)
    # BEGIN SOLUTION fill the tile, halve it until one number is left, and let one thread write that
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
    # END SOLUTION


check("08.3", block_sum)
