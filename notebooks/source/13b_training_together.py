# %% [markdown]
# # 13b Training together: data parallel, sync batch-norm, buckets
#
# *An hour. Do [10](10_training.ipynb) and [13](13_many_ranks.ipynb) first.*
#
# Notebook 13 made ranks speak to each other. Here they train one network: each takes a share of every batch (that is
# *data parallel*), and after each step all have the same parameters, those that one rank alone would have found. What
# has to be said for that, and when? As before the ranks are simulated; the script at the end runs under `mpirun` as
# well.
#
# As always: **predict**, **run**, **look**. Five tasks are waiting for you; each says *right* when it is.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.mpi import Network, run_ranks
from jt_exercises.tell import tell

images, labels = (v.numpy() for v in next(iter(jt.data.digits(batch_size=90))))


def stopped(run):
    """Say what ended a run, if something did."""
    if run.error is not None:
        print(f"rank {run.failed_rank}: {type(run.error).__name__}: {run.error}")
    return run.error is not None


# %% [markdown]
# ## 1. The batch size is the total
#
# A training script, with no line about ranks in it. Its data set cuts each batch into shares, one for each rank; its
# optimiser adds up the gradients of the shares; its batch norm, which takes each column to mean 0 and variance 1 as in
# part 9 of 01, uses mean and variance of the *whole* batch.
#
# **Predict.** On 1, 2, 3 and 4 ranks: by how much do the losses differ? (90 digits in batches of 32: 32, 32, 26.)


# %%
def train(sync=True):
    jt.set_global_seed(5)
    data = jt.data.ArrayDataset(images, labels, batch_size=32, shuffle=True)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm(16, sync=sync), nn.ReLU(), nn.Linear(16, 10))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        for x, y in data:
            loss = nn.cross_entropy_loss(net(x), y)
            optimizer.step(loss)
            losses.append(loss.item())
    return np.array(losses)


alone = train()
print("alone   ", " ".join(f"{loss:.4f}" for loss in alone[::3]))
for count in (1, 2, 3, 4):
    together = jt.simulate(count)(train)
    away = max(np.abs(losses - alone).max() for losses in together)
    print(f"{count} rank(s)", " ".join(f"{loss:.4f}" for loss in together[0][::3]), f"  differs by {away:.1e} at most")
apart = jt.simulate(4)(lambda: train(sync=False))[0]
print(f"with a batch norm of each rank alone, on 4 ranks, it differs by {np.abs(apart - alone).max():.1e}")

# %% [markdown]
# **Look.** By rounding only; and by much more where each rank normalises its own share.
#
# **Task 1, find the bug.** 9 examples on 4 ranks: shares of 3, 2, 2 and 2. Each rank has the mean gradient of its own
# share. `combine` should give each of them the mean gradient of all 9 examples, and does not. Repair it.
#
# <details><summary>A hint</summary> A share of 3 counts for more than one of 2; so add up *sums*. </details>


# %%
def combine(comm, gradient, count):
    """The mean gradient over all examples; here `gradient` is the mean over `count` of them."""
    return comm.allreduce(gradient) / comm.size


gradients = np.array([1.0, 1, 1, 5, 5, 9, 9, 2, 2])  # of each example
shares = np.array_split(gradients, 4)
found = jt.simulate(4)(lambda comm: combine(comm, shares[comm.rank].mean(), len(shares[comm.rank])))
tell("the mean gradient, on each rank", np.array(found), np.full(4, gradients.mean()))

# %% [markdown]
# **Task 2, by hand.** Now do yourself what the optimiser did: fill in `begin` and `together`, so that a training on 1,
# 2 and 3 ranks gives the same numbers. Three things stand in your way. Every rank has begun with *other* parameters.
# One weight is *tied*: it is used twice, and stands in `net.parameters()` once. And one is *frozen*: nobody asks for
# its gradient, and it stays as it is on rank 0. You have `comm.bcast(array, root=0)` and `comm.allreduce(array)`;
# `parameter.numpy()` gives an array, and `parameter.update(array)` takes one.
#
# <details><summary>A hint</summary> All of `net.parameters()`, the frozen ones too, come from rank 0. `together` is
# `combine` of task 1. </details>


# %%
class Tied(nn.Module):
    """x -> tanh(x W) Wᵀ, after a layer that does not learn."""

    def __init__(self):
        self.first = nn.Linear(6, 6)
        self.w = jt.randn(6, 4) * 0.3
        self.first.weight.stop_grad()
        self.first.bias.stop_grad()

    def execute(self, x):
        return jt.matmul(jt.tanh(jt.matmul(self.first(x), self.w)), self.w.transpose())


