# %% [markdown]
# ## 2. Exercise 16.1: a band
#
# A *filter* multiplies each bin by a number, its *gain*. With a gain of 1 a frequency stays, with 0 it is gone. Write
# two functions. `gains` returns 1 for each bin whose frequency is at least `low` and at most `high` hertz, and 0 for
# all others. `filtered` multiplies the spectrum of `x` by gains, and goes back to a signal as long as `x`.
#
# A signal of n numbers has n bins, but `rfft` returns only the first n // 2 + 1 of them. The numbers of a signal are
# real, and then bin n - k is bin k again, with the sign of its imaginary part changed. `jt.fft.irfft` goes back from
# these bins to the signal. n may be odd.

# %%
import numpy as np

import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def gains(n, rate, low, high):
    """(n // 2 + 1,): for n numbers, `rate` a second."""
    # BEGIN SOLUTION return a gain for each bin of rfft
    frequency = np.arange(n // 2 + 1) * rate / n
    return np.where((low <= frequency) & (frequency <= high), 1.0, 0.0)
    # END SOLUTION


def filtered(x, gain):
    """(n,), (n // 2 + 1,) -> (n,): both are Vars."""
    # BEGIN SOLUTION multiply the spectrum, and go back
    return jt.fft.irfft(jt.fft.rfft(x) * gain, len(x))
    # END SOLUTION


check("16.1", gains, filtered)
