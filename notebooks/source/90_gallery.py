# %% [markdown]
# # 90 Gallery: every view, and how to read it
#
# *A quarter of an hour. Do [00](00_start_here.ipynb) first; then come back whenever you need a view.*
#
# `jt_widgets` shows what the framework did, inside the notebook. Each view below shows one computation from
# another side. They are linked: what you select in one lights up in all the others, if they show it too.
#
# Three things hold for all of them. The button **Table** (key `t`) shows the same as a table; **?** lists the
# keys. Click into a view first, then its keys work; your notebook does not hear them. And
# `view.save("page.html")` writes one file that does the same without Jupyter, kernel or network.
#
# Three are shown elsewhere: messages of ranks in [13](13_many_ranks.ipynb), the threads of a GPU in
# [08](08_gpu_threads.ipynb), and a command line as a form in [17](17_experiments.ipynb).

# %%
import tempfile

import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim
from jt_edu.data import digits

jt.set_global_seed(0)
images, labels = next(iter(digits(batch_size=64)))

# %% [markdown]
# ## 1. The computation
#
# A small network that reads digits, its loss on one batch, and the gradients of its parameters. Nothing has run
# yet.


# %%
class Reader(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.last = nn.Linear(32, 10)

    def execute(self, x):
        return self.last(self.body(x.flatten(1)))


reader = Reader()
loss = jt.cross_entropy_loss(reader(images), labels)
gradients = jt.grad(loss, reader.parameters())

# %% [markdown]
# ## 2. The graph
#
# One box is one module. Double-click a box (or press Enter on it) to see what is inside; double-click its frame
# to close it. *Kernel* in the bar above folds by kernel instead of by module. Round boxes are arrays, small pills
# at the side of a box are parameters, dashed outlines are gradients. A dashed pill with an arrow is a *portal*:
# the other end of an edge that would be too long to draw; click it to jump there. Put the mouse on a box to see
# its value.

# %%
see.graph(loss, *gradients)

# %% [markdown]
# ## 3. How it fuses
#
# Move the slider from left to right. On the left each operator has a kernel of its own, as you wrote it. In each step
# the boxes travel into the kernel that absorbs them, and the three figures say what that is worth. Choose an edge to
# read why it was fused, or why not: here a matrix product wants whole arrays, so some values are stored after all.
# *Predict* hides the answer: mark what you think will fuse, and see how many of the pairs you got right.

# %%
x = jt.array(np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32))
w = jt.array(np.random.default_rng(1).normal(size=(32, 16)).astype(np.float32))
normal = (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-5)
hidden = (normal @ w + 1).relu()
result = (hidden * hidden).sum(1)
see.fusion(result)

# %% [markdown]
# ## 4. The kernels
#
# On the left stand the kernels that run, with their time and the bytes they move; beside them the source of one, which
# the framework wrote. Behind each line stand the operator that it computes, and the line of yours that asked for it.
# The other tabs show what the compiler made of it; lines with vector instructions are marked.
#
# **Edit** changes the source. It is compiled and run in a process of its own on random arrays, compared with the
# original and timed against it. Only then the graph runs your kernel, until you revert it. Try it: a kernel that never
# ends is stopped, and your notebook lives.

# %%
see.kernel(result)

# %% [markdown]
# ## 5. One kernel, step by step
#
# The same source, run as plain Python. Step with `[` and `]`, or drag the slider: the line that was just done, the loop
# counters, the cells that it read and wrote, and the accumulators with what they held before.

# %%
a, b = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), jt.array([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
c = jt.array([10.0, 20.0, 30.0])
see.step_kernel((a * b + c).sum())

# %% [markdown]
# ## 6. Forward, and back again
#
# Down on the left goes the computation, up on the right its gradient; each gradient stands beside the operator
# whose gradient it is. Drag the slider through time. Where a value was used twice its gradient is a sum: `grad
# +=` lists each part and the way it came. The strip below shows how much memory is held at each moment. *Check*
# compares the gradient of a parameter with finite differences, in float64.

# %%
see.tape(loss)

# %% [markdown]
# ## 7. Memory
#
# Each rectangle is an array: its width the kernels during which it lives, its height its bytes. The mark shows
# the peak. Select one to read who keeps it alive: you, by a variable, or a kernel that has yet to read it.

# %%
see.memory(loss, *gradients)

# %% [markdown]
# ## 8. What limits a kernel?
#
# To the right: more operations for each byte that is moved. Upwards: more operations in a second. The slope is
# the bandwidth of your memory, the ceiling the peak of your processor; both were measured on this machine just
# now. A dot on the slope cannot become faster by computing less, only by moving less. That is what fusion does:
# switch it off, and see the dots move.

# %%
large = jt.array(np.random.default_rng(1).normal(size=(4000, 4000)).astype(np.float32))
see.roofline((((large * 2 + 1) * large - 3).relu() * large).sum(1))

# %% [markdown]
# ## 9. Training
#
# The panel trains while you watch, in an *async* cell, so its buttons answer at once: pause, one batch, go on. It
# shows the loss, the size of the gradients and of the updates for each layer, and how many units are dead. A mark
# on the loss is a spike; click it to see the tape of that very step.

# %%
batches = digits(batch_size=64, shuffle=True)
panel = see.train_panel(
    reader,
    optim.Adam(reader.parameters(), lr=3e-3),
    lambda model, x, y: jt.cross_entropy_loss(model(x), y),
    batches,
)
panel

# %%
await panel.train(steps=1500)

# %% [markdown]
# ## 10. All at once
#
# `explore` puts graph and kernels side by side. The tape stands behind the tab *Forward and backward* (key `p`), and
# beside them where the window is wide. Select an operator in the graph: its lines in the kernel and its moment on the
# tape light up.

# %%
see.explore(jt.cross_entropy_loss(reader(images), labels))

# %% [markdown]
# ## 11. To keep
#
# A saved notebook keeps a *snapshot* readable when it is opened again without a kernel; a page opens anywhere.

# %%
path = see.graph(loss).save(tempfile.mkdtemp() + "/graph.html")
print(f"{path}: {path.stat().st_size / 1000:.0f} kB, everything included")
see.graph(loss).snapshot()
