# %% [markdown]
# ### Exercise 13.3: the crossing
#
# From how many bytes on is a ring faster than a tree? A tree on P ranks takes 2 · log₂ P messages of all n bytes, a
# ring 2 (P - 1) messages of n / P bytes, and a message of m bytes takes alpha + beta · m.

# %%
import math

from jt_exercises import YourTurn, check, hint, solution


def crossing(P, alpha, beta):
    """The number of bytes for which a tree and a ring on P ranks (2, 4, 8, 16, ...) take equally long."""
    # BEGIN SOLUTION set both times equal, and solve for n
    tree, ring = 2 * math.log2(P), 2 * (P - 1)
    return alpha * (ring - tree) / beta / (tree - ring / P)
    # END SOLUTION


check("13.3", crossing)
