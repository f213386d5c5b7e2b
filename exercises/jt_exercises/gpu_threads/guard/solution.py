# %% [markdown]
# ## 2. Exercise 08.1: a guard
#
# Write `scaled`: each element of `out` is a times that of x, plus that of y. A launch has whole blocks, so there are
# more threads than elements, and those beyond the end have nothing to do. Nobody stops them: an index that an array
# does not have hits whatever lies beyond it.

# %%
from jt_edu import cuda
from jt_exercises import YourTurn, check, hint, solution


@cuda.jit
def scaled(a, x, y, out):
    # BEGIN SOLUTION find the number of this thread, and let it do its element, if it has one
    i = cuda.grid(1)
    if i < x.size:
        out[i] = a * x[i] + y[i]
    # END SOLUTION


check("08.1", scaled)
