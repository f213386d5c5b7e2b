# %% [markdown]
# # 00 Start here: what happens when I write `a * b + 1`?
#
# *Half an hour. You need Python and a little NumPy. Nothing is downloaded, and nothing you do here can break anything.*
#
# This framework looks like NumPy but works like a compiler. Here you follow one line of arithmetic from start to
# finish: the line you write, a graph, a loop, numbers, and a gradient.
#
# Most sections have the same three steps. **Predict**: say what will happen, aloud or on paper, before you run the
# cell. **Run** it. **Look**: where your prediction was wrong, you have found something to learn. Where a cell has a
# line `predict(...)`, put your guess in place of the three dots. The first guess is kept, and a wrong one costs
# nothing.

# %%
import time

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import predict

a = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
b = jt.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])

# %% [markdown]
# ## 1. A line of arithmetic
#
# `a` and `b` are *Vars*. A Var stands for an array, here of shape (2, 3). The next cell runs `y = a * b + 1` inside a
# *trace*, which records everything that the framework does.
#
# **Predict.** How many numbers have been computed once the line has run: 0, 6 or 12?

# %%
with jt.trace() as t:
    y = a * b + 1

for node in t.built:
    print(f"#{node.id:<3} {node.op:<10} inputs {node.inputs!s:<8} shape {node.shape!s:<7} from {node.where}")
print(f"\n{len(t.built)} nodes were built, {len(t.kernels)} kernels ran")

# %% [markdown]
# **Look.** The answer is 0. Each operator made a *node*, which says which operator it stands for, which values it
# reads, and the shape and dtype of its result. A node also remembers the line that you wrote.
#
# The next cell draws the nodes. Drawing computes nothing either.

# %%
y.graph()

# %% [markdown]
# Rounded boxes are arrays that already exist. The number 1 is a small label beside the operator that reads it. The
# frame around `multiply` and `y = add` shows a plan: both operators will run in **one** *kernel*, a function that the
# framework writes for you. A double outline marks what will be stored in memory. Point at anything to read more.
#
# ## 2. Asking for numbers
#
# **Predict.** `y.numpy()` asks for the numbers. Does the array `a * b` ever exist in memory?

# %%
with jt.trace() as t:
    print(y.numpy())

print(f"\n{len(t.kernels)} kernel ran: {t.kernels[0].name}")
print(f"arrays that were allocated: {[(m.node, m.bytes) for m in t.memory]} (node, bytes)")
print()
print(t.kernels[0].annotated)

see.step_kernel(a * b + 1)

# %% [markdown]
# **Look.** One array was allocated, for `y`: 6 numbers of 4 bytes. The product lives in the variable `t0` for one
# iteration of the loop. Two operators became one loop; that is called *fusion*.
#
# The printed text is the real source of the kernel: Python, written by the framework, compiled by numba (a compiler for
# Python), and kept in a file on your disk. At the end of a line, a comment names its operator and the line of your code
# that asked for it. One loop covers both axes, because the rows lie one after the other in memory. (`c0` is the 1; `lo`
# and `hi` say where a thread's part of the loop begins and ends; `at(i0)` says that a counter is never negative, which
# makes compiled code faster.)
#
# In the view under that text you can run the same kernel one line at a time: click it, then press `]` to go forward and
# `[` to go back. The cells being read or written light up.
#
# ## 3. Why not always one loop?
#
# Now we subtract an array's mean from each of its values, double the result, and multiply it by a matrix. (`@` is the
# matrix product. The framework leaves it to *BLAS*, a library for matrix arithmetic, which needs complete matrices,
# stored in memory.)
#
# **Predict.** Which of the operators `mean`, `-`, `* 2` and `@` can share a kernel? Where must an array be stored? Put
# the number of kernels in place of the dots.
#
# `jt.explain` shows this without running anything: there is one line for each kernel, with what it stores. Click a
# kernel to see why.

# %%
random = np.random.default_rng(0)
x = jt.array(random.normal(size=(2000, 2000)).astype(np.float32))
w = jt.array(random.normal(size=(2000, 100)).astype(np.float32))
z = ((x - x.mean()) * 2) @ w

predict("00.3", ..., lambda: len(jt.explain(z).kernels))
jt.explain(z)

# %% [markdown]
# **Look.** There are two kernels. `mean`, `-` and `* 2` share the first (a mean is a `sum` and a `divide`), and `@` has
# the second to itself. The first needs two loops, one after the other: no difference can be computed before the last
# element of `x` has gone into the mean. Between the kernels one array of 16 MB is stored, because BLAS needs it whole.
#
# Open both kernels. Wherever one operator reads another (an *edge* of the graph), you see a reason. Most edges are
# *fused*: both operators run in the same kernel. One edge is *cut*: the value is stored in memory first.
#
# A loop like this spends most of its time reading and writing memory, and fusing saves much of that.
# `jt.flags.fuse = False` gives each operator a kernel of its own, so that we can measure the difference.
#
# **Predict.** The next expression has 5 operators on 4 million numbers. By what factor are five loops slower than one?


# %%
def best_of(times, **flags):
    """Milliseconds of the fastest of several runs, and the bytes that its kernels read and wrote."""
    found = []
    with jt.flag_scope(**flags):
        for _ in range(times):
            wanted = ((x * 2 + 1) * x - 3) * x
            with jt.trace() as run:
                begin = time.perf_counter()
                wanted.sync()
                found.append((time.perf_counter() - begin) * 1e3)
    return min(found), sum(k.bytes for k in run.kernels), len(run.kernels)


