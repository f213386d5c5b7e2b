# %% [markdown]
# ## 7. Exercise 04.6: a kernel of your own
#
# A *leaky mean* makes a noisy curve smooth. It keeps nine tenths of what it was, and takes a tenth of each new number:
# `out[row, k]` is `0.9 * out[row, k - 1] + 0.1 * x[row, k]`, and before the first number it is 0. Each number needs the
# one before. No operator that computes at each index can say that, so write the kernel yourself: for all rows from `lo`
# to `hi - 1`, since threads share the rows. (Here `at` is not needed: nothing can be computed side by side.)
#
# `custom_kernel.kernel` makes an operator of it. What it cannot find out is the gradient: that is a *rule*, made of
# Vars. It is given what came out, the gradient `dout` of that, and `x`; it returns the gradient of `x`. A number
# `x[k]` goes into `out[k]` by a tenth, and through the mean into all that come later, each time with nine tenths of the
# weight before. So the gradient is a leaky mean as well, of `dout`, that walks the other way. (`v.flip(1)` turns each
# row around.)

# %%
from jt_edu.ops import custom_kernel
from jt_exercises import YourTurn, check, hint, solution

LEAKY = """
def kernel(lo, hi, x, out):
    # BEGIN SOLUTION write the leaky mean of each row into out
    for row in range(lo, hi):
        mean = 0.0
        for k in range(x.shape[1]):
            mean = 0.9 * mean + 0.1 * x[row, k]
            out[row, k] = mean
    # END SOLUTION
"""


def leaky(x):
    return custom_kernel.kernel("leaky", LEAKY, [leaky_gradient])(x, shape=x.shape, dtype=x.dtype, span=x.shape[0])


def leaky_gradient(out, dout, x):
    # BEGIN SOLUTION return the gradient of x, made with `leaky`
    return leaky(dout.flip(1)).flip(1)
    # END SOLUTION


check("04.6", LEAKY, leaky_gradient)
