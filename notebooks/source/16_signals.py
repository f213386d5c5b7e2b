# %% [markdown]
# # 16 Signals: waves, fits and curves that bend
#
# *An hour and a half. Do [01](01_autograd_by_hand.ipynb) and [04](04_kernels.ipynb) first.*
#
# A sound, a temperature, a price: a *signal* is a number that changes with time. In the first half of this notebook you
# write a signal as a sum of waves. Then a filter is a list of numbers, and a convolution is a product. In the second
# half you fit curves to numbers, with least squares, eigenvalues and Newton's step. Each of these tools is a kernel of
# jt_edu that you can read, and gradients flow through all of them.
#
# **Predict**, **run**, **look**. There are four exercises. Each check says *right*, or what is wrong.
#
# ## 1. What is in a signal?
#
# Below are two seconds of a signal, 256 numbers a second: a strong wave that goes up and down 5 times a second (5
# *hertz*), a weaker one of 40 hertz, and noise, which is random numbers. `jt.fft.rfft` is a *Fourier transform*: it
# writes the signal as a sum of waves. Its result is the *spectrum*. Each number in it is called a *bin*. Bin k is a
# complex number for the wave that goes up and down k times in the whole signal. Its absolute value says how strong that
# wave is, and its angle says where the wave begins.
#
# **Predict**: which two bins are the largest? Put them in place of the dots, as a list, the smaller one first.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import predict, signals, solved
from jt_exercises.timing import ratio  # CPU seconds: the least of several runs, one divided by the other

jt.set_num_threads(1)  # one thread, whose CPU time is ours alone
random = np.random.default_rng(16)

