# %% [markdown]
# ## 9. Exercise 12.4: a copy that remembers
#
# The way out is a second copy of the weights, in float32: the *master weights*. The network computes with halves. Each
# step changes the masters, and the halves are made from them anew.
#
# Write `trained`. Take care in which dtype `lr * gradient` is computed: NumPy multiplies a float16 array by a Python
# number in float16, and that product may be too small as well.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def trained(weights, gradients, lr):
    """The weights, (n,), after a step for each of the gradients, (steps, n); all are float16."""
    # BEGIN SOLUTION keep a copy in float32, change that one, and return it in float16
    master = weights.astype(np.float32)
    for gradient in gradients:
        master = master - lr * gradient.astype(np.float32)
    return master.astype(np.float16)
    # END SOLUTION


check("12.4", trained)
