# %% [markdown]
# # 02 Meta-operators: nearly everything is made of three things
#
# *An hour. Do [00](00_start_here.ipynb) and [01](01_autograd_by_hand.ipynb) first.*
#
# How many operators does a deep-learning framework need? PyTorch has some two thousand, if every variant is counted. In
# this notebook you build transposes, matrix products, convolutions and pooling from **three** *meta-operators*, and get
# their gradients for free.
#
# | | in words | as a loop |
# |---|---|---|
# | **Elementwise** | compute at each index | `out[i, j] = f(x[i, j], y[i, j])` |
# | **Reindex** | read from another index | `out[i, j] = x[where(i, j)]` |
# | **ReindexReduce** | accumulate into another index | `out[where(i, j)] += x[i, j]` |
#
# **Predict**, **run**, **look**. In the exercises, replace each `raise YourTurn(...)` with your answer and run the cell
# again: it says whether you were right and, if not, what may be wrong.
#
# ## 1. Reindex: where does each cell read from?
#
# `x.reindex(shape, where)` makes a Var of that shape. `where` is called once, with loop counters, and returns which
# element of `x` to read: one index for each axis of `x`.
#
# **Predict** the first row of each of the three views of `x` in the next cell. What can `i + k` do that no transpose
# can?

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import predict

jt.set_global_seed(0)

x = jt.array([[10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]])

looks = {
    "lambda i, j: (j, i)": x.reindex((4, 3), lambda i, j: (j, i)),
    "lambda i, j: (i, 3 - j)": x.reindex((3, 4), lambda i, j: (i, 3 - j)),
    "lambda i, k: (0, i + k)": x.reindex((2, 3), lambda i, k: (0, i + k)),
}
for text, y in looks.items():
    print(f"{text}\n{y.numpy()}\n")

with jt.trace() as t:
    (x.reindex((4, 3), lambda i, j: (j, i)) * 2).sync()
print(t.kernels[0].source)

# %% [markdown]
# **Look** at the kernel. No data was moved: the kernel reads `x` at the transposed index. `i` and `j` were not numbers
# when your lambda was called. They were symbols that record arithmetic. In a kernel for the second view, `3 - j` would
# stand in the loop. `i + k` reads overlapping pieces of row 0, called *windows*, so it reads 11 and 12 twice. A
# transpose reads each element once.
#
# A picture makes this clearer. Below, the cells of the input have colours, and each cell of the output has the colour
# of the cell it reads from. White cells read outside the input. There a Reindex returns `fill`, 0 by default.


# %%
def show(shape, *views):
    """Pictures of views: (title, shape of the output, where)."""
    numbers = jt.arange(int(np.prod(shape))).reshape(shape)
    pictures = [("input", numbers.numpy())]
    pictures += [(title, numbers.reindex(size, where, fill=-1).numpy()) for title, size, where in views]
    figure, axes = plt.subplots(1, len(pictures), figsize=(3 * len(pictures), 2.6))
    for axis, (title, cells) in zip(axes, pictures, strict=True):
        axis.imshow(np.ma.masked_less(cells, 0), cmap="viridis", vmin=0, vmax=numbers.size - 1)
        for (row, column), number in np.ndenumerate(cells):
            light = number < numbers.size / 2
            axis.text(column, row, number if number >= 0 else "", ha="center", va="center", color="w" if light else "k")
        axis.set(title=title, xticks=[], yticks=[])
    figure.tight_layout()
    plt.show()


