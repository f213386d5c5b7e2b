# %% [markdown]
# ## 5. Exercise 05.4: an honest stopwatch
#
# All these figures stand on measured times. But the first run of a kernel compiles, and later ones are disturbed by
# other programs. Write `measure(work, clock)`: the seconds that `work()` takes where nothing disturbs it. `clock()` is
# the time now. You may run the work 50 times. It will be tried on simulated machines, whose true times are known: some
# are disturbed in 7 of 10 runs.

# %%
from jt_exercises import YourTurn, check, hint, solution


def measure(work, clock):
    # BEGIN SOLUTION run the work, read the clock, and return seconds
    times = []
    for _ in range(50):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)
    # END SOLUTION


check("05.4", measure)
