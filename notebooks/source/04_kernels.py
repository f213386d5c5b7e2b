# %% [markdown]
# # 04 Kernels: read what runs, and change it
#
# *A little over an hour. Do [03](03_fusion.ipynb) first.*
#
# A line such as `(x * w + 1).abs()` becomes a *kernel*: a short loop that the framework writes in Python, and that a
# *compiler*, numba, translates into instructions of your processor. In 03 you decided what shares a kernel. Here you
# open one: you read it, step through it, put a mistake into it, make it faster, look at its instructions, and write one
# of your own.
#
# **Predict**, **run**, **look**. There are six exercises; each check says *right*, or what is wrong. You cannot break
# anything: what you write is tried in a process of its own first.
#
# ## 1. From a line to its kernel
#
# `jt.explain(y)` plans what would run for `y`, and runs nothing. Its `kernels` are in the order in which they would
# run. `annotated` is the source of one; a comment behind a line names the operator that it computes, and your line.
#
# **Predict.** Two lines below, four operators. How many kernels? How many loops? Which values become arrays? Put a list
# of three numbers in place of the dots: kernels, loops, arrays that are stored.

# %%
import threading
import time
from contextlib import suppress

import matplotlib.pyplot as plt
import numba
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import YourTurn, predict
from jt_exercises.kernels import inner_loop, puzzle, signature, words
from jt_exercises.timing import ratio

jt.set_num_threads(1)  # one thread: its CPU time is the same whatever else the machine does
random = np.random.default_rng(0)


def normal(*shape):
    return jt.array(random.normal(size=shape).astype(np.float32))


# %%
x, w = normal(6, 8), normal(8)
scaled = x * w + 1
total = scaled.abs().sum(1)

explained = jt.explain(total)
first = explained.kernels[0]
predict("04.1b", ..., lambda: [len(explained.kernels), first.source.count("for "), len(first.stored)])
print(len(explained.kernels), "kernel\n")
print(first.annotated)

print("\nSix more, for exercise 04.1:\n")
for letter, text in puzzle().items():
    print(letter, text[text.index("def") :], sep="\n")

# %% [markdown]
# **Look.** One kernel of two loops, with a statement for each operator, and one more where something is stored. Two
# arrays are stored: `total`, which we asked for, and `scaled`, because a variable holds it: you may ask for it later.
# All kernels use these names:
#
# | name | is |
# |---|---|
# | `i0`, `i1` | counters of loops |
# | `lo`, `hi` | the part of the outermost loop that this call does; each thread is given another |
# | `n0` | the length of an inner loop. It is an argument, so that arrays of another length need no other kernel |
# | `c0` | a number of yours, here the 1 |
# | `a0`, `a1` | arrays that are read |
# | `out0`, `out1` | arrays that are written |
# | `t0`, `t1` | the values of one element: they are never in memory |
# | `s0` | a sum that is being collected, in float64 (in long rows with a part `p0`, in float32) |
# | `acc0` | many such sums at once: an array that the thread has for itself |
# | `at(i0)` | the index `i0`, with a promise that it is not negative; section 6 says what that is worth |
# %% exercise 04.1

# %% exercise 04.2

# %% [markdown]
# ## 3. Step by step
#
# The source of a kernel is Python, so Python can run it. That is the *backend* `"python"`: the same text, not compiled.
# It is for looking. `see.step_kernel` runs a kernel in this way, on the real numbers, and writes down each step: click
# into the view below, then go on with `]` and back with `[`.
#
# **Predict.** How often is the line done that begins with `s0 = s0 +`, for 3 rows of 4 numbers? And how many times as
# long does a kernel take as plain Python?

# %%
table = normal(300, 400)


def double():
    (table * 2 + 1).sync()


def double_in_python():
    with jt.flag_scope(backend="python"):
        double()


print(f"as plain Python it takes {ratio(double_in_python, double, rounds=3):,.0f} times as long")
few = jt.array([[-5.0, -4.0, -3.0, -2.0], [-1.0, 0.0, 1.0, 2.0], [3.0, 4.0, 5.0, 6.0]])
weights = jt.array([1.0, 2.0, 1.0, 2.0])
see.step_kernel((few * weights + 1).abs().sum(1))

