# %% [markdown]
# # 13 Many ranks: data parallel, sync batch-norm, ring all-reduce
#
# A program that runs several times at once, as *ranks* that send each other messages: that is how one network is
# trained on many machines. Here the ranks live in this notebook. They are threads that take turns, so the same cell
# gives the same result every time, nothing can hang, and a mistake is told in words. The very same cell also runs as
# real processes, under `mpirun`, if there is one on this machine.
#
# As always: **predict**, **run**, **look**. Eight tasks are waiting for you; each says *right* when it is.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim
from jt_edu.mpi import Network, run_ranks
from jt_edu.mpi.paper import model

images, labels = (v.numpy() for v in next(iter(jt.data.digits(batch_size=90))))


def _agree(yours, expected):
    return np.allclose(yours, expected, rtol=1e-5) if expected.dtype.kind in "if" else np.array_equal(yours, expected)


def judged(name, yours, expected):
    """Say whether an answer is right."""
    if yours is None:
        print(f"not done yet   {name}")
    elif np.shape(yours) == np.shape(expected) and _agree(np.asarray(yours), np.asarray(expected)):
        print(f"right          {name}")
    else:
        print(f"not right:     {name}, {yours} in place of {expected}")


# %% [markdown]
# ## 1. Four ranks, one cell
#
# `%%ranks 4` runs a cell four times, once on each rank. Each rank has names of its own, a copy of what the cell reads
# from the notebook, and three gifts: `rank` (its number), `size` (how many there are) and `comm`, through which it
# speaks to the others. `comm.allreduce(x)` adds up the x of all ranks, and gives the sum to each.
#
# **Predict.** What does each rank print, and what is `total`?

# %%
# %%ranks 4
mine = np.arange(3) * rank
total = comm.allreduce(mine)
print("rank", rank, "of", size, "has", mine)
total

# %% [markdown]
# **Look.** One column for each rank. Their names stay, and so does the record of what they said to each other.

# %%
print(ranks[2].mine, ranks["mine"])
print(ranks.record)

folder = tempfile.mkdtemp()
Path(folder, "tally.py").write_text("seen = []\n", encoding="utf-8")
# %% [markdown]
# A module that you import is there once in a process, and simulated ranks share the process. The last cell made a
# module with a list in it, `tally.seen`; now each rank puts its number into the list. After that the same cell runs as
# a real MPI job.
#
# **Predict.** How long is the list on simulated ranks, and how long on real ones? And which number is the same?

# %%
# %%ranks 4
sys.path.insert(0, folder)
import tally

tally.seen.append(rank)
total = comm.allreduce(rank + 1)
print("total", total, "  seen", len(tally.seen))

# %%
# %%mpirun -n 4 --go-on
sys.path.insert(0, folder)
import tally

tally.seen.append(rank)
total = comm.allreduce(rank + 1)
print("total", total, "  seen", len(tally.seen))

# %% [markdown]
# **Look.** What was sent (`total`) is the same; what was shared is not. The *detector* under the first of the two
# cells said so before you tried. (Where there is no `mpirun`, the second cell says how to get one.)
#
# ## 2. A zoo of deadlocks
#
# `send` comes back when its message is copied, `recv` when one has come. Six programs for two ranks; `other` is the
# number of the other one. **Predict** for each: does it *hang*, does it *work*, or does it work by *luck*, because a
# short message may be kept for its receiver, while the sender of a long one has to wait?

# %%
zoo = {
    "both listen": "word = comm.recv(source=other)\ncomm.send('hello', other)",
    "both talk": "comm.send('hello', other)\nword = comm.recv(source=other)",
    "one listens first": "word = comm.recv(source=1) if rank == 0 else comm.send('hello', 0)",
    "behind the barrier": "if rank == 0: comm.send('hello', 1)\ncomm.barrier()\nif rank == 1: comm.recv(source=0)",
    "only rank 0": "if rank == 0:\n    comm.barrier()",
    "both at once": "word = comm.sendrecv('hello', other, source=other)",
}
guesses = dict.fromkeys(zoo)  # "hang", "works" or "luck"; such as guesses["both listen"] = "works"


