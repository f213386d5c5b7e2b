# %% [markdown]
# # 09 Your own operator: nearest neighbours on point clouds
#
# *About an hour. Do [04](04_kernels.ipynb) first; for the gradient in part 4 you need [01](01_autograd_by_hand.ipynb).*
#
# A laser scanner brings home a *point cloud*: a long list of points in space, in no particular order. Networks that
# read point clouds ask one question over and over: which points are nearest to this one? The operators you know can
# answer it only by storing the distance from every point to every other. So you write an operator of your own. With
# `jt.code` you write its loops in plain Python; they are compiled like any other kernel, threads share them, and you
# give them a gradient.
#
# **Predict**, **run**, **look**. There are five exercises; each says *right* when it is, and why where it is not. Your
# loops first run as plain Python, on a few points, so you cannot break anything.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_exercises import neighbours as check
from jt_exercises.timing import ratio  # CPU seconds: the least of several runs, one divided by the other

jt.set_num_threads(1)  # one thread, whose CPU time is ours alone
jt.set_global_seed(0)
random = np.random.default_rng(2235)


def cloud(many, axes=2):
    return jt.array(random.random((many, axes)).astype(np.float32))


# %% [markdown]
# ## 1. The question
#
# Click on a point below, or go from point to point with Tab and the arrow keys: that point is the *query*. The film
# looks at all the others in turn, and keeps the four nearest so far in a short list.
#
# **Predict.** The list changes whenever a point is nearer than the last one in it. When does that happen more often:
# early in the film, or late?

# %%
check.film(cloud(20).numpy(), k=4)

# %% [markdown]
# **Look.** Early. The tenth point gets into the list only if it is one of the four nearest of the first ten, which
# happens in 4 of 10 cases. The thousandth gets in in 4 of 1,000. So in a large cloud almost every point needs just one
# comparison, with the last point in the list. Exercise 2 builds on that.
#
# ## 2. An operator is a text
#
# `jt.code(shape, dtype, inputs, body)` makes an operator: `body` holds the loops, as text, and `shape` and `dtype` are
# those of the output. These are the words of a body:
#
# | word | means |
# |---|---|
# | `in0`, `in1` | the inputs, in the order in which you list them; a body may only read them |
# | `out` | the output. At first it holds arbitrary numbers, so write every element |
# | `@in0(i, a)` | an element; `in0[i, a]` is the same |
# | `in0_shape0` | the first length of `in0`; `in0_shape1` is the second |
# | `prange(n)` | like `range(n)`, but threads share its rounds; it must be the last loop of the body |
# | `data["far"]` | a number that you hand over with `data={"far": 3}`; another number needs no new kernel |
#
# The body below computes how far it is from each point to the next one in the list. (Squared, in fact: the order is the
# same, and it saves a root.) It has a mistake. **Predict**: what does it say about the last point?

# %%
hops = """
for i in prange(out_shape0):
    @out(i) = 0
    for a in range(in0_shape1):
        @out(i) += (@in0(i, a) - @in0(i + 1, a)) ** 2
"""
few = cloud(5)
try:
    print(jt.code((5,), "float32", [few], hops).numpy())
except jt.RangeError as error:
    print(error)
print(jt.code((4,), "float32", [few], hops).numpy())

# %% [markdown]
# **Look.** An error that quotes the line. Every index is checked. `boundscheck=False` turns the checks off; part 3
# measures what they cost.
#
# **Exercise 1.** The plain way. `in0` holds the queries and `in1` the points. `@out(i, r)` is the *number* of a point:
# the one nearest to query `i` for `r` = 0, the second nearest for `r` = 1, and so on. Compute the distances to all
# points, then pick the smallest, again and again. Points may have any number of axes. Threads should share the queries.
#
# <details><summary>A hint</summary> Inside the loop over `i`, `far = np.zeros(in1_shape0)` makes an array that belongs
# to this round alone. Fill `far[j]` with a loop over `a`, as above. </details>
# <details><summary>A second hint</summary> `j = np.argmin(far)` is the nearest. Write it, then set `far[j] = np.inf`,
# so that it is not the nearest again. </details>

# %%
NEAREST = """
for i in prange(out_shape0):
    pass
"""


def nearest(body, queries, points, k, **more):
    return jt.code((queries.shape[0], k), "int32", [queries, points], body, **more)


plain = check.check_nearest(NEAREST)
print(plain)
large = cloud(2000, 3)
if plain.passed:
    _, index = jt.knn(large, large, 8)
    print("the same as jt.knn:", np.array_equal(nearest(NEAREST, large, large, 8).numpy(), index.numpy()))

