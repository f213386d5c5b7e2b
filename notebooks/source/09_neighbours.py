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
# **Predict**, **run**, **look**. In the five exercises, put your lines where a cell says `raise YourTurn(...)`, and run
# it: a card says whether that is right and, if not, why. Your loops first run as plain Python, on a few points, in a
# process of their own, so you cannot break anything.
#
# ## 1. The question
#
# Click on a point below, or go from point to point with Tab and the arrow keys: that point is the *query*. The film
# looks at all the others in turn, and keeps the four nearest so far in a short list.
#
# **Predict.** The list changes whenever a point is nearer than the last one in it. When does that happen more often:
# early in the film, or late?

# %%
import time
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_exercises import neighbours, predict, solved
from jt_exercises.timing import ratio  # CPU seconds: the least of several runs, one divided by the other

jt.set_num_threads(1)  # one thread, whose CPU time is ours alone
jt.set_global_seed(0)
random = np.random.default_rng(2235)


def cloud(many, axes=2):
    return jt.array(random.random((many, axes)).astype(np.float32))


neighbours.film(cloud(20).numpy(), k=4)

# %% [markdown]
# **Look.** Early. The tenth point gets into the list only if it is one of the four nearest of the first ten, which
# happens in 4 of 10 cases. The thousandth gets in in 4 of 1,000. So in a large cloud almost every point needs just one
# comparison, with the last point in the list. Exercise 09.2 builds on that.
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

# %% exercise 09.1
# %% exercise 09.2
# %% [markdown]
# **Predict** four ratios: the list beside your first operator; the list without checks of its indices; `jt.knn` beside
# that; and the list on two threads beside one. (The last is measured by the clock on the wall: CPU time adds up what
# all threads do.)


# %%
def nearest(body, queries, points, k, **more):
    return jt.code((queries.shape[0], k), "int32", [queries, points], body, **more)


large = cloud(2000, 3)
if solved("09.1", "09.2"):

    def brute():
        return nearest(NEAREST, large, large, 8).sync()

    def short(threads=1, **more):
        jt.set_num_threads(threads)
        return nearest(neighbours.LIST, large, large, 8, cpu_header=INSERT, **more).sync()

    def fast():
        return jt.knn(large, large, 8)[1].sync()

    print("the same as jt.knn:", np.array_equal(brute().numpy(), fast().numpy()))
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

# %% exercise 09.3
# %% [markdown]
# What is it good for? Among other things, for points that push each other away. Once your gradient is right, the next
# cell measures how much closer than 0.08 points are to their 6 nearest, adds up the squares, and walks down the
# gradient. **Predict** the picture on the right.


# %%
def gathered(points, index):
    shape = (*index.shape, points.shape[1])
    return jt.code(shape, points.dtype, [points, index], neighbours.GATHER, [BACK, ""])


if solved("09.3"):
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

# %% exercise 09.4
# %% [markdown]
# **Predict.** In a cloud of 20,000 points, 2 in each cell on average, how many times as fast as `jt.knn` is the grid?
# The time to make the grid counts, too.

# %%
if solved("09.2", "09.4"):
    flat = cloud(20_000)

    def by_grid():
        order, begins = (jt.array(part) for part in neighbours.grid(flat.numpy(), 100))
        inputs, header = [flat, flat, order, begins], INSERT + neighbours.LOOK
        return jt.code((20_000, 8), "int32", inputs, RINGS, cpu_header=header, data={"side": 100})

    def by_knn():
        return jt.knn(flat, flat, 8)[1]

    rows = (by_grid().numpy() == by_knn().numpy()).all(1)
    times = ratio(lambda: by_knn().sync(), lambda: by_grid().sync(), rounds=2)
    print(f"the same neighbours, in the same order: {rows.mean():.2%} of the rows")
    print(f"the grid is {times:.0f} times as fast as jt.knn")

# %% exercise 09.5
# %% [markdown]
# ## 7. What networks do with it
#
# There are three kinds of clouds here: points *scattered* evenly, points along *lines*, and points in *clumps*. Where a
# single point lies tells you little about the kind; how its neighbours lie around it tells you a lot. An *edge
# convolution* (Wang et al. 2019, arXiv:1801.07829) runs one small network on every pair of a point and a neighbour, and
# keeps the largest answers over the neighbours of each point.
#
# **Predict.** Guessing is right a third of the time. How many of 200 new clouds does the network get right if each
# point sees only itself? And how many if it sees 7 neighbours as well? Put both in place of the dots, in percent, as a
# list; what is off by a fifth is right, too.


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


@cache
def learned(k):
    """The share of new clouds that a network gets right."""
    pairs, exam = edges(seen, k), edges(unseen, k)
    jt.sync([pairs, exam])
    net = EdgeNet()
    adam = optim.Adam(net.parameters(), lr=0.01)
    for _ in range(80):
        adam.step(nn.cross_entropy_loss(net(pairs), jt.array(kinds)))
    return (net(exam).numpy().argmax(1) == kinds).mean()


predict("09.7", ..., lambda: [100 * learned(1), 100 * learned(8)], factor=1.2)
for k in (1, 8):
    print(f"each point sees {k - 1} neighbours: {learned(k):.0%} of the new clouds are named right")

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


if solved("09.2"):
    wanted = nearest(neighbours.LIST, large, large, 8, cpu_header=INSERT).numpy()
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
# inside the loop over `i`, as in `LIST`, and `out1` is gone. (Or give `out1` a row for each query.) On one thread
# the rounds run one after the other, so no test can fail there, and on two threads a test may be lucky. `debug` needs
# no luck: it notes which rounds touch the same element, whether or not they happen to meet. </details><br>
#
# **Before you close this page**: the grid suits points that fill a square evenly. A real scan has most of its points on
# a few walls, and nothing in between. What happens to the cells then, and to the rings? What would you measure before
# you change anything?
