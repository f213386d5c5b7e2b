# %% [markdown]
# ### Exercise 13b.5: buckets
#
# `buckets` gets the bytes of the gradients in the order in which they are found, and fills one bucket after the other.
# A bucket is full, and leaves, as soon as it has `cap` bytes or more; the last one leaves at the end.

# %%
from jt_exercises import YourTurn, check, hint, solution


def buckets(sizes, cap):
    """[[number of the gradient, ...] of each bucket]: buckets([3, 3, 3, 10, 1], 6) is [[0, 1], [2, 3], [4]]."""
    found, held = [], cap
    # BEGIN SOLUTION put the number of each gradient into the last list of `found`, or into a new one
    for number, size in enumerate(sizes):
        if held >= cap:
            found.append([])
            held = 0
        found[-1].append(number)
        held += size
    # END SOLUTION
    return found


check("13b.5", buckets)
