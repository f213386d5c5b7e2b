# %% [markdown]
# # 08 GPU kernels without a GPU
#
# *An hour and a half. Do [04](04_kernels.ipynb) and [06](06_matmul.ipynb) first.*
#
# A GPU runs thousands of threads at once. One writes a function for *one* of them, a *kernel*, and says how many there
# shall be. That is easy to begin with, and hard to get right: threads overwrite each other, wait for somebody who
# never comes, or read beyond the end of an array, and the numbers may still look good.
#
# Here an interpreter runs such kernels, thread by thread, and looks at every access to memory. So you need no GPU, and
# you are told what a GPU would not tell you. The words are those of numba.cuda.
#
# **Predict**, **run**, **look**. There are six exercises. Each check says *right*, or what is wrong.
#
# ## 1. One function, many threads
#
# `kernel[blocks, threads]`, with its arguments behind it, *launches* a kernel. The threads come in *blocks*, and
# inside of a block in *warps* of 32, which go together. A thread knows its number in its block, `cuda.threadIdx.x`,
# the number of its block, `cuda.blockIdx.x`, and how many threads a block has, `cuda.blockDim.x`. `cuda.grid(1)` is
# its number in the whole launch.
#
# **Predict**: which number does the last thread have, if there are 3 blocks of 4 threads? Put it in place of the dots.
# And what happens with an array of 10 elements?

# %%
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu import cuda
from jt_exercises import predict

random = np.random.default_rng(8)


@cuda.jit
def numbered(out):
    i = cuda.grid(1)
    out[i] = 10 * cuda.blockIdx.x + cuda.threadIdx.x


twelve, ten = np.zeros(12, int), np.zeros(10, int)
numbered[3, 4](twelve)
print("12 elements:", twelve)
print("10 elements:", cuda.simulate(numbered, 3, 4, ten))

predict("08.1b", ..., lambda: len(twelve) - 1)

# %% [markdown]
# **Look.** Each thread has written one element: the number of its block, and its own number in there. With 10 elements
# two threads of the last block have none, and the interpreter says which, and in which line. A GPU would write
# somewhere else, and say nothing. (`cuda.simulate` goes on after a finding, a launch stops with an error.)
#
# %% exercise 08.1
# %% [markdown]
# ## 3. Neighbors share a trip
#
# When a thread wants a number, memory brings 32 bytes: eight numbers of float32 that are neighbors. That is a *trip*.
# The 32 threads of a warp ask together. If they ask for 32 neighbors, that makes four trips.
#
# Two kernels copy a matrix of 32 by 32. In the first one, the threads of a warp go along a row. In the second one,
# they go along a column. **Predict**: how many trips does each of them make to read x? (It has 1,024 numbers.)
#
# The picture shows the second one: the lines of the kernel, and a small square for each thread. A row of squares is a
# warp. They are gray, since all threads have ended.

# %%
matrix = np.arange(1024, dtype=np.float32).reshape(32, 32)


@cuda.jit
def along_rows(x, out):
    j, i = cuda.grid(2)
    out[i, j] = x[i, j]


@cuda.jit
def along_columns(x, out):
    i, j = cuda.grid(2)
    out[i, j] = x[i, j]


runs = {k.__name__: cuda.simulate(k, 1, (32, 32), matrix, np.zeros_like(matrix)) for k in (along_rows, along_columns)}
for name, run in runs.items():
    print(f"{name:14} {sum(t.trips for t in run.trips if t.name == 'x'):5} trips to x")
see.gpu_grid(runs["along_columns"])

# %% [markdown]
# **Look.** Both copy the same numbers. The second kernel makes eight times as many trips, for each of them brings
# eight numbers, and seven are thrown away. The bars show it line by line: blue is what is needed, orange is what is
# made in vain.
#
# %% exercise 08.2
# %% [markdown]
# ## 5. Shared memory, and a barrier
#
# The threads of a block have a small memory in common, *shared memory*. It is fast, and through it they give numbers
# to each other. But they do not all run at the same speed: one of them may read a number before another one has written
# it. That is a *race*. `cuda.syncthreads()` is a *barrier*: a thread that comes there waits until all threads of its
# block have come.
#
# This kernel adds up 64 numbers. Each step halves the number of threads that add. There is a mistake in it.
# **Predict**: which line is in a race, and with which other line? Then pick the barriers below the picture, with a
# click or with Tab and the arrow keys. The color of a thread says at which line it stands, and an orange edge that it
# has a part in the race. Below the threads is shared memory. A number has the color of the thread that wrote it.


