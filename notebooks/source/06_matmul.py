# %% [markdown]
# # 06 Matmul, tiled: the same sums in another order
#
# *An hour. Do [05](05_roofline.ipynb) first; you need loops in Python and what a matrix product is.*
#
# A product of matrices is three loops around one line, `c[i, j] += a[i, k] * b[k, j]`. The loops may stand in any
# order, and each order does the very same multiplications. On a computer one of them takes many times as long as
# another; how many, you will measure. What differs is what is *near* when it is needed: in a *cache*, a small memory of
# the processor's own, or even in a *register*, one of the few places that it computes with.
#
# In this notebook you reorder the loops, cut them into tiles, keep sums in registers, and beat the textbook version by
# more than ten times on your own machine. **Predict**, **run**, **look**: six exercises, and each
# check says *right*, or what is wrong.

# %%
import numba
import numpy as np

import jt_edu as jt
from jt_exercises import predict
from jt_exercises.matmul import film, ijk, ikj, jki
from jt_exercises.timing import least, ratio  # CPU seconds, the least of 15 runs; the quotient of two, in turns

jt.set_num_threads(1)  # one thread, whose CPU time is ours alone
compiled = numba.njit(fastmath=True)


def matrices(n):
    """a and b at random, and c of zeros."""
    random = np.random.default_rng(n)
    a, b = (random.normal(size=(n, n)).astype(np.float32) for _ in range(2))
    return a, b, np.zeros((n, n), np.float32)


# %% exercise 06.1

# %% [markdown]
# And in seconds, compiled, on your machine? **Predict** the first two quotients; the last line, the slowest by the
# fastest, is about their product. Put that last quotient in place of the dots; a third of it, or three times as much,
# is right, too.

# %%
a, b, c = matrices(256)
kernels = {order.__name__: compiled(order) for order in (ijk, ikj, jki)}


def quotient(slow, quick):
    return ratio(lambda: kernels[slow](a, b, c), lambda: kernels[quick](a, b, c))


predict("06.1b", ..., lambda: quotient("jki", "ikj"), factor=3)
for slow, quick in (("jki", "ijk"), ("ijk", "ikj"), ("jki", "ikj")):
    print(f"{slow} takes {quotient(slow, quick):.1f} times as long as {quick}")

# %% [markdown]
# ## 2. What the cache sees
#
# The film below runs two orders on matrices of 8 by 8; a line holds 4 numbers here, and the cache 8 lines. A box is a
# line: blue when it is in the cache, orange when it has just been fetched. Black is the number that is used. Watch `b`.
# (It plays once; run the cell again to see it again. At the end each line says how often it was fetched.)

# %%
film({"ijk": ijk, "ikj": ikj})

# %% [markdown]
# **Look.** In `ijk` a column of `b` is 8 lines: when the next column begins, the first of them has just been thrown
# out, though 3 of its 4 numbers are still wanted. In `ikj` each line is used up at once. But for each new row of `c`
# all of `b` comes again: it does not fit.

# %% exercise 06.2

# %%
film({"ikj": ikj, "tiled": lambda a, b, c: tiled(a, b, c, 4)})  # noqa: F821

# %% exercise 06.3

# %% exercise 06.4

# %% exercise 06.5

# %% exercise 06.6

# %% [markdown]
# On your machine, with a kernel that has tiles and four rows of `b` at once. **Predict**: is a tile of 16 by 16 good,
# as 3 of them fit into any cache? The table is relative to the best; the last line is what jt_edu runs for `a @ b`.


# %%
@compiled
def four_rows(a, b, c, t):
    c[:] = 0
    for k0 in range(0, a.shape[1], t):
        for j0 in range(0, b.shape[1], t):
            for i in range(a.shape[0]):
                row = c[i, j0 : j0 + t]
                for k in range(k0, min(k0 + t, a.shape[1]), 4):
                    a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                    b0, b1 = b[k, j0 : j0 + t], b[k + 1, j0 : j0 + t]
                    b2, b3 = b[k + 2, j0 : j0 + t], b[k + 3, j0 : j0 + t]
                    for j in range(len(row)):
                        row[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]


a, b, c = matrices(512)
took = {f"tiles of {t}": least(lambda t=t: four_rows(a, b, c, t)) for t in (16, 32, 64, 128, 256, 512)}
best = min(took.values())
x, y = jt.array(a), jt.array(b)
took["jt_edu"] = least(lambda: jt.sync([x @ y]))
for name, seconds in took.items():
    print(f"{name:<14} {seconds / best:5.2f} times the best of the tiles")
print("\nthe same numbers:", np.allclose(c, (x @ y).numpy(), atol=1e-3))

# %% [markdown]
# **Look.** Small tiles fit everywhere, but their rows are too short for the loop around them to pay. And a kernel of
# BLAS, which jt_edu calls, is faster still: it copies tiles so that they lie in the order of their use, and keeps
# blocks of sums in vector registers, written for the very processor. It is your exercises 06.2, 06.4 and 06.6 at
# once.
#
# ## 7. Break it
#
# This kernel keeps a sum in a register, inside tiles. Its test passes. **Predict**: for which sizes is it right?
# Find the wrong line, and say why a test with n = 16 could not find it.


# %%
@compiled
def broken(a, b, c, t):
    n = len(c)
    for k0 in range(0, n, t):
        for i in range(n):
            for j in range(n):
                total = np.float32(0)
                for k in range(k0, min(k0 + t, n)):
                    total += a[i, k] * b[k, j]
                c[i, j] = total  # <--


for n in (8, 16, 17, 40):
    a, b, c = matrices(n)
    broken(a, b, c, 16)
    print(f"n = {n:<3} {'as a @ b' if np.allclose(c, a @ b, atol=1e-4) else 'wrong'}")

# %% [markdown]
# <details><summary>The answer</summary> `c[i, j] += total`: each tile of k brings only a part of the sum, and the last
# one overwrites the others. With n = 16 there is one tile. Test with sizes that need several, and a piece.
# </details><br>
#
# **Before you close this page**: all orders do the same arithmetic, and 05 said that a product of matrices has more
# than enough of it to be compute-bound. Why was `ijk` so far below the roof all the same?
