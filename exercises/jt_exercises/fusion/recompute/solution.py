# %% [markdown]
# ## Exercise 03.4: store a value, or compute it again?
#
# So there is a choice, and you can calculate which way is better. Suppose that a value is read by several operators;
# `readers` says how many. `bandwidth` is how many bytes can be moved per second, and `peak` how many operations can be
# done per second. Return how many seconds each way takes. Moving takes bytes / bandwidth, computing takes operations /
# peak, and the two do not overlap:
#
# * *stored*: the inputs are read once and the work is done once; the value is written, and read by each reader;
# * *again*: each reader reads the inputs and does the work.

# %%
from jt_exercises import YourTurn, check, hint, solution


def seconds(value, inputs, work, readers, bandwidth, peak):
    """(stored, again); `value` and `inputs` are bytes, `work` is the operations for the whole value."""
    # BEGIN SOLUTION return the seconds of both ways
    stored = (inputs + value + readers * value) / bandwidth + work / peak
    again = readers * (inputs / bandwidth + work / peak)
    return stored, again
    # END SOLUTION


check("03.4", seconds)
