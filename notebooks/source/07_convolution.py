# %% [markdown]
# # 07 Convolution four ways, and a tuner that chooses
#
# *An hour and a half. Do [02](02_meta_operators.ipynb) and [06](06_matmul.ipynb) first.*
#
# A convolution is one sum: each place of the result looks at a window of the image and adds up products. It can be
# computed in ways that share hardly a line: directly; as a product of matrices; with fewer multiplications, after
# Winograd; or by a Fourier transform. They need different memory, lose different digits, and none of them is always the
# fastest.
#
# In this notebook you write all of them, watch them race, and build the thing that picks one: a tuner. **Predict**,
# **run**, **look**. There are six exercises; each says *right* when it is, and why where it is not.

# %%
import time
from dataclasses import astuple, replace  # noqa: F401 - for your answers

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import convolution as check
from jt_exercises.timing import least, ratio  # CPU seconds, the least of 15 runs; the quotient of two, in turns

jt.set_num_threads(1)  # one thread, whose CPU time is ours alone
random = np.random.default_rng(0)


def normal(*shape):
    return jt.array(random.normal(size=shape).astype(np.float32))


# %% [markdown]
# ## 1. A race
#
# An image of 28 by 28 pixels with 64 *channels*, 64 numbers for each pixel. The result has 64 channels too, and each of
# them has a window of its own, of 3 by 3 pixels and all 64 channels: `weights`, of shape (64, 64, 3, 3). That is
# 64 · 64 · 9 multiplications for each pixel. All algorithms of jt_edu that can compute it do so, on the same arrays.
# `padding=1` puts one row or column of zeros on each side, so that the result is as large as the image.
#
# **Predict**: how many times as long as the winner does the slowest take? Is the fastest as exact as the others?
# (`error` is relative to a result in float64; the memory is what an algorithm uses besides image, weights and result.)

# %%
image, weights = normal(1, 64, 28, 28), normal(64, 64, 3, 3)
raced = jt.backends.conv.race(image, weights, padding=1)
raced

# %% [markdown]
# **Look.** The longer the bar, the slower. Who is there, and how does each of them do it? Not all of them meet in one
# race: some can do small windows only, some pay off for others.
#
# | name | how |
# |---|---|
# | *direct* | the sum as it is written down, number by number |
# | *panels* | a product of matrices: windows are written out side by side, in *panels* that fit into the cache |
# | *shifted* | the same product, with no window written out: each pixel of the window reads the same rows, *shifted* |
# | *pointwise* | windows of 1 by 1: weights times image, with nothing to write out (see part 6) |
# | *winograd2*, *winograd4* | fewer multiplications, for blocks of 2 by 2 or 4 by 4 places: exercises 2 and 4 |
# | *fourier* | by Fourier transform: exercise 3 |
#
# You will see what memory these need, and why *winograd4*, though not *winograd2*, has a larger error than the sum
# itself. (Operations per second, GFLOP/s, are those of the sum as written. So they may be more than the processor can
# do: with Winograd most of them were never done. And the *estimates* are what jt_edu chooses by when it does not
# measure: part 9.)
#
# ## 2. Exercise 1: im2col, without moving a number
#
# First a look at the windows themselves, over a small image. Point at a number of the result, or move there with the
# arrows: what it sees has a frame, and its sum is written out. **Predict**: with `stride=2`, and with `dilation=2`,
# which pixels does the place to the right of the first one see? Try other values.

# %%
small, taps = normal(1, 1, 7, 8), normal(1, 1, 3, 3)
see.step_kernel(jt.conv2d(small, taps, stride=2, padding=1, dilation=2))

# %% [markdown]
# Write down for each place the window that it sees, as a column; then the convolution is `weights @ columns`. That is
# *im2col*. In jt_edu it is one `reindex`: answer with shape (n, c, kh, kw, oh, ow), where element (n, c, i, j, y, x) is
# what tap (i, j) of place (y, x) looks at, and 0 outside the image.
#
# <details><summary>A hint</summary> `image.reindex(shape, lambda n, c, i, j, y, x: (n, c, ?, ?))`. With stride s and
# padding p, place y looks from row y * s - p on. There are `(h + 2 * p - kh) // s + 1` places in a column. </details>


# %%
def columns(image, kh, kw, stride, padding):
    return None


print(verdict := check.check_columns(columns))


def by_columns(image, weights):
    """3 by 3, padding 1."""
    (n, c, h, w), o = image.shape, weights.shape[0]
    return (weights.reshape(o, c * 9) @ columns(image, 3, 3, 1, 1).reshape(n, c * 9, h * w)).reshape(n, o, h, w)


