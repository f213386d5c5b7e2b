# %% [markdown]
# ## 9. Exercise 01.9: backwards through batch norm, name by name
#
# Batch norm gives each column of `x` mean 0 and variance 1. (In the code below, 1e-5 is added to the variance, so that
# nothing is divided by 0.) On the way forward, each step has a name. On the way back, you give each name a gradient,
# from the last to the first. `dnormal` is the gradient of `normal`, which arrives from the rest of the network; the
# gradient of `scale` is already computed from it. Compute the other five from those above them. `centred` and `x` have
# **two** readers each, so their gradients are sums. The check compares yours with the framework's, and says whether it
# is *exact*, to the last bit.

# %%
from jt_exercises import YourTurn, check, hint, solution


def backwards(x, dnormal):
    """The gradient of each name, from the last to the first."""
    n = x.shape[0]
    mean = x.sum(0) / n
    centred = x - mean
    square = centred * centred
    variance = square.sum(0) / n
    scale = (variance + 1e-5) ** -0.5  # and normal = centred * scale

    d = {"normal": dnormal, "scale": (dnormal * centred).sum(0)}
    # BEGIN SOLUTION give d["variance"], d["square"], d["centred"], d["mean"] and d["x"] their gradients
    d["variance"] = d["scale"] * -0.5 * (variance + 1e-5) ** -1.5
    d["square"] = (d["variance"] / n).broadcast_to(square.shape)
    d["centred"] = dnormal * scale + d["square"] * centred * 2
    d["mean"] = -d["centred"].sum(0)
    d["x"] = d["centred"] + d["mean"] / n
    # END SOLUTION
    return d


check("01.9", backwards)
