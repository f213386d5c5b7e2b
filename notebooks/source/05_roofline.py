# %% [markdown]
# # 05 Memory-bound or compute-bound? The roofline of your machine
#
# *An hour. Do [03](03_fusion.ipynb) first; [04](04_kernels.ipynb) helps.*
#
# A kernel needs numbers from memory, and arithmetic on them. It cannot be done before the slower of the two is. So two
# figures of a machine, bytes per second and operations per second, and one figure of a kernel, operations per byte,
# tell how fast it can be at best, and what would make it faster. In this notebook you draw that plot for the machine in
# front of you, place kernels on it, and learn to measure so that the figures can be believed.
#
# **Predict**, **run**, **look**. There are six exercises; each check says *right*, or what is wrong.

# %%
import time

import matplotlib.pyplot as plt
import numba
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import predict
from jt_exercises.roofline import caches
from jt_exercises.timing import least, ratio  # CPU seconds, the least of 15 runs; the quotient of two, in turns

jt.set_num_threads(1)  # one thread and its CPU time: other programs take time of their own, not ours
random = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return jt.array(random.normal(size=shape).astype(dtype))


# %% [markdown]
# ## 1. Two figures of a machine
#
# `jt.machine()` copies and reads arrays that are far larger than any cache, and runs chains of multiply-adds that never
# leave the *registers*, the few places that a processor computes with. Both in kernels like ours.
#
# **Predict.** While one number of 4 bytes comes from memory, how many operations could one core do: 1, 20 or 500? Put
# one of the three in place of the dots; what is measured may be up to 5 times as many, or as few.

# %%
machine = jt.machine()
bandwidth, peak = machine.bytes_per_second, machine.flops_per_second
ridge = peak / bandwidth
predict("05.1b", ..., lambda: 4 * ridge, factor=5)
print(f"memory: {bandwidth / 1e9:.0f} GB/s   arithmetic: {peak / 1e9:.0f} G operations/s, one thread, float32")
print(f"while 4 bytes come from memory, {4 * ridge:.0f} operations could be done")
print(f"the ridge: a kernel with fewer than {ridge:.1f} operations per byte waits for memory")

# %% [markdown]
# **Look.** Arithmetic is nearly free, and hardly any kernel has enough of it: that is the whole reason for fusion.

# %% exercise 05.1

# %% exercise 05.2

# %% [markdown]
# ## 4. Dots under the roof
#
# The plot below runs four computations: an addition, a sum, a longer chain, and a matrix product. **Predict**
# for each where its dot will be: on the slope or under the ceiling? Then choose *Each operator alone* above the plot.
# Which dots move, and in which direction?

# %%
x, y = normal(3_000_000), normal(3_000_000)
table, square, other = normal(2000, 2500), normal(320, 320), normal(320, 320)
long = normal(8_000_000)


def four():
    return x + y, table.sum(1), ((long * 2 + 1) * long - 3).abs(), square @ other


for fuse in (True, False):
    with jt.flag_scope(fuse=fuse):
        jt.sync([*four()])  # compiled now, so that none of it is measured
see.roofline(*four())

# %% [markdown]
# **Look.** Three dots sit on the slope, and the matrix product is near the ceiling. (A dashed line, if there is one, is
# what a product of 512 by 512 matrices reached when the machine was measured.) Alone, the operators of the chain
# are five dots, far to the left of the one: they move more bytes for the same operations. The addition and the sum
# stay, for they are one operator each. The product falls apart, too, into operators that repeat, multiply and add up,
# and loses BLAS.
#
# Elementwise kernels stay on the slope whatever you do. Does another size help, or another type of number? **Predict**
# the last column below: the share of the machine's bandwidth that is reached.

# %%
kernels = {"p + q": lambda p, q: p + q, "(p * 2 + 1) * p - q": lambda p, q: (p * 2 + 1) * p - q}
print("kernel               numbers  type     operations per byte  of the bandwidth")
for length in (6_000_000, 16_000_000):
    for dtype in (np.float32, np.float64):
        p, q = jt.array(np.ones(length, dtype)), jt.array(np.ones(length, dtype))
        for name, build in kernels.items():
            e = jt.explain(build(p, q))
            share = e.bytes / least(lambda build=build, p=p, q=q: build(p, q).sync()) / bandwidth
            kind = np.dtype(dtype).name
            print(f"{name:<20} {length / 1e6:5.0f} M  {kind:<8} {e.flops / e.bytes:19.3f} {share:17.0%}")