show(
    (3, 4),
    ("(j, i)", (4, 3), lambda i, j: (j, i)),
    ("(i // 2, j // 2)", (6, 8), lambda i, j: (i // 2, j // 2)),
    ("(i, j - 1)", (3, 6), lambda i, j: (i, j - 1)),
    ("(i + k, 0): windows", (2, 2), lambda i, k: (i + k, 0)),
)

# %% exercise 02.2

# %% [markdown]
# ## 3. ReindexReduce: where does each cell go?
#
# The other way round: `x.reindex_reduce("add", shape, where)` walks through `x`, and `where` returns the cell of the
# result to which each element is added. "maximum", "minimum" and "multiply" combine elements in other ways.
#
# **Predict** the four results in the next cell. Which element of the last result is 0, and why?

# %%
x = jt.array([[1, 2, 3], [4, 5, 6]])
print("rows summed     ", x.reindex_reduce("add", (2,), lambda i, j: (i,)).numpy())
print("columns: maximum", x.reindex_reduce("maximum", (3,), lambda i, j: (j,)).numpy())
print("all multiplied  ", x.reindex_reduce("multiply", (), lambda i, j: ()).numpy())
print("anti-diagonals  ", x.reindex_reduce("add", (5,), lambda i, j: (i + j,)).numpy())

# %% [markdown]
# **Look.** The last element of the last result is 0: `i + j` is at most 1 + 2, so nothing goes into cell 4, and a sum
# of nothing is 0.

# %% exercise 02.4

# %% [markdown]
# `spelled_out` below is the same, as the framework writes it. `broadcast` is a Reindex that repeats an array along a
# new axis (2 or 0), and `sum` is a ReindexReduce with "add". You would expect it to be slow and to need a lot of
# memory: its product has n · m · p numbers. **Predict**: for matrices of 500 by 500, how many bytes does it need, and
# by what factor is it slower than `a @ b`? Put the megabytes in place of the dots.


# %%
def spelled_out(a, b):
    (n, m), p = a.shape, b.shape[1]
    product = a.broadcast((n, m, p), [2]) * b.broadcast((n, m, p), [0])
    return product.sum(1)


a, b = jt.rand(500, 500), jt.rand(500, 500)
jt.sync([a, b])


def peak(product):
    with jt.trace() as t:
        product(a, b).sync()
    return t.peak / 1e6


predict("02.4b", ..., lambda: peak(spelled_out), factor=1.1)
for name, product in {"spelled out": spelled_out, "a @ b": lambda a, b: a @ b}.items():
    product(a, b).sync()  # compiled now, if it has to be
    best = np.inf
    for _ in range(5):
        with jt.trace() as t:
            begin = time.perf_counter()
            product(a, b).sync()
            best = min(best, time.perf_counter() - begin)
    calls = ", ".join(c for k in t.kernels for c in k.calls) or "a loop of ours"
    print(f"{name:<12} {t.peak / 1e6:6.1f} MB at most   {best * 1e3:7.2f} ms   {len(t.kernels)} kernel: {calls}")
print(f"{'not needed':<12} {500**3 * 4 / 1e6:6.1f} MB, to store all n * m * p products")

# %% [markdown]
# **Look.** It is neither slow nor large: the framework recognised a matrix product by its *indices*, and gave it to
# BLAS, the library for matrices. `a @ b` is written with the same operators. Nothing in it says "matrix product".

# %% exercise 02.5

# %% [markdown]
# Here is a small convolution: the image is 4 by 5 and holds 0 to 19, the window is 2 by 2, the stride is 2, and the
# padding is 1. **Predict**: which numbers does the last window cover? Then point at a number of the result: its window
# is framed, and the sum is written out. What lies outside the image is hatched.

# %%
image = jt.array(np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5))
window = jt.array([[[[1.0, 0.0], [0.0, -1.0]]]])
see.step_kernel(jt.conv2d(image, window, stride=2, padding=1))

# %% [markdown]
# ## 6. Their gradients
#
# `y = x.reindex(shape, where)` reads `x[where(i)]` for `y[i]`. When `x[where(i)]` grows by 1, so does `y[i]`. So the
# gradient that arrives at `y[i]` has to be *added* to `dx[where(i)]`, and that is the loop of a **ReindexReduce with
# the same `where`**. A sum works the other way: each element that went into it receives the gradient of the sum, and
# that is a **Reindex**. Each of the two is the gradient of the other. So matmul, convolution and average pooling need
# no rules of their own. (A maximum does: only the largest element receives a gradient.)
#
# **Predict.** A window slides over `x = [x0 ... x5]`: `y[i, k] = x[i + k]`, 4 windows of 3. How often is each element
# of `x` read? That is the gradient of `y.sum()`.
#
# <details><summary>The answer</summary> 1, 2, 3, 3, 2 and 1 times: `x0` is in one window, `x2` in three. </details>

# %% exercise 02.7

# %% exercise 02.8

# %% [markdown]
# ## 9. All of it
#
# Which of the three meta-operators does each function use? `jt.ops_table` finds out: it runs an example of each
# function and notes what is built. **Predict**: what will `softmax` need? (It is `exp(x) / exp(x).sum()`, but the code
# first subtracts the maximum.) Which functions will *not* be made of the three?
#
# Before that, the cell shows what `jt.grad` builds for the windows of section 6. Like yours, it is a ReindexReduce,
# which goes by the name of "scatter" here.

# %%
x = jt.rand(6)
with jt.trace() as t:
    dx = jt.grad(x.reindex((4, 3), lambda i, k: (i + k,)).sum(), x)
print("built:", [(node.op, node.kind) for node in t.built if node.kind.startswith("reindex")])
print("how often each is read:", dx.numpy())

jt.ops_table("matmul", "softmax", "conv2d", "max_pool2d", "cumsum", "sort", "where", "one_hot")

# %% [markdown]
# **Look** at the rows with an entry in the column `Code`. The three could build a running sum, but with n² additions
# instead of n. A sort has to compare values with each other, and even the *shape* of what `jt.where(condition)` returns
# depends on how many values of `condition` are true. So these are kernels written by hand, and those that have a
# gradient have a rule for it. (*HostCall* is a call to NumPy instead of a kernel.) `jt.ops_table()` lists every
# function.
#
# ## 10. Break it
#
# Somebody wrote a blur: each number becomes the mean of itself and its two neighbours. The result should be symmetric
# about the 6, but it is not. **Find** the wrong index; there is one.

# %%
signal = jt.array([0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
blurred = signal.reindex((7, 3), lambda i, k: (i + k,)).reindex_reduce("add", (7,), lambda i, k: (i,)) / 3
print(blurred.numpy())
print("right" if np.allclose(blurred.numpy(), [0, 0, 2, 2, 2, 0, 0]) else "not symmetric about the 6")

# %% [markdown]
# <details><summary>The answer</summary> Window i begins at i instead of i - 1: read `(i + k - 1,)`. Outside
# the signal it reads 0, so values near the ends shrink. How would you fix that? </details><br>
#
# **Before you close this page**, in one sentence each: what does a Reindex do that an elementwise operator cannot? Why
# does the gradient of a read have to *add*?
