# %% [markdown]
# # 13 Many ranks: messages, deadlocks, ring all-reduce
#
# *An hour. Do [00](00_start_here.ipynb) first; you need Python's functions and loops, and no MPI.*
#
# A program that runs several times at once, as *ranks* that send each other messages: that is how one network is
# trained on many machines. Here the ranks live in this notebook. They are threads that take turns, so the same cell
# gives the same result every time, a *deadlock*, where each waits for another for ever, ends at once, and a mistake is
# told in words. The very same cell runs as real processes, under `mpirun`, the command that starts programs that speak
# MPI, the language of most large computers; if there is one on this machine.
#
# As always: **predict**, **run**, **look**. Three exercises are waiting for you.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu.mpi import run_ranks
from jt_edu.mpi.perf_model import model

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
# **Look.** One column for each rank. Their names stay, and so does the record of what they said to each other. (In it,
# `allreduce` is a call that all make together, and no message of anybody's own. `virtual µs` come in section 3.)

# %%
print(ranks[2].mine, ranks["mine"])
print(ranks.record)

folder = tempfile.mkdtemp()
_ = Path(folder, "tally.py").write_text("seen = []\n", encoding="utf-8")
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
# `send` comes back when its message is copied, `recv` when one has come, `barrier` when all ranks have come to it, and
# `sendrecv` does both of the first two at once. Six programs for two ranks (`\n` begins a new line); `other` is the
# number of the other one. **Predict** for each: does it *hang*, does it *work*, or does it work by *luck*, because a
# short message may be kept for its receiver, while the sender of a long one has to wait?
#
# The cell after the next one runs "both talk" with `synchronous`: there every send waits until its message is taken.

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
# and say who waits where, and for whom. An MPI that keeps no copy of a message would wait for ever. Take `synchronous`
# away, and the program works: by luck.

# %% exercise 13.1
# %% [markdown]
# ## 3. Who was late?
#
# Simulated ranks have a clock of their own, which your machine does not change; its time is called *virtual*:
# `comm.compute(10_000)` takes 10,000 ns, a message some thousands. In the next cell rank 2 computes three times as long
# as the others, three times over.
#
# **Predict.** By how much does the whole program take longer than without `slow=2:3.0`: 20, 40 or 60 µs?

# %%
# %%ranks 4 slow=2:3.0 --view
for _ in range(3):
    comm.compute(10_000)
    comm.allreduce(1)
print(f"{comm.now / 1000:.1f} us")

# %% [markdown]
# **Look** at the marks on the lanes: the last one to come to a *collective*, a call that all ranks make together, is
# the one that all others wait for. One slow rank makes all slow, by 3 · 20 µs. Take `slow=2:3.0` away and read off the
# difference.
#
# ## 4. Build the ring
#
# How do P ranks add up arrays of n numbers? If all send theirs to rank 0, that one gets P - 1 arrays through one
# door. A *ring* is fairer. Each array is cut into P chunks, and each rank only ever sends to its right. In P - 1 steps
# every chunk goes round and collects what each rank has of it; in P - 1 more steps the finished chunks go round.

# %% exercise 13.2
# %% [markdown]
# The same, built in, as it moves: press *Play*. Each rank sends 2 (P - 1) / P times its array, however many ranks
# there are. It is raced with two others. *naive*: rank 0 gets all arrays, one after the other, and sends the sum to
# each. A *tree*: ranks add up in pairs, then pairs of pairs, and so on, and the sum goes back the same way: 2 · log₂ P
# steps, the whole array in each. **Predict**: for 1,000 bytes on 16 ranks, is a ring faster than a tree? And for 25
# million bytes?


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
# **Look.** A tree takes few steps and sends everything in each; a ring takes many and sends little. So among many
# ranks short messages go by a tree, and long ones, such as gradients, by a ring; among 10,000 its chunks are so small
# that it is hardly ahead. On two and four ranks the prediction stands beside what was measured; from 16 on it is on
# paper. Short messages by the way called naive are faster than predicted: on the clock all senders send at once.

# %% exercise 13.3
# %% [markdown]
# **Before you close this page**: a script runs well on one rank and hangs on four. What do you look at first?
#
# How a network is trained with all this is the next page, `13b_training_together`.
