# %% [markdown]
# ## 7. Exercise 16.2: the butterfly
#
# Write a butterfly yourself, for whole arrays of complex numbers. `even` is the transform of the numbers at the even
# places of a signal, and `odd` is the transform of those at the odd places. Each has length n / 2. Return the transform
# X of the whole signal:
#
#     X[k]         = even[k] + w[k] * odd[k]         for k from 0 to n / 2 - 1
#     X[k + n / 2] = even[k] - w[k] * odd[k]         with w[k] = exp(-2πi k / n)
#
# Multiplying by w[k] is what turns `odd[k]`. In Python, i is `1j`. With your function, `fft(x)` is `x` for a single
# number, and `butterfly(fft(x[::2]), fft(x[1::2]))` for more. The check tries that, too. **Predict**: for 65,536
# numbers, how many products does that save?

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
