# %% [markdown]
# ## 9. Exercise 10.9: a step, by hand
#
# Now without an optimiser. The gradient of a parameter says how the loss changes with each of its numbers; a step of
# *gradient descent* goes the other way: the new number is the old one, minus the *learning rate* `lr` times the
# gradient. `jt.grad(loss, parameters)` is a list with one gradient for each parameter, and `p.assign(v)` gives a
# parameter the value `v`. Write `descend`. It is compared with `optim.SGD`, after one step and after three. While it
# runs, no optimiser takes a step.
#
# And how large may a step be? Near its lowest point every smooth loss looks like a valley, `curvature * w * w / 2`,
# where `w` is how far a parameter is from the best place. Its gradient is `curvature * w`. **Predict**: what does the
# loss do with a small learning rate? With a larger one? With one that is larger still?
#
# Write `largest`: the learning rate above which each step ends farther from the best place than it began. When both
# are right, the check shows the loss of six steps down a valley, with 0.5, 0.95, 1 and 1.05 times the largest.

# %%
import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def descend(parameters, loss, lr):
    """One step, in place."""
    # BEGIN SOLUTION give each parameter its new value
    gradients = jt.grad(loss, parameters)
    for p, g in zip(parameters, gradients, strict=True):
        p.assign(p - lr * g)
    # END SOLUTION


def largest(curvature):
    # BEGIN SOLUTION return the largest learning rate
    return 2 / curvature
    # END SOLUTION


check("10.9", descend, largest)