# %% [markdown]
# ## 3. Exercise 2: a short list
#
# For each neighbour, your operator goes through all the distances again. The film did not: it kept a short list. Write
# `insert`, which puts one point into such a list. `best` holds the `k` smallest squared distances so far, the smallest
# first, and infinity where there is none yet; `index` holds the numbers of their points. `insert` is called only when
# `far`, the squared distance of point `j`, is smaller than the last one in `best`. That last one drops out, those that
# are farther than `far` move back one place, and `far` and `j` go into the place that is now free.
#
# `insert` is a function, so it goes into `cpu_header`, where every body finds it. `check.LIST`, printed below, is the
# body that calls it.
#
# <details><summary>A hint</summary> Work from the end to the front. Begin with `place = len(best) - 1`; whatever was
# there drops out. </details>
# <details><summary>A second hint</summary> `while place > 0 and best[place - 1] > far:` copy the entry at `place - 1`
# of both arrays to `place`, and `place -= 1`. After the loop, store `far` and `j` at `place`. </details>

# %%
INSERT = """
def insert(best, index, far, j):
    pass
"""
print(check.LIST)
listed = check.check_insert(INSERT)
print(listed)

# %% [markdown]
# **Predict** four ratios: the list beside your first operator; the list without checks of its indices; `jt.knn` beside
# that; and the list on two threads beside one. (The last is measured by the clock on the wall: CPU time adds up what
# all threads do.)

# %%
if plain.passed and listed.passed:

    def brute():
        nearest(NEAREST, large, large, 8).sync()

    def short(threads=1, **more):
        jt.set_num_threads(threads)
        nearest(check.LIST, large, large, 8, cpu_header=INSERT, **more).sync()

    def fast():
        jt.knn(large, large, 8)[1].sync()

    print(f"the list        {ratio(brute, short, 5):5.1f} times as fast as taking the smallest 8 times")
    print(f"without checks  {ratio(short, lambda: short(boundscheck=False), 5):5.1f} times as fast as with them")
    print(f"jt.knn          {ratio(lambda: short(boundscheck=False), fast, 5):5.1f} times as fast as that")
    print(f"two threads     {ratio(short, lambda: short(2), 5, time.perf_counter):5.1f} times as fast as one")
    jt.set_num_threads(1)

# %% [markdown]
# **Look.** `jt.knn`, the operator that comes with jt_edu, is also a single text, and keeps the same list. But first it
# writes down the distances from a query to all points, side by side, in float32, one axis after the other, so that
# vector instructions compute many of them at once (04, part 6). You can read it now, in `jt_edu/ops/knn.py`. (And two
# threads gain something only where two cores are free.)
#
# ## 4. Exercise 3: the gradient
#
# The *number* of the nearest point has no gradient: if you move a point a little, the number stays the same, or it
# jumps. A *distance* has one. So a network first chooses points, without a gradient, then *gathers* them, and computes
# with what it gathered. `check.GATHER`, printed below, is that gather: `in0` holds points, and `in1` numbers of points.
#
# **Predict.** In a cloud where every point has 4 neighbours, to how many rows of `out` is one point copied? What does
# that mean for its gradient?
#
# Now write the gradient with respect to the points. It is a body, too: `dout`, of shape (queries, k, axes), is the
# gradient of the output; `in0` and `in1` are the inputs, as before; and you fill `out`, with one row for each point.
# Your body is also tried with `debug=True`, which runs it in Python and notes who touches which element. That is how it
# finds a *race*: two rounds of a `prange` that write to the same element, or one that reads what another one writes.
#
# And what is it good for? Among other things, for points that push each other away. Once your gradient is right, the
# cell measures how much closer than 0.08 points are to their 6 nearest, adds up the squares, and walks down the
# gradient. **Predict** the picture on the right.
#
# <details><summary>A hint</summary> First set all of `out` to 0: it begins with arbitrary numbers. Then, for each `i`
# and `r`, add `@dout(i, r, a)` to the row of `out` with the number `@in1(i, r)`. </details>
# <details><summary>A second hint</summary> Over what may threads share the work? Not over the queries: two of them may
# have the same neighbour. Plain `range` is right. So is a `prange` over the axes, which never meet: `for a in
# prange(out_shape1):`, with everything else inside. </details>

# %%
BACK = """
for j in range(out_shape0):
    pass
"""
print(check.GATHER)


def gathered(points, index):
    return jt.code((*index.shape, points.shape[1]), points.dtype, [points, index], check.GATHER, [BACK, ""])