def verdict(code):
    """Run a program twice: with sends that may keep their message, and with sends that wait until it is taken."""

    def program(comm):
        exec(code, {"comm": comm, "rank": comm.rank, "other": 1 - comm.rank})  # noqa: S102

    kept, waiting = (run_ranks(2, program, synchronous=s).error is None for s in (False, True))
    return ("works" if waiting else "luck") if kept else "hang"


for name, code in zoo.items():
    print(f"{name:<20} you guessed {guesses[name]!s:<6} it is: {verdict(code)}")

# %%
# %%ranks 2 synchronous --go-on --view
other = 1 - rank
comm.send("hello", other)
word = comm.recv(source=other)

# %% [markdown]
# **Look.** Every rank waits for another one, so nothing will ever happen again. Simulated ranks know that at once,
# and say who waits where, and for whom. A plain MPI would wait for ever. Take `synchronous` away, and the program
# works: by luck.
#
# **Task 1.** Each rank has a word for the one to its right; the last one's right is rank 0. Fill in `pass_right` with
# `send` and `recv` alone. It has to work for any number of ranks, and where every send waits for its receiver.


# %%
def pass_right(comm, word):
    """The word of the rank to the left."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return None


for count in (2, 3, 4):
    passed = run_ranks(count, lambda comm: pass_right(comm, comm.rank), synchronous=True)
    if passed.error is not None:
        print(str(passed.error).splitlines()[0])
    done = None if passed.error is None and passed.results[0] is None else [str(w) for w in passed.results]
    judged(f"passed on by {count} ranks", done, [str((rank - 1) % count) for rank in range(count)])

# %% [markdown]
# ## 3. Who was late?
#
# Simulated ranks have a clock of their own that does not hang on your machine: `comm.compute(10_000)` takes 10,000
# ns, a message some thousands. In the next cell rank 2 computes three times as long as the others, three times over.
#
# **Predict.** By how much does the whole program take longer than without `slow=2:3.0`: 20, 40 or 60 µs?

# %%
# %%ranks 4 slow=2:3.0 --view
for _ in range(3):
    comm.compute(10_000)
    comm.allreduce(1)
print(f"{comm.now / 1000:.1f} us")

# %% [markdown]
# **Look** at the marks on the lanes: the last one to come to a collective is the one that all others wait for. One
# slow rank makes all slow, by 3 · 20 µs. Take `slow=2:3.0` away and read off the difference.
#
# ## 4. Build the ring
#
# How do P ranks add up arrays of n numbers? If all send theirs to rank 0, that one gets P - 1 arrays through one
# door. A *ring* is fairer. Each array is cut into P chunks, and each rank only ever sends to its right. In P - 1 steps
# every chunk goes round and collects what each rank has of it; in P - 1 more steps the finished chunks go round.
#
# **Task 2.** Fill in the two loops. `pass_on` sends a chunk to the right, and gives you the one that comes from the
# left. In its first step rank r sends chunk r; what comes from the left is then a chunk with a number one lower.


# %%
def ring_allreduce(comm, x):
    """The sum of the x of all ranks, by a ring."""
    chunks = np.array_split(x.copy(), comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def pass_on(chunk):
        came = np.empty_like(chunk)
        comm.Sendrecv(chunk, right, recvbuf=came, source=left)
        return came

    # 1. P - 1 steps: pass a chunk on, and add what comes to your own chunk of that number
    # 2. P - 1 steps: pass a finished chunk on, and put what comes in place of your own
    return None


P, n = 4, 1000
told = run_ranks(P, lambda comm: ring_allreduce(comm, np.arange(n) * (comm.rank + 1.0)))
judged("the sum, on rank 3", told.results[3], np.arange(n) * (1.0 + 2 + 3 + 4))
sent = [m for m in told.record.messages if m.source == 0]
judged("messages that a rank sends", len(sent) or None, 2 * (P - 1))
judged("bytes that a rank sends", sum(m.bytes for m in sent) or None, 2 * (P - 1) * n * 8 // P)

# %% [markdown]
# The same, built in, as it moves: press *Play*. Each rank sends 2 (P - 1) / P times its array, however many ranks
# there are. **Predict**: for 1,000 bytes on 16 ranks, is a ring faster than a tree? And for 25 million bytes?


# %%
def ring(comm):
    x = np.full(1000, comm.rank, np.float32)
    comm.Allreduce(x, np.empty_like(x), algorithm="ring")


line = jt.simulate(2)(model.measure)[0]  # how long a message takes: measured on the simulated clock
print(f"a message takes {line.alpha / 1000:.1f} us, and {line.beta:.2f} ns more for each byte")


def taken(way, count, length):
    """What an all-reduce of so many bytes took on the clocks of simulated ranks, in ns."""
    x = np.zeros(length // 4, np.float32)

    def program(comm):
        return model.timed(comm, lambda: comm.Allreduce(x, np.empty_like(x), algorithm=way), repeats=1)

    return jt.simulate(count)(program)[0]


ways, few = ["naive", "tree", "ring"], (2, 4)
for length in (1_000, 25_000_000):
    took = {(way, count): taken(way, count, length) for way in ways for count in few}
    print(model.scaling("allreduce", ways, length, machine=line, ranks=(*few, 16, 256, 10_000), measured=took))
see.ranks(run_ranks(4, ring).record)

# %% [markdown]
# **Look.** A tree takes few steps and sends everything in each; a ring takes many and sends little. So short messages
# go by a tree, and long ones, such as gradients, by a ring; on very many ranks even those have chunks so small that
# the steps count. On two and four ranks the prediction stands beside what was measured; from 16 on it is on paper.
# The way called naive is too dark by far for short messages on four: on the clock its senders send at the same time.
#
# **Task 3.** Where do they cross? A tree on P ranks takes 2 · log₂ P messages of all n bytes, a ring 2 (P - 1) messages
# of n / P bytes, and a message of m bytes takes alpha + beta · m. Find the n from which a ring is faster on 16 ranks.

# %%
crossing = None  # in bytes, from line.alpha and line.beta


def is_faster(length):
    """Whether a ring is faster than a tree, on 16 ranks, as predicted."""
    tree, by_ring = (model.predict("allreduce", way, 16, length, line) for way in ("tree", "ring"))
    return by_ring < tree


if crossing is None:
    judged("the crossing", None, None)
else:
    judged("the crossing", [is_faster(int(0.98 * crossing)), is_faster(int(1.02 * crossing))], [False, True])

# %% [markdown]
# ## 5. The batch size is the total
#
# A training script, with no line about ranks in it. Its data set cuts each batch into shares, one for each rank; its
# optimiser adds up the gradients of the shares; its batch norm takes mean and variance of the *whole* batch.
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
# **Task 4, find the bug.** 9 examples on 4 ranks: shares of 3, 2, 2 and 2. Each rank has the mean gradient of its own
# share. `combine` should give each of them the mean gradient of all 9 examples, and does not. Repair it.


# %%
def combine(comm, gradient, count):
    """The mean gradient over all examples; here `gradient` is the mean over `count` of them."""
    return comm.allreduce(gradient) / comm.size


gradients = np.array([1.0, 1, 1, 5, 5, 9, 9, 2, 2])  # of each example
shares = np.array_split(gradients, 4)
found = jt.simulate(4)(lambda comm: combine(comm, shares[comm.rank].mean(), len(shares[comm.rank])))
judged("the mean gradient", found[0], gradients.mean())

# %% [markdown]
# **Task 5, by hand.** Now do yourself what the optimiser did: fill in `begin` and `together`, so that a training on 1,
# 2 and 3 ranks gives the same numbers. Three things stand in your way. Every rank has begun with *other* parameters.
# One weight is *tied*: it is used twice, and stands in `net.parameters()` once. And one is *frozen*: nobody asks for
# its gradient, and it stays as it is on rank 0. You have `comm.bcast(array, root=0)` and `comm.allreduce(array)`;
# `parameter.numpy()` gives an array, and `parameter.assign(array)` takes one.


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
    return gradient


def by_hand(comm):
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
            p.assign(p - 0.5 * jt.array(together(comm, gradient.numpy(), len(x))))
    return np.concatenate([p.numpy().ravel() for p in net.parameters()])


rows = {count: run_ranks(count, by_hand).results for count in (1, 2, 3)}
for count in (2, 3):
    apart = max(np.abs(row - rows[1][0]).max() for row in rows[count])
    judged(f"{count} ranks, {apart:.0e} from one", None if apart > 0.1 else apart < 1e-5, True)

# %% [markdown]
# ## 6. The variance of a batch that nobody has
#
# Batch norm needs the variance of the whole batch, of which each rank has a part. The short way: all ranks add up
# their x and their x², and take E[x²] - E[x]². The long way: each sends (count, mean, M2), where M2 is the sum of
# (x - mean)² over its own numbers, and those are *merged*.
#
# **Predict.** In float32, with a mean of 1,000 and a spread of 1: how many digits of the variance are right?
#
# **Task 6.** Fill in `merge`. It is exact algebra: how far is each mean from the common one?


# %%
def merge(a, b):
    """(count, mean, M2) of two sets of numbers together."""
    return None


def moments(x):
    return len(x), x.mean(), ((x - x.mean()) ** 2).sum()


x = np.random.default_rng(0).normal(size=900)
judged("merged", merge(moments(x[:200]), moments(x[200:])), moments(x))

print("\nmean/spread    error of E[x²] - E[x]²    error of a synchronised batch norm, 4 ranks")
for mean in (0, 10, 100, 1000):
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
# **Look.** The difference of two large numbers has lost what was small. Nothing warns you: the network just learns
# badly, or the variance is negative and the root of it is NaN.
#
# **Task 7.** And backward? y = (x - mean) / std, where mean and std are those of the *whole* batch, so every y hangs on
# every x, on whatever rank it is. With dy given,
#
# $$dx = \frac{1}{std} \left( dy - \overline{dy} - y \cdot \overline{dy \cdot y} \right)$$
#
# where a bar is a mean over the whole batch. Fill in the two means; `count` is how many examples all ranks have.


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
judged("dx through the batch of all", None if parts[0] is None else np.concatenate(parts), expected)

# %% [markdown]
# ## 7. Buckets that leave early
#
# A backward pass finds the gradients of the last layer first. There is no need to wait for the others: while the next
# one is computed, the first is under way. But each message has its price, so a few gradients share one, a *bucket*.
#
# **Predict.** 16 layers of 60 µs, whose gradients have 16 kB each. What is best, 16 small buckets or one large one, if
# the backward pass goes on while they are under way? And what, if it waits for each of them at once?
#
# **Task 8.** `buckets` gets the bytes of the gradients in the order in which they are found, and fills one bucket
# after the other: a bucket is full, and leaves, as soon as it has `cap` bytes or more; the last one leaves at the end.


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


told = buckets([3, 3, 3, 10, 1, 1], 6)
judged("six gradients", told and str(told), "[[0, 1], [2, 3], [4, 5]]")
for layers in (1, 2, 4, 8, 16):
    groups = buckets([16_000] * 16, 16_000 * layers)
    if groups:
        tries = [lambda comm, g=groups, e=early: backward(comm, g, e) for early in (True, False)]
        early, late = (run_ranks(4, program, network=slow).results[0] for program in tries)
        print(
            f"{len(groups):>2} buckets of {layers:>2} layers: {early:4.0f} us; each waited for at once: {late:4.0f} us"
        )

# %% [markdown]
# **Look.** Who waits pays for each bucket, so one large one is best. Who goes on pays for the last one only, which is
# short when buckets are small: nearly the 960 µs of the backward pass alone. Messages of these clocks do not hinder
# each other. On a real wire they do, so DistributedDataParallel of `jt.distributed` fills buckets of 25 MB, the first
# of 1 MB.
#
# ## 8. Take it away
#
# Nothing here needs a notebook. The next cell writes a script, which says nothing of ranks, and the commands that run
# it; the first two run at once.

# %%
script = Path(folder, "train.py")
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
# <details><summary>Hints for the tasks</summary>
#
# *1*: somebody has to listen first: let rank 0 do what the others do in the other order. *2*: in step s of the first
# loop, rank r sends chunk (r - s) mod P and adds what comes to chunk (r - s - 1) mod P. In the second loop it begins
# with chunk (r + 1) mod P, which is finished. *3*: both have alpha and beta · n; solve for n. *4*: a share of 3 counts
# for more than one of 2; so add up *sums*. *5*: all of `net.parameters()`, the frozen ones too, come from rank 0.
# *6*: M2 = M2a + M2b + (distance of the means)² · na · nb / n. *7*: a mean is a sum over all ranks, divided by
# `count`. *8*: one list, begun anew whenever its bytes have reached the cap. </details>
#
# **Before you close this page**: a script runs well on one rank and hangs on four. What do you look at first?
