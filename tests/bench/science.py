"""Science: Fourier transforms, linear algebra and derivatives of functions, beside PyTorch (MKL), one thread each."""

from tests.bench import science_fft, science_func, science_linalg

ROUNDS = 15
TITLE = "Fourier transforms, linear algebra and derivatives, beside PyTorch (MKL) and NumPy, one thread each."
NOTES = """
* **fft of n, batch b**: b transforms of n complex64 numbers; **rfft** of float32 numbers. **beside NumPy**: the same
  numbers, with NumPy's pocketfft as the other side.
* **1,009**: a prime, a convolution of three transforms here (Bluestein). `jt.fft.plan(n)` tells the steps of a length.
* **eigh, svd**: values and vectors, of float32 numbers; **qr, lu, Cholesky**: the factors.
* **peer: our loop**, **peer: our gradient**: the other side is ours as well.
"""
ROWS = (*science_fft.FFT, *science_linalg.LINALG, *science_func.ROWS)
