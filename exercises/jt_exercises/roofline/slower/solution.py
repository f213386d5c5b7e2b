# %% [markdown]
# ## 7. Exercise 05.6: ten percent slower?
#
# You changed a kernel. Is it slower than before, by more than 10 %? Somebody will stop your change if the answer is
# wrong, so it should be right on a machine that is disturbed, and that becomes slower or faster while you measure, as
# laptops do when they get warm. Complete `is_slower(old, new, clock)`. You may run each of the two 30 times.

# %%
from jt_exercises import YourTurn, check, hint, solution


def is_slower(old, new, clock):
    # BEGIN SOLUTION find `before` and `after`, the seconds that old() and new() take
    def took(work):
        begin = clock()
        work()
        return clock() - begin

    before = after = float("inf")
    for _ in range(30):
        before = min(before, took(old))
        after = min(after, took(new))
    # END SOLUTION
    return after > 1.1 * before


check("05.6", is_slower)
