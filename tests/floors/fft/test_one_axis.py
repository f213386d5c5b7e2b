"""Transforms of one axis against PyTorch and NumPy: every name, length, axis, norm, dtype; laws; errors."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import fft

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
BACK = ("irfft", "hfft")
LENGTHS = (*range(1, 65), 97, 1009, 2**16)


def signal(rng, name, *shape, dtype="complex128"):
    """Numbers that the function takes: real ones where it wants them."""
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return z.astype(dtype) if name not in ("rfft", "ihfft") else z.real.astype(np.empty(0, dtype).real.dtype)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("n", [None, 1, 4, 7, 12, 34])
@pytest.mark.parametrize("name", NAMES)
def test_a_transform_is_that_of_pytorch(torch, rng, name, n, dim, norm):
    x = signal(rng, name, 6, 5, 9)

    ours = getattr(fft, name)(jt.array(x), n, dim, norm).numpy()

    theirs = getattr(torch.fft, name)(torch.tensor(x), n, dim, norm).resolve_conj().numpy()
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 17])
@pytest.mark.parametrize("name", NAMES)
def test_all_lengths_are_exact_to_ten_digits(rng, name, batch):
    for n in LENGTHS if batch == 1 else LENGTHS[:-1:3]:
        x = signal(rng, name, batch, n // 2 + 1 if name in BACK else n)
        ours, theirs = getattr(fft, name)(jt.array(x), n).numpy(), getattr(np.fft, name)(x, n)
        assert abs(ours - theirs).max() <= 1e-10 * abs(theirs).max(), n


@pytest.mark.parametrize("n", [16, 60, 97, 1009, 4096])
@pytest.mark.parametrize("name", NAMES)
def test_float32_loses_no_more_digits_than_pytorch(torch, rng, name, n):
    x = signal(rng, name, 3, n // 2 + 1 if name in BACK else n, dtype="complex64")
    right = getattr(np.fft, name)(x.astype("complex128" if x.dtype.kind == "c" else "float64"), n)

    ours = getattr(fft, name)(jt.array(x), n).numpy()
    theirs = getattr(torch.fft, name)(torch.tensor(x), n).resolve_conj().numpy()

    assert ours.dtype == theirs.dtype
    assert abs(ours - right).max() <= 2 * abs(theirs - right).max() + 1e-7 * abs(right).max()


@pytest.mark.parametrize(
    ("found", "made"),
    [("float16", "complex64"), ("bfloat16", "complex64"), ("float32", "complex64"), ("float64", "complex128"),
     ("int8", "complex128"), ("uint64", "complex128"), ("complex64", "complex64"), ("complex128", "complex128")],
)  # fmt: skip
def test_dtypes_are_those_of_numpy(found, made):
    x = jt.array([1.0, 2.0, 3.0, 4.0]).cast(found)

    assert fft.fft(x).dtype == made
    assert fft.irfft(x).dtype == {"complex64": "float32", "complex128": "float64"}[made]
    np.testing.assert_allclose(fft.fft(x).numpy(), np.fft.fft([1, 2, 3, 4]), atol=1e-6)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 2), (17, 13), (2, 17, 1), (1, 19, 1, 1), (2, 77), (1, 272), (2, 34), (4, 10, 9), (3, 6, 17)]
)
def test_each_way_through_the_kernel_is_the_transform(rng, backend, shape):
    x = signal(rng, "fft", *shape, dtype="complex64")

    with jt.flag_scope(backend=backend):
        found = fft.fft(jt.array(x), dim=1).numpy()

    np.testing.assert_allclose(found, np.fft.fft(x, axis=1), rtol=1e-4, atol=1e-4)


def test_two_threads_find_the_same_along_rows_and_columns(rng):
    x = signal(rng, "fft", 40, 300)
    before = jt.get_num_threads()
    jt.set_num_threads(2)
    try:
        found = [fft.fft(jt.array(x), dim=dim).numpy() for dim in (0, 1)]
    finally:
        jt.set_num_threads(before)

    for dim in (0, 1):
        np.testing.assert_allclose(found[dim], np.fft.fft(x, axis=dim), rtol=1e-10, atol=1e-10)


# -------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("n", [8, 15, 34])
def test_a_transform_is_linear_and_keeps_lengths_and_turns_shifts_into_waves(rng, n):
    x, y = signal(rng, "fft", n), signal(rng, "fft", n)
    with jt.flag_scope(backend="python"):
        a, b, both = (fft.fft(jt.array(v)).numpy() for v in (x, y, 2 * x - 3j * y))
        shifted = fft.fft(jt.array(np.roll(x, 2))).numpy()
        ortho = fft.fft(jt.array(x), norm="ortho").numpy()

    np.testing.assert_allclose(both, 2 * a - 3j * b, atol=1e-12)
    np.testing.assert_allclose(np.vdot(ortho, ortho), np.vdot(x, x))  # Parseval
    np.testing.assert_allclose(shifted, a * np.exp(-2j * np.pi * 2 * np.arange(n) / n), atol=1e-12)


@pytest.mark.parametrize("n", [8, 15, 34])
def test_a_product_of_waves_is_a_convolution_around_a_circle(rng, n):
    x, y = rng.standard_normal((2, n))
    with jt.flag_scope(backend="python"):
        found = fft.irfft(fft.rfft(jt.array(x)) * fft.rfft(jt.array(y)), n).numpy()

    around = [sum(x[j] * y[(k - j) % n] for j in range(n)) for k in range(n)]
    np.testing.assert_allclose(found, around, atol=1e-12)


@pytest.mark.parametrize("n", [8, 9])
def test_the_way_back_does_not_look_at_what_cannot_be(n):
    waves = np.arange(n // 2 + 1) + 2.0 + 0j
    strange = waves.copy()
    strange[0] += 5j
    if n % 2 == 0:
        strange[-1] += 7j

    np.testing.assert_allclose(fft.irfft(jt.array(strange), n).numpy(), np.fft.irfft(waves, n), atol=1e-12)


def test_a_compiled_step_may_transform(rng):
    step = jt.compile(lambda v: fft.irfft(fft.rfft(v) * 2, 1009))

    for _ in range(3):
        x = rng.standard_normal((2, 1009))
        np.testing.assert_allclose(step(jt.array(x)).numpy(), 2 * x, atol=1e-12)


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: fft.fft(jt.zeros((3, 0))), r"one number or more; found shape \(3, 0\)"),
        (lambda: fft.irfft(jt.zeros(1)), "one number or more"),
        (lambda: fft.fft(jt.zeros(3), n=0), "n as a whole number from 1 to 2147483648; found n=0"),
        (lambda: fft.fft(jt.zeros(3), n=2.5), "n=2.5"),
        (lambda: fft.fft(jt.zeros(3), n=10**13), "n=10000000000000"),
        (lambda: fft.fft(jt.array(1.0)), "a single number"),
        (lambda: fft.fft(jt.zeros(3), dim=1), "axis 1"),
        (lambda: fft.fft(jt.zeros(3), norm="unit"), "'unit'"),
        (lambda: fft.rfft(jt.array([1j])), "real numbers; found dtype complex64"),
        (lambda: fft.fftn(jt.zeros((2, 2)), dim=(0, -2)), "each axis once"),
        (lambda: fft.fft2(jt.zeros(3)), "axis -2"),
        (lambda: fft.fftn(jt.zeros((2, 2)), s=(2, 2, 2)), "axis -3"),
        (lambda: fft.fftn(jt.zeros((2, 2)), s=(2,), dim=(0, 1)), r"s=\(2,\) for 2 axes"),
        (lambda: fft.fftn(jt.zeros((2, 2)), s=(2, 0)), "length from 1 on"),
        (lambda: fft.rfftn(jt.zeros((2, 2)), dim=()), "one axis or more"),
        (lambda: fft.fftfreq(0), "n=0"),
        (lambda: fft.fftfreq(4, d=0), "d=0"),
        (lambda: fft.plan(0), "n=0"),
        (lambda: fft.plan(8, radices=(2, 2)), r"radices=\(2, 2\)"),
        (lambda: fft.plan(8, radices=(-2, -4)), r"radices=\(-2, -4\)"),
        (lambda: fft.plan(1009).butterflies(), "no butterflies; found 1009"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(ask, said):
    with pytest.raises(jt.JtError, match=said):
        ask()


def test_of_no_rows_there_are_no_waves():
    assert fft.fft(jt.zeros((0, 4))).shape == (0, 4)
    assert fft.rfft(jt.zeros((0, 4))).shape == (0, 3)
    assert fft.irfft(jt.zeros((0, 4))).numpy().shape == (0, 6)
