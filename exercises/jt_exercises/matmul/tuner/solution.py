# %% [markdown]
# ## 6. Exercise 06.6: let the machine choose
#
# Which tile is best depends on the machine, so ask it. Write `tune(candidates, run, clock)`: `run(t)` runs a kernel
# with tile `t`, and raises `ValueError` where that tile cannot run; `clock()` is a time in seconds. Answer with the
# fastest candidate. It is tried on simulated machines: first runs compile, half of the runs are disturbed on some,
# others become slower and slower.

# %%
from jt_exercises import YourTurn, check, hint, solution


def tune(candidates, run, clock):
    """The candidate whose runs take the least time."""
    # BEGIN SOLUTION run the candidates, and return the fastest
    least = {}
    for t in candidates:
        try:
            run(t)
        except ValueError:
            continue
        least[t] = float("inf")
    for _ in candidates * len(candidates):  # some 30 rounds: in one of them nothing disturbs it
        for t, shortest in least.items():
            begin = clock()
            run(t)
            least[t] = min(shortest, clock() - begin)
    return min(least, key=least.get)
    # END SOLUTION


check("06.6", tune)