given = check.check_back(BACK)
print(given)
if given.passed:
    places = cloud(200)
    start = places.numpy()
    for _ in range(60):
        _, index = jt.knn(places, places, 7)  # the first is the point itself
        apart = gathered(places, index[:, 1:]) - places.reshape(-1, 1, 2)
        too_near = (0.08 - ((apart * apart).sum(2) + 1e-6).sqrt()).relu()
        slope = jt.grad((too_near * too_near).sum(), places)
        places = jt.array(np.clip((places - 0.1 * slope).numpy(), 0, 1))
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.4))
    for axis, points in zip(axes, (start, places.numpy()), strict=True):
        axis.scatter(*points.T, s=9, color="#0072b2")
        axis.set_aspect("equal")
        axis.axis("off")
    plt.show()

# %% [markdown]
# ## 5. Exercise 4: do not even look
#
# The list saves work, but it still looks at every point. So cut the unit square into `side` by `side` cells, and write
# down once which points lie in which cell: `check.grid` does that. Now a query can start in its own cell, go on to the
# *ring* of 8 cells around it, then to the ring of 16 around that, and so on. At some point it may stop.
#
# **Predict.** When? As soon as the list is full?
#
# The body below looks into *all* cells, so it is right, but slow. Make it go ring by ring, and stop as early as it
# safely can. `in2` and `in3` are the grid, and `look`, printed below, puts the points of one cell into the list.
#
# <details><summary>A hint</summary> `for ring in range(side):`, and inside it all `y` and `x` from `ring` cells before
# the query's own to `ring` cells after it, as far as there are cells. Call `look` where `max(abs(y - row), abs(x -
# column)) == ring`. </details>
# <details><summary>A second hint</summary> When rings 0 to `ring - 1` are done, every point not yet seen is at least
# `ring - 1` whole cells away, a distance of `(ring - 1) / side`. If the last of `best`, a *squared* distance, is no
# larger than the square of that, `break`. </details>

# %%
RINGS = """
side = int(data["side"])
for i in prange(out_shape0):
    best = np.full(out_shape1, np.inf)
    out[i] = -1
    row, column = min(int(@in0(i, 0) * side), side - 1), min(int(@in0(i, 1) * side), side - 1)
    for y in range(side):
        for x in range(side):
            look(best, out[i], in0[i], in1, in2, in3, y * side + x)
"""
print(check.LOOK)
ringed = check.check_rings(RINGS)
print(ringed)

# %% [markdown]
# **Predict.** In a cloud of 20,000 points, 2 in each cell on average, how many times as fast as `jt.knn` is the grid?
# The time to make the grid counts, too.

# %%
if listed.passed and ringed.passed:
    flat = cloud(20_000)

    def by_grid():
        order, begins = (jt.array(part) for part in check.grid(flat.numpy(), 100))
        inputs, header = [flat, flat, order, begins], INSERT + check.LOOK
        return jt.code((20_000, 8), "int32", inputs, RINGS, cpu_header=header, data={"side": 100})

    def by_knn():
        return jt.knn(flat, flat, 8)[1]

    rows = (by_grid().numpy() == by_knn().numpy()).all(1)
    times = ratio(lambda: by_knn().sync(), lambda: by_grid().sync(), rounds=2)
    print(f"the same neighbours, in the same order: {rows.mean():.2%} of the rows")
    print(f"the grid is {times:.0f} times as fast as jt.knn")

# %% [markdown]
# ## 6. Exercise 5: when are two answers the same?
#
# If a few rows above differ, nothing is wrong. Where two points are equally far away, or so nearly that rounding
# decides, either may come first. So never test indices for equality. There is a second trap. A point of the cloud is
# its own nearest neighbour, *unless* it has a twin in the same place; then the twin may come first. So cutting off the
# first column does not always cut off the point itself.
#
# Write a test that gets this right. `agrees(queries, points, found)` is given NumPy arrays, and says, with `True` or
# `False`, whether `found`, of shape (queries, k), is *a* right answer. It must accept every right one, and refuse every
# wrong one.
# <details><summary>A hint</summary> Compare distances: those of the points that were found, `np.take_along_axis(far,
# found, 1)`, with the `k` smallest of all, from `np.sort`. </details>
# <details><summary>A second hint</summary> Distances do not show everything. What if a point is named twice instead of
# its twin? What does NumPy make of the index -1, or of one that is too large? And distances that should be equal may
# differ in their last digit: `np.allclose`. </details>


# %%
def agrees(queries, points, found):
    return None


print(check.check_agrees(agrees))

