# %% [markdown]
# # 03 Fusion: same operations, a third of the bytes
#
# *An hour. Do [00](00_start_here.ipynb) first; [02](02_meta_operators.ipynb) helps.*
#
# An operator such as `x + 1` reads an array and writes one. The addition costs a core almost nothing; fetching the
# numbers is what takes time. So three operators in a row that each read and write take about three times as long as one
# loop that does all three. Putting them into one loop is *fusion*, and in this notebook you decide what may be fused,
# what must not, and when it would be a mistake.
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
# ## 1. Three operators, one loop
#
# `(x * 2 + 1).abs()` on 16 million numbers, 64 MB. With `fuse=False` each operator has a kernel of its own.
#
# **Predict.** How many bytes are read and written in all, fused and not? How many times longer does it take if not?
#
# (`ratio` runs both alternately, reads the clock that counts the CPU time of this process, and takes the shortest of 15
# runs.)

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
# **Look.** The same operations; a third of the bytes; about a third of the time. Fusion does not make arithmetic
# cheaper. It removes the arrays in between.
#
# Below is an expression with more to decide. Drag the slider from *as written* to *shared loops*: at each step some
# boxes travel into the kernel that absorbs them, and the figures say what is still moved. Each edge names the rule that
# fused or cut it.

# %%
points, weights = normal(2000, 200), normal(200, 50)
see.fusion((((points - points.mean(1, keepdims=True)) * 2).exp() @ weights).max(1))

# %% [markdown]
# ## 2. Exercise 1: which kernel computes what?
#
# Six operators. **Predict** their kernels: give operators that share one the same number. A hint: only one operator
# here needs whole arrays, and a sum can share a kernel with what comes after it, which then gets a loop of its own.


# %%
def expression():
    return ((points / points.abs().sum()).exp() @ weights).max(1)


kernel_of = {"absolute": None, "sum": None, "divide": None, "exp": None, "matmul": None, "max": None}
print(check.check_groups(expression, kernel_of))

# %% [markdown]
# ## 3. Exercise 2: `can_fuse`
#
# `b` reads `a`. May `a` be computed in the very place where `b` needs it, so that it is never an array and has no loop
# of its own? Both are records: `a.kind` is "elementwise", "reduce" or "matmul"; `a.held` says whether somebody wants to
# see `a`; `a.work` is what one element costs, in multiplications. `times` is how often `b` needs each element.
#
# Write the rule; it returns True or False. The judge is the framework, which decides the same pairs.
#
# <details><summary>A hint</summary> Four reasons against it: somebody wants the array; `a` is complete only after its
# own loop; the other side is BLAS, which multiplies stored matrices; the work would be done again and again. </details>
# <details><summary>A second hint</summary> The framework is generous: an element that costs at most 4 multiplications
# is computed again, not stored. </details>


# %%
def can_fuse(a, b, times):
    return None


print(check.check_can_fuse(can_fuse))

# %% [markdown]
# ## 4. Exercise 3: no kernel may wait for itself
#
# `scale` goes into `matmul`, and `add` reads both. `scale` and `add` may fuse, by every rule above. But the kernel of
# the two needs the product, and the product needs the kernel: neither can run first. (`check.diamond` is that graph.)
#
# Write `group`. It gets the names in order, what each reads, and the pairs that may fuse; it returns a group for
# each name. Go through the pairs, fuse where that makes no **cycle**, and leave no pair that could still be fused.
#
# <details><summary>A hint</summary> Begin with a group for each name. For a pair in two groups, try it in a copy: give
# both groups the same name. Keep the copy if its groups can run one after the other. </details>
# <details><summary>A second hint</summary> Can they run? Repeatedly remove every group whose inputs all lie in itself
# or in removed groups. If some can never be removed, there is a cycle. </details>


# %%
def group(order, inputs, may):
    """{name: group} for names such as "add", inputs such as {"add": ("scale", "matmul")}, may = {("scale", "add")}."""
    return None


print(check.check_three_groups(group))

# %% [markdown]
# (The framework needs no such search. It goes through the operators in order, and one may join a kernel only if all
# that it reads is made in that kernel or in an earlier one.)
#
# ## 5. When fusing hurts
#
# `row` has 4,000 numbers, and each row of a large array is multiplied by `exp(sin(row))`. In the first version the
# framework stores the 4,000 results: two kernels. In the second the row is repeated *first*, and everything fuses into
# one loop, with fewer bytes. **Predict**: which one is faster, and by how much?

