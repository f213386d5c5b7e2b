# %% [markdown]
# # 03 Fusion: same operations, a third of the bytes
#
# *An hour. Do [00](00_start_here.ipynb) first; [02](02_meta_operators.ipynb) helps.*
#
# An operator such as `x + 1` reads an array and writes one. The addition costs a core almost nothing; fetching the
# numbers is what takes time. So three operators in a row that each read and write take about three times as long as one
# loop that does all three. Operators that run in one kernel are *fused*. In this notebook you decide what may be fused,
# what must not be fused, and when fusing would be a mistake.
#
# **Predict**, **run**, **look**. Each of the six exercises says whether your answer is *right* and, if not, why.

# %%
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_exercises import predict
from jt_exercises.timing import ratio

jt.set_num_threads(1)  # one thread: its CPU time depends least on what else the machine does
random = np.random.default_rng(0)


def normal(*shape):
    return jt.array(random.normal(size=shape).astype(np.float32))


# %% [markdown]
# ## Three operators, one loop
#
# The next cell computes `(x * 2 + 1).abs()` for 16 million numbers (64 MB). With `fuse=False` each operator has a
# kernel of its own.
#
# **Predict.** How many bytes are read and written with fusion, and without? How many times as long does it take
# without? Put a list of two numbers in place of the dots: the MB with fusion, and without.
#
# (`ratio` runs the two versions in turn, 15 times each, and compares their shortest CPU times.)

# %%
x = normal(16_000_000)


def three():
    return (x * 2 + 1).abs()


def run_apart():
    with jt.flag_scope(fuse=False):
        three().sync()


fused = jt.explain(three())
with jt.flag_scope(fuse=False):
    apart = jt.explain(three())
predict("03.0", ..., lambda: [fused.bytes / 1e6, apart.bytes / 1e6])
times = ratio(run_apart, lambda: three().sync())
for name, e in {"fused": fused, "not fused": apart}.items():
    print(f"{name:<10} {len(e.kernels)} kernel(s), {e.flops / 1e6:.0f} M operations, {e.bytes / 1e6:.0f} MB moved")
print(f"{apart.bytes / fused.bytes:.1f} times the bytes, {times:.1f} times the time, on this machine, now")

# %% [markdown]
# **Look.** Fusion leaves the operations as they are, and needs a third of the bytes and about a third of the time. It
# does not make arithmetic cheaper. It removes the arrays in between.
#
# Below is an expression with more to decide. Drag the slider from *as written* to *shared loops*: at each step, some
# boxes move into a kernel, and the figures show how many bytes are still moved. Each edge (one operator reads another)
# names the rule that fused or cut it.

# %%
points, weights = normal(2000, 200), normal(200, 50)
see.fusion((((points - points.mean(1, keepdims=True)) * 2).exp() @ weights).max(1))

# %% exercise 03.1

# %% exercise 03.2

# %% exercise 03.3

# %% [markdown]
# (The framework needs no such search. It goes through the operators in order, and an operator may join a kernel only if
# everything it reads is computed in that kernel or in an earlier one.)
#
# ## When fusing hurts
#
# `row` has 4,000 numbers, and each row of a large array is multiplied by `exp(sin(row))`. In the first version the
# framework stores the 4,000 results: there are two kernels. In the second the row is repeated *first*, and everything
# is fused into one loop, with slightly fewer bytes. **Predict**: which one is faster, and by how much? Put "stored" or
# "everywhere", the name of the faster one, in place of the dots.

# %%
row, table = normal(1, 4000), normal(1000, 4000)


def stored():
    return row.sin().exp() * table


def everywhere():
    return row.broadcast_to((1000, 4000)).sin().exp() * table


def slowdown():
    return ratio(lambda: everywhere().sync(), lambda: stored().sync())


predict("03.3b", ..., lambda: "stored" if slowdown() > 1 else "everywhere")
for build in (stored, everywhere):
    e = jt.explain(build())
    done = sum(k.flops for k in e.kernels)
    told = f"{e.bytes / 1e6:.3f} MB   {done / 1e6:.1f} M operations"
    print(f"{build.__name__:<11} {len(e.kernels)} kernel(s)   {told}")
print(f"\nin one loop it takes {slowdown():.1f} times as long, on this machine, now")
print([d.reason for d in jt.explain(stored()).decisions if not d.fused])

# %% [markdown]
# **Look.** The second moves slightly fewer bytes, but is slower: the sines were computed a thousand times over. (Each
# operator counts as one operation for each element. The reason in the last printed line counts by cost: a `sin` or an
# `exp` costs as much as 8 multiplications, so the two cost 16.)

# %% exercise 03.4

# %% exercise 03.5

# %% [markdown]
# (FlashAttention uses this *online softmax* so that transformers need not store the large matrix of attention scores:
# Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135. Notebook 11 shows what our framework
# makes of attention.)
#
# What does our framework do? **Predict** from what you know by now: how many kernels does `jt.softmax` need, how many
# loops along a row, and which of its values becomes an array?

# %%
with jt.trace() as t:
    jt.softmax(points, 1).sync()
print(t.kernels[0].source)

# %% [markdown]
# **Look.** There is one kernel, with three loops along a row, one after the other. (The second adds up in blocks of at
# most 1,024 numbers, which begin at `b0`.) Only `out0` is a new array: it holds the exponentials until the third loop
# scales them. Between the loops a row of 200 numbers stays in the fastest cache, so it comes from memory once: what
# counts is where the loops read from, not how often.

# %% exercise 03.6

# %% [markdown]
# ## Break it
#
# Somebody collects hidden values to look at them later. The result is the same; the price is not. The cell prints the
# number of kernels, the bytes moved and the new memory. **Predict** which of the three will change, and by how much.
# Run, and say why the marked line changes them. How could you look at the values without keeping them in memory?

# %%
seen = []


def watched(x):
    hidden = x * 2 + 1
    seen.append(hidden)  # <--
    return hidden.abs()


for name, build in {"alone": three, "watched": lambda: watched(x)}.items():
    e = jt.explain(build())
    print(f"{name:<8} {len(e.kernels)} kernel(s), {e.bytes / 1e6:.0f} MB moved, {e.predicted_peak / 1e6:.0f} MB new")

# %% [markdown]
# <details><summary>The answer</summary> A Var that you hold may be asked for later, so it is stored as soon as it is
# computed: 64 MB more are written, and live as long as the list. Keep a small thing instead, such as
# `seen.append(hidden.mean().item())`, or let the framework watch: `jt.trace(values=True)`. </details><br>
#
# **Before you close this page**: give one reason why it may be *better* to store the value between two operators
# although they could be fused, and one reason why it may *have* to be stored. In 04 you open a kernel, and change it.
