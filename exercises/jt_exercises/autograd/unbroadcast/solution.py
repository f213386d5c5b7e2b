# %% [markdown]
# ## 6. Exercise 01.6: a broadcast is undone by a sum
#
# `bias` of shape (3,) is added to `x` of shape (4, 3): each number of `bias` is *used four times*, so its gradient is
# the sum of four numbers. **Predict** the shape of the gradient of `bias`, and of a `scale` of shape (4, 1).
#
# Then write `unbroadcast`: it gets a gradient of the large shape, and sums it down to the small one. Remember that
# broadcasting adds missing axes on the left, and repeats axes of length 1.
#
# <details><summary>The answer to the prediction</summary> (3,) and (4, 1): a gradient always has the same shape as the
# Var it belongs to. The check uses six shapes. </details>

# %%
from jt_exercises import YourTurn, check, hint, solution


def unbroadcast(dout, shape):
    # BEGIN SOLUTION sum over the axes that broadcasting added or repeated
    while dout.ndim > len(shape):
        dout = dout.sum(0)
    for axis, length in enumerate(shape):
        if length == 1:
            dout = dout.sum(axis, keepdims=True)
    return dout
    # END SOLUTION


check("01.6", unbroadcast)