n, rate = 512, 256
time, hertz = np.arange(n) / rate, np.arange(n // 2 + 1) * rate / n
waves = np.sin(2 * np.pi * 5 * time) + 0.4 * np.sin(2 * np.pi * 40 * time)
signal = jt.array((waves + random.normal(0, 0.3, n)).astype(np.float32))
strength = jt.fft.rfft(signal).abs() * 2 / n  # a wave that reaches up to 1 has strength 1

predict("16.1b", ..., lambda: sorted(np.argsort(strength.numpy())[-2:].tolist()))
figure, axes = plt.subplots(1, 2, figsize=(10, 2.6), layout="constrained")
axes[0].plot(time, signal.numpy(), color="#0072b2", linewidth=0.8)
axes[0].set(xlabel="seconds", title="the signal")
axes[1].plot(hertz, strength.numpy(), color="#d55e00", linewidth=0.8)
axes[1].set(xlabel="hertz", title="how strong each wave is")
plt.show()

# %% [markdown]
# **Look.** The two are not bins 5 and 40. Hertz counts waves *a second*, a bin counts them in the whole signal, and
# that lasts two seconds. Noise has a little of every frequency. On the right both waves stand out of the noise. On
# the left you hardly see the faster one.

# %% exercise 16.1
# %% [markdown]
# ## 3. A filter, drawn by hand
#
# You draw a filter with 16 digits. The first digit is the gain around 4 hertz, the next one around 12 hertz, and so on,
# 8 hertz further each time. 9 keeps all of a frequency, 0 keeps nothing, and straight lines join the digits.
#
# **Predict** what is left of the signal. Then draw other filters: one that keeps only the fast wave, one that keeps
# only the noise, and one of random digits.

# %%
DRAWING = "9942000000000000"
if not DRAWING.isdecimal():
    raise ValueError(f"DRAWING is a text of digits from 0 to 9, such as 9942000000000000, not {DRAWING!r}")


def through(x, gain):
    """The signals x, (..., n), after a filter with a gain for each bin."""
    return jt.fft.irfft(jt.fft.rfft(x) * gain, n)


gain = np.interp(hertz, np.arange(len(DRAWING)) * 8 + 4, [int(digit) / 9 for digit in DRAWING]).astype(np.float32)
left = through(signal, jt.array(gain))
figure, axes = plt.subplots(1, 2, figsize=(10, 2.6), layout="constrained")
axes[0].plot(time, signal.numpy(), color="#8a8f98", linewidth=0.5)
axes[0].plot(time, left.numpy(), color="#0072b2")
axes[0].set(xlabel="seconds", title="before and after")
axes[1].plot(hertz, strength.numpy(), color="#8a8f98", linewidth=0.5)
axes[1].plot(hertz, (jt.fft.rfft(left).abs() * 2 / n).numpy(), color="#0072b2", linewidth=0.8)
axes[1].plot(hertz, gain, color="#d55e00")
axes[1].set(xlabel="hertz", title="the gain, and what it lets through")
plt.show()

# %% [markdown]
# ## 4. A filter that is learned
#
# Now the other way round. Somebody has drawn a filter, and does not tell you how. You send noise through it, and hear
# what comes out. Can you find the gains?
#
# Gradients flow through `rfft` and through `irfft`, so gains can be learned like any weights. Begin with 0.5
# everywhere. The loss is the mean of the squared differences between what you hear and what your own filter gives,
# and gradient descent makes it small. (How long are its steps? The gradient of a gain is about 4 / n times the error
# of that gain. So a step of n / 8 times the gradient takes away about half of the error.)
#
# The noise that you send has no frequencies above 80 hertz. **Predict**: which gains are learned there?

# %%
sent = through(jt.array(random.normal(size=(16, n)).astype(np.float32)), jt.array((hertz <= 80).astype(np.float32)))
heard = through(sent, jt.array(gain))
learned, losses = jt.array(np.full(n // 2 + 1, 0.5, np.float32)), []
for _ in range(40):
    loss = ((through(sent, learned) - heard) ** 2).mean()
    learned = jt.array((learned - n / 8 * jt.grad(loss, learned)).numpy())
    losses.append(loss.item())
print(f"the loss went from {losses[0]:.1e} to {losses[-1]:.1e}")
plt.figure(figsize=(6, 2.4), layout="constrained")
plt.plot(hertz, gain, color="#d55e00", linewidth=4, alpha=0.4, label="drawn")
plt.plot(hertz, learned.numpy(), color="#0072b2", label="learned")
plt.xlabel("hertz")
plt.legend()
plt.show()

# %% [markdown]
# **Look.** Where nothing was sent, nothing was learned. The gradient is 0 there, so 0.5 stays. In section 9 you will
# meet such numbers again, numbers that the data says nothing about, and there they do more harm.
#
# ## 5. A convolution is a product
#
# A convolution adds up shifted copies of a signal. Each copy is multiplied by one weight of a window. A wave that goes
# in comes out as the same wave, only stronger or weaker, and later. So the window is a filter, and the spectrum of a
# convolution is the product of two spectra.
#
# There is a catch. The waves of a spectrum repeat for ever, so what runs out at the end of the signal comes in again at
# its beginning. Zeros help: fill up both, signal and window, until each has at least n + window - 1 numbers.
#
# **Predict**: the window has 30 weights, and you add no zeros. How many numbers of the result are wrong? Put that in
# place of the dots. And which is faster, the product or the sum, for windows of 16, 256 and 4,096? How many times?


# %%
def by_product(x, window, size):
    """The convolution by the product of two spectra; x and the window are filled up with zeros to `size`."""
    return jt.fft.irfft(jt.fft.rfft(x, size) * jt.fft.rfft(window, size), size)


def by_sum(x, window):
    """The convolution as a sum. `conv1d` slides the window as it is, a convolution turns it round first."""
    turned, many = window[::-1].reshape(1, 1, -1), len(window)
    return jt.conv1d(x.reshape(1, 1, -1), turned, padding=many - 1).reshape(-1)


long, window = (jt.array(random.normal(size=size).astype(np.float32)) for size in (32768, 30))
right = by_sum(long, window).numpy()


def wrong(size):
    """How many numbers of the product of spectra, with zeros up to `size`, differ from those of the sum."""
    found = by_product(long, window, size).numpy()[: len(right)]
    return int((abs(found - right[: len(found)]) > 1e-3).sum())


print("wrong with enough zeros:", wrong(len(long) + 30))
predict("16.5b", ..., lambda: wrong(len(long)))
for many in (16, 256, 4096):
    weights = jt.array(random.normal(size=many).astype(np.float32))
    times = ratio(
        lambda w=weights: by_sum(long, w).sync(), lambda w=weights: by_product(long, w, 2 * len(long)).sync(), 5
    )
    faster, slower = ("product", "sum") if times > 1 else ("sum", "product")
    print(f"window of {many:5}: the {faster} is {max(times, 1 / times):.1f} times as fast as the {slower}")

# %% [markdown]
# **Look.** The whole result has n + 29 numbers, and without zeros there is room for n. The 29 last ones come in again
# at the beginning, and are added to the first 29: these are wrong.
#
# For a small window the sum is faster, for a large one the product. A larger window makes the sum longer. The product
# costs three transforms, whatever the window.
#
# ## 6. How does the FFT do it?
#
# If you compute a Fourier transform as a sum, each of the n bins needs all n numbers. That is n² products. The *fast
# Fourier transform*, or FFT, needs far fewer. It takes the numbers at even places and the numbers at odd places apart,
# and transforms each half. Two bins of the whole, k and k + n/2, are then made of the same two numbers: of `even[k]`,
# and of `odd[k]` *turned*, which means that its angle is made smaller by 2πk/n. Bin k is their sum, and bin k + n/2 is
# their difference. Drawn with lines, this step looks like the wings of a *butterfly*, and that is its name. Each half
# is made of two quarters in the same way, and so on, down to single numbers.
#
# The kernel below does that *in place*, for 8 complex numbers. Row 0 holds their real parts, row 1 their imaginary
# parts. First it puts the numbers into the order `in1`. Then come butterflies between neighbours (`half` is 1), then
# between numbers that are 2 apart, then 4 apart.
#
# Step through it, or press *Play*. In the kernel, a is the place of `even[k]` and b that of `odd[k]`. **Predict**:
# which cells does the very first butterfly write? How many butterflies are there in all? And which rule makes the order
# `in1`? (Write its numbers in binary.)

# %%
FFT = """
n = out_shape1
out[:] = in0[:, in1]
half = 1
while half < n:
    for begin in range(0, n, 2 * half):
        for k in range(half):
            a, b = begin + k, begin + k + half
            turn = math.pi * k / half
            c, s = math.cos(turn), math.sin(turn)
            real = c * @out(0, b) + s * @out(1, b)
            imag = c * @out(1, b) - s * @out(0, b)
            @out(0, b) = @out(0, a) - real
            @out(1, b) = @out(1, a) - imag
            @out(0, a) += real
            @out(1, a) += imag
    half = 2 * half
"""
parts, order = jt.array(random.normal(size=(2, 8)).round(1)), jt.array([0, 4, 2, 6, 1, 5, 3, 7])


def butterflies():
    return jt.code(parts.shape, parts.dtype, [parts, order], FFT, boundscheck=False)


there = jt.fft.fft(jt.complex(parts[0], parts[1])).numpy()
print("the same as jt.fft.fft:", np.allclose(butterflies().numpy(), [there.real, there.imag]))
see.step_kernel(butterflies())

# %% [markdown]
# **Look.** The first butterfly joins a = 0 and b = 1. It writes the first two cells of both rows. Each level has n / 2
# butterflies, here 4, and there are 3 levels: 12 in all. With three binary digits, 1 is 001 and 3 is 011. Read from
# right to left, they are 100 and 110, which is 4 and 6. So `in1` holds at place i the number i with its binary digits
# turned round, for at each level the last digit says whether a place is even or odd.
#
# %% exercise 16.2
# %% exercise 16.3
# %% [markdown]
# ## 9. Columns that are nearly alike
#
# On paper there is a shorter way: the best x solves (aᵀa) x = aᵀy, the *normal equations*. But a computer rounds. The
# cell below fits polynomials to 24 points, once by QR and once by the normal equations. It computes in float32, which
# has 7 digits. The columns of a are 1, t, t², and so on, and between 0 and 1 the higher powers of t look more and more
# alike. The *condition number*, `jt.linalg.cond(a)`, says how much that hurts: a relative error in y can become about
# so many times as large in x.
#
# **Predict**: `cond(aᵀa)` is `cond(a)` squared, and the slider shows both. At which degree do the normal equations lose
# all 7 digits? And QR? Then go through the degrees, with a click, or with Tab and the arrow keys.


# %%
def by_qr(a, y):
    q, r = jt.linalg.qr(a)
    return jt.linalg.solve_triangular(r, q.T @ y, upper=True)


def by_squares(a, y):
    return jt.linalg.solve(a.T @ a, a.T @ y)


t, places = np.linspace(0, 1, 24)[:, None], np.linspace(-0.12, 1.12, 120)[:, None]
y, fits = np.sin(6 * t) + random.normal(0, 0.15, t.shape), {}
for degree in range(1, 12):
    powers = np.arange(degree + 1)
    exact = by_qr(jt.array(t**powers), jt.array(y)).numpy()  # in float64
    a, ways = jt.array((t**powers).astype(np.float32)), {}
    for name, way in (("by QR", by_qr), ("normal equations", by_squares)):
        x = way(a, jt.array(y.astype(np.float32))).numpy()
        ways[name] = (places**powers @ x)[:, 0], np.linalg.norm(x - exact) / np.linalg.norm(exact)
    fits[degree] = jt.linalg.cond(jt.array(t**powers)).item(), ways
signals.slider(t[:, 0], y[:, 0], places[:, 0], fits)

# %% [markdown]
# **Look.** With each degree the condition number becomes 5 or 6 times as large. That costs QR nearly a digit, and the
# normal equations nearly two. At degree 6 not one digit of theirs is right, and yet the curve goes through the points.
# Other coefficients fit almost as well, and only beyond the points you see how different they are. From degree 7 on
# the error stays at 1e0. By then rounding has wiped out what aᵀa says about large changes of the coefficients that
# hardly change the curve. The right coefficients are large in just these ways. Those of the normal equations come out
# far too small, so nearly everything is missing, and that is an error of 100 %. For such fits there is
# `jt.linalg.lstsq`.
#
# ## 10. Rotations that leave only a diagonal
#
# The matrix h = [[2, 1], [1, 2]] turns most vectors into another direction, but not all. It turns (1, 1) into (3, 3),
# which is 3 times (1, 1), and (1, -1) into (1, -1), which is 1 times itself. These two directions are the *axes* of h
# (also called eigenvectors), and 3 and 1 are its *eigenvalues*. Each symmetric matrix with n rows has n such axes, at
# right angles to each other. `w, v = jt.linalg.eigh(h)` finds both: the columns of v are the axes, each of length 1,
# and w[k] is the eigenvalue of column k. Here w is (1, 3). If h holds the second derivatives of a surface, w[k] is how
# strongly that surface bends along column k: the bend is 3 along (1, 1), and 1 along (1, -1).
#
# A matrix that is not symmetric, such as a, has *singular values*: the square roots of the eigenvalues of aᵀa. The
# largest one says how many times as long a makes a vector at the most, the smallest one how many times at the least.
# The condition number is the largest over the smallest.
#
# You can watch how Jacobi's method finds eigenvalues. It takes two coordinate axes, p and q, and rotates them, by just
# that angle at which the number in row p and column q becomes 0. This spoils zeros that were made before, but each
# rotation makes the numbers outside of the diagonal smaller as a whole. At last only the diagonal is left, and it holds
# the eigenvalues.
#
# Step through one *sweep*: one rotation for each pair of axes, 6 of them. **Predict**: how much is left outside of the
# diagonal after each sweep?

# %%
JACOBI = """
n = out_shape0
out[:] = in0
for p in range(n):
    for q in range(p + 1, n):
        apart = @out(p, p) - @out(q, q)
        angle = math.atan2(2 * @out(p, q), apart) / 2
        c, s = math.cos(angle), math.sin(angle)
        for k in range(n):
            x, y = @out(p, k), @out(q, k)
            @out(p, k) = c * x + s * y
            @out(q, k) = c * y - s * x
        for k in range(n):
            x, y = @out(k, p), @out(k, q)
            @out(k, p) = c * x + s * y
            @out(k, q) = c * y - s * x
        @out(p, q) = @out(q, p) = 0  # up to rounding
"""


def sweep(matrix):
    return jt.code(matrix.shape, matrix.dtype, [matrix], JACOBI, boundscheck=False)


tall = random.normal(size=(6, 4)).round(1)
rotated = squares = jt.array(tall.T @ tall)
for count in range(5):
    outside = rotated.numpy() - np.diag(np.diag(rotated.numpy()))
    print(f"after {count} sweeps: {np.linalg.norm(outside):.1e} outside of the diagonal")
    rotated = sweep(rotated)
print("on the diagonal:   ", np.sort(np.diag(rotated.numpy())).round(6))
print("jt.linalg.eigvalsh:", jt.linalg.eigvalsh(squares).numpy().round(6))
see.step_kernel(sweep(squares))

# %% [markdown]
# **Look.** The first sweep leaves a sixth. After that, each sweep at least doubles the number of zeros behind the
# point.
#
# %% exercise 16.4
# %% [markdown]
# ## 12. Newton against gradient descent
#
# Here are two surfaces. One is Rosenbrock's *valley*: it is narrow and curved, its floor is nearly flat, and its lowest
# point is at (1, 1). The other has two *wells*, and between them a saddle, at (0, 0).
#
# **Predict** for each surface: where does gradient descent end, where does `newton`, and where does `careful`? How many
# steps does each need until the gradient is shorter than 1e-6? (After 1,000 steps they stop.)


# %%
def valley(v):
    return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] * v[0]) ** 2


def wells(v):
    return (v[0] * v[0] - 1) ** 2 / 4 + (v[1] - v[0] / 2) ** 2


def walked(step, f, place):
    """The places on the way, one for each step."""
    places = [np.array(place)]
    while np.linalg.norm(jt.func.grad(f)(jt.array(places[-1])).numpy()) > 1e-6 and len(places) <= 1000:
        places.append(step(f, jt.array(places[-1])).numpy())
    return np.array(places)


ways = [lambda f, v: v - (1e-3 if f is valley else 0.1) * jt.func.grad(f)(v)]
if solved("16.4"):
    ways += [newton, careful]  # noqa: F821 - your functions
looks = ("descent", "r.-", 1), ("newton", "c.-", 5), ("careful", "b.--", 1)  # a thin line is seen on a thick one
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for axis, f, start, low in zip(axes, (valley, wells), ((-1.2, 1.0), (0.3, 1.2)), (-3.6, -1.0), strict=True):
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, 200), np.linspace(low, 1.6, 200))
    axis.contour(x, y, np.log10(f([x, y])), 12, cmap="Greys", linewidths=0.7)
    axis.set(title=f.__name__)
    for way, (name, line, wide) in zip(ways, looks, strict=False):
        path = walked(way, f, start)
        axis.plot(*path.T, line, label=f"{name}, {len(path) - 1} steps", linewidth=wide, markersize=5 + wide)
        print(f"{f.__name__}, {name:8} {len(path) - 1:4} steps, to ({path[-1, 0]:.3f}, {path[-1, 1]:.3f})")
    axis.plot(*start, "ko", label="start")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
plt.show()

# %% [markdown]
# **Look.** Gradient descent is in the valley at once, and then it creeps along the floor. The steep sides force it to
# take short steps, and the floor hardly slopes. Newton's step divides the slope in each direction by how strongly the
# surface bends there. Near the end, each step doubles the number of right digits. (Once it jumps far down, for it
# only knows how the surface bends at the place where it stands.) Between the wells `newton` ends on the saddle, where
# the gradient is zero as well. `careful` goes on, into a well.
#
# **Before you close this page**: a network has a million weights. How many numbers has its Hessian, and how long would
# it take to solve with it? `jt.autograd.functional.hvp` multiplies the Hessian by *one* vector, in the time of a few
# gradients, and never makes the matrix. What could you do with that?