def begin(comm, net):
    """Let all ranks begin with the parameters of rank 0."""


def together(comm, gradient, count):
    """The mean gradient over the examples of all ranks; `gradient` is the mean over the `count` of this one."""
    return None


def by_hand(comm, begin, together):
    """Three steps on this rank's share of seven examples; answers all parameters in one row."""
    jt.set_global_seed(comm.rank)
    net = Tied()
    begin(comm, net)
    whole = np.random.default_rng(1).normal(size=(7, 6)).astype(np.float32)
    x = jt.array(np.array_split(whole, comm.size)[comm.rank])
    for _ in range(3):
        learns = [p for p in net.parameters() if p.requires_grad]
        loss = ((net(x) - x) ** 2).mean()
        for p, gradient in zip(learns, jt.grad(loss, learns), strict=True):
            mean = together(comm, gradient.numpy(), len(x))
            if mean is None:
                return None
            p.update(p - 0.5 * jt.array(mean))
    return np.concatenate([p.numpy().ravel() for p in net.parameters()])


(alone,) = run_ranks(1, lambda comm: by_hand(comm, lambda *_: None, lambda _, gradient, __: gradient)).results
for count in (2, 3):
    run = run_ranks(count, lambda comm: by_hand(comm, begin, together))
    if not stopped(run) and run.results[0] is not None:
        print(f"{count} ranks are {max(np.abs(row - alone).max() for row in run.results):.0e} away from one alone")
    tell(
        f"training on {count} ranks",
        None if run.results[0] is None else np.array(run.results),
        np.array([alone] * count),
    )

# %% [markdown]
# ## 2. The variance of a batch that nobody has
#
# Batch norm needs the variance of the whole batch, of which each rank has a part. The short way: all ranks add up their
# x and their x², and take E[x²] - E[x]², where E is the mean. The long way: each sends (count, mean, M2), where M2 is
# the sum of (x - mean)² over its own numbers, and those are *merged*.
#
# **Predict.** In float32, with a mean of 1,000 and a spread of 1: how many digits of the variance are right?
#
# **Task 3.** Fill in `merge`. It is exact algebra: how far is each mean from the common one?
#
# <details><summary>A hint</summary> The common mean is weighted by the counts. </details>
# <details><summary>A second hint</summary> M2 = M2a + M2b + (distance of the means)² · na · nb / n. </details>


# %%
def merge(a, b):
    """(count, mean, M2) of two sets of numbers together."""
    return None


def moments(x):
    return len(x), x.mean(), ((x - x.mean()) ** 2).sum()


x = np.random.default_rng(0).normal(size=900)
tell("merged", merge(moments(x[:200]), moments(x[200:])), moments(x))

print("\nmean/spread    error of E[x²] - E[x]²    error of a synchronised batch norm, 4 ranks")
for mean in (0, 10, 100, 1000, 10_000):
    batch = (x + mean).astype(np.float32)[:, None]
    true = batch.astype(np.float64).var(ddof=1)

    def short_way(comm, batch=batch):
        part = np.array_split(batch, comm.size)[comm.rank]
        n, s, q = (comm.allreduce(v) for v in (np.float32(len(part)), part.sum(), (part * part).sum()))
        return (q / n - (s / n) ** 2) * n / (n - 1)

    def batch_norm(comm, batch=batch):
        norm = nn.BatchNorm(1, momentum=1.0)
        norm(jt.array(np.array_split(batch, comm.size)[comm.rank])).sync()
        return norm.running_var.item()

    errors = (abs(jt.simulate(4)(way)[0] / true - 1) for way in (short_way, batch_norm))
    print("{:>11}    {:>22.1e}    {:>30.1e}".format(mean, *errors))

# %% [markdown]
# **Look.** The difference of two large numbers has lost what was small: an error of more than 1 means that nothing is
# right, and even a negative variance may come out, whose root is NaN. Nothing warns you.
#
# **Task 4.** And backward? y = (x - mean) / std, where mean and std are those of the *whole* batch, so every y depends
# on every x, on whatever rank it is. With dy given,
#
# $$dx = \frac{1}{std} \left( dy - \overline{dy} - y \cdot \overline{dy \cdot y} \right)$$
#
# where a bar is a mean over the whole batch. Fill in the two means; `count` is how many examples all ranks have.
#
# <details><summary>A hint</summary> A mean is a sum over all ranks, divided by `count`. </details>


# %%
def normalised_backward(comm, dy, y, std, count):
    """dx of this rank's share."""
    mean_dy = mean_dy_y = None
    return None if mean_dy is None else (dy - mean_dy - y * mean_dy_y) / std