# %% [markdown]
# ## 7. What networks do with it
#
# There are three kinds of clouds here: points *scattered* evenly, points along *lines*, and points in *clumps*. Where a
# single point lies tells you little about the kind; how its neighbours lie around it tells you a lot. An *edge
# convolution* (Wang et al. 2019, arXiv:1801.07829) runs one small network on every pair of a point and a neighbour, and
# keeps the largest answers over the neighbours of each point.
#
# **Predict.** Guessing is right a third of the time. How many of 200 new clouds does the network get right if each
# point sees only itself? And how many if it sees 7 neighbours as well?


# %%
def sample(kind, many=64):
    """The points of one cloud: 0 scattered, 1 along four lines, 2 in eight clumps."""
    (begins, ends), which, along = random.random((2, 8, 2)), random.integers(0, 8, many), random.random((many, 1))
    return {
        0: random.random((many, 2)),
        1: begins[which // 2] * (1 - along) + ends[which // 2] * along,
        2: begins[which] + random.normal(0, 0.03, (many, 2)),
    }[kind]


def edges(clouds, k):
    """(clouds, n, k, 4): a point, and the way from it to a neighbour."""
    (m, n, _), (_, index) = clouds.shape, jt.knn(clouds, clouds, k)
    points, first = clouds.reshape(m * n, 2), (jt.arange(m * n) // n * n).reshape(m * n, 1)
    here = points.reshape(m * n, 1, 2).broadcast_to((m * n, k, 2))
    return jt.concat([here, points[index.reshape(m * n, k) + first] - here], 2).reshape(m, n, k, 4)


class EdgeNet(nn.Module):
    def __init__(self, width=32):
        self.first, self.second, self.last = nn.Linear(4, width), nn.Linear(width, width), nn.Linear(width, 3)

    def execute(self, pairs):
        each = self.second(self.first(pairs).relu())
        return self.last(each.max(2).relu().mean(1))  # the largest over neighbours, the mean over points


kinds = np.arange(200) % 3
seen, unseen = (jt.array(np.stack([sample(kind) for kind in kinds]).astype(np.float32)) for _ in range(2))
for k in (1, 8):
    pairs, exam = edges(seen, k), edges(unseen, k)
    jt.sync([pairs, exam])
    net = EdgeNet()
    adam = optim.Adam(net.parameters(), lr=0.01)
    for _ in range(80):
        adam.step(nn.cross_entropy_loss(net(pairs), jt.array(kinds)))
    right = (net(exam).numpy().argmax(1) == kinds).mean()
    print(f"each point sees {k - 1} neighbours: {right:.0%} of the new clouds are named right")

# %% [markdown]
# ## 8. Break it
#
# Somebody thought it wasteful to make a new `best` for every query, and made it an output instead: `out1`, one list of
# `k` distances, which all queries use in turn. All tests passed, on one thread. **Predict** what two threads make of
# it. Then add `debug=True` to the last call, which has few points, read what it finds, and mend the body.

# %%
SPARED = """
for i in prange(out0_shape0):
    for r in range(out1_shape0):
        @out1(r) = np.inf
        @out0(i, r) = -1
    for j in range(in1_shape0):
        far = 0.0
        for a in range(in1_shape1):
            far += (@in0(i, a) - @in1(j, a)) ** 2
        if far < @out1(out1_shape0 - 1):
            insert(out1, out0[i], far, j)
"""


def spared(queries, points, k, **more):
    sizes, kinds = [(queries.shape[0], k), (k,)], ["int32", "float32"]
    return jt.code(sizes, kinds, [queries, points], SPARED, cpu_header=INSERT, **more)[0]


if listed.passed:
    wanted = nearest(check.LIST, large, large, 8, cpu_header=INSERT).numpy()
    for count in (1, 2):
        jt.set_num_threads(count)
        wrong = (spared(large, large, 8).numpy() != wanted).any(1).sum()
        print(f"{count} thread{'s' * (count > 1)}: {wrong} of {len(wanted)} rows are wrong")
    jt.set_num_threads(1)
    try:
        spared(large[:20], large[:30], 3)
        print("nobody complains")
    except jt.KernelError as error:
        print(error)

# %% [markdown]
# <details><summary>The answer</summary> A race. All rounds write to the same `out1`, so while one thread fills the
# list, another one empties it. What belongs to a round must be made in that round: `best = np.full(out_shape1, np.inf)`
# inside the loop over `i`, as in `check.LIST`, and `out1` is gone. (Or give `out1` a row for each query.) On one thread
# the rounds run one after the other, so no test can fail there, and on two threads a test may be lucky. `debug` needs
# no luck: it notes which rounds touch the same element, whether or not they happen to meet. </details><br>
#
# **Before you close this page**: the grid suits points that fill a square evenly. A real scan has most of its points on
# a few walls, and nothing in between. What happens to the cells then, and to the rings? What would you measure before
# you change anything?
