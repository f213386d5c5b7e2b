# %% [markdown]
# ## 2. Exercise 12.1: does it fit?
#
# A dtype with e bits of *exponent* and f bits of *fraction* holds the numbers
#
# - `± 1.bbb… · 2**p`, with f binary digits b, for each whole p from 1 - bias to bias, where bias = `2**(e-1) - 1`,
# - and below them `± 0.bbb… · 2**(1 - bias)`, which reach down to 0 in equal steps. These are called *subnormal*.
#
# float16 has e = 5 and f = 10, bfloat16 has e = 8 and f = 7, float32 has e = 8 and f = 23. A number between two of them
# is rounded to the nearer one, and in the middle to the one whose last digit is even. So half of the least number
# becomes 0. What is larger than the largest number is rounded as if the numbers went on, and is inf if it would become
# the next power of two, or more.
#
# Write `fate`, which says what becomes of x, for any e and f: `"zero"`, `"number"` or `"inf"`.

# %%
from jt_exercises import YourTurn, check, hint, solution


def fate(x, e, f):
    """What x becomes with e bits of exponent and f bits of fraction: a text, such as "number"."""
    # BEGIN SOLUTION find where rounding goes to 0, and where to inf
    bias = 2 ** (e - 1) - 1
    least, largest, step = 2.0 ** (1 - bias - f), (2 - 2.0**-f) * 2.0**bias, 2.0 ** (bias - f)
    if abs(x) <= least / 2:
        return "zero"
    return "inf" if abs(x) >= largest + step / 2 else "number"
    # END SOLUTION


check("12.1", fate)
