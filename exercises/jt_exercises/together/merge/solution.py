# %% [markdown]
# ### Exercise 13b.3: merge
#
# Fill in `merge`. It is exact algebra: how far is each mean from the common one? One of the two sets may be empty; then
# its count, mean and M2 are 0.

# %%
from jt_exercises import YourTurn, check, hint, solution


def merge(a, b):
    """(count, mean, M2) of two sets of numbers together."""
    (na, mean_a, M2a), (nb, mean_b, M2b) = a, b
    # BEGIN SOLUTION return the three of them, without taking the difference of two large numbers
    n = na + nb
    away = mean_b - mean_a
    return n, mean_a + away * nb / n, M2a + M2b + away**2 * na * nb / n
    # END SOLUTION


check("13b.3", merge)
