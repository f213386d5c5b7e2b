# %% [markdown]
# ## 4. Exercise 06.4: sixteen sums in registers
#
# Even the nearest cache is farther away than a register. `ijk` reads two numbers for each multiply-add. But 4 numbers
# of `a` and 4 of `b` have 16 products: 8 reads for 16 multiply-adds. So compute a block of 4 by 4 numbers of `c` at
# once, in sixteen variables, and write them when the loop over `k` is over. Sizes are multiples of 4.

# %%
from jt_exercises import YourTurn, check, hint, solution


def blocked(a, b, c):
    """c is a @ b; all sizes are multiples of 4."""
    # BEGIN SOLUTION compute a block of 4 by 4 numbers of c at a time
    (n, m), p = a.shape, b.shape[1]
    for i in range(0, n, 4):
        for j in range(0, p, 4):
            s = [0.0] * 16
            for k in range(m):
                x = [a[i + r, k] for r in range(4)]
                y = [b[k, j + q] for q in range(4)]
                for r in range(4):
                    for q in range(4):
                        s[4 * r + q] += x[r] * y[q]
            for r in range(4):
                for q in range(4):
                    c[i + r, j + q] = s[4 * r + q]
    # END SOLUTION


check("06.4", blocked)
