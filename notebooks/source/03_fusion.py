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
from jt_exercises import fusion as check
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
# without?
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

# %% [markdown]
# ## Exercise 1: which kernel computes what?
#
# The expression below has six operators, if the matrix product counts as one. **Predict** which of them share a kernel:
# give those the same number in `kernel_of` (0, 1, ...). A hint: only one operator here needs whole arrays, and a sum
# can share a kernel with what comes after it, which then gets a loop of its own.


# %%
def expression():
    return ((points / points.abs().sum()).exp() @ weights).max(1)


kernel_of = {"absolute": None, "sum": None, "divide": None, "exp": None, "matmul": None, "max": None}
print(check.check_groups(expression, kernel_of))

# %% [markdown]
# ## Exercise 2: `can_inline`
#
# Operators that share a kernel may still have a loop each. The closest way to fuse is to *inline*: `b` reads `a`, and
# each element of `a` is computed where `b` needs it. Then `a` is never an array, and has no loop of its own.
#
# Write a rule that returns True if `a` can be inlined. It is True for `x * 2` read by `exp`. It is False for a sum read
# by `exp`, because the sum is complete only after its own loop (though they share a kernel, as in exercise 1). Find
# the other three reasons for False. Your answers are compared with the framework's decisions for the same pairs.
#
# `a` and `b` are records: `a.kind` is "elementwise", "reduce" or "matmul"; `a.held` is True if the value of `a` was
# asked for, or if a variable still holds it; `a.work` is what one element costs, in multiplications. `times` is how
# often `b` reads each element of `a`.
#
# <details><summary>A hint</summary> The three reasons: `a` is held, so it must become an array; `b` is a matrix
# product, and BLAS needs stored matrices; `a` would be computed again and again. </details>
# <details><summary>A second hint</summary> The framework has a limit: if an element costs at most 4 multiplications, it
# is computed again instead of stored. </details>


# %%
def can_inline(a, b, times):
    return None


print(check.check_can_inline(can_inline))

# %% [markdown]
# ## Exercise 3: no kernel may wait for itself
#
# Suppose that `matmul` reads `scale`, and `add` reads both. Taken by themselves, `scale` and `add` could be fused. But
# their kernel would need the result of `matmul`, and `matmul` needs `scale` from that kernel. Neither could run first:
# that is a **cycle**. (`check.diamond` is this graph.)
#
# Write `group`. It gets the names in order, what each reads, and the pairs that may be fused; it returns a group for
# each name. Fuse pairs where that makes no cycle, until no pair is left that could still be fused. For the graph above
# a right answer is `{"scale": 0, "matmul": 1, "add": 2}`. If `add` did not read `matmul`, `scale` and `add` would
# share a group.
#
# <details><summary>A hint</summary> Begin with a group for each name. For each pair whose two names are in different
# groups, copy your answer and merge those groups in the copy. Keep the copy if its groups can still run one after
# another. </details>
# <details><summary>A second hint</summary> Can they run? Repeatedly remove every group that reads only from itself and
# from removed groups. If some can never be removed, there is a cycle. </details>


# %%
def group(order, inputs, may):
    """{name: group} for names such as "add", inputs such as {"add": ("scale", "matmul")}, may = {("scale", "add")}."""
    return None


print(check.check_three_groups(group))

# %% [markdown]
# (The framework needs no such search. It goes through the operators in order, and an operator may join a kernel only if
# everything it reads is computed in that kernel or in an earlier one.)
#
# ## When fusing hurts
#
# `row` has 4,000 numbers, and each row of a large array is multiplied by `exp(sin(row))`. In the first version the
# framework stores the 4,000 results: there are two kernels. In the second the row is repeated *first*, and everything
# is fused into one loop, with slightly fewer bytes. **Predict**: which one is faster, and by how much?

# %%
row, table = normal(1, 4000), normal(1000, 4000)


def stored():
    return row.sin().exp() * table


def everywhere():
    return row.broadcast_to((1000, 4000)).sin().exp() * table


