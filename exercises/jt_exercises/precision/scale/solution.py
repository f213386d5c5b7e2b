# %% [markdown]
# ## 6. Exercise 12.3: a scale that finds itself
#
# Which scale is right? It depends on the network, and it changes while the network learns. A *dynamic* scale is found
# while one trains. It begins large, and follows a rule:
#
# - If a gradient is inf or nan, the scale was too large. Leave this step out: the weights stay what they are. Halve the
#   scale, and begin to count clean steps from 0.
# - Else divide the gradients by the scale, and make the step. That was one clean step more. After `window` clean steps
#   in a row double the scale, and begin to count from 0.
#
# Write one such step, of gradient descent: the new weights are the old ones minus `lr` times the gradient. `clean` says
# how many clean steps there were in a row, until now.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def scaled_step(weights, gradients, scale, clean, lr=0.1, window=4):
    """(weights, scale, clean) after a step; `gradients` are those of the loss times `scale`. NumPy arrays."""
    # BEGIN SOLUTION leave the step out, or make it; and say how the scale goes on
    if not np.isfinite(gradients).all():
        return weights, scale / 2, 0
    weights, clean = weights - lr * gradients / scale, clean + 1
    return (weights, scale * 2, 0) if clean == window else (weights, scale, clean)
    # END SOLUTION


check("12.3", scaled_step)