# %% [markdown]
# **Look.** Twelve times, once for each number; and at the end of each row `s0` goes into `out0`, and the next row
# begins again with 0.
#
# ## 4. What it is compiled for
#
# Compiling is what made the difference. Three words say how numba is asked to do it.
#
# * The *signature*: the types of all arguments. There are other instructions for float32 than for float64, so each
#   signature is compiled for itself. Lengths are no part of it.
# * *nogil*: Python lets one thread at a time work; the running thread holds a lock, the GIL. A compiled loop needs no
#   Python, and with `nogil` it gives the lock back while it runs.
# * *fastmath*: leave to compute in another order than you wrote. Float additions are rounded, so another order gives
#   other last digits, and without leave a compiler must not change it: each addition waits for the one before.
#
# **Predict.** Which of the three kernels below have the same signature? (Behind each stand its *key*, a name made of
# its text and types, and the signature.) While a kernel runs for a tenth of a second or two, how long does another
# thread of Python stand still, with nogil and without? How many times as fast is a sum whose order is free, and does
# it give the same number?


# %%
for shape, dtype in (((1000,), "float32"), ((30, 40), "float32"), ((1000,), "float64")):
    k = jt.explain(jt.array(np.ones(shape, dtype)) * 2).kernels[0]
    print(f"{shape!s:<9} {dtype}  {k.key}  {signature(k)}")


def add_up(numbers, passes):
    s = np.float32(0)
    for _ in range(passes):
        for k in range(len(numbers)):
            s += numbers[k]
    return s


def standstill(kernel):
    """How many milliseconds another thread of Python stands still, at most, while a kernel runs."""
    longest, done, begun = 0.0, threading.Event(), threading.Event()

    def tick():
        nonlocal longest
        last = time.perf_counter()
        while not done.is_set():
            begun.set()
            last, before = time.perf_counter(), last
            longest = max(longest, last - before)

    other = threading.Thread(target=tick)
    other.start()
    begun.wait()
    kernel(numbers, 50_000)
    done.set()
    other.join()
    return longest * 1e3


numbers = random.random(4096).astype(np.float32)
compiled = {
    "as it is": numba.njit("f4(f4[::1], i8)")(add_up),
    "nogil": numba.njit("f4(f4[::1], i8)", nogil=True)(add_up),
    "in any order": numba.njit("f4(f4[::1], i8)", fastmath={"reassoc", "contract"})(add_up),
}
print()
for name in ("as it is", "nogil"):
    print(f"{name:<14} the other thread stood still for {standstill(compiled[name]):.0f} ms")
slow, free = compiled["as it is"], compiled["in any order"]
times = ratio(lambda: slow(numbers, 100), lambda: free(numbers, 100))
print(f"in any order   {times:.1f} times as fast; {slow(numbers, 1):.4f} becomes {free(numbers, 1):.4f}")

# %% [markdown]
# **Look.** Another shape, the same kernel; another type, another one. With nogil the other thread goes on: so several
# threads can share a kernel. And in any order a processor adds many numbers at once; the last digits differ.
#
# Many compilers know *one* switch, all of fastmath. It also promises that no number is nan or infinite, and then a
# mistake that gives nan is hidden. Our kernels are compiled with two of its seven permissions only: `reassoc`, sums and
# products in any order; and `contract`, a product and a sum rounded once.
# %% exercise 04.3

# %% [markdown]
# ## 5. Change it
#
# `jt.edit_kernel(kernel, text)` tries another text in place of a kernel's own, in a process of its own: with every
# index checked; then beside the original, on random numbers; then for time. `install()` makes it run wherever the
# original ran, and `revert()` takes it back.
#
# **Predict.** Four mistakes: which of them gives an error, and which other numbers? What will `[1, 2, 3] * 2 + 1` be
# when the first is installed?

# %%
three = jt.array([1.0, 2.0, 3.0])
(kernel,) = jt.explain(normal(100_000) * 2 + 1).kernels
print(kernel.source)

mistakes = {
    "a wrong sign": ("+ c1", "- c1"),
    "one too few": ("range(lo, hi)", "range(lo, hi - 1)"),
    "one too many": ("range(lo, hi)", "range(lo, hi + 1)"),
    "it never ends": ("for i0 in range(lo, hi):", "i0 = lo\n    while i0 < hi:"),
}
edits = {}
for name, change in mistakes.items():  # some seconds each
    edits[name] = jt.edit_kernel(kernel, kernel.source.replace(*change))
    print(f"{name}: {edits[name]}\n")

