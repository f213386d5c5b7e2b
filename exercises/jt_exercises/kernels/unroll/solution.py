# %% [markdown]
# ### Exercise 04.4: four rows at once
#
# Do it. `four_rows` is that kernel, and its middle is missing. Mind tables whose rows are no multiple of four: their
# last rows come one by one. It goes number by number, without slices, and is no slower than before. (You can try it in
# the view, too: there it is called `kernel`.)

# %%
from jt_edu.backends.mathlib import at, float32, float64
from jt_exercises import YourTurn, check, hint, solution


def four_rows(lo, hi, n0, a0, out0, acc0):
    for i0 in range(lo, hi):
        acc0[at(i0 - lo)] = float64(0)
    # BEGIN SOLUTION add four rows at a time to acc0, and then those that are left
    for row in range(0, n0 - 3, 4):
        for k in range(lo, hi):
            p0 = a0[at(row), at(k)] + a0[at(row + 1), at(k)] + a0[at(row + 2), at(k)] + a0[at(row + 3), at(k)]
            acc0[at(k - lo)] = acc0[at(k - lo)] + p0
    for row in range(n0 - n0 % 4, n0):
        for k in range(lo, hi):
            acc0[at(k - lo)] = acc0[at(k - lo)] + a0[at(row), at(k)]
    # END SOLUTION
    for i0 in range(lo, hi):
        out0[at(i0)] = float32(acc0[at(i0 - lo)])


check("04.4", four_rows)
