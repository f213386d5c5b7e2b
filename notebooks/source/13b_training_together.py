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
# As always: **predict**, **run**, **look**. Five exercises are waiting for you.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.mpi import Network, run_ranks

images, labels = (v.numpy() for v in next(iter(jt.data.digits(batch_size=90))))

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
    found = jt.simulate(count)(train)
    away = max(np.abs(losses - alone).max() for losses in found)
    print(f"{count} rank(s)", " ".join(f"{loss:.4f}" for loss in found[0][::3]), f"  differs by {away:.1e} at most")
apart = jt.simulate(4)(lambda: train(sync=False))[0]
print(f"with a batch norm of each rank alone, on 4 ranks, it differs by {np.abs(apart - alone).max():.1e}")

# %% [markdown]
# **Look.** By rounding only; and by much more where each rank normalises its own share.

# %% exercise 13b.1

# %% exercise 13b.2
# %% [markdown]
# ## 2. The variance of a batch that nobody has
#
# Batch norm needs the variance of the whole batch, of which each rank has a part. The short way: all ranks add up their
# x and their x², and take E[x²] - E[x]², where E is the mean. The long way: each sends (count, mean, M2), where M2 is
# the sum of (x - mean)² over its own numbers, and those are *merged*.
#
# **Predict.** In float32, with a mean of 1,000 and a spread of 1: how many digits of the variance are right?

# %% exercise 13b.3

# %%
x = np.random.default_rng(0).normal(size=900)
print("mean/spread    error of E[x²] - E[x]²    error of a synchronised batch norm, 4 ranks")
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

# %% exercise 13b.4

# %% [markdown]
# ## 3. Buckets that leave early
#
# A backward pass finds the gradients of the last layer first. There is no need to wait for the others: while the next
# one is computed, the first is under way. But each message has its price, so a few gradients share one, a *bucket*.
#
# **Predict.** 16 layers of 60 µs, whose gradients have 16 kB each. What is best, 16 small buckets or one large one, if
# the backward pass goes on while they are under way? And what, if it waits for each of them at once?

# %% exercise 13b.5

# %%
slow = Network(latency=20_000, overhead=5_000, byte=0.5)


def backward(comm, layers, early):
    """16 layers, whose gradients leave in buckets of so many; answers the virtual µs that it took."""
    under_way = []
    for _ in range(16 // layers):
        comm.compute(60_000 * layers)
        gradients = np.zeros(4_000 * layers, np.float32)
        under_way.append(comm.Iallreduce(gradients, np.empty_like(gradients), algorithm="ring"))
        if not early:
            under_way[-1].wait()
    for request in under_way:
        request.wait()
    return comm.now / 1000


for layers in (1, 2, 4, 8, 16):
    tries = [lambda comm, n=layers, e=early: backward(comm, n, e) for early in (True, False)]
    early, late = (run_ranks(4, program, network=slow).results[0] for program in tries)
    print(f"{16 // layers:>2} buckets of {layers:>2} layers: {early:4.0f} us; each waited for at once: {late:4.0f} us")

# %% [markdown]
# **Look.** The backward pass alone takes 16 · 60 = 960 µs; the rest is waiting. A program that waits for each bucket at
# once pays for each, so one large one is best. One that goes on pays for the last one only, which is short when buckets
# are small. Messages of these clocks do not hinder each other. On a real wire they do: so DistributedDataParallel of
# `jt.distributed`, which does all of this for a module, fills buckets of 25 MB, the first of 1 MB.
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
