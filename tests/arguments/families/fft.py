"""Fourier transforms: lengths, axes, norms, beside PyTorch's."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import some
from tests.arguments.rows import as_numpy, as_torch, shows

fft = jt.fft
REAL = some(3, 4, 6)
COMPLEX = REAL + 1j * some(3, 4, 6)[::-1]
ONE = {"n": 5, "dim": 0, "norm": "ortho"}
SEVERAL = {"s": (5, 3), "dim": (0, 1), "norm": "ortho"}


def _rows(name, tries):
    x = REAL if name.startswith(("rfft", "ihfft")) else COMPLEX

    def twin(torch, x, **given):
        return getattr(torch.fft, name)(x, **given).resolve_conj()

    return as_torch(getattr(fft, name), x, twin=twin, **tries)


ROWS = [
    *(r for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for r in _rows(name, ONE)),
    *(r for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for k in "2n" for r in _rows(name + k, SEVERAL)),
    *(r for name in ("fftfreq", "rfftfreq") for r in as_torch(
        getattr(fft, name), 5, twin=lambda torch, n, name=name, **given: getattr(torch.fft, name)(n, **given), d=0.5)),
    *(r for f in (fft.fftfreq, fft.rfftfreq) for r in as_numpy(
        f, 5, twin=lambda n, dtype, f=f: getattr(np.fft, f.__name__)(n).astype(dtype), dtype="float64")),
    *(r for f in (fft.fftshift, fft.ifftshift) for r in as_numpy(f, REAL, twin=getattr(np.fft, f.__name__),
                                                                words={"dim": "axes"}, dim=1)),
    *shows(fft.plan, "batch", 16, lambda **given: repr(fft.plan(1024, **given)), "1024: stages of 8, 8, 4, 4"),
    *shows(fft.plan, "radices", (2, 4), lambda **given: fft.plan(8, **given).rows, (2, 4)),
]  # fmt: skip