edits["a wrong sign"].install()
print("installed:", (three * 2 + 1).numpy())
jt.revert_kernels()  # whatever is installed
print("reverted: ", (three * 2 + 1).numpy())
see.kernel(normal(300, 400).sum(0))

# %% [markdown]
# **Look.** No mistake got past the trial, and the notebook lives. *One too few* is at most 0 off, and yet 2 numbers are
# not the same: nobody wrote them. They are two, because the trial also does the work in two parts, as two threads
# would. (An installed kernel stays under guard: its indices are checked and its loops counted, which costs some time.)
#
# The view above does the same with buttons: *Edit*, change a line, *Run*. (Its other tabs show what the compiler makes
# of the source: *LLVM IR* on the way, *Assembly* at the end, of which section 6 has more, and *PTX* for a graphics
# card.) The kernel adds up the columns of a table, row by row: for each number of the table it reads a sum and stores
# it again.
#
# **Predict**: how much faster would it be to add four numbers of a column first, and then the four to the sum?
# %% exercise 04.4

# %% [markdown]
# ## 6. What is `at` good for?
#
# `a[-1]` is the last element, in Python and in numba. So before `a0[i0]` is read, the compiled kernel asks whether `i0`
# is negative. `range(lo, hi)` could begin below 0; the compiler cannot know that it never does. `at(i0)` says so.
#
# One question for each number: how bad can that be? A processor has *vector* instructions, which take 4, 8 or 16
# numbers that lie side by side, as fast as one. Numbers whose places are asked for one by one need not lie side by
# side.
#
# **Predict.** How many times as long does the kernel take without `at`? The cell also lists the instructions of its
# innermost loop, in both forms: what do you expect to be missing, or to be added? (A star marks a vector instruction.)

# %%
(chain,) = jt.explain(normal(10_000) * 2 + 1).kernels
edit = jt.edit_kernel(chain, chain.source.replace("at(i0)", "i0"))
print(f"without `at` it takes {1 / edit.speed:.1f} times as long; the same numbers: {edit.agrees}\n")
for name, k in {"with `at`": chain, "without": edit}.items():
    print(f"{name}: {words(inner_loop(k))}\n")
print("The loop with `at`:", *inner_loop(chain), sep="\n    ")
see.kernel(normal(10_000) * 2 + 1, tab="asm")

# %% [markdown]
# **Look.** The good loop is short: load, multiply and add, store, count. (A processor of Intel or AMD has names such as
# `vmovups` and `vfmadd213ps` for it, one of ARM `ldp`, `fmla`, `stp`.) Without `at` most of its instructions compute
# *places*. What else happens depends on the processor. With AVX-512 it still takes vectors, and fetches each number
# from a place of its own: `gather` and `scatter`. With AVX2 it puts numbers into a vector one by one (`insert`),
# computes with all of them, and takes them out one by one (`extract`). Without either it computes one by one. So a
# vector instruction alone proves little: look at what moves the numbers.
#
# How to read one, on Intel and AMD. Registers are `xmm`, `ymm`, `zmm`, of 128, 256, 512 bits. The last two letters of
# the name say what lies in them: `ps`, packed single, many float32 of 32 bits; `pd`, packed double, many float64 of 64
# bits; `ss` and `sd`, scalar, just one of them.
# %% exercise 04.5

# %% exercise 04.6

# %%
noisy = jt.array(np.sin(np.linspace(0, 12, 400)) + random.normal(0, 0.4, 400)).reshape(1, 400).float()
if "YourTurn" not in LEAKY:  # noqa: F821
    with suppress(YourTurn), jt.flag_scope(backend="python"):  # so that you can interrupt it
        smooth = leaky(noisy)  # noqa: F821
        influence = jt.grad(smooth[0, 200], noisy)
        figure, axes = plt.subplots(1, 2, figsize=(11, 2.6))
        axes[0].plot(noisy.numpy()[0], color="#bbbbbb", label="x")
        axes[0].plot(smooth.numpy()[0], color="#0072b2", label="its leaky mean")
        axes[0].legend()
        axes[1].plot(influence.numpy()[0], color="#d55e00")
        axes[1].set_title("the gradient of out[200] by x")
        plt.show()

# %% [markdown]
# **Before you close this page**: a colleague says that a kernel is slow. Where do you look first, where second, and
# which single figure would convince you that you have found the reason? In 05 you learn what the fastest possible time
# is, so that you know when to stop.