whole, up = np.random.default_rng(2).normal(size=(2, 9))
v = jt.array(whole)
expected = jt.grad(((v - v.mean()) / (v - v.mean()).sqr().mean().sqrt() * jt.array(up)).sum(), v).numpy()
y = (whole - whole.mean()) / whole.std()


def backward_of_share(comm):
    dy, mine = (np.array_split(a, comm.size)[comm.rank] for a in (up, y))
    return normalised_backward(comm, dy, mine, whole.std(), len(whole))


parts = jt.simulate(4)(backward_of_share)
tell("dx through the batch of all", None if parts[0] is None else np.concatenate(parts), expected)

# %% [markdown]
# ## 3. Buckets that leave early
#
# A backward pass finds the gradients of the last layer first. There is no need to wait for the others: while the next
# one is computed, the first is under way. But each message has its price, so a few gradients share one, a *bucket*.
#
# **Predict.** 16 layers of 60 µs, whose gradients have 16 kB each. What is best, 16 small buckets or one large one, if
# the backward pass goes on while they are under way? And what, if it waits for each of them at once?
#
# **Task 5.** `buckets` gets the bytes of the gradients in the order in which they are found, and fills one bucket
# after the other: a bucket is full, and leaves, as soon as it has `cap` bytes or more; the last one leaves at the end.
#
# <details><summary>A hint</summary> One list, begun anew whenever its bytes have reached the cap. </details>


# %%
def buckets(sizes, cap):
    """[[number of the gradient, ...] of each bucket]."""
    return None


slow = Network(latency=20_000, overhead=5_000, byte=0.5)


def backward(comm, groups, early):
    """Layers, whose gradients leave in such buckets; answers the virtual µs that it took."""
    under_way = []
    for group in groups:
        comm.compute(60_000 * len(group))
        gradients = np.zeros(4_000 * len(group), np.float32)
        under_way.append(comm.Iallreduce(gradients, np.empty_like(gradients), algorithm="ring"))
        if not early:
            under_way[-1].wait()
    for request in under_way:
        request.wait()
    return comm.now / 1000


for sizes, wanted in (([3, 3, 3, 10, 1, 1], "0 1, 2 3, 4 5"), ([6, 1, 5, 6], "0, 1 2, 3"), ([1, 1, 1], "0 1 2")):
    told = buckets(sizes, 6)
    tell(f"{len(sizes)} gradients", told and ", ".join(" ".join(map(str, group)) for group in told), wanted)
for layers in (1, 2, 4, 8, 16):
    groups = buckets([16_000] * 16, 16_000 * layers)
    if groups:
        tries = [lambda comm, g=groups, e=early: backward(comm, g, e) for early in (True, False)]
        early, late = (run_ranks(4, program, network=slow).results[0] for program in tries)
        print(
            f"{len(groups):>2} buckets of {layers:>2} layers: {early:4.0f} us; each waited for at once: {late:4.0f} us"
        )

# %% [markdown]
# **Look** at the times, which are there as soon as `buckets` is right. The backward pass alone takes 16 · 60 = 960 µs;
# the rest is waiting. Who waits for each bucket at once pays for each, so one large one is best. Who goes on pays for
# the last one only, which is short when buckets are small. Messages of these clocks do not hinder each other. On a real
# wire they do: so DistributedDataParallel of `jt.distributed`, which does all of this for a module, fills buckets of
# 25 MB, the first of 1 MB.
#
# ## 4. Take it away
#
# Nothing here needs a notebook. The next cell writes a script, whose training says nothing of ranks, and the commands
# that run it; the first two are run here.

# %%
script = Path(tempfile.mkdtemp(), "train.py")
script.write_text(
    """import jt_edu as jt
from jt_edu import nn, optim

jt.set_global_seed(5)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm(16), nn.ReLU(), nn.Linear(16, 10))
optimizer = optim.Adam(net.parameters(), lr=0.01)
for x, y in jt.data.digits(batch_size=256):
    loss = nn.cross_entropy_loss(net(x), y)
    optimizer.step(loss)
if jt.rank == 0:
    print(f"{jt.world_size} rank(s), last loss {loss.item():.5f}")
""",
    encoding="utf-8",
)
for command in ("python", "python -m jt_edu.launch -np 4", "mpiexec -n 4 python"):
    print(command, script)
for options in ([], ["-m", "jt_edu.launch", "-np", "4"]):
    done = subprocess.run([sys.executable, *options, script], capture_output=True, text=True, check=False)
    print(done.stdout or done.stderr, end="")

# %% [markdown]
# **Before you close this page**: four ranks train with a batch of 32 in all. What changes if you want each to have 32?