# %%
@cuda.jit
def summed(x, out):
    tile = cuda.shared.array(64, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        half //= 2
    cuda.syncthreads()
    if t == 0:
        out[0] = tile[0]


sixty_four, total = random.integers(0, 9, 64).astype(np.float32), np.zeros(1, np.float32)
run = cuda.simulate(summed, 1, 64, sixty_four, total)
print(f"the sum is {total[0]:g}, and should be {sixty_four.sum():g}\n\n{run}")
see.gpu_grid(run)

# %% [markdown]
# **Look.** The line is in a race with itself. In its second step thread 0 reads what thread 16 writes in its first one,
# and in its last step what thread 1 writes in the step before. The interpreter names one pair of threads, and there are
# many. Whether the sum is right depends on who is faster. The interpreter runs thread 0 first, so here it is wrong. On
# a GPU the 32 threads of a warp often go together, and then it is right by chance.
#
# %% exercise 08.3
# %% exercise 08.4
# %% [markdown]
# ## 8. A product of matrices
#
# In notebook 06 a product became fast as soon as its numbers were used several times while they were in a cache. A GPU
# does the same by hand. In the kernel below each thread makes one number of the product, and reads a whole row of a
# and a whole column of b. So each number of a is read by every thread of its row.
#
# **Predict**: a is (16, 16), and so is b. How many numbers of a are read? Put that in place of the dots. With tiles of
# 8 by 8 in shared memory, how many would it be?


# %%
@cuda.jit
def naive(a, b, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        out[i, j] = total


a, b = random.integers(-4, 5, (2, 16, 16)).astype(np.float32)
out = np.zeros_like(a)
run = cuda.simulate(naive, (2, 2), (8, 8), a, b, out)
print("right:", np.array_equal(out, a @ b))
predict("08.8b", ..., lambda: sum(len(t.lanes) for t in run.trips if t.name == "a"))

# %% [markdown]
# **Look.** Each of the 256 threads reads 16 numbers of a. If a block of 8 by 8 threads brings a tile into shared
# memory once, each number is read by one thread of a block, in each of the 2 blocks beside each other: 512 in all, an
# eighth.
#
# %% exercise 08.5
# %% [markdown]
# ## 10. Races that nobody sees
#
# Three short kernels. Read them, before you go on: in each of them one barrier is missing.

# %%
from jt_exercises.gpu_threads import BROKEN, kernel

for text in BROKEN.values():
    print("\n".join(f"{n:2}  {line}" for n, line in enumerate(text.splitlines(), 1)), end="\n\n")
see.gpu_grid(kernel(BROKEN["smoothed"]), 1, 32, sixty_four[:32], np.zeros(32, np.float32))

# %% exercise 08.6
# %% [markdown]
# ## 12. Graphs become such kernels, and kernels become C++
#
# What you have written by hand, jt_edu writes for every graph. With the backend "cudasim" the loops of a graph become
# kernels, and the interpreter runs them. The cell shows the kernel of a softmax. A block works on a row. Its threads
# share the loops, and `block_maximum` and `block_add` put together what they have found, with shuffles and with shared
# memory.
#
# Most kernels in the world are written in C++: as CUDA for cards of NVIDIA, and as HIP for cards of AMD.
# `cuda.source(kernel)` writes one in either. (No card of AMD has run such a text. It was compiled.) **Predict**: which
# lines are not the same in HIP? On many cards of AMD 64 threads go together, not 32. `see.kernel(y)` shows a graph's
# kernels in C++ as well; where numba-cuda is installed also their registers, and how many warps that leaves room for.
#
# For products a card has *tensor cores*. One instruction multiplies a matrix of 16 by 8 and one of 8 by 8, and the 32
# threads of a warp are in it together. None of them has a matrix: thread 4 g + t gives four numbers of a, from rows g
# and g + 8, and two of b, and it is given four numbers of the product. `of_a_warp` in the cell says which.
# **Predict**: which thread writes row 9, column 3 of the product?


# %%
rows = jt.array(np.random.default_rng(0).random((4, 64)).astype("float32"))
with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
    jt.nn.softmax(rows, 1).sync()
(softmax,) = trace.kernels
print(softmax.source)

texts = {name: cuda.source(softmax, language=name) for name in ("cuda", "hip")}
print("In HIP these lines are others:")
print("\n".join(line for line in texts["hip"].splitlines() if line not in texts["cuda"]))


@cuda.jit
def of_a_warp(a, b, out):
    g, t = cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
    rows = a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4]
    d = cuda.mma_tf32(rows, (b[t, g], b[t + 4, g]), (0, 0, 0, 0))
    out[g, 2 * t], out[g, 2 * t + 1] = d[0], d[1]
    out[g + 8, 2 * t], out[g + 8, 2 * t + 1] = d[2], d[3]


a, b = (random.integers(-4, 5, (n, 8)).astype(np.float32) for n in (16, 8))
out = np.zeros_like(a)
run = cuda.simulate(of_a_warp, 1, 32, a, b, out)
print("right:", np.array_equal(out, a @ b))
print("row 9, column 3:", [t.lanes[t.addresses.index(75)] for t in run.trips if t.name == "out" and 75 in t.addresses])

# %% [markdown]
# **Look.** Thread 0 takes number 0 of a row, thread 1 takes number 1, and so on (of a longer row each takes more, a
# block apart): so neighbors read neighbors, as in section 3. No barrier stands before the third loop: each thread reads
# what it wrote itself.
# The shuffle says 32 in HIP: of 64 threads that go together, each half puts its own numbers together. Without it the
# kernel would compute something else on another card, and no compiler would say so.
#
# Number 75 of the product (row 9, column 3) is in rows g + 8, so g is 1, and in columns 2 t and 2 t + 1, so t is 1:
# thread 5. If half of the warp took another branch, no product would come: try `if cuda.threadIdx.x < 16:` above it,
# and indent the two lines below it as well, which read d.
# The numbers are *TF32*: a tensor core reads 10 of the 23 bits behind the first one, which are enough for the small
# whole numbers here. `jt.set_float32_matmul_precision("high")` allows it for all products of float32 on a GPU; halves
# are multiplied by tensor cores in any case.
#
# ## 13. What a real card makes of it
#
# These figures were measured on an NVIDIA H200, with kernels that numba compiled. It copies an array at 4.26 terabytes
# a second. A float32 product of 4096 by 4096 runs at 51 teraflops with its library cuBLAS.
#
# | kernel | how fast |
# |---|---|
# | `a * b + c`, one element a thread | 91 % of a copy |
# | the same, four elements a thread that are neighbors | 60 % of a copy |
# | the same, four that are a block apart, all loads first | 104 % of a copy |
# | sums of rows, a thread for each row | 8 % of a copy |
# | sums of rows, a block for each row, 128 bits at a time | 96 % of a copy |
# | transpose, naive, and by a tile of 32 by 33 | 13 %, and 80 % of a copy |
# | product, naive | 1.25 teraflops |
# | product, tiles of 32 by 32 in shared memory | 6.8 teraflops |
# | product, tiles, and small blocks in registers | 20 teraflops |
# | the same, 128 bits at a time, and two tiles in turn | 40 teraflops |
# | bfloat16 on tensor cores, an instruction of a warp as above, tiles in turn | 350 to 369 teraflops |
# | bfloat16 on tensor cores, an instruction of four warps, which no kernel of jt_edu has | 689 to 717 teraflops |
#
# cuBLAS has 793 to 810 in bfloat16. All are kernels that were written by hand, to find out what can be had: those that
# jt_edu prints have not been on a card.
#
# **Look** for what you have met: neighbors, tiles, banks (why 33?). What is done in registers there does once more what
# tiles do in shared memory.
#
# **Before you close this page**: a barrier costs time. `cuda.syncwarp()` costs less: there only the threads of a warp
# wait for each other. Which barriers of your `scanned` can it replace, and which ones of your `block_sum`?