# %%
row, table = normal(1, 4000), normal(1000, 4000)


def stored():
    return row.sin().exp() * table


def everywhere():
    return row.broadcast_to((1000, 4000)).sin().exp() * table


for build in (stored, everywhere):
    e = jt.explain(build())
    done = sum(k.flops for k in e.kernels)
    told = f"{e.bytes / 1e6:.3f} MB   {done / 1e6:.1f} M elements computed"
    print(f"{build.__name__:<11} {len(e.kernels)} kernel(s)   {told}")
times = ratio(lambda: everywhere().sync(), lambda: stored().sync())
print(f"\nin one loop it takes {times:.1f} times as long, on this machine, now")
print([d.reason for d in jt.explain(stored()).decisions if not d.fused])

# %% [markdown]
# **Look.** Fewer bytes, and slower: the sines were computed a thousand times over. (`elements computed` counts each
# operator's elements once. The reason in the last line counts what they cost, in multiplications: 8 for an `exp` or a
# `sin`, 16 for both.) So it is a choice, and one can compute which is better. **Exercise 4**: a value has so many
# `readers`. Return the seconds that both ways take, where moving takes bytes / bandwidth, computing takes operations /
# peak, and nothing overlaps:
#
# * *stored*: the inputs are read once and the work is done once; the value is written, and read by each reader;
# * *again*: each reader reads the inputs and does the work.
#
# <details><summary>A hint</summary> Count the bytes of the first way: `inputs + value + readers * value`. </details>


# %%
def seconds(value, inputs, work, readers, bandwidth, peak):
    """(stored, again); `value` and `inputs` are bytes, `work` operations."""
    return None


print(check.check_store_or_recompute(seconds))

# %% [markdown]
# ## 6. Exercise 5: softmax, in how few passes?
#
# softmax is `exp(v - m) / s`, where `m` is the largest number of a row and `s` the sum of all `exp(v - m)`. Taken
# literally that is three passes: one for `m`, one for `s`, one to divide. But `m` and `s` can be computed in **one**
# pass, if `s` is corrected whenever a larger number turns up.
#
# Write the step: it gets `m` and `s` so far, and the next number `v`, and returns the new `(m, s)`. The first step
# gets m = -inf and s = 0.
#
# <details><summary>A hint</summary> With `new = max(m, v)`, each `exp(v' - m)` in the sum has to become
# `exp(v' - new)`: a common factor. </details>
# <details><summary>A second hint</summary> -inf - -inf is not a number. Until a finite number comes, s is 0 (or
# anything that a later factor makes 0), and `np.exp(-np.inf)` is 0. </details>


# %%
def step(m, s, v):
    return None


print(check.check_softmax_step(step))

# %% [markdown]
# (FlashAttention uses this *online softmax* so that transformers need not store their matrix of scores: Milakov and
# Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135.)
#
# What does our framework do? **Predict** from what you know by now: how many kernels does `jt.softmax` need, how many
# loops along a row, and which of its values becomes an array?

# %%
with jt.trace() as t:
    jt.softmax(points, 1).sync()
print(t.kernels[0].source)

# %% [markdown]
# **Look.** One kernel, with three loops along a row, one after the other. (The second adds up in blocks of at most
# 1,024 numbers, which begin at `b0`.) Only `out0` is an array: it holds the exponentials until the third loop scales
# them. Between the loops a row of 200 numbers stays in the fastest cache, so it comes from memory once: what counts is
# where the loops read from, not how often.
#
# **Exercise 6.** Count what fusion has removed. A kernel `k` of an explanation lists the ids of the values it computes
# (`k.nodes`) and of those it stores (`k.stored`); `values[id]` is (operator, bytes). Return how many arrays were
# computed and never stored, and their bytes.


# %%
def removed(kernels, values):
    return None


print(check.check_removed(removed))

# %% [markdown]
# ## 7. Break it
#
# Somebody collects hidden values to look at them later. The result is the same; the price is not. **Predict** how the
# three figures will differ, run, and say why the marked line changes them. How can one look at the values and keep them
# out of memory?

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
# **Before you close this page**: two operators can fuse. Name one reason why you might still prefer to store the value
# between them, and one why you must. In 04 you open a kernel, and change it.
