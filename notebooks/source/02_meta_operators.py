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
# **Predict**, **run**, **look**. In the exercises, replace each `None` with your answer and run the cell again.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu.ir.index_expr import load
from jt_exercises.tell import tell

jt.set_global_seed(0)

# %% [markdown]
# ## 1. Reindex: where does each cell read from?
#
# `x.reindex(shape, where)` makes a Var of that shape. `where` is called once, with loop counters, and returns which
# element of `x` to read: one index for each axis of `x`.
#
# **Predict** the first row of each of the three views of `x` in the next cell. What can `i + k` do that no transpose
# can?

# %%
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
# when your lambda was called. They were symbols that record arithmetic, so an index such as `3 - j` would be written
# into the loop, too. `i + k` reads 11 and 12 twice, because its windows overlap. A transpose reads each element once.
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

# %% [markdown]
# ## 2. Exercise: views
#
# Write each of the six views below as one `reindex`. (The second turns an image upside down, the last one makes it
# twice as wide.)
#
# <details><summary>A hint</summary> Ask about one cell first: which element of `x` stands at row 0, column 0 of the
# result? Then ask about its right neighbour. The diagonal has only one counter: `lambda i: (?, ?)`. </details>

# %%
x = jt.array(np.arange(20).reshape(4, 5))
a = np.arange(20).reshape(4, 5)


def tell_view(name, yours, right):
    """Tell whether it is right, if it was made by `reindex`."""
    made = yours.node.op.name if isinstance(yours, jt.Var) else type(yours).__name__
    as_asked = yours is None or made == "reindex"
    tell(name, *((yours, right) if as_asked else (f"made by {made}", "made by reindex")))


transposed = None
tell_view("transposed", transposed, a.T)

upside_down = None
tell_view("upside_down", upside_down, a[::-1])

every_second_column = None  # 0, 2 and 4
tell_view("every_second_column", every_second_column, a[:, ::2])

diagonal = None  # shape (4,)
tell_view("diagonal", diagonal, np.diagonal(a))

padded = None  # one row and one column of 0 on every side: shape (6, 7)
tell_view("padded", padded, np.pad(a, 1))

twice_as_wide = None  # 0 0 1 1 2 2 ...
tell_view("twice_as_wide", twice_as_wide, a.repeat(2, axis=1))

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
#
# ## 4. Exercise: a matrix product
#
# A matrix product is `c[i, j] = sum over k of a[i, k] * b[k, j]`. Use only `reindex`, `*` and `reindex_reduce`: read
# `a` and `b` with the counters (i, k, j), multiply, and add up along k.
#
# <details><summary>A hint</summary> `a.reindex((n, m, p), lambda i, k, j: (i, k))` repeats each element of `a` p
# times. </details>
# <details><summary>Nearly all of it</summary> `(A * B).reindex_reduce("add", (n, p), lambda i, k, j: ?)`. </details>


# %%
def my_matmul(a, b):
    """(n, m) times (m, p)."""
    return None


def tell_built(name, build, right):
    """Tell whether what `build()` returns is right, if nothing but `reindex`, `*` and `reindex_reduce` built it."""
    with jt.trace() as t:
        yours = build()
    others = {node.op for node in t.built} - {"reindex", "multiply", "reindex_reduce"}
    if yours is not None and (others or not isinstance(yours, jt.Var)):
        yours = f"built with {', '.join(sorted(others)) or type(yours).__name__}"
        right = "built with reindex, multiply and reindex_reduce"
    tell(name, yours, right)


a, b = jt.rand(4, 3), jt.rand(3, 5)
tell_built("my_matmul", lambda: my_matmul(a, b), a.numpy() @ b.numpy())


def spelled_out(a, b):
    """The same, as the framework writes it."""
    (n, m), p = a.shape, b.shape[1]
    product = a.broadcast((n, m, p), [2]) * b.broadcast((n, m, p), [0])
    return product.sum(1)


# %% [markdown]
# In `spelled_out`, `broadcast` is a Reindex that repeats an array along a new axis (2 or 0), and `sum` is a
# ReindexReduce with "add". You would expect it to be slow and to need a lot of memory: its product has n · m · p
# numbers. **Predict**: for matrices of 500 by 500, how many bytes does it need, and how many times as long as `a @ b`
# does it take?

# %%
a, b = jt.rand(500, 500), jt.rand(500, 500)
jt.sync([a, b])
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
print(f"{'the product':<12} {500**3 * 4 / 1e6:6.1f} MB it would take to store all n * m * p products")

# %% [markdown]
# **Look.** It is neither slow nor large: the framework recognised a matrix product by its *indices*, and gave it to
# BLAS, the library for matrices. `a @ b` is written with the same operators. Nothing in it says "matrix product".
#
# ## 5. Exercise: a convolution, and pooling
#
# A convolution slides a small window over an image: `out[r, c] = sum over i, j of image[r + i, c + j] * window[i, j]`.
# The *stride* s is how far the window moves at each step. The *padding* p is how many rows and columns of 0 are added
# on each side. With them it reads `image[r * s + i - p, c * s + j - p]`. Max pooling reads the same way, but takes the
# maximum of each window.
#
# Write both functions, again with only `reindex`, `*` and `reindex_reduce`.
#
# The next cell ends with a small convolution: the image is 4 by 5 and holds 0 to 19, the window is 2 by 2, the stride
# is 2, and the padding is 1. **Predict**: which numbers does the last window cover? Then point at a number of the
# result: its window is framed, and the sum is written out. What lies outside the image is hatched.
#
# <details><summary>A hint</summary> Four counters: `lambda r, c, i, j: ...` over the shape (rows, columns, h, w). Then
# `*` with the window, read as `(i, j)` in the same shape, and `reindex_reduce` into `(r, c)`. </details>
# <details><summary>A second hint</summary> How many rows? `(H + 2 * p - h) // s + 1`. For the maximum, what lies
# outside must never win: `fill=-np.inf`. </details>


