# %% [markdown]
# ## 7. Exercise 16.2: the butterfly
#
# Write those lines yourself, for arrays of complex numbers. `even` is the transform of the numbers at the even places
# of a signal, `odd` that of those at the odd places, and n is twice their length. Return the transform of the whole:
#
#     X[k]         = even[k] + w[k] * odd[k]         for k from 0 to n / 2 - 1
#     X[k + n / 2] = even[k] - w[k] * odd[k]         with w[k] = exp(-2πi k / n)
#
# With it, `fft(x)` is `x` for a single number, and `butterfly(fft(x[::2]), fft(x[1::2]))` for more; the check tries
# that, too. In Python, i is `1j`. **Predict**: for 65,536 numbers, how many products does that save?

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def butterfly(even, odd):
    """(n / 2,), (n / 2,) -> (n,): complex arrays of NumPy."""
    # BEGIN SOLUTION turn the odd ones, and return sums and differences
    n = 2 * len(even)
    turned = np.exp(-2j * np.pi * np.arange(len(even)) / n) * odd
    return np.concatenate([even + turned, even - turned])
    # END SOLUTION


check("16.2", butterfly)
