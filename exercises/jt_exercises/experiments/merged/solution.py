# %% [markdown]
# ## 2. Exercise 17.1: settings over settings
#
# Write the heart of such a config yourself. `defaults` is a dict with dicts in it, and `overrides` has whole paths as
# its keys, such as `{"TRAIN.EPOCHS": 3, "SEED": 7}`. Return a new dict: the defaults, with these settings laid over
# them. The defaults stay as they are, for the next experiment begins with them.
#
# * A path that leads nowhere is refused: raise a `KeyError` that names the whole path. So is one that leads to a dict,
#   for that is no setting.
# * A value keeps the type of the default. Another one is refused: raise a `TypeError` that names the path. True is no
#   number, and 1 is no bool. With one exception: where a float stands, an int is accepted, and becomes a float.

# %%
import copy

from jt_exercises import YourTurn, check, hint, solution


def merged(defaults, overrides):
    """{"TRAIN": {"EPOCHS": 10}}, {"TRAIN.EPOCHS": 3} -> {"TRAIN": {"EPOCHS": 3}}"""
    # BEGIN SOLUTION return new settings, or refuse
    settings = copy.deepcopy(defaults)
    for path, value in overrides.items():
        *around, name = path.split(".")
        node = settings
        for step in around:
            node = node.get(step) if isinstance(node, dict) else None
        if not isinstance(node, dict) or name not in node or isinstance(node[name], dict):
            raise KeyError(path)
        new = float(value) if type(value) is int and type(node[name]) is float else value
        if type(new) is not type(node[name]):
            raise TypeError(path)
        node[name] = new
    return settings
    # END SOLUTION


check("17.1", merged)