if verdict.passed:
    y, z = by_columns(image, weights), jt.conv2d(image, weights, padding=1)
    print("the same numbers:", np.allclose(y.numpy(), z.numpy(), atol=1e-2))
    took, new = least(lambda: by_columns(image, weights).sync()), jt.explain(by_columns(image, weights)).predicted_peak
    print(f"{'all columns at once':<20} {took * 1e6:6.0f} µs  {new / 1e6:.2f} MB, columns and result")
    for runner in raced.runners:
        used = z.numpy().nbytes + runner.bytes
        print(f"{runner.name:<20} {runner.seconds * 1e6:6.0f} µs  {used / 1e6:.2f} MB, workspace and result")

# %% [markdown]
# **Look.** BLAS wants the columns as an array, so there they are: nine times the image. That is the price of the simple
# way. *panels* does the same product, but makes the columns for a small part, uses them while they are in the cache,
# and forgets them. (Small is not the same as fast: *winograd4* may well take the most memory of all, and the least
# time.)
#
# ## 3. Exercise 2: fewer multiplications
#
# Two outputs of a window of three: `y0 = d0 g0 + d1 g1 + d2 g2` and `y1 = d1 g0 + d2 g1 + d3 g2`. Six products.
# Winograd does it with four: with `m1 = (d0 - d2) g0`, `m2 = (d1 + d2) (g0 + g1 + g2) / 2`, `m3 = (d2 - d1) (g0 - g1 +
# g2) / 2` and `m4 = (d1 - d3) g2`, what are `y0` and `y1`? The sums of the `g` are made once for all pixels.
#
# Write it, and then the one for two directions: 4 by 4 inputs, 3 by 3 taps, 2 by 2 outputs, 16 products instead of 36.
# The numbers that you get count their products; constants such as 1/2 cost nothing.
#
# <details><summary>A hint</summary> Try y0 = m1 + m2 + m3, multiply it out, and see what is left for y1. </details>
# <details><summary>A second hint</summary> As matrices: `AT @ ((G @ g) * (BT @ d))`. In two directions each transform
# is applied to the columns and to the rows: `AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T`. With `np.array(d)` numbers
# that count work in `@`, too. </details>


# %%
def winograd(d, g):
    """[y0, y1] of d = [d0, d1, d2, d3] and g = [g0, g1, g2]."""
    return None


def winograd_2d(d, g):
    """2 by 2 outputs of d, 4 by 4, and g, 3 by 3: lists of lists."""
    return None


print(check.check_winograd(winograd, winograd_2d))

# %% [markdown]
# ## 4. Exercise 3: by Fourier transform
#
# A product of Fourier transforms is a convolution: for n by n pixels it costs about n² log n, *however large the
# window*. But it goes round (what runs out on the right comes in on the left), and it flips the window. Write
# `fft_conv` with `np.fft`: the sum over windows, at all places where the window lies inside the image.
#
# <details><summary>A hint</summary> `np.fft.fft2(window, image.shape)` fills the window up with zeros. The conjugate of
# its transform undoes the flip; then place (0, 0) comes first, and the last places are those that went round.
# </details>


# %%
def fft_conv(image, window):
    """(h, w) by (kh, kw) -> (h - kh + 1, w - kw + 1), real."""
    return None


print(check.check_fft(fft_conv))

# %% [markdown]
# ## 5. Exercise 4: what Winograd pays with
#
# Four outputs at once need 6 products instead of 12, six need 8 instead of 18. Why not sixty? `check.winograd(m)` is
# the transform of m outputs: `y = t.AT @ ((t.G @ g) * (t.BT @ d))`. Its matrices grow, and large numbers are subtracted
# from each other. Write `half`, which returns `y` as a machine with float16 would compute it: `d`, `g`, and the
# result of *each* of the four steps are rounded by `.astype(np.float16)`; the matrices stay as they are.
#
# **Predict** how the errors below grow. The first row is the plain sum.


# %%
def half(t, d, g):
    return None


print(check.check_half(half))
for outputs in (0, 2, 4, 6):
    print(
        "direct " if not outputs else f"F({outputs}, 3)",
        f"{check.error_in_half(outputs):.1e}",
        "relative error, float16",
    )

# %% [markdown]
# **Look.** And that was one direction; in two it is worse. In float32 there are digits to spare: *winograd4* of the
# race is F(4, 3) in both directions. (Lavin and Gray 2016, arXiv:1509.09308.)
#
# ## 6. Which one wins?
#
# With `jt.backends.conv.benchmark` the tuner of jt_edu times the algorithms, once for each size, and remembers.
# **Predict** the winners: who is good at windows of 1 pixel, who at 3 by 3, who with few channels?