# %% [markdown]
# **Look.** About the same share in every row, though some rows do four times the arithmetic. On the slope only bytes
# count: half of them, as float32 instead of float64, is half of the time. (A share above 100 % says that memory was
# busier when section 1 measured it, or that a large cache still held a part of the arrays. If the rows differ much,
# something else is using the memory: run the cell again.)

# %% exercise 05.3

# %% exercise 05.4

# %% [markdown]
# ## 6. The cliff
#
# The slope of the plot is that of *memory*. Between it and the core lie caches: small ones that are fast. Below, arrays
# from 8 kB to 128 MB are read again and again. **Predict**: how does the speed fall, along a ramp or in steps? And
# where are the steps? (Dashed lines: the sizes of the caches, if the system tells them.)


# %%
@numba.njit(fastmath=True)
def read(numbers, passes):
    total = np.float32(0)
    for _ in range(passes):
        for k in range(len(numbers)):
            total += numbers[k]
    return total


sizes = [8 << k for k in range(15)] + [12 << k for k in range(14)]  # kB
speeds = {}
for size in sorted(sizes):
    numbers, passes = np.ones(size << 8, np.float32), max(1, (32 << 10) // size)
    speeds[size] = passes * numbers.nbytes / least(lambda n=numbers, p=passes: read(n, p), rounds=7)

times = {size: speed / speeds[8 << 14] for size, speed in speeds.items()}  # as fast as from memory
top = max(times, key=times.get)

figure, axis = plt.subplots(figsize=(7, 3.2))
axis.plot(list(times), list(times.values()), marker=".", color="#0072b2")
axis.set(xscale="log", yscale="log", xlabel="size of the array", ylabel="speed, memory = 1")
axis.set_xticks([8 << k for k in range(0, 15, 2)], ["8 kB", "32", "128", "512", "2 MB", "8", "32", "128"])
axis.set_yticks(doubled := [1 << k for k in range(8) if 1 << k <= times[top]], doubled)
axis.minorticks_off()
axis.grid(alpha=0.3)
for name, size in caches():
    axis.axvline(size >> 10, color="#d55e00", linestyle="--", linewidth=1)
    axis.annotate(f" {name}", (size >> 10, 1), (0, -10), ("data", "axes fraction"), "offset points", color="#d55e00")
plt.show()
print("caches:", ", ".join(f"{name} {size >> 10:,} kB" for name, size in caches()) or "the system does not tell")
print(f"with {top} kB it is {times[top]:.1f} times as fast as from memory")

# %% [markdown]
# **Look.** Steps, near the sizes of the caches, some high and some low. But why a *cliff*? Should an array that is a
# tenth too large not still find nine tenths of itself in the cache?

# %% exercise 05.5

# %% [markdown]
# (Real caches only nearly do that: they fetch ahead when they see a pattern, and a line has few places where it may be.
# So real cliffs have a slope.)

# %% exercise 05.6

# %% [markdown]
# The next cell compares an addition with itself, on your own machine: the quotient should be 1. **Predict** how far
# from it a single run is, and how far the least of 15 in turns.
#
# ## 8. Break it
#
# Then a benchmark says that our framework adds two arrays of 12 MB far faster than memory can deliver them.
# **Predict**: is it the cache, the clock, or the code? The roof says at once that something is wrong. Repair the line
# with the arrow.


# %%
def once(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def add():
    return (x + y).sync()


single = [once(add) / once(add) for _ in range(15)]
turns = [ratio(add, add) for _ in range(5)]
print(f"single runs       {min(single):.2f} to {max(single):.2f}")
print(f"least of 15 each  {min(turns):.2f} to {max(turns):.2f}")


def benchmark():
    x + y  # <--


speed = 3 * 4 * x.size / least(benchmark)
print(f"{speed / bandwidth:.2f} times the bandwidth of this machine" + ": impossible" * (speed > 10 * bandwidth))

# %% [markdown]
# <details><summary>The answer</summary> Nothing was added: `x + y` alone is a note in a graph, and `(x + y).sync()`
# runs it. A kernel far above its roof is a mistake in the measurement: ask for the roof first. </details><br>
#
# **Before you close this page**: a kernel of yours reaches 90 % of the bandwidth, and is too slow. What do you change?
# And what if it is at 10 % of both roofs?
