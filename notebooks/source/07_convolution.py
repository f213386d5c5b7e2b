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
# **run**, **look**. There are six exercises; each check says *right*, or what is wrong. A try that fails opens a hint.

# %%
import time

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import YourTurn, predict
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
# **Look.** The longer the bar, the slower. Which are there, and how does each of them do it? Not all meet in one
# race: some can do small windows only, some pay off for others.
#
# | name | how |
# |---|---|
# | *direct* | the sum as it is written down, number by number |
# | *panels* | a product of matrices: windows are written out side by side, in *panels* that fit into the cache |
# | *shifted* | the same product, with no window written out: each pixel of the window reads the same rows, *shifted* |
# | *pointwise* | windows of 1 by 1: weights times image, with nothing to write out (see part 6) |
# | *winograd2*, *winograd4* | fewer multiplications, for blocks of 2 by 2 or 4 by 4 places: exercises 07.2 and 07.4 |
# | *fourier* | by Fourier transform: exercise 07.3 |
#
# You will see what memory these need, and why *winograd4*, though not *winograd2*, has a larger error than the sum
# itself. (Operations per second, GFLOP/s, are those of the sum as written. So they may be more than the processor can
# do: with Winograd most of them were never done. And the *estimates* are what jt_edu chooses by when it does not
# measure: part 9.)
#
# ## 2. im2col, without moving a number
#
# First a look at the windows themselves, over a small image. Point at a number of the result, or move there with the
# arrows: what it sees has a frame, and its sum is written out. **Predict**: with `stride=2`, and with `dilation=2`,
# which pixels does the place to the right of the first one see? Try other values.

# %%
small, taps = normal(1, 1, 7, 8), normal(1, 1, 3, 3)
see.step_kernel(jt.conv2d(small, taps, stride=2, padding=1, dilation=2))

# %% exercise 07.1

# %% [markdown]
# Now the race again, with your columns. **Predict**: its image has 0.2 MB. How much memory do all columns take? Put the
# megabytes in place of the dots. (To say how many it is, the framework's own `unfold` makes the columns.)


# %%
def by_columns(image, weights):
    """3 by 3, padding 1."""
    (n, c, h, w), o = image.shape, weights.shape[0]
    wide = columns(image, 3, 3, 1, 1).reshape(n, c * 9, h * w)  # noqa: F821 - your function
    return (weights.reshape(o, c * 9) @ wide).reshape(n, o, h, w)


predict("07.2b", ..., lambda: jt.nn.unfold(image, 3, padding=1).sync().nbytes / 1e6, factor=1.2)
try:
    y, z = by_columns(image, weights), jt.conv2d(image, weights, padding=1)
except YourTurn as turn:
    print(f"your turn: {turn}, in `columns`")
else:
    print("the same numbers:", np.allclose(y.numpy(), z.numpy(), atol=1e-3))
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

# %% exercise 07.2

# %% exercise 07.3

# %% exercise 07.4

# %% [markdown]
# **Look** at the errors that the check tells. And that was one direction; in two it is worse. In float32 there are
# digits to spare: *winograd4* of the race is F(4, 3) in both directions. (Lavin and Gray 2016, arXiv:1509.09308.)
#
# ## 6. Which one wins?
#
# With `jt.backends.conv.benchmark` the tuner of jt_edu times the algorithms, once for each size, and remembers.
# **Predict** the winners: which is good at windows of 1 pixel, which at 3 by 3, which with few channels?


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

# %% exercise 07.5

# %% exercise 07.6

# %% [markdown]
# ## 9. What measuring costs
#
# A tuner pays once for each size. **Predict**: if image sizes change at every step, is training faster or slower with
# `benchmark`? Below, eight sizes are new, and then they come again: first chosen by an estimate, as
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
