# %% [markdown]
# ## 4. Exercise 08.2: neighbors together
#
# Now in two dimensions. `cuda.grid(2)` gives two numbers. The first one counts along x, and a warp is 32 threads in a
# row along x. Rows of a matrix lie one after the other in memory, and the numbers of a row are neighbors.
#
# Write `added`: each element of `out` is the sum of those of a and of b. The threads of a warp should touch neighbors,
# so that they share their trips to memory. Do not forget the guard, in both directions.

# %%
from jt_edu import cuda
from jt_exercises import YourTurn, check, hint, solution


@cuda.jit
def added(a, b, out):
    # BEGIN SOLUTION which element has this thread? The one that counts faster goes along a row
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[i, j] + b[i, j]
    # END SOLUTION


check("08.2", added)
