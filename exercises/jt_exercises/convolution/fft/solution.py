# %% [markdown]
# ## 4. Exercise 07.3: by Fourier transform
#
# A product of Fourier transforms is a convolution: for n by n pixels it costs about n² log n, *however large the
# window*. But it goes round (what runs out on the right comes in on the left), and it flips the window. Write
# `fft_conv` with `np.fft`: the sum over windows, at all places where the window lies inside the image.

# %%
import numpy as np

from jt_exercises import YourTurn, check, hint, solution


def fft_conv(image, window):
    """(h, w) by (kh, kw) -> (h - kh + 1, w - kw + 1), real."""
    # BEGIN SOLUTION multiply two transforms, transform back, and keep the places that did not go round
    spectrum = np.fft.fft2(image) * np.conj(np.fft.fft2(window, image.shape))
    (h, w), (kh, kw) = image.shape, window.shape
    return np.fft.ifft2(spectrum).real[: h - kh + 1, : w - kw + 1]
    # END SOLUTION


check("07.3", fft_conv)