for build in (stored, everywhere):
    e = jt.explain(build())
    done = sum(k.flops for k in e.kernels)
    told = f"{e.bytes / 1e6:.3f} MB   {done / 1e6:.1f} M operations"
    print(f"{build.__name__:<11} {len(e.kernels)} kernel(s)   {told}")
times = ratio(lambda: everywhere().sync(), lambda: stored().sync())
print(f"\nin one loop it takes {times:.1f} times as long, on this machine, now")
print([d.reason for d in jt.explain(stored()).decisions if not d.fused])

# %% [markdown]
# **Look.** The second moves slightly fewer bytes, but is slower: the sines were computed a thousand times over. (Each
# operator counts as one operation for each element. The reason in the last printed line counts by cost: a `sin` or an
# `exp` costs as much as 8 multiplications, so the two cost 16.)
#
# ## Exercise 4: store a value, or compute it again?
#
# So there is a choice, and you can calculate which way is better. Suppose that a value is read by several operators;
# `readers` says how many. `bandwidth` is how many bytes can be moved per second, and `peak` how many operations can be
# done per second. Return how many seconds each way takes. Moving takes bytes / bandwidth, computing takes operations /
# peak, and the two do not overlap:
#
# * *stored*: the inputs are read once and the work is done once; the value is written, and read by each reader;
# * *again*: each reader reads the inputs and does the work.
#
# <details><summary>A hint</summary> Count the bytes of the first way: `inputs + value + readers * value`. </details>


# %%
def seconds(value, inputs, work, readers, bandwidth, peak):
    """(stored, again); `value` and `inputs` are bytes, `work` is the operations for the whole value."""
    return None


print(check.check_store_or_recompute(seconds))

# %% [markdown]
# ## Exercise 5: softmax, in how few passes?
#
# softmax is `exp(v - m) / s`, where `m` is the largest number of a row and `s` the sum of all `exp(v - m)`. Taken
# literally that is three passes: one for `m`, one for `s`, one to divide. But `m` and `s` can be computed in **one**
# pass, if `s` is corrected whenever a larger number turns up.
#
# Write the step: it gets `m` and `s` so far, and the next number `v`, and returns the new `(m, s)`. The first step
# gets m = -inf and s = 0.
#
# <details><summary>A hint</summary> With `new = max(m, v)`, each `exp(v' - m)` in the sum has to become
# `exp(v' - new)`. That is the same as multiplying the whole sum `s` by one factor. Which one? </details>
# <details><summary>A second hint</summary> `-inf - (-inf)` is nan, so treat the case where `new` is still -inf
# separately: there s is 0. `np.exp(-np.inf)` is 0. </details>


# %%
def step(m, s, v):
    return None


print(check.check_softmax_step(step))

# %% [markdown]
# (FlashAttention uses this *online softmax* so that transformers need not store the large matrix of attention scores:
# Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135.)
#
# What does our framework do? **Predict** from what you know by now: how many kernels does `jt.softmax` need, how many
# loops along a row, and which of its values becomes an array?

# %%
with jt.trace() as t:
    jt.softmax(points, 1).sync()
print(t.kernels[0].source)

# %% [markdown]
# **Look.** There is one kernel, with three loops along a row, one after the other. (The second adds up in blocks of at
# most 1,024 numbers, which begin at `b0`.) Only `out0` is an array: it holds the exponentials until the third loop
# scales them. Between the loops a row of 200 numbers stays in the fastest cache, so it comes from memory once: what
# counts is where the loops read from, not how often.
#
# ## Exercise 6: what has fusion removed?
#
# `jt.explain` returns kernels. `k.nodes` lists the ids of the values that kernel `k` computes, and `k.stored` those it
# stores; `values[id]` is (operator, bytes). Return how many arrays were computed and never stored, and their bytes. For
# one kernel that computes 7 and 8 and stores 8, that is `(1, values[7][1])`.


# %%
def removed(kernels, values):
    return None


print(check.check_removed(removed))

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
