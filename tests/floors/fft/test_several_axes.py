"""Transforms of several axes against PyTorch; frequencies and shifts."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import fft

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
ASKED = (
    {}, {"dim": (0, 2)}, {"dim": (2, 0)}, {"dim": (1,)}, {"s": (4, 7)}, {"s": (5, 3), "dim": (2, 1)},
    {"s": (-1, 6), "dim": (0, 1)}, {"dim": (-1, -3), "norm": "ortho"}, {"norm": "forward"}, {"s": (3, 3, 8)},
)  # fmt: skip
TWO = ({}, {"s": (4, 7)}, {"dim": (0, 1), "norm": "ortho"}, {"s": (5, -1), "norm": "forward"})


@pytest.mark.parametrize("asked", [*ASKED], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_several_axes_are_those_of_pytorch(torch, rng, name, asked):
    same(torch, rng, f"{name}n", asked)


@pytest.mark.parametrize("asked", [*TWO], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_two_axes_are_those_of_pytorch(torch, rng, name, asked):
    same(torch, rng, f"{name}2", asked)


def same(torch, rng, name, asked):
    turn = 0 if name[:-1] in ("rfft", "ihfft") else 1j
    x = rng.standard_normal((3, 4, 10)) + turn * rng.standard_normal((3, 4, 10))

    ours = getattr(fft, name)(jt.array(x), **asked).numpy()

    theirs = getattr(torch.fft, name)(torch.tensor(x), **asked).resolve_conj().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_transform_of_no_axis_makes_numbers_complex():
    assert fft.fftn(jt.ones((2, 2)), dim=()).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts_are_those_of_numpy(n):
    for name in ("fftfreq", "rfftfreq"):
        found = getattr(fft, name)(n, 0.25, dtype="float64")
        np.testing.assert_array_equal(found.numpy(), getattr(np.fft, name)(n, 0.25))
    x = np.arange(3 * n).reshape(3, n)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0,), (1, 0)):
            found, wanted = getattr(fft, name)(jt.array(x), axes), getattr(np.fft, name)(x, axes)
            np.testing.assert_array_equal(found.numpy(), wanted)
