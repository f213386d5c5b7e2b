# %% [markdown]
# ## 9. Exercise 08.5: a product by tiles
#
# Write the inner part of `product`, in blocks of 8 by 8 threads. For each k0 = 0, 8, 16, ... the threads of a block
# bring a tile of a and a tile of b into shared memory, one number each, and `zero` where there is none. Then each
# thread adds the 8 products of its row and its column. The sizes need not be multiples of 8. The interpreter must
# find nothing.

# %%
import numpy as np

from jt_edu import cuda
from jt_exercises import YourTurn, check, hint, solution


@cuda.jit
def product(a, b, out):
    left, right = cuda.shared.array((8, 8), "float32"), cuda.shared.array((8, 8), "float32")
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = zero = np.float32(0)
    for k0 in range(0, a.shape[1], 8):
        # BEGIN SOLUTION fill both tiles, and add up 8 products; where do all have to wait for each other?
        left[y, x] = a[i, k0 + x] if i < a.shape[0] and k0 + x < a.shape[1] else zero
        right[y, x] = b[k0 + y, j] if k0 + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for k in range(8):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
        # END SOLUTION
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = total


check("08.5", product)
