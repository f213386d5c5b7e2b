# %% [markdown]
# ## 2. Exercise 04.2: find the kernels of a line
#
# Large programs have hundreds of kernels, and you want to know what became of *one* line. A kernel `k` has `k.lines`,
# one for each comment that you saw; `line.where` is its text, such as `cell 2:2: scaled = x * w + 1`: line 2 of
# `In[2]`.
#
# Write `kernels_of`: the numbers of the kernels, from 0 on, in which a line is computed that contains `words`.

# %%
from jt_exercises import YourTurn, check, hint, solution


def kernels_of(kernels, words):
    """[0, 2] for the first and the third kernel."""
    # BEGIN SOLUTION return the numbers of the kernels with such a line
    found = []
    for number, k in enumerate(kernels):
        where = [line.where for line in k.lines]
        if any(words in text for text in where):
            found.append(number)
    return found
    # END SOLUTION


check("04.2", kernels_of)