# %%
def winner(kernel, channels, size):
    """The name of the fastest algorithm for 4 images, measured now or before."""
    x, w = normal(4, channels, size, size), normal(channels, channels, kernel, kernel)
    with jt.backends.conv.flags(benchmark=True):
        jt.conv2d(x, w, padding=kernel // 2).sync()
    entries = [e for e in jt.backends.conv.table().entries if e.sizes.kind == "forward"]
    found = next(
        e for e in entries if (e.sizes.n, e.sizes.c, e.sizes.image[2], e.sizes.kernel[2]) == (4, channels, size, kernel)
    )
    return found.timings[0].name


cases = [(channels, size) for channels in (4, 32, 128) for size in (7, 28)]
print("channels, size   " + "".join(f"{f'{c}, {s}':<12}" for c, s in cases))
for kernel in (1, 3, 5):
    print(f"{kernel} by {kernel} window    " + "".join(f"{winner(kernel, *case):<12}" for case in cases))

# %% [markdown]
# **Look.** No algorithm wins everywhere, and where the borders lie depends on the machine. So it is measured. (The
# names are those of the table in part 1. A window of 1 by 1 is one pixel wide: there *pointwise* has the image itself
# as its matrix of windows.)
#
# ## 7. Exercise 5: a tuner
#
# Write `choose`. It gets a `problem`, a record of sizes (see `check.Problem()`), the names of the candidates, and
# `run(name, problem)`, which raises ValueError where that algorithm cannot compute the problem. It returns the
# fastest, keeps the answer in the dict `table`, and never measures what it knows. It is tried on simulated machines,
# whose runs compile first and are disturbed later.
#
# <details><summary>A hint</summary> What must the key in `table` hold? All that makes another algorithm win: look at
# `astuple(problem)`. </details>
# <details><summary>A second hint</summary> As `tune` in 06: run each once, leave out those that raise, then 20 rounds
# in which they take turns, and the least time counts. </details>


# %%
def choose(problem, candidates, run, clock, table):
    return None


print(check.Problem())
print(check.check_choose(choose))

# %% [markdown]
# ## 8. Exercise 6: break it
#
# Somebody wrote `check.key`, and all tests passed: the tuner was right for each of them. One size is missing in it.
# Find two problems, asked one after the other, for which a tuner with this key gives the second one an algorithm that
# is far too slow, or cannot compute it at all. Then write a key that holds.
#
# <details><summary>A hint</summary> Compare `check.key(check.Problem())` with the record. Which algorithm needs what is
# missing to be 1? </details>

# %%
first = second = None  # such as check.Problem(images=2), or replace(first, channels=8)


def repaired(problem):
    return check.key(problem)


print(check.key(check.Problem()))
print(check.check_broken_key(first, second, repaired))

# %% [markdown]
# ## 9. What measuring costs
#
# A tuner pays once for each size. **Predict**: a training whose images have another size in each step, is it faster or
# slower with `benchmark`? Below, eight sizes are new, and then they come again: first chosen by an estimate, as
# `benchmark=False` does, then by measuring.

# %%
channels = int(np.random.default_rng().integers(17, 97))  # no seed: a size that nobody has asked for
filters = normal(channels, channels, 3, 3)
pictures = [normal(2, channels, 20 + k, 21 + k) for k in range(8)]


def all_pictures(benchmark):
    with jt.backends.conv.flags(benchmark=benchmark):
        for picture in pictures:
            jt.conv2d(picture, filters, padding=1).sync()


known, spent = jt.backends.conv.table(), {}
for benchmark in (False, True):
    begin = time.process_time()
    all_pictures(benchmark)
    spent[benchmark] = time.process_time() - begin
found = jt.backends.conv.table()
print(f"{found.timed - known.timed} candidates were timed for {len(found) - len(known)} sizes")
print(f"new sizes take {spent[True] / spent[False]:.0f} times as long with benchmark as without")
gain = ratio(lambda: all_pictures(False), lambda: all_pictures(True))
print(f"known sizes take {1 / gain:.2f} times as long with benchmark as without")

# %% [markdown]
# **Look.** So `benchmark` is for sizes that come again and again, if the estimate was wrong about them; where the last
# line is near 1, it was right, and nothing is gained. For sizes that change in each step leave it off, as it is at
# first: then the estimate chooses, and costs next to nothing. PyTorch says the same of
# `torch.backends.cudnn.benchmark`.
#
# **Before you close this page**: a tuner found that Winograd is fastest, in float32. You train in float16. Name two
# reasons for which its answer is worth nothing now.