# %%
def my_conv2d(image, window, stride=1, padding=0):
    """An image (H, W) and a window (h, w)."""
    return None


def my_max_pool(image, size, stride, padding=0):
    return None


image, window = jt.randn(7, 8), jt.randn(3, 2)
for stride, padding in [(1, 0), (2, 0), (1, 1), (3, 1)]:
    right = jt.conv2d(image[None, None], window[None, None], stride=stride, padding=padding)[0, 0].numpy()
    asked = (image, window, stride, padding)
    tell_built(f"my_conv2d, stride {stride}, padding {padding}", lambda asked=asked: my_conv2d(*asked), right)
dark = -image.abs()  # a 0 that is read outside would be the largest
for size, stride, padding in [(2, 2, 0), (3, 1, 1)]:
    right = jt.max_pool2d(dark[None, None], size, stride, padding)[0, 0].numpy()
    asked = (dark, size, stride, padding)
    tell_built(f"my_max_pool, size {size}, stride {stride}", lambda asked=asked: my_max_pool(*asked), right)

small, edges = jt.array(np.arange(20.0).reshape(1, 1, 4, 5)), jt.array([[[[1.0, 0.0], [0.0, -1.0]]]])
see.step_kernel(jt.conv2d(small, edges, stride=2, padding=1))

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
# ## 7. Exercise: write these gradients yourself
#
# The next cell first shows what `jt.grad` builds for the windows; "scatter" is a ReindexReduce. Then it is your turn:
# `dout` arrives; use one `reindex_reduce` in the first two functions, and one `reindex` in the third.
#
# <details><summary>A hint</summary> Use the same lambda as the function, word for word. </details>


# %%
def windows(x):
    return x.reindex((4, 3), lambda i, k: (i + k,))


x = jt.rand(6)
with jt.trace() as t:
    dx = jt.grad(windows(x).sum(), x)
print("built:", [(node.op, node.kind) for node in t.built if node.kind.startswith("reindex")])
print("how often each is read:", dx.numpy(), end="\n\n")


def windows_gradient(dout):
    """dout has shape (4, 3), the gradient of x (6,)."""
    return None


def backwards_twice(x):
    return x.reindex((2, 6), lambda r, i: (5 - i,))


def backwards_twice_gradient(dout):
    """dout has shape (2, 6), the gradient of x (6,)."""
    return None


def pairs_summed(x):
    return x.reindex_reduce("add", (3,), lambda i: (i // 2,))


def pairs_summed_gradient(dout):
    """dout has shape (3,), the gradient of x (6,)."""
    return None


for function, gradient in [
    (windows, windows_gradient),
    (backwards_twice, backwards_twice_gradient),
    (pairs_summed, pairs_summed_gradient),
]:
    out = function(x)
    dout = jt.array(np.arange(1.0, out.size + 1, dtype=np.float32).reshape(out.shape))
    right = jt.grad((out * dout).sum(), x).numpy()
    tell_built(f"the gradient of {function.__name__}", lambda g=gradient, d=dout: g(d), right)

# %% [markdown]
# ## 8. Exercise: gather and scatter-add
#
# The index may also come from another array. Pass such arrays in the list `extras`: then `load(0, (i,))` is element i
# of the first one. An *embedding table*, which has a row for each word, is read like this, and its gradient is added up
# like this. Write `gather_rows` as one `reindex`, and `add_rows` as one `reindex_reduce`.
#
# <details><summary>A hint</summary> `table.reindex((n, width), lambda i, j: (load(0, (i,)), j), extras=[words])`.
# </details>


# %%
letters = jt.array([10, 11, 12, 13, 14])
print("letters 4, 0 and 0:", letters.reindex((3,), lambda i: (load(0, (i,)),), extras=[jt.array([4, 0, 0])]).numpy())


def gather_rows(table, words):
    """Row words[i] of the table, for each i."""
    return None


def add_rows(rows, words, count):
    """A table of `count` rows: row i of `rows` is added to row words[i] of the table."""
    return None


table, words = jt.rand(5, 2), jt.array([3, 0, 3, 3])
tell_built("gather_rows", lambda: gather_rows(table, words), table.numpy()[words.numpy()])
rows = jt.rand(4, 2)
right = np.zeros((5, 2), np.float32)
np.add.at(right, words.numpy(), rows.numpy())
tell_built("add_rows", lambda: add_rows(rows, words, 5), right)
dtable = jt.grad((table[words] * rows).sum(), table).numpy()
tell_built("add_rows, as the gradient of table[words]", lambda: add_rows(rows, words, 5), dtable)

# %% [markdown]
# ## 9. All of it
#
# Which of the three meta-operators does each function use? `jt.ops_table` finds out: it runs an example of each
# function and notes what is built. **Predict**: what will `softmax` need? (It is `exp(x) / exp(x).sum()`, but the code
# first subtracts the maximum.) Which functions will *not* be made of the three?

# %%
jt.ops_table("matmul", "softmax", "conv2d", "max_pool2d", "cumsum", "sort", "where", "one_hot")

# %% [markdown]
# **Look** at the rows with an entry in the column `Code`. The three could build a running sum, but with n² additions
# instead of n. A sort has to compare values with each other, and even the *shape* of what `jt.where(condition)` returns
# depends on how many values of `condition` are true. So these are kernels written by hand, with rules for their
# gradients where there is one. (*HostCall* is a call to NumPy instead of a kernel.) `jt.ops_table()` lists every
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