fused, apart = best_of(7), best_of(7, fuse=False)
for name, (milliseconds, moved, kernels) in {"fused": fused, "not fused": apart}.items():
    print(f"{name:<10} {kernels} kernel(s)  {moved / 1e6:6.1f} MB moved  {milliseconds:7.2f} ms")
print(f"\n{apart[1] / fused[1]:.1f} times the bytes, {apart[0] / fused[0]:.1f} times the time, on this machine, now")

# %% [markdown]
# **Look.** One loop reads `x` once and writes the result once: 2 times 16 MB. Each of the five loops reads and writes
# an array, and two of them read `x` as well: 12 times 16 MB, which is six times as much. The arithmetic is the same.
# The time may be less than six times as long: the processor can compute while it waits, and may keep the array in its
# *cache*, a small, fast memory.
#
# ## 4. Another shape
#
# The first run of a new expression takes a moment: its kernel is compiled. (Only once; it is kept on disk for the
# next time.)
#
# **Predict.** The next cell runs the expression of section 1, a product plus 1, on five shapes, four of them new. How
# many kernels are compiled in all? Put their number in place of the dots.


# %%
def run_with(shape):
    p, q = jt.array(np.ones(shape, np.float32)), jt.array(np.ones(shape, np.float32))
    with jt.trace() as run:
        (p * q + 1).sync()
    return run


shapes = [(2, 3), (7,), (30, 40), (5, 6, 7), (1000, 1000)]
predict("00.4", ..., lambda: sum(run_with(shape).compiled for shape in shapes))
for shape in shapes:
    run = run_with(shape)
    print(f"{shape!s:<14} kernels run: {len(run.kernels)}   compiled: {run.compiled}")

# %% [markdown]
# **Look.** Lengths are arguments of a kernel. Here each array is one unbroken block of memory, so one loop covers all
# its axes. That is why the new shapes need no new kernel.
#
# ## 5. The gradient is more graph
#
# For each number of `a`: how much does the *loss*, here the sum of `a * b + 1`, change when that number changes a
# little? These answers together are the *gradient* with respect to `a`, and `jt.grad` returns it.
#
# **Predict.** This gradient is an array that you have already seen. Which one? And does `jt.grad` compute it?

# %%
with jt.trace() as t:
    loss = (a * b + 1).sum()
    da = jt.grad(loss, a)
print(f"{len(t.built)} nodes were built, {len(t.kernels)} kernels ran")

see.graph(loss, da)

# %% [markdown]
# **Look.** Nothing ran. On the way back from the loss, each operator added the nodes of its own derivative (dashed
# outlines). They are ordinary nodes: they can be fused, run, and differentiated again. (`gather` reads by an index:
# here each element of the gradient of `a * b + 1` is read from the same number, the 1 that is the gradient of the sum.)
#
# The derivative of `a * b + 1` with respect to `a` is `b`. The next cell prints it. Below that, drag the slider (or
# press `[` and `]`) to step through every value, down to the loss and back up to the gradients.

# %%
print(da.numpy())
assert (da.numpy() == b.numpy()).all()

see.tape(loss)

# %% [markdown]
# ## 6. Break it
#
# Shapes are checked when Python reaches the operator, not when its kernel runs. **Predict**: which of the two lines in
# the `try` raises the error, and what will it tell you?

# %%
try:
    mixed = a * jt.ones(2, 4)
    mixed.numpy()
except jt.ShapeError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# **Look.** The first line raised it, and no kernel was ever made. Each error message of this framework tells you what
# you asked for, what it found, and what to try. `a` is unchanged; fix the line above and run it again.
#
# ## 7. Your turn
#
# How many kernels will run in each of the three snippets? Put a number for each `None` in `guess`, then run.


# %%
def count_kernels(snippet):
    with jt.trace() as run:
        snippet()
    return len(run.kernels)


def print_in_between():
    c = a * 2
    print(c.shape)
    return (c + 1).numpy()


def look_in_between():
    c = a * 2
    print(c)
    return (c + 1).numpy()


def look_at_nothing():
    return (a + b) * (a - b)


guess = {print_in_between: None, look_in_between: None, look_at_nothing: None}
for snippet, guessed in guess.items():
    yours = "no guess yet" if guessed is None else f"you guessed {guessed}"
    print(f"{snippet.__name__}: {yours}, it was {count_kernels(snippet)}\n")

# %% [markdown]
# A shape is known without computing. Numbers are not: to print them, the second snippet had to run a kernel in the
# middle. The third never asked for a number.
#
# ## 8. Where to go on
#
# Your expression went through six stages. The next cell lists them: the question that each stage answers, and what you
# have at its end.

# %%
for number, stop in enumerate(jt.walk(loss).stops, 1):
    print(f"{number}  {stop.question}\n   {stop.holds}")

# %% [markdown]
# Later, to see how the framework does this, put `jt.walk(loss)` alone in a cell. It shows the framework's own code for
# each question. You do not need that code for this course.
#
# **Before you close this page**, answer in one sentence each: What is a node? When does something run? What does fusion
# save? Next, you compute gradients by hand.
