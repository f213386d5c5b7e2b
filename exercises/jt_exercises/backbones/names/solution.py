# %% [markdown]
# ## 6. Exercise 11.2: whose name is that?
#
# The cell above prints some of her names and of ours. Write `rename`, which returns our name for one of hers, and
# returns a name that it does not know as it is. But first write `report`. It takes two dicts, name → shape, of the file
# and of the network, and returns three lists of names: those *missing* from the file, those *unexpected* in it, and
# those in both whose *shape differs*.
#
# **Predict** the three lists for a network with four classes; hers has ten. What does the file lack, what in it has no
# place in our network, and what has another shape?

# %%
from jt_exercises import YourTurn, check, hint, solution


def report(theirs, ours):
    """(missing, unexpected, with another shape) of two dicts, name -> shape."""
    # BEGIN SOLUTION return three lists of names
    missing = [name for name in ours if name not in theirs]
    unexpected = [name for name in theirs if name not in ours]
    both = [name for name in ours if name in theirs]
    return missing, unexpected, [name for name in both if theirs[name] != ours[name]]
    # END SOLUTION


def rename(name):
    """Our name for one of hers: "stem.conv.weight" -> "conv1.weight"."""
    # BEGIN SOLUTION return our name; one that has none here stays as it is
    for old, new in [
        ("stem.conv", "conv1"),
        ("stem.norm", "bn1"),
        ("skip.conv", "downsample.0"),
        ("skip.norm", "downsample.1"),
        ("stage", "layer"),
        ("norm", "bn"),
        ("gamma", "weight"),
        ("beta", "bias"),
        ("moving_mean", "running_mean"),
        ("moving_variance", "running_var"),
        ("classifier", "fc"),
    ]:
        name = name.replace(old, new)
    return name
    # END SOLUTION


check("11.2", report, rename)
