r"""FFT transform: how do pictures become waves in a kernel, and waves pictures?

A convolution of pictures is a product of their spectra, wave by wave. The transform is Cooley and Tukey's: one of size
n is two of size n / 2, found by butterflies of two numbers, log2(n) times over:

    a ---+---------- a + b                 forward: numbers in order in, waves in reversed order out
          \ /
          / \
    b ---+---------- (a - b) * wave        backward: the same steps undone, last first

"Reversed": wave k stands where the bits of k, read backwards, say. As forward leaves them so and backward wants them
so, nobody sorts. Where wave k stands at j, wave -k stands at `mirror(j)`.

Each lane of a vector is a channel of its own, so all lanes do the same and none waits for another. A complex plane
holds twice as many channels: one half as real parts, the other as imaginary parts. Symmetry splits their spectra,

    A[k] = (Z[k] + conj Z[-k]) / 2         B[k] = (Z[k] - conj Z[-k]) / 2i

and half of the columns say all, since A[-k] = conj A[k]. Behind each row of a plane one complex vector is not used:
without it all rows would compete for the same lines of the cache.

Source: Cooley, Tukey 1965, "An Algorithm for the Machine Calculation of Complex Fourier Series".
"""

from __future__ import annotations

from jt_edu.backends.convolve import simd_blocks as _operators  # noqa: F401 - teaches numba + - * of vectors
from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import load, store, zeros
from jt_edu.backends.mathlib import at, cos, float64, pi, sin


@inlined
def size_for(taps: int) -> int:
    """The size of a transform, a power of two: tiles of it shall be mostly places and not edge."""
    size = 16
    while size < 64 and size < 2 * (taps - 1):
        size *= 2
    return size


@inlined
def write_waves(space: Array, to: int, size: int) -> int:
    """Write exp(-2 pi i k / size) for k < size / 2, each as a vector of real and one of imaginary parts."""
    for k in range(size // 2):
        for _ in range(lanes(space)):
            space[at(to)] = cos(float64(2 * pi * k / size))
            space[at(to + lanes(space))] = -sin(float64(2 * pi * k / size))
            to += 1
        to += lanes(space)
    return to


@inlined
def forward(z: Array, start: int, step: int, size: int, waves: int) -> None:
    """Transform numbers that are `step` apart."""
    lane, half, next_wave = lanes(z), size // 2, 2 * lanes(z)  # every wave at first, then every other one, ...
    while half >= 1:
        for k in range(half):
            real, imaginary = load(z, waves + k * next_wave), load(z, waves + k * next_wave + lane)
            for i in range(k, size, 2 * half):
                a, b = start + i * step, start + (i + half) * step
                ar, ai, br, bi = load(z, a), load(z, a + lane), load(z, b), load(z, b + lane)
                store(z, a, ar + br)
                store(z, a + lane, ai + bi)
                store(z, b, (ar - br) * real - (ai - bi) * imaginary)
                store(z, b + lane, (ar - br) * imaginary + (ai - bi) * real)
        half, next_wave = half // 2, next_wave * 2


@inlined
def backward(z: Array, start: int, step: int, size: int, waves: int) -> None:
    """Transform back; everything comes out `size` times as large."""
    lane, half, next_wave = lanes(z), 1, lanes(z) * size
    while half < size:
        for k in range(half):
            real, imaginary = load(z, waves + k * next_wave), load(z, waves + k * next_wave + lane)
            for i in range(k, size, 2 * half):
                a, b = start + i * step, start + (i + half) * step
                ar, ai, cr, ci = load(z, a), load(z, a + lane), load(z, b), load(z, b + lane)
                br, bi = cr * real + ci * imaginary, ci * real - cr * imaginary
                store(z, a, ar + br)
                store(z, a + lane, ai + bi)
                store(z, b, ar - br)
                store(z, b + lane, ai - bi)
        half, next_wave = half * 2, next_wave // 2


@inlined
def forward_plane(z: Array, plane: int, size: int, rows: int, waves: int) -> None:
    """Transform the first rows, of which the others are zero, then all columns."""
    lane = lanes(z)
    for y in range(rows):
        forward(z, plane + y * (size + 1) * 2 * lane, 2 * lane, size, waves)
    for x in range(size):
        forward(z, plane + x * 2 * lane, (size + 1) * 2 * lane, size, waves)


@inlined
def backward_plane(z: Array, plane: int, size: int, rows: int, waves: int) -> None:
    """Transform all columns back, then the rows that are wanted."""
    lane = lanes(z)
    for x in range(size):
        backward(z, plane + x * 2 * lane, (size + 1) * 2 * lane, size, waves)
    for y in range(rows):
        backward(z, plane + y * (size + 1) * 2 * lane, 2 * lane, size, waves)


@inlined
def mirror(j: int) -> int:
    """Where wave -k stands, if wave k stands at j: the bits below the leading one are the others."""
    top = 1
    while 2 * top <= j:
        top *= 2
    return j ^ (top - 1) if j > 0 else 0


@inlined
def column_of(q: int) -> int:
    """Column q of the half that says all: 0, 1, and then the first halves of 2-3, 4-7, 8-15, ..."""
    if q < 2:
        return q
    top = 1
    while 2 * top <= q - 1:
        top *= 2
    return q - 1 + top


@inlined
def split(z: Array, plane: int, size: int, to: int, wave: int, part: int, sign: float) -> None:
    """Write the spectra of both halves of the channels, wave by wave: real part, imaginary part times `sign`.

    The numbers of wave f begin at  to + f * wave,  imaginary parts `part` further on.
    """
    lane, row = lanes(z), (size + 1) * 2 * lanes(z)
    half = zeros(z) + 0.5
    for q in range(size // 2 + 1):
        x = column_of(q)
        other = mirror(x)
        for y in range(size):
            k, minus = plane + y * row + x * 2 * lane, plane + mirror(y) * row + other * 2 * lane
            kr, ki, mr, mi = load(z, k), load(z, k + lane), load(z, minus), load(z, minus + lane)
            store(z, to, (kr + mr) * half)
            store(z, to + part, (ki - mi) * half * sign)
            store(z, to + lane, (ki + mi) * half)
            store(z, to + lane + part, (mr - kr) * half * sign)
            to += wave


@inlined
def merge(z: Array, plane: int, size: int, begin: int, wave: int, part: int) -> None:
    """Make one plane of the spectra of two halves of the channels: A + iB, and its other half by symmetry."""
    lane, row = lanes(z), (size + 1) * 2 * lanes(z)
    for q in range(size // 2 + 1):
        x = column_of(q)
        other = mirror(x)
        for y in range(size):
            ar, ai = load(z, begin), load(z, begin + part)
            br, bi = load(z, begin + lane), load(z, begin + lane + part)
            k, minus = plane + y * row + x * 2 * lane, plane + mirror(y) * row + other * 2 * lane
            store(z, k, ar - bi)
            store(z, k + lane, ai + br)
            store(z, minus, ar + bi)
            store(z, minus + lane, br - ai)
            begin += wave
